"""Markers as patterns: how one looks when it is whole, and how it looks while it is still arriving.

A lexicon needs both: a whole marker is a token, and a beginning of one at the end of a piece is held back.
Here a marker is put together from parts, and the pattern of its beginnings follows from them. Every part has
a bounded length, so that nothing is held back without end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

GAP = r"\s{0,64}"  # whitespace between two markers; more of it is text
_NAME_GROUP = "(?P<name>"


class Part(NamedTuple):
    """A pattern, the pattern of its proper prefixes, and the characters that it may begin with.

    If every prefix is itself a complete match (whitespace, a name), none is reported.
    """

    whole: str
    begun: str = ""
    firsts: str = ""  # as in a set of a pattern


SPACE = Part(GAP)


def word(*texts: str) -> Part:
    """One of these texts; the longer one if one is a prefix of the other."""
    ordered = sorted(texts, key=len, reverse=True)
    begun = [_beginnings(text) for text in ordered if len(text) > 1]
    firsts = "".join(dict.fromkeys(re.escape(text[0]) for text in ordered))
    return Part(_any(map(re.escape, ordered)), _any(begun), firsts)


def name(pattern: str, begun: str = "", firsts: str = "") -> Part:
    """The name in a marker; a marker has at most one."""
    return Part(f"{_NAME_GROUP}{pattern})", begun, firsts)


def joined(*parts: Part | str) -> Part:
    """One after the other."""
    each = [part if isinstance(part, Part) else word(part) for part in parts]
    begun = each[-1].begun
    for part in reversed(each[:-1]):
        begun = _any(filter(None, (part.begun, f"{part.whole}(?:{begun})?" if begun else part.whole)))
    firsts = ""
    for part in each:
        firsts += part.firsts
        if re.match(part.whole, "") is None:
            break
    return Part("".join(part.whole for part in each), begun, firsts)


def either(*parts: Part | str) -> Part:
    """Any of them; the first that fits."""
    each = [part if isinstance(part, Part) else word(part) for part in parts]
    firsts = "".join(dict.fromkeys(part.firsts for part in each))
    return Part(_any(part.whole for part in each), _any(part.begun for part in each if part.begun), firsts)


def maybe(part: Part) -> Part:
    return Part(f"(?:{part.whole})?", part.begun, part.firsts)


def some(text: str, most: int = 3) -> Part:
    """The same text up to this many times, with whitespace between: models double markers."""
    one = word(text)
    whole = f"{one.whole}(?:{GAP}{one.whole}){{0,{most - 1}}}+"
    return Part(whole, f"(?:{one.whole}{GAP}){{0,{most - 1}}}{one.begun}", one.firsts)


class Marker(NamedTuple):
    """A marker of a dialect: its parts, how it is shown to people, and what of that follows its name."""

    parts: tuple[Part, ...]
    shown: str
    after: str

    @property
    def part(self) -> Part:
        return joined(*self.parts)

    def around_name(self) -> tuple[re.Pattern[str], re.Pattern[str]]:
        """The whole text before the name, and what may follow it so far."""
        at = next(number for number, part in enumerate(self.parts) if _NAME_GROUP in part.whole)
        before, after = joined(*self.parts[:at]), joined(*self.parts[at + 1 :])
        return re.compile(before.whole), re.compile(begun_pattern(after, or_nothing=True))


def marker(*parts: Part | str, shown: str = "") -> Marker:
    """A marker of texts and other parts. By default it is shown as its texts with "name" between them."""
    texts = [part if isinstance(part, str) else "name" if _NAME_GROUP in part.whole else "" for part in parts]
    each = tuple(part if isinstance(part, Part) else word(part) for part in parts)
    at = next((number for number, part in enumerate(each) if _NAME_GROUP in part.whole), len(each))
    return Marker(each, shown or "".join(texts), "".join(texts[at + 1 :]))


def begun_pattern(*parts: Part, or_nothing: bool = False) -> str:
    """Whether all of a text is a beginning of one of these."""
    begun = either(*parts).begun
    return f"(?:{_unnamed(begun)}){'?' if or_nothing else ''}\\Z"


def token_pattern(parts: Mapping[str, Part]) -> str:
    """One pattern for all, in order: the last group of a match is the key, `key_name` the name in it."""
    own = (part.whole.replace(_NAME_GROUP, f"(?P<{key}_name>") for key, part in parts.items())
    return "|".join(f"(?P<{key}>{whole})" for key, whole in zip(parts, own, strict=True))


def _any(patterns: Iterable[str]) -> str:
    each = list(patterns)
    return each[0] if len(each) == 1 else f"(?:{'|'.join(each)})" if each else ""


def _unnamed(pattern: str) -> str:
    return pattern.replace(_NAME_GROUP, "(?:")


def _beginnings(text: str) -> str:
    """A greedy pattern for every proper prefix: `ab(?:c)?` for `abcd`."""
    pattern = ""
    for char in reversed(text[1:-1]):
        pattern = f"(?:{re.escape(char)}{pattern})?"
    return re.escape(text[0]) + pattern
