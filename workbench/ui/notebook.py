"""The notebook: marks with notes at the steps of a tape, kept beside it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.errors import UserError
from workbench.paths import samples_dir
from workbench.player.breakpoints.conditions import Breakpoint
from workbench.player.breakpoints.language import parse
from workbench.player.marks import Mark, Marks, mark_at
from workbench.ui.screens.listing import ListScreen, Picked
from workbench.ui.widgets.choicelist import Choice
from workbench.ui.widgets.promptbar import Question

if TYPE_CHECKING:
    from workbench.ui.screens.replay import ReplayScreen

NOTE = Question("note", "note for this step ", "what is to be remembered here; may be empty")


class Notebook:
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
