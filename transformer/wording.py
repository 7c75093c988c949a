"""Wording: short quotations inside one of our sentences, and lists of words."""

from __future__ import annotations

import re

_MOST = 60
_MARK = "…"
# First words of the catalogues' sentences that do not begin with a name.
_WORDS = frozenset(
    "a after an half in it its message only something the there they this two upstream with without".split()
)
# What may be between < and > of a tag or a token; longer ones are cut like any text.
_LONGEST_TAG = 40
_OPEN_TAG = re.compile(rf"<[^<>]{{0,{_LONGEST_TAG}}}\Z")
_REST_OF_TAG = re.compile(rf"[^<>]{{0,{_LONGEST_TAG}}}>")


def quote(text: str, most: int = _MOST) -> str:
    """The text in quotation marks, its middle left out where it is long."""
    return f"“{shortened(text, most)}”"


def shortened(text: str, most: int = _MOST) -> str:
    """Beginning and end; a tag is left out as a whole or not at all, since half of one reads as another."""
    if len(text) <= most:
        return text
    size = (most - len(_MARK)) // 2
    return whole_tags_before(text[:size]) + _MARK + whole_tags_after(text[-size:])


def beginning(text: str, most: int = _MOST) -> str:
    """The first characters in quotation marks."""
    cut = text if len(text) <= most else whole_tags_before(text[: most - len(_MARK)]) + _MARK
    return f"“{cut}”"


def ending(text: str, most: int = _MOST) -> str:
    """The last characters in quotation marks."""
    cut = text if len(text) <= most else _MARK + whole_tags_after(text[len(_MARK) - most :])
    return f"“{cut}”"


def whole_tags_before(text: str) -> str:
    """Without a tag that begins at the end and does not end there."""
    return _OPEN_TAG.sub("", text) or text


def whole_tags_after(text: str) -> str:
    """Without the end of a tag that does not begin here."""
    return _REST_OF_TAG.sub("", text, count=1) if _REST_OF_TAG.match(text) else text


def capital(text: str) -> str:
    """As the beginning of a sentence; a name stays as it is written."""
    return text[:1].upper() + text[1:] if text.split(" ", 1)[0] in _WORDS else text


def listed(words: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
