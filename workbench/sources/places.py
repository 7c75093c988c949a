"""Where what is to be replayed comes from: files, folders, standard input."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from transformer import DIALECTS
from workbench.chunks import Chunking
from workbench.errors import UserError
from workbench.inputs import Input, Kind, load, read_file, recognise
from workbench.paths import resolve
from workbench.player.reel import Source
from workbench.recipe import Wishes, make_recipe
from workbench.sources.folders import openings_in
from workbench.sources.opening import Opening, Unreadable, header_in, read_header, tape_opening, unreadable
from workbench.sources.reels import header_of, reel_of
from workbench.tape import HEADER

STANDARD_INPUT = "-"
_HEAD = 64 << 10  # bytes that tell what a file is


def openings_of(
    names: Sequence[str], wishes: Wishes, kind: Kind | None = None, chunking: Chunking | None = None
) -> list[Opening]:
    """What the names stand for; one that cannot be opened says why. A UserError when none of them can."""
    make_recipe(
        {"dialect": next(iter(DIALECTS))}, wishes
    )  # what is wrong with the wishes is wrong everywhere
    found: list[Opening] = []
    for name in names:
        try:
            found += _of_name(name, wishes, kind, chunking)
        except UserError as error:
            found.append(unreadable(name, _naming(name, error)))
    if all(opening.problem is not None for opening in found):
        raise UserError("\n".join(str(opening.problem) for opening in found))
    return found


def _of_name(name: str, wishes: Wishes, kind: Kind | None, chunking: Chunking | None) -> list[Opening]:
    if name == STANDARD_INPUT:
        return [opening_of("standard input", _standard_input(kind), wishes, chunking)]
    if not name:
        raise UserError("a file without a name: perhaps a variable of the shell is not set")
    path = resolve(name)
    try:
        if path.is_dir():
            return openings_in(path, name, wishes)
        if path.exists() and not path.is_file():  # a pipe gives its bytes only once
            return [opening_of(name, load(name, kind), wishes, chunking)]
    except ValueError as error:  # a NUL in the name
        raise UserError(f"cannot read {name}: {error}") from None
    return [_of_file(path, name, wishes, kind, chunking)]


def _of_file(path: Path, title: str, wishes: Wishes, kind: Kind | None, chunking: Chunking | None) -> Opening:
    """Looked at, but not read: a tape may be large."""
    if kind == "tape":
        read_header(path)  # somebody may be wrong
    kind = kind or _kind_of(path)
    if kind == "tape" and chunking is None:
        return tape_opening(path, title, "", wishes)
    known = kind

    def make() -> Source:
        try:
            return reel_of(title, load(str(path), known), wishes, chunking)
        except UserError as error:
            return Unreadable(title, _naming(title, error))

    if kind == "tape":
        return Opening(title, make, lambda: header_in(path, wishes), path=path)
    header = header_of(kind, wishes, chunking)
    return Opening(title, make, lambda: header, path=path)


def opening_of(title: str, given: Input, wishes: Wishes, chunking: Chunking | None) -> Opening:
    """Something that is in memory already."""
    reel = reel_of(title, given, wishes, chunking)
    assert reel.player is not None
    header = reel.player.header
    return Opening(title, lambda: reel_of(title, given, wishes, chunking), lambda: header)


def _kind_of(path: Path) -> Kind:
    head = read_file(str(path), _HEAD)
    if HEADER.match(head):
        if b"\n" not in head:
            read_header(path)  # it may be half written
        return "tape"
    # What begins like JSON can only be told as a whole.
    return recognise(read_file(str(path)) if head.lstrip()[:1] in b"{\xef" and len(head) == _HEAD else head)


def _standard_input(kind: Kind | None) -> Input:
    if sys.stdin is None or sys.stdin.isatty():
        raise UserError(
            "nothing is piped in, and `-` means what is, as in\n"
            "  curl -N … | workbench replay - --dialect roo-xml"
        )
    return load(STANDARD_INPUT, kind)


def _naming(name: str, error: UserError) -> str:
    return error.message if name in error.message else f"{name}: {error.message}"
