"""llama3-json: objects without a marker, and what is none of them. Its JSON: parser/test_jsongrammar.py."""

from __future__ import annotations

from tests.support.cases import TOOLS, Row, check
from tests.support.cuts import check_every_split
from tests.support.streams import stream_of
from tests.support.tiers import each_row, some

READ = '{"path": "b"}'
CALL = f'{{"name": "read", "parameters": {READ}}}'
B = ("read", READ)


def text(written: str, *found: str) -> Row:
    """All of it stays text."""
    return written, written, [], list(found)


ROWS: dict[str, Row] = {
    "an object": (CALL, "", [B], []),
    "after a sentence": (f"Reading.\n\n{CALL}\nDone.", "Reading.\nDone.", [B], []),
    "after the tag": (f"<|python_tag|>{CALL}<|eom_id|>", "", [B], []),
    "the key of others": (f'{{"name": "read", "arguments": {READ}}}', "", [B], []),
    "a type first": (f'{{"type": "function", "name": "read", "parameters": {READ}}}', "", [B], []),
    "the name last": (f'{{"parameters": {READ}, "name": "read"}}', "", [B], []),
    "more members after both": (f'{{"name": "read", "parameters": {READ}, "x": [1]}}', "", [B], []),
    # what users of other parsers reported
    "51: a semicolon and a blank": (f"{CALL}; {CALL}", "", [B, B], []),
    "51: a semicolon": (f"{CALL};{CALL}", "", [B, B], []),
    "51: a newline": (f"{CALL}\n{CALL}", "", [B, B], []),
    "51: a semicolon and a newline": (f"{CALL};\n{CALL};", ";", [B, B], []),
    "51: a tag each": (f"<|python_tag|>{CALL}; <|python_tag|>{CALL}", "", [B, B], []),
    "52: a name of somebody": text('{"name": "Alice"}'),
    "52: and what she likes": text('{"name": "Alice", "parameters": {"a": 1}}'),
    "52: a tool without parameters": text('{"name": "read"}'),
    "52: a tool and other members": text('{"name": "read", "size": 3}'),
    "52: other members before": text('{"size": 3, "name": "read", "parameters": {}}'),
    "52: in the middle of a line": text(f"So: {CALL}"),
    "52: an object of another kind": text('{\n  "a": {"name": "read", "parameters": {}}\n}'),
    "52: after a call": (f'{CALL}\n{{"name": "Alice"}}', '\n{"name": "Alice"}', [B], []),
    "58: in a code fence": text(f"```json\n{CALL}\n```"),
    "58: after a code fence": (f"```\nx\n```\n{CALL}", "```\nx\n```", [B], []),
    # not an object at all
    "a brace": text("{"),
    "braces": text("{}\n{{}}\n{ x }"),
    "a tag": text("<|python_tag|>print(1)"),
    # ends
    "the answer ends in the name": text('{"name": "rea'),
    "the answer ends after the name": text('{"name": "read", "parameters": ', "truncated-call"),
    "only the brace is missing": (CALL[:-1], "", [B], ["repaired-call"]),
}


@each_row("row", ROWS.values(), ids=ROWS)
def test_rows(row: Row) -> None:
    check("llama3-json", row)
    check("llama3-json", row, policy={"arguments": "whole"})


@each_row("row", some(ROWS.values(), 6))  # the test above cuts all of them between characters
def test_rows_under_every_split(row: Row) -> None:
    assert check_every_split("llama3-json", stream_of(row[0], 5), tools=TOOLS).calls == row[2]


def test_without_a_list_of_tools_any_name_counts() -> None:
    row: Row = ('{"name": "zip", "parameters": {}}', "", [("zip", "{}")], [])
    check("llama3-json", row, tools=None)
