"""What a person keeps with a tape: breakpoints, to run to the next of them, and marks with notes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from textual.worker import Worker

from workbench.errors import UserError
from workbench.files import samples_dir
from workbench.replay.breakpoints import Breakpoint, Hit, hits, next_hit, parse
from workbench.replay.marks import Mark, Marks, mark_at
from workbench.ui.screens.view import Choice, ListScreen, Picked
from workbench.ui.widgets.bars import Question

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
            for hit in hits(timeline, self.breakpoints, view.step, way):
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
        hit = next_hit(timeline, self.breakpoints, before, until=step)
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


NOTE = Question("note", "note for this step ", "what is to be remembered here; may be empty")


class MarkNotes:
    """What somebody wrote down about the tape that is open. Of a variant nothing can be noted."""

    def __init__(self, screen: ReplayScreen) -> None:
        self._screen = screen
        self._marks = Marks()
        self._is_sample = False

    def open(self, tape: Path | None) -> list[Breakpoint]:
        """Of another tape; its breakpoints. The samples are the package's: nothing is written beside them."""
        self._is_sample = tape is not None and tape.resolve().is_relative_to(samples_dir().resolve())
        self._marks = Marks(None if self._is_sample else tape)
        if self._marks.problem is not None:
            self._tell(self._marks.problem)
        found = []
        for text in self._marks.breakpoints:
            try:
                found.append(parse(text))
            except UserError as error:
                self._tell(f"{text}: {error.message}")
        return found

    @property
    def steps(self) -> tuple[int, ...]:
        """Where the marks are; those are left out that the tape has not come to yet."""
        player = self._screen.player
        places = (mark.found(player) for mark in self._marks.marks) if player is not None else ()
        return tuple(sorted(place for place in places if place is not None))

    def keep_breakpoints(self, breakpoints: Iterable[Breakpoint]) -> None:
        self._marks.breakpoints = [str(one) for one in breakpoints]
        self._save()

    def _save(self) -> None:
        try:
            self._marks.save()
        except UserError as error:
            self._tell(error.message)
        self._screen.tell()

    def _tell(self, sentence: str) -> None:
        self._screen.notify(sentence, severity="warning", timeout=8, markup=False)

    # -- marking

    def ask_note(self) -> None:
        if self._screen.trials.active:
            self._screen.notify("marks belong to the tape; u takes the changes back", timeout=3)
            return
        mark = self._marks.at(self._screen.replay.step)
        self._screen.ask(NOTE, mark.note if mark is not None else "")

    def answered(self, purpose: str, text: str) -> bool:
        """Something was typed; False when it is none of ours."""
        if purpose != NOTE.purpose:
            return False
        self._screen.close_prompt()
        player, view = self._screen.player, self._screen.replay
        if player is not None:
            self._marks.put(mark_at(player, view.step, text.strip(), view.byte))
            self._save()
            if self._marks.path is None:
                what = "a built-in sample" if self._is_sample else "in no file"
                self._screen.notify(f"kept until you close it: this is {what}", timeout=3)
        return True

    def list_marks(self) -> None:
        marks = self._marks.marks
        if not marks:
            self._screen.notify("there are no marks in this tape; m sets one", timeout=3)
            return
        here = self._screen.replay.step
        choices = [Choice(_place(mark), mark.note or "(no note)", mark.step == here) for mark in marks]
        screen = ListScreen(
            "marks", "enter goes there, d removes one, a marks this step", choices, changes=True
        )
        self._screen.app.push_screen(screen, self._chosen)

    def _chosen(self, picked: Picked | None) -> None:
        if picked is None:
            return
        if picked.deed == "add":
            self.ask_note()
            return
        mark = self._marks.marks[picked.number]
        if picked.deed == "remove":
            self._marks.remove(mark.step)
            self._save()
            if self._marks.marks:
                self.list_marks()
            return
        player = self._screen.player
        step = mark.found(player) if player is not None else None
        if step is None:
            self._screen.notify("the tape has not come so far yet", timeout=3)
        else:  # a variant has other bytes
            self._screen.replay.move_to(step, None if self._screen.trials.active else mark.byte)


def _place(mark: Mark) -> str:
    return f"step {mark.step + 1:,}, {mark.time:.3f} s"
