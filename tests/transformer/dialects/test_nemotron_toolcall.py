"""nemotron-toolcall: its own markers and no others. The grammar of its JSON: parser/test_jsongrammar.py."""

from __future__ import annotations

from tests.support.cases import Row, check
from tests.support.tiers import each_row

CALL = '{"name": "read", "arguments": {"path": "b"}}'
B = ("read", '{"path": "b"}')
ROWS: dict[str, Row] = {
    "a call": ("<TOOLCALL>[ONE]</TOOLCALL>", "", [B], []),
    "two calls": ("<TOOLCALL>[ONE, ONE]</TOOLCALL>", "", [B, B], []),
    "the markers of hermes": ("<tool_call>ONE</tool_call>", "<tool_call>ONE</tool_call>", [], []),
    "a marker in a string": (
        '<TOOLCALL>{"name": "read", "arguments": {"path": "</TOOLCALL>"}}</TOOLCALL>',
        "",
        [("read", '{"path": "</TOOLCALL>"}')],
        [],
    ),
    "half a marker": ("<TOOLCALL </TO", "<TOOLCALL </TO", [], []),
}


@each_row("row", ROWS.values(), ids=ROWS)
def test_rows(row: Row) -> None:
    text, content, calls, found = row
    check("nemotron-toolcall", (text.replace("ONE", CALL), content.replace("ONE", CALL), calls, found))
