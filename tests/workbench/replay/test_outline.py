"""Folding and filtering: nothing is lost, what matters stays in sight, going back shows what was there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.streams import sse
from tests.support.tapes import live
from tests.support.tiers import each_row
from tests.workbench.replay.test_alignment import aligned, streams
from transformer.records import Delta, Transition
from workbench.errors import UserError
from workbench.replay.alignment import Alignment
from workbench.replay.outline import Entry, Outline, Shown, parse_filter
from workbench.replay.player import Pane, Player
from workbench.tape.format import Line, end_line, read_line

WORDS = 400


def content(text: str) -> bytes:
    return sse({"choices": [{"index": 0, "delta": {"content": text}}]}, done=False)


def prose_and_a_call(words: int = WORDS) -> Player:
    """Much prose, a call with a long value, and prose again."""
    texts = [f"word{number} " for number in range(words)]
    value = ["\n<bash>\n<command>", *(f"echo {number}; " for number in range(words)), "</command>\n</bash>\n"]
    lines = [read_line(at, content(text)) for at, text in enumerate([*texts, *value, *texts])]
    return live(*lines, end_line(9_999, "done"))


def outline_of(player: Player, **options: object) -> Outline:
    outline = Outline(aligned(player), **options)  # type: ignore[arg-type]
    outline.catch_up()
    return outline


def entries(shown: Shown) -> list[Entry]:
    return [shown.entry(number) for number in range(len(shown))]


def test_long_runs_are_one_line_and_every_move_stays_in_sight():
    player = prose_and_a_call()
    outline = outline_of(player)
    shown = outline.shown(len(outline.alignment), None)
    assert len(shown) < 30
    folds = [entry for entry in entries(shown) if entry.folded]
    assert len(folds) == 3 and all(entry.end - entry.start >= WORDS - 5 for entry in folds)
    seen = {line for entry in entries(shown) if not entry.folded for line in range(*entry)}
    for row in player.rows_of_transitions:
        item = player.item(Pane.MACHINE, row)
        assert isinstance(item, Transition)
        if item.state != item.to:
            assert outline.alignment.line_of[Pane.MACHINE][row] in seen
    # Each can be opened, and closed again.
    run = outline.run_of(folds[1].start + 7)
    assert run is not None and folds[1].start - 2 <= run < folds[1].start
    opened = outline_of(player, opened=frozenset([run]))
    assert len(opened.shown(len(opened.alignment), None)) > WORDS
    assert len(outline_of(player, folds=False)) == len(outline.alignment)


@pytest.mark.parametrize("pane", [None, *Pane])
@given(
    lines=streams(), text=st.sampled_from(["", "-prose -data", "transitions", "deltas", "call:1", "findings"])
)
def test_each_line_is_seen_once_or_is_in_one_fold(pane: Pane | None, lines: list[Line], text: str):
    player = live(*lines)
    outline = outline_of(player, pane=pane, wanted=parse_filter(text))
    alignment = outline.alignment
    for known in {0, 1, len(alignment) // 3, len(alignment)}:
        for selected in (None, *range(0, known, max(1, known // 7))):
            shown = outline.shown(known, selected)
            places = [place for place in range(len(outline)) if outline.line_at(place) < known]
            covered = [
                outline.place_of(line)
                for entry in entries(shown)
                for line in range(*entry)
                if outline.place_of(line) < len(outline) and outline.line_at(outline.place_of(line)) == line
            ]
            assert covered == places
            for number, entry in enumerate(entries(shown)):
                assert shown.number_of(entry.start) == shown.number_of(entry.end - 1) == number
                assert selected is None or not (entry.folded and entry.start <= selected < entry.end)


def test_at_a_step_the_folds_are_those_of_a_tape_that_ends_there():
    player = prose_and_a_call(30)
    whole = outline_of(player)
    growing = live()
    part = Outline(Alignment(growing))
    lines = [read_line(player.times[read], player.read(read)) for read in range(player.reads)]
    for line in lines[:-1]:  # with the last one comes what the end leads to
        growing.add([line])
        part.alignment.catch_up()
        part.catch_up()
        known = whole.alignment.lines_at(*(rows.known_at(growing.steps - 1) for rows in player.panes))
        assert known == len(part.alignment)
        assert entries(whole.shown(known, None)) == entries(part.shown(known, None))


def test_rows_by_kind_and_by_call():
    player = prose_and_a_call(10)
    outline = outline_of(player, wanted=parse_filter("transitions"))
    moves = [player.item(Pane.MACHINE, row) for row in player.rows_of_transitions]
    changes = [move for move in moves if isinstance(move, Transition) and move.state != move.to]
    assert 0 < len(outline) <= 2 * len(changes)
    outline = outline_of(player, wanted=parse_filter("call:1"))
    lines = [outline.line_at(place) for place in range(len(outline))]
    for line in lines:
        rows = ((pane, outline.alignment.cells[pane][line]) for pane in (Pane.MACHINE, Pane.CLIENT))
        items = [player.item(pane, row) for pane, row in rows if row >= 0]
        head = outline.alignment.level_of(line)[0] == line  # what it comes from is seen with it
        assert head or any(isinstance(one, Transition | Delta) and one.call == 0 for one in items)
    deltas = [player.item(Pane.CLIENT, row) for row in range(len(player.rows(Pane.CLIENT)))]
    of_call = {row for row, one in enumerate(deltas) if isinstance(one, Delta) and one.call == 0}
    assert of_call <= {outline.alignment.cells[Pane.CLIENT][line] for line in lines}
    assert not len(outline_of(player, wanted=parse_filter("call:2")))


@each_row(
    ("text", "problem"),
    [
        ("verbs", "not a kind of row"),
        ("call:0", "counted from 1"),
        ("call:x", "counted from 1"),
        ("-", "kind"),
    ],
)
def test_a_filter_that_cannot_be_understood(text: str, problem: str):
    with pytest.raises(UserError, match=problem):
        parse_filter(text)


def test_names_may_be_short_and_nothing_means_everything():
    assert parse_filter("  ") is None
    short, long = parse_filter("tr, find -pro"), parse_filter("transitions findings -prose")
    assert short is not None and long is not None
    assert (short.wanted, short.unwanted) == (long.wanted, long.unwanted)
