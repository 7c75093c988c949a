"""A request sent once more, through the control endpoint of the proxy that runs for a library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import httpx

from transformer.answer.chunks import dumps
from workbench.errors import UserError
from workbench.proxy.registration import Registration, registered

Stage: TypeAlias = Literal["client", "upstream"]
_SECONDS = 15
_NOBODY = (
    "no proxy runs for this library, so nothing can be sent: start one with `workbench`, or with "
    "`workbench serve` in another terminal"
)


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

    def as_json(self) -> dict[str, Any]:
        fields = {name: getattr(self, name) for name in self.__slots__}
        return {name: value for name, value in fields.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Sent:
    """The new exchange."""

    id: str
    path: str


async def resend(library: Path, wish: Resend) -> Sent:
    """Send it through the newest proxy that answers; UserError says why that was not possible."""
    problem = _NOBODY
    for proxy in registered(library):
        try:
            answer = await _ask(proxy, wish)
        except httpx.HTTPError as error:
            said = f"{error}" or type(error).__name__
            problem = f"the proxy at {proxy.url} does not answer ({said}); is it still running?"
            continue
        return _result(answer)
    raise UserError(problem)


async def _ask(proxy: Registration, wish: Resend) -> httpx.Response:
    # Not through a proxy of the network: this one is on the same machine.
    async with httpx.AsyncClient(trust_env=False, timeout=_SECONDS) as client:
        return await client.post(
            f"{proxy.control}/resend",
            content=dumps(wish.as_json()),
            headers={"content-type": "application/json", "x-workbench-token": proxy.token},
        )


def _result(answer: httpx.Response) -> Sent:
    try:
        value = answer.json()
    except ValueError:
        value = None
    body = value if isinstance(value, dict) else {}
    if answer.status_code == 200 and isinstance(body.get("id"), str):
        return Sent(body["id"], str(body.get("path", "")))
    error = body.get("error")
    said = error.get("message") if isinstance(error, dict) else None
    raise UserError(f"the proxy refused: {said}" if said else f"the proxy answered HTTP {answer.status_code}")
