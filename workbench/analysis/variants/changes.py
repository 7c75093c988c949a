"""A change: one thing about an exchange that is tried in another way; and what can be switched, which is the
dialect and the policy.

Changes that are applied together all use the coordinates of the exchange before any of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from itertools import groupby
from typing import Any, TypeAlias

from transformer.dialects import DIALECTS
from transformer.policy import CHANNELS, CHOICES, Policy, PolicyError
from workbench.errors import UserError
from workbench.tape.recipe import SPOKEN, Wishes, chat_request, known_dialect, make_recipe, wished

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
    """All changes in one line, in their order. An edited text counts once, however many places it has."""
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


DIALECT = "dialect"
_ABOUT: Mapping[str, str] = {
    DIALECT: "the way in which the model writes calls",
    "tools": "how the model is told of its tools; a recorded answer stays the same",
    "calls": "how many calls of an answer count",
    "unknown_tools": "what becomes of a call of a tool that was not offered",
    "malformed": "what becomes of a call that is written wrongly",
    "arguments": "whether the arguments of a call leave when it is whole, or as they come",
    "after_call": "what becomes of the text after a call",
    "finish_reason": "whether the client gets the reason that fits, or upstream's",
    "channels": "where calls are looked for",
    "text_channel": "where the text around a call goes",
    "convert": "whether answers are converted when the request offers no tools",
    "in_think": "what a call inside <think> is",
    "reasoning": "whether <think> of the content becomes reasoning",
    "max_call_bytes": "the longest call: a number of bytes such as 65536 or 16MiB",
    "expect": "the dialect that the model is known to speak, for a dialect that finds it out itself",
}
_NOWHERE = "none"


@dataclass(frozen=True, slots=True)
class PolicySwitch:
    """One thing that can be switched. Without `values` the value is typed in; `now` is what is in force."""

    key: str
    about: str
    values: tuple[str, ...]
    now: str


def switches(header: Mapping[str, Any]) -> list[PolicySwitch]:
    """All that can be switched, the dialect first, and what a tape with this header has."""
    try:
        setting = make_recipe(header, Wishes()).stream("none").setting
        dialect, policy = setting.dialect.name, setting.policy
    except UserError:  # the tape has an unknown dialect or policy: any other may help
        dialect, policy = str(header.get(DIALECT)), Policy()
    channels = (*CHANNELS, ",".join(CHANNELS))
    values = {DIALECT: tuple(DIALECTS), "expect": SPOKEN, "channels": channels, **CHOICES}
    now = {DIALECT: dialect} | {key: _shown(value) for key, value in policy.said().items()}
    keys = (DIALECT, *(field.name for field in fields(Policy)))
    return [PolicySwitch(key, _ABOUT[key], values.get(key, ()), now.get(key, "")) for key in keys]


def switched(header: Mapping[str, Any], changes: Iterable[Change]) -> dict[str, Any]:
    """The header with these switched; a UserError names the possible values if one does not exist."""
    new = dict(header)
    for change in changes:
        match change:
            case Switch("dialect", value):
                new = wished(new, Wishes(dialect=known_dialect(value.strip())))
            case Switch(key, value):
                new["policy"] = _policy(new) | _said(key, value.strip())
            case Offer(tool):
                new = wished(new, Wishes(tools=_offered(new, tool)))
    return new


def _policy(header: Mapping[str, Any]) -> dict[str, Any]:
    policy = header.get("policy")
    return dict(policy) if isinstance(policy, Mapping) else {}


def _said(key: str, value: str) -> dict[str, Any]:
    try:
        return Policy.from_mapping({key: value}).said()
    except PolicyError as error:
        raise UserError(str(error)) from None


def _offered(header: Mapping[str, Any], tool: str) -> list[Any]:
    """A tool of which only the name is known takes any parameters."""
    tools = (chat_request(header) or {}).get("tools")
    listed = list(tools) if isinstance(tools, list) else []
    if not tool.strip():
        raise UserError("a tool needs a name to be offered")
    if tool in map(_name, listed):
        raise UserError(f"{tool} is offered already")
    parameters = {"type": "object", "properties": {}}
    return [*listed, {"type": "function", "function": {"name": tool, "parameters": parameters}}]


def _name(tool: Any) -> Any:
    function = tool.get("function") if isinstance(tool, Mapping) else None
    return function.get("name") if isinstance(function, Mapping) else None


def _shown(value: object) -> str:
    return (",".join(map(str, value)) or _NOWHERE) if isinstance(value, list) else str(value)
