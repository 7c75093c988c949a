"""A scripted upstream: a real listener on loopback that does to its clients exactly what a test says.

    with ScriptedUpstream() as upstream:
        upstream.answer(stream([b"data: ...", ...]), failure(500, "oh"))   # in the order of requests
        ... httpx.post(upstream.url + "/chat/completions") ...
        upstream.requests[0].json

It runs on asyncio streams in a thread of its own, so that a blocking test cannot hold it up. Each step of an
answer is one write, flushed to the kernel before the next: as near to one read at the peer as TCP gets.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Self, TypeAlias

from tests.support.upstream.answers import Answer, failure
from tests.support.upstream.connection import Connection, Gone, Seen, Watch

CERTIFICATE = Path(__file__).with_name("certificate.pem")
NOT_SCRIPTED = failure(500, {"error": {"message": "the test's script has no answer for this request"}})

Script: TypeAlias = Callable[[Seen], Answer]


class ScriptedUpstream:
    """The listener; what it saw is in `requests`, who left early in `disconnects`."""

    def __init__(self, *, ssl_context: ssl.SSLContext | None = None, port: int = 0) -> None:
        self.requests: list[Seen] = []
        self.disconnects: list[Gone] = []
        self.accepted = 0  # bytes of floods that the kernel took
        self.connections = 0  # open right now
        self.port = port
        self._ssl = ssl_context
        self._queue: deque[Answer] = deque()
        self._script: Script | None = None
        self._gates: dict[str, threading.Event] = {}
        self._problems: list[BaseException] = []  # a script that raised must not pass for a lost connection
        self._changed = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._stop: asyncio.Event
        self._thread = threading.Thread(target=self._run, name="scripted upstream", daemon=True)

    @property
    def base(self) -> str:
        return f"{'https' if self._ssl else 'http'}://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return self.base + "/v1"

    def answer(self, *answers: Answer) -> None:
        """Queue answers; they are given in the order in which requests arrive."""
        self._queue.extend(answers)

    def answer_with(self, script: Script | None) -> None:
        """Let a function of the request choose the answer, from now on; None: the queue does it again."""
        self._script = script

    def gate(self, name: str) -> threading.Event:
        return self._gates.setdefault(name, threading.Event())

    def open(self, name: str) -> None:
        """Let all answers pass that wait, or will wait, at the gate of this name."""
        self.gate(name).set()

    def wait_for_requests(self, count: int, timeout: float = 10) -> list[Seen]:
        self.wait_until(lambda: len(self.requests) >= count, f"{count} requests", timeout)
        return self.requests

    def wait_for_disconnects(self, count: int, timeout: float = 10) -> list[Gone]:
        self.wait_until(lambda: len(self.disconnects) >= count, f"{count} disconnects", timeout)
        return self.disconnects

    def wait_until(self, holds: Callable[[], bool], what: str, timeout: float = 10) -> None:
        """Block until something that this upstream counts has come true."""
        with self._changed:
            if not self._changed.wait_for(holds, timeout):
                seen = [f"{one.method} {one.path}" for one in self.requests]
                raise AssertionError(f"no {what} within {timeout} s; there were {seen}, {self.disconnects}")

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._started.wait(10), "the scripted upstream could not listen"
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)
        assert not self._thread.is_alive(), "the scripted upstream does not end"
        if self._problems:
            raise AssertionError("the script failed") from self._problems[0]

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        tasks: set[asyncio.Task[None]] = set()

        def handle(connection: Connection) -> None:
            task = asyncio.ensure_future(connection.run())
            tasks.add(task)
            task.add_done_callback(ended)

        def ended(task: asyncio.Task[None]) -> None:
            tasks.discard(task)
            if not task.cancelled() and (problem := task.exception()):
                self._problems.append(problem)

        server = await self._loop.create_server(
            lambda: Watch(handle, self), "127.0.0.1", self.port, ssl=self._ssl, backlog=1024
        )
        self.port = server.sockets[0].getsockname()[1]
        self._started.set()
        await self._stop.wait()
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # Called by the connections, in the loop's thread.

    def choose(self, seen: Seen) -> Answer:
        with self._changed:
            self.requests.append(seen)
            self._changed.notify_all()
        if self._script is not None:
            return self._script(seen)
        return self._queue.popleft() if self._queue else NOT_SCRIPTED

    def note(self, *, gone: Gone | None = None, accepted: int = 0, connections: int = 0) -> None:
        with self._changed:
            self.disconnects += [gone] if gone else []
            self.accepted += accepted
            self.connections += connections
            self._changed.notify_all()


def free_port() -> int:
    """A port on which nothing listens, for now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
