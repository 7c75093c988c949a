"""The replay: which tape is open, where the cursor in time is, and all that moves it.

A key calls a method of the model. The model answers with messages to its listeners: the view draws, the
screen notifies. The model itself neither draws nor asks, and it does not know who listens.

No key waits for a long tape. The tape and the indexes of its steps are read in slices. A step that needs a
part that is not read yet is made once that part is read; until then the position bar says “reading …”.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from workbench.analysis.variants.changes import Change, Merge, Retext, describe
from workbench.analysis.variants.difference import ChangedRows, changed_rows
from workbench.analysis.variants.script import Script, save_variant
from workbench.breakpoints import Breakpoint, parse
from workbench.errors import UserError
from workbench.files import samples_dir
from workbench.replay.hits import Hit, hits, index_for, next_hit
from workbench.replay.lines import LineSource
from workbench.replay.marks import Mark, Marks, mark_at
from workbench.replay.playback import Playback
from workbench.replay.player import Player
from workbench.replay.sources import Replayable
from workbench.replay.timeline import Timeline, Unit
from workbench.ui.opentape import SLICE, OpenTape
from workbench.ui.variants import Variants, cut_at, same_moment

T = TypeVar("T")
SeverityLevel: TypeAlias = Literal["information", "warning", "error"]  # as Textual has it
_ROWS = 2_000  # that an index looks at in one go: some milliseconds
_AT_ONCE = 0.05  # seconds of playing a variant before the screen is drawn
# A tape with fewer of both is changed before the next key can be pressed.
_STEPS, _BYTES = 10_000, 1 << 20
_NOUNS = {
    Unit.STEP: "step", Unit.TRANSITION: "transition", Unit.READ: "read", Unit.DELTA: "delta",
    Unit.CALL: "call", Unit.FINDING: "finding",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Opened:
    """Another tape is shown, or another variant of it."""


@dataclass(frozen=True, slots=True)
class Moved:
    """The cursor was put at a step, which may be the same one as before."""


@dataclass(frozen=True, slots=True)
class StatusChanged:
    """Something that is shown beside the step: the speed, the variant, the marks, “reading …”."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Which rows of a variant are not in the original; one item for each pane."""

    rows: Sequence[ChangedRows]


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence for the user."""

    sentence: str
    title: str = ""
    severity: SeverityLevel = "information"
    seconds: float = 3


ReplayMessage: TypeAlias = Opened | Moved | StatusChanged | Compared | Notice
Listener: TypeAlias = Callable[[ReplayMessage], None]
Work: TypeAlias = Callable[[], bool]  # False: more of the tape has to be read before it can be done


class Background(Protocol):
    """Runs `work` in a thread, and calls `done` with its result in the thread of the screen."""

    def __call__(self, work: Callable[[], T], done: Callable[[T], None]) -> None: ...


class ReplayModel(OpenTape):
    """`step` is where the cursor is; -1: nothing has happened yet."""

    def __init__(self, background: Background, marks_folder: Path | None = None) -> None:
        """`marks_folder` is for the marks of tapes that are in no library; None: they are stored beside
        them."""
        super().__init__()
        self.background = background
        self._marks_folder = marks_folder
        self.replayable: Replayable | None = None
        self.byte: int | None = None  # the byte of upstream that the user went to
        self.reason = ""  # why the cursor is here
        self.breakpoints: list[Breakpoint] = []
        self.marked: tuple[int, ...] = ()  # the steps of the marks
        self._marks = Marks()
        self._variants: Variants | None = None
        self._timeline: Timeline | None = None
        self._playback = Playback()
        self._run: object | None = None  # the token of the run to a breakpoint; another one ends it
        self._waiting: Work | None = None  # work that needs a part of the tape that is not read yet
        self._trying: Sequence[Change] | None = None  # a thread applies them; the tape must not grow now
        self._aim: Callable[[Player], int] | None = None  # a place that may not be there yet
        self._start: str | None = None  # where to begin once the tape is read
        self._changes: Sequence[Change] = ()  # to be tried once the tape is read
        self._loaded: LineSource | None = None  # the one that is all read
        self._listeners: list[Listener] = []

    def subscribe(self, listener: Listener) -> None:
        self._listeners.append(listener)

    def _send(self, message: ReplayMessage) -> None:
        for listener in self._listeners:
            listener(message)

    def _tell(
        self, sentence: str, seconds: float = 3, *, title: str = "", severity: SeverityLevel = "information"
    ) -> None:
        self._send(Notice(sentence, title, severity, seconds))

    def _change_status(self) -> None:
        """Marks belong to the original, and one may be in a part of the tape that has not come yet."""
        player = self.player
        noted = self._marks.marks if player is not None and not self.is_variant else ()
        found = (mark.found(player) for mark in noted if player is not None)
        self.marked = tuple(sorted(step for step in found if step is not None))
        self._send(StatusChanged())

    # -- a tape

    def open(self, replayable: Replayable, at: int | None = None, changes: Sequence[Change] = ()) -> None:
        """From the start, or at a step; the changes are tried as soon as the tape is read."""
        self.halt()
        self.replayable = replayable
        source = replayable.open()
        self._variants, self._trying, self._changes = Variants(source), None, changes
        self._start = replayable.start if at is None else None
        self._open_marks(replayable.path)
        self._show(source, lambda player: at or 0, at or 0)
        self._change_status()

    def _show(self, source: LineSource, place: Callable[[Player], int], at: int = 0) -> None:
        self._timeline = self._loaded = None
        self.byte, self.reason = None, ""
        running = self.replayable is not None and self.replayable.running
        self.show_source(source, running=running, at=at)
        if (timeline := self.timeline) is not None:
            timeline.catch_up(_ROWS)
        self._send(Opened())
        self.aim(place)

    @property
    def growing(self) -> bool:
        """A variant holds what had come when it was made; it does not grow."""
        return self.path is not None and super().growing

    @property
    def timeline(self) -> Timeline | None:
        """The steps of the tape; None until its first line is read."""
        player = self.player
        if player is None:
            return None
        if self._timeline is None or self._timeline.player is not player:
            self._timeline = Timeline(player)
        return self._timeline

    # -- reading it

    @property
    def loaded(self) -> bool:
        """All of the tape, as far as it is written, has been read."""
        return self._loaded is not None and self._loaded is self.source

    @property
    def progress(self) -> tuple[object, ...]:
        timeline = self.timeline
        return (*super().progress, timeline.assembly.known if timeline is not None else 0)

    @property
    def steps(self) -> int:
        return self.player.steps if self.player is not None else 0

    @property
    def busy(self) -> bool:
        return super().busy or self._waiting is not None or self._is_behind(self.steps)

    @property
    def reading(self) -> bool:
        """The current step's data, or the step that a key leads to, is not known yet."""
        return self._waiting is not None or self._is_behind(self.step + 1)

    def _is_behind(self, steps: int) -> bool:
        """Whether the index of the message has not reached this place yet."""
        timeline = self.timeline
        return timeline is not None and timeline.assembly.known < steps

    def read_on(self, seconds: float = SLICE) -> None:
        if self._trying is not None:
            return
        had_player = self.player is not None
        super().read_on(seconds)
        if (timeline := self.timeline) is not None:
            timeline.catch_up(_ROWS)
        source = self.source
        if source is None:
            return
        if self._aim is not None and (not had_player or not source.has_more):
            self.aim(self._aim)
        if not source.has_more and not self.loaded:
            self._loaded = source
            self._begin()
        if self._waiting is not None:
            self._do_or_tell(self._waiting)

    def _begin(self) -> None:
        """All of a tape has been read."""
        self._compare()
        start, self._start = self._start, None
        if start is not None:
            self._do_or_tell(partial(self._go_to, start))
        self._change_status()  # a mark may be in a part that was not there before
        changes, self._changes = self._changes, ()
        self.attempt(changes)

    def _do(self, work: Work) -> None:
        """Now, or as soon as enough of the tape is read."""
        waited, self._waiting = self._waiting is not None, None
        if not work():
            self._waiting = work
        if waited is not (self._waiting is not None):
            self._change_status()

    def _do_or_tell(self, work: Work) -> None:
        try:
            self._do(work)
        except UserError as error:
            self._warn(error.message)
            self._change_status()

    # -- moving in time

    @property
    def step(self) -> int:
        return -1 if self.at is None else self.at

    def move_to(self, step: int, byte: int | None = None, reason: str = "") -> None:
        """Show what was known when a step had been made; `reason` is shown with it."""
        self.reason, self._aim = reason, None
        player = self.player
        if player is None:
            return
        self.at, self.byte = max(-1, min(step, player.steps - 1)), byte
        self._send(Moved())

    def aim(self, place: Callable[[Player], int]) -> None:
        """Go to a place now, and again when all of the tape is read: only then may the place be there.

        A move of the user in between cancels that.
        """
        player, source = self.player, self.source
        if player is not None:
            self.move_to(place(player))
        self._aim = place if player is None or (source is not None and source.has_more) else None

    def go_to_start(self) -> None:
        self.halt()
        self.move_to(-1)

    def go_to_end(self) -> None:
        self.halt()
        self.aim(lambda player: player.steps - 1)

    def seek(self, unit: Unit, way: int) -> None:
        """To the next one of a kind, or to the one before."""
        self.halt()
        self._do(partial(self._seek, unit, way))

    def _seek(self, unit: Unit, way: int) -> bool:
        timeline, source = self.timeline, self.source
        search = timeline.search(self.step, unit, way) if timeline is not None else iter(())
        for found in search:  # one slice of it: None, or the step
            if found is not None:
                self.move_to(found)
            return found is not None
        if way > 0 and source is not None and source.has_more:
            return False
        self._tell(f"there is no {_NOUNS[unit]} {'after' if way > 0 else 'before'} this step", 2)
        return True

    def go_to(self, text: str) -> None:
        """To a place in the words that people type; UserError when there is no such place."""
        self.halt()
        self._do(partial(self._go_to, text))

    def _go_to(self, text: str) -> bool:
        timeline = self.timeline
        search = timeline.find(text, self.step) if timeline is not None else iter(())
        for place in search:  # one slice of it: None, or the place
            if place is not None:
                self.move_to(place.step, place.byte)
            return place is not None
        return True

    def forget_byte(self) -> None:
        """The user looks at something else now."""
        if self.byte is not None:
            self.byte = None
            self._send(StatusChanged())

    @property
    def moving(self) -> bool:
        """It plays, runs to a breakpoint, or goes on as soon as more of the tape is read."""
        return self.playing or self.searching or self._waiting is not None

    def halt(self) -> None:
        """Stop whatever moves the cursor: every other action of the user begins with this."""
        self._run = None
        moved = self.playing or self._waiting is not None
        self._playback.pause()
        self._waiting = None
        if moved:
            self._change_status()

    # -- playing

    @property
    def playing(self) -> bool:
        return self._playback.playing

    @property
    def speed(self) -> str:
        """In words; empty while it is stopped and the speed is that of the recording."""
        return self._playback.words if self.playing or self._playback.changed else ""

    def toggle_play(self) -> None:
        plays = self.playing
        self.halt()
        if not plays and self.player is not None:
            self._do(self._play)

    def _play(self) -> bool:
        player, timeline = self.player, self.timeline
        assert player is not None and timeline is not None
        for index in (index_for(one, timeline) for one in self.breakpoints):
            if index is not None and index.known <= self.step and not index.catch_up(_ROWS):
                return False
        if self.step >= player.steps - 1 and player.complete:
            self.move_to(-1)  # at the end, playing begins again from the start
        self._playback.play(player, self.step, monotonic())
        self._change_status()
        return True

    def change_speed(self, way: int) -> None:
        change = self._playback.faster if way > 0 else self._playback.slower
        change(monotonic())
        self._change_status()

    def advance(self) -> None:
        """Play on up to now; called for every frame."""
        if not self.playing:
            return
        before, source = self.step, self.source
        grows = self.growing or (source is not None and source.has_more)
        step = self._playback.advance(monotonic(), before, grows=grows)
        if not self._stops_between(before, step) and step != before:
            self.move_to(step)
        if not self.playing:
            self._change_status()

    def _stops_between(self, before: int, step: int) -> bool:
        """Whether playing on to a step meets a breakpoint; the cursor is then there."""
        timeline = self.timeline
        if timeline is None or not self.breakpoints or step <= before:
            return False
        hit = next_hit(timeline, self.breakpoints, before, until=step)
        if hit is None:
            return False
        self.halt()
        self._stop_at(hit)
        return True

    # -- running to breakpoints

    @property
    def searching(self) -> bool:
        return self._run is not None

    def run(self, way: int) -> Coroutine[Any, Any, None]:
        """To the next breakpoint, or back to the one before; until something halts it."""
        self.halt()
        self._run = run = object()
        return self._search(run, way)

    async def _search(self, run: object, way: int) -> None:
        timeline, step = self.timeline, self.step
        if timeline is None:
            return
        while self.breakpoints:
            for hit in hits(timeline, self.breakpoints, step, way):
                if self._run is not run:
                    return
                if hit is not None:
                    self._run = None
                    self._stop_at(hit)
                    return
                await asyncio.sleep(0)
            step = timeline.player.steps - 1  # the steps up to here have been searched
            if way < 0 or self.source is None or not self.source.has_more:
                break
            await asyncio.sleep(0)
        self._run = None
        self.move_to(timeline.player.steps - 1 if way > 0 else -1)
        why = "no breakpoint is hit" if self.breakpoints else "there are no breakpoints (b sets them)"
        self._tell(f"{why}: this is the {'end' if way > 0 else 'start'}", 4)

    def _stop_at(self, hit: Hit) -> None:
        self.move_to(hit.step, reason=f"■ {hit.words}")
        self._tell(hit.words, 4, title="stopped")

    def set_breakpoint(self, text: str, number: int | None = None) -> None:
        """Add one, or replace one by its number; UserError when the text is not a breakpoint."""
        one = parse(text)
        if number is not None:
            self.breakpoints[number] = one
        elif one not in self.breakpoints:
            self.breakpoints.append(one)
        self._save_breakpoints()
        self._tell(f"stops at {one}; c runs there", 4)

    def remove_breakpoint(self, number: int) -> None:
        del self.breakpoints[number]
        self._save_breakpoints()

    def _save_breakpoints(self) -> None:
        self._marks.breakpoints = [str(one) for one in self.breakpoints]
        self._save_marks()

    # -- marks

    @property
    def marks(self) -> Sequence[Mark]:
        return self._marks.marks

    @property
    def note(self) -> str:
        """Of the mark at this step."""
        mark = self._marks.at(self.step)
        return mark.note if mark is not None else ""

    def _open_marks(self, tape: Path | None) -> None:
        """Read what is kept beside a tape. Samples belong to the package: nothing is written beside them."""
        self._marks = Marks(None if _is_sample(tape) else tape, self._marks_folder)
        if self._marks.problem is not None:
            self._warn(self._marks.problem)
        self.breakpoints = []
        for text in self._marks.breakpoints:
            try:
                self.breakpoints.append(parse(text))
            except UserError as error:
                self._warn(f"{text}: {error.message}")

    def _save_marks(self) -> None:
        try:
            self._marks.save()
        except UserError as error:
            self._warn(error.message)
        self._change_status()

    def _warn(self, sentence: str) -> None:
        self._tell(sentence, 8, severity="warning")

    def set_mark(self, note: str) -> None:
        """At this step."""
        if self.player is None:
            return
        self._marks.put(mark_at(self.player, self.step, note, self.byte))
        self._save_marks()
        if self._marks.path is None:
            path = self.replayable.path if self.replayable is not None else None
            what = "a built-in sample" if _is_sample(path) else "not in a file"
            self._tell(f"kept until you close it: this is {what}")

    def remove_mark(self, mark: Mark) -> None:
        self._marks.remove(mark.step)
        self._save_marks()

    def go_to_mark(self, mark: Mark) -> None:
        step = mark.found(self.player) if self.player is not None else None
        if step is None:
            self._tell("not reached yet")
        else:  # a variant has other bytes
            self.move_to(step, None if self.is_variant else mark.byte)

    # -- trying changes

    @property
    def is_variant(self) -> bool:
        return bool(self._variants)

    @property
    def changes(self) -> tuple[Change, ...]:
        return self._variants.changes if self._variants is not None else ()

    @property
    def variant(self) -> str:
        """What was changed, in words."""
        if self.trying:
            return "trying … (u stops it)"
        if self._variants is not None and self._variants.is_aside:
            return "ORIGINAL (O shows the variant again)"
        return (
            f"VARIANT {describe(self.changes)} (u undoes, O original, = compares)" if self.is_variant else ""
        )

    @property
    def trying(self) -> bool:
        """A change is being made."""
        return self._trying is not None

    def is_ready(self) -> bool:
        """Whether a change can be tried now; if not, a notice says why."""
        if self.trying:
            what = "the change before this one is still being tried"
        elif self.source is not None and self.source.has_more:
            what = "the tape is still being read"
        else:
            return True
        self._tell(f"{what}; try again when that is done")
        return False

    def attempt(self, changes: Sequence[Change]) -> None:
        """Show the tape with these changes; the rows that differ are marked."""
        player, variants = self.player, self._variants
        if player is None or variants is None or not changes or not self.is_ready():
            return
        work = partial(variants.apply, player, changes)
        self._trying = changes
        if player.steps < _STEPS and len(player.data) < _BYTES:
            self._made(work(), changes, player)
        else:
            self._change_status()
            self.background(work, lambda made: self._made(made, changes, player))

    def _made(self, made: Script | UserError, changes: Sequence[Change], before: Player) -> None:
        if self._trying is not changes or self._variants is None:
            return  # taken back, or another tape was opened
        self._trying = None
        if isinstance(made, UserError):
            self._tell(made.message, 6, severity="error")
        else:
            self._variants.add(changes, made)
            self._show_variant(before, at_end=self.step >= before.steps - 1)
        self._change_status()

    def _show_variant(self, before: Player, *, at_end: bool = False) -> None:
        """The last one, or the original, at the same moment; its bytes and steps may differ."""
        assert self._variants is not None
        step, source = self.step, self._variants.source()
        source.advance(_AT_ONCE)
        self._show(source, lambda player: player.steps - 1 if at_end else same_moment(before, step, player))

    def undo(self) -> None:
        self.halt()
        before, variants = self.player, self._variants
        if self.trying:
            self._trying = None
        elif not variants or before is None:
            self._tell("nothing has been changed", 2)
        else:
            variants.undo()
            self._show_variant(before)
        self._change_status()

    def redo(self) -> None:
        """Redo the change that was undone last."""
        self.halt()
        before, variants = self.player, self._variants
        if variants is None or before is None or self.trying or not variants.redo():
            self._tell("there is nothing to redo", 2)
            return
        self._show_variant(before)
        self._change_status()

    def toggle_original(self) -> None:
        """The original instead of the variant at the same moment, or the variant again."""
        self.halt()
        before, variants = self.player, self._variants
        if variants is None or before is None or self.trying or not variants.toggle():
            self._tell("there is no variant: e, d, !, J and | make one", 3)
            return
        self._show_variant(before)
        self._change_status()

    @property
    def original(self) -> Player | None:
        """What a variant was made from; None if the original is shown."""
        return self._variants.original.player if self._variants else None

    def _compare(self) -> None:
        """Find the rows of a variant that differ, once all of it is read."""
        source, variants = self.source, self._variants
        original = variants.original.player if variants else None
        player = self.player
        if not variants or original is None or player is None:
            return

        def done(rows: Sequence[ChangedRows]) -> None:
            if self.source is source:
                self._send(Compared(rows))

        self.background(lambda: changed_rows(original, player), done)

    def cut(self) -> None:
        """What if upstream had ended here?"""
        self.halt()
        if self.player is not None:
            self.attempt([cut_at(self.player, self.step, self.byte)])

    def join(self, read: int) -> None:
        """Join a read with the next one. Both come when the second came, so the cursor goes there."""
        self.halt()
        player = self.player
        if player is None or not self.is_ready():
            return
        if read + 1 < player.reads and self.step < player.step_of_read(read + 1):
            self.move_to(player.step_of_read(read + 1))
        self.attempt([Merge(read)])

    # -- keeping a variant

    @property
    def unsaved(self) -> bool:
        """The variant that is shown is not in a file."""
        return self.player is not None and self._variants is not None and not self._variants.saved

    @property
    def rewritten(self) -> bool:
        """The user edited a text: that would be lost on closing, while a switch is quickly set again."""
        changes = self._variants.all_changes if self._variants is not None else ()
        return any(isinstance(change, Retext) for change in changes)

    def save_variant(self) -> None:
        """Write it as a tape. Pasted or piped input can be saved even without a change."""
        self.halt()
        player, variants, changes = self.player, self._variants, self.changes
        path = self.replayable.path if self.replayable is not None else None
        if player is None or variants is None or not (changes or path is None):
            self._tell("there is no variant to save: e, d, !, J and | make one")
            return

        def work() -> Path | Exception:
            try:
                return save_variant(variants.script(player), path, changes)
            except (OSError, UserError) as error:
                return error

        def done(written: Path | Exception) -> None:
            if isinstance(written, Exception):
                self._tell(f"it cannot be written: {written}", 8, severity="error")
            else:
                variants.mark_saved(changes)
                self._tell(f"written to {written}", 8)

        self.background(work, done)


def _is_sample(path: Path | None) -> bool:
    return path is not None and path.resolve().is_relative_to(samples_dir().resolve())
