"""An answer that stops at gates, and a client that waits for it, so that it can be watched while it runs."""

from __future__ import annotations

import threading
from typing import Any

from tests.support import http
from tests.support.client import result
from tests.support.streams import META, chunk, sse, tool
from tests.support.upstream.answers import Answer, Finish, Gate, Head, Send

TOOLS = [tool("read_file", {"path": {"type": "string"}})]
GATES = ("call", "end")


def said(text: str, **more: Any) -> Send:
    return Send(sse(META | chunk(text, **more), done=False))


def gated() -> Answer:
    """A call that stops before it begins and again before it ends, until the gate opens."""
    return Answer(
        [
            Head(200, [("content-type", "text/event-stream")]),
            said("I look at it.\n\n"),
            Gate("call"),
            said("<read_file>\n<path>src/"),
            Gate("end"),
            said("main.py</path>\n</read_file>"),
            Send(sse(META | chunk(finish_reason="stop"))),
            Finish(),
        ]
    )


class Client(threading.Thread):
    """One streamed question; `got` is what a strict client puts together. e2e/test_openai_sdk.py has the
    real one, which takes longer to import than a screen to start."""

    def __init__(self, url: str) -> None:
        super().__init__(name="client", daemon=True)
        self._url = url
        self.got: list[tuple[str, str]] = []
        self.start()

    def run(self) -> None:
        messages = [{"role": "user", "content": "What does main.py do?"}]
        asked = {"model": "qwen3-max", "stream": True, "messages": messages, "tools": TOOLS}
        self.got = result(http.post(f"{self._url}/chat/completions", json=asked, timeout=60).content).calls

    def result(self) -> list[tuple[str, str]]:
        self.join(20)
        return self.got
