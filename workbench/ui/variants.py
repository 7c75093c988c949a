"""Variants of a tape: changes made one after another, each of which can be undone; and which change is meant
at a place of the tape.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from workbench.analysis.variants.changes import Change, Cut
from workbench.analysis.variants.script import Script, apply, script_of
from workbench.analysis.variants.texts import Text
from workbench.errors import UserError
from workbench.replay.lines import LineSource, MemoryTape
from workbench.replay.player import Pane, Player


@dataclass(frozen=True, slots=True)
class Variant:
    """Some changes, and the exchange with them. It is played again whenever it is shown: a player takes many
    times the memory of a script."""

    changes: tuple[Change, ...]
    script: Script


class Variants:
    """The original stays as it is; each variant is a tape in memory, made from the one before."""

    def __init__(self, original: LineSource) -> None:
        self.original = original
        self._made: list[Variant] = []
        self._undone: list[Variant] = []  # the last one can be made again
        self._aside: list[Variant] = []  # while the original is shown instead
        self._saved: tuple[Change, ...] | None = None  # the changes of the variant that is in a file

    def __len__(self) -> int:
        return len(self._made)

    @property
    def changes(self) -> tuple[Change, ...]:
        """All of them, the oldest first."""
        return tuple(change for variant in self._made for change in variant.changes)

    def apply(self, player: Player, changes: Sequence[Change]) -> Script | UserError:
        """The shown exchange with changes. It may take a while: call it in a thread."""
        try:
            return apply(self.script(player), player, changes)
        except UserError as error:
            return error
        except Exception as error:  # in a thread it would go unnoticed
            return UserError(f"this change failed, which is a bug: {type(error).__name__}: {error}")

    def script(self, player: Player) -> Script:
        """Of the shown exchange, which `player` plays."""
        return self._made[-1].script if self._made else script_of(player)

    def add(self, changes: Sequence[Change], script: Script) -> None:
        self._made.append(Variant(tuple(changes), script))
        self._undone.clear()
        self._aside.clear()

    def undo(self) -> None:
        self._undone.append(self._made.pop())

    def redo(self) -> bool:
        """Make the change that was undone last again; False: there is none."""
        if self._undone:
            self._made.append(self._undone.pop())
            self._aside.clear()
            return True
        return False

    def toggle(self) -> bool:
        """The original instead of the variant, or the variant again; False: there is none."""
        self._made, self._aside = self._aside, self._made
        return bool(self._made or self._aside)

    @property
    def is_aside(self) -> bool:
        """There is a variant, and the original is shown."""
        return bool(self._aside)

    @property
    def all_changes(self) -> tuple[Change, ...]:
        """Those of the variant, whether or not it is shown."""
        return tuple(change for variant in (*self._made, *self._aside) for change in variant.changes)

    def source(self) -> LineSource:
        """The last variant, from its beginning; without one, the original."""
        if not self._made:
            return self.original
        script = self._made[-1].script
        return MemoryTape(self.original.name, script.header, script.lines)

    # -- keeping it

    @property
    def saved(self) -> bool:
        """The shown variant has been written to a file."""
        return self._saved == self.changes

    def mark_saved(self, changes: tuple[Change, ...]) -> None:
        self._saved = changes


def same_moment(before: Player, step: int, after: Player) -> int:
    """The step of another player at the same time: after everything that its last read led to."""
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


# -- the change that is meant at a place


def cut_at(player: Player, step: int, byte: int | None) -> Cut:
    """After the byte that was named; else after the event that the step belongs to."""
    if byte is not None:
        return Cut(byte + 1)
    ranges = player.bytes_at(step)
    return Cut(_event_end(player, ranges[-1][1]) if ranges else player.known_bytes(step))


def _event_end(player: Player, byte: int) -> int:
    """The end of the event that ends here or goes on: half an event says nothing."""
    events = player.events_in(player.read_at(byte - 1))
    return next((event.end for event in events if event.start < byte <= event.end), byte)


def split_places(player: Player, read: int) -> range:
    """The bytes at which a read can be split; none where it is a single byte."""
    return range(player.starts[read] + 1, player.read_end(read))


def probable_split(player: Player, read: int, step: int) -> int:
    """The place inside the read where the bytes of the step begin, else the middle of the read."""
    places = split_places(player, read)
    inside = [byte for byte, _ in player.bytes_at(step) if byte in places]
    return inside[0] if inside else (player.starts[read] + player.read_end(read)) // 2


def character_at(player: Player, step: int, text: Text) -> int:
    """Where in a text the cursor in time is."""
    last = player.last_transition(step)
    if last is None or (last.span.choice, last.span.channel) != (text.choice, text.channel):
        return 0
    return last.span.start


def channel_name(text: Text) -> str:
    return text.channel if text.choice == 0 else f"{text.channel} of choice {text.choice}"
