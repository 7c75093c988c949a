"""What every client has to know about the proxy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from workbench.config.keys import PLAIN, UPSTREAM
from workbench.config.settings import Settings
from workbench.errors import UserError

TOKEN_VARIABLE = PLAIN["token"].variable
PLACEHOLDER = "workbench"  # clients insist on a key; the proxy does not look at this one
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`token` says that the proxy wants one; `keyless` are upstreams that get the client's own API key."""

    url: str
    models: tuple[str, ...] = ()
    token: bool = False
    keyless: tuple[str, ...] = ()

    @property
    def model(self) -> str:
        """A model for an example."""
        return self.models[0] if self.models else "MODEL"


def endpoint(settings: Settings, url: str | None = None, models: Sequence[str] = ()) -> Endpoint:
    """The proxy as the settings have it; a URL and models that were given win."""
    for model in models:
        if not model.strip() or not model.isprintable():
            raise UserError(f"--model: {model!r} is no name of a model")
    known = tuple(dict.fromkeys(models)) or _models(settings)
    keyless = tuple(name for name, upstream in settings.upstreams.items() if not upstream.api_key_env)
    return Endpoint(_url(settings, url), known, settings.token is not None, keyless)


def _url(settings: Settings, url: str | None) -> str:
    if url is not None:
        base: str = UPSTREAM["url"].read(url, "--url")
        return base if urlsplit(base).path else f"{base}/v1"
    if settings.port == 0:
        raise UserError("the port is 0, any that is free: give as --url what `workbench serve` printed")
    host = f"[{settings.listen}]" if ":" in settings.listen else settings.listen
    return f"http://{_EVERYWHERE.get(settings.listen, host)}:{settings.port}/v1"


def _models(settings: Settings) -> tuple[str, ...]:
    """The names that clients may use, as far as the settings have them; a pattern is no name."""
    upstreams = settings.upstreams.values()
    exact = [name for upstream in upstreams for name in [*upstream.models, *upstream.serves]]
    return tuple(dict.fromkeys(name for name in exact if not set(name) & set("*?[")))
