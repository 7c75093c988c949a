"""The stream screen beside a running proxy: it follows, says what the proxy does, and changes it."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.support.bench import CALL, HEAD, Bench, running_bench
from tests.support.live import Driver, driving
from tests.support.proxies import running_proxy
from tests.support.screens import text_of, until_seen
from tests.support.streams import stream_of
from tests.support.upstream.answers import Answer, Finish, Gate, Send, stream
from workbench.replay.player import Pane
from workbench.ui.app import WorkbenchApp
from workbench.ui.screens.view import ListScreen
from workbench.ui.widgets.exchangetable import Judged
from workbench.ui.widgets.statusline import StatusLine

DATA = stream_of(CALL)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with running_bench(tmp_path_factory.mktemp("live")) as bench:
        bench.ask(stream(DATA))
        bench.tape()
        yield bench


def begun(bench: Bench, gate: str, session: str) -> Callable[[], None]:
    """A request whose answer waits in the middle; the result opens the gate and waits for the end."""
    answer = Answer([HEAD, Send(DATA[:-40]), Gate(gate), Send(DATA[-40:]), Finish()])
    asked = threading.Thread(target=lambda: bench.ask(answer, headers={"x-session-id": session}))
    asked.start()

    def end() -> None:
        bench.upstream.open(gate)
        asked.join()

    return end


@asynccontextmanager
async def watching(bench: Bench) -> AsyncIterator[Driver]:
    async with driving(bench.proxy.library, (200, 40)) as driver:
        await driver.until(lambda: bench.proxy.url in text_of(driver.app), "the proxy is found")
        yield driver


def session_shown(driver: Driver) -> object:
    player = driver.screen.player
    return player.header.get("session") if player is not None else None


async def test_a_model_server_that_does_not_answer_is_said_of_a_proxy_that_others_started(tmp_path: Path):
    said = "the model server at http://127.0.0.1:9/v1 does not answer"
    with running_proxy(tmp_path, "http://127.0.0.1:9/v1") as proxy:
        async with WorkbenchApp(proxy.library).run_test(size=(200, 30)) as pilot:
            await until_seen(pilot, said)


async def test_the_newest_exchange_is_shown_until_a_person_moves(bench: Bench):
    async with watching(bench) as driver:
        status = driver.screen.query_one(StatusLine)
        assert "▶ following" in status.text and "idle" in status.text
        end_first = begun(bench, "first", "one")
        await driver.until(lambda: session_shown(driver) == "one", "it is shown as it begins")
        await driver.until(lambda: driver.pane(Pane.CLIENT).count() > 2, "its rows, too")
        await driver.until(lambda: "1 stream" in status.text, "it is counted")
        end_second = begun(bench, "second", "two")
        await driver.until(lambda: "1 more runs" in status.text, "that another one runs is said")
        assert session_shown(driver) == "one", "one that runs is not left"
        end_first()
        await driver.until(lambda: session_shown(driver) == "two", "after its end comes the other one")
        await driver.press("2", "up")
        assert "F follows" in status.text and not driver.screen.follow.on
        end_second()
        bench.ask(stream(DATA), headers={"x-session-id": "three"})
        await driver.until(lambda: "three" in driver.text(driver.list), "the third is listed")
        assert session_shown(driver) == "two", "a person reads here"
        await driver.press("F")
        await driver.until(lambda: session_shown(driver) == "three", "on again, at the newest")
        assert "▶ following" in status.text
        await driver.press("0", "down")
        assert session_shown(driver) != "three" and not driver.screen.follow.on
        await driver.press("S")
        assert driver.screen.follow.session == session_shown(driver)
        await driver.pilot.click(status, offset=(status.size.width - 4, 0))
        assert not driver.screen.follow.on, "the mouse does it, too"


async def test_dialect_and_policy_are_changed_for_the_next_request(bench: Bench):
    async with watching(bench) as driver:
        status = driver.screen.query_one(StatusLine)
        at = status.text.index("roo-xml")
        await driver.pilot.click(status, offset=(at + 2, 0))
        await driver.until(lambda: isinstance(driver.app.screen, ListScreen), "the dialects")
        choices = driver.app.screen
        assert isinstance(choices, ListScreen)
        names = [choice.name for choice in choices.choices]
        choices.list.go(names.index("kimi-k2"))
        await driver.press("enter")
        await driver.until(lambda: "kimi-k2 (changed, was roo-xml)" in status.text, "it says so")
        bench.ask(stream(DATA))
        assert bench.tape().header["dialect"] == "kimi-k2"
        await driver.press("P")
        choices = driver.app.screen
        assert isinstance(choices, ListScreen)
        names = [choice.name.partition(" ")[0] for choice in choices.choices]
        choices.list.go(names.index("malformed"))
        await driver.press("enter")
        await driver.until(lambda: driver.app.screen is not choices, "its values")
        await driver.press("down", "enter")
        await driver.until(lambda: "malformed=repair" in status.text, "it says so")
        bench.ask(stream(DATA))
        assert bench.tape().header["policy"]["malformed"] == "repair"
        await driver.press("P", "enter")
        await driver.until(lambda: "policy as" in status.text, "as configured")
        await driver.press("D")
        choices = driver.app.screen
        assert isinstance(choices, ListScreen)
        names = [choice.name for choice in choices.choices]
        assert choices.choices[names.index("roo-xml")].note == "as configured"
        choices.list.go(names.index("roo-xml"))
        await driver.press("enter")
        await driver.until(lambda: "changed" not in status.text, "nothing is changed any more")


async def test_what_can_be_done_with_an_exchange_in_the_list(bench: Bench, tmp_path: Path):
    """Mark, note, export, delete; sort; go to what went wrong."""
    bad = stream_of("Hello\n<read_file>\n<path>a.py")
    bench.ask(stream(bad))
    bench.tape()
    bench.ask(stream(DATA), headers={"x-session-id": "last"})
    bench.tape("last")
    async with watching(bench) as driver:
        await driver.until(lambda: session_shown(driver) == "last", "all are listed")
        await driver.press("0", "n")
        chosen = driver.list.chosen
        assert chosen is not None and chosen.level == "error"
        tape = bench.proxy.library / chosen.row.path
        await driver.press("m")
        await driver.until(lambda: driver.list.chosen and driver.list.chosen.row.marked, "marked")
        assert "✖◆" in driver.text(driver.list)
        await driver.press("M", *"truncated", "enter")
        await driver.until(lambda: "note: truncated" in driver.text(driver.list), "the note is shown")
        await driver.press("m")
        await driver.until(lambda: driver.list.chosen and not driver.list.chosen.row.marked, "not any more")
        driver.app.files.choose(str(tmp_path / "mine"))
        await driver.press("e")
        (written,) = (tmp_path / "mine").glob("*.jsonl")
        assert written.read_bytes() == tape.read_bytes()
        await driver.press("d", "escape")
        assert tape.exists()
        await driver.press("d", "enter")
        await driver.until(lambda: not tape.exists(), "deleted after a question")
        await driver.until(
            lambda: chosen.row.path not in [e.row.path for e in driver.list.entries if isinstance(e, Judged)],
            "gone from the list",
        )
        listed = [e.row.started for e in driver.list.entries if isinstance(e, Judged)]
        head = driver.text(driver.list).splitlines()[0]
        await driver.pilot.click(driver.list, offset=(head.index("time") + 1, 1))
        await driver.until(
            lambda: [e.row.started for e in driver.list.entries if isinstance(e, Judged)] == listed[::-1],
            "the mouse sorts",
        )
        await driver.press("o")
        await driver.until(lambda: driver.list.order.name == "session", "so does a key")
