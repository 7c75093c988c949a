"""The real program in a real terminal, with real traffic: what a person sees and what the keys do."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.gated import GATES, Client, gated
from tests.support.proxies import running_proxy
from tests.support.screens import WAITING
from tests.support.tapes import sample
from tests.support.terminal import Terminal
from tests.support.tiers import only_exhaustive
from tests.support.upstream.server import ScriptedUpstream, free_port
from workbench.analysis.verdicts import Facts, verdict

CONVERTED = verdict(Facts("done", 200, 1)).sentence
URL = r"http://127\.0\.0\.1:\d+/v1"


def fault() -> str:
    """What is said of the demo's malformed call, as far as there is room for it everywhere."""
    return sample("roo-xml/unclosed-parameter").findings[0].message.partition(",")[0]


@contextmanager
def upstream(port: int = 0) -> Iterator[ScriptedUpstream]:
    with ScriptedUpstream(port=port) as one:
        one.answer_with(lambda seen: gated())
        yield one


def answered(terminal: Terminal, scripted: ScriptedUpstream, url: str) -> None:
    """One question through the proxy, watched on the screen from its first bytes to its end."""
    client = Client(url)
    terminal.wait_for("content I look at it.", "running")
    scripted.open("call")
    terminal.wait_for("HELD BACK", "characters for", "open parameter")
    assert not terminal.shows("arguments")
    scripted.open("end")
    terminal.wait_for(f"✔ {CONVERTED}", "call read_file", '{"path":"src/main.py"}', "finish tool_calls")
    terminal.wait_without("HELD BACK")
    assert client.result() == [("read_file", '{"path":"src/main.py"}')]


def leave(terminal: Terminal) -> None:
    """Everything it started and every file it made for itself goes with it."""
    terminal.press("q")
    assert terminal.exit_code() == 0
    assert terminal.gone(), terminal.family()
    assert list(terminal.temporary.iterdir()) == []


@pytest.mark.exhaustive  # quick: demo/test_demo.py, and the traffic below
def test_the_demo_from_its_first_screen_to_its_end(tmp_path: Path):
    with Terminal(tmp_path, "demo") as terminal:
        terminal.wait_for(fault(), "✖ unclosed-parameter", "The agent stopped without a word.", "v jumps to")
        terminal.until(lambda: _selected(terminal, "✖ unclosed-parameter"), "the cursor is on the fault")
        terminal.press("v")
        terminal.wait_for("Here it is: </read_file> came while <path> was still open.")
        terminal.press("tab")
        terminal.until(lambda: _bold(terminal, "Client"), "the next pane has the focus")
        terminal.press("z")
        terminal.wait_without("─ Upstream ─", "─ Machine ─", "─ Exchanges ─")
        assert terminal.shows("─ Client ─", fault())
        terminal.press("z")
        terminal.wait_for("─ Upstream ─", "─ Machine ─", "─ Client ─", "─ Exchanges ─")
        terminal.press("/")
        terminal.wait_for("enter finds it", "esc Close")
        terminal.write("FINISH")
        terminal.press("enter")
        terminal.until(lambda: _selected(terminal, "finish stop"), "the cursor is on the match")
        terminal.find(URL)
        terminal.find(r"✔ [\d:]+ +(ses|…)\S+ .* \d calls? converted")
        _filter(terminal)
        terminal.press("?")
        terminal.wait_for("help: ", "escape goes back", "Keys of this screen")
        terminal.press("escape")
        terminal.wait_for("─ Upstream ─")
        leave(terminal)


def _selected(terminal: Terminal, text: str) -> bool:
    """Whether the row with this text is drawn unlike all others."""
    looks = terminal.looks(text)
    return bool(looks) and not looks & terminal.looks("text prose I'll")


def _bold(terminal: Terminal, text: str) -> bool:
    return any(bold for _, bold in terminal.looks(text))


def _filter(terminal: Terminal) -> None:
    placeholder = "tool:bash since:2h"
    terminal.press("0", "f")
    terminal.wait_for(placeholder, "esc Close")
    terminal.write("dialekt:kimi-k2")
    terminal.press("enter")
    terminal.wait_for("there is no key 'dialekt'; did you mean dialect?")
    terminal.press("clear")
    terminal.wait_for(placeholder)
    terminal.write("dialect:kimi-k2")
    terminal.press("enter")
    terminal.wait_for("Exchanges: dialect:kimi-k2", "kimi-k2.5")
    terminal.wait_without("qwen3-max", "esc Close")
    terminal.press("f")
    terminal.wait_for("filter dialect:kimi-k2", "esc Close")
    terminal.press("clear")
    terminal.wait_for(placeholder)
    terminal.press("enter")
    terminal.wait_for("─ Exchanges ─")


@pytest.mark.exhaustive  # quick: test_stream: every part can be seen
@pytest.mark.parametrize("size", only_exhaustive([(80, 24), (120, 40)], quick=[(80, 24)]))
def test_the_size_decides_what_is_side_by_side(tmp_path: Path, size: tuple[int, int]):
    names = ("─ Exchanges ─", "─ Upstream ─", "─ Machine ─", "─ Client ─")
    with Terminal(tmp_path, "demo", "--no-live", size=size) as terminal:
        terminal.wait_for(fault(), "─ Machine ─", "The agent stopped without a word.")
        shown = [name for name in names if terminal.shows(name)]
        assert shown == (["─ Machine ─"] if size == (80, 24) else list(names))
        for key, name in zip("0123", names, strict=True):
            terminal.press(key)
            terminal.wait_for(name, fault())
        terminal.resize(200, 50)
        terminal.wait_for(*names, timeout=20)
        leave(terminal)


def test_traffic_through_the_proxy_that_the_screen_started(tmp_path: Path):
    """It is seen while it runs; a proxy that dies is said, and a key starts another."""
    flags = ("--dialect", "roo-xml", "--port", "0", "--library", str(tmp_path / "library"))
    with (
        upstream() as scripted,
        Terminal(tmp_path, "--upstream", scripted.url, *flags, size=(120, 40)) as terminal,
    ):
        terminal.wait_for(WAITING)
        answered(terminal, scripted, terminal.find(URL)[0])
        before = terminal.proxy()
        os.kill(before, signal.SIGKILL)
        terminal.wait_for("The proxy is gone", "was ended by SIGKILL", "r  Restart the proxy")
        terminal.press("r")
        terminal.wait_for("─ Upstream ─")
        terminal.until(lambda: [pid for pid in _proxies(terminal) if pid != before], "another proxy")
        scripted.requests.clear()
        terminal.until(lambda: _answers(terminal.find(URL)[0]), "the new proxy's URL on the screen")
        assert Client(terminal.find(URL)[0]).result() == [("read_file", '{"path":"src/main.py"}')]
        assert len(scripted.requests) >= 1
        leave(terminal)


def _proxies(terminal: Terminal) -> list[int]:
    return [pid for pid, command in terminal.family().items() if "serve" in command]


def _answers(url: str) -> bool:
    try:
        port = int(url.rsplit(":", 1)[1].removesuffix("/v1"))
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False


@pytest.mark.exhaustive  # quick: the same in test_supervisor
def test_without_configuration_it_says_what_to_do(tmp_path: Path):
    with Terminal(tmp_path, size=(80, 24)) as terminal:
        terminal.wait_for("No model to talk to", "workbench init", "workbench demo", "r  Try again")
        terminal.press("o")
        terminal.wait_for(WAITING)
        leave(terminal)


@pytest.mark.exhaustive  # quick: test_child, with its words; test_problem
def test_a_taken_port(tmp_path: Path):
    with upstream() as scripted, socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        flags = ("--upstream", scripted.url, "--port", str(port), "--library", str(tmp_path / "library"))
        with Terminal(tmp_path, *flags) as terminal:
            terminal.wait_for(f"Port {port} is taken", "p  Take a free port")
            terminal.press("p")
            assert terminal.find(URL)[0] != f"http://127.0.0.1:{port}/v1"
            terminal.wait_for(WAITING)
            leave(terminal)


@pytest.mark.exhaustive  # quick: the same in test_supervisor
def test_an_upstream_that_is_started_later_and_a_running_answer(tmp_path: Path):
    port = free_port()
    flags = ("--upstream", f"http://127.0.0.1:{port}/v1", "--dialect", "roo-xml", "--port", "0")
    with Terminal(tmp_path, *flags, "--library", str(tmp_path / "library")) as terminal:
        # It is a line, over nothing; it is looked at again, and the line goes away by itself.
        terminal.wait_for(f"✖ the model server at http://127.0.0.1:{port}/v1 does not answer", "Exchanges")
        with upstream(port) as scripted:
            terminal.wait_without("does not answer")
            terminal.wait_for(WAITING)
            is_not_cut_without_asking_and_the_proxy_can_stay(terminal, scripted)


def is_not_cut_without_asking_and_the_proxy_can_stay(terminal: Terminal, scripted: ScriptedUpstream) -> None:
    client = Client(terminal.find(URL)[0])
    terminal.wait_for("content I look at it.")
    terminal.press("q")
    terminal.wait_for("An answer is still running", "l  Leave the proxy running", "x  End the proxy")
    terminal.press("q", "escape")  # a key that is pressed twice cuts nothing
    # Half a frame has rows of both: what is drawn and what was there before.
    asked, back = "Leave the proxy", "content I look at it."
    terminal.until(lambda: terminal.shows(back) and not terminal.shows(asked), "the exchange again")
    terminal.press("q")
    terminal.wait_for("l  Leave the proxy running")
    terminal.press("l")
    assert terminal.exit_code() == 0
    proxies = _proxies(terminal)
    assert len(proxies) == 1 and f"(process {proxies[0]})" in terminal.raw.decode()
    for gate in GATES:
        scripted.open(gate)
    assert client.result() == [("read_file", '{"path":"src/main.py"}')]


@pytest.mark.exhaustive  # quick: test_child, test_problem
def test_a_library_that_cannot_be_written(tmp_path: Path):
    file = tmp_path / "file"
    file.touch()  # root may write anywhere but below a file
    with upstream() as scripted:
        flags = ("--upstream", scripted.url, "--port", "0", "--library", str(file / "library"))
        with Terminal(tmp_path, *flags) as terminal:
            terminal.wait_for("✖ nothing can be recorded in", WAITING)
            leave(terminal)


@pytest.mark.exhaustive  # quick: the same in test_supervisor
def test_flags_that_cannot_take_effect_are_said(tmp_path: Path):
    with upstream() as scripted, running_proxy(tmp_path, scripted, "roo-xml") as proxy:
        given = ("--upstream", scripted.url, "--library", str(proxy.library))
        flags = ("--dialect", "hermes", "--port", "1", "--listen", "127.0.0.2")
        with Terminal(tmp_path, *given, *flags) as terminal:
            terminal.wait_for("A proxy runs already", f"It serves {proxy.url}", "it converts roo-xml")
            assert terminal.shows(
                "--port 1: it listens on port", "--listen 127.0.0.2: it listens on 127.0.0.1"
            )
            terminal.press("a")
            terminal.wait_for(WAITING, proxy.url)
            leave(terminal)


@pytest.mark.exhaustive  # quick: the first of the two keys in test_supervisor, and test_child
def test_a_second_proxy_beside_the_one_that_runs(tmp_path: Path):
    with upstream() as scripted, running_proxy(tmp_path, scripted, "roo-xml") as proxy:
        given = ("--upstream", scripted.url, "--library", str(proxy.library))
        with Terminal(tmp_path, *given, "--dialect", "hermes") as terminal:
            terminal.wait_for("A proxy runs already", "s  Start a second one")
            terminal.press("s")
            terminal.wait_for(WAITING)
            terminal.until(lambda: terminal.find(URL)[0] != proxy.url, "an address of its own")
            leave(terminal)
        with Terminal(tmp_path, *given, "--dialect", "roo-xml") as terminal:
            terminal.wait_for(WAITING, proxy.url)  # what is true already is not said
            leave(terminal)


@pytest.mark.exhaustive  # quick: attached in test_supervisor: flags; test_stream
def test_attached_to_a_library_that_another_process_writes(tmp_path: Path):
    with upstream() as scripted, running_proxy(tmp_path, scripted, "roo-xml") as proxy:
        with Terminal(tmp_path, "attach", "--library", str(proxy.library), size=(200, 50)) as terminal:
            terminal.wait_for(WAITING)
            answered(terminal, scripted, proxy.url)
            leave(terminal)
        assert proxy.process.poll() is None, "it was not ours to end"
