"""The command `workbench` as a process of its own, without the time that its imports take.

One process for each run of pytest has imported the program; it forks for each one that is started. What runs
is a real process with a folder, an environment, an output, signals and an exit code of its own. Only what
Python does before `main` is left out: tests/workbench/proxy/test_process.py starts it as a user does.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Protocol

import typer.main

from tests.support.project import ROOT

# What `workbench serve` imports, now or later.
_MODULES = (
    "encodings.idna",
    "uvloop",
    "uvicorn.lifespan.off",
    "workbench.cli.serve",
    "workbench.proxy.workers",
)
AVAILABLE = hasattr(os, "fork")
_chosen = False


class Program(Protocol):
    """What tests use of a process; `subprocess.Popen` has it, too."""

    @property
    def pid(self) -> int: ...
    @property
    def stdout(self) -> IO[str] | None: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def send_signal(self, sig: int) -> None: ...
    def kill(self) -> None: ...


def choose() -> None:
    """In this process programs are forked: said by pytest, not by benchmarks, which measure the start."""
    global _chosen  # noqa: PLW0603
    _chosen = AVAILABLE


def start(arguments: Sequence[str], cwd: Path, env: Mapping[str, str], errors: IO[str]) -> Program:
    """`workbench` with these arguments; its output is a pipe, its standard error goes to a file."""
    if not _chosen:
        command = [sys.executable, "-m", "workbench", *arguments]
        return subprocess.Popen(command, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=errors, text=True)
    ours, theirs = socket.socketpair()
    read, write = os.pipe()
    with theirs:
        try:
            socket.send_fds(_template(), [b"."], [theirs.fileno(), write, errors.fileno()])
        finally:
            os.close(write)
    request = {"arguments": list(arguments), "cwd": str(cwd), "env": dict(env)}
    ours.sendall(json.dumps(request).encode() + b"\n")
    return _Forked(ours, os.fdopen(read))


@functools.cache
def _template() -> socket.socket:
    """The connection to the process that forks. It ends when this connection does."""
    ours, theirs = socket.socketpair()
    with theirs:
        command = [sys.executable, "-m", "tests.support.preloaded", str(theirs.fileno())]
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=[theirs.fileno()]
        )

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


class _Forked:
    """A program that was forked: its keeper says its process id, and in the end its exit code."""

    def __init__(self, keeper: socket.socket, stdout: IO[str]) -> None:
        self._keeper = keeper
        self._said = b""
        self._code: int | None = None
        self.stdout: IO[str] | None = stdout
        self.pid = self._number()

    def _number(self) -> int:
        """The next line from the keeper. Raises TimeoutError."""
        while b"\n" not in self._said:
            part = self._keeper.recv(100)
            assert part, "the process that forks has ended"
            self._said += part
        line, _, self._said = self._said.partition(b"\n")
        return int(line)

    def poll(self) -> int | None:
        if self._code is None and select.select([self._keeper], [], [], 0)[0]:
            self.wait()
        return self._code

    def wait(self, timeout: float | None = None) -> int:
        if self._code is None:
            self._keeper.settimeout(timeout)
            try:
                self._code = self._number()
            except TimeoutError:
                raise subprocess.TimeoutExpired("workbench", timeout or 0) from None
            self._keeper.close()
        return self._code

    def send_signal(self, sig: int) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, sig)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


# The side of the process that forks. It has one thread only.


def _serve(requests: socket.socket) -> None:
    for module in _MODULES:
        importlib.import_module(module)
    # Building all commands is half of the remaining cost of a start; they are the same in each process.
    typer.main.get_command = functools.cache(typer.main.get_command)
    with contextlib.suppress(SystemExit):
        # The library that reads the arguments imports as much again when it does so.
        _run(["dialects", "roo-xml"])
    gc.collect()
    gc.freeze()  # pages that are never written to are shared
    while True:
        _, descriptors, _, _ = socket.recv_fds(requests, 1, 3)
        with contextlib.suppress(ChildProcessError):  # there is none
            while os.waitpid(-1, os.WNOHANG)[0]:  # so that their time counts as ours
                pass
        if not descriptors:
            return
        if os.fork() == 0:
            requests.close()
            _keep(*descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def _keep(connection: int, stdout: int, stderr: int) -> None:
    """A process that starts the program, waits for it and reports its exit code."""
    told = socket.socket(fileno=connection)
    with told.makefile("r") as lines:
        request = json.loads(lines.readline())
    pid = os.fork()
    if pid == 0:
        told.close()
        os.dup2(stdout, 1)
        os.dup2(stderr, 2)
        os.close(stdout)
        os.close(stderr)
        _become(**request)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.close(stdout)
    os.close(stderr)
    with contextlib.suppress(OSError):  # the parent is gone
        told.sendall(b"%d\n" % pid)
        told.sendall(b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    os._exit(0)


def _become(arguments: list[str], cwd: str, env: dict[str, str]) -> None:
    """The program, as `python -m workbench` in that folder with that environment."""
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.path[:0] = [cwd, *env.get("PYTHONPATH", "").split(os.pathsep)]
    _run(arguments)


def _run(arguments: list[str]) -> None:
    sys.argv = ["workbench", *arguments]
    importlib.import_module("workbench.cli.main").main()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt), socket.socket(fileno=int(sys.argv[1])) as connection:
        _serve(connection)
