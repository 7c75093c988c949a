"""Carries out trials: through a proxy, several at a time, within a budget, until all are done or the user
stops them. Finished trials are kept.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from workbench.errors import UserError
from workbench.lab.outcomes import Outcome, judge
from workbench.lab.plan import Trial
from workbench.lab.store import Try
from workbench.library.tapefiles import is_alive
from workbench.proxy.asking import ProxyConnection, Sent, find_running
from workbench.proxy.process import ChildError, ProxyChild
from workbench.proxy.registration import Registration
from workbench.tape.format import Line, Tape, TapeError, TapeReader

JOBS = 4
_IN_A_ROW = 5  # consecutive unanswered requests after which the try stops
_FIRST_LOOK, _LATER_LOOKS = 0.01, 0.2  # seconds between two looks at a tape
_BEGINS = 30.0  # seconds within which a tape has to be there
_PATIENCE = 1.0


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that the whole try may use, however often it was continued; None: no limit."""

    requests: int | None = None
    tokens: int | None = None


class Ending(StrEnum):
    """Why a try stopped."""

    DONE = "all trials are done"
    STOPPED = "it was stopped"
    REQUESTS = "the budget of requests is used up"
    TOKENS = "the budget of tokens is used up"
    FAILING = "too many requests in a row got no answer"


class Trials:
    """Carries out what is left of a try. `on_outcome` is called after each trial."""

    def __init__(
        self,
        made: Try,
        connection: ProxyConnection,
        *,
        jobs: int = JOBS,
        budget: Budget | None = None,
        upstream: str | None = None,
        on_outcome: Callable[[Outcome], None] = lambda outcome: None,
    ) -> None:
        self._try = made
        self._connection = connection
        self._jobs = max(1, jobs)
        self._budget = budget or Budget()
        self._upstream = upstream  # for all cases; None: as they were recorded
        self._on_outcome = on_outcome
        self._known: Sequence[str] = ()
        # An unanswered request says nothing about its variant: it is asked again.
        self._left = [trial for trial in made.plan.trials if not self._is_answered(trial)]
        self._left.reverse()
        self._sent = len(made.outcomes)
        self._failing = 0
        self._ending: Ending | None = None
        self._workers: list[asyncio.Task[None]] = []

    def _is_answered(self, trial: Trial) -> bool:
        known = self._try.outcomes.get(trial.number)
        return known is not None and known.answered

    @property
    def left(self) -> int:
        return len(self._left)

    async def run(self) -> Ending:
        """Run to the end, whatever it is. Raises UserError if the proxy refuses or is gone."""
        self._known = await self._connection.upstreams()
        with self._try.opened():
            self._workers = [asyncio.ensure_future(self._work()) for _ in range(self._jobs)]
            found = await asyncio.gather(*self._workers, return_exceptions=True)
        for problem in found:
            if isinstance(problem, BaseException) and not isinstance(problem, asyncio.CancelledError):
                raise problem
        return self._ending or Ending.DONE

    def stop(self) -> None:
        """Called once: no new requests, running ones are waited for. Twice: those are abandoned, too."""
        if self._ending is Ending.STOPPED:
            for worker in self._workers:
                worker.cancel()
        self._ending = Ending.STOPPED

    async def _work(self) -> None:
        try:
            while self._ending is None and self._left:
                if (reached := self._reached()) is not None:
                    self._ending = reached
                    return
                await self._carry_out(self._left.pop())
        except BaseException:
            self._ending = self._ending or Ending.FAILING  # the other workers end with their trials
            raise

    def _reached(self) -> Ending | None:
        budget = self._budget
        if budget.requests is not None and self._sent >= budget.requests:
            return Ending.REQUESTS
        used = sum(outcome.tokens for outcome in self._try.outcomes.values())
        if budget.tokens is not None and used >= budget.tokens:
            return Ending.TOKENS
        return None

    async def _carry_out(self, trial: Trial) -> None:
        made = self._try
        wish = made.plan.wish(trial, made.id, self._known, self._upstream)
        self._sent += 1
        sent = await self._connection.send(wish)
        tape = await self._ended(sent)
        path = os.path.relpath(sent.path, made.library)
        expected = made.plan.cases[trial.case].expected
        outcome = await asyncio.to_thread(judge, trial, expected, tape, path)
        made.add(outcome)
        self._failing = 0 if outcome.answered else self._failing + 1
        if self._failing >= _IN_A_ROW and self._ending is None:
            self._ending = Ending.FAILING
        self._on_outcome(outcome)

    async def _ended(self, sent: Sent) -> Tape:
        """The tape, as soon as its last line is written."""
        reader, lines, at = TapeReader(), list[Line](), 0
        wait, begun, path = _FIRST_LOOK, time.monotonic(), Path(sent.path)
        while True:
            new = _after(path, at)
            at += len(new)
            try:
                lines += reader.feed(new)
            except TapeError as error:
                raise UserError(f"{path}: {error}") from None
            if any(line.kind == "end" for line in lines[-4:]):
                assert reader.header is not None
                return Tape(reader.header, tuple(lines))
            if not at and time.monotonic() - begun > _BEGINS:
                raise UserError(f"{path} is not written: is there room for it? (workbench config says where)")
            if not is_alive(self._connection.proxy.pid):
                raise UserError("the proxy has ended; --resume goes on with the try")
            await asyncio.sleep(wait)
            wait = min(wait * 1.5, _LATER_LOOKS)


def _after(path: Path, at: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(at)
            return file.read()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None


@asynccontextmanager
async def proxy_for(library: Path, upstream: str | None = None) -> AsyncIterator[Registration]:
    """The proxy that runs for the library; one of our own where there is none, or where another upstream is
    wanted. It ends with the context."""
    running = await asyncio.to_thread(find_running, library) if upstream is None else None
    if running is not None:
        yield running
        return
    flags = ("--port", "0", "--listen", "127.0.0.1", *(("--upstream", upstream) if upstream else ()))
    child = ProxyChild(library, flags)
    try:
        try:
            await child.start()
        except ChildError as error:
            raise UserError(f"{error}") from None
        if (registration := child.registration) is None:
            raise UserError(f"the library {library} cannot be written, so nothing can be recorded")
        yield registration
    finally:
        await child.stop(_PATIENCE)
