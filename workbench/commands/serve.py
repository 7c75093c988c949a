"""`workbench serve`: the proxy without a screen."""

from __future__ import annotations

from workbench.config.reading import read_settings
from workbench.config.settings import Flags, Settings
from workbench.errors import UserError
from workbench.output import say, write
from workbench.proxy.guard import is_loopback


def serve(flags: Flags) -> int:
    """Run it. What is wrong with the settings is said before anything is opened."""
    settings = read_settings(flags)
    check(settings)
    from workbench.proxy.server import serve as run

    return run(settings, lambda url: _announce(settings, url))


def check(settings: Settings) -> None:
    if not settings.upstreams:
        raise UserError(
            "there is no upstream to talk to: name one with --upstream http://127.0.0.1:8000/v1 --dialect "
            "roo-xml, or write a workbench.toml with `workbench init`"
        )
    if not is_loopback(settings.listen) and settings.token is None:
        raise UserError(
            f"on {settings.listen} others can reach this proxy, and with it your models and keys: that needs "
            "a token (--token, or WORKBENCH_TOKEN), which clients then send as their API key"
        )


def _announce(settings: Settings, url: str) -> None:
    upstream = settings.upstreams[settings.default] if settings.default else None
    where = f" -> {upstream.url} ({upstream.dialect})" if upstream is not None else ""
    write(f"workbench serves {url}{where}; tapes in {settings.library}\n".encode())
    for warning in settings.warnings:
        say(f"warning: {warning}", "yellow")
