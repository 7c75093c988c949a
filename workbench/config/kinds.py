"""The kinds of values in the configuration: how each is read from what a TOML file holds, how it is shown,
and what is wanted when it does not fit. And names that must exist.
"""

from __future__ import annotations

import difflib
import errno
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from transformer.dialects import BUILTIN_TEMPLATES
from transformer.frontends import FRONTENDS
from transformer.policy import CHOICES, Policy, PolicyError
from transformer.upstreams import UnknownKind, find_kind
from workbench.errors import UserError
from workbench.tape.recipe import known_dialect, spoken_dialect


@dataclass(frozen=True, slots=True)
class Kind:
    """`wanted` completes the sentence "KEY is …"; `parse` makes of a text what a TOML file would hold."""

    wanted: str
    read: Callable[[Any], Any]
    parse: Callable[[str], Any] = str
    show: Callable[[Any], str] = str


class Unfit(ValueError):
    """A value that does not fit; the text, if any, is the whole complaint about it."""


# -- names that must exist


class UnknownName(ValueError):
    """A name that does not exist, in a sentence with the nearest one that does."""


def nearest(name: str, known: Iterable[str], cutoff: float = 0.5) -> str | None:
    """The known name that was probably meant."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=cutoff)
    return near[0] if near else None


def check_name(names: Iterable[str], known: Iterable[str], noun: str = "key") -> None:
    """An unknown key would be silently ignored; report it, and which one was probably meant."""
    known = list(known)
    for name in names:
        if name not in known:
            near = nearest(name, known)
            hint = f"did you mean {near}?" if near else f"there are {', '.join(known)}"
            raise UnknownName(f"there is no {noun} {name!r}; {hint if known else 'there is none at all'}")


# -- how a value is read

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# The connection is responsible for framing; a fixed value would contradict what is really sent.
_FRAMING = {"connection", "content-length", "transfer-encoding"}


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise Unfit
    return value


def _token(value: Any) -> str:
    """What clients send as a credential in a header."""
    if not sendable(_text(value)) or " " in value:
        raise Unfit
    return _text(value)


def _whole_number(low: int, high: float = math.inf) -> Callable[[Any], int]:
    """A reader of whole numbers between two bounds."""

    def read(value: Any) -> int:
        # Python takes true for 1.
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise Unfit
        return value

    return read


def _amount(value: Any) -> float:
    """From 0; TOML also has inf and nan."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise Unfit
    return value


def _positive(value: Any) -> float:
    """More than nothing."""
    if _amount(value) == 0:
        raise Unfit
    return _amount(value)


def _size(value: Any) -> int:
    """A number of bytes; "2 GiB", "2g" and "2 GB" are the same."""
    if isinstance(value, str) and (match := _SIZE.fullmatch(value.strip())):
        value = int(float(match[1]) * _UNITS[match[2].lower()])
    return _whole_number(1)(value)


def _names(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise Unfit
    return tuple(map(_text, value))


def _patterns(value: Any) -> tuple[str, ...]:
    """Regular expressions that compile."""
    for pattern in _names(value):
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            raise Unfit(f"{pattern!r} is not a regular expression: {error}") from None
    return _names(value)


def _dialect(value: Any) -> str:
    try:
        return known_dialect(value)
    except UserError as error:
        raise Unfit(error.message) from None


def _address(value: Any) -> str:
    """A host to listen at; an IPv6 address with or without its brackets."""
    host = _text(value)
    if re.search(r"[/\s@]", host):
        raise Unfit
    if host.count(":") == 1 or "]:" in host:
        raise Unfit(f"{host!r} holds a port; the port has a key of its own")
    return host.removeprefix("[").removesuffix("]")


def _url(value: Any) -> str:
    """The URL below which an API is, without a slash at its end."""
    url = _text(value).strip()
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:  # it quotes the rejected text, which may be a secret
        raise Unfit("this is not a URL: its host or its port cannot be read") from None
    if "@" in parts.netloc:
        # Not repeated in the message: it would be a password in a log.
        raise Unfit("a URL with a user or a password is refused; api_key_env and headers are for credentials")
    if parts.scheme not in ("http", "https") or not parts.hostname or not sendable(url) or " " in url:
        raise Unfit
    if parts.query or parts.fragment:
        raise Unfit("the URL has a query or a fragment; a base URL ends with its path")
    if parts.path.rstrip("/").endswith("/chat/completions"):
        raise Unfit("this is the URL of one endpoint; the base URL is the part before /chat/completions")
    return url.rstrip("/")


def _path(value: Any) -> Path:
    name = _text(value)
    if "\0" in name:
        raise Unfit
    try:
        path = Path(name).expanduser()
    except RuntimeError as error:  # the home of a user that does not exist
        raise Unfit(f"{name!r}: {error}") from None
    try:
        path.lstat()
    except OSError as error:  # a missing file would be created, but this cannot be
        if error.errno == errno.ENAMETOOLONG:
            raise Unfit(f"a name of {len(name)} characters is too long for a file or a folder") from None
    return path


def _table(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Unfit
    return value


def _texts(value: Any) -> dict[str, str]:
    return {_text(name): _text(part) for name, part in _table(value).items()}


def _variable(value: Any) -> str:
    """The name of an environment variable, which is often mistaken for its value."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", _text(value)):
        # Not repeated in the message: it may be the key itself.
        raise Unfit(
            "this is not the name of an environment variable; the key itself belongs in that variable"
        )
    return _text(value)


def _headers(value: Any) -> dict[str, str]:
    """Names and values that can be sent; their values may be secrets, so no message repeats one."""
    try:
        found = _texts(value)
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


def _body(value: Any) -> dict[str, Any]:
    """A table that can become part of a JSON body."""
    for name, part in _table(value).items():
        if not _is_json(part):
            raise Unfit(f"{name} has a value that JSON does not know, such as a date")
    return _table(value)


def _is_json(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_is_json, value.values()))
    if isinstance(value, list):
        return all(map(_is_json, value))
    return isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))


def _policy(value: Any) -> Policy:
    try:
        check_name(_table(value), Policy.__dataclass_fields__, "switch")
        return Policy.from_mapping(value)
    except (UnknownName, PolicyError, TypeError) as error:
        raise Unfit(str(error)) from None


def _prompts(value: Any) -> dict[str, Path]:
    """Files by dialect; one that is named as `module:NAME` may have a template as well."""
    try:
        check_name([name for name in _table(value) if ":" not in name], BUILTIN_TEMPLATES)
    except UnknownName as error:
        raise Unfit(str(error)) from None
    return {_dialect(name) if ":" in name else name: _path(file) for name, file in value.items()}


def _spoken(value: Any) -> dict[str, str]:
    """Dialects by the beginning of a model's name."""
    try:
        return {start.lower(): spoken_dialect(name) for start, name in _texts(value).items()}
    except UserError as error:
        raise Unfit(error.message) from None


def _choice(value: Any) -> str | None:
    """What to send as tool_choice; TOML has no null, so a word stands for none."""
    return None if _text(value) == "omit" else _text(value)


def _convert(value: Any) -> str:
    if value not in CHOICES["convert"]:
        raise Unfit
    return _text(value)


def _format(value: Any) -> str:
    if value not in ("keep", "drop"):
        raise Unfit
    return str(value)


def _kind(value: Any) -> str:
    try:
        return find_kind(_text(value)).name
    except UnknownKind as error:
        raise Unfit(str(error)) from None


def _parent(value: Any) -> str:
    if value not in ("parent_id", "response_id"):
        raise Unfit
    return str(value)


def _apis(value: Any) -> tuple[str, ...]:
    names = _names(value)
    known = [name for name, frontend in FRONTENDS.items() if not frontend.relays]
    for name in names:
        if name not in known:
            raise Unfit(f"there is no API {name!r}; there are {', '.join(known)}")
    return names


def _switch(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Unfit
    return value


# -- how a text becomes a value, and a value a text


def _number(text: str) -> Any:
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def _commas(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _shown_size(size: int) -> str:
    for unit in "tgmk":
        if size % _UNITS[unit] == 0:
            return f"{size // _UNITS[unit]} {unit.upper()}iB"
    return f"{size} bytes"


def _seconds(value: float) -> str:
    return f"{value:g} s"


def _listed(value: tuple[str, ...]) -> str:
    return ", ".join(value)


def _paired(value: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {part}" for name, part in value.items())


# -- the kinds

TEXT = Kind("a text", _text)
TOKEN = Kind("a text of ASCII characters without blanks", _token)
NAME = Kind("the name of an upstream", _text)
DIALECT = Kind("the name of a dialect", _dialect)
VARIABLE = Kind("the name of an environment variable", _variable)
CHOICE = Kind('a tool_choice or "omit"', _choice)
KIND = Kind("a kind of upstream", _kind)
PARENT = Kind('"parent_id" or "response_id"', _parent)
SWITCH = Kind("true or false", _switch, show=lambda value: str(value).lower())
HOURS = Kind("a number of hours above 0", _positive, _number, lambda value: f"{value:g} h")
RETRIES = Kind("a whole number from 0", _whole_number(0, 10), _number)
CONVERT = Kind('"tools" or "always"', _convert)
FORMAT = Kind('"keep" or "drop"', _format)
APIS = Kind("a list of APIs", _apis, _commas, _listed)
ADDRESS = Kind("an address without a port", _address)
URL = Kind("a base URL that begins with http:// or https://", _url)
PATH = Kind("a path", _path)
PORT = Kind("a whole number from 0 to 65535", _whole_number(0, 65535), _number)
COUNT = Kind("a whole number from 1", _whole_number(1), _number)
SECONDS = Kind("a number of seconds", _amount, _number, _seconds)
INTERVAL = Kind("a number of seconds above 0", _positive, _number, _seconds)
DAYS = Kind("a number of days above 0", _positive, _number, lambda value: f"{value:g} days")
SIZE = Kind("a size", _size, _number, _shown_size)
NAMES = Kind("a list of texts", _names, _commas, _listed)
# One a line in the environment: a regular expression may well hold a comma.
PATTERNS = Kind("a list of regular expressions", _patterns, _lines, _listed)
MODELS = Kind("a table of two names each", _texts, show=_paired)
SPOKEN = Kind("a table of beginnings of names and dialects", _spoken, show=_paired)
HEADERS = Kind("a table of names and texts", _headers, show=_listed)
BODY = Kind("a table", _body, show=_paired)
POLICY = Kind("a table of switches", _policy)
PROMPTS = Kind("a table of dialects and files", _prompts, show=_paired)
