"""Trials: changes to the exchange that is open, tried one after the other, taken back, kept as a tape."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.errors import UserError
from workbench.player.panes import Pane
from workbench.player.player import Player
from workbench.player.reel import Reel, Source
from workbench.ui.background import in_background
from workbench.variants.changes import Change, Retext, describe
from workbench.variants.difference import Marks, changed_rows
from workbench.variants.saving import save_variant
from workbench.variants.script import Script, apply, script_of

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
        self._original: Source | None = None
        self._trials: list[Trial] = []
        self._pending: Sequence[Change] | None = None  # what is being tried
        self._saved: tuple[Change, ...] | None = None  # the changes of the variant that is in a file

    def begin(self, source: Source) -> None:
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
            source = Reel(source.name, script.header, script.lines)
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

    def loaded(self, source: Source) -> None:
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
