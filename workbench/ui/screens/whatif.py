"""What if: asks which change is to be tried at the cursor; changes tried one after the other, taken back,
kept as a tape.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.analysis.variants.changes import (
    Change,
    Cut,
    Knob,
    Merge,
    Retext,
    Split,
    Switch,
    describe,
    switches,
)
from workbench.analysis.variants.difference import Marks, changed_rows
from workbench.analysis.variants.script import Script, apply, save_variant, script_of
from workbench.analysis.variants.texts import Text, retexts, texts_of
from workbench.errors import UserError
from workbench.replay.lines import LineSource, MemoryTape
from workbench.replay.player import Pane, Player
from workbench.ui.background import in_background
from workbench.ui.screens.edit import MOST, RewriteScreen
from workbench.ui.screens.view import Choice, ListScreen, Picked
from workbench.ui.widgets.bars import Question

if TYPE_CHECKING:
    from workbench.ui.screens.replay import ReplayScreen


_AT_ONCE = 0.05  # seconds of playing a variant before the screen is drawn
# What has fewer of both is changed before the next key can be pressed.
_STEPS, _BYTES = 10_000, 1 << 20


@dataclass(frozen=True, slots=True)
class Trial:
    """Some changes at a time, and what they make of the exchange. To play that again costs less than to
    keep it played: a player is many times as large as its tape."""

    changes: tuple[Change, ...]
    script: Script


class Trials:
    """The original stays as it is; each trial is a tape in memory made from the one before."""

    def __init__(self, screen: ReplayScreen) -> None:
        self._screen = screen
        self._original: LineSource | None = None
        self._trials: list[Trial] = []
        self._pending: Sequence[Change] | None = None  # what is being tried
        self._saved: tuple[Change, ...] | None = None  # the changes of the variant that is in a file

    def begin(self, source: LineSource) -> None:
        """Another tape was opened."""
        self._original, self._trials, self._saved = source, [], None
        self._wait_for(None)

    @property
    def _busy(self) -> bool:
        return self._pending is not None

    def _wait_for(self, changes: Sequence[Change] | None) -> None:
        self._pending = changes
        self._screen.replay.frozen = self._busy

    @property
    def active(self) -> bool:
        return bool(self._trials)

    @property
    def changes(self) -> tuple[Change, ...]:
        return tuple(change for trial in self._trials for change in trial.changes)

    @property
    def unsaved(self) -> bool:
        """Whether a text would be lost that somebody wrote or pasted. A switch is quickly set again."""
        written = self._screen.pasted or any(isinstance(one, Retext) for one in self.changes)
        return written and self._screen.player is not None and self._saved != self.changes

    @property
    def words(self) -> str:
        if self._busy:
            return "trying … (u stops it)"
        return f"VARIANT {describe(self.changes)} (u undoes)" if self._trials else ""

    # -- trying

    def ready(self) -> bool:
        """Whether something can be tried now; why not, is said."""
        source = self._screen.replay.source
        if self._busy:
            what = "the change before this one is still being tried"
        elif source is not None and source.behind:
            what = "the tape is still being read"
        else:
            return True
        self._screen.notify(f"{what}; try again when that is done", timeout=3)
        return False

    def attempt(self, changes: Sequence[Change]) -> None:
        """See what becomes of it; the rows that come out otherwise are marked."""
        player = self._screen.player
        if player is None or not changes or not self.ready():
            return
        script = self._trials[-1].script if self._trials else None

        def work() -> Script | UserError:
            try:
                return apply(script or script_of(player), player, changes)
            except UserError as error:
                return error
            except Exception as error:  # in a thread nobody else would hear of it
                return UserError(f"this change failed, which is a bug: {type(error).__name__}: {error}")

        self._wait_for(changes)
        if player.steps < _STEPS and len(player.data) < _BYTES:
            self._made(work(), changes, player)
        else:
            self._screen.tell()
            in_background(self._screen, work, lambda made: self._made(made, changes, player))

    def _made(self, made: Script | UserError, changes: Sequence[Change], before: Player) -> None:
        if self._pending is not changes:
            return  # taken back, or another tape was opened
        self._wait_for(None)
        if isinstance(made, UserError):
            self._screen.notify(made.message, severity="error", timeout=6, markup=False)
        else:
            self._trials.append(Trial(tuple(changes), made))
            self._show(before, at_end=self._screen.replay.step >= before.steps - 1)
        self._screen.tell()

    def _show(self, before: Player, *, at_end: bool = False) -> None:
        """The last trial, or the original: at the same moment, though bytes and steps may be others now."""
        view, opening, source = self._screen.replay, self._screen.opening, self._original
        step = view.step
        assert source is not None
        if self._trials:
            script = self._trials[-1].script
            source = MemoryTape(source.name, script.header, script.lines)
        source.advance(_AT_ONCE)
        view.open(source, running=opening.running)
        view.aim(lambda player: player.steps - 1 if at_end else same_moment(before, step, player))

    def undo(self) -> None:
        before = self._screen.player
        if self._busy:
            self._wait_for(None)
        elif not self._trials or before is None:
            self._screen.notify("nothing has been changed", timeout=2)
        else:
            self._trials.pop()
            self._show(before)
        self._screen.tell()

    def loaded(self, source: LineSource) -> None:
        """All of a tape is there: what is different in a variant can be said."""
        original = self._original.player if self._original is not None else None
        player, view = source.player, self._screen.replay
        if not self._trials or source is not view.source or original is None or player is None:
            return

        def done(changes: Sequence[Marks]) -> None:
            if view.source is source:
                view.show_changes(changes)

        in_background(self._screen, lambda: changed_rows(original, player), done)

    # -- keeping it

    def save(self) -> None:
        """What was pasted or piped in is in no file yet, so that it is worth keeping as it is."""
        player, source, changes = self._screen.player, self._screen.opening.path, self.changes
        if player is None or not (changes or source is None):
            self._screen.notify("there is no variant to save: e, d, !, J and | make one", timeout=3)
            return
        script = self._trials[-1].script if self._trials else None

        def work() -> Path | Exception:
            try:
                return save_variant(script or script_of(player), source, changes)
            except (OSError, UserError) as error:
                return error

        def done(path: Path | Exception) -> None:
            if isinstance(path, Exception):
                self._screen.notify(
                    f"it cannot be written: {path}", severity="error", timeout=8, markup=False
                )
            else:
                self._saved = changes
                self._screen.notify(f"written to {path}", timeout=8, markup=False)

        in_background(self._screen, work, done)


def same_moment(before: Player, step: int, after: Player) -> int:
    """The step of another player at which as much time had passed: behind all that its last read led to."""
    if step < 0 or not after.reads:
        return min(step, after.steps - 1)
    read = before.last_read(step)
    if read < 0:
        return min(step, after.steps - 1)
    time = before.times[read]
    first, following = bisect_left(after.times, time), bisect_right(after.times, time)
    if first <= read < following:
        following = read + 1  # of all that came at that time
    if following >= after.reads:
        return after.steps - 1
    return after.rows(Pane.UPSTREAM).steps[after.rows_of_reads[following]] - 1


_SPLIT, _VALUE = "split", "value"
_DIGITS = 15  # of a number that somebody may mean


class WhatIf:
    """One method for each kind of change; the screen tries what comes out of it."""

    def __init__(self, screen: ReplayScreen) -> None:
        self._screen = screen
        self._asked = ""  # the switch whose value is being typed

    def rewrite(self) -> None:
        """The text of one channel; where there are several, the user says of which."""
        player = self._screen.player
        if player is None:
            return
        if self._too_long(min(map(len, player.sources.values()), default=0)):
            return  # to read all of it would take a while
        texts = texts_of(player)
        if len(texts) < 2:
            self._rewrite(texts[0] if texts else Text(0, "content", ""))
            return
        choices = [
            Choice(_channel(text), f"{len(text.text):,} characters: {text.text[:200]}") for text in texts
        ]

        def chosen(picked: Picked | None) -> None:
            if picked is not None:
                self._rewrite(texts[picked.number])

        self._screen.app.push_screen(ListScreen("which text?", "what is to be edited", choices), chosen)

    def _too_long(self, length: int) -> bool:
        if length > MOST:
            said = f"this text has {length:,} characters, too many to be edited here"
            self._screen.notify(said, severity="warning", timeout=4)
        return length > MOST

    def _rewrite(self, old: Text) -> None:
        if self._too_long(len(old.text)):
            return

        def written(new: str | None) -> None:
            if new is not None:
                self._screen.attempt(retexts(old, new))

        title = f"editing the model's {_channel(old)}; the tape itself stays as it is"
        self._screen.app.push_screen(RewriteScreen(title, old.text, self._character(old)), written)

    def _character(self, text: Text) -> int:
        """Where in a text the cursor in time stands."""
        player = self._screen.player
        last = player.last_transition(self._screen.replay.step) if player is not None else None
        here = last is not None and (last.span.choice, last.span.channel) == (text.choice, text.channel)
        return last.span.start if last is not None and here else 0

    def cut(self) -> None:
        """Behind the byte that was gone to; else behind the event that the cursor in time stands on."""
        player, view = self._screen.player, self._screen.replay
        if player is None:
            return
        if view.byte is not None:
            byte = view.byte + 1
        else:
            ranges = player.bytes_at(view.step)
            byte = event_end(player, ranges[-1][1]) if ranges else player.known_bytes(view.step)
        self._screen.attempt([Cut(byte)])

    def join(self) -> None:
        """The cursor stands on what comes out of it: that comes when the second of them came."""
        player, view, read = self._screen.player, self._screen.replay, self._read()
        if player is None or read is None or not self._screen.trials.ready():
            return
        if read + 1 < player.reads and view.step < player.step_of_read(read + 1):
            view.move_to(player.step_of_read(read + 1))
        self._screen.attempt([Merge(read)])

    def split(self) -> None:
        """At the byte that was gone to; else the user says where."""
        player, view = self._screen.player, self._screen.replay
        read = self._read()
        if player is None or read is None:
            return
        start, end = player.starts[read], player.read_end(read)
        if view.byte is not None and start < view.byte < end:
            self._screen.attempt([Split(view.byte)])
            return
        if end - start < 2:
            self._screen.notify(f"read {read + 1} is a single byte, which cannot be split", timeout=3)
            return
        inside = [byte for byte, _ in player.bytes_at(view.step) if start < byte < end]
        question = Question(
            _SPLIT, f"split read {read + 1} at byte ", f"a byte between {start + 1} and {end - 1}"
        )
        self._screen.ask(question, str(inside[0] if inside else (start + end) // 2))

    def _read(self) -> int | None:
        """The read that is selected, or the last that has come."""
        player, pane = self._screen.player, self._screen.view.panes[Pane.UPSTREAM]
        if player is None:
            return None
        item = pane.item(pane.cursor) if pane.has_focus and 0 <= pane.cursor < pane.count() else None
        read = item if isinstance(item, int) else player.last_read(self._screen.replay.step)
        if read < 0:
            self._screen.notify("no read has come yet", timeout=2)
            return None
        return read

    def switch(self) -> None:
        """The dialect and every policy, then the values that it may have."""
        player = self._screen.player
        if player is None:
            return
        knobs = switches(player.header)
        choices = [Choice(f"{knob.key} = {knob.now}", knob.about) for knob in knobs]

        def chosen(picked: Picked | None) -> None:
            if picked is not None:
                self._choose_value(knobs[picked.number])

        screen = ListScreen("what if …", "enter changes it, for this replay only", choices)
        self._screen.app.push_screen(screen, chosen)

    def _choose_value(self, knob: Knob) -> None:
        if not knob.values:
            self._asked = knob.key
            self._screen.ask(Question(_VALUE, f"{knob.key} = ", knob.about), knob.now)
            return
        choices = [Choice(value, current=value == knob.now) for value in knob.values]
        at = knob.values.index(knob.now) if knob.now in knob.values else 0

        def chosen(picked: Picked | None) -> None:
            if picked is not None and knob.values[picked.number] != knob.now:
                self._screen.attempt([Switch(knob.key, knob.values[picked.number])])

        self._screen.app.push_screen(ListScreen(f"{knob.key}: {knob.about}", "", choices, chosen=at), chosen)

    def answered(self, purpose: str, text: str) -> bool:
        """Something was typed; False when it is none of ours."""
        if purpose == _VALUE:
            self._screen.close_prompt()
            self._screen.attempt([Switch(self._asked, text.strip())])
        elif purpose == _SPLIT:
            number = text.strip().removeprefix("@").replace(",", "")
            if not number.isdecimal() or len(number) > _DIGITS:
                self._screen.complain("a byte is a number")
                return True
            self._screen.close_prompt()
            self._screen.attempt([Split(int(number))])
        return purpose in (_VALUE, _SPLIT)


def event_end(player: Player, byte: int) -> int:
    """The end of the event that ends here or goes on: half an event says nothing."""
    events = player.events_in(player.read_at(byte - 1))
    return next((event.end for event in events if event.start < byte <= event.end), byte)


def _channel(text: Text) -> str:
    return text.channel if text.choice == 0 else f"{text.channel} of choice {text.choice}"
