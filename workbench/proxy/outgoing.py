"""A request on its way up: which upstream it goes to, at which address, with which headers and body, and
what its tape says about it before anything is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from transformer.answer.recognition import longest_beginning
from transformer.answer.setting import call_ids
from transformer.dialects import UNCONVERTED, find_dialect
from transformer.frontends.frontend import Earlier, Frontend
from transformer.jsontext import dumps
from transformer.policy import Policy
from transformer.records import Finding
from transformer.request.conversion import merged, transform_request
from transformer.upstreams import find_kind
from workbench.config.settings import Settings, Upstream
from workbench.library.tapefiles import new_id
from workbench.proxy.chats import ChatTurn
from workbench.proxy.conversations import NO_SESSION, Turn
from workbench.proxy.faults import Fault
from workbench.proxy.incoming import CHAT, Incoming, Pairs, headers_for_upstream
from workbench.rendering import Converted, converted
from workbench.tape.format import make_header
from workbench.tape.recipe import Recipe

# -- where it goes


class Routes:
    """The upstreams as configured, with a viewer's changes."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.upstreams: dict[str, Upstream] = dict(settings.upstreams)

    def find(self, model: str | None) -> Upstream | None:
        """The upstream for a model; None if none serves it and there is no default."""
        upstream = self._settings.route(model)
        return None if upstream is None else self.upstreams[upstream.name]

    def change(self, name: str, dialect: str, policy: Policy) -> Upstream:
        """Another dialect and policy, from the next request on."""
        changed = replace(self.upstreams[name], dialect=dialect, policy=policy)
        self.upstreams[name] = changed
        return changed

    def changed(self, name: str) -> dict[str, Any]:
        """The configured values of what a viewer changed; empty: nothing."""
        now, configured = self.upstreams[name], self._settings.upstreams[name]
        was: dict[str, Any] = {}
        if now.dialect != configured.dialect:
            was["dialect"] = configured.dialect
        if now.policy != configured.policy:
            was["policy"] = configured.policy.said()
        return was

    def template(self, upstream: Upstream) -> Path | None:
        """The file of the prompt template; None where the dialect's own is used."""
        return self._settings.template_of(upstream)


def address(upstream: Upstream, path: str, query: str = "") -> str:
    """The full URL of a path below the base of an upstream's API."""
    return find_kind(upstream.kind).base(upstream.url) + path + (f"?{query}" if query else "")


# -- what goes there


@dataclass(frozen=True, slots=True)
class Note:
    """Something to tell about a request before it goes up."""

    code: str
    level: str
    message: str


@dataclass(frozen=True, slots=True)
class UpstreamBody:
    """The body as it goes up. `changed` is the same as an object, where it is not the client's own."""

    data: bytes
    changed: dict[str, Any] | None = None
    template: str | None = None
    notes: tuple[Note, ...] = ()
    chat: Mapping[str, Any] | None = None  # the client's request as a chat request, where its API is another
    problem: Fault | None = None  # why there is nothing to send


def frontend_of(incoming: Incoming, upstream: Upstream) -> Frontend | None:
    """The API whose answer the client gets from us; None where upstream's own answer goes on unchanged."""
    frontend = incoming.frontend
    if frontend is None or frontend.relays or not find_kind(upstream.kind).relays:
        return frontend
    speaks = upstream.speaks
    if speaks is None:
        return frontend if find_dialect(upstream.dialect).converts else None
    return None if frontend.name in speaks else frontend


def prepare(
    incoming: Incoming,
    upstream: Upstream,
    template_file: Path | None,
    template: str | None = None,
    earlier: Earlier | None = None,
) -> UpstreamBody:
    """The body of a chat request. Where nothing is to be changed, the client's own bytes go up."""
    frontend = frontend_of(incoming, upstream)
    assert frontend is not None
    if frontend.relays:
        return _prepared(incoming.json, incoming.body, upstream, template_file, template)
    asked = frontend.to_chat(incoming.json, earlier)
    made = _prepared(asked.body, b"", upstream, template_file, template)
    notes = [Note(found.code, found.level, found.message) for found in asked.findings]
    changed = made.changed or asked.body
    return replace(
        made,
        data=made.data or dumps(changed),
        changed=changed,
        notes=(*notes, *made.notes),
        chat=asked.body,
        problem=None if asked.problem is None else Fault(400, permanent=True, **asked.problem),
    )


def _prepared(
    body: dict[str, Any], data: bytes, upstream: Upstream, template_file: Path | None, template: str | None
) -> UpstreamBody:
    """A chat request, whose own bytes are `data`."""
    notes: list[Note] = []
    policy = upstream.policy
    if find_kind(upstream.kind).remembers and policy.tools is None:
        policy = replace(policy, tools="inject")  # the server has no template for tools
    # A template that was sent along may come from a stranger's tape.
    convert: Callable[..., Converted] = transform_request if template is None else converted
    if template is None:
        template, notes = _template(template_file)
    try:
        new, findings = convert(
            body,
            upstream.dialect,
            policy,
            template,
            upstream.template_tool_choice,
            response_format=upstream.response_format,
        )
    except Exception as error:  # a bug of ours must not cost the user the answer
        new, findings = body, list[Finding]()
        reason = f"the workbench failed to write the tools into the prompt ({type(error).__name__}: {error})"
        notes.append(Note("transformer-failed", "error", f"{reason}; the request went up as it came"))
    notes += [Note(found.code, found.level, found.message) for found in findings]
    new = _adjusted(new, upstream)
    if new is body:
        return UpstreamBody(data, None, template, tuple(notes))
    return UpstreamBody(dumps(new), new, template, tuple(notes))


def _template(file: Path | None) -> tuple[str | None, list[Note]]:
    """Read again for each request, so that an edit takes effect with the next one."""
    if file is None:
        return None, []
    try:
        return file.read_text(encoding="utf-8"), []
    except (OSError, UnicodeDecodeError) as error:
        message = f"the prompt template {file} cannot be read ({error}); the built-in one was used instead"
        return None, [Note("template-failed", "error", message)]


def _adjusted(body: dict[str, Any], upstream: Upstream) -> dict[str, Any]:
    """The body with what the upstream's settings add; the same object if they add nothing."""
    new: Mapping[str, Any] = body
    model = body.get("model")
    if isinstance(model, str) and upstream.models.get(model, model) != model:
        new = {**new, "model": upstream.models[model]}
    if upstream.extra_body:
        new = merged(new, upstream.extra_body)
    if upstream.max_tokens is not None:
        new = _limited(new, upstream.max_tokens)
    return body if new is body else dict(new)


def _limited(body: Mapping[str, Any], most: int) -> Mapping[str, Any]:
    given = [key for key in ("max_tokens", "max_completion_tokens") if isinstance(body.get(key), int)]
    if not given:
        return {**body, "max_tokens": most}
    lowered = {key: most for key in given if body[key] > most}
    return {**body, **lowered} if lowered else body


# -- all of it

_CHAT_HEADERS: Pairs = [("content-type", "application/json"), ("accept", "*/*")]


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A client's request as it goes up; `seed` is what the ids of calls are made from."""

    incoming: Incoming
    upstream: Upstream
    body: UpstreamBody
    started: float
    turn: Turn = NO_SESSION
    chat: ChatTurn | None = None  # where upstream keeps the conversation
    seed: str = field(default_factory=new_id)  # and the tape's id

    @property
    def frontend(self) -> Frontend | None:
        return frontend_of(self.incoming, self.upstream)

    @property
    def url(self) -> str:
        if self.chat is not None:
            call = self.chat.call(self.chat.place)
            return address(self.upstream, call.path, call.query)
        if self.frontend is None or self.frontend.relays:
            return address(self.upstream, self.incoming.path, self.incoming.query)
        return address(self.upstream, CHAT)

    @property
    def headers(self) -> Pairs:
        return headers_for_upstream(self._client_headers, self.upstream)

    @property
    def _client_headers(self) -> Pairs:
        """As a server of chats wants them; the body that goes there is never compressed."""
        headers, frontend = self.incoming.headers, self.frontend
        if self.chat is not None:  # the client's headers and key are of no use there
            return _CHAT_HEADERS
        if frontend is None:
            return headers
        headers = [pair for pair in headers if pair[0] != "content-encoding"]
        if frontend.relays:
            return headers
        kept = [pair for pair in headers if pair[0] not in ("x-api-key", "authorization", "accept")]
        kept = [pair for pair in kept if not pair[0].startswith("anthropic-")]
        credential = self.incoming.authorization
        return [*kept, *([("authorization", credential)] if credential else [])]

    @property
    def policy(self) -> Policy:
        """The upstream's, and which dialect its model is said to speak: a replay has to know that, too."""
        upstream, model = self.upstream, self.incoming.model or ""
        start = longest_beginning(upstream.models.get(model, model), upstream.dialects)
        named = find_dialect(upstream.dialect)
        if start is None or not named.chooses or upstream.policy.expect is not None:
            return upstream.policy
        return replace(upstream.policy, expect=upstream.dialects[start])

    @property
    def recipe(self) -> Recipe | None:
        """As a replay of the tape will have it. None for an answer that is relayed unchanged."""
        if self.frontend is None:
            return None
        return Recipe(
            dialect=self.upstream.dialect,
            policy=self.policy,
            request=self.incoming.json,
            ids=call_ids(self.seed),
            now=int(self.started),
            frontend=self.frontend.name,
            upstream=self.upstream.kind,
        )

    def tape_header(self, **more: Any) -> dict[str, Any]:
        """The tape's first line."""
        incoming, upstream = self.incoming, self.upstream
        return make_header(
            f"{incoming.method} {incoming.path}",
            UNCONVERTED if self.frontend is None else upstream.dialect,
            policy=self.policy.said() or None,
            model=incoming.model,
            started=self.started,
            ids=self.seed,
            now=int(self.started),
            request=_recorded_body(incoming),
            upstream_request=self.body.changed,
            template=self.body.template,
            **self._facts(),
            **more,
        )

    def _facts(self) -> dict[str, Any]:
        incoming = self.incoming
        return {
            "session": self.turn.session,
            "parent_session": incoming.parent_session,
            "upstream": self.upstream.name,
            "url": self.url,
            "method": incoming.method,
            "path": incoming.path + (f"?{incoming.query}" if incoming.query else ""),
            "client_headers": [list(pair) for pair in incoming.headers],
            "upstream_headers": [list(pair) for pair in self.headers],
            "stream": incoming.wants_stream,
            "kind": "relay" if self.frontend is None else "chat",
            **({} if self.frontend is None or self.frontend.relays else {"frontend": self.frontend.name}),
            "upstream_kind": self.upstream.kind if self.chat is not None else None,
        }


def _recorded_body(incoming: Incoming) -> Any:
    """The body as the tape keeps it. Anything but JSON (a sound file, say) is named but not kept."""
    if incoming.json is not None or not incoming.body:
        return incoming.json
    return {"not_json": f"{len(incoming.body)} bytes"}
