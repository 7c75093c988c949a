"""mistral: the name before its arguments, and the older list. Its JSON: parser/test_jsongrammar.py."""

from __future__ import annotations

from tests.support.cases import TOOLS, Row, check
from tests.support.cuts import check_every_split
from tests.support.streams import stream_of
from tests.support.tiers import each_row, some

READ = '{"path": "b"}'
B = ("read", READ)
MARK = '{"path": "[TOOL_CALLS]read[ARGS]{}"}'
ROWS: dict[str, Row] = {
    "a name and its arguments": (f"[TOOL_CALLS]read[ARGS]{READ}", "", [B], []),
    "blanks": (f"[TOOL_CALLS] read [ARGS] {READ} ", "", [B], []),
    "an id": (f"[TOOL_CALLS]read[CALL_ID]a1B2c3D4e[ARGS]{READ}", "", [B], []),
    "no [ARGS]": (f"[TOOL_CALLS]read{READ}", "", [B], []),
    "several": (f"[TOOL_CALLS]read[ARGS]{READ}[TOOL_CALLS]read[ARGS]{READ}", "", [B, B], []),
    "no arguments": ("[TOOL_CALLS]free[ARGS]{}", "", [("free", "{}")], []),
    "nothing after [ARGS]": (
        f"[TOOL_CALLS]free[ARGS][TOOL_CALLS]read[ARGS]{READ}",
        "",
        [("free", "{}"), B],
        [],
    ),
    "text around": (f"One[TOOL_CALLS]read[ARGS]{READ} two", "One two", [B], []),
    "a marker in a string": (f"[TOOL_CALLS]read[ARGS]{MARK}", "", [("read", MARK)], []),
    "a marker ends arguments that are open": (
        f'[TOOL_CALLS]read[ARGS]{{"path": ["b"[TOOL_CALLS]read[ARGS]{READ}',
        "",
        [("read", '{"path": ["b"'), B],
        ["repaired-call", "invalid-arguments"],
    ),
    "no object": ("[TOOL_CALLS]read[ARGS]b", "[TOOL_CALLS]read[ARGS]b", [], ["malformed-call"]),
    "a string": ('[TOOL_CALLS]read[ARGS]"b"', '[TOOL_CALLS]read[ARGS]"b"', [], ["malformed-call"]),
    "prose": ("[TOOL_CALLS] is a token", "[TOOL_CALLS] is a token", [], []),
    "prose that a brace follows": ("[TOOL_CALLS] is a {token}", "[TOOL_CALLS] is a {token}", [], []),
    "the answer ends after [ARGS]": (
        "[TOOL_CALLS]read[ARGS]",
        "[TOOL_CALLS]read[ARGS]",
        [],
        ["truncated-call"],
    ),
    # what users of other parsers reported
    "47: [ARGS] in pieces": (f"[TOOL_CALLS]read[ARGS]{READ}", "", [B], []),
    "48: text and two calls at once": (
        f"Both:[TOOL_CALLS]read[ARGS]{READ}[TOOL_CALLS]read[ARGS]{READ}",
        "Both:",
        [B, B],
        [],
    ),
    "49: an integer": (
        '[TOOL_CALLS] [{"name": "free", "arguments": {"n": 10}}, {"name": "free", "arguments": {"n": -1}}]',
        "",
        [("free", '{"n": 10}'), ("free", '{"n": -1}')],
        [],
    ),
    "50: brackets in prose": ("[1, 2] [TOOL] ] [T", "[1, 2] [TOOL] ] [T", [], []),
}


@each_row("row", ROWS.values(), ids=ROWS)
def test_rows(row: Row) -> None:
    check("mistral", row)
    check("mistral", row, policy={"arguments": "whole"})


@each_row("row", some(ROWS.values(), 6))  # the test above cuts all of them between characters
def test_rows_under_every_split(row: Row) -> None:
    assert check_every_split("mistral", stream_of(row[0], 5), tools=TOOLS).calls == row[2]


def test_a_tool_that_was_not_offered_stays_text() -> None:
    text = {"unknown_tools": "text"}
    zip = '[TOOL_CALLS]zip[ARGS]{"a": {"b": 1}}'
    check("mistral", (f"{zip} x", f"{zip} x", [], []), policy=text)
    check("mistral", (f"{zip}[TOOL_CALLS]read[ARGS]{READ}", zip, [B], []), policy=text)
    check(
        "mistral",
        (f"[TOOL_CALLS]zip[ARGS][TOOL_CALLS]read[ARGS]{READ}", "[TOOL_CALLS]zip[ARGS]", [B], []),
        policy=text,
    )


def test_nearly_json_is_repaired() -> None:
    row: Row = ("[TOOL_CALLS]read[ARGS]{'path': 'b'}", "", [("read", '{"path":"b"}')], ["repaired-arguments"])
    check("mistral", row, policy={"malformed": "repair"})
