"""Changes in words."""

from __future__ import annotations

from tests.support.tiers import each_row
from workbench.analysis.variants.changes import (
    Change,
    Cut,
    Merge,
    Offer,
    Retext,
    Split,
    Switch,
    describe,
    words,
)


@each_row(
    ("change", "said"),
    [
        (Switch("malformed", "repair"), "malformed = repair"),
        (Retext(0, "content", 120, 131, "x"), "text of content 120..131"),
        (Retext(1, "reasoning", 0, 1, ""), "text of reasoning of choice 1 0..1"),
        (Retext(0, "content", 7, 7, "x"), "“x” into content at 7"),
        (Cut(512), "cut after byte 512"),
        (Merge(3), "reads 4 and 5 as one"),
        (Split(9), "a new read at byte 9"),
        (Offer("read"), "read is offered"),
    ],
)
def test_words(change: Change, said: str):
    assert words(change) == said


@each_row(
    ("changes", "said"),
    [
        ([], ""),
        ([Switch("malformed", "repair"), Cut(512)], "malformed = repair; cut after byte 512"),
        ([Retext(0, "content", at, at + 1, "") for at in range(9)], "text of content in 9 places"),
        (
            [Retext(0, "content", 0, 1, ""), Retext(0, "reasoning", 0, 1, ""), Cut(1)],
            "text of content 0..1; text of reasoning 0..1; cut after byte 1",
        ),
        ([Merge(0)] * 9, "; ".join(["reads 1 and 2 as one"] * 9)),
        ([Merge(0)] * 10, "; ".join(["reads 1 and 2 as one"] * 8) + "; 2 more changes"),
    ],
)
def test_describe(changes: list[Change], said: str):
    assert describe(changes) == said
