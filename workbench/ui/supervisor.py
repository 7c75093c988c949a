"""The supervisor of the proxy: starts it for the screen, or finds the one that runs; reports what is wrong
with it, restarts it, and leaves it running if the user wants that.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from workbench.config.reading import read_settings
from workbench.config.settings import Flags, Settings, client_url, default_library
from workbench.errors import UserError
from workbench.proxy.asking import find_running, health_of, status_of
from workbench.proxy.guard import check_settings
from workbench.proxy.process import ChildError, ProcessExit, ProxyChild, is_listened_at
from workbench.proxy.registration import Registration
from workbench.ui.proxywatch import LATER, SOON, trouble_in
from workbench.ui.screens.problem import (
    ProblemScreen,
    no_configuration,
    other_flags,
    port_taken,
    proxy_died,
)

_PATIENCE = 3.0  # seconds for running answers when the user quits
_ASKED = 3.0  # seconds for a proxy to say what runs


class Told(Protocol):
    """Where the state of the proxy is shown."""

    def serving(self, url: str) -> None:
        """The URL for clients; empty when the proxy does not run any more."""

    def trouble(self, sentence: str) -> None:
        """What is wrong with it now; empty when nothing is."""


class ProxySupervisor:
    """One proxy for one library. `ask` shows a problem and gives the action that the user chose."""

    def __init__(self, flags: Flags, ask: Callable[[ProblemScreen], Awaitable[str]]) -> None:
        self._flags = flags
        self._ask_user = ask
        self._port: int | None = None  # another one, if the user chose that
        self.child: ProxyChild | None = None

    async def settings(self) -> Settings | None:
        """The configuration; None if it cannot be run and the user only wants to see the library."""
        while True:
            try:
                settings = read_settings(self._flags)
                check_settings(settings)
                return settings
            except UserError as error:
                if await self._ask(no_configuration(error.message)) == "view":
                    return None

    def library(self, settings: Settings | None) -> Path:
        if settings is not None:
            return settings.library
        return Path(self._flags.library) if self._flags.library else default_library()

    async def supervise(self, settings: Settings, screen: Told) -> None:
        """Run it until the user leaves."""
        running = await asyncio.to_thread(find_running, settings.library)
        if running is not None and await self._uses(running, settings):
            screen.serving(running.url)
            await self._watch(running.url, settings, screen)
            return
        while True:
            self.child = ProxyChild(settings.library, self._arguments(), self._environment())
            try:
                url = await self.child.start()
            except ChildError as error:
                if await self._ask(await self._cannot_start(error, settings)) == "view":
                    return
                continue
            screen.serving(url)
            watch = asyncio.ensure_future(self._watch(url, settings, screen))
            try:
                death = await self.child.ended()
            finally:
                watch.cancel()
            screen.serving("")
            screen.trouble("")
            if self.child.stopping or await self._ask(proxy_died(death)) == "view":
                return

    # -- leaving

    async def running_answers(self) -> int | None:
        """How many answers would be cut if the proxy started here ended now; None: it does not say."""
        if self.child is None or not self.child.alive:
            return 0
        registration = self.child.registration
        if registration is None:  # its library cannot be written
            health = await health_of(self.child.url or "", self._flags.token)
            running = health.get("running") if isinstance(health, dict) else None
            return running if isinstance(running, int) else None
        status = await asyncio.to_thread(status_of, registration, _ASKED)
        listed = status.get("running") if status is not None else None
        return len(listed) if isinstance(listed, list) else None

    def release(self) -> str:
        """Let the proxy go on without the screen; returns how to reach and end it; empty: there is none."""
        child = self.child
        if child is None or not child.release():
            return ""
        return (
            f"the proxy goes on at {child.url} (process {child.pid}); "
            f"`workbench` shows it again, `kill {child.pid}` ends it"
        )

    async def stop(self) -> None:
        if self.child is not None:
            await self.child.stop(_PATIENCE)

    # -- one that runs already

    async def _uses(self, running: Registration, settings: Settings) -> bool:
        """Whether the proxy that runs is shown. Flags that cannot take effect on it are reported, and another
        one can be started."""
        status = await asyncio.to_thread(status_of, running)
        without_effect = [*_without_effect(self._flags, settings, running, status or {})]
        if not without_effect:
            return True
        if await self._ask(other_flags(running.url, without_effect)) != "second":
            return True
        taken = urlsplit(running.url).port
        if self._flags.port in (None, taken):
            self._port = 0
        return False

    # -- what is wrong

    async def _cannot_start(self, error: ChildError, settings: Settings) -> ProblemScreen:
        port = settings.port if self._port is None else self._port
        if await asyncio.to_thread(is_listened_at, settings.listen, port):
            return port_taken(port)
        return proxy_died(error.exit or ProcessExit(1, (str(error),)))

    async def _watch(self, url: str, settings: Settings, screen: Told) -> None:
        """Look at it again and again: a model server may be started later, and a disk may fill up."""
        while True:
            sentence = trouble_in(url, await health_of(url, settings.token))
            screen.trouble(sentence)
            await asyncio.sleep(SOON if sentence else LATER)

    async def _ask(self, screen: ProblemScreen) -> str:
        """The action that the user chose; another port is for the next start."""
        choice = await self._ask_user(screen)
        if choice == "port":
            self._port = 0
        return choice

    # -- how it is started

    def _arguments(self) -> list[str]:
        flags = self._flags
        port = flags.port if self._port is None else self._port
        given = {"--upstream": flags.upstream, "--dialect": flags.dialect, "--listen": flags.listen}
        arguments = [part for name, value in given.items() if value is not None for part in (name, value)]
        if port is not None:
            arguments += ["--port", str(port)]
        for key, value in flags.switches.items():
            arguments += ["--set", f"{key}={value}"]
        return arguments

    def _environment(self) -> dict[str, str] | None:
        """The token goes into the environment: arguments can be read by every user of the machine."""
        return {**os.environ, "WORKBENCH_TOKEN": self._flags.token} if self._flags.token else None


def _without_effect(
    flags: Flags, settings: Settings, running: Registration, status: Mapping[str, Any]
) -> Iterator[str]:
    """The flags that contradict what a running proxy does."""
    address = urlsplit(running.url)
    if flags.port not in (None, 0, address.port):
        yield f"--port {flags.port}: it listens on port {address.port}"
    host = urlsplit(client_url(flags.listen, 1)).hostname if flags.listen is not None else address.hostname
    if host != address.hostname:
        yield f"--listen {flags.listen}: it listens on {address.hostname}"
    upstreams = {one.get("name"): one for one in status.get("upstreams", ()) if isinstance(one, dict)}
    wanted = settings.upstreams.get(settings.default or "")
    known = upstreams.get(status.get("default")) or next(iter(upstreams.values()), None)
    if wanted is None or known is None:
        return
    if flags.upstream is not None and known.get("url") != wanted.url:
        yield f"--upstream {flags.upstream}: its model server is {known.get('url')}"
    if flags.dialect is not None and known.get("dialect") != wanted.dialect:
        yield f"--dialect {flags.dialect}: it converts {known.get('dialect')}"
    policy = wanted.policy.said()
    if flags.switches and known.get("policy") != policy:
        yield " ".join(f"--set {key}={value}" for key, value in flags.switches.items()) + ": it has others"
