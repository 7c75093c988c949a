"""The difference: the rows that a change made, and no others."""

from __future__ import annotations

import random
from collections import Counter
from functools import partial
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.support.cost import lines_run
from tests.support.samples import some_samples
from tests.support.streams import chunk, sse
from tests.support.tiers import each_row, exhaustive
from tests.support.variants import play, play_bytes, played_file, varied
from workbench.analysis.variants.changes import Change, Cut, Merge, Retext, Split, Switch
from workbench.analysis.variants.difference import ChangedRows, Gap, changed_rows, gaps
from workbench.replay.player import Pane, Player
from workbench.tape.format import end_line, read_line, sent_line, status_line

sequences = st.lists(st.integers(0, 5), max_size=30)


def check(a: list[int], b: list[int], found: list[Gap]) -> None:
    """Outside the gaps the two are the same, and inside them something differs."""
    at = to = 0
    for gap in [*found, Gap(len(a), len(a), len(b), len(b))]:
        assert a[at : gap.a] == b[to : gap.b]
        at, to = gap.a_end, gap.b_end
    assert all(a[gap.a : gap.a_end] != b[gap.b : gap.b_end] for gap in found)


@given(sequences, sequences)
def test_gaps_are_all_that_differs(a: list[int], b: list[int]):
    check(a, b, gaps(a, b))


@each_row(
    ("a", "b", "found"),
    [
        ("", "", []),
        ("abc", "abc", []),
        ("abc", "axc", [(1, 2, 1, 2)]),
        ("abc", "abcd", [(3, 3, 3, 4)]),
        ("abcd", "ad", [(1, 3, 1, 1)]),
        ("aXbbYc", "aXbYbc", [(3, 4, 3, 3), (5, 5, 4, 5)]),
        ("ababab", "babab", [(0, 1, 0, 0)]),
    ],
)
def test_gaps(a: str, b: str, found: list[tuple[int, int, int, int]]):
    assert gaps(list(map(ord, a)), list(map(ord, b))) == found


def test_many_items_take_no_time():
    """However they are made: far below what comparing each with each would take."""
    dice = random.Random(0)
    many = 100_000 if exhaustive() else 10_000
    plain = [dice.randrange(many) for _ in range(many)]
    few = [dice.randrange(3) for _ in range(many)]
    for a, b in [
        (plain, [item if at % 7 else -at for at, item in enumerate(plain)]),
        (plain, plain[::-1]),
        (plain, plain[many // 2 :] + plain[: many // 2]),
        (few, [dice.randrange(3) for _ in range(many)]),
        ([0, 1] * (many // 2), [1, 0] * (many // 2)),
        (list(range(many)), list(range(many, 2 * many))),
    ]:
        assert lines_run(partial(gaps, a, b)) < 100 * many
        check(a, b, gaps(a, b))


def said(marks: ChangedRows) -> tuple[list[int], int, int | None]:
    return [row for row in range(len(marks.new)) if row in marks], marks.vanished, marks.first


NOTHING: tuple[list[int], int, None] = [], 0, None


@some_samples(4)
def test_no_change_is_no_difference(path: Path):
    before = played_file(path)
    assert [said(marks) for marks in changed_rows(before, varied(before))] == [NOTHING] * 3
    after = varied(before, Switch("malformed", "repair"))
    for pane, marks in zip(Pane, changed_rows(before, after), strict=True):
        assert len(marks.new) == len(after.rows(pane)) and marks.count == sum(marks.new)
        more = len(after.rows(pane)) - _rows(before, pane)
        assert marks.count - marks.vanished == more, "what is neither new nor gone is in both"
        assert (marks.first is None) == (not marks.count and not marks.vanished)


def _rows(player: Player, pane: Pane) -> int:
    """Without what was sent then."""
    own = [line for line in player.lines if line.kind == "sent" and "by" not in line.value]
    return len(player.rows(pane)) - (len(own) if pane is Pane.CLIENT else 0)


def test_a_changed_text_marks_what_comes_of_it():
    before = play_bytes(sse(chunk("one"), chunk("two"), chunk("six")), [80, 160])
    after = varied(before, Retext(0, "content", 3, 6, "2"))
    upstream, machine, client = changed_rows(before, after)
    assert said(upstream) == ([1], 1, after.rows(Pane.UPSTREAM).steps[1])
    for marks, pane in ((machine, Pane.MACHINE), (client, Pane.CLIENT)):
        (row,), vanished, first = said(marks)
        item = after.item(pane, row)
        assert getattr(item, "text", None) == "2" and vanished == 1
        assert first == after.rows(pane).steps[row]


@each_row(
    ("change", "upstream"),
    [
        (Merge(0), ([0], 2, 0)),
        (Split(9), ([0, 1], 1, 0)),
        (Cut(0), ([0], 3, 0)),
    ],
)
def test_reads_are_told_apart_by_their_bytes(change: Change, upstream: object):
    before = play_bytes(sse(chunk("Hello")), [30])
    after = varied(before, change)
    assert said(changed_rows(before, after)[Pane.UPSTREAM]) == upstream
    if not isinstance(change, Cut):
        assert said(changed_rows(before, after)[Pane.CLIENT]) == NOTHING


def test_numbers_and_times_make_no_difference():
    hello = sse(chunk("Hello"))
    before = play(status_line(0, "upstream", 200), read_line(1, hello), end_line(2, "done", calls=0))
    after = play(status_line(5, "upstream", 200), read_line(7, hello), end_line(9, "done"))
    assert [said(marks) for marks in changed_rows(before, after)] == [NOTHING] * 3
    other = play(status_line(5, "upstream", 201), read_line(7, hello), end_line(9, "eof"))
    assert said(changed_rows(before, other)[Pane.UPSTREAM])[:2] == ([0, 2], 2)


def test_what_was_sent_is_not_missed():
    lines = [
        read_line(1, b"x"),
        sent_line(2, b"x"),
        sent_line(2, b": ping\n\n", "proxy"),
        end_line(3, "done"),
    ]
    before = play(*lines, kind="relay")
    after = varied(before)
    assert len(before.rows(Pane.CLIENT)) == len(after.rows(Pane.CLIENT)) + 1 == 2
    assert [said(marks) for marks in changed_rows(before, after)] == [NOTHING] * 3
    assert changed_rows(after, before)[Pane.CLIENT].count == 0


def test_rows_that_only_vanish_are_placed_where_they_were():
    before = play_bytes(sse(chunk("a", "t"), chunk("b"), chunk("c")))
    after = varied(before, Retext(0, "content", 2, 3, ""))
    marks = changed_rows(before, after)[Pane.CLIENT]
    assert (marks.count, marks.vanished) == (0, 1)
    assert marks.first is not None and after.place(marks.first)[0] is Pane.CLIENT


def test_what_is_beyond_the_rows_is_not_marked():
    marks = ChangedRows(bytearray([0, 1]), 0, 1)
    assert (0 in marks, 1 in marks, 2 in marks, -1 in marks) == (False, True, False, False)


def test_a_gap_that_is_too_long_counts_what_is_there():
    """Where the order cannot be found in time, a row is new only if the original has fewer of its kind."""
    dice = random.Random(0)
    words = [dice.choice("abc") for _ in range(3000)]
    before = play_bytes(sse(*map(chunk, words)))
    after = play_bytes(sse(*map(chunk, [*words[::-1], "new", "z"])))
    client = changed_rows(before, after)[Pane.CLIENT]
    texts = [
        getattr(after.item(Pane.CLIENT, row), "text", "") for row in range(len(client.new)) if row in client
    ]
    assert Counter(texts)["new"] == 1 and client.count < 100
