"""Mixed traffic through a proxy: good and failing exchanges, each of which knows its right outcome."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import aiohttp

from tests.e2e.dialogues import Call, written
from tests.support.client import Result, message_result, result
from tests.support.streams import META, message, stream_of, tool
from tests.support.upstream.answers import Answer, Close, Finish, Head, Reset, Send, failure, stream, whole
from tests.support.upstream.connection import Seen
from workbench.tape.inputs import Chunking

STRING = {"type": "string"}
TOOLS = [tool("write", {"filePath": STRING, "content": STRING})]
DIALECTS = ("roo-xml", "qwen3-coder", "kimi-k2")
LINE = "if (a < b && c > \"d\") { return '<p>&amp;</p>'; } // naïve 日本\n"
PATIENCE = 60  # seconds; no exchange may take longer
REFUSED = {
    "error": {"message": "no such model", "type": "invalid_request_error", "param": None, "code": None}
}


@dataclass(frozen=True, slots=True)
class Got:
    """What a client has in hand at the end."""

    status: int
    body: bytes


Check: TypeAlias = Callable[[Got, str], bool]


@dataclass(frozen=True, slots=True)
class Kind:
    """One sort of exchange: what upstream does, what the client asks and does, and the required outcome."""

    answer: Callable[[str], Answer]  # of the dialect
    right: Check
    weight: int = 4
    stream: bool = True
    tools: bool = True
    leaves: float | None = None  # the client goes away this many seconds after the first bytes
    pause: float = 0.0  # between two reads of a slow client


def call(size: int = 2000) -> Call:
    return Call("write", {"filePath": "/src/a b.js", "content": LINE * (size // len(LINE))})


def said(dialect: str, size: int = 2000) -> str:
    return "I write it.\n\n" + written(dialect, [call(size)])


def cut(data: bytes) -> list[bytes]:
    return list(Chunking.parse(f"random:{random.random()}").cut(data))


def broken(dialect: str, end: Close | Reset, part: float = 0.5) -> Answer:
    text = said(dialect)
    return stream(stream_of(text[: int(len(text) * part)], meta=META, finish=None, done=False), end=end)


def called(size: int = 2000) -> Check:
    def right(got: Got, dialect: str) -> bool:
        found = result(got.body) if got.body.startswith(b"data:") else message_result(json.loads(got.body))
        (one,) = found.calls
        wanted = call(size)
        return found.error is None and (one[0], json.loads(one[1])) == (wanted.name, dict(wanted.arguments))

    return right


def told(holds: Callable[[Result], bool]) -> Check:
    return lambda got, dialect: got.status == 200 and holds(result(got.body))


def refused(status: int) -> Check:
    """An error that a client can read, with this status."""
    return lambda got, dialect: got.status == status and bool(json.loads(got.body)["error"]["message"])


def faulted(got: Got, dialect: str) -> bool:
    """An error, in the status or in the stream."""
    return refused(502)(got, dialect) if got.status != 200 else result(got.body).error is not None


def anything(got: Got, dialect: str) -> bool:
    return True


PROSE = "Prose about <b>1 < 2</b> & more. " * 60
KINDS: dict[str, Kind] = {
    "good": Kind(lambda d: stream(cut(stream_of(said(d), meta=META))), called(), 20),
    "whole": Kind(lambda d: whole(message(said(d))), called(), stream=False),
    "prose": Kind(lambda d: stream(cut(stream_of(PROSE, meta=META))), told(lambda r: r.content == PROSE), 10),
    "untouched": Kind(
        lambda d: stream(stream_of(said(d), meta=META)),
        lambda got, d: got.body == stream_of(said(d), meta=META),
        tools=False,
    ),
    "big": Kind(lambda d: stream(stream_of(said(d, 200_000), 64, meta=META)), called(200_000), 1),
    "slow client": Kind(
        lambda d: stream(stream_of(said(d, 50_000), 16, meta=META)), called(50_000), 1, pause=0.02
    ),
    "malformed": Kind(
        lambda d: stream(stream_of(said(d)[:-30], meta=META)),
        told(lambda r: r.error is None and r.finish_reason is not None),
    ),
    "cut": Kind(lambda d: broken(d, Close()), faulted),
    "reset": Kind(lambda d: broken(d, Reset()), faulted),
    "cut after the call": Kind(lambda d: broken(d, Close(), 1.0), called()),
    "stalled": Kind(lambda d: Answer(broken(d, Close()).steps[:-1]), anything, leaves=1.0),
    "client gone": Kind(lambda d: stream(cut(stream_of(said(d, 20_000))), pause=0.001), anything, leaves=0.0),
    "client gone early": Kind(lambda d: Answer([]), anything, leaves=0.5),
    "refused": Kind(lambda d: failure(404, REFUSED), refused(404)),
    "page": Kind(lambda d: failure(503, "<html>busy</html>", "text/html"), refused(503)),
    "empty": Kind(lambda d: stream(b""), refused(502)),
    "no head": Kind(lambda d: Answer([Close()]), refused(502)),
    "no stream": Kind(lambda d: failure(200, REFUSED), refused(502)),
    "garbage": Kind(lambda d: Answer([Head(), Send(b"data: {nonsense\n\n" * 3), Finish()]), faulted),
}


def script(seen: Seen) -> Answer:
    """The upstream's side: the request says of which kind it is."""
    body = seen.json
    return KINDS[body["user"]].answer(body["model"])


async def exchange(session: aiohttp.ClientSession, url: str, name: str, dialect: str) -> str | None:
    """One of them from the client's side; what was wrong with it, if anything."""
    kind = KINDS[name]
    body: dict[str, Any] = {"model": dialect, "user": name, "stream": kind.stream}
    body |= {"tools": TOOLS} if kind.tools else {}
    body["messages"] = [{"role": "user", "content": "Go on."}]
    try:
        async with asyncio.timeout(PATIENCE):
            got = await _ask(session, url, body, kind)
        if got is None or kind.right(got, dialect):
            return None
        return f"{name}, {dialect}: status {got.status}, {got.body[-300:]!r}"
    except (AssertionError, ValueError, KeyError, TimeoutError, aiohttp.ClientError) as error:
        return f"{name}, {dialect}: {type(error).__name__} {error}"


async def _ask(session: aiohttp.ClientSession, url: str, body: dict[str, Any], kind: Kind) -> Got | None:
    """None when the client did not wait for the end."""
    try:
        async with asyncio.timeout(kind.leaves or None):
            async with session.post(f"{url}/chat/completions", json=body) as response:
                data = b""
                async for read in response.content.iter_any():
                    data += read
                    if kind.leaves == 0.0:
                        response.close()
                        return None
                    if kind.pause:
                        await asyncio.sleep(kind.pause)
                return Got(response.status, data)
    except TimeoutError:
        if kind.leaves:
            return None
        raise
