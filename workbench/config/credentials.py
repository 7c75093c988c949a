"""Secrets of an upstream: named in the file, kept in the environment."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from workbench.config.values import sendable
from workbench.errors import UserError

_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def api_key(variable: str | None) -> str | None:
    """The key in that variable; None when there is none."""
    return None if variable is None else _value(variable)


def filled(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers with `${NAME}` replaced. One that names an unset variable is left out: sent without its
    secret it would only confuse the server."""
    return {
        name: _REFERENCE.sub(lambda match: _value(match[1]) or "", text)
        for name, text in headers.items()
        if not unset(text)
    }


def secrets(headers: Mapping[str, str]) -> tuple[str, ...]:
    """What the headers take from the environment: it is never to be recorded, whatever they are called."""
    named = {variable: _value(variable) for text in headers.values() for variable in _REFERENCE.findall(text)}
    return tuple(value for value in named.values() if value)


def unset(text: str) -> list[str]:
    """The variables that a header's text names and that are not set."""
    return [variable for variable in _REFERENCE.findall(text) if _value(variable) is None]


def _value(variable: str) -> str | None:
    # A line break at its end comes from the file that the variable was filled from.
    value = os.environ.get(variable, "").strip()
    if not sendable(value):
        raise UserError(f"the value of {variable} has characters that cannot be sent in a header")
    return value or None
