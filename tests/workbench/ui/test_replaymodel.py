"""The model of the replay without a screen: no key costs more in a long tape, or is lost while it is read."""

from __future__ import annotations

import asyncio
from functools import lru_cache, partial

import pytest
from rich.style import Style

from tests.support.cost import calls_made
from tests.support.streams import chunk, sse, tool
from workbench.analysis.variants.changes import Switch
from workbench.errors import UserError
from workbench.replay.lines import MemoryTape
from workbench.replay.rowindex import ALL
from workbench.replay.sources import Replayable
from workbench.replay.timeline import Unit
from workbench.tape.format import Line, end_line, make_header, read_line
from workbench.ui.replaymodel import Moved, Notice, ReplayMessage, ReplayModel
from workbench.ui.widgets.replayview import ReplayView
from workbench.ui.widgets.rowpane import RowPane

_SHORT, _LONG = 100, 3_000  # reads
_CALL = "<read>\n<path>a.py</path>\n</read>\n"
_HEADER = make_header(
    "x",
    "roo-xml",
    request={"model": "m", "tools": [tool("read", {"path": {"type": "string"}})]},
    ids="s",
    now=0,
    stream=True,
)


@lru_cache
def lines(reads: int) -> list[Line]:
    """So many words, then a call."""
    texts = [*(f"word{number} " for number in range(reads)), "\n", _CALL]
    events = [sse(chunk(text), done=False) for text in texts]
    return [*(read_line(at / 100, data) for at, data in enumerate(events)), end_line(reads / 100, "done")]


class InSlices(MemoryTape):
    """Reads so many lines at a time, however fast the machine is."""

    def __init__(self, reads: int, most: int) -> None:
        super().__init__("x", _HEADER, lines(reads))
        self._most = most

    def advance(self, seconds: float) -> bool:
        before = self.done
        self._take(self._most)
        return self.done != before


@lru_cache
def whole(reads: int) -> MemoryTape:
    """One that is read already; what a model derives from it is the model's own."""
    tape = MemoryTape("x", _HEADER, lines(reads))
    tape.play()
    return tape


class Replay:
    """A model that is not driven by any frame, and what it sent."""

    def __init__(self, reads: int, most: int | None = None) -> None:
        source = whole(reads) if most is None else InSlices(reads, most)
        self.sent: list[ReplayMessage] = []
        self.model = ReplayModel(lambda work, done: done(work()))
        self.model.subscribe(self.sent.append)
        self.model.open(Replayable("x", lambda: source, lambda: _HEADER))

    @property
    def told(self) -> list[str]:
        return [message.sentence for message in self.sent if isinstance(message, Notice)]

    @property
    def known(self) -> int:
        """How far the index of calls and of the message has come."""
        assert self.model.timeline is not None
        return self.model.timeline.assembly.known

    def read(self) -> None:
        """All that is left."""
        while self.model.busy:
            self.model.read_on()


@lru_cache
def call_step(reads: int) -> int:
    """The step of the only call."""
    timeline = Replay(reads).model.timeline
    assert timeline is not None
    timeline.catch_up(ALL)
    (step,) = timeline.calls
    return step


def steps_costs(reads: int) -> dict[tuple[Unit, int], int]:
    """What the first key after opening costs, with all that is drawn for it, by what it goes to."""
    found = {}
    for unit in Unit:
        for way in (1, -1):
            replay = Replay(reads)
            view = ReplayView(replay.model)
            view.arrangement.show(replay.model.alignment)  # the lines are made while the tape is read
            view.arrangement.catch_up()
            replay.model.at = replay.model.steps // 2
            found[unit, way] = calls_made(partial(replay.model.seek, unit, way))
    return found


def test_the_first_step_in_a_long_tape_costs_what_it_costs_in_a_short_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(RowPane, "look", lambda self, name: Style.null())
    monkeypatch.setattr(RowPane, "show", lambda self: None)
    monkeypatch.setattr(ReplayView, "_keep_loading", lambda self: None)  # there is no application to load in
    short, long = steps_costs(_SHORT), steps_costs(_LONG)
    assert Replay(_LONG).known < Replay(_LONG).model.steps, "it would have had something to catch up with"
    for key, cost in long.items():
        if key[0] is Unit.CALL:
            assert cost < 20_000, "a slice of the index"
        else:
            assert cost < short[key] + 200, key


def test_a_call_far_away_is_gone_to_once_the_index_knows_it():
    replay = Replay(_LONG)
    model = replay.model
    model.seek(Unit.CALL, 1)
    assert model.step == 0 and model.reading and model.busy and model.moving
    model.read_on()
    assert model.reading, "one slice at a time"
    replay.read()
    assert model.step == call_step(_LONG) and not model.reading and not replay.told


@pytest.mark.parametrize("halting", ["halt", "go_to_start", "toggle_play"])
def test_another_key_forgets_what_was_waited_for(halting: str):
    replay = Replay(_LONG)
    replay.model.seek(Unit.CALL, 1)
    getattr(replay.model, halting)()
    replay.model.halt()
    step = replay.model.step
    replay.read()
    assert replay.model.step == step


@pytest.mark.parametrize(("text", "said"), [("call 1", None), ("call 2", "there is no call 2")])
def test_a_place_that_is_typed_is_waited_for_as_well(text: str, said: str | None):
    replay = Replay(_LONG)
    replay.model.go_to(text)
    assert replay.model.reading
    replay.read()
    assert replay.model.step == (call_step(_LONG) if said is None else 0)
    assert not replay.model.reading
    assert [sentence.partition(":")[0] for sentence in replay.told] == ([] if said is None else [said])


def test_a_place_that_is_none_is_told_at_once():
    replay = Replay(_LONG)
    with pytest.raises(UserError, match="not a place"):
        replay.model.go_to("nowhere")
    assert not replay.model.moving


@pytest.mark.parametrize("unit", [Unit.STEP, Unit.TRANSITION, Unit.READ, Unit.DELTA])
def test_a_step_beyond_what_is_loaded_is_made_when_more_is(unit: Unit):
    replay = Replay(_SHORT, most=10)
    model = replay.model
    model.move_to(model.steps - 1)
    last = model.step
    model.seek(unit, 1)
    assert model.step == last and model.reading and not replay.told
    model.read_on()
    assert model.step > last and not model.reading


def test_the_end_is_the_end_of_the_tape_though_it_is_still_loaded():
    replay = Replay(_SHORT, most=10)
    replay.model.go_to_end()
    assert replay.model.step == replay.model.steps - 1
    replay.read()
    assert replay.model.player is not None and replay.model.player.complete
    assert replay.model.step == replay.model.steps - 1


async def test_loading_reads_the_tape_and_its_index():
    replay = Replay(_LONG, most=500)
    model = replay.model
    assert model.busy and not model.loaded
    await asyncio.wait_for(model.load(), 60)
    assert model.loaded and not model.busy and replay.known == model.steps
    sent = len(replay.sent)
    assert calls_made(partial(model.seek, Unit.CALL, 1)) < 200
    assert replay.sent[sent:] == [Moved()]


def test_playing_waits_for_what_a_breakpoint_searches():
    replay = Replay(_LONG)
    model = replay.model
    model.set_breakpoint("text:nowhere")
    model.go_to_end()
    model.move_to(model.steps - 2)
    model.toggle_play()
    assert model.reading and not model.playing
    replay.read()
    assert model.playing and not model.reading


def test_undo_redo_and_the_original_beside_the_variant():
    replay = Replay(10)
    model = replay.model
    while not model.loaded:
        model.read_on()
    model.go_to("read 5")
    first, second = [Switch("dialect", "passthrough")], [Switch("calls", "first")]
    model.attempt(first)
    model.attempt(second)
    both = model.changes
    assert both == (*first, *second) and model.original is not None

    assert model.player is not None
    at = model.player.seconds(model.step)
    model.toggle_original()
    assert not model.is_variant and "ORIGINAL" in model.variant and model.original is None
    assert model.player is not None and model.player.dialect == "roo-xml"
    assert model.player.seconds(model.step) == at, "at the same moment"
    model.toggle_original()
    assert model.changes == both and model.player is not None and model.player.dialect == "passthrough"

    model.undo()
    assert model.changes == tuple(first)
    model.redo()
    assert model.changes == both
    model.redo()
    assert replay.told[-1] == "there is nothing to redo"
    model.undo()
    model.undo()
    model.toggle_original()
    assert "there is no variant" in replay.told[-1]
    model.redo()
    model.attempt(second)  # a new change: what was undone is not what comes next any more
    model.redo()
    assert model.changes == both
