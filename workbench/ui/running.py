"""Running: to the next breakpoint, which is then named."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from textual.worker import Worker

from workbench.errors import UserError
from workbench.player.breakpoints.conditions import Breakpoint
from workbench.player.breakpoints.language import parse
from workbench.player.breakpoints.search import Hit, hits, next_hit
from workbench.ui.screens.listing import ListScreen, Picked
from workbench.ui.widgets.choicelist import Choice
from workbench.ui.widgets.promptbar import Question

if TYPE_CHECKING:
    from workbench.ui.screens.replay import ReplayScreen

BREAK = Question(
    "break", "stop at ", "state:value rule:open* finding:unclosed* text:REGEX held>200ms held>100 tool:read"
)
_HELP = (
    "One line each: state:value (the parser enters it), rule:open*, finding:unclosed*, upstream:REGEX, "
    "machine:REGEX, client:REGEX or text:REGEX for any pane (a text may be cut over several rows), "
    "held>200ms or held>100 (characters held back), tool:read* (a call of that tool). c runs to the next "
    "hit, C back to the one before; playing stops at them, too. They are kept beside the tape."
)


class Runner:
    """The breakpoints of the tape that is open."""

    def __init__(self, screen: ReplayScreen) -> None:
        self._screen = screen
        self.breakpoints: list[Breakpoint] = []
        self._edited: int | None = None  # the one that is being typed anew
        self._worker: Worker[None] | None = None

    # -- running

    def run(self, way: int) -> None:
        self._worker = self._screen.run_worker(self._run(way), group="run", exclusive=True)

    @property
    def on(self) -> bool:
        return self._worker is not None and self._worker.is_running

    def stop(self) -> None:
        if self._worker is not None:
            self._worker.cancel()

    async def _run(self, way: int) -> None:
        view = self._screen.replay
        timeline = view.timeline
        if timeline is None:
            return
        if self.breakpoints:
            for hit in hits(timeline.scene, self.breakpoints, view.step, way):
                if view.timeline is not timeline:
                    return  # another tape was opened meanwhile
                if hit is not None:
                    self._stop_at(hit)
                    return
                await asyncio.sleep(0)
        view.move_to(timeline.player.steps - 1 if way > 0 else -1)
        why = "no breakpoint is hit" if self.breakpoints else "there are no breakpoints (b sets them)"
        self._screen.notify(f"{why}: this is the {'end' if way > 0 else 'start'}", timeout=4)

    def _stop_at(self, hit: Hit) -> None:
        self._screen.replay.move_to(hit.step, reason=f"■ {hit.words}")
        self._screen.notify(hit.words, title="stopped", timeout=4, markup=False)

    def stopped_between(self, before: int, step: int) -> bool:
        """Whether playing on to a step meets a breakpoint; the cursor then stands there."""
        timeline = self._screen.replay.timeline
        if timeline is None or not self.breakpoints or step <= before:
            return False
        hit = next_hit(timeline.scene, self.breakpoints, before, until=step)
        if hit is None:
            return False
        self._screen.playing.stop()
        self._stop_at(hit)
        return True

    # -- the list of them

    def list_breakpoints(self) -> None:
        if not self.breakpoints:
            self._edited = None
            self._screen.ask(BREAK)
            return
        choices = [Choice(str(one)) for one in self.breakpoints]
        screen = ListScreen(
            "breakpoints", "enter changes one, a adds one, d removes one", choices, changes=True, help=_HELP
        )
        self._screen.app.push_screen(screen, self._chosen)

    def _chosen(self, picked: Picked | None) -> None:
        if picked is None:
            return
        if picked.deed == "remove":
            del self.breakpoints[picked.number]
            self._screen.notebook.keep_breakpoints(self.breakpoints)
            if self.breakpoints:
                self.list_breakpoints()
            return
        self._edited = picked.number if picked.deed == "choose" else None
        self._screen.ask(BREAK, str(self.breakpoints[self._edited]) if self._edited is not None else "")

    def answered(self, purpose: str, text: str) -> bool:
        """Something was typed; False when it is none of ours."""
        if purpose != BREAK.purpose:
            return False
        try:
            one = parse(text) if text.strip() else None
        except UserError as error:
            self._screen.complain(error.message)
            return True
        self._screen.close_prompt()
        if one is not None:
            if self._edited is not None:
                self.breakpoints[self._edited] = one
            elif one not in self.breakpoints:
                self.breakpoints.append(one)
            self._screen.notebook.keep_breakpoints(self.breakpoints)
            self._screen.notify(f"stops at {one}; c runs there", timeout=4, markup=False)
        return True
