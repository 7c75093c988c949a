"""The setting of a conversion: everything that is known before the first byte of an answer comes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2s
from typing import Any

from transformer.answer.recognition import dialect_of_model
from transformer.dialects import DIALECTS, find_dialect
from transformer.frontends import find_frontend
from transformer.frontends.frontend import (
    ANSWER,
    AnswerFacts,
    ChatRequest,
    ClientWriter,
    ErrorAnswer,
    Frontend,
)
from transformer.parser.dialect import Dialect
from transformer.policy import Policy
from transformer.upstreams import find_kind
from transformer.upstreams.kind import UpstreamKind
from transformer.values.schema import Tool, offered


def call_ids(seed: str = "") -> Callable[[int], str]:
    """A function of the call's number; a tape keeps the seed, so that a replay gives the same ids.

    The answer itself has the number -1, and its id is the seed if that is a valid id: so its tape can be
    found.
    """
    plain = seed.isascii() and seed.isalnum()
    seeded = seed.encode("utf-8", "surrogatepass")  # a tape from anywhere may have half a character in it

    def id(number: int) -> str:
        if number == ANSWER and plain:
            return f"call_{seed}"
        return f"call_{blake2s(seeded + b'/%d' % number, digest_size=12).hexdigest()}"

    return id


@dataclass(frozen=True, slots=True)
class Setting:
    dialect: Dialect
    expected: Dialect | None  # the one `dialect` will probably choose, if it chooses
    policy: Policy  # with the dialect's defaults filled in
    wanted: Policy  # what the user said
    one_call: bool  # the request wants one call at a time
    tools: Mapping[str, Tool]
    tools_known: bool  # False where the offered tools are unknown
    ids: Callable[[int], str] | None  # None: made from the answer's own id
    now: float
    frontend: Frontend
    upstream: UpstreamKind
    asked: ChatRequest  # what the client asked for, as a chat request
    converts: bool  # calls are looked for in the text
    raw: bool  # nothing is to be changed: the bytes go on as they come
    wants_usage: bool
    model: str

    def writer(self, streamed: bool = True) -> ClientWriter:
        """What writes the answer for the client, with metadata for what upstream does not say."""
        made = {
            "id": f"chatcmpl-{int(self.now * 1000):x}",
            "object": "chat.completion.chunk",
            "created": int(self.now),
            "model": self.model,
        }
        any_json = self.dialect.own_json or self.dialect.chooses
        facts = AnswerFacts(made, self.ids or call_ids(), streamed, any_json)
        return self.frontend.writer(self.asked, facts)

    def error(
        self, status: int, error: Mapping[str, Any], permanent: bool, streamed: bool = False
    ) -> ErrorAnswer:
        """An HTTP answer for a client that has none yet; `streamed`: it waits for a stream."""
        return self.frontend.error(status, error, permanent, self.writer() if streamed else None)

    def calls(self, dialect: Dialect) -> str | None:
        """How many calls of an answer count if this is its dialect."""
        return "first" if self.one_call else self.wanted.over(dialect.policy).calls


def make_setting(
    dialect: str | Dialect,
    tools: Iterable[Any] | None = None,
    policy: Policy | Mapping[str, Any] | None = None,
    request: Mapping[str, Any] | None = None,
    ids: Callable[[int], str] | None = None,
    now: float = 0,
    frontend: str | Frontend = "chat",
    upstream: str | UpstreamKind = "openai",
) -> Setting:
    chosen = dialect if isinstance(dialect, Dialect) else find_dialect(dialect)
    api, kind = find_frontend(frontend), find_kind(upstream)
    wanted = policy if isinstance(policy, Policy) else Policy.from_mapping(policy or {})
    full = wanted.over(chosen.policy)
    asked = api.to_chat(request or {})
    body: Mapping[str, Any] = asked.body
    if body.get("parallel_tool_calls") is False:
        full = replace(full, calls="first")
    listed = tools if tools is not None else body.get("tools")
    listed = list(listed) if isinstance(listed, Iterable) and not isinstance(listed, str | Mapping) else None
    said = tools is not None or request is not None
    asks = bool(listed) or not said or full.convert == "always"
    converts = chosen.converts and asks and body.get("tool_choice") != "none"
    # Half of a surrogate pair cannot be written as JSON; no model has such a name.
    model = str(body.get("model") or "unknown").encode("utf-8", "replace").decode()
    return Setting(
        dialect=chosen,
        expected=_expected(full, model) if chosen.chooses else None,
        policy=full,
        wanted=wanted,
        one_call=body.get("parallel_tool_calls") is False,
        tools=offered(listed),
        tools_known=bool(listed),
        ids=ids if api.relays else _ids(ids or call_ids(str(now)), api),
        now=now,
        frontend=api,
        upstream=kind,
        asked=asked,
        converts=converts,
        raw=not converts and api.relays and kind.relays,
        wants_usage=_wants_usage(None if request is None else body),
        model=model,
    )


def _expected(policy: Policy, model: str) -> Dialect | None:
    """The dialect that the user says the model speaks, else the one that its name tells. A policy may come
    with a tape from anywhere: nothing is imported for it.
    """
    said = DIALECTS.get(policy.expect or "")
    return said if said is not None and not said.chooses else dialect_of_model(model)


def _ids(ids: Callable[[int], str], frontend: Frontend) -> Callable[[int], str]:
    return lambda number: frontend.call_id(ids(number)) if number != ANSWER else ids(number)


def _wants_usage(request: Mapping[str, Any] | None) -> bool:
    """Without a request to read, it is better to tell it."""
    if request is None:
        return True
    options = request.get("stream_options")
    return isinstance(options, Mapping) and bool(options.get("include_usage"))
