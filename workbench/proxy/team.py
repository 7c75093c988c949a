"""A team: the workers of one proxy (`serve --workers`). A client may reach any of them, so each asks the
others what only they know, and tells them what all have to know.

Each worker has a private address on loopback, at which it answers the control endpoints for itself alone.
A request to the common address reaches one worker, which asks the others:

- changes of the proxy (an upstream's dialect, breakpoints) are made by each of them;
- lists (what runs, what is held) are put together;
- a request about a held answer is handled by the worker that holds it.

Nothing is stored: a worker that takes another's place asks one of the others for the current state.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from transformer.jsontext import dumps
from workbench.proxy.guard import CONTROL
from workbench.proxy.http1 import Connections, HttpError
from workbench.text import json_object

ALONE = "x-workbench-alone"  # the header of requests between workers
_SECONDS = 2.0  # for an answer of a worker that may just be being replaced

Body = dict[str, Any]


@dataclass(slots=True)
class Team:
    """The others, as one worker sees them."""

    pid: int  # of the process that started all of them; it identifies the proxy
    url: str
    token: str
    others: Sequence[str]  # their private addresses
    takes_over: bool = False  # another worker's place
    alive: int = -1  # a pipe that ends when that process does
    _connections: Connections = field(default_factory=lambda: Connections(_SECONDS), init=False)

    async def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> list[Body]:
        """What the others say. One that does not answer, or refuses, is left out."""
        data = b"" if body is None else dumps(body)
        answers = await asyncio.gather(*(self._ask(one, method, path, data) for one in self.others))
        return [answer for answer in answers if answer is not None]

    async def _ask(self, address: str, method: str, path: str, data: bytes) -> Body | None:
        headers = [("x-workbench-token", self.token), (ALONE, "1"), ("content-type", "application/json")]
        try:
            async with asyncio.timeout(_SECONDS):
                answer = await self._connections.ask(method, f"{address}{CONTROL}{path}", headers, data)
                said = b""
                while part := await answer.read():
                    said += part
        except (HttpError, OSError, TimeoutError):
            return None
        return json_object(said) if answer.status == 200 else None

    def close(self) -> None:
        self._connections.close()
