"""The client's end: beats that come when it is over."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from workbench.proxy.client import Client, Heartbeat
from workbench.recording.recording import Unrecorded

SHORT = 0.001


class Late:
    """A client and its heartbeat, and what was sent."""

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.client = Client(self.send, Unrecorded(), asyncio.get_running_loop().time)
        self.heartbeat = Heartbeat(self.client, self.begin, lambda: b": beat\n\n", SHORT)

    async def send(self, message: Any) -> None:
        self.sent.append(message["type"])

    def begin(self) -> asyncio.Future[None]:
        async def begun() -> None:
            await self.client.start(200, [])
            self.heartbeat.due_in(SHORT)

        return asyncio.ensure_future(begun())


@pytest.mark.parametrize("begun", [False, True])
def test_a_beat_that_is_due_when_the_client_leaves_is_the_last_one(begun: bool):
    """Otherwise it would go on for as long as the process lives."""

    async def leaves() -> list[Any]:
        late = Late()
        if begun:
            await late.client.start(200, [])
        late.heartbeat.beat()  # the beat is a task now, which has not run yet
        late.heartbeat.stop()
        before = list(late.sent)
        await asyncio.sleep(20 * SHORT)
        return late.sent[len(before) :]

    assert asyncio.run(leaves()) == []


def test_a_beat_that_is_under_way_at_the_end_gets_out_first():
    async def ends() -> list[Any]:
        late = Late()
        late.heartbeat.beat()
        await late.heartbeat.finish()
        await late.client.end()
        await asyncio.sleep(20 * SHORT)
        return late.sent

    assert asyncio.run(ends()) == ["http.response.start", "http.response.body"]
