"""One exchange: what all the parts that work on a client's request have to know of it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from workbench.config.settings import Settings, Upstream
from workbench.proxy.client import Client
from workbench.proxy.faults import Fault
from workbench.proxy.headers import Pairs
from workbench.proxy.incoming import Incoming
from workbench.proxy.wire import Faulted, Reply, Wire
from workbench.recipe import Recipe
from workbench.recording.recording import Recording
from workbench.tape import End


@dataclass(frozen=True, slots=True)
class Outgoing:
    """The request as it goes up."""

    upstream: Upstream
    method: str
    url: str
    headers: Pairs
    body: bytes


@dataclass(slots=True, eq=False)
class Exchange:
    """From the client's request to the end of its answer."""

    settings: Settings
    wire: Wire
    incoming: Incoming
    outgoing: Outgoing
    recipe: Recipe | None  # None: relayed as it is
    recording: Recording
    client: Client
    clock: Callable[[], float]  # seconds since it began
    gone: bool = False  # the client left
    interrupted: Fault | None = None  # we have to stop
    task: asyncio.Task[None] | None = None
    reply: Reply | None = None
    ended: bool = False
    found: Counter[str] = field(default_factory=Counter)

    async def open(self) -> Reply:
        """Send the request up; what comes back is on the tape from its head on."""
        out = self.outgoing
        self.reply = await self.wire.send(out.upstream, out.method, out.url, out.headers, out.body)
        self.recording.status(self.clock(), "upstream", self.reply.status, self.reply.headers)
        return self.reply

    async def close(self) -> None:
        if self.reply is not None:
            await self.reply.close()

    def note(self, code: str, level: str, message: str, where: str = "proxy") -> None:
        """A finding of the proxy's own; the transformer's are in its summary."""
        self.found[code] += 1
        self.recording.finding(self.clock(), code, level, message, where)

    def note_fault(self, fault: Fault) -> None:
        self.note("upstream-fault", "error", fault.message)
        for code, level, message in fault.findings:
            self.note(code, level, message)

    def end(self, how: End, summary: dict[str, Any] | None = None, error: object = None) -> None:
        """The tape's last line; only the first one counts."""
        if self.ended:
            return
        self.ended = True
        told = dict(summary or {})
        told["findings"] = dict(self.found + Counter(told.get("findings") or {}))
        if error is not None:
            told["error"] = error
        self.recording.end(self.clock(), how, **told)

    # -- from outside

    def leave(self) -> None:
        """The client went away: nobody needs the rest."""
        if not self.client.over:
            self.gone = True
            self._cancel()

    def interrupt(self, fault: Fault) -> None:
        """End it now, with an error for the client."""
        if not self.client.over and self.interrupted is None:
            self.interrupted = fault
            self._cancel()

    def _cancel(self) -> None:
        if self.task is not None:
            self.task.cancel()

    @property
    def why_cancelled(self) -> str:
        return "the client went away" if self.gone else "the proxy was stopped"

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """While work on it goes on: being stopped is a fault to tell the client; that it left is none."""
        try:
            yield
        except asyncio.CancelledError:
            if self.interrupted is None or self.gone:
                raise
            if self.task is not None:
                self.task.uncancel()
            raise Faulted(self.interrupted) from None
