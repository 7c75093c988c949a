"""The command, run as a user runs it: real files, exit codes, both output streams."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from transformer.sse import DONE, encode
from workbench.tape.format import Tape, dump_tape, end_line, make_header, read_line

READ_FILE = {
    "type": "function",
    "function": {
        "name": "read_file",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    },
}
REQUEST = {"model": "m", "stream": True, "messages": [], "tools": [READ_FILE]}
GOOD = "Let me see.\n\n<read_file>\n<path>naïve 🙂.py</path>\n</read_file>"
BAD = "Let me see.\n\n<read_file>\n<path>a.py\n</read_file>"


@dataclass
class Run:
    """What one run of the command left behind."""

    code: object
    out: bytes
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def answer(self) -> tuple[str | None, list[tuple[str, Any]], str]:
        """Content, calls and finish_reason of `--out message`."""
        (choice,) = self.json["choices"]
        message = choice["message"]
        calls = [call["function"] for call in message.get("tool_calls", [])]
        return (
            message["content"],
            [(call["name"], json.loads(call["arguments"])) for call in calls],
            choice["finish_reason"],
        )


CALLED = ("Let me see.", [("read_file", {"path": "naïve 🙂.py"})], "tool_calls")
RunCommand = Callable[..., Run]


def stream(text: str) -> bytes:
    pieces = [text[at : at + 5] for at in range(0, len(text), 5)]
    deltas: list[dict[str, Any]] = [
        {"index": 0, "delta": {"content": piece}, "finish_reason": None} for piece in pieces
    ]
    deltas.append({"index": 0, "delta": {}, "finish_reason": "stop"})
    head: dict[str, Any] = {"id": "c1", "object": "chat.completion.chunk", "created": 5, "model": "m"}
    return b": hello\n\n" + b"".join(encode({**head, "choices": [delta]}) for delta in deltas) + DONE


def completion(text: str) -> bytes:
    message = {"role": "assistant", "content": text}
    choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": "stop"}
    body = {"id": "c1", "object": "chat.completion", "created": 5, "model": "m", "choices": [choice]}
    return json.dumps(body, indent=1).encode()


def tape(text: str, *, data: bytes | None = None, **header: Any) -> bytes:
    data = stream(text) if data is None else data
    lines = [read_line(at / 100, data[at : at + 7]) for at in range(0, len(data), 7)]
    given = {"dialect": "roo-xml", "ids": "seed", "now": 7, "request": REQUEST, **header}
    return dump_tape(Tape(make_header("a test", **given), (*lines, end_line(9, "done"))))
