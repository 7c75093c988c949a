"""Text from elsewhere, made fit to be shown: control characters as visible escapes, and short quotes of it
for our sentences. Whatever a model, a client or a server wrote goes through here before a terminal or a
line of a tape gets it.
"""

from __future__ import annotations

import json
import os
import re
import sys
from typing import IO, Any

import typer

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


def json_text(value: Any, indent: int | None = None) -> str:
    """JSON that reads back as the same value, non-ASCII as it is, safe to print and to encode as UTF-8.

    The standard library and not orjson: integers of any length and lone surrogates have to survive.
    """
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return _IN_JSON.sub(lambda match: json.dumps(match[0])[1:-1], text)


_MOST = 60
_MARK = "…"
# With which the sentences of the catalogues begin, where they do not begin with a name.
_WORDS = frozenset(
    "a an behind half in it its message only something the there they this two upstream with without".split()
)
# What may stand between < and > of a tag or a token; longer ones are cut like any text.
_LONGEST_TAG = 40
_OPEN_TAG = re.compile(rf"<[^<>]{{0,{_LONGEST_TAG}}}\Z")
_REST_OF_TAG = re.compile(rf"[^<>]{{0,{_LONGEST_TAG}}}>")


def quote(text: str, most: int = _MOST) -> str:
    """The text in quotation marks, its middle left out where it is long."""
    return f"“{shortened(text, most)}”"


def shortened(text: str, most: int = _MOST) -> str:
    """Beginning and end; a tag is left out as a whole or not at all, for half of one reads as another."""
    if len(text) <= most:
        return text
    size = (most - len(_MARK)) // 2
    return whole_tags_before(text[:size]) + _MARK + whole_tags_behind(text[-size:])


def beginning(text: str, most: int = _MOST) -> str:
    """The first characters in quotation marks."""
    cut = text if len(text) <= most else whole_tags_before(text[: most - len(_MARK)]) + _MARK
    return f"“{cut}”"


def ending(text: str, most: int = _MOST) -> str:
    """The last characters in quotation marks."""
    cut = text if len(text) <= most else _MARK + whole_tags_behind(text[len(_MARK) - most :])
    return f"“{cut}”"


def whole_tags_before(text: str) -> str:
    """Without a tag that begins at the end and does not end there."""
    return _OPEN_TAG.sub("", text) or text


def whole_tags_behind(text: str) -> str:
    """Without the end of a tag that does not begin here."""
    return _REST_OF_TAG.sub("", text, count=1) if _REST_OF_TAG.match(text) else text


def capital(text: str) -> str:
    """As the beginning of a sentence; a name stays as it is written."""
    return text[:1].upper() + text[1:] if text.split(" ", 1)[0] in _WORDS else text


def listed(words: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def say(text: str, colour: str | None = None) -> None:
    """One line to standard error, its first word in colour on a terminal that wants it."""
    if sys.stderr is None:
        return
    line = visible_line(text)
    if colour and sys.stderr.isatty() and not os.environ.get("NO_COLOR"):
        head, space, rest = line.partition(" ")
        line = typer.style(head, fg=colour) + space + rest
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:
        abandon(sys.stderr)


def abandon(stream: IO[str]) -> None:
    # Python flushes once more when it exits and would complain: let that go nowhere.
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
