"""What a viewer asks of a running proxy: whether it answers, to send a request again, what becomes of an
answer that is held.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias
from urllib.parse import quote

from transformer.jsontext import dumps
from workbench.errors import UserError
from workbench.proxy.registration import Registration, registered

if TYPE_CHECKING:
    import httpx

# httpx is imported when something is asked: it takes a tenth of a second, and a screen has drawn its list by
# then.

# Registered proxies speak plain HTTP. By default a client reads all certificates, which takes some 40 ms.
_NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def find_running(library: Path, timeout: float = 1.0) -> Registration | None:
    """The newest proxy of this library that answers. It blocks: from a loop, use `asyncio.to_thread`."""
    return next((one for one in registered(library) if _answers(one, timeout)), None)


def _answers(registration: Registration, timeout: float) -> bool:
    """Whether it is really that proxy: a process id and a port may both belong to others by now."""
    status = status_of(registration, timeout)
    return status is not None and status.get("pid") == registration.pid


def status_of(registration: Registration, timeout: float = 1.0) -> dict[str, Any] | None:
    """Its upstreams and what runs, as it says itself; None where it does not answer. It blocks, too."""
    import httpx

    headers = {"x-workbench-token": registration.token}
    try:
        # Not through a proxy of the network: this one is on the same machine.
        answer = httpx.get(
            f"{registration.control}/status",
            headers=headers,
            timeout=timeout,
            trust_env=False,
            verify=_NO_CERTIFICATES,
        )
        value = answer.json() if answer.status_code == httpx.codes.OK else None
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


Stage: TypeAlias = Literal["client", "upstream"]
_SECONDS = 15
_ASK_SECONDS = 3
_NOBODY = (
    "no proxy runs for this library, so nothing can be sent: start one with `workbench`, or with "
    "`workbench serve` in another terminal"
)


async def health_of(url: str, token: str | None) -> Any:
    """A proxy's health, upstreams and tapes included; None if it does not answer."""
    import httpx

    try:
        async with httpx.AsyncClient(trust_env=False, verify=_NO_CERTIFICATES, timeout=10) as client:
            headers = {"x-workbench-token": token} if token else {}
            return (await client.get(url.removesuffix("/v1") + "/health", headers=headers)).json()
    except (httpx.HTTPError, ValueError):
        return None


@dataclass(frozen=True, slots=True)
class Resend:
    """What is to be sent. `stage` says whose body it is: the client's, which the proxy converts as usual, or
    the one for upstream, which goes up as it is; then `request` is the client's, for the tools it offers."""

    body: Mapping[str, Any]
    stage: Stage = "client"
    request: Mapping[str, Any] | None = None
    template: str | None = None
    of: str | None = None  # the id of the exchange that it comes from
    session: str | None = None
    upstream: str | None = None
    dialect: str | None = None
    policy: Mapping[str, Any] | None = None
    labels: Mapping[str, str] | None = None  # for the tape: the try that sends it, its variant and case
    frontend: str | None = None  # the API of the client's body; a chat by default

    def as_json(self) -> dict[str, Any]:
        fields = {name: getattr(self, name) for name in self.__slots__}
        return {name: value for name, value in fields.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Sent:
    """The new exchange."""

    id: str
    path: str


@dataclass(frozen=True, slots=True)
class HeldAnswer:
    """An answer that a breakpoint holds; `left` is how many seconds until it is released automatically."""

    id: str
    path: str
    breakpoint: str
    message: str
    left: float
    arriving: bool  # upstream still sends
    keep: int  # reads that had come before the one that hit the breakpoint


class ProxyConnection:
    """A running proxy that is asked more than once: `async with` keeps one connection open."""

    def __init__(self, proxy: Registration) -> None:
        import httpx

        self.proxy = proxy
        # Not through a proxy of the network: this one is on the same machine.
        self._http = httpx.AsyncClient(trust_env=False, verify=_NO_CERTIFICATES, timeout=_SECONDS)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def status(self) -> dict[str, Any]:
        """Its upstreams and what runs, as it says itself."""
        return await self._ask("GET", "/status")

    async def change(
        self, upstream: str, dialect: str | None = None, policy: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Another dialect or policy for an upstream, from the next request on; None: as it is."""
        wish = {"dialect": dialect, "policy": policy}
        body = {key: value for key, value in wish.items() if value is not None}
        return await self._ask("PATCH", f"/upstreams/{quote(upstream, safe='')}", dumps(body))

    async def upstreams(self) -> tuple[str, ...]:
        """The names of those that it can send to."""
        value = await self._ask("GET", "/status")
        return tuple(one["name"] for one in value["upstreams"])

    async def send(self, wish: Resend) -> Sent:
        """UserError says why it cannot be sent; an upstream that does not answer is not such a reason."""
        value = await self._ask("POST", "/resend", dumps(wish.as_json()))
        return Sent(value["id"], str(value.get("path", "")))

    async def breakpoints(self) -> list[str]:
        """Where it holds answers."""
        return list((await self._ask("GET", "/breakpoints"))["breakpoints"])

    async def set_breakpoints(self, texts: Sequence[str]) -> list[str]:
        """From the next answer on. UserError: one of them is not a breakpoint."""
        told = await self._ask("PUT", "/breakpoints", dumps({"breakpoints": list(texts)}))
        return list(told["breakpoints"])

    async def forget_breakpoints(self) -> None:
        """Those that a screen has set; held answers are let go."""
        await self._ask("DELETE", "/breakpoints")

    async def held(self) -> list[HeldAnswer]:
        """The answers that wait for a decision, the oldest first."""
        told = (await self._ask("GET", "/held"))["held"]
        return [HeldAnswer(**{name: one[name] for name in HeldAnswer.__slots__}) for one in told]

    async def decide(self, id: str, what: str, **more: Any) -> None:
        """`what`: "release", "drop", or "edit" with `keep` and `reads`. UserError says why it is not
        possible."""
        await self._ask("POST", f"/held/{id}", dumps({"do": what, **more}))

    async def _ask(self, method: str, path: str, content: bytes | None = None) -> dict[str, Any]:
        import httpx

        headers = {"content-type": "application/json", "x-workbench-token": self.proxy.token}
        try:
            answer = await self._http.request(
                method, f"{self.proxy.control}{path}", content=content, headers=headers
            )
        except httpx.HTTPError as error:
            raise UserError(_silent(self.proxy, error)) from None
        return _accepted(answer)


async def resend(library: Path, wish: Resend) -> Sent:
    """Send it through the newest proxy that answers; UserError says why that was not possible."""
    import httpx

    problem = _NOBODY
    for proxy in registered(library):
        try:
            if not await asyncio.to_thread(_answers, proxy, _ASK_SECONDS):
                raise httpx.ConnectError("another program is there, or none")
            answer = await _ask(proxy, wish)
        except httpx.HTTPError as error:
            problem = _silent(proxy, error)
            continue
        accepted = _accepted(answer)
        return Sent(accepted["id"], str(accepted.get("path", "")))
    raise UserError(problem)


async def _ask(proxy: Registration, wish: Resend) -> httpx.Response:
    import httpx

    # Not through a proxy of the network: this one is on the same machine.
    async with httpx.AsyncClient(trust_env=False, verify=_NO_CERTIFICATES, timeout=_SECONDS) as client:
        return await client.post(
            f"{proxy.control}/resend",
            content=dumps(wish.as_json()),
            headers={"content-type": "application/json", "x-workbench-token": proxy.token},
        )


def _silent(proxy: Registration, error: httpx.HTTPError) -> str:
    said = f"{error}" or type(error).__name__
    return f"the proxy at {proxy.url} does not answer ({said}); is it still running?"


def _accepted(answer: httpx.Response) -> dict[str, Any]:
    """Its answer, or a UserError with the reason for its refusal."""
    try:
        value = answer.json()
    except ValueError:
        value = None
    body = value if isinstance(value, dict) else {}
    if answer.status_code == 200 and body:
        return body
    error = body.get("error")
    said = error.get("message") if isinstance(error, dict) else None
    raise UserError(f"the proxy refused: {said}" if said else f"the proxy answered HTTP {answer.status_code}")


def listed_models(url: str, token: str | None) -> list[str]:
    """The models that the proxy at this URL lists; none where it does not run, or its upstream lists none."""
    import httpx

    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    try:
        answer = httpx.get(f"{url}/models", headers=headers, timeout=2, trust_env=False).json()
        return [model["id"] for model in answer["data"] if isinstance(model["id"], str)]
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, KeyError, TypeError):
        return []
