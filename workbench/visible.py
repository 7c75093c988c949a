"""Untrusted text made fit for a terminal: what would steer it becomes visible escapes."""

from __future__ import annotations

import json
import re
from typing import Any

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
