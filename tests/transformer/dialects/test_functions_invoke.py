"""functions-invoke: names in attributes, several calls in one wrapper (docs/spec.md, sections 4 and 5)."""

from __future__ import annotations

from tests.support.cases import Row, check
from tests.support.invokes import attributes, bodies, flagged
from tests.support.tags import INVOKE, OFFERED, broken, check_both, good, unfinished
from tests.support.tiers import each_row, some

SHARED: dict[str, Row] = dict(
    [*good(INVOKE), *broken(INVOKE), *attributes(INVOKE), *flagged(INVOKE), *bodies(INVOKE)]
)
TEXT: dict[str, Row] = dict(unfinished(INVOKE))


# Some of them in the quick tier: the grammar is that of minimax-m2, which has all of them.
@each_row("row", some(SHARED.values(), 6))
def test_what_all_such_dialects_share(row: Row) -> None:
    check_both(INVOKE, row)


@each_row("row", TEXT.values(), ids=TEXT)
def test_what_is_not_finished_is_text(row: Row) -> None:
    check("functions-invoke", row, tools=OFFERED)
