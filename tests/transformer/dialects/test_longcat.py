"""longcat: its own markers and no others. The grammar of its JSON: parser/test_jsongrammar.py."""

from __future__ import annotations

from tests.support.cases import Row, check
from tests.support.tiers import each_row

CALL = '{"name": "read", "arguments": {"path": "b"}}'
B = ("read", '{"path": "b"}')
ROWS: dict[str, Row] = {
    "a call": ("<longcat_tool_call>\nONE\n</longcat_tool_call>", "", [B], []),
    "two calls": (
        "<longcat_tool_call>\nONE\n</longcat_tool_call>\n<longcat_tool_call>\nONE\n</longcat_tool_call>",
        "",
        [B, B],
        [],
    ),
    "the markers of hermes": ("<tool_call>ONE</tool_call>", "<tool_call>ONE</tool_call>", [], []),
    "a marker in a string": (
        '<longcat_tool_call>{"name": "read", "arguments": {"path": "</longcat_tool_call>"}}'
        "</longcat_tool_call>",
        "",
        [("read", '{"path": "</longcat_tool_call>"}')],
        [],
    ),
    "half a marker": ("<longcat_tool_call </lo", "<longcat_tool_call </lo", [], []),
}


@each_row("row", ROWS.values(), ids=ROWS)
def test_rows(row: Row) -> None:
    text, content, calls, found = row
    check("longcat", (text.replace("ONE", CALL), content.replace("ONE", CALL), calls, found))
