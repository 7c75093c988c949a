"""Text and JSON from elsewhere, made fit for a terminal: control characters become visible escapes. And lines
on standard error.

Whatever a model, a client or a server wrote goes through here before a terminal or a line of a tape gets it.
"""

from __future__ import annotations

import json
import os
import re
import sys
from codecs import BOM_UTF8
from collections.abc import Mapping
from datetime import datetime
from typing import IO, Any, Literal

import orjson

from transformer.jsontext import begins_object, has_long_number, parse, parse_leniently

# -- what can be shown

# C1 controls, line separators, zero-width and bidirectional controls, tags, and lone surrogates, which cannot
# even be written as UTF-8. The zero-width joiners are left alone: emoji and several scripts need them.
_HIDDEN = (
    "\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f"
)
_IN_JSON = re.compile(f"[{_HIDDEN}]")
_IN_LINE = re.compile(f"[\x00-\x1f{_HIDDEN}]")
_IN_TEXT = re.compile(f"[\x00-\x09\x0b-\x1f{_HIDDEN}]")


def _escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")


def visible_line(text: str) -> str:
    """One line that stays one line: line breaks are escaped, too."""
    return _IN_LINE.sub(_escape, text)


def visible_text(text: str) -> str:
    """Text in which only line feeds keep their effect."""
    return _IN_TEXT.sub(_escape, text)


def is_visible(text: str) -> bool:
    """Whether JSON holds this text as it is: no character of it would be escaped beyond what JSON demands."""
    return _IN_JSON.search(text) is None


# The sign before the sentence of a verdict or a finding, by its level.
SIGNS: Mapping[str, str] = {"error": "✖", "warning": "▲", "info": "●", "good": "✔", "running": "◌"}


def counted(number: int, noun: str) -> str:
    """`1 read`, `2,000 reads`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def date_and_time(seconds: float) -> str:
    """A moment, in seconds since 1970, on the user's clock: `2026-11-16 12:03:04`."""
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M:%S")


# -- HTTP

_REASONS = {
    400: "Bad Request", 401: "Unauthorized", 402: "Payment Required", 403: "Forbidden", 404: "Not Found",
    405: "Method Not Allowed", 408: "Request Timeout", 409: "Conflict", 413: "Content Too Large",
    415: "Unsupported Media Type", 422: "Unprocessable Content", 429: "Too Many Requests",
    500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable",
    504: "Gateway Timeout", 529: "Overloaded",
}  # fmt: skip


def status_text(status: int | None) -> str:
    """A status with its name: `429 Too Many Requests`."""
    return "no status" if status is None else f"{status} {_REASONS.get(status, '')}".rstrip()


# -- JSON


def json_text(value: Any, indent: int | None = None) -> str:
    """JSON that reads back as the same value, non-ASCII as it is, safe to print and to encode as UTF-8.

    The standard library and not orjson: integers of any length and lone surrogates have to survive.
    """
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return _IN_JSON.sub(lambda match: json.dumps(match[0])[1:-1], text)


def json_object(data: bytes, errors: Literal["strict", "replace"] = "strict") -> dict[str, Any] | None:
    """The JSON object that these bytes are, a byte order mark aside; None where they are anything else.

    Lone surrogates, NaN and long integers are read as they are. With `errors` "replace", bytes that are not
    UTF-8 become U+FFFD instead of spoiling the rest.
    """
    if data[:1] == b"{" and not has_long_number(data):
        try:  # nearly all input is valid
            return orjson.loads(data)  # type: ignore[no-any-return]
        except orjson.JSONDecodeError:
            pass
    if not begins_object(data):
        return None
    data = data.removeprefix(BOM_UTF8)
    parsed = parse_leniently(data) if has_long_number(data) else parse(data)
    refused = parsed.repaired is not None and errors == "strict"
    return parsed.value if isinstance(parsed.value, dict) and not refused else None


# -- standard error

_COLOURS = {"red": 31, "green": 32, "yellow": 33, "cyan": 36}


def coloured(text: str, colour: str) -> str:
    """For a terminal."""
    return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m"


def say(text: str, colour: str | None = None) -> None:
    """One line to standard error, its first word in colour on a terminal that wants it."""
    if sys.stderr is None:
        return
    line = visible_line(text)
    if colour and sys.stderr.isatty() and not os.environ.get("NO_COLOR"):
        head, space, rest = line.partition(" ")
        line = coloured(head, colour) + space + rest
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:
        abandon(sys.stderr)


def abandon(stream: IO[str]) -> None:
    """Its reader is gone. Python flushes it again on exit, and would complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
