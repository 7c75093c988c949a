"""Answers that are held, on the screen: a real proxy, and a client that waits.

The openai SDK as that client: proxy/test_intercept.py."""

from __future__ import annotations

import json
import os
import re
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Static, TextArea

from tests.support import http
from tests.support.bench import QUICK, TOOLS, Bench, running_bench
from tests.support.client import Result, result
from tests.support.live import Driver, driving
from tests.support.screens import paste
from tests.support.streams import stream_of
from tests.support.tapes import sample
from tests.support.upstream.answers import stream
from workbench.analysis.variants.texts import texts_of
from workbench.replay.player import Player
from workbench.tape.format import end_line, read_line
from workbench.ui.screens.held import HeldEditor, HeldScreen, rewritten, tail_of
from workbench.ui.screens.stream import StreamScreen

CALL = "I look into it.\n<read_file>\n<path>secret-données.txt</path>\n</read_file>"


def asked(url: str) -> Result:
    request = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "tools": TOOLS, "stream": True}
    return result(http.post(f"{url}/chat/completions", json=request, timeout=20).content)


def calls_in(answer: Future[Result]) -> list[tuple[str, Any]]:
    """As soon as the client has it."""
    return [(name, json.loads(text)) for name, text in answer.result(10).calls]


class Client:
    """Asks in a thread of its own."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.pool = ThreadPoolExecutor(2)

    def ask(self) -> Future[Result]:
        self.bench.upstream.answer(stream(stream_of(CALL)))
        return self.pool.submit(asked, self.bench.proxy.url)


def shot(driver: Driver, name: str) -> None:
    """A picture, where somebody wants to look at it."""
    if folder := os.environ.get("WORKBENCH_SHOTS"):
        driver.app.save_screenshot(f"{name}.svg", folder)


async def until_held(driver: Driver) -> None:
    await driver.until(lambda: "■ HELD" in str(driver.screen.held_bar.render()), "the bar says so")


async def until_nothing_is_held(driver: Driver) -> None:
    """Back in the list. Its bar asks the proxy now and then: until it has, it tells of the answer before."""
    await driver.until(lambda: isinstance(driver.app.screen, StreamScreen), "back in the list")
    await driver.until(lambda: "■ HELD" not in str(driver.screen.held_bar.render()), "nothing is held")


async def until_shown(driver: Driver) -> HeldScreen:
    """The held answer is on the screen; before, a key has nothing to act on."""
    await driver.until(lambda: isinstance(driver.app.screen, HeldScreen), "the screen of held answers")
    held = driver.app.screen
    assert isinstance(held, HeldScreen)
    await driver.until(lambda: held.shown is not None, "the held answer")
    return held


async def set_breakpoint(driver: Driver) -> None:
    """After a mistake that is told and mended."""
    await driver.press("b")
    await paste(driver.pilot, "tol:read")
    await driver.press("*", "enter")
    problem = driver.screen.query_one("#prompt-problem", Static)
    await driver.until(lambda: "did you mean tool" in str(problem.render()), "what is wrong with it")
    await driver.press("home", "right", "right", "o", "enter")
    await driver.until(lambda: driver.screen.held_bar.display, "the breakpoint is said")
    assert "answers are held at tool:read*" in str(driver.screen.held_bar.render())


async def edit_what_is_held(driver: Driver, client: Client, width: int) -> None:
    edited = client.ask()
    await until_held(driver)
    await driver.until(lambda: "HELD" in driver.text(driver.list), "the list says it, too")
    shot(driver, f"held-list-{width}")
    await driver.press("H")
    held = await until_shown(driver)
    await driver.until(lambda: "secret-données" in driver.text(held.answer), "what the model wrote")
    assert "call read_file" in driver.text(held.answer) and not edited.done()
    assert re.search(r"HELD at tool:read\*.* (5:00|4:5\d) left", str(held._head.render()))
    shot(driver, f"held-answer-{width}")
    await driver.until(lambda: held.shown is not None and not held.shown.arriving, "all of it is here")
    await driver.press("e")
    await driver.until(lambda: isinstance(driver.app.screen, HeldEditor), "the editor")
    editor = driver.app.screen.query_one(TextArea)
    shot(driver, f"held-edit-{width}")
    editor.load_text(editor.text.replace("secret-données.txt", "README.md"))
    await driver.press("ctrl+s")
    await driver.until(edited.done, "the client has its answer")
    assert calls_in(edited) == [("read_file", {"path": "README.md"})]
    await until_nothing_is_held(driver)


async def drop_what_is_held(driver: Driver, client: Client) -> None:
    dropped = client.ask()
    await until_held(driver)
    await driver.press("H")
    await until_shown(driver)
    await driver.press("x")
    assert not dropped.done(), "one key drops nothing"
    await driver.press("x")
    await driver.until(dropped.done, "the client has its error")
    error = dropped.result().error
    assert (
        error is not None and "dropped by a person" in error["message"] and "tool:read*" in error["message"]
    )
    assert not dropped.result().calls
    await until_nothing_is_held(driver)


async def test_held_edited_let_go_and_dropped(tmp_path: Path):
    with running_bench(tmp_path, toml=QUICK) as bench:
        client = Client(bench)
        assert calls_in(client.ask())  # the library has something to show
        columns, lines = map(int, os.environ.get("SHOT_SIZE", "120x30").split("x"))
        async with driving(bench.proxy.library, size=(columns, lines)) as driver:
            await set_breakpoint(driver)
            await edit_what_is_held(driver, client, columns)
            await drop_what_is_held(driver, client)
            left = client.ask()
            await until_held(driver)
        assert calls_in(left) == [("read_file", {"path": "secret-données.txt"})], "the screen has gone"
        assert calls_in(client.ask()), "and with it its breakpoints"
        tapes = bench.proxy.tapes(5)
        assert [t.of("release")[0].value["release"] for t in tapes if t.of("hold")] == [
            "edited",
            "dropped",
            "unchanged",
        ]


@pytest.mark.parametrize(
    "name", ["roo-xml/good-read", "hermes/good-two-calls", "qwen3-coder/good-thinks-first"]
)
def test_an_edit_is_as_short_as_it_can_be(name: str):
    """What stays is a whole number of reads, what comes instead begins with a whole character."""
    player = sample(name)
    text = next(text for text in texts_of(player) if text.channel == "content")
    for at in range(0, len(text.text), 7):
        new = text.text[:at] + "é" + text.text[at:]
        keep, (rest,) = rewritten(player, text, new)
        again = Player(player.header)
        again.add(
            [*(read_line(0, player.read(number)) for number in range(keep)), read_line(0, rest.encode())]
        )
        again.add([end_line(0, "done")])
        assert next(one for one in texts_of(again) if one.channel == "content").text == new
        assert keep == 0 or player.starts[keep] > 0
    whole = bytes(player.data)
    assert tail_of(player, whole, 10**6)[0] == player.reads - 1
