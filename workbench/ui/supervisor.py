"""The supervisor of the proxy: starts it for the screen, tells what is wrong with it, and starts it again."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

from workbench.config.reading import read_settings
from workbench.config.settings import Flags, Settings, default_library
from workbench.errors import UserError
from workbench.proxy.guard import check_settings
from workbench.proxy.process import ChildError, ProcessExit, ProxyChild, is_listened_at
from workbench.proxy.registration import find_running, health_of
from workbench.ui.screens.problem import (
    ProblemScreen,
    no_configuration,
    port_taken,
    proxy_died,
    read_only_library,
    unreachable_upstream,
)

_PATIENCE = 3.0  # seconds that running answers have when the user leaves


class ProxySupervisor:
    """One proxy for one library. `ask` shows a problem and gives the action that the user chose."""

    def __init__(self, flags: Flags, ask: Callable[[ProblemScreen], Awaitable[str]]) -> None:
        self._flags = flags
        self._ask_user = ask
        self._port: int | None = None  # another one, if the user chose that
        self.child: ProxyChild | None = None

    async def settings(self) -> Settings | None:
        """What is configured; None when that cannot be run and the user wants to look at the library only."""
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

    async def supervise(self, settings: Settings, ready: Callable[[str], None]) -> None:
        """Run it until the user leaves; `ready` gets its URL each time it starts, and "" when it ends."""
        running = await asyncio.to_thread(find_running, settings.library)
        if running is not None:
            ready(running.url)
            await self._check_health(running.url, settings)
            return
        while True:
            self.child = ProxyChild(settings.library, self._arguments(), self._environment())
            try:
                url = await self.child.start()
            except ChildError as error:
                if await self._ask(await self._cannot_start(error, settings)) == "view":
                    return
                continue
            ready(url)
            await self._check_health(url, settings)
            death = await self.child.ended()
            ready("")
            if self.child.stopping or await self._ask(proxy_died(death)) == "view":
                return

    async def stop(self) -> None:
        if self.child is not None:
            await self.child.stop(_PATIENCE)

    async def _cannot_start(self, error: ChildError, settings: Settings) -> ProblemScreen:
        port = settings.port if self._port is None else self._port
        if await asyncio.to_thread(is_listened_at, settings.listen, port):
            return port_taken(port)
        return proxy_died(error.exit or ProcessExit(1, (str(error),)))

    async def _check_health(self, url: str, settings: Settings) -> None:
        """A running proxy may still have no upstream that answers, or no library that can be written."""
        while (problem := await self._problem(url, settings)) is not None:
            if await self._ask(problem) == "view":
                return

    async def _problem(self, url: str, settings: Settings) -> ProblemScreen | None:
        health = await health_of(url, settings.token)
        try:
            tapes, upstreams = health["tapes"], health["upstreams"]
        except (KeyError, TypeError):
            return None
        if not tapes["writable"]:
            return read_only_library(settings.library, str(tapes["problem"]))
        name = settings.default or next(iter(upstreams), "")
        state = upstreams.get(name)
        if state is None or state["reachable"] or name not in settings.upstreams:
            return None  # a proxy that was started elsewhere may have other upstreams
        return unreachable_upstream(name, settings.upstreams[name].url, str(state["problem"]))

    async def _ask(self, screen: ProblemScreen) -> str:
        """The action that the user chose; another port is for the next start."""
        choice = await self._ask_user(screen)
        if choice == "port":
            self._port = 0
        return choice

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
        """The token goes into the environment: arguments can be read by everybody on the machine."""
        return {**os.environ, "WORKBENCH_TOKEN": self._flags.token} if self._flags.token else None
