"""hermes: what users of other parsers reported. The grammar of its JSON: parser/test_jsongrammar.py."""

from __future__ import annotations

from tests.support.cases import TOOLS, Row, check
from tests.support.cuts import check_every_split
from tests.support.streams import stream_of
from tests.support.tiers import each_row

READ = '{"path": "b"}'
CALL = f'<tool_call>\n{{"name": "read", "arguments": {READ}}}\n</tool_call>'
CLOSER = '{"path": "ends with </tool_call>, not here"}'
ESCAPED = '{"path": "\\u4f60\\u597d 你好 \\ud83d\\ude00"}'
REPORTED: dict[str, Row] = {
    "29: the closing marker inside a JSON string": (
        f'<tool_call>{{"name": "read", "arguments": {CLOSER}}}</tool_call>',
        "",
        [("read", CLOSER)],
        [],
    ),
    "30: a call without parameters": (
        '<tool_call>{"name": "free", "arguments": {}}</tool_call><tool_call>{"name": "free"}</tool_call>',
        "",
        [("free", "{}"), ("free", "{}")],
        [],
    ),
    "31: the arguments come first, and speak of a name": (
        '<tool_call>{"arguments": {"path": "\\"name\\": \\"x\\""}, "name": "read"}</tool_call>',
        "",
        [("read", '{"path": "\\"name\\": \\"x\\""}')],
        [],
    ),
    "32: no brace is lost": (
        '<tool_call>{"name": "free", "arguments": {"a": {"b": {"c": [1, {}]}}}}</tool_call>',
        "",
        [("free", '{"a": {"b": {"c": [1, {}]}}}')],
        [],
    ),
    "34: text after the call": (f"{CALL}\nThat was all.", "\nThat was all.", [("read", READ)], []),
    "57: an escape that is cut anywhere": (
        f'<tool_call>{{"name": "read", "arguments": {ESCAPED}}}</tool_call>',
        "",
        [("read", ESCAPED)],
        [],
    ),
}


@each_row("row", REPORTED.values(), ids=REPORTED)
def test_reported(row: Row) -> None:
    check("hermes", row)
    assert check_every_split("hermes", stream_of(row[0], 5), tools=TOOLS).calls == row[2]


def test_prose_that_names_the_tag_leaves_whole() -> None:
    text = "The `<tool_call>` tag holds JSON.\n\n```\n<tool_call>…</tool_call>\n```\nThat is all."
    check("hermes", (text, text, [], []))


def test_a_real_leak() -> None:
    # An empty thought, then a call that a server left in the content.
    text = '<think>\n\n</think>\n\n<tool_call>\n{"name": "read", "arguments": {"path": "b"}}\n</tool_call>'
    check("hermes", (text, "<think>\n\n</think>", [("read", READ)], []))
