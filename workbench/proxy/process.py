"""The proxy as a child process: started, watched, stopped, and never left running unless that is wanted.

The child's standard input is a pipe that only its parent holds. However the parent ends, even by a signal
that cannot be caught, the pipe ends with it, and the child ends itself. That works on every system and
from every thread, unlike Linux's parent death signal, which comes when the starting *thread* ends. One word
through the pipe tells the child that it is to stay.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from workbench.config.settings import client_url
from workbench.proxy.registration import Registration, registered
from workbench.system import read_at

# The same import path as here: with `-m` a file `secrets.py` in the user's folder would be imported.
_START = (
    "import sys; sys.path[:] = {path!r}; from workbench.proxy.process import run_child; run_child({module!r})"
)
_ORDERLY_END = 120.0  # seconds


def child_command(module: str, *arguments: str) -> list[str]:
    """The command that runs a module's `main()` no longer than this process; its standard input is a pipe."""
    return [sys.executable, "-P", "-c", _START.format(path=sys.path, module=module), *arguments]


def run_child(module: str) -> None:
    """The child's side."""
    threading.Thread(target=_watch_parent, name="parent watch", daemon=True).start()
    importlib.import_module(module).main()


_STAY = b"stay\n"


def _watch_parent() -> None:
    said = b""
    try:
        while part := os.read(0, 1024):
            said += part
            if said.endswith(_STAY):
                return
    except OSError:
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_ORDERLY_END)
    os._exit(1)


def is_listened_at(listen: str, port: int) -> bool:
    """Whether a program accepts connections where the proxy would listen."""
    host = urlsplit(client_url(listen, port)).hostname
    try:
        with socket.create_connection((host, port), timeout=1):
            return True
    except OSError:
        return False


_URL = re.compile(r"https?://\S+/v1\b")
_PREFIX = "workbench: "  # of the program's usage errors
_LAST_LINES = 8
_LAST_BYTES = 8 << 10
_FURTHER = 5.0  # seconds for each further request to stop


@dataclass(frozen=True, slots=True)
class ProcessExit:
    """How a proxy ended: its exit code, below zero the signal, and what it said last."""

    code: int
    said: tuple[str, ...] = ()

    @property
    def usage(self) -> bool:
        """A usage error: a taken port, a wrong setting. `reason` is for the user."""
        return self.code == 2 and any(line.startswith(_PREFIX) for line in self.said)

    @property
    def reason(self) -> str:
        told = [at for at, line in enumerate(self.said) if line.startswith(_PREFIX)]
        if told:
            return "\n".join(self.said[told[-1] :]).removeprefix(_PREFIX)
        return "\n".join([f"The proxy {self.how}.", *self.said])

    @property
    def how(self) -> str:
        if self.code >= 0:
            return f"ended with exit code {self.code}"
        try:
            return f"was ended by {signal.Signals(-self.code).name}"
        except ValueError:
            return f"was ended by signal {-self.code}"


class ChildError(Exception):
    """The proxy did not start; `exit` says why, None: it was too slow."""

    def __init__(self, exit: ProcessExit | None) -> None:
        super().__init__(exit.reason if exit is not None else "The proxy did not answer in time.")
        self.exit = exit


class ProxyChild:
    """`workbench serve` with these flags. All methods belong to one event loop."""

    def __init__(
        self, library: Path, flags: Sequence[str] = (), environment: Mapping[str, str] | None = None
    ) -> None:
        self.library = library
        self.flags = list(flags)
        self.environment = environment  # None: as ours
        self.url: str | None = None  # for clients
        self.stopping = False  # its end is wanted
        self.released = False  # it goes on without us
        self._process: subprocess.Popen[bytes] | None = None
        self._announced: asyncio.Future[str | None] | None = None
        self._over: asyncio.Future[int] | None = None
        self._errors: IO[bytes] | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def registration(self) -> Registration | None:
        """Its control endpoint; None where its library cannot be written."""
        return next((one for one in registered(self.library) if one.pid == self.pid), None)

    async def start(self, timeout: float = 30.0) -> str:
        """Its URL, as soon as it can be used. Raises ChildError."""
        if self.alive:
            raise RuntimeError("it runs already")
        self.url, self.stopping = None, False
        if self._errors is not None:
            self._errors.close()
        # A file, not a pipe: its last output is kept even if it was not being read.
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        # Not asyncio's: that one kills the process when it is garbage-collected, and this one may be left
        # running.
        self._process = subprocess.Popen(
            child_command("workbench.cli.main", "serve", "-q", "--library", str(self.library), *self.flags),
            stdin=subprocess.PIPE,  # the child ends when this closes
            stdout=subprocess.PIPE,
            stderr=self._errors,
            bufsize=0,
            env=None if self.environment is None else dict(self.environment),
            start_new_session=True,  # a Ctrl-C in the terminal is not for it
        )
        loop = asyncio.get_running_loop()
        self._announced, self._over = loop.create_future(), loop.create_future()
        watch = (self._process, loop, self._announced, self._over)
        threading.Thread(target=_watch_child, args=watch, name="child watch", daemon=True).start()
        try:
            self.url = await asyncio.wait_for(asyncio.shield(self._announced), timeout)
        except TimeoutError:
            await self.stop(0)
            raise ChildError(None) from None
        if self.url is None:
            raise ChildError(await self.ended())
        return self.url

    async def ended(self) -> ProcessExit:
        """Wait for its end. `stopping` tells whether that was wanted."""
        if self._over is None:
            raise RuntimeError("it was never started")
        code = await asyncio.shield(self._over)
        return ProcessExit(code, self._said())

    def _said(self) -> tuple[str, ...]:
        if self._errors is None:
            return ()
        # Positioned reads: the child's end of the file has the same offset.
        descriptor = self._errors.fileno()
        size = os.fstat(descriptor).st_size
        text = read_at(descriptor, _LAST_BYTES, max(0, size - _LAST_BYTES)).decode("utf-8", "replace")
        return tuple(line for line in text.splitlines() if line.strip())[-_LAST_LINES:]

    async def stop(self, patience: float = 10.0) -> ProcessExit | None:
        """End it: running answers have `patience` seconds, then they are cut. One that hangs is killed."""
        if self._process is None or self.released:
            return None
        self.stopping = True
        process = self._process
        for ask, wait in (
            (process.terminate, patience),
            (process.terminate, _FURTHER),
            (process.kill, _FURTHER),
        ):
            with contextlib.suppress(ProcessLookupError):
                ask()
            with contextlib.suppress(TimeoutError):
                return await asyncio.wait_for(self.ended(), wait)
        return None

    def release(self) -> bool:
        """Let it go on when we end; False when it has ended already."""
        if self._process is None or self._process.stdin is None or not self.alive:
            return False
        with contextlib.suppress(OSError):
            self._process.stdin.write(_STAY)
            self.released = True
        return self.released

    async def restart(self, timeout: float = 30.0) -> str:
        """Start it again, after its end or instead of it."""
        await self.stop()
        return await self.start(timeout)


def _watch_child(
    process: subprocess.Popen[bytes],
    loop: asyncio.AbstractEventLoop,
    announced: asyncio.Future[str | None],
    over: asyncio.Future[int],
) -> None:
    """In a thread: the URL in the line that it prints when it is ready, None when it ends before that; and
    its exit code."""

    def tell(future: asyncio.Future[Any], value: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed, and nothing waits any more
            loop.call_soon_threadsafe(lambda: None if future.done() else future.set_result(value))

    assert process.stdout is not None
    said = b""
    while part := os.read(process.stdout.fileno(), 4096):
        said = (said + part)[-_LAST_BYTES:]
        line, ended, _ = said.rpartition(b"\n")
        if ended and (found := _URL.search(line.decode("utf-8", "replace"))):
            tell(announced, found[0])
    tell(announced, None)
    tell(over, process.wait())
