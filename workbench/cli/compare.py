"""`workbench compare`: two exchanges beside each other, or one beside another conversion of it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from workbench.analysis.exchangediff import Aligned, ExchangeDifference, Section, compare
from workbench.cli.printing import Painted, on_terminal, write_painted
from workbench.config.reading import read_settings
from workbench.config.settings import Flags
from workbench.errors import UserError
from workbench.files import resolve
from workbench.library.query import tape_of
from workbench.replay.player import Player
from workbench.replay.sources import replayables_of
from workbench.tape.recipe import Wishes, known_dialect, read_switches
from workbench.text import SIGNS

_FOREVER = 1e9
_CONTEXT = 3


def compare_exchanges(files: Sequence[str], changes: Sequence[str], library: str | None) -> int:
    """With a terminal the screen, without one all differences as text; 1 where there is one."""
    if len(files) != (1 if changes else 2):
        raise UserError(
            "compare two exchanges, `workbench compare A B`, or one with a change of it,\n"
            "`workbench compare A --with dialect=NAME --with malformed=repair`"
        )
    names = [_file(name, library) for name in files]
    left = opened(names[0], Wishes())
    right = opened(names[-1], _wishes(changes))
    titles = (files[0], f"with {' '.join(changes)}" if changes else files[1])
    if on_terminal():
        from workbench.ui.app import run_compare

        return run_compare(left, right, titles)
    found = compare(left, right)
    write_painted(_lines(found, titles))
    return int(found.first is not None)


def _wishes(changes: Sequence[str]) -> Wishes:
    switches = read_switches(changes)
    dialect = switches.pop("dialect", None)
    return Wishes(dialect=None if dialect is None else known_dialect(dialect), switches=switches)


def _file(name: str, library: str | None) -> str:
    """A file, or the exchange of that id in the library."""
    if os.path.exists(resolve(name)) or "/" in name or "." in name:
        return name
    folder = read_settings(Flags(library=library)).library
    return str(tape_of(folder, name))


def opened(name: str, wishes: Wishes) -> Player:
    """Played to its end."""
    replayables = replayables_of([name], wishes, None, None)
    if len(replayables) != 1:
        raise UserError(f"{name} is not one exchange")
    source = replayables[0].open()
    while source.advance(_FOREVER) and source.has_more:
        pass
    if source.player is None:
        raise UserError(f"{name} cannot be compared: {source.problem or replayables[0].problem}")
    return source.player


def _lines(found: ExchangeDifference, titles: Sequence[str]) -> Iterator[list[Painted]]:
    for sign, title, judged in zip("-+", titles, found.verdicts, strict=True):
        yield [
            Painted(
                f"{sign} {title}: {SIGNS[judged.level]} {judged.sentence}", "red" if sign == "-" else "green"
            )
        ]
    yield [Painted(found.sentence)]
    for section in found.sections:
        yield [Painted("")]
        if section.same:
            yield [Painted(f"{section.name}: the same", "cyan")]
            continue
        yield [Painted(f"{section.name}: {section.differing} of {len(section.lines)} lines differ", "cyan")]
        yield from _changes(section)


def _changes(section: Section) -> Iterator[list[Painted]]:
    near = {
        at + step
        for at, line in enumerate(section.lines)
        if line.kind != "same"
        for step in range(-_CONTEXT, _CONTEXT + 1)
    }
    skipped = False
    for at, line in enumerate(section.lines):
        if at not in near:
            skipped = True
            continue
        if skipped:
            yield [Painted("  …")]
            skipped = False
        yield from _change(line)


def _change(line: Aligned) -> Iterator[list[Painted]]:
    if line.kind == "same":
        yield [Painted(f"  {line.left}")]
        return
    if line.left is not None:
        yield [Painted(f"- {line.left}", "red")]
    if line.right is not None:
        yield [Painted(f"+ {line.right}", "green")]
