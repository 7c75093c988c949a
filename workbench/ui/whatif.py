"""What if: asks which change is to be tried at the cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.player.panes import Pane
from workbench.player.player import Player
from workbench.ui.screens.listing import ListScreen, Picked
from workbench.ui.screens.rewrite import MOST, RewriteScreen
from workbench.ui.widgets.choicelist import Choice
from workbench.ui.widgets.promptbar import Question
from workbench.variants.changes import Cut, Merge, Split, Switch
from workbench.variants.switching import Knob, switches
from workbench.variants.texts import Text, retexts, texts_of

if TYPE_CHECKING:
    from workbench.ui.screens.replay import ReplayScreen

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
