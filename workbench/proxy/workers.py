"""Several workers at one address: `serve --workers`. The process that starts them serves no requests itself.

Each worker has a listening socket of its own at the same port, among which the system shares out connections.
This process keeps all of these sockets open. So when a worker is killed, a client that waits to be accepted
by it is accepted by the one that takes its place.
"""

from __future__ import annotations

import contextlib
import gc
import os
import secrets
import select
import signal
import socket
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

from workbench.config.settings import Settings, client_url
from workbench.errors import UserError
from workbench.proxy.guard import CONTROL
from workbench.proxy.process import ProcessExit
from workbench.proxy.registration import Registration, register, registered
from workbench.proxy.server import OpenLog, bind, work
from workbench.proxy.team import Team
from workbench.text import say

_LOOK = 2.0  # seconds between two checks that the registration is still there
_START = 60.0  # seconds until all must serve
_SOON = 10.0  # seconds in which this many exits are not an accident:
_TOO_OFTEN = 5


def serve_workers(
    settings: Settings,
    count: int,
    announce: Callable[[str], None],
    open_log: OpenLog,
    breakpoints: Sequence[str] = (),
) -> int:
    """Run until a signal or a viewer says stop; `open_log` is called in each worker."""
    if not hasattr(os, "fork") or not hasattr(socket, "SO_REUSEPORT"):
        raise UserError(
            "--workers needs a system on which several processes can listen at one port, such as Linux; "
            "without it the proxy has one process"
        )
    return Workers(settings, count, open_log, breakpoints).run(announce)


class Workers:
    """The workers, each with its two sockets: the common address, and its private one."""

    def __init__(self, settings: Settings, count: int, open_log: OpenLog, breakpoints: Sequence[str]) -> None:
        self._settings = settings
        self._breakpoints = breakpoints
        self._open_log = open_log
        with bind(settings.listen, settings.port) as sock:  # reports problems, and chooses a port for 0
            port = sock.getsockname()[1]
        self._public = [bind(settings.listen, port, shared=True) for _ in range(count)]
        self._private = [socket.create_server(("127.0.0.1", 0), backlog=256) for _ in range(count)]
        self._url = client_url(settings.listen, port)
        self._token = secrets.token_urlsafe(24)
        self._running: dict[int, int] = {}  # process id -> number of the worker
        self._ends: deque[float] = deque(maxlen=_TOO_OFTEN)
        self._asked = 0
        self._code = 0
        self._file: Path | None = None
        self._announced = False  # all of them have served
        # Workers end when this process does, however that happens: it alone holds the pipe's other end.
        self._alive = os.pipe()
        self._ready = os.pipe()
        self._wake = os.pipe()
        for end in (*self._wake, self._ready[0]):
            os.set_blocking(end, False)

    def run(self, announce: Callable[[str], None]) -> int:
        gc.freeze()  # memory loaded so far is shared by all: a garbage collection would copy it
        signal.set_wakeup_fd(self._wake[1], warn_on_full_buffer=False)
        for stop in (signal.SIGINT, signal.SIGTERM):
            signal.signal(stop, self._stop)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in range(len(self._public)):
            self._start(number)
        if self._all_serve():
            self._register()
            self._announced = True
            announce(self._url)
        while self._running:
            self._wait(_LOOK)
            self._newly_ready()  # replacements of other workers: nothing waits for them
            self._reap()
            if not self._asked and (self._file is None or not self._file.exists()):
                self._register()  # the library was deleted: screens must find us in the new one
        if self._file is not None:
            self._file.unlink(missing_ok=True)
        return self._code

    def _register(self) -> None:
        registered(self._settings.library)  # removes those of dead processes
        control = self._url.removesuffix("/v1") + CONTROL
        made = Registration(os.getpid(), self._url, control, self._token, time.time())
        self._file = register(self._settings.library, made)

    def _all_serve(self) -> bool:
        """Wait until each of them does. One that ends before that is not started again."""
        until, ready, count = time.monotonic() + _START, 0, len(self._public)
        while ready < count and not self._asked and len(self._running) == count:
            if time.monotonic() > until:
                say("workbench: the workers do not start in time")
                self._give_up()
            self._wait(0.5)
            ready += self._newly_ready()
            self._reap()
        return ready == count

    def _newly_ready(self) -> int:
        """How many have said that they serve since this was last asked; each says it once."""
        try:
            return len(os.read(self._ready[0], 64))
        except BlockingIOError:
            return 0

    def _wait(self, seconds: float) -> None:
        """Wait for a signal, for workers that are ready, or for the given time."""
        with contextlib.suppress(BlockingIOError):
            select.select([self._wake[0], self._ready[0]], [], [], seconds)
            os.read(self._wake[0], 4096)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        """Called once: they finish running exchanges. Twice: they end them now. A third time: they exit."""
        self._asked += 1
        self._tell_all(signal.SIGTERM)

    def _give_up(self) -> None:
        self._asked, self._code = self._asked + 1, 1
        self._tell_all(signal.SIGTERM)

    def _tell_all(self, number: signal.Signals) -> None:
        for pid in list(self._running):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def _reap(self) -> None:
        while self._running:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            number = self._running.pop(pid, None)
            if number is not None and not self._asked:
                self._replace(pid, number, ProcessExit(os.waitstatus_to_exitcode(status)))

    def _replace(self, pid: int, number: int, end: ProcessExit) -> None:
        now = time.monotonic()
        self._ends.append(now)
        if not self._announced or (len(self._ends) == _TOO_OFTEN and now - self._ends[0] < _SOON):
            say(f"workbench: worker {pid} {end.how}, as others did before; the proxy stops")
            self._give_up()
            return
        say(f"workbench: worker {pid} {end.how}; what it was answering is cut, another takes its place")
        self._start(number)

    def _start(self, number: int) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        parent = os.getpid()
        pid = os.fork()
        if pid:
            self._running[pid] = number
            return
        code = 1
        try:
            code = self._work(number, parent)
        except BaseException:
            traceback.print_exc()
        finally:
            with contextlib.suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)

    def _work(self, number: int, parent: int) -> int:
        """The worker's side."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all of them, and the parent tells us
        for end in (self._alive[1], self._ready[0], *self._wake):
            os.close(end)
        addresses = [f"http://127.0.0.1:{sock.getsockname()[1]}" for sock in self._private]
        own = (self._public[number], self._private[number])
        for sock in (*self._public, *self._private):
            if sock not in own:
                sock.close()
        others = [address for at, address in enumerate(addresses) if at != number]
        team = Team(parent, self._url, self._token, others, self._announced, self._alive[0])

        def announce(url: str) -> None:
            os.write(self._ready[1], b".")

        return work(self._settings, own, team, announce, self._open_log, self._breakpoints)
