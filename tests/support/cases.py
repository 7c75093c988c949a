"""A row of a dialect's table of cases: what a model writes, and the content, calls and findings it gives."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypeAlias

from tests.support.client import message_result
from tests.support.cuts import codes, run
from tests.support.spans import check_records
from tests.support.streams import message, sse, stream_of, tool
from tests.support.tiers import exhaustive, some
from transformer import transform_message

TEXT = {"type": "string"}
WRITE = tool("write", {"path": TEXT, "content": TEXT}, required=["path"])
EDIT = tool(
    "edit",
    {"path": TEXT, "tags": {"type": "array", "items": TEXT}, "count": {"type": "integer"}, "note": TEXT},
    required=["path"],
)
READ = tool("read", {"path": TEXT})
FREE = {"type": "function", "function": {"name": "free"}}
TOOLS = [WRITE, EDIT, READ, FREE]

_IN_TWO = 2  # the first of them is whole
# text -> content, calls, finding codes
Calls: TypeAlias = Sequence[tuple[str, dict[str, Any] | str]]  # arguments as values, or their exact text
Row: TypeAlias = tuple[str, str, Calls, list[str]]


def deltas(*parts: str) -> bytes:
    events = [{"choices": [{"index": 0, "delta": {"content": part}}]} for part in parts if part]
    return sse(*events, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})


def check(dialect: str, row: Row, **kwargs: Any) -> None:
    """The row holds whole, in deltas of several sizes, cut in two at some places; every record is true.

    What costs is the number of deltas: the quick tier has one, two, one for each character, and long ones.
    """
    text, content, calls, expected = row
    wanted = (content, [(name, as_text(values)) for name, values in calls], expected)
    kwargs = {"tools": TOOLS} | kwargs
    cuts = [deltas(text[:at], text[at:]) for at in some(range(len(text)), _IN_TWO)]
    cuts += [stream_of(text, size) for size in ((1, 2, 3, 7) if exhaustive() else (1,))]
    for data in cuts:
        got, transformer = run(dialect, data, records="findings", **kwargs)
        assert (got.content, got.calls, codes(transformer)) == wanted, data
        assert transformer.unaccounted == 0
    data = stream_of(text, 4 if exhaustive() else 7)
    got, transformer = run(dialect, data, **kwargs)
    assert (got.content, got.calls, codes(transformer)) == wanted, data
    check_records(transformer, data)
    whole = message_result(transform_message(message(text), dialect=dialect, **kwargs))
    assert (whole.content, whole.calls) == wanted[:2]


def as_text(arguments: dict[str, Any] | str) -> str:
    return arguments if isinstance(arguments, str) else compact(arguments)


def compact(values: dict[str, Any]) -> str:
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"))


def written(content: str) -> Calls:
    return [("write", {"path": "a", "content": content})]
