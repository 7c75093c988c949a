"""`workbench transform`: one answer of a model as its client would get it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any

from transformer.answer.observations import Observation
from transformer.answer.review import observed
from transformer.records import Finding, Record, Span, Transition
from workbench.cli.choices import Out
from workbench.cli.printing import COLOURS, write
from workbench.tape.inputs import Chunking, Kind, Result, convert, load, read_json
from workbench.tape.recipe import Recipe, Wishes, make_recipe, read_switches, read_tools
from workbench.text import json_text, say


def transform(
    file: str | None,
    dialect: str | None,
    tools: str | None,
    switches: Sequence[str],
    kind: Kind | None,
    out: Out,
    chunk: str | None,
) -> int:
    """Convert and print; the exit code is 1 when the client cannot use the answer as it is."""
    chunking = Chunking.parse(chunk) if chunk is not None else None
    wishes = wishes_of(dialect, tools, switches)
    given = load(file, kind)
    recipe = make_recipe(given.tape.header if given.tape else {}, wishes)
    for note in given.notes:
        say(f"note {note}", "cyan")
    if chunking and given.body is not None:
        say("note --chunk changes nothing here: this answer did not stream", "cyan")
    result = convert(given, recipe, chunking, "all" if out == "trace" else "findings")
    write(_output(result, out))
    for finding in result.findings:
        say(finding_line(finding), COLOURS[finding.level])
    unusable = _unusable_calls(result, recipe)
    for observation in unusable:
        say(f"{observation.level} {observation.code}  {observation.message}", COLOURS[observation.level])
    return int(bool(unusable) or any(finding.level == "error" for finding in result.findings))


def _unusable_calls(result: Result, recipe: Recipe) -> list[Observation]:
    """Calls that upstream sent itself went on unchanged, so no finding reports them."""
    seen = observed(result.message, recipe.chat, recipe.dialect, recipe.policy)
    return [one for one in seen if one.call is not None and one.level == "error"]


def wishes_of(dialect: str | None, tools: str | None, switches: Sequence[str]) -> Wishes:
    """What `--dialect`, `--tools` and `--set` say."""
    wishes = read_tools(read_json(tools), tools) if tools is not None else Wishes()
    return replace(wishes, dialect=dialect, switches=read_switches(switches))


def finding_line(finding: Finding) -> str:
    """How bad, what, where, and the sentence: `error truncated-call  content 27..58  the answer ended …`."""
    return f"{finding.level} {finding.code}  {_place(finding.span)}  {finding.message}"


def _place(span: Span) -> str:
    if not span.channel:
        return f"event {span.event}" if span.event >= 0 else "stream"
    choice = f"choice {span.choice} " if span.choice else ""
    return f"{choice}{span.channel} {span.start}..{span.end}"


def _output(result: Result, out: Out) -> bytes:
    if out == "sse":
        return result.out
    if out == "message":
        return json_text(result.message, indent=2).encode("utf-8") + b"\n"
    return trace(result.records)


def trace(records: Iterable[Record]) -> bytes:
    """One JSON object a record a line, beginning with the kind of the record."""
    return b"".join(json_text(_plain(record)).encode("utf-8") + b"\n" for record in records)


def _plain(record: Record) -> dict[str, Any]:
    fields = asdict(record)
    if isinstance(fields.get("data"), bytes):
        fields["data"] = fields["data"].decode("utf-8", "replace")
    if isinstance(record, Transition):
        fields["effect"] = list(record.effect.words)
    return {"record": type(record).__name__, **fields}
