"""What operating systems do differently, in one place: Windows has no uvloop, no signal handlers in an event
loop, no positioned reads, no owners in file modes, and an `os.kill` that kills even with signal 0.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

# A new file to append to, which child processes do not get; bytes as they are.
NEW_FILE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND
NEW_FILE |= getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def run(main: Coroutine[Any, Any, T]) -> T:
    """As `asyncio.run`, on the fastest event loop there is."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run(main)
    return uvloop.run(main)


def on_signals(loop: asyncio.AbstractEventLoop, act: Callable[[], None], *numbers: signal.Signals) -> None:
    """Have the loop call `act` when one of the signals comes."""
    for number in numbers:
        try:
            loop.add_signal_handler(number, act)
        except NotImplementedError:
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(act))


def give_back_memory() -> None:
    """Returns unused pages to the system. glibc keeps them: tens of megabytes after a long answer."""
    if sys.platform == "linux":
        import ctypes

        with contextlib.suppress(OSError, AttributeError):  # another C library
            ctypes.CDLL(None).malloc_trim(0)


def is_running(pid: int, *, own: bool = False) -> bool:
    """Whether there is a process of this number; with `own`, only if it is the user's."""
    if sys.platform == "win32":
        return _is_running_on_windows(pid)
    try:
        os.kill(pid, 0)
    except PermissionError:
        return not own
    except (OSError, OverflowError):
        return False
    return True


def is_own(path: Path) -> bool:
    """Whether the file is the user's own; where files have no numeric owner, a readable file counts."""
    return sys.platform == "win32" or path.stat().st_uid == os.geteuid()


def make_private(descriptor: int) -> None:
    """For its owner alone, whatever the umask is."""
    if sys.platform != "win32":
        os.fchmod(descriptor, 0o600)


def lock(descriptor: int) -> None:
    """For this process alone, until the file is closed. OSError: another one has it."""
    if sys.platform == "win32":
        import msvcrt

        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def read_at(descriptor: int, size: int, offset: int) -> bytes:
    """A piece of a file; its current position does not change."""
    if sys.platform != "win32":
        return os.pread(descriptor, size, offset)
    before = os.lseek(descriptor, 0, os.SEEK_CUR)
    os.lseek(descriptor, offset, os.SEEK_SET)
    try:
        return os.read(descriptor, size)
    finally:
        os.lseek(descriptor, before, os.SEEK_SET)


def _is_running_on_windows(pid: int) -> bool:
    import ctypes

    query, still_active = 0x1000, 259
    kernel = ctypes.WinDLL("kernel32")  # type: ignore[attr-defined]
    handle = kernel.OpenProcess(query, False, pid)
    if not handle:
        return False
    code = ctypes.c_ulong()
    kernel.GetExitCodeProcess(handle, ctypes.byref(code))
    kernel.CloseHandle(handle)
    return code.value == still_active
