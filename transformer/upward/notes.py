"""Findings about a request, which has no stream: their place is a message or a tool."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from transformer.findings import sentence
from transformer.records import Finding, Span


def note(code: str, at: int | None = None, **values: object) -> Finding:
    """A finding about the message or the tool with the index `at`, or about the request as a whole."""
    level, message = sentence(code, values)
    return Finding(0, -1, -1, code, level, message, _place(at))


def moved(finding: Finding, at: int) -> Finding:
    """The same finding about the message or the tool with the index `at`."""
    return replace(finding, span=_place(at))


def numbered(findings: Iterable[Finding]) -> list[Finding]:
    return [replace(finding, seq=seq) for seq, finding in enumerate(findings, 1)]


def _place(at: int | None) -> Span:
    return Span(0, "request", 0, 0, -1) if at is None else Span(0, "request", at, at + 1, -1)
