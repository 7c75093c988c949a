"""What commands write: exact bytes to a pipe, safe text to a terminal, in colour where that is wanted."""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from transformer.records import Level
from workbench.analysis.requests import readable
from workbench.errors import UserError
from workbench.text import abandon, coloured, json_text, visible_line, visible_text

_JSON = re.compile(r'("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\d[\d.eE+-]*')
_MARKUP = re.compile(r"</?[^\s<>]+>")
_DIFF_COLOURS: Mapping[str, str] = {"+": "green", "-": "red", "@": "cyan"}


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[list[Painted]]:
    """What was changed in a body, as a unified diff."""
    return painted_difference(readable(before), readable(after), "client", "upstream")


def painted_difference(
    before: Sequence[str], after: Sequence[str], old: str, new: str
) -> Iterator[list[Painted]]:
    """The unified diff of two versions, `old` and `new` by name."""
    for line in difflib.unified_diff(before, after, old, new, lineterm="", n=3):
        yield [Painted(line, _DIFF_COLOURS.get(line[:1]))]


def painted_json(value: Any) -> Iterator[list[Painted]]:
    for line in json_text(value, indent=2).split("\n"):
        yield list(_json_pieces(line))


def _json_pieces(line: str) -> Iterator[Painted]:
    at = 0
    for match in _JSON.finditer(line):
        yield Painted(line[at : match.start()])
        yield Painted(match[0], "cyan" if match[2] else "green" if match[1] else "yellow")
        at = match.end()
    yield Painted(line[at:])


def painted_text(text: str) -> Iterator[list[Painted]]:
    """A prompt: headings and markup stand out."""
    for line in text.split("\n"):
        if line.startswith("#"):
            yield [Painted(line, "cyan")]
            continue
        at, pieces = 0, []
        for match in _MARKUP.finditer(line):
            pieces += [Painted(line[at : match.start()]), Painted(match[0], "green")]
            at = match.end()
        yield [*pieces, Painted(line[at:])]


class Painted(NamedTuple):
    """A piece of a line, and the colour it has on a terminal."""

    text: str
    colour: str | None = None


def write_painted(lines: Iterable[Sequence[Painted]]) -> None:
    """To standard output: in colour on a terminal that wants it, the plain text anywhere else."""
    if sys.stdout is None or not sys.stdout.isatty():
        write(
            "".join("".join(piece.text for piece in line) + "\n" for line in lines).encode("utf-8", "replace")
        )
        return
    plain = bool(os.environ.get("NO_COLOR"))
    painted = ("".join(_paint(piece, plain) for piece in line) + "\n" for line in lines)
    _put("".join(painted).encode("utf-8", "replace"))


def _paint(piece: Painted, plain: bool) -> str:
    # Made safe first: the escapes that follow are ours, and the only ones.
    text = visible_line(piece.text)
    return text if plain or piece.colour is None else coloured(text, piece.colour)


def write(data: bytes) -> None:
    """To standard output. A reader that has seen enough (`| head`) is not an error."""
    if sys.stdout is None:  # closed by our parent process
        return
    if sys.stdout.isatty():
        data = visible_text(data.decode("utf-8", "backslashreplace")).encode("utf-8")
    _put(data)


def _put(data: bytes) -> None:
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        abandon(sys.stdout)
    except OSError as error:
        abandon(sys.stdout)
        raise UserError(f"cannot write the output: {error.strerror}") from None


COLOURS: Mapping[Level, str] = {"error": "red", "warning": "yellow", "info": "cyan"}


def on_terminal() -> bool:
    return bool(sys.stdin and sys.stdin.isatty() and sys.stdout and sys.stdout.isatty())
