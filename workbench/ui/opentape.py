"""A tape that is open on the screen: read on while it grows, in short slices, and judged."""

from __future__ import annotations

import asyncio
import gc
import time
from pathlib import Path

from workbench.analysis.verdicts import Verdict, facts_of_player, verdict
from workbench.replay.alignment import Alignment
from workbench.replay.lines import LineSource, Tail
from workbench.replay.player import Player

SLICE = 0.012  # seconds of reading for one frame
# A key press takes some ten turns of the event loop until it is drawn: the rest of a long tape is read in
# small slices. If turns between two slices did something, reading pauses for a while.
_LOAD, _REST, _MOST_RESTS = 0.004, 0.004, 10
_TURNS = 4  # one turn runs what became ready meanwhile; a message that it sends needs some more
_IDLE_TURNS = 0.0003  # seconds that these take when the loop is idle
_JUDGE = 0.5  # seconds between verdicts on an answer that still grows


class OpenTape:
    """Live is the end of a tape whose end has not arrived. `at` is the step that is shown; None: the last."""

    def __init__(self) -> None:
        self.source: LineSource | None = None
        self.at: int | None = None
        self.running = True  # its writer is alive, so a tape without an end may get more
        self.verdict: Verdict | None = None
        self.read_once = False  # all that was there when it was opened has been read
        self._grew_at = 0.0  # on the clock of this process
        self._judged_at = 0.0
        self.judged_steps = -1  # number of steps when the verdict was given
        self._alignment: Alignment | None = None

    @property
    def player(self) -> Player | None:
        return self.source.player if self.source is not None else None

    @property
    def alignment(self) -> Alignment | None:
        """Its rows side by side."""
        player = self.player
        if self._alignment is None or self._alignment.player is not player:
            self._alignment = Alignment(player) if player is not None else None
        return self._alignment

    @property
    def path(self) -> Path | None:
        """The file that is shown, if it is one."""
        return self.source.path if isinstance(self.source, Tail) else None

    @property
    def growing(self) -> bool:
        """More may come."""
        return self.running and self.player is not None and not self.player.complete

    # -- reading

    def show_source(self, source: LineSource, *, running: bool = True, at: int | None = None) -> None:
        """Another tape: its first rows at once, `load` reads the rest."""
        gc.unfreeze()  # the previous tape may be freed
        self.source, self.running, self.at, self.verdict = source, running, at, None
        source.advance(SLICE)
        self._grew_at = time.monotonic() - _age(self.path)
        self.read_once = not source.has_more
        self._align()

    @property
    def progress(self) -> tuple[object, ...]:
        """How much of it is known. When this changes, the view has to be drawn again."""
        source = self.source
        return (None, 0, None) if source is None else (source, source.done, source.problem)

    @property
    def busy(self) -> bool:
        """There is work for `load` right now."""
        return self.source is not None and self.source.has_more

    def read_on(self, seconds: float = SLICE) -> None:
        if self.source is not None:
            if self.source.advance(seconds) and self.read_once:
                self._grew_at = time.monotonic()
            self.read_once = self.read_once or not self.source.has_more
            self._align()

    def _align(self) -> None:
        """Row by row as they come, so that no key has to wait for it."""
        if (alignment := self.alignment) is not None:
            alignment.catch_up()

    async def load(self) -> None:
        """Reads the rest, a slice at a time; keys and frames come in between."""
        while self.busy:
            # A long tape's records live as long as it is shown: looking through them for garbage again and
            # again would be the longest pause of all.
            gc.collect(1)  # what was drawn since the last slice; the rest is frozen
            gc.disable()
            try:
                self.read_on(_LOAD)
            finally:
                gc.freeze()
                gc.enable()
            await _give_way()

    @property
    def idle(self) -> float:
        """Seconds since the tape last grew."""
        return time.monotonic() - self._grew_at

    # -- judging

    def set_running(self, running: bool) -> bool:
        """Whether its writer still lives: a tape alone cannot tell. True if that changed."""
        changed = running != self.running
        if changed:
            self.running, self.verdict = running, None
        return changed

    def judge(self, player: Player) -> Verdict:
        """A verdict looks at the whole answer: while the answer grows, twice a second is enough."""
        if self.verdict is None or self._is_due(player):
            self._judged_at, self.judged_steps = time.monotonic(), player.steps
            self.verdict = verdict(facts_of_player(player, live=self.running))
        return self.verdict

    def _is_due(self, player: Player) -> bool:
        if self.judged_steps == player.steps or (self.source is not None and self.source.has_more):
            return False  # a verdict on half a tape is of no use
        return not self.growing or time.monotonic() - self._judged_at > _JUDGE


async def _give_way() -> None:
    """Waits until the loop is idle: a key is handled, the frame after it is drawn. But not for ever:
    something that is drawn all the time must not keep the rest of a tape away."""
    for _ in range(_MOST_RESTS):
        began = time.perf_counter()
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        if time.perf_counter() - began <= _IDLE_TURNS:
            return
        await asyncio.sleep(_REST)


def _age(path: Path | None) -> float:
    """Seconds since a file was written to."""
    try:
        return max(0.0, time.time() - path.stat().st_mtime) if path is not None else 0.0
    except OSError:
        return 0.0
