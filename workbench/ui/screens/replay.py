"""The replay screen: a debugger for streams, with a cursor in time that keys move or that plays by itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.events import Resize
from textual.widgets import Footer

from workbench.analysis.variants.changes import Change
from workbench.errors import UserError
from workbench.replay.playback import Playback
from workbench.replay.player import Pane
from workbench.replay.sources import Replayable
from workbench.replay.timeline import Unit
from workbench.ui.screens.exchange import ExchangeScreen
from workbench.ui.screens.picker import PickerScreen
from workbench.ui.screens.tapenotes import MarkNotes, Runner
from workbench.ui.screens.whatif import Trials, WhatIf
from workbench.ui.widgets.bars import PositionBar, Question
from workbench.ui.widgets.replayview import ReplayView
from workbench.ui.widgets.rowpane import RowPane


def _steps(
    unit: Unit, on: str, back: str, name: str, what: str, display: tuple[str, str]
) -> list[BindingType]:
    """Two keys: to the next one of a kind, and to the one before."""
    return [
        Binding(on, f"seek('{unit}', 1)", name, id=f"replay.{unit}", key_display=display[0],
                tooltip=f"On to the next {what}", show=unit in (Unit.TRANSITION, Unit.READ)),
        Binding(back, f"seek('{unit}', -1)", f"{name} back", id=f"replay.{unit}-back", show=False,
                key_display=display[1], tooltip=f"Back to the {what} before"),
    ]  # fmt: skip


def _unseen(bindings: Iterable[BindingType], *keys: str) -> list[BindingType]:
    """These work as they do in the live screen, but the footer has no room for them."""
    return [replace(one, show=False) for one in bindings if isinstance(one, Binding) and one.key in keys]


KEYS: list[BindingType] = [
    *_steps(Unit.TRANSITION, "right", "left", "Step", "move of the parser", ("→", "←")),
    *_steps(Unit.READ, "right_square_bracket", "left_square_bracket", "Read", "read",
            ("]", "[")),
    *_steps(Unit.DELTA, "right_curly_bracket", "left_curly_bracket", "Delta",
            "thing that the client got", ("}", "{")),
    *_steps(Unit.CALL, "right_parenthesis", "left_parenthesis", "Call", "call", (")", "(")),
    *_steps(Unit.STEP, "full_stop", "comma", "Any step", "step, whatever happened", (".", ",")),
    Binding("space", "play", "Play", id="replay.play", tooltip="Play from here, or stand still"),
    Binding("plus,equals_sign", "speed(1)", "Faster", id="replay.faster", show=False, key_display="+",
            tooltip="Play faster: up to 100 times, then as fast as possible"),
    Binding("minus", "speed(-1)", "Slower", id="replay.slower", show=False, key_display="-",
            tooltip="Play slower: down to a tenth of the recorded speed"),
    Binding("c", "run(1)", "Run", id="replay.run", tooltip="Run to the next breakpoint"),
    Binding("C", "run(-1)", "Run back", id="replay.run-back", show=False,
            tooltip="Run back to the breakpoint before"),
    Binding("b", "breakpoints", "Breakpoints", id="replay.breakpoints",
            tooltip="Where running stops: states, rules, findings, texts, hold-back, tools"),
    Binding("m", "mark", "Mark", id="replay.mark", show=False,
            tooltip="Mark this step, with a note; kept beside the tape"),
    Binding("M", "marks", "Marks", id="replay.marks", show=False, tooltip="The marks of this tape"),
    Binding("e", "change('rewrite')", "Edit", id="replay.edit", tooltip="Edit the model's text"),
    Binding("d", "change('switch')", "What if", id="replay.switch",
            tooltip="Another dialect or policy: see at once what changes"),
    Binding("exclamation_mark", "change('cut')", "Cut here", id="replay.cut", show=False, key_display="!",
            tooltip="What if upstream had ended here?"),
    Binding("J", "change('join')", "Join reads", id="replay.join", show=False,
            tooltip="What if this read and the next one had come as one?"),
    Binding("vertical_line", "change('split')", "Split read", id="replay.split", show=False,
            key_display="|", tooltip="What if this read had come as two?"),
    Binding("u", "trial('undo')", "Undo", id="replay.undo", show=False,
            tooltip="Take the last change back"),
    Binding("S", "trial('save')", "Save variant", id="replay.save", show=False,
            tooltip="Write the variant, or what is in no file yet, as a new tape"),
    Binding("D", "open('difference')", "Difference", id="replay.difference", show=False,
            tooltip="Where what the client got then is not what today's code would send"),
    Binding("colon", "goto", "Go to", id="replay.goto", key_display=":",
            tooltip="To a step, a time, a byte, a read, a call, a finding"),
    Binding("less_than_sign", "edge(0)", "Start", id="replay.start", show=False, key_display="<",
            tooltip="To the start: nothing has happened yet"),
    Binding("greater_than_sign", "edge(1)", "End", id="replay.end", show=False, key_display=">",
            tooltip="To the last step"),
    Binding("h", "here", "To this row", id="replay.here", show=False,
            tooltip="Move the cursor in time to the selected row"),
    Binding("a", "message", "Message", id="replay.message", show=False,
            tooltip="Show the message as the client has it, or not"),
    Binding("4", "focus_on('message')", "Message pane", id="replay.message-pane", show=False,
            tooltip="To the message as the client has it"),
    Binding("o", "pick", "Open", id="replay.open", show=False,
            tooltip="Open another one of these tapes, or of the samples"),
    Binding("n", "next(1)", "Finding", id="exchange.next",
            tooltip="On to the next finding; to the next match, while there is a search"),
    Binding("N", "next(-1)", "Finding back", id="exchange.previous", show=False,
            tooltip="Back to the finding before; to the match before, while there is a search"),
    Binding("escape", "back", "Back", id="exchange.back", show=False,
            tooltip="Stop what moves, forget the search, leave zoom; then back to where you came from"),
    Binding("q", "close", "Close", id="replay.close", show=False, tooltip="Back to where you came from"),
    *_unseen(ExchangeScreen.BINDINGS, "enter", "r", "t", "z", "slash"),
]  # fmt: skip


_FRAME = 1 / 30


class Playing:
    """One for a screen: the speed stays when another tape is opened."""

    def __init__(self, screen: ReplayScreen) -> None:
        self._screen = screen
        self._playback = Playback()

    @property
    def on(self) -> bool:
        return self._playback.playing

    @property
    def words(self) -> str:
        return self._playback.words if self.on or self._playback.changed else ""

    def begin(self) -> None:
        """The screen is there."""
        self._screen.set_interval(_FRAME, self._frame)

    def toggle(self) -> None:
        player, view = self._screen.player, self._screen.replay
        if self.on or player is None:
            self.stop()
            return
        if view.step >= player.steps - 1 and player.complete:
            view.move_to(-1)  # from the end there is only the beginning to play
        self._playback.play(player, view.step, monotonic())
        self._screen.tell()

    def stop(self) -> None:
        if self.on:
            self._playback.pause()
            self._screen.tell()

    def change_speed(self, way: int) -> None:
        change = self._playback.faster if way > 0 else self._playback.slower
        change(monotonic())
        self._screen.tell()

    def _frame(self) -> None:
        if not self.on:
            return
        before = self._screen.replay.step
        step = self._playback.advance(monotonic(), before, grows=self._screen.replay.growing)
        if not self._screen.runner.stopped_between(before, step) and step != before:
            self._screen.replay.move_to(step)
        if not self.on:
            self._screen.tell()


GOTO = Question(
    "goto", "go to ", "a step (120, +10, 50%), a time (1.5s), a byte (@512), read 12, call 2, finding 3"
)
_TALL = 32  # lines, from which on there is room for much of the message
_NOUNS = {
    Unit.STEP: "step", Unit.TRANSITION: "transition", Unit.READ: "read", Unit.DELTA: "delta",
    Unit.CALL: "call", Unit.FINDING: "finding",
}  # fmt: skip


class ReplayScreen(ExchangeScreen):
    """Nothing it does touches the tape: changes make a variant, which can be saved as a tape of its own."""

    TITLE = "replay"
    HELP = (
        "A tape with a cursor in time. Each pane shows what was known at this step: what had arrived, how "
        "the parser had moved, what the client had got; below that the message as the client has put it "
        "together. Going back is as cheap as going on. Changes (another dialect, an edited text, other "
        "reads) make a variant: rows that came out differently are marked ±, u takes the change back."
    )
    BINDINGS: ClassVar[list[BindingType]] = KEYS

    def __init__(
        self,
        openings: Sequence[Replayable],
        number: int = 0,
        *,
        at: int | None = None,
        library: Path | None = None,
        changes: Sequence[Change] = (),
        pick: bool = False,
        pasted: bool = False,
    ) -> None:
        self.replay = ReplayView()
        super().__init__(self.replay, first_digit=1)
        self.openings = list(openings)
        self.number = number
        self.library = library
        self.trials = Trials(self)
        self._what_if = WhatIf(self)
        self.runner = Runner(self)
        self.notebook = MarkNotes(self)
        self.playing = Playing(self)
        self._at = at
        self._changes = changes  # to be tried as soon as the tape is read
        self._start: str | None = None  # where to begin, once the tape is read
        self.pasted = pasted  # what is open is nowhere else
        self._leaving = False  # somebody was told that a variant is not saved
        self._picker: PickerScreen | None = None  # as it was left
        self._pick = pick  # which one is to be opened is asked first

    @property
    def parts(self) -> tuple[RowPane, ...]:
        return (*self.view.panes, self.replay.message)

    def compose(self) -> ComposeResult:
        yield self._tabs
        yield self.view
        yield self._prompt
        yield Footer()

    def begin(self) -> None:
        self.playing.begin()
        self.look_at(self.view.panes[Pane.MACHINE])
        if self._pick:
            self.action_pick()
        else:
            self.open_number(self.number, self._at)

    def on_resize(self, event: Resize) -> None:
        self.set_class(event.size.height < _TALL, "-short")

    def shown(self, part: RowPane) -> None:
        self.set_class(part is self.replay.message, "-on-message")
        if part is self.replay.message:
            self.remove_class("-no-message")
            self.call_after_refresh(self.replay.tell_position)  # it is not kept up while nobody sees it

    # -- what is open

    @property
    def opening(self) -> Replayable:
        return self.openings[self.number]

    def open_number(self, number: int, at: int | None = None) -> None:
        self.halt()
        self.forget_search()
        self.number = number
        source = self.opening.open()
        self.replay.open(source, running=self.opening.running, at=at)
        self.trials.begin(source)
        self.runner.breakpoints = self.notebook.open(self.opening.path)
        self._start = self.opening.start if at is None else None
        self.sub_title = self.opening.title
        self.tell()

    def _begin_there(self) -> None:
        """The place that was named on the command line; it may be anywhere in the tape."""
        start, self._start = self._start, None
        if start is not None:
            self._go(start)

    def action_pick(self) -> None:
        self.halt()
        self._picker = PickerScreen(self.openings, self.number, like=self._picker)
        self.app.push_screen(self._picker, self._picked)

    def _picked(self, number: int | None) -> None:
        if number is not None:
            self.open_number(number)
        elif self.view.source is None:
            self.action_close()

    def action_close(self) -> None:
        """Back to the screen below; where there is none, the end. What is not saved is asked about."""
        self.halt()
        if self.trials.unsaved and not self._leaving:
            self._leaving = True
            self.notify("this variant is not saved (S does that); once more drops it", timeout=4)
            return
        if len(self.app.screen_stack) > 2:
            self.dismiss(None)
        else:
            self.app.exit(0)

    def leave(self) -> None:
        """Escape goes back one thing at a time: what moves, the search, zoom; at last the screen below."""
        if self.playing.on or self.runner.on:
            self.halt()
        elif self._search or self.has_class("-zoomed"):
            super().leave()
        elif len(self.openings) > 1:
            self.action_pick()
        elif len(self.app.screen_stack) > 2:
            self.action_close()

    def tell(self) -> None:
        """What is to be said beside the position."""
        self._leaving = False
        self.replay.remark, self.replay.variant = self.playing.words, self.trials.words
        self.replay.marks = () if self.trials.active else self.notebook.steps
        self.replay.tell_position()

    # -- stepping

    def halt(self) -> None:
        """Nothing moves by itself while somebody does something."""
        self.playing.stop()
        self.runner.stop()

    def on_row_pane_moved(self) -> None:
        self.halt()

    def action_seek(self, unit: str, way: int) -> None:
        self.halt()
        wanted = Unit(unit)
        if not self.replay.seek(wanted, way):
            where = "after" if way > 0 else "before"
            self.notify(f"there is no {_NOUNS[wanted]} {where} this step", timeout=2)
        self.did("step")

    def go_to_finding(self, way: int) -> bool:
        self.action_seek(Unit.FINDING, way)
        return True  # it says itself where there is none

    def action_edge(self, end: int) -> None:
        self.halt()
        if self.player is not None:
            self.replay.move_to(self.player.steps - 1 if end else -1)

    def action_here(self) -> None:
        self.halt()
        step = self.replay.selected_step()
        if step is not None:
            self.replay.move_to(step)

    def action_goto(self) -> None:
        self.ask(GOTO)

    def ask(self, question: Question, text: str = "") -> None:
        self.halt()
        super().ask(question, text)

    def answered(self, purpose: str, text: str) -> None:
        if purpose == GOTO.purpose:
            self._go(text)
        elif not any(one.answered(purpose, text) for one in (self.runner, self.notebook, self._what_if)):
            super().answered(purpose, text)

    def _go(self, text: str) -> None:
        if self.player is None:
            self.close_prompt()
            return
        try:
            place = self.replay.find(text)
        except UserError as error:
            if self._prompt.display:
                self.complain(error.message)
            else:
                self.notify(error.message, severity="warning", timeout=8, markup=False)
            return
        if self._prompt.display:
            self.close_prompt()
        self.replay.move_to(place.step, place.byte)

    def complain(self, sentence: str) -> None:
        self._prompt.complain(sentence)

    def close_prompt(self) -> None:
        self._prompt.action_close()

    def on_position_bar_chosen(self, event: PositionBar.Chosen) -> None:
        event.stop()
        self.halt()
        self.replay.move_to(event.step)

    def action_message(self) -> None:
        """Where one part at a time is seen, it is the message or the machine."""
        message, machine = self.replay.message, self.view.panes[Pane.MACHINE]
        if self.focused is message or self.has_class("-narrow") or self.has_class("-zoomed"):
            self.look_at(machine if self.focused is message else message)
        else:
            self.toggle_class("-no-message")
            self.call_after_refresh(self.replay.tell_position)

    # -- playing, running, marking, trying

    def action_play(self) -> None:
        self.runner.stop()
        self.playing.toggle()

    def action_speed(self, way: int) -> None:
        self.playing.change_speed(way)

    def action_run(self, way: int) -> None:
        self.halt()
        self.runner.run(way)

    def action_breakpoints(self) -> None:
        self.halt()
        self.runner.list_breakpoints()

    def action_mark(self) -> None:
        self.notebook.ask_note()

    def action_marks(self) -> None:
        self.halt()
        self.notebook.list_marks()

    def action_open(self, view: str) -> None:
        self.halt()
        super().action_open(view)

    def action_proof(self) -> None:
        self.halt()
        super().action_proof()

    def action_change(self, what: str) -> None:
        self.halt()
        getattr(self._what_if, what)()

    def action_trial(self, what: str) -> None:
        self.halt()
        getattr(self.trials, what)()

    def attempt(self, changes: Sequence[Change]) -> None:
        self.trials.attempt(changes)

    def on_replay_view_loaded(self, event: ReplayView.Loaded) -> None:
        """All of a tape is there."""
        event.stop()
        self.trials.loaded(event.source)
        self._begin_there()
        self.tell()  # a mark may stand in a part that was not there before
        changes, self._changes = self._changes, ()
        self.trials.attempt(changes)
