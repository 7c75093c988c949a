"""The two streams of a command: exact bytes to a pipe, safe text to a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import IO, NamedTuple

import typer

from workbench.errors import UserError
from workbench.visible import visible_line, visible_text


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
    return text if plain or piece.colour is None else typer.style(text, fg=piece.colour)


def write(data: bytes) -> None:
    """To standard output. A reader that has seen enough (`| head`) is no error."""
    if sys.stdout is None:  # closed by whoever started us
        return
    if sys.stdout.isatty():
        data = visible_text(data.decode("utf-8", "backslashreplace")).encode("utf-8")
    _put(data)


def _put(data: bytes) -> None:
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        _abandon(sys.stdout)
    except OSError as error:
        _abandon(sys.stdout)
        raise UserError(f"cannot write the output: {error.strerror}") from None


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
        _abandon(sys.stderr)


def _abandon(stream: IO[str]) -> None:
    # Python flushes once more when it exits and would complain: let that go nowhere.
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
