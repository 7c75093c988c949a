"""What a request costs on its way up: one like OpenCode's, again and again, as a session sends it.

    python benchmarks/request.py [rounds]

11 tools with about 21 KB of schemas, a system message of 16 KB, a history of 12 turns with calls and results.
The goal is 2 ms for each request of a session; the tools are rendered once, and every later turn finds them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import median, quantiles
from time import process_time
from typing import Any

# A benchmark beside this one has the name of the package and would hide it.
sys.path[0] = str(Path(__file__).resolve().parent.parent)

from transformer import transform_request  # noqa: E402
from transformer.request import prompt  # noqa: E402

GOAL_MS = 2.0
SESSIONS = 5
TURNS = 12
SENTENCE = "Use this when the task asks for it, and read the result before you go on to the next step. "


def tool(number: int, name: str) -> dict[str, Any]:
    def text(length: int) -> str:
        return (SENTENCE * (length // len(SENTENCE) + 1))[:length]

    properties: dict[str, Any] = {
        "filePath": {"type": "string", "description": text(90)},
        "command": {"type": "string", "description": text(120)},
        "timeout": {"type": "integer", "minimum": 0, "maximum": 9007199254740991, "description": text(80)},
        "mode": {"type": "string", "enum": ["content", "files", "count"], "description": text(60)},
        "todos": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "content": {"type": "string", "description": text(50)},
                    "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
                },
                "required": ["content", "status"],
                "additionalProperties": False,
            },
        },
    }
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": properties,
        "required": ["filePath", "command"],
        "additionalProperties": False,
    }
    function = {"name": name, "description": text(600 + 60 * number), "parameters": schema}
    return {"type": "function", "function": function}


def request(turns: int, session: int = 0) -> dict[str, Any]:
    names = "bash edit glob grep list read task todoread todowrite webfetch write".split()
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": (SENTENCE * 200)[: 16 << 10]},
        {"role": "user", "content": [{"type": "text", "text": "Fix the failing test, please."}]},
    ]
    for turn in range(turns):
        code = f"def test_{session}_{turn}():\n    assert '<div>' in page(\"{turn}\")\n" * 20
        arguments = json.dumps({"filePath": f"/src/{turn}.py", "command": code, "timeout": turn})
        call = {"name": names[turn % 11], "arguments": arguments}
        messages += [
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"id": f"call_{turn}", "type": "function", "function": call}],
            },
            {"role": "tool", "tool_call_id": f"call_{turn}", "content": "1 passed\n" * 50},
        ]
    return {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "tool_choice": "auto",
        "max_tokens": 32000,
        "messages": messages,
        "tools": [tool(number, name) for number, name in enumerate(names)],
    }


def main(rounds: int) -> int:
    body = request(TURNS)
    sizes = len(json.dumps(body["tools"])), len(body["messages"][0]["content"]), len(json.dumps(body))
    print(f"{len(body['tools'])} tools, {sizes[0]} bytes; system {sizes[1]}; body {sizes[2]}; {TURNS} turns")
    # As a session goes: each request arrives as new objects and has one turn more than the one before.
    sessions = [[json.dumps(request(turn, n)) for turn in range(TURNS + 1)] for n in range(SESSIONS)]
    worst = 0.0
    for dialect in ("roo-xml", "qwen3-coder", "kimi-k2"):
        first = timed(json.loads(sessions[0][0]), dialect)
        rendered = prompt.renderings()
        # The calls of each session are new, so nothing of a turn is remembered from another session; the
        # least of a turn's times is what it costs, the rest is what else the machine did meanwhile.
        times = [[timed(json.loads(body), dialect) for body in session[1:]] for session in sessions]
        grown = [min(turn) for turn in zip(*times, strict=True)]
        again = [timed(json.loads(sessions[0][-1]), dialect) for _ in range(rounds)]
        assert prompt.renderings() == rendered, "unchanged tools were rendered again"
        slow = quantiles(again, n=100)[98]
        worst = max(worst, slow, *grown)
        print(
            f"{dialect:12} first {first:6.2f} ms   a new turn at most {max(grown):5.2f} ms   "
            f"repeated: median {median(again):5.3f} ms, p99 {slow:5.3f} ms"
        )
    print(
        f"goal {GOAL_MS} ms for every request but a session's first: {'met' if worst < GOAL_MS else 'MISSED'}"
    )
    return int(worst >= GOAL_MS)


def timed(body: dict[str, Any], dialect: str) -> float:
    """Milliseconds of processor time: what else the machine does meanwhile is not our business."""
    start = process_time()
    transform_request(body, dialect=dialect, policy={"tools": "inject"})
    return (process_time() - start) * 1000


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 500))
