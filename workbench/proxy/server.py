"""The server: the process that listens, from its first output to the last tape; and its socket."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import logging
import os
import secrets
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from workbench.config.settings import Settings, client_url
from workbench.errors import UserError
from workbench.proxy.application import Proxy
from workbench.proxy.control import Control, health
from workbench.proxy.guard import CONTROL, Guard
from workbench.proxy.protocol import limited_to
from workbench.proxy.registration import Registration, register, registered
from workbench.proxy.team import Team
from workbench.recording.recorder import Recorder
from workbench.system import on_signals, run


def bind(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """A socket that listens at the address; `shared`: together with others of ours. Raises UserError with
    what to do."""
    try:
        family, kind, proto, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        sock = socket.socket(family, kind, proto)
    except OSError as error:
        raise UserError(f"cannot listen on {host!r}: {error.strerror or error}") from None
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT if shared else socket.SO_REUSEADDR, 1)
    try:
        sock.bind(address)
        # Listen now and not later: two proxies may both bind with SO_REUSEADDR, only one can listen.
        sock.listen(2048)
    except OSError as error:
        sock.close()
        raise UserError(_why(error, host, port)) from None
    return sock


def _why(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"port {port} is taken; another workbench may be running. Stop it, or choose another port with "
            "--port (0 takes any that is free)"
        )
    if error.errno == errno.EACCES:
        return f"port {port} needs more rights than you have; choose one above 1023 with --port"
    if error.errno == errno.EADDRNOTAVAIL:
        return f"{host} is not an address of this machine"
    return f"cannot listen on {host} port {port}: {error.strerror or error}"


_STOPPING = "the workbench is being stopped; the answer ends here"
# The recorder's thread must not keep the interpreter to itself: a chunk would wait for it (default 5 ms).
_SWITCH = 0.0005
_ALLOCATIONS = 10_000  # between two collections of the youngest objects (default 700)
_LOOK = 2.0  # seconds between two checks that the registration is still there
_AFTER_GRACE = 5  # seconds for error events and tapes, once the grace period is over


class Log(Protocol):
    """Receives the row of each exchange that has ended."""

    def put(self, row: Mapping[str, Any]) -> None: ...

    def close(self) -> None: ...


OpenLog: TypeAlias = Callable[[], Log | None]


def serve(
    settings: Settings,
    announce: Callable[[str], None],
    open_log: OpenLog = lambda: None,
    breakpoints: Sequence[str] = (),
) -> int:
    """Run until a signal or a viewer says stop. `announce` gets the URL as soon as it can be used."""
    sock = bind(settings.listen, settings.port)
    return work(settings, (sock,), None, announce, open_log, breakpoints)


def work(
    settings: Settings,
    sockets: Sequence[socket.socket],
    team: Team | None,
    announce: Callable[[str], None],
    open_log: OpenLog,
    breakpoints: Sequence[str] = (),
) -> int:
    """Serve at these sockets, alone or as one of a team."""
    sys.setswitchinterval(_SWITCH)
    # Errors are on a tape, or reported by us.
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    log = open_log()
    on_end = None if log is None else log.put
    try:
        return run(_serve(settings, sockets, team, announce, on_end, breakpoints))
    finally:
        if log is not None:
            log.close()


async def _serve(
    settings: Settings,
    sockets: Sequence[socket.socket],
    team: Team | None,
    announce: Callable[[str], None],
    on_end: Callable[[Mapping[str, Any]], None] | None,
    breakpoints: Sequence[str],
) -> int:
    recorder = Recorder(
        settings.library,
        redact=settings.redact,
        queue_bytes=settings.queue_bytes,
        keep_days=settings.keep_days,
        keep_bytes=settings.keep_bytes,
        on_end=on_end,
    )
    recorder.start()
    server = Server(settings, Proxy(settings, recorder, breakpoints, team), sockets[0], announce, team)
    stops = (signal.SIGTERM,) if team is not None else (signal.SIGINT, signal.SIGTERM)
    on_signals(asyncio.get_running_loop(), server.stop, *stops)
    await server.serve(sockets=list(sockets))
    return 0


def _spare_the_collector() -> None:
    """Loaded modules stay until the process ends: scanning them again and again would hold up every stream
    for some 20 ms each time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_ALLOCATIONS, 20, 50)


class Server(uvicorn.Server):
    """uvicorn's, with an end that finishes streams and tapes."""

    def __init__(
        self,
        settings: Settings,
        proxy: Proxy,
        sock: socket.socket,
        announce: Callable[[str], None],
        team: Team | None = None,
    ) -> None:
        self._settings = settings
        self._proxy = proxy
        self._announce = announce
        self._team = team
        self._url = client_url(settings.listen, sock.getsockname()[1])
        self._token = secrets.token_urlsafe(24) if team is None else team.token
        self._control = Control(proxy, self._token, self._end, team)
        self._file: Path | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._asked = 0
        super().__init__(
            uvicorn.Config(
                application(settings, proxy, self._control),
                http=limited_to(settings.max_header_bytes),
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                date_header=False,
                proxy_headers=False,
                timeout_keep_alive=75,
                timeout_graceful_shutdown=int(settings.grace) + _AFTER_GRACE,
            )
        )

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Our handlers are already set, and a clean end is not an end by signal."""
        yield

    def stop(self) -> None:
        """Called once: finish running exchanges. Twice: end them now. A third time: exit."""
        self._asked += 1
        self.should_exit = True
        if self._asked == 2:
            self._proxy.interrupt_all(_STOPPING)
        self.force_exit = self._asked > 2

    def _end(self) -> None:
        """A viewer wants it: the whole proxy, not one worker."""
        if self._team is None:
            self.stop()
        else:
            os.kill(self._team.pid, signal.SIGTERM)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        if self._team is not None:
            if self._team.takes_over:
                await self._control.catch_up()  # others got changes before we started
            asyncio.get_running_loop().add_reader(self._team.alive, self._left_alone, self._team.alive)
        await super().startup(sockets)
        if self._team is None:
            self._register()
        _spare_the_collector()
        self._announce(self._url)

    def _left_alone(self, pipe: int) -> None:
        """The process that started us is gone."""
        asyncio.get_running_loop().remove_reader(pipe)
        self.stop()

    def _register(self) -> None:
        registered(self._settings.library)  # removes those of dead processes
        control = self._url.removesuffix("/v1") + CONTROL
        self._registration = Registration(os.getpid(), self._url, control, self._token, time.time())
        self._file = register(self._settings.library, self._registration)
        self._keeper = asyncio.create_task(self._stay_registered())

    async def _stay_registered(self) -> None:
        """The library may be deleted while we run: screens must find us in the new one."""
        while True:
            await asyncio.sleep(_LOOK)
            if self._file is None or not self._file.exists():
                self._file = register(self._settings.library, self._registration)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        loop = asyncio.get_running_loop()
        timer = loop.call_later(self._settings.grace, self._proxy.interrupt_all, _STOPPING)
        latest = loop.time() + self._settings.grace + _AFTER_GRACE
        await super().shutdown(sockets)
        # A resend has no connection, so it has not been waited for yet.
        while self._proxy.running and not self.force_exit and loop.time() < latest:
            await asyncio.sleep(0.02)
        timer.cancel()
        if self._keeper is not None:
            self._keeper.cancel()
        await self._proxy.close()
        if self._file is not None:
            self._file.unlink(missing_ok=True)


def application(settings: Settings, proxy: Proxy, control: Control) -> ASGIApp:
    """The guard, and what it protects: health, control, and all other paths for upstreams."""

    async def answer_health(request: Request) -> Response:
        return await health(proxy)

    ours = Starlette(routes=[Route("/health", answer_health, methods=["GET"]), control.routes()])

    async def route(scope: Scope, receive: Receive, send: Send) -> None:
        # Without a framework: its layers would wrap every chunk of every stream.
        path = scope.get("path", "")
        is_ours = scope["type"] != "http" or path == "/health" or path.startswith(f"{CONTROL}/")
        await (ours if is_ours else proxy)(scope, receive, send)

    return Guard(route, settings)
