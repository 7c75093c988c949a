"""Switching: another dialect, policy or offer in what is known before the first byte."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from transformer import DIALECTS, Policy, PolicyError
from transformer.policy import CHANNELS, CHOICES
from workbench.errors import UserError
from workbench.recipe import Wishes, known_dialect, make_recipe, wished
from workbench.variants.changes import Change, Offer, Switch

DIALECT = "dialect"
_ABOUT: Mapping[str, str] = {
    DIALECT: "the way in which the model writes calls",
    "tools": "how the model is told of its tools; a recorded answer stays the same",
    "calls": "how many calls of an answer count",
    "unknown_tools": "what becomes of a call of a tool that was not offered",
    "malformed": "what becomes of a call that is written wrongly",
    "arguments": "whether the arguments of a call leave when it is whole, or as they come",
    "after_call": "what becomes of the text behind a call",
    "finish_reason": "whether the client gets the reason that fits, or upstream's",
    "channels": "where calls are looked for",
    "text_channel": "where the text around a call goes",
    "max_call_bytes": "the longest call: a number of bytes such as 65536 or 16MiB",
}
_NOWHERE = "none"


@dataclass(frozen=True, slots=True)
class Knob:
    """One thing that can be switched. Without `values` the value is typed in; `now` is what is in force."""

    key: str
    about: str
    values: tuple[str, ...]
    now: str


def switches(header: Mapping[str, Any]) -> list[Knob]:
    """All that can be switched, the dialect first, and what a tape with this header has."""
    try:
        setting = make_recipe(header, Wishes()).stream("none").setting
        dialect, policy = setting.dialect.name, setting.policy
    except UserError:  # the tape is of a dialect or policy that nobody knows: any other may help
        dialect, policy = str(header.get(DIALECT)), Policy()
    values = {DIALECT: tuple(DIALECTS), "channels": (*CHANNELS, ",".join(CHANNELS)), **CHOICES}
    now = {DIALECT: dialect} | {key: _shown(value) for key, value in policy.said().items()}
    keys = (DIALECT, *(field.name for field in fields(Policy)))
    return [Knob(key, _ABOUT[key], values.get(key, ()), now.get(key, "")) for key in keys]


def switched(header: Mapping[str, Any], changes: Iterable[Change]) -> dict[str, Any]:
    """The header once these are switched; a UserError that names the possibilities where one is none."""
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
    """A tool of which only the name is known takes what it gets."""
    request = header.get("request")
    tools = request.get("tools") if isinstance(request, Mapping) else None
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
