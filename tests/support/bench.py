"""A real proxy between a scripted upstream and a real HTTP client, and ways to read what is on its tapes."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.support import http
from tests.support.proxies import Proxy, running_proxy
from tests.support.streams import tool
from tests.support.upstream.answers import Answer, Head
from tests.support.upstream.server import Script, ScriptedUpstream
from transformer.frontends.chat import HEARTBEAT
from workbench.tape.format import Tape
from workbench.tape.recipe import Wishes, make_recipe

TOOLS = [tool("read_file", {"path": {"type": "string"}})]
CALL = "Hello\n<read_file>\n<path>a.py</path>\n</read_file>"
# Timeouts that a test can afford; each is far from the next.
# PATIENT is for tests that wait for none of them: a slow machine does not make one pass.
# HASTY is for tests in which the client waits until one of them has passed.
PATIENT = "heartbeat = 60\nhead_wait = 60\nsilence = 60\ngrace = 0.6\nidle_timeout = 60\n"
HASTY = "heartbeat = 0.05\nhead_wait = 0.1\nsilence = 0.2\ngrace = 0.2\nidle_timeout = 60\n"
QUICK = "heartbeat = 0.25\nhead_wait = 0.5\nsilence = 1.0\ngrace = 0.6\nidle_timeout = 3\n"
HEAD = Head(200, [("content-type", "text/event-stream")])
COMMENT = HEARTBEAT
_numbers = itertools.count()


@dataclass
class Bench:
    """One upstream, one proxy, one client. Each request is a session of its own: so its tape is found."""

    upstream: ScriptedUpstream
    proxy: Proxy
    client: httpx.Client
    session: str = field(default="")

    def ask(self, *answers: Answer, stream: bool = True, tools: Any = TOOLS, **more: Any) -> httpx.Response:
        """A chat request, and its whole answer."""
        self.upstream.answer(*answers)
        return self.client.post("/v1/chat/completions", json=self.body(stream, tools), **self.options(more))

    @contextmanager
    def asking(self, *answers: Answer, tools: Any = TOOLS, **more: Any) -> Iterator[httpx.Response]:
        """A streamed request whose answer is still coming."""
        self.upstream.answer(*answers)
        with self.client.stream(
            "POST", "/v1/chat/completions", json=self.body(True, tools), **self.options(more)
        ) as response:
            yield response

    @contextmanager
    def scripted(self, script: Script) -> Iterator[None]:
        """Meanwhile a function of the request chooses the answer; afterwards they are queued as before."""
        self.upstream.answer_with(script)
        try:
            yield
        finally:
            self.upstream.answer_with(None)

    def body(self, stream: bool = True, tools: Any = TOOLS) -> dict[str, Any]:
        offered = {} if tools is None else {"tools": tools}
        return {"model": "m", "stream": stream, "messages": [{"role": "user", "content": "hi"}], **offered}

    def options(self, more: dict[str, Any]) -> dict[str, Any]:
        self.session = f"ses_{next(_numbers)}"
        headers = {"x-session-id": self.session, **more.pop("headers", {})}
        return {"headers": headers, **more}

    def tape(self, session: str | None = None, complete: bool = True) -> Tape:
        """The tape of the last request (or of that session), when it is complete."""
        wanted = session or self.session

        def found() -> Tape | None:
            tapes = [tape for tape in self.proxy.tapes() if tape.header.get("session") == wanted]
            return next((tape for tape in tapes if tape.complete or not complete), None)

        tape: Tape = wait_for(found, f"the tape of {wanted}")
        return tape


def wait_for(condition: Callable[[], Any], what: str, timeout: float = 30) -> Any:
    """The condition's value as soon as it is true. The longer it lasts, the less often it is checked."""
    begun = time.monotonic()
    while not (value := condition()):
        waited = time.monotonic() - begun
        assert waited < timeout, f"{what} did not happen within {timeout} s"
        time.sleep(min(0.005 + waited / 10, 0.05))
    return value


@contextmanager
def running_bench(
    folder: Path, dialect: str = "roo-xml", toml: str = QUICK, flags: tuple[str, ...] = (), **more: Any
) -> Iterator[Bench]:
    with (
        ScriptedUpstream() as upstream,
        running_proxy(folder, upstream, dialect, *flags, toml=toml, **more) as proxy,
        http.client(proxy.base) as client,
    ):
        yield Bench(upstream, proxy, client)


def replayed(tape: Tape) -> bytes:
    """What the transformer makes of a tape's reads, today."""
    t = make_recipe(tape.header, Wishes()).stream("findings")
    out = b"".join(t.feed(read) for read in tape.reads)
    assert tape.end is not None
    return out + (t.fail(tape.end.value["error"]) if tape.end.value["end"] == "error" else t.finish())


def by_transformer(tape: Tape) -> bytes:
    return b"".join(line.data for line in tape.of("sent") if "by" not in line.value)
