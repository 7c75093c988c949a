"""The reading of one value: what a TOML file holds becomes what the program needs, or is refused; and names
that must exist.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from transformer.policy import Policy, PolicyError
from transformer.request.prompt import BUILTIN_TEMPLATES
from workbench.errors import UserError
from workbench.tape.recipe import known_dialect


class UnknownName(ValueError):
    """A name that does not exist, in a sentence with the nearest one that does."""


def nearest(name: str, known: Iterable[str], cutoff: float = 0.5) -> str | None:
    """The known name that was probably meant."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=cutoff)
    return near[0] if near else None


def check_name(names: Iterable[str], known: Iterable[str], noun: str = "key") -> None:
    """A key that does not exist would be ignored for ever; better say so, and which one was meant."""
    known = list(known)
    for name in names:
        if name not in known:
            near = nearest(name, known)
            hint = f"did you mean {near}?" if near else f"there are {', '.join(known)}"
            raise UnknownName(f"there is no {noun} {name!r}; {hint if known else 'there is none at all'}")


UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# Framing is the business of the connection; a fixed value would contradict what is really sent.
_FRAMING = {"connection", "content-length", "transfer-encoding"}


class Unfit(ValueError):
    """A value that does not fit; the text, if any, is the whole complaint about it."""


def text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise Unfit
    return value


def token(value: Any) -> str:
    """What clients send as a credential in a header."""
    if not sendable(text(value)) or " " in value:
        raise Unfit
    return text(value)


def whole(low: int, high: float = math.inf) -> Callable[[Any], int]:
    """A reader of whole numbers between two bounds."""

    def read(value: Any) -> int:
        # Python takes true for 1.
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise Unfit
        return value

    return read


def amount(value: Any) -> float:
    """From 0; TOML also has inf and nan."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise Unfit
    return value


def some(value: Any) -> float:
    """More than nothing."""
    if amount(value) == 0:
        raise Unfit
    return amount(value)


def size(value: Any) -> int:
    """A number of bytes; "2 GiB", "2g" and "2 GB" are the same."""
    if isinstance(value, str) and (match := _SIZE.fullmatch(value.strip())):
        value = int(float(match[1]) * UNITS[match[2].lower()])
    return whole(1)(value)


def names(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise Unfit
    return tuple(map(text, value))


def patterns(value: Any) -> tuple[str, ...]:
    """Regular expressions that compile."""
    for pattern in names(value):
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            raise Unfit(f"{pattern!r} is not a regular expression: {error}") from None
    return names(value)


def dialect(value: Any) -> str:
    try:
        return known_dialect(value)
    except UserError as error:
        raise Unfit(error.message) from None


def address(value: Any) -> str:
    """A host to listen at; an IPv6 address with or without its brackets."""
    host = text(value)
    if re.search(r"[/\s@]", host):
        raise Unfit
    if host.count(":") == 1 or "]:" in host:
        raise Unfit(f"{host!r} holds a port; the port has a key of its own")
    return host.removeprefix("[").removesuffix("]")


def base_url(value: Any) -> str:
    """The URL below which an API is, without a slash at its end."""
    url = text(value).strip()
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise Unfit(f"this is not a URL: {error}") from None
    if "@" in parts.netloc:
        # Not repeated in the message: it would be a password in a log.
        raise Unfit("a URL with a user or a password is refused; api_key_env and headers are for credentials")
    if parts.scheme not in ("http", "https") or not parts.hostname or not sendable(url) or " " in url:
        raise Unfit
    if parts.query or parts.fragment:
        raise Unfit(f"{url!r} has a query or a fragment; a base URL ends with its path")
    if parts.path.rstrip("/").endswith("/chat/completions"):
        raise Unfit(f"{url!r} is one endpoint; the base URL is what stands before /chat/completions")
    return url.rstrip("/")


def path(value: Any) -> Path:
    name = text(value)
    if "\0" in name:
        raise Unfit
    try:
        return Path(name).expanduser()
    except RuntimeError as error:  # the home of a user that does not exist
        raise Unfit(f"{name!r}: {error}") from None


def table(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Unfit
    return value


def texts(value: Any) -> dict[str, str]:
    return {text(name): text(part) for name, part in table(value).items()}


def variable(value: Any) -> str:
    """The name of an environment variable, which is often mistaken for its value."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text(value)):
        # Not repeated in the message: it may be the key itself.
        raise Unfit(
            "this is not the name of an environment variable; the key itself belongs in that variable"
        )
    return text(value)


def headers(value: Any) -> dict[str, str]:
    """Names and values that can be sent; their values may be secrets, so no message repeats one."""
    try:
        found = texts(value)
    except Unfit:
        raise Unfit("headers is a table of names and texts") from None
    for name, part in found.items():
        if not _HEADER_NAME.fullmatch(name) or name.lower() in _FRAMING:
            raise Unfit(f"{name!r} cannot be sent as a header")
        if not sendable(part):
            raise Unfit(f"the value of {name} has characters that cannot be sent in a header")
    return found


def sendable(part: str) -> bool:
    """Whether a text may be the value of a header."""
    return part.isascii() and part.isprintable()


def body(value: Any) -> dict[str, Any]:
    """A table that can become part of a JSON body."""
    for name, part in table(value).items():
        if not _is_json(part):
            raise Unfit(f"{name} has a value that JSON does not know, such as a date")
    return table(value)


def _is_json(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_is_json, value.values()))
    if isinstance(value, list):
        return all(map(_is_json, value))
    return isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))


def policy(value: Any) -> Policy:
    try:
        check_name(table(value), Policy.__dataclass_fields__, "switch")
        return Policy.from_mapping(value)
    except (UnknownName, PolicyError, TypeError) as error:
        raise Unfit(str(error)) from None


def prompts(value: Any) -> dict[str, Path]:
    """Files by dialect; one that is named as `module:NAME` may have a template as well."""
    try:
        check_name([name for name in table(value) if ":" not in name], BUILTIN_TEMPLATES)
    except UnknownName as error:
        raise Unfit(str(error)) from None
    return {dialect(name) if ":" in name else name: path(file) for name, file in value.items()}


def choice(value: Any) -> str | None:
    """What to send as tool_choice; TOML has no null, so a word says: nothing."""
    return None if text(value) == "omit" else text(value)
