"""What the replay shows at a step: the same whichever way one came, and nothing that was not known then."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from rich.style import Style

from tests.support.project import SAMPLES
from tests.support.samples import some_samples
from tests.support.tiers import exhaustive
from workbench.replay.lines import MemoryTape, Tail
from workbench.replay.player import Player
from workbench.replay.rowindex import ALL
from workbench.tape.format import Line, Tape, read_tape
from workbench.ui.replaymodel import ReplayModel
from workbench.ui.widgets.replayview import ReplayView
from workbench.ui.widgets.rowpane import RowPane

_SEEN = 30 if exhaustive() else 10  # rows of a pane that a screen has room for, or the newest of them
_LONG = 150  # lines of a tape


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """The panes themselves, without a screen around them: what they would draw, in one style."""
    monkeypatch.setattr(RowPane, "look", lambda self, name: Style.null())
    monkeypatch.setattr(RowPane, "show", lambda self: None)


class Shown:
    """A tape in the view, and all that can be seen of it."""

    def __init__(self, player: Player) -> None:
        self.model = ReplayModel(lambda work, done: done(work()))
        self.model.source = MemoryTape("sample", player.header, ())
        self.model.source.player = player
        self.view = ReplayView(self.model)

    def at(self, step: int) -> tuple[object, ...]:
        """The screen's model: rows, selected rows, the position, what is held, the message."""
        assert self.model.timeline is not None
        self.model.timeline.catch_up(ALL)
        self.model.move_to(step)
        panes = [
            (*self._rows(pane), pane.cursor, pane.highlighted, str(pane.border_title))
            for pane in self.view.panes
        ]
        # How many steps and reads there are in all is no part of the moment.
        position = re.sub(r" of [0-9,]+", "", self.view.position.words)
        return (*panes, position, self.view.position.alarm, tuple(self.view.message.rows))

    def _rows(self, pane: RowPane) -> Iterator[str]:
        count = pane.count()
        yield str(count)
        for row in range(max(0, count - _SEEN), count):
            # How wide the times are is no part of the moment either: the column does not change on the way.
            yield re.sub(r" +(?=\d+\.\d{3} )", " ", pane.text(row), count=1)


def played(lines: list[Line], header: Mapping[str, Any]) -> Player:
    player = Player(header)
    player.add(lines)
    return player


@some_samples(1)
def test_stepping_back_and_forward_gives_the_same_screen(path: Path):
    tail = Tail(path)
    while tail.advance(1):
        pass
    player = tail.player
    assert player is not None
    shown = Shown(player)
    steps = list(range(-1, player.steps))
    forwards = {step: shown.at(step) for step in steps}
    backwards = {step: shown.at(step) for step in reversed(steps)}
    assert backwards == forwards
    random.Random(len(steps)).shuffle(steps)
    for step in steps if exhaustive() else steps[:20]:
        assert shown.at(step) == forwards[step]


@some_samples(1)
def test_at_a_step_nothing_is_known_that_came_later(path: Path):
    """The screen at step n of the whole tape, and at the last step of a tape that only went so far."""
    tape = read_tape(path)
    whole = Shown(played(list(tape.lines), tape.header))
    assert whole.view.player is not None
    steps = whole.view.player.steps
    growing = Player(tape.header)
    shown = Shown(growing)
    for line in tape.lines:
        before = growing.steps
        growing.add([line])
        for step in range(before, growing.steps):
            assert whole.at(step) == shown.at(step), f"step {step}"
    assert growing.steps == steps


@pytest.mark.exhaustive  # quick: one sample, below
@some_samples(1)
def test_a_fresh_run_over_the_first_steps_is_in_the_same_state(path: Path):
    if len(read_tape(path).lines) < _LONG:  # the work grows with the square of it
        check_fresh_runs(path)


def test_a_fresh_run_over_the_first_steps_of_one_sample_is_in_the_same_state():
    check_fresh_runs(SAMPLES / "roo-xml" / "unclosed-parameter.jsonl")


def check_fresh_runs(path: Path) -> None:
    """The same as above with a new player for every prefix, so that nothing at all is carried over."""
    tape = read_tape(path)
    whole = Shown(played(list(tape.lines), tape.header))
    for fresh, step in prefixes(tape):
        assert whole.at(step) == Shown(fresh).at(step)


def prefixes(tape: Tape) -> Iterator[tuple[Player, int]]:
    steps = 0
    for count in range(1, len(tape.lines) + 1):
        fresh = played(list(tape.lines[:count]), tape.header)
        yield from ((fresh, step) for step in range(steps, fresh.steps))
        steps = fresh.steps
