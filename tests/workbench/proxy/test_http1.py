"""The HTTP client over real sockets: every framing at every cut, connections that are used again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from workbench.proxy.http1 import (
    Answer,
    BadFraming,
    BadHead,
    BadUrl,
    Connections,
    HungUp,
    Incomplete,
    NotConnected,
    address_of,
)

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-A: b \r\n\r\n"
FRAMINGS = {
    "chunks": CHUNKED + b"3\r\nabc\r\n2 \r\nde\r\n0\r\n\r\n",
    "chunks and trailers": CHUNKED + b"5;x=1\r\nabcde\r\n0\r\nX-T: 1\r\n\r\n",
    "a length": b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nx-a: b\r\n\r\nabcde",
    "line feeds alone": b"HTTP/1.1 200 OK\ncontent-length: 5\nx-a: b\n\nabcde",
    "an interim answer": b"HTTP/1.1 103 Early\r\nx-b: c\r\n\r\nHTTP/1.1 200 OK\r\nx-a: b\r\n"
    b"content-length: 5\r\n\r\nabcde",
    "until the end": b"HTTP/1.1 200 OK\r\nx-a: b\r\n\r\nabcde",
    "the first version": b"HTTP/1.0 200 OK\r\nx-a: b\r\n\r\nabcde",
}


@asynccontextmanager
async def serving(serve: Serve) -> AsyncIterator[str]:
    async def quiet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(quiet, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1/x?y=z"
    finally:
        server.close()


async def body_of(answer: Answer) -> bytes:
    parts = []
    while part := await answer.read():
        parts.append(part)
    return b"".join(parts)


def ask(connections: Connections, url: str, method: str = "GET", body: bytes = b"") -> Awaitable[Answer]:
    return connections.ask(method, url, [("x-one", "1")], body)


@pytest.mark.parametrize("framing", FRAMINGS)
async def test_every_framing_at_every_cut(framing: str):
    data = FRAMINGS[framing]
    cuts = range(0, len(data), 1 if len(data) < 80 else 3)
    left = iter(cuts)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        cut = next(left)
        for part in (data[:cut], data[cut:]):
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(0)

    async with serving(serve) as url:
        for _ in cuts:
            connections = Connections(5)
            answer = await ask(connections, url)
            assert (answer.status, {k.lower(): v for k, v in answer.headers}[b"x-a"]) == (200, b"b")
            assert await body_of(answer) == b"abcde"
            connections.close()


async def test_a_connection_is_used_again_and_what_went_up_is_whole():
    seen: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(2):
            seen.append(await reader.readuntil(b"\r\n\r\n") + await reader.readexactly(300_000))
            writer.write(FRAMINGS["a length"])

    connections = Connections(5)
    async with serving(serve) as url:
        for reused in (False, True):
            answer = await ask(connections, url, "POST", b"x" * 300_000)
            assert answer.reused is reused
            assert await body_of(answer) == b"abcde"
        # It hangs up after two; whoever asks just then is told that nothing was said.
        with pytest.raises(HungUp) as hung_up:
            await ask(connections, url, "POST", b"x")
        assert hung_up.value.reused and not hung_up.value.began
    host = url.removeprefix("http://").partition("/")[0].encode()
    head = b"POST /v1/x?y=z HTTP/1.1\r\nhost: " + host + b"\r\nx-one: 1\r\ncontent-length: 300000\r\n\r\n"
    assert [one.startswith(head) for one in seen] == [True, True]
    connections.close()


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (b"", HungUp),
        (b"HTTP/1.1 200 O", HungUp),
        (b"garbage\r\n\r\n", BadHead),
        (b"HTTP/1.1 200 OK\r\nx: a\x01b\r\n\r\n", BadHead),
        (b"HTTP/1.1 200 OK\r\nx: " + b"a" * 80_000, BadHead),
        (CHUNKED + b"3\r\nab", Incomplete),
        (CHUNKED + b"3\r\nabcXX", BadFraming),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc", Incomplete),
    ],
)
async def test_what_breaks_says_how_and_what_came_before_is_read(said: bytes, error: type[Exception]):
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(said)
        await writer.drain()

    read = b""
    async with serving(serve) as url:
        with pytest.raises(error):
            answer = await ask(Connections(5), url)
            while part := await answer.read():
                read += part
    assert read == (b"abc" if b"\r\nabc" in said else b"ab" if said.endswith(b"ab") else b"")


async def test_pieces_are_handed_over_until_somebody_has_enough():
    go_on = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(CHUNKED)
        for letter in b"abcd":
            writer.write(b"1\r\n%c\r\n" % letter)
            go_on.clear()
            await go_on.wait()
        writer.write(b"0\r\n\r\n")

    taken: list[bytes] = []

    def take(data: bytes) -> bool:
        taken.append(data)
        go_on.set()
        return data != b"c"

    async with serving(serve) as url:
        answer = await ask(Connections(5), url)
        assert await answer.read() == b"a"
        go_on.set()
        await answer.pump(take)
        assert taken == [b"b", b"c"]
        assert await answer.read() == b"d"
        go_on.set()
        await answer.pump(take)
        assert await answer.read() == b"" and answer.over


async def test_a_slow_reader_holds_the_server_back():
    size, written = 40 << 20, 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal written
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % size)
        while written < size:
            writer.write(bytes(1 << 16))
            written += 1 << 16
            await writer.drain()

    async with serving(serve) as url:
        answer = await ask(Connections(5), url)
        before = -1
        while written != before:  # until it stands still
            before = written
            await asyncio.sleep(0.02)
        assert written < size
        assert len(await body_of(answer)) == size


async def test_bytes_that_nobody_asked_for_close_the_connection():
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(FRAMINGS["a length"] + b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil")
        await reader.read()

    async with serving(serve) as url:
        connections = Connections(5)
        assert await body_of(await ask(connections, url)) == b"abcde"
        again = await ask(connections, url)
        assert not again.reused and await body_of(again) == b"abcde"


async def test_nobody_there_and_addresses_that_are_none():
    async with serving(lambda reader, writer: asyncio.sleep(0)) as url:
        pass
    with pytest.raises(NotConnected):
        await ask(Connections(5), url)
    for bad in ("http://", "ftp://h/x", "http://h:99999/", "h/x"):
        with pytest.raises(BadUrl):
            address_of(bad)
    assert address_of("https://[::1]/a b?ä").target == "/a%20b?%C3%A4"
    assert address_of("https://[::1]:444").named == "[::1]:444"
    assert address_of("http://u:p%40@h").authorization == "Basic dTpwQA=="
    with pytest.raises(ValueError, match="line break"):
        await Connections(5).ask("GET", "http://127.0.0.1:9/", [("x", "a\r\nb: c")], b"")
