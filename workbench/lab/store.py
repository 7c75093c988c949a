"""A try on disk: its plan and its outcomes, in a folder of the library, so that it can be continued.

`<library>/tries/<id>/plan.json` says what is to be sent, `outcomes.jsonl` has a line for each trial that is
over.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from workbench.errors import UserError
from workbench.files import PRIVATE, replace_file, resolve
from workbench.lab.outcomes import Outcome
from workbench.lab.plan import Plan
from workbench.library.query import tape_of
from workbench.library.tapefiles import is_file, is_real_file, make_folder
from workbench.system import lock
from workbench.text import json_object, json_text

TRIES = "tries"
LAST = "last"
_PLAN = "plan.json"
_OUTCOMES = "outcomes.jsonl"


class Try:
    """One try. `outcomes` has the last one of each trial; `opened` is needed to add more."""

    def __init__(self, library: Path, id: str, plan: Plan) -> None:
        self.library = library
        self.id = id
        self.plan = plan
        self.outcomes: dict[int, Outcome] = {}
        self._file: IO[bytes] | None = None

    @property
    def folder(self) -> Path:
        return self.library / TRIES / self.id

    @property
    def in_order(self) -> list[Outcome]:
        return [self.outcomes[number] for number in sorted(self.outcomes)]

    @contextmanager
    def opened(self) -> Iterator[None]:
        """While outcomes are added. Only one process may do that."""
        with open(self.folder / _OUTCOMES, "ab", opener=_append) as file:
            try:
                lock(file.fileno())
            except OSError:
                raise UserError(f"{self.id} is running already, in another process") from None
            self._file = file
            try:
                yield
            finally:
                self._file = None

    def add(self, outcome: Outcome) -> None:
        """Keep it in memory and on disk."""
        assert self._file is not None
        self._file.write(json_text(outcome.as_json()).encode("utf-8") + b"\n")
        self._file.flush()
        self.outcomes[outcome.number] = outcome


def _append(path: str, flags: int) -> int:
    """Not through a link: a library from elsewhere may have one."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0))


def create_try(library: Path, plan: Plan, now: float | None = None) -> Try:
    """A new one, named after the time."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(now))
    try:
        make_folder(library / TRIES)
        for number in range(1, 1000):
            made = Try(library, f"try-{stamp}" if number == 1 else f"try-{stamp}-{number}", plan)
            try:
                made.folder.mkdir(mode=0o700)
            except FileExistsError:
                continue
            text = json_text(plan.as_json(), indent=1)
            replace_file(made.folder / _PLAN, text.encode("utf-8"), PRIVATE)
            os.close(os.open(made.folder / _OUTCOMES, os.O_WRONLY | os.O_CREAT, PRIVATE))
            return made
    except OSError as error:
        raise UserError(f"the library {library} cannot be written: {error.strerror}") from None
    raise UserError(f"there is no free name for a try in {library / TRIES}")


def list_tries(library: Path) -> list[str]:
    """The ids, newest first."""
    found = (library / TRIES).glob(f"*/{_PLAN}")
    return sorted((plan.parent.name for plan in found if is_real_file(plan)), reverse=True)


def open_try(library: Path, id: str) -> Try:
    """One that was started before; `last` is the newest."""
    known = list_tries(library)
    if id == LAST and known:
        id = known[0]
    if id not in known:
        there = f"there are {', '.join(known[:5])}" if known else "there is none yet"
        raise UserError(f"there is no try {id!r} in {library}; {there}")
    folder = library / TRIES / id
    try:
        plan = Plan.from_json(json.loads((folder / _PLAN).read_bytes()))
        found = Try(library, id, plan)
        for line in _lines(folder / _OUTCOMES):
            outcome = Outcome.from_json(line)
            found.outcomes[outcome.number] = outcome
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(f"{folder} cannot be read: {error}") from None
    return found


def origin_of(library: Path, header: Mapping[str, Any]) -> Path | None:
    """The tape from which an exchange was sent again; None: it was not. UserError: it is not there any more.

    A tape that is in no library has no id; the plan of the try knows where it is.
    """
    of, made, case = (header.get(key) for key in ("resend_of", "try_id", "case"))
    if isinstance(of, str):
        return tape_of(library, of)
    if not isinstance(made, str) or not isinstance(case, str):
        return None
    cases = open_try(library, made).plan.cases
    found = next((one.tape for one in cases if one.name == case and one.tape), None)
    if found is not None and not is_file(resolve(found)):  # a library may come from elsewhere
        raise UserError(f"the tape of the case {case!r} is not a file any more: {found}")
    return None if found is None else resolve(found)


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    """Whole lines only: the last one of a process that was killed may be half written."""
    if not is_file(file):
        raise OSError(f"{file.name} is not a file")
    for line in file.read_bytes().split(b"\n")[:-1]:
        if (value := json_object(line)) is not None:
            yield value
