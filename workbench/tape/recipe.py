"""How an answer is to be converted: what a tape's header says, and what the user wants instead."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from transformer.answer.setting import call_ids
from transformer.answer.stream import StreamTransformer
from transformer.answer.whole import MessageTransformer
from transformer.dialects import DIALECTS, UNCONVERTED, UnknownDialect, find_dialect, loaded_dialect
from transformer.frontends import FRONTENDS, find_frontend
from transformer.journal import Keep
from transformer.policy import Policy, PolicyError
from transformer.upstreams import DEFAULT, KINDS
from workbench.errors import UserError

SPOKEN = tuple(name for name, one in DIALECTS.items() if one.converts and not one.chooses)
_MODULE_NAME = "module:NAME is a Dialect in a module that Python can import"


@dataclass(frozen=True, slots=True)
class Wishes:
    """The user's options; None and empty mean: as the tape says."""

    dialect: str | None = None
    tools: list[Any] | None = None
    request: Mapping[str, Any] | None = None
    switches: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Recipe:
    """All that the transformer needs to know before the first byte."""

    dialect: str
    policy: Policy = field(default_factory=Policy)
    tools: list[Any] | None = None
    request: dict[str, Any] | None = None
    ids: Callable[[int], str] | None = None
    now: int | float = 0
    frontend: str = "chat"  # the API in which the client asked, and is answered
    upstream: str = "openai"  # the kind of upstream that answered

    def stream(self, records: Keep) -> StreamTransformer:
        """A transformer for a stream of bytes."""
        return StreamTransformer(
            self.dialect,
            self.tools,
            self.policy,
            self.request,
            self.ids,
            self.now,
            records,
            self.frontend,
            self.upstream,
        )

    def message(self, records: Keep) -> MessageTransformer:
        """The same for an answer that came in one piece."""
        return MessageTransformer(
            self.dialect,
            self.tools,
            self.policy,
            self.request,
            self.ids,
            self.now,
            records,
            self.frontend,
            self.upstream,
        )

    @property
    def chat(self) -> dict[str, Any] | None:
        """The request as a chat request, whatever the client's API."""
        return None if self.request is None else as_chat(self.request, self.frontend)


def make_recipe(header: Mapping[str, Any], wishes: Wishes) -> Recipe:
    """From a tape's header (an empty one, where there is no tape) and the wishes, which win."""
    request = wishes.request if wishes.request is not None else _object(header, "request")
    frontend = _frontend(header)
    seed = header.get("ids")
    return Recipe(
        dialect=known_dialect(wishes.dialect) if wishes.dialect else _dialect_on_tape(header.get("dialect")),
        policy=_policy(_object(header, "policy") or {}, wishes.switches),
        tools=wishes.tools if wishes.tools is not None else _tools(request, frontend),
        request=dict(request) if request is not None else None,
        ids=call_ids(str(seed)) if seed is not None else None,
        now=_now(header),
        frontend=frontend,
        upstream=_kind(header),
    )


def as_chat(request: Mapping[str, Any], frontend: str) -> dict[str, Any]:
    """A client's request as a chat request."""
    return find_frontend(frontend).to_chat(request).body


def chat_request(header: Mapping[str, Any]) -> dict[str, Any] | None:
    """The request on a tape as a chat request; None where there is none, or none that can be read."""
    request = header.get("request")
    if not isinstance(request, dict):
        return None
    frontend = header.get("frontend", "chat")
    known = isinstance(frontend, str) and frontend in FRONTENDS
    return as_chat(request, frontend) if known else None


def wished(header: Mapping[str, Any], wishes: Wishes) -> dict[str, Any]:
    """The tape's header as it would be if the exchange had gone as the wishes say."""
    changed = dict(header)
    if wishes.dialect is not None:
        changed["dialect"] = wishes.dialect
    if wishes.switches:
        changed["policy"] = {**_said(header, "policy"), **wishes.switches}
    if wishes.request is not None:
        changed["request"] = dict(wishes.request)
    elif wishes.tools is not None:
        # Without a request the usage is included: the client is told all that upstream says.
        asked = _said(header, "request") or {"stream_options": {"include_usage": True}}
        changed["request"] = {**asked, "tools": wishes.tools}
    return changed


def known_dialect(name: object) -> str:
    """The name of a dialect that exists, or a UserError that helps to find it. `module:NAME` is imported."""
    if name is None:
        raise UserError(f"which dialect does the model speak? --dialect is one of {', '.join(DIALECTS)}")
    if isinstance(name, str) and (name in DIALECTS or ":" in name):
        try:
            find_dialect(name)
        except UnknownDialect as error:
            raise UserError(f"{error} ({_MODULE_NAME})") from None
        return name
    near = difflib.get_close_matches(str(name).lower(), DIALECTS, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(DIALECTS)}"
    raise UserError(f"there is no dialect {name!r}; {hint} (workbench dialects lists them)")


def spoken_dialect(name: str) -> str:
    """A dialect that a model may be expected to speak. Its name gets onto tapes, so it is registered."""
    if name not in SPOKEN:
        near = difflib.get_close_matches(name.lower(), SPOKEN, n=1, cutoff=0.4)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(SPOKEN)}"
        raise UserError(f"no model can be expected to speak {name!r}; {hint}")
    return name


def _dialect_on_tape(name: object) -> str:
    """A tape may come from anywhere: a module that it names is not imported unless the user has named it,
    too."""
    if isinstance(name, str) and ":" in name and loaded_dialect(name) is None:
        raise UserError(f"the tape's dialect is {name!r}, which is not loaded: --dialect {name} loads it")
    return known_dialect(name)


def dialect_in(header: Mapping[str, Any]) -> str:
    """The tape's dialect, to be shown or to render with; one that is not loaded here counts as none."""
    name = str(header.get("dialect"))
    return UNCONVERTED if loaded_dialect(name) is None else name


def read_switches(pairs: Iterable[str]) -> dict[str, str]:
    """`key=value` from the command line, the last one of a key wins."""
    switches = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise UserError(f"--set wants key=value, such as --set malformed=repair, not {pair!r}")
        switches[key.strip()] = value.strip()
    return switches


def read_tools(value: Any, name: str) -> Wishes:
    """The tools in a file: a list of them, or a request body that offers them and may say more."""
    request = value if isinstance(value, dict) else None
    tools = value.get("tools") if isinstance(value, dict) else value
    if request is not None and tools is None and isinstance(request.get("messages"), list):
        return Wishes(tools=[], request=request)  # a request that offers none
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        raise UserError(
            f'{name} holds no tools: it is a JSON list of tools, or an object with such a list as "tools"'
        )
    return Wishes(tools=tools, request=request)


def _policy(said: Mapping[str, Any], switches: Mapping[str, str]) -> Policy:
    try:
        wanted = Policy.from_mapping(switches)
    except (PolicyError, TypeError) as error:
        raise UserError(f"--set: {error}") from None
    if wanted.expect is not None:
        spoken_dialect(wanted.expect)
    try:
        return Policy.from_mapping({**said, **switches})
    except (PolicyError, TypeError) as error:
        raise UserError(f"the tape's policy: {error}") from None


def _object(header: Mapping[str, Any], key: str) -> dict[str, Any] | None:
    value = header.get(key)
    if value is not None and not isinstance(value, dict):
        raise UserError(f"the tape's {key} is not a JSON object")
    return value


def _said(header: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = header.get(key)
    return value if isinstance(value, dict) else {}


def _kind(header: Mapping[str, Any]) -> str:
    kind = header.get("upstream_kind", DEFAULT)
    if isinstance(kind, str) and kind in KINDS:
        return kind
    raise UserError(f"the tape's upstream_kind is one of {', '.join(KINDS)}, not {kind!r}")


def _now(header: Mapping[str, Any]) -> int | float:
    now = header.get("now") or 0
    # Beyond 2**53 JSON cannot represent all integers, and there are no such times.
    if isinstance(now, int | float) and 0 <= now < 1 << 53:
        return now
    raise UserError(f"the tape's now is a number of seconds, not {now!r}")


def _frontend(header: Mapping[str, Any]) -> str:
    name = header.get("frontend", "chat")
    if isinstance(name, str) and name in FRONTENDS:
        return name
    raise UserError(f"the tape's frontend is one of {', '.join(FRONTENDS)}, not {name!r}")


def _tools(request: Mapping[str, Any] | None, frontend: str) -> list[Any] | None:
    tools = as_chat(request, frontend).get("tools") if request is not None else None
    return tools if isinstance(tools, list) else None
