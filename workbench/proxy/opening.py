"""The opening of an exchange: all that is known of it before anything is sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from transformer import call_ids
from workbench.proxy.exchange import Outgoing
from workbench.proxy.headers import Pairs
from workbench.proxy.incoming import Incoming
from workbench.proxy.routing import Sending
from workbench.recipe import Recipe
from workbench.tape import make_header


@dataclass(frozen=True, slots=True)
class Opening:
    """What came and what goes up; `seed` is what the ids of calls are made from."""

    incoming: Incoming
    outgoing: Outgoing
    sending: Sending
    started: float
    seed: str

    @property
    def recipe(self) -> Recipe | None:
        """As a replay of the tape will have it. None for what is relayed as it is."""
        if not self.incoming.is_chat:
            return None
        upstream, tools = self.outgoing.upstream, self.incoming.json.get("tools")
        return Recipe(
            dialect=upstream.dialect,
            policy=upstream.policy,
            tools=tools if isinstance(tools, list) else None,
            request=self.incoming.json,
            ids=call_ids(self.seed),
            now=int(self.started),
        )

    def header(self, **more: Any) -> dict[str, Any]:
        """The tape's first line."""
        incoming, upstream = self.incoming, self.outgoing.upstream
        return make_header(
            f"{incoming.method} {incoming.path}",
            upstream.dialect if incoming.is_chat else "passthrough",
            policy=upstream.policy.said() or None,
            model=incoming.model,
            started=self.started,
            ids=self.seed,
            now=int(self.started),
            request=_request_of(incoming),
            upstream_request=self.sending.changed,
            template=self.sending.template,
            **self._facts(),
            **more,
        )

    def _facts(self) -> dict[str, Any]:
        incoming, outgoing = self.incoming, self.outgoing
        return {
            "session": incoming.session,
            "parent_session": incoming.parent_session,
            "upstream": outgoing.upstream.name,
            "url": outgoing.url,
            "method": incoming.method,
            "path": incoming.path + (f"?{incoming.query}" if incoming.query else ""),
            "client_headers": _listed(incoming.headers),
            "upstream_headers": _listed(outgoing.headers),
            "stream": incoming.wants_stream,
            "kind": "chat" if incoming.is_chat else "relay",
        }


def _request_of(incoming: Incoming) -> Any:
    """The body as the tape keeps it. What is no JSON (a sound file, say) is named but not kept."""
    if incoming.json is not None or not incoming.body:
        return incoming.json
    return {"not_json": f"{len(incoming.body)} bytes"}


def _listed(pairs: Pairs) -> list[list[str]]:
    return [list(pair) for pair in pairs]
