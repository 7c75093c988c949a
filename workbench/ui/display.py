"""Untrusted text on the screen: control characters are shown, never obeyed.

Nothing in Textual or Rich makes ESC, C1 controls, NUL or bidirectional characters harmless, and a plain `str`
may be parsed as markup. So whatever comes from a stream, a tape or a file passes through here and leaves as
segments or as `Content`.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.content import Content
from textual.filter import LineFilter
from textual.strip import Strip

from workbench.text import SIGNS, visible_line, visible_text

Pieces: TypeAlias = list[tuple[str, str]]  # a row: text, and the name of its look

# Frequent and harmless: a one-cell sign reads better than an escape. It is dimmed, unlike the same sign in
# the text.
SIGNS_OF_BREAKS = {"\n": "↵", "\t": "⇥", "\r": "␍"}
# Everything that is not simply drawn: found in one go, so that ordinary text costs one search.
_ODD = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_ESCAPED = Style(reverse=True)
_SIGN = Style(dim=True)
# Longer than any terminal is wide: the rest of a text cannot be seen anyway.
LONGEST = 4000
# Characters that may share a cell before the rest of a text is left out.
_CROWDED = 4


def segments(text: str, style: Style) -> Iterator[Segment]:
    """One line of it, escapes in reverse."""
    at = 0
    for match in _ODD.finditer(text):
        if match.start() > at:
            yield Segment(text[at : match.start()], style)
        sign = SIGNS_OF_BREAKS.get(match[0])
        if sign is not None:
            yield Segment(sign, style + _SIGN)
        else:
            yield Segment(visible_line(match[0]), style + _ESCAPED)
        at = match.end()
    if at < len(text):
        yield Segment(text[at:], style)


def cells(character: str) -> int:
    """How wide a character is once it is made safe."""
    if character.isprintable() and character != "\ufe0f":
        return cell_len(character)
    return 1 if character in SIGNS_OF_BREAKS else len(visible_line(character))


def strip_of(pieces: Iterable[tuple[str, Style]], width: int, fill: Style) -> Strip:
    """One line of a widget: cut where it is full, padded where it is not."""
    made: list[Segment] = []
    used = 0
    for text, style in pieces:
        for segment in segments(text[:LONGEST], style):
            length = cell_len(segment.text)
            if used + length > width:
                made.append(Segment(_shortened(segment.text, width - used), segment.style))
                return Strip(made, width)
            made.append(segment)
            used += length
    if used < width:
        made.append(Segment(" " * (width - used), fill))
    return Strip(made, width)


def _shortened(text: str, width: int) -> str:
    """The last cell says that there is more."""
    return set_cell_size(text, width - 1) + "…" if width > 0 else ""


def wrapped(pieces: Iterable[tuple[str, Style]], width: int, most: int, fill: Style) -> list[Strip]:
    """Several lines of a widget, up to a limit; the last says when there is more."""
    lines: list[list[Segment]] = [[]]
    used = 0
    for text, style in shortened(pieces, _CROWDED * width * most):
        for segment in segments(text, style):
            rest = segment.text
            while rest:
                room = width - used
                part, rest = _split(rest, room)
                if part:
                    lines[-1].append(Segment(part, segment.style))
                    used += cell_len(part)
                if rest:
                    if len(lines) == most:
                        return [_padded(line, width, fill, more=line is lines[-1]) for line in lines]
                    lines.append([])
                    used = 0
    return [_padded(line, width, fill) for line in lines]


def shortened(pieces: Iterable[tuple[str, Style]], most: int) -> Iterator[tuple[str, Style]]:
    """Not more characters than that: measuring a megabyte takes longer than a frame may."""
    for text, style in pieces:
        if len(text) > most:
            yield f"{text[:most]}…", style
            return
        yield text, style
        most -= len(text)


def sentence(text: str, style: Style, width: int, most: int, fill: Style) -> list[Strip]:
    """A sentence of the workbench, broken between words."""
    lines = textwrap.wrap(visible_line(text), max(8, width)) or [""]
    if len(lines) > most:
        lines = [*lines[: most - 1], lines[most - 1][: width - 1] + "…"] if most else []
    return [strip_of([(line, style)], width, fill) for line in lines]


def _split(text: str, room: int) -> tuple[str, str]:
    """As much as fits, and the rest. A character wider than the line is left out: it would never fit."""
    if cell_len(text) <= room:
        return text, ""
    used = 0
    for at, character in enumerate(text):
        used += cell_len(character)
        if used > room:
            return (text[:at], text[at:]) if at or room > 1 else ("", text[1:])
    return text, ""


def _padded(line: list[Segment], width: int, fill: Style, *, more: bool = False) -> Strip:
    strip = Strip(line).adjust_cell_length(width, fill)
    if more:
        strip = Strip([*strip.crop(0, width - 1), Segment("…", fill)], width)
    return strip


class ControlFilter(LineFilter):
    """Every drawn line passes this last. Text that was made safe stays as it is; where that was forgotten,
    a character that would control the terminal becomes a replacement character."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        for segment in segments:
            if _ODD.search(segment.text) and not segment.control:
                return [_without_controls(one) for one in segments]
        return segments


def _without_controls(segment: Segment) -> Segment:
    text, style, control = segment
    return segment if control else Segment(_ODD.sub("\ufffd", text), style)


def sign_of(level: object) -> str:
    """The sign of a verdict or a finding; a tape may have any level."""
    return SIGNS.get(str(level), SIGNS["info"])


def look_of(level: object) -> str:
    """The name of the look of a level."""
    return str(level) if level in ("error", "warning", "good") else "info"


def content(text: str) -> Content:
    """For labels and titles: one line, no markup."""
    return Content(visible_line(text[:LONGEST]))


def paragraph(text: str) -> Content:
    """For texts in which line breaks count."""
    return Content(visible_text(text))


def marked(text: str, pattern: re.Pattern[str], look: str, other: str) -> Pieces:
    """A text, with all matches in another look."""
    pieces: Pieces = []
    at = 0
    for match in pattern.finditer(text):
        pieces += [(text[at : match.start()], look), (match[0], other)]
        at = match.end()
    pieces.append((text[at:], look))
    return [piece for piece in pieces if piece[0]]
