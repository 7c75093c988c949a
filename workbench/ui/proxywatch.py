"""The running proxy as the screen knows it: polled for its state, and reconfigured."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workbench.errors import UserError
from workbench.proxy.asking import ProxyConnection, find_running, health_of

SOON, LATER = 2.0, 20.0  # seconds between checks of a proxy with a problem, and of one without


@dataclass(frozen=True, slots=True)
class UpstreamState:
    """A model server as the proxy uses it now; `changed` has the configured values of what a viewer
    changed."""

    name: str
    url: str
    dialect: str
    policy: Mapping[str, Any] = field(default_factory=dict)
    changed: Mapping[str, Any] = field(default_factory=dict)

    @property
    def header(self) -> dict[str, Any]:
        """As the tape of the next exchange will say it."""
        return {"dialect": self.dialect, "policy": dict(self.policy)}


@dataclass(frozen=True, slots=True)
class ProxyState:
    """What a proxy said last. `held_back`: characters that its clients do not have yet."""

    url: str
    upstreams: tuple[UpstreamState, ...]
    default: str | None = None
    running: int = 0
    held_back: int = 0
    problem: str = ""

    def upstream(self, name: str | None) -> UpstreamState | None:
        """The one with this name, else the default one, else the only one."""
        by_name = {one.name: one for one in self.upstreams}
        only = self.upstreams[0] if len(self.upstreams) == 1 else None
        return by_name.get(name or "") or by_name.get(self.default or "") or only


def state_of(url: str, status: Mapping[str, Any]) -> ProxyState:
    """The state in a proxy's status, whatever its version."""
    upstreams = [
        UpstreamState(
            str(one.get("name")), str(one.get("url")), str(one.get("dialect")),
            _mapping(one.get("policy")), _mapping(one.get("changed")),
        )
        for one in status.get("upstreams", ())
        if isinstance(one, Mapping)
    ]  # fmt: skip
    held = [count for count in _mapping(status.get("held_back")).values() if isinstance(count, int)]
    running, default = status.get("running"), status.get("default")
    return ProxyState(
        url,
        tuple(upstreams),
        default if isinstance(default, str) else None,
        len(running) if isinstance(running, list) else 0,
        sum(held),
        str(_mapping(status.get("recorder")).get("problem") or ""),
    )


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def trouble_in(url: str, health: Any) -> str:
    """The problems that a proxy reports about itself; empty: none."""
    if not isinstance(health, dict):
        return f"the proxy at {url} does not answer"
    parts = []
    with contextlib.suppress(KeyError, TypeError, AttributeError):
        tapes = health["tapes"]
        if not tapes["writable"]:
            parts.append(f"nothing can be recorded in {tapes['library']}: {tapes['problem']}")
        for name, state in health["upstreams"].items():
            if not state["reachable"]:
                where = state.get("url") or name
                parts.append(f"the model server at {where} does not answer: {state['problem']}")
    return "; ".join(parts)


class ProxyWatch:
    """Finds the proxy of a library, and keeps a connection to it as long as it answers."""

    def __init__(self, library: Path) -> None:
        self._library = library
        self._connection: ProxyConnection | None = None
        self.state: ProxyState | None = None

    async def look(self) -> ProxyState | None:
        """Its current state; None: no proxy runs for this library."""
        if self._connection is None:
            found = await asyncio.to_thread(find_running, self._library)
            self._connection = ProxyConnection(found) if found is not None else None
        if self._connection is None:
            self.state = None
            return None
        try:
            status = await self._connection.status()
        except UserError:
            await self.close()
            self.state = None
        else:
            self.state = state_of(self._connection.proxy.url, status)
        return self.state

    async def trouble(self) -> str:
        """The problems that it reports about itself and its model servers; empty also if no proxy runs."""
        if self._connection is None:
            return ""
        proxy = self._connection.proxy
        return trouble_in(proxy.url, await health_of(proxy.url, proxy.token))

    async def change(
        self, upstream: str, dialect: str | None = None, policy: Mapping[str, Any] | None = None
    ) -> None:
        """From the next request on. Raises UserError."""
        if self._connection is None:
            raise UserError("no proxy runs for this library, so there is nothing to change")
        await self._connection.change(upstream, dialect, policy)
        await self.look()

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.__aexit__()
