"""A script: the causes of an exchange without their effects; changes applied to it, its reads cut
differently, and a variant saved as a tape of its own beside the original.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, count
from pathlib import Path
from typing import Any, NamedTuple

from workbench.analysis.variants.changes import Change, Cut, Merge, Retext, Split, describe, switched
from workbench.analysis.variants.texts import Edit, Edits, edits_of
from workbench.errors import UserError
from workbench.files import samples_dir
from workbench.library.tapefiles import SUFFIX, TapeFile, id_of
from workbench.replay.lines import causes_of
from workbench.replay.player import Player
from workbench.tape.format import Line, Tape, dump_tape, end_line, make_header, read_line


class _Cuts(NamedTuple):
    """How the reads are to be cut."""

    merged: set[int]  # reads that come with the next one
    splits: list[int]
    cut: int | None


def recut(lines: Sequence[Line], edits: Sequence[Edit], changes: Sequence[Change]) -> Sequence[Line]:
    """The lines with the edits made and the reads cut as the changes say; both use the original's
    coordinates."""
    if not edits and not any(isinstance(change, Cut | Merge | Split) for change in changes):
        return lines
    reads = {at: line.data for at, line in enumerate(lines) if line.kind == "read"}
    cuts = _cuts_of(list(accumulate(map(len, reads.values()))), changes)
    edited = Edits(b"".join(reads.values()), edits)
    new = _with_reads(lines, reads, edited, cuts)
    if not reads and edited.data:
        new = _with_first_read(new, edited.data)
    if cuts.cut is None:
        return new
    return _cut(new, edited.moved(cuts.cut) if cuts.cut else 0)


def _cuts_of(ends: list[int], changes: Iterable[Change]) -> _Cuts:
    size = ends[-1] if ends else 0
    boundaries = {0, *ends}
    cuts = _Cuts(set(), [], None)
    for change in changes:
        match change:
            case Merge(read):
                if not 0 <= read < len(ends) - 1:
                    raise UserError(f"there is no read after read {read + 1} that it could be joined with")
                cuts.merged.add(read)
            case Split(byte):
                if byte in boundaries:
                    raise UserError(f"a read begins or ends at byte {byte} already; choose one inside a read")
                _check(byte, size)
                cuts.splits.append(byte)
                boundaries.add(byte)
            case Cut(byte):
                _check(byte, size)
                cuts = cuts._replace(cut=byte if cuts.cut is None else min(byte, cuts.cut))
    cuts.splits.sort()
    return cuts


def _check(byte: int, size: int) -> None:
    if not 0 <= byte <= size:
        raise UserError(f"there is no byte {byte}: upstream sent {size} of them")


def _with_reads(lines: Sequence[Line], reads: Mapping[int, bytes], edited: Edits, cuts: _Cuts) -> list[Line]:
    """A read that is joined with the next one comes with it; one that has nothing left does not come."""
    new: list[Line] = []
    end = done = 0  # end of the read in the old bytes; bytes emitted of the new ones
    number = -1
    for at, line in enumerate(lines):
        old = reads.get(at)
        if old is None:
            new.append(line)
            continue
        number += 1
        start, end = end, end + len(old)
        splits = cuts.splits[bisect_right(cuts.splits, start) : bisect_right(cuts.splits, end)]
        for boundary in splits if number in cuts.merged else [*splits, end]:
            place = edited.moved(boundary)
            data, done = edited.data[done:place], place
            if data or not old:
                new.append(line if data == old else read_line(line.t, data))
    return new


def _with_first_read(lines: list[Line], data: bytes) -> list[Line]:
    """Upstream sent nothing at all; now it does, right before its end."""
    at = next((at for at, line in enumerate(lines) if line.kind == "end"), len(lines))
    t = lines[min(at, len(lines) - 1)].t if lines else 0.0
    return [*lines[:at], read_line(t, data), *lines[at:]]


def _cut(lines: Iterable[Line], size: int) -> list[Line]:
    """The lines up to the read that completes this many bytes, and a clean end."""
    kept: list[Line] = []
    length = last = 0  # bytes that came; lines to keep
    for line in lines:
        kind = line.kind
        if kind == "end" or (kind == "read" and length >= size):
            break
        data = line.data
        kept.append(line if length + len(data) <= size else read_line(line.t, data[: size - length]))
        length += len(data)
        if kind == "read" or not size:
            last = len(kept)
    kept = kept[:last]
    return [*kept, end_line(kept[-1].t if kept else 0.0, "eof")]


@dataclass(frozen=True, slots=True)
class Script:
    """A tape that was never sent: its header, then what upstream and the proxy did, each at its time."""

    header: Mapping[str, Any]
    lines: tuple[Line, ...]


def script_of(player: Player) -> Script:
    """The causes of what a player shows, as far as it has come.

    Upstream's reads and statuses, what the proxy did on its own (heartbeats, findings), gaps and damaged
    lines stay, in their order. What the transformer sent does not.
    """
    return Script(player.header, tuple(causes_of(player)))


def apply(script: Script, player: Player, changes: Sequence[Change]) -> Script:
    """Applies all changes at once, in the original's coordinates. UserError if one is impossible.

    `player` has played the script, so it knows where each character is.
    """
    edits = edits_of(player, [change for change in changes if isinstance(change, Retext)])
    return Script(switched(script.header, changes), tuple(recut(script.lines, edits, changes)))


_VARIANT = re.compile(r"\.variant(?:-[0-9]+)?\Z")
_PASTED = "text"
# A variant has its own of these, or none: it is not being written any more.
_NOT_COPIED = ("tape", "about", "pid", "id", "variant_of")


def save_variant(script: Script, source: Path | None, changes: Sequence[Change]) -> Path:
    """A new file beside the original, else in the current folder; UserError if neither can be written.

    `source` is the file that the script comes from, None if there is none. Nothing is overwritten.
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
    # The samples belong to the package: updating it would remove the variant.
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
    kept = {"dialect": None} | {key: value for key, value in header.items() if key not in _NOT_COPIED}
    origin = header.get("id") or (source.name if source is not None else header.get("variant_of"))
    # The library identifies a tape by its file name.
    id = id_of(path.name) if "id" in header else None
    return make_header(_about(header.get("about"), source, changes), id=id, variant_of=origin, **kept)


def _about(about: object, source: Path | None, changes: Sequence[Change]) -> str:
    if source is None and not changes:
        return str(about or "a text of a model")
    name = source.name if source is not None else "a text of a model"
    return f"variant of {name}" + (f": {describe(changes)}" if changes else "")
