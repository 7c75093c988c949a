"""Kinds of upstream: the APIs that servers speak. Each is one module; no other module names one."""

from __future__ import annotations

from transformer.upstreams.kind import UpstreamKind
from transformer.upstreams.openai import OpenAI
from transformer.upstreams.qwen_chat import QwenChat

KINDS: dict[str, UpstreamKind] = {kind.name: kind for kind in (OpenAI(), QwenChat())}
DEFAULT = OpenAI.name


class UnknownKind(ValueError):
    """A name that is not the name of a kind of upstream."""


def find_kind(name: str | UpstreamKind) -> UpstreamKind:
    if isinstance(name, UpstreamKind):
        return name
    try:
        return KINDS[name]
    except KeyError:
        raise UnknownKind(f"there is no kind of upstream {name!r}; there are {', '.join(KINDS)}") from None


def recognised(event: object) -> UpstreamKind | None:
    """The kind whose habits an event shows, for an upstream whose kind was not configured."""
    if type(event) is not dict:
        return None
    return next((kind for kind in KINDS.values() if kind.recognises(event)), None)
