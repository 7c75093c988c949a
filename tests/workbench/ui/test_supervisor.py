"""The application with a proxy: what it says before there is one, and what can be done then."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.support.gated import GATES, Client, gated
from tests.support.proxies import running_proxy
from tests.support.screens import WAITING, until, until_seen
from tests.support.upstream.server import ScriptedUpstream, free_port
from workbench.config.settings import Flags
from workbench.proxy.registration import registered
from workbench.ui.app import LiveApp

URL = re.compile(r"http://127\.0\.0\.1:\d+/v1")


@pytest.mark.usefixtures("folder")
async def test_without_configuration_it_says_what_to_do():
    app = LiveApp(Flags())
    async with app.run_test(size=(80, 24)) as pilot:
        text = await until_seen(pilot, "No model to talk to")
        assert all(said in text for said in ("workbench init", "workbench demo", "r  Try again"))
        await pilot.press("r")
        await until_seen(pilot, "No model to talk to")
        await pilot.press("o")
        await until_seen(pilot, WAITING)


async def test_flags_that_cannot_take_effect_are_said(folder: Path):
    with ScriptedUpstream() as upstream, running_proxy(folder, upstream, "roo-xml") as proxy:
        flags = {"dialect": "hermes", "port": 1, "listen": "127.0.0.2"}
        app = LiveApp(Flags(upstream=upstream.url, library=str(proxy.library), **flags))  # type: ignore[arg-type]
        async with app.run_test(size=(120, 30)) as pilot:
            text = await until_seen(pilot, "A proxy runs already")
            assert f"It serves {proxy.url}" in text and "it converts roo-xml" in text
            assert "--port 1: it listens on port" in text
            assert "--listen 127.0.0.2: it listens on 127.0.0.1" in text
            await pilot.press("a")
            await until_seen(pilot, WAITING, proxy.url)
            await pilot.press("q")
            await until(pilot, lambda: not app.is_running, "the end")
        assert app.farewell == ""
        assert proxy.process.poll() is None, "it was not ours to end"


async def test_an_upstream_that_is_started_later_and_a_running_answer(folder: Path):
    port = free_port()
    server = f"http://127.0.0.1:{port}/v1"
    app = LiveApp(Flags(upstream=server, dialect="roo-xml", port=0, library=str(folder / "library")))
    try:
        async with app.run_test(size=(120, 30)) as pilot:
            # It is a line, over nothing; it is looked at again, and the line goes away by itself.
            await until_seen(pilot, f"✖ the model server at {server} does not answer", "Exchanges")
            with ScriptedUpstream(port=port) as upstream:
                upstream.answer_with(lambda seen: gated())
                text = await until_seen(pilot, WAITING, without="does not answer")
                found = URL.search(text)
                assert found is not None
                await is_not_cut_without_asking_and_the_proxy_can_stay(pilot, Client(found[0]), upstream)
    finally:
        left = registered(folder / "library")
        for proxy in left:
            os.kill(proxy.pid, signal.SIGTERM)
    assert [f"(process {proxy.pid})" in app.farewell for proxy in left] == [True]
    assert found[0] in app.farewell
    await until(pilot, lambda: not registered(folder / "library"), "the end of the proxy that was left")


async def is_not_cut_without_asking_and_the_proxy_can_stay(
    pilot: Pilot[Any], client: Client, upstream: ScriptedUpstream
) -> None:
    running = "content I look at it."
    await until_seen(pilot, running)
    await pilot.press("q")
    await until_seen(pilot, "An answer is still running", "l  Leave the proxy running", "x  End the proxy")
    await pilot.press("q", "escape")  # a key that is pressed twice cuts nothing
    await until_seen(pilot, running, without="Leave the proxy")
    await pilot.press("q")
    await until_seen(pilot, "l  Leave the proxy running")
    await pilot.press("l")
    await until(pilot, lambda: not pilot.app.is_running, "the end of the screen")
    for gate in GATES:
        upstream.open(gate)
    got = await asyncio.to_thread(client.result)
    assert got == [("read_file", '{"path":"src/main.py"}')], "the proxy goes on"
