"""The scripted upstream: a real listener on loopback that plays all the models of the demo."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from http import HTTPStatus
from typing import Self

import orjson

from workbench.demo.answer import Answer, Piece, said
from workbench.demo.scene import MODELS, Scene, answer_to

_SECONDS = 30.0  # for a request to arrive
_LOST = said("I am only the demo: I know my part in its conversations, and this is none of them.")


class Upstream:
    """Answers each request on a connection of its own; `pace` 0.5 is twice as fast."""

    def __init__(self, scenes: Sequence[Scene], pace: float = 1.0) -> None:
        self._scenes = scenes
        self._pace = pace
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._handle, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            with contextlib.suppress(OSError, EOFError, ValueError, TimeoutError, asyncio.CancelledError):
                async with asyncio.timeout(_SECONDS):
                    path, body = await _request(reader)
                await _play(self._answer(path, body), writer, self._pace)
        finally:
            self._open.discard(task)
            writer.close()

    def _answer(self, path: str, body: bytes) -> Answer:
        if not path.endswith("/chat/completions"):
            models = [{"id": name, "object": "model"} for name in MODELS]
            data = orjson.dumps({"object": "list", "data": models})
            return Answer((Piece(0.0, data),), kind="application/json")
        value = orjson.loads(body)
        return (answer_to(self._scenes, value) if isinstance(value, dict) else None) or _LOST


async def _request(reader: asyncio.StreamReader) -> tuple[str, bytes]:
    """The path and the body. Only our own proxy calls, and it always says how long the body is."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return first.split(" ")[1], body


async def _play(answer: Answer, writer: asyncio.StreamWriter, pace: float) -> None:
    head = (
        f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}\r\ncontent-type: {answer.kind}\r\n"
        "transfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    )
    writer.write(head.encode())
    for piece in answer.pieces:
        await asyncio.sleep(piece.wait * pace)
        writer.write(b"%x\r\n%b\r\n" % (len(piece.data), piece.data))
        await writer.drain()
    if answer.broken:
        return  # without the last chunk: the connection is lost
    writer.write(b"0\r\n\r\n")
    await writer.drain()
