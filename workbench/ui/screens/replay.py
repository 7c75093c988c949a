"""The replay screen: a debugger for streams, with a cursor in time that is moved by keys or by playing.

Keys call methods of the model. Dialogs that a key needs first are opened here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.geometry import Size

from workbench.analysis.explain.bytes import explain_byte
from workbench.analysis.explain.trace import Explanation
from workbench.analysis.variants.changes import Change, PolicySwitch, Split, Switch, describe, switches
from workbench.analysis.variants.texts import Text, retexts, texts_of
from workbench.errors import UserError
from workbench.replay.marks import Mark
from workbench.replay.player import Pane, Player
from workbench.replay.sources import Replayable
from workbench.replay.timeline import Unit
from workbench.ui.background import in_background
from workbench.ui.replaymodel import Notice, Opened, ReplayMessage, ReplayModel, StatusChanged
from workbench.ui.screens.compare import Sides
from workbench.ui.screens.edit import MOST, RewriteScreen
from workbench.ui.screens.exchange import ExchangeScreen
from workbench.ui.screens.picker import PickerScreen
from workbench.ui.screens.view import Choice, ListScreen, Picked, unseen
from workbench.ui.variants import channel_name, character_at, probable_split, split_places
from workbench.ui.widgets.bars import KeyBar, PositionBar, Question
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
                key_display=display[1], tooltip=f"Back to the previous {what}"),
    ]  # fmt: skip


KEYS: list[BindingType] = [
    *_steps(Unit.TRANSITION, "right", "left", "Step", "move of the parser", ("→", "←")),
    *_steps(Unit.READ, "right_square_bracket", "left_square_bracket", "Read", "read",
            ("]", "[")),
    *_steps(Unit.DELTA, "right_curly_bracket", "left_curly_bracket", "Delta",
            "thing that the client got", ("}", "{")),
    *_steps(Unit.CALL, "right_parenthesis", "left_parenthesis", "Call", "call", (")", "(")),
    *_steps(Unit.STEP, "full_stop", "comma", "Any step", "step, whatever happened", (".", ",")),
    Binding("space", "play", "Play", id="replay.play", tooltip="Play from here, or stop"),
    Binding("plus", "speed(1)", "Faster", id="replay.faster", show=False, key_display="+",
            tooltip="Play faster: up to 100 times, then as fast as possible"),
    Binding("minus", "speed(-1)", "Slower", id="replay.slower", show=False, key_display="-",
            tooltip="Play slower: down to a tenth of the recorded speed"),
    Binding("c", "run(1)", "Run", id="replay.run", tooltip="Run to the next breakpoint"),
    Binding("C", "run(-1)", "Run back", id="replay.run-back", show=False,
            tooltip="Run back to the previous breakpoint"),
    Binding("b", "breakpoints", "Breakpoints", id="replay.breakpoints",
            tooltip="Where running stops: states, rules, findings, texts, hold-back, tools"),
    Binding("m", "mark", "Mark", id="replay.mark", show=False,
            tooltip="Mark this step, with a note; it is kept"),
    Binding("M", "marks", "Marks", id="replay.marks", show=False, tooltip="The marks of this tape"),
    Binding("e", "edit", "Edit", id="replay.edit", tooltip="Edit the model's text"),
    Binding("d", "switch", "What if", id="replay.switch",
            tooltip="Another dialect or policy: see at once what changes"),
    Binding("exclamation_mark", "cut", "Cut here", id="replay.cut", show=False, key_display="!",
            tooltip="What if upstream had ended here?"),
    Binding("J", "join", "Join reads", id="replay.join", show=False,
            tooltip="What if this read and the next one had come as one?"),
    Binding("vertical_line", "split", "Split read", id="replay.split", show=False,
            key_display="|", tooltip="What if this read had come as two?"),
    Binding("u", "undo", "Undo", id="replay.undo", show=False,
            tooltip="Undo the last change"),
    Binding("U", "redo", "Redo", id="replay.redo", show=False,
            tooltip="Redo the change that was undone last"),
    Binding("O", "original", "Original", id="replay.original", show=False,
            tooltip="The original instead of the variant at the same moment, or the variant again"),
    Binding("equals_sign", "open('compare')", "Compare", id="exchange.compare", show=False, key_display="=",
            tooltip="The variant beside the original, with the rows that are gone"),
    Binding("S", "save_variant", "Save variant", id="replay.save", show=False,
            tooltip="Write the variant, or what is not in a file yet, as a new tape"),
    Binding("D", "open('difference')", "Difference", id="replay.difference", show=False,
            tooltip="Where what the client got differs from what today's code would send"),
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
            tooltip="Next finding, or next search match"),
    Binding("N", "next(-1)", "Finding back", id="exchange.previous", show=False,
            tooltip="Previous finding, or previous search match"),
    Binding("escape", "back", "Back", id="exchange.back", show=False,
            tooltip="Stop what moves, forget the search, leave zoom; then back to where you came from"),
    Binding("q", "close", "Close", id="replay.close", show=False, tooltip="Back to where you came from"),
    *unseen(ExchangeScreen.BINDINGS, "enter", "r", "t", "z", "slash"),
]  # fmt: skip


_FRAME = 1 / 30  # seconds between two steps of playing
_TALL = 32  # lines; a lower terminal shows less of the message
_DIGITS = 15  # that a typed number may have
GOTO = Question("go to ", "a step (120, +10, 50%), a time (1.5s), a byte (@512), read 12, call 2, finding 3")
BREAK = Question(
    "stop at ", "state:value rule:open* finding:unclosed* text:REGEX held>200ms held>100 tool:read"
)
NOTE = Question("note for this step ", "what is to be remembered here; may be empty")
_BREAKPOINTS = (
    "One line each: state:value (the parser enters it), rule:open*, finding:unclosed*, upstream:REGEX, "
    "machine:REGEX, client:REGEX or text:REGEX for any pane (a text may be cut over several rows), "
    "held>200ms or held>100 (characters held back), tool:read* (a call of that tool). c runs to the next "
    "hit, C back to the previous one; playing stops at them, too. They are kept with the marks."
)


class ReplayScreen(ExchangeScreen):
    """Nothing it does touches the tape: changes make a variant, which can be saved as a tape of its own."""

    TITLE = "replay"
    HELP = (
        "A tape with a cursor in time. Each pane shows what was known at this step: what had arrived, how "
        "the parser had moved, what the client had got; below that the message as the client has put it "
        "together. Going back is as cheap as going on. Changes (another dialect, an edited text, other "
        "reads) make a variant: rows that came out differently are marked ±; u undoes the change, U "
        "redoes it, O shows the original, = both beside each other with the rows that are gone."
    )
    BINDINGS: ClassVar[list[BindingType]] = KEYS

    def __init__(
        self,
        replayables: Sequence[Replayable],
        number: int = 0,
        *,
        at: int | None = None,
        library: Path | None = None,
        changes: Sequence[Change] = (),
        pick: bool = False,
        pasted: bool = False,
        marks_folder: Path | None = None,
    ) -> None:
        """`pick`: the user is asked first which one to open; `pasted`: what is open is not in a file."""
        self.model = ReplayModel(partial(in_background, self), marks_folder)
        self.replay = ReplayView(self.model)
        super().__init__(self.replay, first_digit=1)
        self.replayables = list(replayables)
        self.number = number
        self.library = library
        self._pasted = pasted
        self._first = partial(self.open_number, number, at, changes) if not pick else self.action_pick
        self._leaving = False  # the user has been told that a variant is not saved
        self._picker: PickerScreen | None = None  # as it was left
        self._steps: dict[int, int] = {}  # by the number of a tape: where its cursor was when it was left
        self.model.subscribe(self._hear)

    @property
    def parts(self) -> tuple[RowPane, ...]:
        return (*self.view.panes, self.replay.message)

    def compose_body(self) -> ComposeResult:
        yield self._tabs
        yield self.view
        yield self._prompt
        yield KeyBar()

    def begin(self) -> None:
        self.set_interval(_FRAME, self.model.advance)
        self.look_at(self.view.panes[Pane.MACHINE])
        self._first()

    def classes_at(self, size: Size) -> dict[str, bool]:
        return super().classes_at(size) | {"-short": size.height < _TALL}

    def shown(self, part: RowPane) -> None:
        self.set_class(part is self.replay.message, "-on-message", update=self.one_at_a_time)
        if part is self.replay.message:
            self.remove_class("-no-message")
            self.call_after_refresh(self.replay.tell_position)  # it is not updated while it is hidden

    def _hear(self, message: ReplayMessage) -> None:
        match message:
            case Notice(sentence, title, severity, seconds):
                self.notify(sentence, title=title, severity=severity, timeout=seconds)
            case Opened() | StatusChanged():
                self._leaving = False

    # -- what is open

    def open_number(self, number: int, at: int | None = None, changes: Sequence[Change] = ()) -> None:
        self.forget_search()
        if self.model.source is not None and not self.model.is_variant:
            self._steps[self.number] = self.model.step
        at = self._steps.get(number) if at is None else at
        self.number = number
        self.model.open(self.replayables[number], at, changes)
        self.sub_title = self.replayables[number].title

    def action_pick(self) -> None:
        self.model.halt()
        self._picker = PickerScreen(self.replayables, self.number, like=self._picker)
        self.app.push_screen(self._picker, self._picked)

    def _picked(self, number: int | None) -> None:
        if number is not None:
            self.open_number(number)
        elif self.model.source is None:
            self.action_close()

    @property
    def unsaved(self) -> bool:
        """Whether a text would be lost that the user wrote or pasted."""
        return (self._pasted or self.model.rewritten) and self.model.unsaved

    def action_close(self) -> None:
        """Back to the screen below; exits if there is none. Asks once if there are unsaved changes."""
        self.model.halt()
        if self.unsaved and not self._leaving:
            self._leaving = True
            self.notify("not saved: S saves, press again to discard", timeout=4)
            return
        if len(self.app.screen_stack) > 2:
            self.dismiss(None)
        else:
            self.app.exit(0)

    def leave(self) -> None:
        """Escape goes back one thing at a time: movement, the search, zoom; at last to the screen below."""
        if self.model.moving:
            self.model.halt()
        elif self._search or self.has_class("-zoomed"):
            super().leave()
        elif len(self.replayables) > 1:
            self.action_pick()
        elif len(self.app.screen_stack) > 2:
            self.action_close()

    # -- stepping

    def on_row_pane_moved(self) -> None:
        self.model.halt()

    def action_seek(self, unit: str, way: int) -> None:
        self.model.seek(Unit(unit), way)

    def go_to_finding(self, way: int) -> bool:
        self.model.seek(Unit.FINDING, way)
        return True  # the model itself reports that there is none

    def action_edge(self, end: int) -> None:
        if end:
            self.model.go_to_end()
        else:
            self.model.go_to_start()

    def action_here(self) -> None:
        self.model.halt()
        step = self.view.selected_step()
        if step is not None:
            self.model.move_to(step)

    def action_goto(self) -> None:
        self.ask(GOTO, self.model.go_to)

    def ask(self, question: Question, answered: Callable[[str], None], text: str = "") -> None:
        self.model.halt()
        super().ask(question, answered, text)

    def on_position_bar_chosen(self, event: PositionBar.Chosen) -> None:
        event.stop()
        self.model.halt()
        self.model.move_to(event.step)

    def action_message(self) -> None:
        """Hide or show it; if one part fills the screen, switch between the message and the machine."""
        message, machine = self.replay.message, self.view.panes[Pane.MACHINE]
        if self.focused is message or self.has_class("-narrow") or self.has_class("-zoomed"):
            self.look_at(machine if self.focused is message else message)
        else:
            self.toggle_class("-no-message")
            self.call_after_refresh(self.replay.tell_position)

    # -- views

    def action_open(self, view: str) -> None:
        self.model.halt()
        super().action_open(view)

    def explanation(self) -> Explanation | None:
        """Of the byte that was gone to, else of the selected row."""
        if self.player is not None and self.model.byte is not None:
            return explain_byte(self.player, self.model.byte)
        return super().explanation()

    def action_proof(self) -> None:
        self.model.halt()
        super().action_proof()

    # -- playing and running

    def action_play(self) -> None:
        self.model.toggle_play()

    def action_speed(self, way: int) -> None:
        self.model.change_speed(way)

    def action_run(self, way: int) -> None:
        self.run_worker(self.model.run(way), group="run", exclusive=True)

    def action_breakpoints(self) -> None:
        self.model.halt()
        if not self.model.breakpoints:
            self._ask_breakpoint(None)
            return
        choices = [Choice(str(one)) for one in self.model.breakpoints]
        said = "enter changes one, a adds one, d removes one"
        screen = ListScreen("breakpoints", said, choices, changes=True, help=_BREAKPOINTS)
        self.app.push_screen(screen, self._breakpoint_chosen)

    def _breakpoint_chosen(self, picked: Picked | None) -> None:
        if picked is None:
            return
        if picked.deed != "remove":
            self._ask_breakpoint(picked.number if picked.deed == "choose" else None)
            return
        self.model.remove_breakpoint(picked.number)
        if self.model.breakpoints:
            self.action_breakpoints()

    def _ask_breakpoint(self, number: int | None) -> None:
        def answered(text: str) -> None:
            if text.strip():
                self.model.set_breakpoint(text, number)

        self.ask(BREAK, answered, "" if number is None else str(self.model.breakpoints[number]))

    # -- marking

    def action_mark(self) -> None:
        if self.model.is_variant:
            self.notify("marks belong to the tape; u undoes the changes", timeout=3)
        else:
            self.ask(NOTE, lambda note: self.model.set_mark(note.strip()), self.model.note)

    def action_marks(self) -> None:
        self.model.halt()
        marks = list(self.model.marks)
        if not marks:
            self.notify("there are no marks in this tape; m sets one", timeout=3)
            return
        here = self.model.step
        choices = [Choice(_place(mark), mark.note or "(no note)", mark.step == here) for mark in marks]
        said = "enter goes there, d removes one, a marks this step"

        def chosen(picked: Picked | None) -> None:
            if picked is not None:
                self._mark_chosen(picked, marks)

        self.app.push_screen(ListScreen("marks", said, choices, changes=True), chosen)

    def _mark_chosen(self, picked: Picked, marks: Sequence[Mark]) -> None:
        if picked.deed == "add":
            self.action_mark()
        elif picked.deed == "choose":
            self.model.go_to_mark(marks[picked.number])
        else:
            self.model.remove_mark(marks[picked.number])
            if self.model.marks:
                self.action_marks()

    # -- what if

    def attempt(self, changes: Sequence[Change]) -> None:
        self.model.attempt(changes)

    def action_undo(self) -> None:
        self.model.undo()

    def action_redo(self) -> None:
        self.model.redo()

    def action_original(self) -> None:
        self.model.toggle_original()

    def compared(self, player: Player) -> Sides:
        original = self.model.original
        if original is None:
            return super().compared(player)
        return Sides(original, player, ("the original", describe(self.model.changes)))

    def action_save_variant(self) -> None:
        self.model.save_variant()

    def action_cut(self) -> None:
        self.model.cut()

    def action_join(self) -> None:
        read = self._chosen_read()
        if read is not None:
            self.model.join(read)

    def action_split(self) -> None:
        """At the byte that was gone to; else the user says where."""
        player, read, byte = self.player, self._chosen_read(), self.model.byte
        if player is None or read is None:
            return
        places = split_places(player, read)
        if byte is not None and byte in places:
            self.attempt([Split(byte)])
        elif not places:
            self.notify(f"read {read + 1} is a single byte, which cannot be split", timeout=3)
        else:
            said = f"a byte between {places[0]} and {places[-1]}"
            question = Question(f"split read {read + 1} at byte ", said)
            self.ask(question, self._split, str(probable_split(player, read, self.model.step)))

    def _split(self, text: str) -> None:
        number = text.strip().removeprefix("@").replace(",", "")
        if not number.isdecimal() or len(number) > _DIGITS:
            raise UserError("a byte is a number")
        self.attempt([Split(int(number))])

    def _chosen_read(self) -> int | None:
        """The read that is selected, or the last that has come; None, with a notice: none has come."""
        self.model.halt()
        player, pane = self.player, self.view.panes[Pane.UPSTREAM]
        if player is None:
            return None
        item = pane.item(pane.cursor) if pane.has_focus and 0 <= pane.cursor < pane.count() else None
        read = item if isinstance(item, int) else player.last_read(self.model.step)
        if read < 0:
            self.notify("no read has come yet", timeout=2)
            return None
        return read

    def action_edit(self) -> None:
        """The text of one channel; where there are several, the user says of which."""
        self.model.halt()
        player = self.player
        if player is None or self._is_too_long(min(map(len, player.sources.values()), default=0)):
            return  # reading all of it would take a while
        texts = texts_of(player)
        if len(texts) < 2:
            self._edit(texts[0] if texts else Text(0, "content", ""))
            return
        choices = [
            Choice(channel_name(text), f"{len(text.text):,} characters: {text.text[:200]}") for text in texts
        ]

        def chosen(picked: Picked | None) -> None:
            if picked is not None:
                self._edit(texts[picked.number])

        self.app.push_screen(ListScreen("which text?", "what is to be edited", choices), chosen)

    def _is_too_long(self, length: int) -> bool:
        if length > MOST:
            said = f"this text has {length:,} characters, too many to be edited here"
            self.notify(said, severity="warning", timeout=4)
        return length > MOST

    def _edit(self, old: Text) -> None:
        player = self.player
        if player is None or self._is_too_long(len(old.text)):
            return

        def written(new: str | None) -> None:
            if new is not None:
                self.attempt(retexts(old, new))

        title = f"editing the model's {channel_name(old)}; the tape itself stays as it is"
        place = character_at(player, self.model.step, old)
        self.app.push_screen(RewriteScreen(title, old.text, place), written)

    def action_switch(self) -> None:
        """The dialect and every policy, then the values that it may have."""
        self.model.halt()
        if self.player is None:
            return
        listed = switches(self.player.header)
        choices = [Choice(f"{switch.key} = {switch.now}", switch.about) for switch in listed]

        def chosen(picked: Picked | None) -> None:
            if picked is not None:
                self._choose_value(listed[picked.number])

        screen = ListScreen("what if …", "enter changes it, for this replay only", choices)
        self.app.push_screen(screen, chosen)

    def _choose_value(self, switch: PolicySwitch) -> None:
        if not switch.values:
            question = Question(f"{switch.key} = ", switch.about)
            self.ask(question, lambda text: self.attempt([Switch(switch.key, text.strip())]), switch.now)
            return
        choices = [Choice(value, current=value == switch.now) for value in switch.values]
        at = switch.values.index(switch.now) if switch.now in switch.values else 0

        def chosen(picked: Picked | None) -> None:
            if picked is not None and switch.values[picked.number] != switch.now:
                self.attempt([Switch(switch.key, switch.values[picked.number])])

        self.app.push_screen(ListScreen(f"{switch.key}: {switch.about}", "", choices, chosen=at), chosen)


def _place(mark: Mark) -> str:
    return f"step {mark.step + 1:,}, {mark.time:.3f} s"
