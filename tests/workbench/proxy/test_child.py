"""The proxy as a child: ready, attached to, dead, restarted, stopped, and never an orphan."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.bench import wait_for
from tests.support.project import heed_ctrl_c
from tests.support.tiers import each_row, only_exhaustive
from workbench.library.tapefiles import is_alive
from workbench.proxy.asking import find_running
from workbench.proxy.process import ChildError, ProcessExit, ProxyChild
from workbench.proxy.registration import Registration, register

NOWHERE = "http://127.0.0.1:9/v1"
FLAGS = ("--port", "0", "--upstream", NOWHERE)


@pytest.fixture
def library(folder: Path) -> Path:
    return folder / "library"


# quick: that a child's own words are told, below; what is said of a taken port, in test_guard
@pytest.mark.exhaustive
def test_a_taken_port_is_told_in_its_own_words(library: Path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        child = ProxyChild(library, ("--port", port, "--upstream", NOWHERE))
        with pytest.raises(ChildError) as caught:
            asyncio.run(child.start())
    exit = caught.value.exit
    assert exit is not None and exit.usage and exit.code == 2
    assert exit.reason == str(caught.value) and exit.reason.startswith(f"port {port} ")


def test_without_configuration_it_says_what_is_missing(library: Path):
    with pytest.raises(ChildError) as caught:
        asyncio.run(ProxyChild(library).start())
    exit = caught.value.exit
    assert exit is not None and exit.usage and exit.code == 2
    assert (
        exit.reason == str(caught.value) and "--upstream" in exit.reason and "workbench:" not in exit.reason
    )


def check_ready(child: ProxyChild, library: Path) -> None:
    """It can be found, and is the head of a group of its own."""
    registration = child.registration
    assert child.alive and registration is not None
    assert child.url == registration.url and child.pid == registration.pid
    assert find_running(library) == registration
    assert os.getpgid(registration.pid) == registration.pid != os.getpgid(0)


def test_its_exit_is_noticed_and_started_again_it_is_ready_found_and_gone(library: Path, folder: Path):
    """First with a library that cannot be written, which leaves it usable. A start takes a second."""
    (folder / "secrets.py").write_text("raise SystemExit('a file of the user, no module of ours')")

    async def story() -> tuple[str, ProcessExit, bool, str]:
        library.write_text("not a folder")
        child = ProxyChild(library, FLAGS)
        first = await child.start()
        assert child.registration is None
        watching = asyncio.ensure_future(child.ended())
        assert child.pid is not None
        os.kill(child.pid, signal.SIGKILL)
        exit = await asyncio.wait_for(watching, 10)
        wanted = child.stopping
        library.unlink()
        second = await child.restart()
        try:
            check_ready(child, library)
        finally:
            await child.stop()
        assert not child.alive and child.stopping
        return first, exit, wanted, second

    first, exit, wanted, second = asyncio.run(story())
    assert exit.code == -signal.SIGKILL and "SIGKILL" in exit.reason and not exit.usage
    assert not wanted
    assert first and second
    assert find_running(library) is None
    assert list(library.glob("proxies/*")) == []


PARENT = """
import asyncio, sys
from pathlib import Path
from workbench.proxy.process import ProxyChild

async def main():
    bound, released = (ProxyChild(Path(library), {flags!r}) for library in sys.argv[1:])
    await asyncio.gather(bound.start(), released.start())
    assert released.release() and await released.stop(0) is None
    print(bound.pid, released.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.parametrize(
    "how", only_exhaustive([signal.SIGKILL, signal.SIGTERM, signal.SIGINT], quick=[signal.SIGKILL])
)
def test_it_ends_with_its_parent_unless_it_was_released(folder: Path, how: signal.Signals):
    libraries = [folder / "bound", folder / "released"]
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT.format(flags=FLAGS), *map(str, libraries)],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, preexec_fn=heed_ctrl_c,  # noqa: PLW1509
    )  # fmt: skip
    assert parent.stdout is not None
    bound, released = map(int, parent.stdout.readline().split())
    try:
        assert is_alive(bound) and is_alive(released)
        parent.send_signal(how)
        parent.wait(20)
        parent.stdout.close()
        wait_for(lambda: not is_alive(bound), "the end of the child", 20)
        assert list(libraries[0].glob("proxies/*")) == []
        running = find_running(libraries[1])
        assert running is not None and running.pid == released
    finally:
        os.kill(released, signal.SIGTERM)
    wait_for(lambda: not is_alive(released), "its end")


def test_a_process_that_only_has_the_number_of_a_proxy_is_none(library: Path):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        control = f"http://127.0.0.1:{silent.getsockname()[1]}/_workbench"
        register(library, Registration(os.getpid(), "", control, "t", 1.0))
        assert find_running(library, timeout=0.2) is None


@each_row(
    ("exit", "reason"),
    [
        (ProcessExit(2, ("workbench: a", "b")), "a\nb"),
        (ProcessExit(2, ("warning: w", "workbench: a")), "a"),
        (ProcessExit(1), "The proxy ended with exit code 1."),
        (
            ProcessExit(1, ("Traceback", "KeyError: x")),
            "The proxy ended with exit code 1.\nTraceback\nKeyError: x",
        ),
        (ProcessExit(-11), "The proxy was ended by SIGSEGV."),
        (ProcessExit(-99), "The proxy was ended by signal 99."),
    ],
)  # fmt: skip
def test_the_reason_is_what_the_user_needs(exit: ProcessExit, reason: str):
    assert exit.reason == reason
