"""The tapes in a folder, in the order in which somebody looks for one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from transformer import DIALECTS
from workbench.errors import UserError
from workbench.recipe import Wishes
from workbench.sources.opening import Opening, header_in, tape_opening
from workbench.tape import HEADER

_SUFFIX = ".jsonl"


def openings_in(folder: Path, name: str, wishes: Wishes) -> list[Opening]:
    """All tapes in it and below: dialects in their usual order, in each what went wrong before the rest."""
    found = [
        tape_opening(path, path.name.removesuffix(_SUFFIX), _label(folder, below), wishes)
        for below, paths in sorted(_groups(folder, name), key=lambda group: _rank(group[0]))
        for path in paths
    ]
    if not found:
        raise UserError(f"there is no tape in {name}; tapes are files whose names end in {_SUFFIX}")
    return found


def _groups(folder: Path, name: str) -> Iterator[tuple[str, list[Path]]]:
    """Each folder that has tapes, by its path below the one that was named."""

    def tell(error: OSError) -> None:
        if error.filename == str(folder):
            raise UserError(f"cannot read {name}: {error.strerror}")

    for parent, _, files in os.walk(folder, onerror=tell):
        names = sorted((file for file in files if file.endswith(_SUFFIX)), key=_order)
        paths = [path for path in map(Path(parent).joinpath, names) if _begins_like_a_tape(path)]
        if paths:
            yield os.path.relpath(parent, folder), paths


def _label(folder: Path, below: str) -> str:
    return folder.resolve().name if below == os.curdir else below


def _begins_like_a_tape(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            head = file.read(100)
    except OSError:
        return True  # it says itself what is wrong with it
    return not head.strip() or bool(HEADER.match(head)) or bool(header_in(path, Wishes()))


def _rank(below: str) -> tuple[int, str]:
    names, last = list(DIALECTS), os.path.basename(below)
    return (names.index(last) if last in names else len(names)), below


def _order(name: str) -> tuple[bool, str]:
    return name.startswith("good"), name.removesuffix(_SUFFIX)
