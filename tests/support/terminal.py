"""The real program in a real pseudo-terminal: keys go in, and what a person would see can be read."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from time import monotonic
from typing import Any, Self

import pyte

from tests.support.project import ROOT

PATIENCE = 20.0  # seconds; a slow machine is not a failure
# Escape as sent by terminals that know the protocol that Textual asks for: a lone ESC and the next key in
# one go would be that key with alt.
_KEYS = {
    "enter": "\r", "tab": "\t", "shift+tab": "\x1b[Z", "escape": "\x1b[27u", "space": " ",
    "backspace": "\x7f",
    "up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D", "home": "\x1b[H", "end": "\x1b[F",
    "pageup": "\x1b[5~", "pagedown": "\x1b[6~",
    "clear": "\x15",  # ctrl+u
}  # fmt: skip
# Only a program with this as its controlling terminal is told about a new size.
_TAKE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
_FAMILY = "WORKBENCHTEST_FAMILY"  # inherited by all that the program starts, whatever session they are in


class Program:
    """A process on a pseudo-terminal of its own; `raw` is every byte that it wrote.

    It has a home and a folder for temporary files of its own, so that what it leaves behind is seen.
    """

    def __init__(
        self,
        home: Path,
        *arguments: str,
        size: tuple[int, int] = (120, 40),
        env: Mapping[str, str] | None = None,
        command: tuple[str, ...] = ("-m", "workbench"),
    ) -> None:
        self.home, self.temporary = home, home / "temporary"
        self.temporary.mkdir(parents=True, exist_ok=True)
        self.raw = bytearray()
        self.changed = threading.Condition()
        self._family = uuid.uuid4().hex
        self.master, slave = pty.openpty()
        self.resize(*size)
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-c", _TAKE_TERMINAL, sys.executable, *command, *arguments],
                cwd=home,
                env=self._environment(env or {}),
                stdin=slave,
                stdout=slave,
                stderr=slave,
                start_new_session=True,
            )
        finally:
            os.close(slave)
        self._reader = threading.Thread(target=self.read_output, name="terminal", daemon=True)
        self._reader.start()

    def _environment(self, more: Mapping[str, str]) -> dict[str, str]:
        """Nothing of the caller's that the program might take for a setting."""
        strange = ("WORKBENCH_", "XDG_", "TEXTUAL", "NO_COLOR", "COLUMNS", "LINES")
        kept = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(strange) and not key.lower().endswith("_proxy")
        }
        own = {
            "HOME": str(self.home), "TMPDIR": str(self.temporary), "PYTHONPATH": str(ROOT),
            "TERM": "xterm-256color", "COLORTERM": "truecolor", "WORKBENCH_TRACEBACK": "1",
            _FAMILY: self._family,
        }  # fmt: skip
        return kept | own | dict(more)

    def read_output(self) -> None:
        """Until its end, in a thread of its own."""
        while True:
            try:
                data = os.read(self.master, 1 << 16)
            except OSError:  # the last one that had the terminal open is gone
                data = b""
            with self.changed:
                if data:
                    self.raw += data
                    self.see(data)
                self.changed.notify_all()
            if not data:
                return

    def see(self, data: bytes) -> None:
        """More output; the lock is held."""

    # -- driving it

    def press(self, *keys: str) -> None:
        """Keys by name, or a character each."""
        for key in keys:
            self.write(_KEYS.get(key, key))

    def write(self, text: str) -> None:
        os.write(self.master, text.encode())

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def until(self, holds: Callable[[], Any], what: str, timeout: float = PATIENCE) -> None:
        """Wait for something that output changes."""
        with self.changed:
            if not self.changed.wait_for(holds, timeout):
                raise AssertionError(f"{what}: not within {timeout} s; {self.state()}")

    def state(self) -> str:
        """For the message of a test that failed."""
        return f"exit code {self.process.poll()}, {len(self.raw)} bytes, the last {bytes(self.raw[-300:])!r}"

    # -- its end

    def exit_code(self, timeout: float = PATIENCE) -> int:
        """Wait for its end, and for the last of what it said."""
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it does not end; {self.state()}") from None
        self._reader.join(timeout)
        return code

    def family(self) -> dict[int, str]:
        """The processes of this program that run now, by id: itself and whatever it started."""
        mark = f"{_FAMILY}={self._family}".encode()
        found = {}
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (entry / "environ").read_bytes().split(b"\0") and not _zombie(entry):
                    found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
        return found

    def proxy(self) -> int:
        """The process id of the proxy that it started."""
        (pid,) = (pid for pid, command in self.family().items() if "'workbench.cli.main'" in command)
        return pid

    def gone(self, timeout: float = PATIENCE) -> bool:
        """Whether all of the family has ended, after a while at the latest."""
        end, poll = monotonic() + timeout, threading.Event()
        while self.family() and monotonic() < end:
            poll.wait(0.05)  # there is nothing to be notified by: these are not our children
        return not self.family()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        for pid in self.family():
            os.kill(pid, signal.SIGKILL)
        self._reader.join(5)
        os.close(self.master)


class Terminal(Program):
    """With a screen: what a terminal makes of the output."""

    def __init__(
        self,
        home: Path,
        *arguments: str,
        size: tuple[int, int] = (120, 40),
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._screen = pyte.Screen(*size)
        self._stream = pyte.ByteStream(self._screen)
        self._lines: list[str] = []
        super().__init__(home, *arguments, size=size, env=env)

    def see(self, data: bytes) -> None:
        # The emulator takes this one for text: Textual's request for another keyboard protocol.
        self._stream.feed(data.replace(b"\x1b[<u", b""))

    def resize(self, columns: int, rows: int) -> None:
        with self.changed:
            self._screen.resize(rows, columns)
            self._lines = []
        super().resize(columns, rows)

    @property
    def lines(self) -> list[str]:
        """Only those that were drawn since are read again: this is asked for after each piece of output."""
        with self.changed:
            screen, width = self._screen, range(self._screen.columns)
            if not self._lines:
                self._lines = [""] * screen.lines
                screen.dirty.clear()
                screen.dirty.update(range(screen.lines))
            for y in screen.dirty:
                cells = screen.buffer[y]
                self._lines[y] = "".join(cells[x].data for x in width).rstrip()
            screen.dirty.clear()
            return list(self._lines)

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def shows(self, *texts: str) -> bool:
        """Whether all of them are on the screen now."""
        shown = self.text
        return all(text in shown for text in texts)

    def wait_for(self, *texts: str, timeout: float = PATIENCE) -> None:
        self.until(lambda: self.shows(*texts), f"{texts!r} on the screen", timeout)

    def wait_without(self, *texts: str, timeout: float = PATIENCE) -> None:
        """Until none of them is on the screen."""
        self.until(lambda: not any(self.shows(text) for text in texts), f"no {texts!r}", timeout)

    def find(self, pattern: str) -> re.Match[str]:
        """The first match on the screen, as soon as there is one."""
        self.until(lambda: re.search(pattern, self.text), f"{pattern!r} on the screen")
        found = re.search(pattern, self.text)
        assert found is not None
        return found

    def looks(self, text: str) -> set[tuple[str, bool]]:
        """Background and boldness of a text's first cell, wherever it is."""
        with self.changed:
            buffer = self._screen.buffer
            places = [
                (y, at.start())
                for y, line in enumerate(self.lines)
                for at in re.finditer(re.escape(text), line)
            ]
            return {(buffer[y][x].bg, buffer[y][x].bold) for y, x in places}

    def state(self) -> str:
        return f"{super().state()}; the screen:\n{self.text}"


def _zombie(entry: Path) -> bool:
    return (entry / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
