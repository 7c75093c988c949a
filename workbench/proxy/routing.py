"""Routes: which upstream a request goes to, at which address, with which body."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from transformer import Finding, Policy, transform_request
from transformer.answer.chunks import dumps
from transformer.request.request import merged
from workbench.config.settings import Settings, Upstream
from workbench.proxy.incoming import Incoming


@dataclass(frozen=True, slots=True)
class Note:
    """Something to tell about a request before it goes up."""

    code: str
    level: str
    message: str


@dataclass(frozen=True, slots=True)
class Sending:
    """What goes up. `changed` is the body as an object where it is not the client's own."""

    body: bytes
    changed: dict[str, Any] | None = None
    template: str | None = None
    notes: tuple[Note, ...] = ()


class Routes:
    """The upstreams as they are configured, with what a viewer changed since."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.upstreams: dict[str, Upstream] = dict(settings.upstreams)

    def find(self, model: str | None) -> Upstream | None:
        upstream = self._settings.route(model)
        return None if upstream is None else self.upstreams[upstream.name]

    def change(self, name: str, dialect: str, policy: Policy) -> Upstream:
        changed = replace(self.upstreams[name], dialect=dialect, policy=policy)
        self.upstreams[name] = changed
        return changed

    def template(self, upstream: Upstream) -> Path | None:
        return self._settings.template_of(upstream)


def address(upstream: Upstream, path: str, query: str = "") -> str:
    """The full URL of a path below /v1; an upstream's URL without any path means its /v1."""
    base = upstream.url.rstrip("/")
    if not urlsplit(base).path:
        base += "/v1"
    return base + path + (f"?{query}" if query else "")


def prepare(
    incoming: Incoming, upstream: Upstream, template_file: Path | None, template: str | None = None
) -> Sending:
    """The chat request on its way up. Where nothing is to be changed, the client's own bytes go."""
    body: dict[str, Any] = incoming.json
    notes: list[Note] = []
    if template is None:
        template, notes = _template(template_file)
    try:
        new, findings = transform_request(
            body, upstream.dialect, upstream.policy, template, upstream.template_tool_choice
        )
    except Exception as error:  # a bug of ours must not cost the user the answer
        new, findings = body, list[Finding]()
        reason = f"the workbench failed to write the tools into the prompt ({type(error).__name__}: {error})"
        notes.append(Note("transformer-failed", "error", f"{reason}; the request went up as it came"))
    notes += [Note(found.code, found.level, found.message) for found in findings]
    new = _adjusted(new, upstream)
    if new is body:
        return Sending(incoming.body, None, template, tuple(notes))
    return Sending(dumps(new), new, template, tuple(notes))


def _template(file: Path | None) -> tuple[str | None, list[Note]]:
    """Read anew for each request, so that an edit takes effect with the next one."""
    if file is None:
        return None, []
    try:
        return file.read_text(encoding="utf-8"), []
    except (OSError, UnicodeDecodeError) as error:
        message = f"the prompt template {file} cannot be read ({error}); the built-in one was used instead"
        return None, [Note("template-failed", "error", message)]


def _adjusted(body: dict[str, Any], upstream: Upstream) -> dict[str, Any]:
    """What the upstream's settings add; the same object where they add nothing."""
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
