"""A change: one thing about an exchange that is tried otherwise.

Changes that are applied together all count in the exchange as it is before any of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

_LONGEST = 20  # characters of a text that are quoted
_MOST = 8  # changes that are named one by one


@dataclass(frozen=True, slots=True)
class Switch:
    """Another dialect (`key` is "dialect"), or another value of a policy, written as on the command line."""

    key: str
    value: str


@dataclass(frozen=True, slots=True)
class Retext:
    """The characters `start` to `end` of a channel become `text`; where the two are equal, it is inserted."""

    choice: int
    channel: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Cut:
    """Upstream ends cleanly after this many bytes."""

    byte: int


@dataclass(frozen=True, slots=True)
class Merge:
    """A read arrives together with the next one, when that one came."""

    read: int


@dataclass(frozen=True, slots=True)
class Split:
    """A new read begins at this byte."""

    byte: int


@dataclass(frozen=True, slots=True)
class Offer:
    """The request offers one more tool, of which only the name is known."""

    tool: str


Change: TypeAlias = Switch | Retext | Cut | Merge | Split | Offer


def words(change: Change) -> str:
    """A change in a few words, for a list of them."""
    match change:
        case Switch(key, value):
            return f"{key} = {value}"
        case Retext(choice, channel, start, end, text):
            where = _channel(choice, channel)
            return (
                f"text of {where} {start}..{end}"
                if end > start
                else f"{_quote(text)} into {where} at {start}"
            )
        case Cut(byte):
            return f"cut after byte {byte}"
        case Merge(read):
            return f"reads {read + 1} and {read + 2} as one"  # as the screen counts them
        case Split(byte):
            return f"a new read at byte {byte}"
        case Offer(tool):
            return f"{tool} is offered"


def describe(changes: Iterable[Change]) -> str:
    """All changes in one line, in their order. An edited text is one thing, in however many places."""
    said: list[str] = []
    for channel, group in groupby(changes, _text_of):
        alike = list(group)
        if channel is None or len(alike) == 1:
            said += map(words, alike)
        else:
            said.append(f"text of {channel} in {len(alike)} places")
    more = len(said) - _MOST
    return "; ".join(said if more <= 1 else [*said[:_MOST], f"{more} more changes"])


def _quote(text: str) -> str:
    return f"“{text if len(text) <= _LONGEST else f'{text[:_LONGEST]}…'}”"


def _text_of(change: Change) -> str | None:
    return _channel(change.choice, change.channel) if isinstance(change, Retext) else None


def _channel(choice: int, channel: str) -> str:
    return channel if choice == 0 else f"{channel} of choice {choice}"
