"""What is known about one tape without opening it, a row of the index: its columns, and how they are read
from the tape.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias

from transformer.answer.observations import OBSERVED, calls_in, choices_of, text_in
from transformer.answer.review import observed
from transformer.findings import CATALOGUE
from workbench.errors import UserError
from workbench.library.retention import RECENT
from workbench.library.tapefiles import TapeEntry, id_of, is_alive
from workbench.tape.format import Tape
from workbench.tape.inputs import Input, convert, load
from workbench.tape.recipe import Wishes, chat_request, make_recipe

LEVELS = ("info", "warning", "error")
_KNOWN = {**CATALOGUE, **OBSERVED}
_TEXTS = (
    "session",
    "parent_session",
    "model",
    "upstream",
    "dialect",
    "kind",
    "resend_of",
    "try_id",
    "prompt",
    "variant",
)
# An end line may come from anywhere: it does not decide where its tape is.
_SUMMARY = ("calls", "findings", "error", "lost", "status", "model", "upstream", "session", "total_tokens",
            "prompt_tokens", "completion_tokens")  # fmt: skip
_LONGEST_TEXT = 1000
_LONGEST_WORDS = 400  # characters of what was asked: more than a line of a list shows
_MOST_TOOLS, _LONGEST_NAME = 50, 200
_LATEST = 1 << 37  # the year 6325; beyond it there are no dates
_TOKENS = {
    "prompt_tokens": ("prompt_tokens", "input_tokens"),
    "completion_tokens": ("completion_tokens", "output_tokens"),
    "total_tokens": ("total_tokens",),
}


@dataclass(frozen=True, slots=True)
class Row:
    """One tape. `path` is relative to the library; times are seconds, `started` since 1970.

    `state` is how it ended (`done`, `eof`, `error`, `cancelled`), or `running`, or `cut` when its end line
    is missing and it is not being written any more, or `damaged` when it cannot be read.
    """

    path: str
    id: str
    started: float = 0.0
    session: str | None = None
    parent_session: str | None = None
    model: str | None = None
    upstream: str | None = None
    dialect: str | None = None
    kind: str | None = None  # the client's API ("chat", "responses", "messages"), or "relay"
    stream: bool | None = None
    status: int | None = None
    state: str = "running"
    ttfb: float | None = None
    duration: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    chunks: int = 0
    bytes: int = 0
    calls: int = 0
    findings: Mapping[str, int] = field(default_factory=dict)
    level: str | None = None
    lost: int = 0
    size: int = 0
    marked: bool = False
    resend_of: str | None = None
    error: str | None = None
    problem: str | None = None
    pid: int | None = None
    updated: float = 0.0
    try_id: str | None = None  # of the try that sent it
    chat: str | None = None  # the chat that upstream keeps, where it does
    prompt: str | None = None  # the name of the template in that try
    tools: tuple[str, ...] = ()  # that the answer calls, by name, in order
    asked: str | None = None  # the beginning of the user's last words, or of the tool's result that was sent
    asked_by: str | None = None  # the tools whose results these are; None: the user's words
    offered: int | None = None  # number of tools the request offers
    variant: str | None = None  # of the try that sent it: the variant
    case_name: str | None = None  # of the try: what was asked


COLUMNS = tuple(column.name for column in fields(Row))


def columns_of_header(header: Mapping[str, Any]) -> dict[str, Any]:
    """What a tape's first line says for its row."""
    columns: dict[str, Any] = {key: text_of(header.get(key)) for key in _TEXTS}
    columns["case_name"] = text_of(header.get("case"))
    if columns["kind"] != "relay" and header.get("frontend") is not None:
        columns["kind"] = text_of(header["frontend"])
    stream, pid = header.get("stream"), header.get("pid")
    columns["stream"] = stream if isinstance(stream, bool) else None
    columns["pid"] = pid if isinstance(pid, int) and 0 < pid < 1 << 31 else None
    columns["started"] = started_of(header) or 0.0
    request = chat_request(header) if header.get("kind") != "relay" else None
    if request is not None:
        offered = request.get("tools")
        columns["offered"] = len(offered) if isinstance(offered, list) else 0
        columns["asked"], columns["asked_by"] = _asked(request)
    return columns


def _asked(request: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """What the client sent last: the user's words, or a tool's result and the names of the tools."""
    messages = request.get("messages")
    messages = [one for one in messages if isinstance(one, Mapping)] if isinstance(messages, list) else []
    while messages and messages[-1].get("role") not in ("user", "tool"):
        messages.pop()
    if not messages:
        return None, None
    words = _beginning(text_in(messages[-1].get("content")))
    if messages[-1]["role"] == "user":
        return words, None
    first = len(messages)
    while first and messages[first - 1].get("role") == "tool":
        first -= 1
    return words, _named(messages[:first], messages[first:])


def _named(before: list[Mapping[str, Any]], results: list[Mapping[str, Any]]) -> str:
    """The tools whose results these are. Ids may repeat: the last call with an id is the one."""
    calls = {call.id: call.name for message in before for call in calls_in(message)}
    names = (calls.get(str(result.get("tool_call_id"))) or "tool" for result in results[:_MOST_TOOLS])
    return ", ".join(dict.fromkeys(name[:_LONGEST_NAME] for name in names))[:_LONGEST_TEXT]


def _beginning(text: str) -> str:
    """As much of a text as a line can show."""
    return " ".join(text[: 4 * _LONGEST_WORDS].split())[:_LONGEST_WORDS]


def tools_called(answer: object) -> list[str]:
    """The names of the tools that an answer calls, in order."""
    names = [call.name for choice in choices_of(answer) for call in choice.calls]
    return [name[:_LONGEST_NAME] for name in names[:_MOST_TOOLS]]


def columns_of_summary(summary: Mapping[str, Any]) -> dict[str, Any]:
    """What an end line says for the row, and nothing else."""
    columns = {key: summary[key] for key in _SUMMARY if key in summary}
    if isinstance(usage := summary.get("usage"), Mapping):
        counts = {key: _count(usage, names) for key, names in _TOKENS.items()}
        columns |= {key: count for key, count in counts.items() if count is not None}
    if isinstance(chat := summary.get("chat"), Mapping):
        columns["chat"] = text_of(chat.get("id"))
    if "answer" in summary:
        columns["tools"] = tools_called(summary["answer"])
    if not isinstance(columns.get("findings", {}), Mapping):
        del columns["findings"]
    for key in ("calls", "status"):
        if not _is_count(columns.get(key, 0)):
            del columns[key]
    if "error" in columns:
        error = columns["error"]
        columns["error"] = text_of(error.get("message", error) if isinstance(error, Mapping) else error)
    if "lost" in columns:
        columns["lost"] = _lines_of(columns["lost"])
    return columns


def worst_level(findings: Mapping[str, int], levels: Mapping[str, str]) -> str | None:
    """The worst of them; `levels` knows the codes that are not in the catalogue."""
    found = {levels.get(code) or (_KNOWN[code][0] if code in _KNOWN else "warning") for code in findings}
    return max(found & set(LEVELS), key=LEVELS.index, default=None)


def started_of(header: Mapping[str, Any]) -> float | None:
    """When an exchange began: tapes of the proxy say it in seconds, those made by hand as a date."""
    started = header.get("started")
    if isinstance(started, int | float) and 0 <= started < _LATEST:
        return float(started)
    try:
        return datetime.fromisoformat(str(started)).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def text_of(value: Any) -> str | None:
    """A text for a column, of bounded length; other values are converted to text."""
    return None if value is None else str(value)[:_LONGEST_TEXT]


def _count(usage: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    return next((usage[name] for name in names if _is_count(usage.get(name))), None)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62


def _lines_of(lost: Any) -> int:
    lines = lost.get("lines") if isinstance(lost, Mapping) else lost
    return lines if isinstance(lines, int) and _is_count(lines) else 0


def summarise(library: Path, entry: TapeEntry) -> dict[str, Any]:
    """The row of a tape. One that cannot be read gets a row as well, which says so."""
    row = {
        "path": entry.path, "id": id_of(entry.path), "started": entry.modified, "size": entry.size,
        "marked": entry.marked,
    }  # fmt: skip
    try:
        given = load(str((library / entry.path).absolute()), "tape")
        assert given.tape is not None
        columns = _columns(given, given.tape, entry.modified)
        row |= {key: value for key, value in columns.items() if value or key == "offered"}
    except UserError as error:
        row |= {"state": "damaged", "problem": error.message}
    except Exception as error:  # one tape, of whatever origin, must not stop the others
        row |= {"state": "damaged", "problem": f"it cannot be summarised: {type(error).__name__}: {error}"}
    return row


def _columns(given: Input, tape: Tape, modified: float) -> dict[str, Any]:
    header = columns_of_header(tape.header)
    columns = header | _counts(tape) | _end(tape, header, modified)
    noticed = [(str(line.finding), line.level) for line in tape.of("finding")]
    levels = dict(noticed)
    findings = dict(Counter(code for code, _ in noticed))
    said = columns_of_summary(tape.end.value) if tape.end is not None else {}
    # Findings made at the end of an answer do not apply to one that still runs.
    converts = columns["kind"] != "relay" and columns["state"] != "running"
    if converts and not {"calls", "findings"} & said.keys():
        said |= _converted(given, tape, levels)
    elif converts and said.get("calls") and "tools" not in said:  # its end line does not have the answer
        said["tools"] = _converted(given, tape, {}).get("tools", [])
    findings |= said.pop("findings", {})
    found = {"findings": findings, "level": worst_level(findings, levels), "problem": tape.problem}
    return columns | said | found


def _counts(tape: Tape) -> dict[str, Any]:
    reads = tape.of("read")
    status = [line.status for line in tape.of("status") if line.side == "client"]
    return {
        "chunks": len(reads),
        "bytes": sum(len(line.data) for line in reads),
        "ttfb": reads[0].t if reads else None,
        "status": next((code for code in status if isinstance(code, int)), None),
    }


def _end(tape: Tape, header: dict[str, Any], modified: float) -> dict[str, Any]:
    if tape.end is not None:
        return {"state": text_of(tape.end.ended), "duration": tape.end.t}
    if is_alive(header["pid"]) and time.time() - modified < RECENT:
        return {"state": "running"}
    return {"state": "cut", "duration": tape.lines[-1].t if tape.lines else 0.0}


def _converted(given: Input, tape: Tape, levels: dict[str, str]) -> dict[str, Any]:
    """If the end line has no summary, the answer goes through the transformer again."""
    recipe = make_recipe(tape.header, Wishes())
    result = convert(given, recipe, None, "findings")
    message = result.message or {}
    calls = [choice.get("message", {}).get("tool_calls") or [] for choice in message.get("choices", [])]
    levels |= {finding.code: finding.level for finding in result.findings}
    seen = observed(message, recipe.chat, recipe.dialect, recipe.policy)
    counted = Counter([*(found.code for found in result.findings), *(found.code for found in seen)])
    return columns_of_summary(
        {
            "calls": sum(map(len, calls)),
            "findings": dict(counted),
            "usage": message.get("usage"),
            "answer": message,
        }
    )


Level: TypeAlias = Literal["error", "warning", "info", "good", "running"]
