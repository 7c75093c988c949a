"""seed-oss: qwen3-coder's calls in another wrapper (docs/spec.md, sections 4 and 5)."""

from __future__ import annotations

from tests.support.cases import Row, check, written
from tests.support.tags import OFFERED, SEED, broken, check_both, good, unfinished
from tests.support.tiers import each_row, some

SHARED: dict[str, Row] = dict([*good(SEED), *broken(SEED)])
TEXT: dict[str, Row] = dict(unfinished(SEED))
OWN: dict[str, Row] = {
    "one newline at each end of a value is not part of it": (
        SEED.one("write", path="\na\n", content="\n\nx\n\n"),
        "",
        written("\nx\n"),
        [],
    ),
    "a parameter in the middle of a line is part of the value": (
        SEED.one("read", path="a <parameter=limit> b"),
        "",
        [("read", {"path": "a <parameter=limit> b"})],
        [],
    ),
    "qwen3-coder's wrapper is text": (
        f"<tool_call>\n{SEED.call('read', path='a')}\n</tool_call>",
        "<tool_call>\n</tool_call>",
        [("read", {"path": "a"})],
        [],
    ),
}


# Some of them in the quick tier: the grammar is that of glm, which has all of them.
@each_row("row", some(SHARED.values(), 6))
def test_what_all_tag_dialects_share(row: Row) -> None:
    check_both(SEED, row)


@each_row("row", OWN.values(), ids=OWN)
def test_seed_oss(row: Row) -> None:
    check_both(SEED, row)


@each_row("row", TEXT.values(), ids=TEXT)
def test_what_is_not_finished_is_text(row: Row) -> None:
    check("seed-oss", row, tools=OFFERED)
