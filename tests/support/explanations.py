"""Answers to explain: what a model wrote, as a tape that is played; and the same with a remedy applied."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from tests.support.streams import stream_of, tool
from transformer import Delta, Finding
from transformer.answer.observations import Call, choices_of
from transformer.parser.mending import is_object
from workbench.analysis.explain.rereading import start_of
from workbench.analysis.explain.rows import explain_row
from workbench.analysis.explain.trace import Explanation, Remedy
from workbench.analysis.variants.changes import Retext
from workbench.analysis.variants.script import apply, script_of
from workbench.replay.lines import MemoryTape
from workbench.replay.player import Pane, Player
from workbench.tape.format import Line, end_line, make_header, read_line, read_tape

TEXT = {"type": "string"}
READ = tool("read", {"filePath": TEXT}, ["filePath"])
WRITE = tool("write", {"path": TEXT, "content": TEXT}, ["path", "content"])
BASH = tool("bash", {"command": TEXT, "timeout": {"type": "integer"}}, ["command"])
TOOLS = [READ, WRITE, BASH]
_VALUE = re.compile(r"this is a call to \S+ with (?P<key>\w+) = (?P<value>.+)")


def sample(path: Path, chunk: int | None = None) -> Player:
    """A sample, or the same bytes in reads of another size."""
    tape = read_tape(path)
    lines = tape.lines
    if chunk is not None:
        data = b"".join(tape.reads)
        reads = [read_line(0.0, data[at : at + chunk]) for at in range(0, len(data), chunk)]
        rest = [line for line in lines if line.kind not in ("read", "sent")]
        # A status comes before the reads, the end after them.
        lines = (
            *(line for line in rest if line.kind != "end"),
            *reads,
            *(x for x in rest if x.kind == "end"),
        )
    return MemoryTape(path.stem, tape.header, lines).play()


def played(
    text: str,
    dialect: str,
    tools: list[dict[str, Any]] | None = None,
    *,
    policy: dict[str, Any] | None = None,
    finish: str = "stop",
    size: int = 4,
    channel: str = "content",
    **request: Any,
) -> Player:
    """What a model wrote, as upstream streams it."""
    body = {"model": "m", "messages": [], "tools": TOOLS if tools is None else tools, **request}
    header = make_header("", dialect, policy=policy, request=body, ids="seed", now=0)
    reads = [event + b"\n\n" for event in stream_of(text, size, channel, finish=finish).split(b"\n\n")[:-1]]
    lines: list[Line] = [read_line(at / 10, read) for at, read in enumerate(reads)]
    return MemoryTape("text", header, [*lines, end_line(len(reads) / 10, "done")]).play()


def whys(player: Player) -> Iterator[tuple[object, Explanation]]:
    """Every row with its explanation."""
    for pane in Pane:
        for row in range(len(player.rows(pane))):
            yield player.item(pane, row), explain_row(player, pane, row)


def why_of(player: Player, code: str) -> Explanation:
    """The explanation of the first finding of a code; no other row is explained."""
    places = ((pane, row) for pane in Pane for row in range(len(player.rows(pane))))
    found = ((pane, row) for pane, row in places if _is_finding(player.item(pane, row), code))
    return explain_row(player, *next(found))


def _is_finding(item: object, code: str) -> bool:
    return isinstance(item, Finding) and item.code == code


def retried(player: Player, remedy: Remedy) -> Player:
    """The exchange as it would have been."""
    script = script_of(player)
    changed = apply(script, player, remedy.changes)
    return MemoryTape("variant", changed.header, changed.lines).play()


def calls_of(player: Player) -> list[Call]:
    return [call for choice in choices_of(player.completion) for call in choice.calls]


def keeps(remedy: Remedy, after: Player) -> bool:
    """The call that the words promise is there, with the value that they promise."""
    if remedy.tool is None:
        return "after_call = keep" in remedy.words and not codes(after, "text-after-call")
    assert f" this is a call to {remedy.tool}" in remedy.words
    calls = [call for call in calls_of(after) if call.name == remedy.tool]
    whole = [orjson.loads(call.arguments) for call in calls if is_object(call.arguments)]
    promised = _VALUE.search(remedy.words)
    if promised is None:
        return bool(whole)
    return any(given.get(promised["key"]) == orjson.loads(promised["value"]) for given in whole)


def begins_there(player: Player, finding: Finding, remedy: Remedy, after: Player) -> bool:
    """The promised call begins where the one that was lost did."""
    start = start_of(player, finding)
    if remedy.tool is None or start is None:
        return remedy.tool is None
    edits = [change for change in remedy.changes if isinstance(change, Retext) and change.start <= start]
    shift = sum(len(edit.text) - (edit.end - edit.start) for edit in edits)
    return any(
        isinstance(record, Delta)
        and (record.kind, record.name) == ("call", remedy.tool)
        and record.span is not None
        and record.span.start in (start, start + shift)
        for record in after.records
    )


def codes(player: Player, code: str) -> int:
    """How often something was found."""
    return sum(finding.code == code for finding in player.findings)
