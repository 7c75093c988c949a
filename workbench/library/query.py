"""The library as it is read: rows of the index, newest first; and times as users write them."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

from workbench.errors import UserError
from workbench.library.index import VERSION, Index
from workbench.library.summary import COLUMNS, Row
from workbench.library.tapefiles import INDEX, SUFFIX, TAPES, is_alive, is_real_file

_AGO = re.compile(r"(\d{1,6}(?:\.\d+)?)\s*(s|m|min|h|d|w)")
_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_CLOCK = re.compile(r"(\d{1,2}):(\d\d)(?::(\d\d))?")


def parse_moment(text: str, now: float) -> float:
    """Seconds since 1970, in local time by default; a UserError shows how to write it."""
    said = text.strip().lower()
    today = datetime.fromtimestamp(now).replace(hour=0, minute=0, second=0, microsecond=0)
    if said in ("today", "yesterday"):
        return (today - timedelta(days=said == "yesterday")).timestamp()
    if ago := _AGO.fullmatch(said):
        return now - float(ago[1]) * _UNITS[ago[2]]
    try:
        if clock := _CLOCK.fullmatch(said):
            return today.replace(
                hour=int(clock[1]), minute=int(clock[2]), second=int(clock[3] or 0)
            ).timestamp()
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError, OSError):
        raise UserError(
            f"{text!r} is not a moment: say 90s, 30m, 2h, 3d, today, yesterday, 14:30, 2026-11-01 or "
            "2026-11-01T14:30"
        ) from None


_WAIT = 2.0
# What SQLite may hold for a field of a row. Mappings and tuples are JSON; an old index has no tools yet.
_HELD = {
    "str": "text", "float": "real integer", "int": "integer", "bool": "integer",
    "Mapping[str, int]": "text", "tuple[str, ...]": "text null",
}  # fmt: skip


def _holds_other(name: str, type: str) -> str:
    """A condition: the column holds a value that its field never has."""
    held = [*_HELD[type.removesuffix(" | None")].split(), *(["null"] if type.endswith("None") else [])]
    return f"typeof({name}) NOT IN ({', '.join(map(repr, held))})"


# Rows that a stranger wrote: values of wrong types, and tapes that are not in a folder of the library.
_STRANGE = " OR ".join(
    (
        *(_holds_other(one.name, str(one.type)) for one in fields(Row)),
        f"path NOT GLOB '{TAPES}/?*/?*{SUFFIX}'",
        "length(path) - length(replace(path, '/', '')) != 2",
        f"path GLOB '{TAPES}/./*' OR path GLOB '{TAPES}/../*' OR instr(CAST(path AS BLOB), x'00')",
        "abs(started) > 1e11",
        "NOT json_valid(findings) OR json_type(findings) != 'object'",
        "EXISTS (SELECT 1 FROM json_each(findings) WHERE type != 'integer')",
        "(tools IS NOT NULL AND (NOT json_valid(tools) OR json_type(tools) != 'array'))",
    )
)
REBUILD = "`workbench library rebuild` rebuilds it from the tapes"


@dataclass(frozen=True, slots=True)
class Filter:
    """Which tapes; None means any. All but times may be patterns such as `qwen*`; capitals don't matter."""

    model: str | None = None
    upstream: str | None = None
    dialect: str | None = None
    session: str | None = None
    id: str | None = None
    finding: str | None = None
    state: str | None = None
    since: float | None = None
    before: float | None = None


class Library:
    """A connection for reading. It creates nothing, and blocks no writer."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file = folder / INDEX
        self._opened = 0
        self._known: dict[str, tuple[tuple[Any, ...], Row]] = {}
        self._connect()

    def _connect(self) -> None:
        if not self._file.exists():
            raise UserError(_missing(self.folder))
        if not self._file.is_file():  # opening a pipe would block for ever
            raise UserError(f"{self._file} is not a file; remove it, then {REBUILD}")
        with _told(self._file):
            self._number = self._file.stat().st_ino
            address = f"file:{quote(os.fsencode(self._file.absolute()))}?mode=ro"
            self._db = sqlite3.connect(address, uri=True, timeout=_WAIT, isolation_level=None)
            version = self._version()
            if 0 < version < VERSION:
                Index(self.folder, _WAIT).close()  # brings it up to date
                version = self._version()
        self._opened += 1
        if version != VERSION:
            self._db.close()
            raise UserError(f"{self._file} was made by another version of the workbench; {REBUILD}")
        with _told(self._file):
            strange = self._db.execute(f"SELECT path FROM tapes WHERE {_STRANGE} LIMIT 1").fetchone()
        if strange is not None:
            self._db.close()
            raise UserError(f"{self._file} has rows that no workbench writes; {REBUILD}")

    def _version(self) -> int:
        return int(self._db.execute("PRAGMA user_version").fetchone()[0])

    def data_version(self) -> int:
        """A number that changes whenever anything in the index does; cheap enough to be asked often."""
        with _told(self._file):
            if self._file.stat().st_ino != self._number:  # replaced by a rebuild
                self._db.close()
                self._connect()
            return (self._opened << 32) + int(self._db.execute("PRAGMA data_version").fetchone()[0])

    def rows(self, wanted: Filter | None = None, limit: int | None = None) -> list[Row]:
        """The newest first. Tapes that are not in the index are not included."""
        wanted = wanted or Filter()
        where, values = _where(wanted)
        names = ", ".join(COLUMNS)
        with _told(self._file):
            found = self._db.execute(
                f"SELECT {names} FROM tapes{where} ORDER BY started DESC, path DESC", values
            )
            rows = (row for row in map(self._row, found) if wanted.state in (None, row.state))
            return list(islice(rows, limit))

    def count(self) -> int:
        """How many tapes the index knows."""
        with _told(self._file):
            return int(self._db.execute("SELECT count(*) FROM tapes").fetchone()[0])

    def _row(self, values: tuple[Any, ...]) -> Row:
        """Of thousands of rows one or two have changed since they were last asked for."""
        path = values[0]
        known = self._known.get(path)
        if known is not None and known[0] == values:
            return known[1] if known[1].state != "running" else _alive(known[1])
        row = _row(values)
        self._known[path] = values, row
        return _alive(row) if row.state == "running" else row

    def unfilled(self) -> bool:
        """Whether there are rows that an older version wrote: `fill_in` reads what they lack."""
        with _told(self._file):
            return (
                self._db.execute(
                    "SELECT 1 FROM tapes WHERE tools IS NULL AND state != 'running' LIMIT 1"
                ).fetchone()
                is not None
            )

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> Library:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def tape_of(library: Path, id: str) -> Path:
    """The tape of an exchange, by its id."""
    with Library(library) as opened:
        rows = opened.rows(Filter(id=id))
    if not rows:
        raise UserError(f"there is no exchange {id!r} in {library}")
    path = library / rows[0].path
    if not is_real_file(path):
        raise UserError(f"the tape of {id!r} is not a file in {library}: {path}")
    return path


def _where(wanted: Filter) -> tuple[str, dict[str, Any]]:
    tests, values = [], {}
    for name in ("model", "upstream", "dialect", "session", "id"):
        if (pattern := getattr(wanted, name)) is not None:
            tests.append(f"lower({name}) GLOB :{name}")
            values[name] = pattern.lower()
    if wanted.finding is not None:
        tests.append("EXISTS (SELECT 1 FROM json_each(findings) WHERE key GLOB :finding)")
        values["finding"] = wanted.finding.lower()
    for name, sign in (("since", ">="), ("before", "<")):
        if (moment := getattr(wanted, name)) is not None:
            tests.append(f"started {sign} :{name}")
            values[name] = moment
    return (" WHERE " + " AND ".join(tests) if tests else ""), values


_FINDINGS, _TOOLS, _STREAM, _MARKED = map(COLUMNS.index, ("findings", "tools", "stream", "marked"))


def _row(values: tuple[Any, ...]) -> Row:
    row = list(values)
    findings, tools, stream = values[_FINDINGS], values[_TOOLS], values[_STREAM]
    row[_FINDINGS] = json.loads(findings) if findings != "{}" else {}
    names = json.loads(tools) if tools and tools != "[]" else ()
    row[_TOOLS] = tuple(name for name in names if isinstance(name, str))
    row[_STREAM] = None if stream is None else bool(stream)
    row[_MARKED] = bool(values[_MARKED])
    return Row(*row)


def _alive(row: Row) -> Row:
    """A tape marked as running counts as such while its writer lives."""
    return row if is_alive(row.pid) else replace(row, state="cut")


@contextmanager
def _told(file: Path) -> Iterator[None]:
    """Errors of the file become a sentence."""
    try:
        yield
    except FileNotFoundError:
        raise UserError(_missing(file.parent)) from None
    except sqlite3.OperationalError as error:
        raise UserError(f"{file} cannot be read right now: {error}") from None
    except sqlite3.DatabaseError as error:
        raise UserError(f"{file} is damaged ({error}); {REBUILD}") from None
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}") from None


def _missing(folder: Path) -> str:
    return (
        f"there is no library in {folder}: `workbench serve` makes one with the first exchange, --library "
        f"names another folder, and where there are tapes but no index, {REBUILD}"
    )
