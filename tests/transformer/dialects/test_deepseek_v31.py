"""deepseek-v31 and deepseek-v3: both read both forms. Their JSON: parser/test_jsongrammar.py."""

from __future__ import annotations

from tests.support.cases import TOOLS, Row, check
from tests.support.cuts import check_every_split
from tests.support.streams import stream_of
from tests.support.tiers import each_row, some

BEGIN, END = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"
CALL, SEP, CALL_END = "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"
READ = '{"path": "b"}'
B = ("read", READ)
V31 = f"{CALL}read{SEP}{READ}{CALL_END}"
V3 = f"{CALL}function{SEP}read\n```json\n{READ}\n```{CALL_END}"
TOKENS = f'{{"path": "{CALL_END}{END} ``` {CALL}"}}'


def text(written: str, *found: str) -> Row:
    """All of it stays text."""
    return written, written, [], list(found)


ROWS: dict[str, Row] = {
    "a call": (f"{BEGIN}{V31}{END}", "", [B], []),
    "two calls": (f"{BEGIN}{V31}{V31}{END}", "", [B, B], []),
    "the form of V3": (f"{BEGIN}{V3}\n{V3}{END}", "", [B, B], []),
    "both forms": (f"{BEGIN}{V31}{END}\n{BEGIN}{V3}{END}", "", [B, B], []),
    "text around": (f"One {BEGIN}{V31}{END} two", "One two", [B], []),
    "blanks": (f"{BEGIN} \n{CALL} read {SEP}\n{READ}\n{CALL_END}\n{END}", "", [B], []),
    "no outer tokens": (f"{V31}{V31}", "", [B, B], []),
    "no end": (f"{BEGIN}{CALL}read{SEP}{READ}", "", [B], []),
    "the end of a call is missing": (f"{BEGIN}{CALL}read{SEP}{READ}{V31}{END}", "", [B, B], []),
    "a fence in the form of V3.1": (f"{CALL}read{SEP}```json\n{READ}\n```{CALL_END}", "", [B], []),
    "a fence that is not closed": (f"{CALL}function{SEP}read\n```json\n{READ}{CALL_END}", "", [B], []),
    "a fence without a language": (f"{CALL}function{SEP}read\n```\n{READ}\n```{CALL_END}", "", [B], []),
    "no fence at all": (f"{CALL}function{SEP}read{SEP}{READ}{CALL_END}", "", [B], []),
    "a tool called function": (
        f"{CALL}function{SEP}{READ}{CALL_END}",
        "",
        [("function", READ)],
        ["unknown-tool"],
    ),
    "tokens in a string": (f"{CALL}read{SEP}{TOKENS}{CALL_END}", "", [("read", TOKENS)], []),
    "no arguments": (f"{CALL}free{SEP}{CALL_END}{CALL}free{SEP}{{}}{CALL_END}", "", [("free", "{}")] * 2, []),
    "a token ends arguments that are open": (
        f'{CALL}read{SEP}{{"path": ["b"{CALL_END}{END}',
        "",
        [("read", '{"path": ["b"')],
        ["repaired-call", "invalid-arguments"],
    ),
    "an opening token in prose": text(f"The token {CALL} and {BEGIN}."),
    "a closing token in prose": (f"The token{CALL_END} here", "The token here", [], ["stray-token"]),
    "no JSON": (f"{CALL}read{SEP}b{CALL_END}", f"{CALL}read{SEP}b", [], ["stray-token"]),
    "the answer ends in a name": text(f"{BEGIN}{CALL}rea"),
    "the answer ends before the arguments": text(f"{BEGIN}{CALL}read{SEP}"),
    # what users of other parsers reported
    "35: arguments that end in a number": (
        f'{BEGIN}{CALL}free{SEP}{{"code": 123}}{CALL_END}{END}',
        "",
        [("free", '{"code": 123}')],
        [],
    ),
    "36: nothing is lost in any two chunks": (f"{BEGIN}{V31}{V31}{END}", "", [B, B], []),
    "38: R1 writes the form of V3": (f"{BEGIN}{V3}{END}", "", [B], []),
    "39: repeated tokens": (f"{BEGIN}{BEGIN}{BEGIN}{V31}{END}{END}", "", [B], []),
}


# Quick: deepseek-v3, which shares the grammar, has some of the rows.
@each_row(
    ("dialect", "row"),
    [
        *(("deepseek-v31", row) for row in ROWS.values()),
        *(("deepseek-v3", row) for row in some(ROWS.values(), 9)),
    ],
)
def test_rows(row: Row, dialect: str) -> None:
    check(dialect, row)
    check(dialect, row, policy={"arguments": "whole"})


@each_row("row", some(ROWS.values(), 6))  # the test above cuts all of them between characters
def test_rows_under_every_split(row: Row) -> None:
    for dialect in ("deepseek-v31", "deepseek-v3"):
        assert check_every_split(dialect, stream_of(row[0], 5), tools=TOOLS).calls == row[2]


def test_a_tool_that_was_not_offered_stays_text() -> None:
    zip = V31.replace("read", "zip")
    text = {"unknown_tools": "text"}
    check("deepseek-v31", (f"{zip}{V31}", zip, [B], []), policy=text)
    check("deepseek-v31", (f"{BEGIN}{zip}{END} x", f"{BEGIN}{zip} x", [], ["stray-token"]), policy=text)
