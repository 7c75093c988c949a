"""A case: one sample as a person writes it down, with what should become of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from samples.cases.upstream import JSON, Reads, Upstream, one_by_one


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the client has in hand for one choice. Arguments are an object, or their exact text.

    `finish` is what docs/spec.md wants by default (section 3); `ids` None means: whatever was generated.
    """

    content: str = ""
    calls: Sequence[tuple[str, JSON | str]] = ()
    finish: str | None = None
    reasoning: str = ""
    ids: Sequence[str] | None = None
    usage: JSON | None = None
    error: str | None = None

    @property
    def finish_reason(self) -> str | None:
        if self.error is not None:
            return self.finish
        return self.finish or ("tool_calls" if self.calls else "stop")


@dataclass(frozen=True, slots=True)
class Case:
    """One row of the tables in this folder."""

    name: str
    about: str
    upstream: Upstream
    gets: Outcome | Sequence[Outcome]  # of the only choice, or of each
    findings: Sequence[str] = ()
    failure: Sequence[int] = ()  # the reports after which it was made: reports.py
    tools: Sequence[JSON] = ()
    asked: Any = "What does src/main.py do?"
    policy: Mapping[str, Any] = field(default_factory=dict)
    request: Mapping[str, Any] = field(default_factory=dict)  # more keys of the client's body
    reads: Reads = one_by_one
    broke: str | None = None  # the transport fault with which the stream ends
    raw: bool = False  # nothing is converted: the bytes must go on unchanged
    stalls: int | None = (
        None  # the read after which nothing comes for so long that the proxy sends a heartbeat
    )

    @property
    def outcomes(self) -> Sequence[Outcome]:
        return [self.gets] if isinstance(self.gets, Outcome) else self.gets
