"""What operating systems do differently."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from workbench.system import NEW_FILE, is_own, is_running, make_private, on_signals, read_at, run


def test_a_process_is_known_by_its_number() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert is_running(child.pid)
    assert is_running(child.pid, own=True)
    child.communicate()
    assert not is_running(child.pid)
    assert not is_running(10**30)


def test_a_file_is_read_where_asked_and_its_place_stays(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path / "new", NEW_FILE)
    try:
        make_private(descriptor)
        os.write(descriptor, b"0123456789")
        assert read_at(descriptor, 3, 4) == b"456"
        os.write(descriptor, b"abc")
        assert read_at(descriptor, 99, 8) == b"89abc"
    finally:
        os.close(descriptor)
    assert is_own(tmp_path / "new")
    assert (tmp_path / "new").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("without_uvloop", [False, True])
def test_a_signal_reaches_the_loop(without_uvloop: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if without_uvloop:
        monkeypatch.setitem(sys.modules, "uvloop", None)  # as on Windows: the import fails

    async def until_signalled() -> str:
        loop = asyncio.get_running_loop()
        came = asyncio.Event()
        on_signals(loop, came.set, signal.SIGTERM)
        loop.call_soon(os.kill, os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(came.wait(), 10)
        return type(loop).__module__

    assert run(until_signalled()).startswith("asyncio" if without_uvloop else "uvloop")
