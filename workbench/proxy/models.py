"""The list of models: those of the upstreams to which requests for them would go, and the names that the
settings give to models. Upstreams are asked once in a while, not with every request.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from transformer.jsontext import dumps
from transformer.upstreams import find_kind
from workbench.config.settings import Upstream
from workbench.proxy.faults import Fault, Faulted, refused
from workbench.proxy.incoming import Incoming, Pairs, headers_for_upstream
from workbench.proxy.outgoing import Routes, address
from workbench.proxy.upstream import UpstreamClient
from workbench.text import json_object

MODELS = "/models"
_FRESH = 60.0  # seconds
_LONGEST = 4 << 20
_CHAT_HEADERS: Pairs = [("accept", "application/json")]


class Models:
    """Answers `GET /v1/models`, and for one of them `GET /v1/models/NAME`."""

    def __init__(self, routes: Routes, client: UpstreamClient) -> None:
        self._routes = routes
        self._client = client
        # By upstream and credential: each credential may see other models.
        self._known: dict[tuple[str, str | None], tuple[float, list[dict[str, Any]]]] = {}

    async def body(self, incoming: Incoming) -> bytes | None:
        """The answer; None for a model that no upstream has. Raises Faulted where no upstream says
        anything."""
        models = await self._all(incoming)
        if incoming.path == MODELS:
            return dumps({"object": "list", "data": list(models.values())})
        found = models.get(incoming.path.removeprefix(f"{MODELS}/"))
        return None if found is None else dumps(found)

    async def _all(self, incoming: Incoming) -> Mapping[str, dict[str, Any]]:
        upstreams = list(self._routes.upstreams.values())
        told = await asyncio.gather(*(self._of(one, incoming) for one in upstreams), return_exceptions=True)
        models: dict[str, dict[str, Any]] = {}
        for upstream, listed in zip(upstreams, told, strict=True):
            for model in listed if not isinstance(listed, BaseException) else ():
                id = str(model["id"])
                if self._routes.find(id) == upstream:
                    models.setdefault(id, model)
            for name in upstream.models:
                made = {"id": name, "object": "model", "created": 0, "owned_by": upstream.name}
                models.setdefault(name, made)
        broken = next((one for one in told if isinstance(one, BaseException)), None)
        if not models and broken is not None:
            raise broken
        return models

    async def _of(self, upstream: Upstream, incoming: Incoming) -> list[dict[str, Any]]:
        kind = find_kind(upstream.kind)
        credential = incoming.authorization if kind.relays and not upstream.api_key else None
        key = (upstream.name, credential)
        known = self._known.get(key)
        if known is not None and time.monotonic() - known[0] < _FRESH:
            return known[1]
        headers = headers_for_upstream(incoming.headers if kind.relays else _CHAT_HEADERS, upstream)
        reply = await self._client.send(upstream, "GET", address(upstream, kind.models), headers, b"")
        try:
            body = await reply.peek(lambda head: len(head) > _LONGEST)
        finally:
            reply.close()
        if reply.status != 200:
            raise Faulted(refused(reply.status if reply.status >= 400 else 502, body, upstream.name))
        models = kind.listed(json_object(body))
        if models is None:
            raise Faulted(Fault(502, f"the upstream {upstream.name} gave no list of models"))
        self._known[key] = (time.monotonic(), models)
        return models
