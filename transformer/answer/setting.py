"""Ids of generated calls: a seed and a number give the same id on every machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2s
from typing import Any

from transformer.dialects import find_dialect
from transformer.parser.machine import Dialect
from transformer.policy import Policy
from transformer.values.schema import Tool, offered


def call_ids(seed: str = "") -> Callable[[int], str]:
    """A function of the call's number; a tape keeps the seed, so that a replay gives the same ids."""
    return lambda number: f"call_{blake2s(f'{seed}/{number}'.encode(), digest_size=12).hexdigest()}"


@dataclass(frozen=True, slots=True)
class Setting:
    dialect: Dialect
    policy: Policy  # with the dialect's defaults filled in
    tools: Mapping[str, Tool]
    tools_known: bool  # False where nobody said which tools were offered
    ids: Callable[[int], str] | None  # None: made from the answer's own id
    now: float
    raw: bool  # nothing is converted: the bytes go on as they come
    wants_usage: bool
    model: str


def make_setting(
    dialect: str | Dialect,
    tools: Iterable[Any] | None = None,
    policy: Policy | Mapping[str, Any] | None = None,
    request: Mapping[str, Any] | None = None,
    ids: Callable[[int], str] | None = None,
    now: float = 0,
) -> Setting:
    chosen = dialect if isinstance(dialect, Dialect) else find_dialect(dialect)
    wanted = policy if isinstance(policy, Policy) else Policy.from_mapping(policy or {})
    full = wanted.over(chosen.policy)
    body: Mapping[str, Any] = request or {}
    if body.get("parallel_tool_calls") is False:
        full = replace(full, calls="first")
    listed = tools if tools is not None else body.get("tools")
    listed = list(listed) if isinstance(listed, Iterable) and not isinstance(listed, str | Mapping) else None
    said = tools is not None or request is not None
    return Setting(
        dialect=chosen,
        policy=full,
        tools=offered(listed),
        tools_known=bool(listed),
        ids=ids,
        now=now,
        raw=not chosen.converts
        or (said and not listed and full.convert != "always")
        or body.get("tool_choice") == "none",
        wants_usage=_wants_usage(request),
        # Half of a surrogate pair cannot be written as JSON; nobody's model is called so.
        model=str(body.get("model") or "unknown").encode("utf-8", "replace").decode(),
    )


def _wants_usage(request: Mapping[str, Any] | None) -> bool:
    """Without a request to read, better tell than keep quiet."""
    if request is None:
        return True
    options = request.get("stream_options")
    return isinstance(options, Mapping) and bool(options.get("include_usage"))
