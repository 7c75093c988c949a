"""Trials: changes to the exchange that is open, tried one after the other, taken back, kept as a tape."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.errors import UserError
from workbench.player import Pane, Player
from workbench.player.reel import Reel, Source
from workbench.ui.background import in_background
from workbench.variants import Change, Script, apply, changed_rows, describe, save_variant, script_of

if TYPE_CHECKING:
    from workbench.ui.screens.replay import ReplayScreen

_AT_ONCE = 0.05  # seconds of playing a variant before the screen is drawn


@dataclass(frozen=True, slots=True)
class Trial:
    """One change after another: what is shown with them, and what was shown before, for undo."""

    changes: tuple[Change, ...]
    script: Script
    source: Source


class Trials:
    """The original stays as it is; each trial is a tape in memory made from the one before."""

    def __init__(self, screen: ReplayScreen) -> None:
        self._screen = screen
        self._original: Source | None = None
        self._trials: list[Trial] = []
        self._busy = False

    def begin(self, source: Source) -> None:
        """Another tape was opened."""
        self._original, self._trials, self._busy = source, [], False

    @property
    def active(self) -> bool:
        return bool(self._trials)

    @property
    def changes(self) -> tuple[Change, ...]:
        return tuple(change for trial in self._trials for change in trial.changes)

    @property
    def words(self) -> str:
        if self._busy:
            return "trying …"
        return f"VARIANT {describe(self.changes)} (u undoes)" if self._trials else ""

    # -- trying

    def attempt(self, changes: Sequence[Change]) -> None:
        """See what becomes of it; the rows that come out otherwise are marked."""
        player, view = self._screen.player, self._screen.replay
        if player is None or self._busy or not changes:
            return
        if view.source is not None and view.source.behind:
            self._screen.notify("the tape is still being read; try again when all of it is there", timeout=3)
            return
        self._busy = True
        self._screen.tell()

        def work() -> Script | UserError:
            try:
                return apply(self._script(player), player, changes)
            except UserError as error:
                return error
            except Exception as error:  # in a thread nobody else would hear of it
                return UserError(f"this change failed, which is a bug: {type(error).__name__}: {error}")

        def done(made: Script | UserError) -> None:
            self._busy = False
            if isinstance(made, UserError):
                self._screen.notify(made.message, severity="error", timeout=6, markup=False)
            else:
                self._show(Trial(tuple(changes), made, self._reel(made)), player)
            self._screen.tell()

        in_background(self._screen, work, done)

    def _script(self, player: Player) -> Script:
        return self._trials[-1].script if self._trials else script_of(player)

    def _reel(self, script: Script) -> Reel:
        return Reel(self._screen.opening.title, script.header, script.lines)

    def _show(self, trial: Trial, before: Player) -> None:
        step, at_end = self._screen.replay.step, self._screen.replay.step >= before.steps - 1
        trial.source.advance(_AT_ONCE)
        self._trials.append(trial)
        self._open(trial.source, before, None if at_end else step)

    def _open(self, source: Source, before: Player, step: int | None) -> None:
        """At the same place as before: that of the same time, for bytes and steps may be others now."""
        view = self._screen.replay
        view.open(source, running=self._original is source, at=0)
        player = view.player
        if player is not None:
            view.move_to(player.steps - 1 if step is None else same_moment(before, step, player))

    def undo(self) -> None:
        before = self._screen.player
        if not self._trials or before is None or self._original is None:
            self._screen.notify("nothing has been changed", timeout=2)
            return
        step = self._screen.replay.step
        self._trials.pop()
        source = self._trials[-1].source if self._trials else self._original
        self._open(source, before, step)
        self._screen.tell()

    def loaded(self, source: Source) -> None:
        """All of a tape is there: what is different in a variant can be said."""
        original = self._original.player if self._original is not None else None
        player = source.player
        if not self._trials or source is not self._trials[-1].source or original is None or player is None:
            return
        in_background(self._screen, lambda: changed_rows(original, player), self._screen.replay.show_changes)

    # -- keeping it

    def save(self) -> None:
        if not self._trials:
            self._screen.notify("there is no variant to save: e, d, !, J and | make one", timeout=3)
            return
        try:
            path = save_variant(self._trials[-1].script, self._screen.opening.path, self.changes)
        except (OSError, UserError) as error:
            self._screen.notify(f"it cannot be written: {error}", severity="error", timeout=8, markup=False)
            return
        self._screen.notify(f"written to {path}", timeout=8, markup=False)


def same_moment(before: Player, step: int, after: Player) -> int:
    """The step of another player at which as much time had passed: behind all that its last read led to."""
    if step < 0 or not after.reads:
        return min(step, after.steps - 1)
    read = before.last_read(step)
    if read < 0:
        return min(step, after.steps - 1)
    following = bisect_right(after.times, before.times[read])
    if following >= after.reads:
        return after.steps - 1
    return after.rows(Pane.UPSTREAM).steps[after.rows_of_reads[following]] - 1
