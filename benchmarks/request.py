"""What a request costs on its way up: one like OpenCode's, again and again, as a session sends it.

    python -m benchmarks request [--rounds 5]

11 tools with about 21 KB of schemas, a system message of 16 KB, a history of 12 turns with calls and results.
The goal is 2 ms for each request of a session but its first: the tools are rendered once, and every later
turn finds them. A round is a session with calls of its own, so nothing is remembered from another one.
"""

from __future__ import annotations

import argparse
import json
from statistics import median, quantiles
from time import process_time
from typing import Any

from benchmarks.report import Bars, Program, Report, Table, number, progress
from transformer import transform_request
from transformer.request import prompt

GOAL_MS = 2.0
TURNS = 12
REPEATS = 500
DIALECTS = ("roo-xml", "qwen3-coder", "kimi-k2")
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


def timed(body: dict[str, Any], dialect: str) -> float:
    """Milliseconds of processor time: the machine's other work does not count."""
    start = process_time()
    transform_request(body, dialect=dialect, policy={"tools": "inject"})
    return (process_time() - start) * 1000


def measured(options: argparse.Namespace) -> Report:
    body = request(TURNS)
    sizes = len(json.dumps(body["tools"])), len(body["messages"][0]["content"]), len(json.dumps(body))
    report = Report("What a request costs on its way up")
    report.notes.append(
        f"{len(body['tools'])} tools of {sizes[0]:,} bytes, a system message of {sizes[1]:,}, {TURNS} turns, "
        f"{sizes[2]:,} bytes in all"
    )
    # As a session goes: each request arrives as new objects and has one turn more than the one before.
    sessions = [[json.dumps(request(turn, at)) for turn in range(TURNS + 1)] for at in range(options.rounds)]
    rows = []
    for dialect in DIALECTS:
        progress(dialect)
        first = timed(json.loads(sessions[0][0]), dialect)
        rendered = prompt.renderings()
        # The minimum of a turn's times is its cost, the rest is the machine's other work.
        times = [[timed(json.loads(one), dialect) for one in session[1:]] for session in sessions]
        grown = [min(turn) for turn in zip(*times, strict=True)]
        repeats = REPEATS // 10 if options.quick else REPEATS
        again = [timed(json.loads(sessions[0][-1]), dialect) for _ in range(repeats)]
        assert prompt.renderings() == rendered, "unchanged tools were rendered again"
        slow = quantiles(again, n=100)[98]
        report.add(f"{dialect}: a new turn, at most", max(grown), "ms", goal=GOAL_MS)
        report.add(f"{dialect}: the same again, p99", slow, "ms", goal=GOAL_MS)
        rows.append((dialect, *map(number, (first, max(grown), median(again), slow))))
        values = {"new turn, at most": max(grown), "again, median": median(again), "again, p99": slow}
        report.charts.append(Bars(dialect, "ms CPU", values, GOAL_MS))
    head = ("ms CPU", "the first", "a new turn, at most", "again, median", "again, p99")
    report.tables.append(Table("A request of a session", head, rows))
    return report


PROGRAM = Program("request", __doc__, measured, 5)
