"""An answer that stops at gates, and a client that waits for it, so that it can be watched while it runs."""

from __future__ import annotations

import threading
from typing import Any

from tests.support.sdks import openai
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
    """The openai SDK: one streamed question; `got` is what it put together."""

    def __init__(self, url: str) -> None:
        super().__init__(name="client", daemon=True)
        self._url = url
        self.got: list[tuple[str, str]] = []
        self.start()

    def run(self) -> None:
        with openai.OpenAI(base_url=self._url, api_key="none", max_retries=0, timeout=60) as client:
            asked: Any = {"messages": [{"role": "user", "content": "What does main.py do?"}], "tools": TOOLS}
            with client.chat.completions.stream(model="qwen3-max", **asked) as stream:
                message = stream.get_final_completion().choices[0].message
        self.got = [(call.function.name, call.function.arguments) for call in message.tool_calls or ()]

    def result(self) -> list[tuple[str, str]]:
        self.join(20)
        return self.got
