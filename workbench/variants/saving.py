"""Saving a variant as a tape of its own, beside the original."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from workbench.errors import UserError
from workbench.library.folders import SUFFIX, id_of
from workbench.paths import samples_dir
from workbench.recording.tapefile import TapeFile
from workbench.tape import Tape, dump_tape, make_header
from workbench.variants.changes import Change, describe
from workbench.variants.script import Script

_VARIANT = re.compile(r"\.variant(?:-[0-9]+)?\Z")
_PASTED = "text"
# A variant has its own, or none: nobody is writing it any more.
_NOT_OURS = ("tape", "about", "pid", "id", "variant_of")


def save_variant(script: Script, source: Path | None, changes: Sequence[Change]) -> Path:
    """A new file beside the original, else in the current folder; UserError if neither can be written.

    `source` is the file that the script comes from, None if it comes from none. Nothing is overwritten.
    """
    problem: OSError | None = None
    for folder in _folders(source):
        try:
            return _written(folder, script, source, changes)
        except OSError as error:
            problem = error
    raise UserError(
        f"the variant cannot be saved in {Path.cwd()}: {problem and problem.strerror}; start workbench in a "
        "folder that you may write to"
    )


def _folders(source: Path | None) -> Iterator[Path]:
    # The samples are the package's: an update of it would take the variant away.
    if source is not None and not source.resolve().is_relative_to(samples_dir().resolve()):
        yield source.parent
    yield Path.cwd()


def _written(folder: Path, script: Script, source: Path | None, changes: Sequence[Change]) -> Path:
    stem = _VARIANT.sub("", source.name.removesuffix(source.suffix)) if source is not None else _PASTED
    for number in count(1):
        path = folder / f"{stem}.variant{'' if number == 1 else f'-{number}'}{SUFFIX}"
        file = TapeFile(path)
        try:
            # All of it at once: the file gets its name when it is whole.
            file.create(dump_tape(Tape(_header(script, path, source, changes), script.lines)))
        except FileExistsError:
            continue
        finally:
            file.close()
        return path
    raise AssertionError("numbers do not end")


def _header(script: Script, path: Path, source: Path | None, changes: Sequence[Change]) -> dict[str, Any]:
    header = script.header
    kept = {"dialect": None} | {key: value for key, value in header.items() if key not in _NOT_OURS}
    origin = header.get("id") or (source.name if source is not None else header.get("variant_of"))
    # The library knows a tape by what its file is called.
    id = id_of(path.name) if "id" in header else None
    return make_header(_about(header.get("about"), source, changes), id=id, variant_of=origin, **kept)


def _about(about: object, source: Path | None, changes: Sequence[Change]) -> str:
    if source is None and not changes:
        return str(about or "a text of a model")
    name = source.name if source is not None else "a text of a model"
    return f"variant of {name}" + (f": {describe(changes)}" if changes else "")
