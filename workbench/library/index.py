"""The index as it is written: one row for each tape, in an SQLite file that several processes share; brought
up to date when a tape is marked, and made from the tapes again when it is damaged or out of date.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.errors import UserError
from workbench.library.retention import is_running
from workbench.library.summary import COLUMNS, summarise
from workbench.library.tapefiles import (
    INDEX,
    TAPES,
    TapeEntry,
    give_name,
    is_alive,
    is_marked,
    list_tapes,
    make_folder,
    marks_files,
)
from workbench.system import make_private
from workbench.text import json_text

VERSION = 5
# What each version added: an older index is brought up to date and keeps its rows.
_ADDED: Mapping[int, Sequence[str]] = {
    2: ("try_id TEXT", "prompt TEXT"),
    3: ("chat TEXT",),
    4: ("tools TEXT", "asked TEXT", "asked_by TEXT", "offered INTEGER"),
    5: ("variant TEXT", "case_name TEXT"),
}
_SCHEMA = """
CREATE TABLE tapes (
    path TEXT PRIMARY KEY, id TEXT NOT NULL, started REAL NOT NULL,
    session TEXT, parent_session TEXT, model TEXT, upstream TEXT, dialect TEXT, kind TEXT, stream INTEGER,
    status INTEGER, state TEXT NOT NULL, ttfb REAL, duration REAL,
    prompt_tokens INTEGER, completion_tokens INTEGER, total_tokens INTEGER,
    chunks INTEGER NOT NULL, bytes INTEGER NOT NULL, calls INTEGER NOT NULL,
    findings TEXT NOT NULL, level TEXT, lost INTEGER NOT NULL, size INTEGER NOT NULL, marked INTEGER NOT NULL,
    resend_of TEXT, error TEXT, problem TEXT, pid INTEGER, updated REAL NOT NULL,
    try_id TEXT, prompt TEXT, chat TEXT, tools TEXT, asked TEXT, asked_by TEXT,
    offered INTEGER, variant TEXT, case_name TEXT
) WITHOUT ROWID;
CREATE INDEX tapes_started ON tapes (started);
CREATE INDEX tapes_id ON tapes (id);
CREATE INDEX tapes_session ON tapes (session);
"""
_DEFAULTS = {"state": "running", "started": 0.0, "id": ""} | dict.fromkeys(
    ("chunks", "bytes", "calls", "lost", "size", "marked"), 0
)
# Marks belong to the viewer: updates of a running tape must not remove them.
_NEWS = ", ".join(f"{name} = excluded.{name}" for name in COLUMNS if name not in ("path", "marked"))
_INSERT = f"INSERT INTO tapes ({', '.join(COLUMNS)}) VALUES ({', '.join(f':{name}' for name in COLUMNS)})"
_UPSERT = f"{_INSERT} ON CONFLICT (path) DO UPDATE SET {_NEWS}"
_ADD = f"{_INSERT} ON CONFLICT (path) DO NOTHING"
# What changes while an exchange runs.
_GROWS = ("path", "status", "ttfb", "chunks", "bytes", "findings", "level", "lost", "size", "updated")
_UPDATE = f"UPDATE tapes SET {', '.join(f'{name} = :{name}' for name in _GROWS[1:])} WHERE path = :path"


class IndexVersionError(sqlite3.DatabaseError):
    """The file was made by another version of the workbench."""


class Index:
    """A connection for writing. `wait` is how long another writer is waited for, in seconds."""

    def __init__(self, library: Path, wait: float = 5.0) -> None:
        self._file = library / INDEX
        make_folder(library)
        if not self._file.exists():
            _create(self._file)
        self._number = _inode(self._file)
        self._db = _connect(self._file, wait)
        version = self._upgrade(self._version())
        if version != VERSION:
            self._db.close()
            raise IndexVersionError(f"it has version {version}, this workbench knows {VERSION}")

    def _version(self) -> int:
        return int(self._db.execute("PRAGMA user_version").fetchone()[0])

    def _upgrade(self, version: int) -> int:
        """Add the columns that an older version did not have; the version that it has then."""
        if not 1 <= version < VERSION:
            return version
        with _Transaction(self._db):
            version = self._version()  # another process may have been quicker
            for later in range(version + 1, VERSION + 1):
                for column in _ADDED[later]:
                    self._db.execute(f"ALTER TABLE tapes ADD COLUMN {column}")
                self._db.execute(f"PRAGMA user_version = {later}")
        return self._version()

    @property
    def gone(self) -> bool:
        """The file was deleted or replaced: what is written here is never read."""
        return _inode(self._file) != self._number

    def put(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """New rows, and updates of old ones, in one transaction."""
        now = time.time()
        values = [_values(row, now) for row in rows]
        with _Transaction(self._db):
            self._db.executemany(_UPSERT, values)

    def update(self, rows: Iterable[Mapping[str, Any]]) -> bool:
        """Progress of running exchanges that have rows; False if one of them has none."""
        now = time.time()
        values = [_values(row, now, _GROWS) for row in rows]
        with _Transaction(self._db):
            return self._db.executemany(_UPDATE, values).rowcount == len(values)

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Rows of tapes that may be new to the index; a row that is there already knows more."""
        values = [_values(row, time.time()) for row in rows]
        with _Transaction(self._db):
            self._db.executemany(_ADD, values)

    def remove(self, paths: Iterable[str]) -> None:
        """The rows of tapes that do not exist any more."""
        with _Transaction(self._db):
            self._db.executemany("DELETE FROM tapes WHERE path = ?", [(path,) for path in paths])

    def mark(self, path: str, marked: bool) -> None:
        """Say that a person has marked a tape, or no longer does."""
        with _Transaction(self._db):
            self._db.execute("UPDATE tapes SET marked = ? WHERE path = ?", (marked, path))

    def replace(self, rows: Sequence[Mapping[str, Any]], read_at: float, keep: Iterable[str]) -> None:
        """Replaces all rows except those that a proxy wrote after the tapes were read, and those in
        `keep`."""
        values = [_values(row, read_at) for row in rows]
        with _Transaction(self._db):
            self._db.execute("CREATE TEMP TABLE IF NOT EXISTS kept (path TEXT PRIMARY KEY)")
            self._db.execute("DELETE FROM kept")
            self._db.executemany("INSERT OR IGNORE INTO kept VALUES (?)", [(path,) for path in keep])
            self._db.execute(
                "DELETE FROM tapes WHERE updated < ? AND path NOT IN (SELECT path FROM kept)", (read_at,)
            )
            self._db.executemany(_ADD, values)

    def settle(self, own: int, since: float) -> None:
        """Rows of ended processes get no more updates: their tapes were cut off. `own` is our process id,
        which may have been another's before: in a container every process has the same one."""
        rows = self._db.execute("SELECT path, pid, updated FROM tapes WHERE state = 'running'").fetchall()
        dead = [(path,) for path, pid, at in rows if not is_alive(pid) or (pid == own and at < since)]
        with _Transaction(self._db):
            self._db.executemany("UPDATE tapes SET state = 'cut' WHERE path = ?", dead)

    def unfilled(self) -> list[str]:
        """The tapes whose rows an older version wrote, the newest first: what they call is not known yet."""
        found = self._db.execute(
            "SELECT path FROM tapes WHERE tools IS NULL AND state != 'running' ORDER BY started DESC"
        )
        return [path for (path,) in found]

    def fill(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write what an older version did not, and nothing else."""
        values = [_values(row, 0.0) for row in rows]
        with _Transaction(self._db):
            self._db.executemany(
                "UPDATE tapes SET tools = :tools, asked = :asked, asked_by = :asked_by, offered = :offered, "
                "variant = :variant, case_name = :case_name WHERE path = :path",
                values,
            )

    def paths(self) -> list[tuple[str, str]]:
        """Of all rows, with their states."""
        return self._db.execute("SELECT path, state FROM tapes").fetchall()

    def running(self) -> list[tuple[str, int | None]]:
        """The paths that are said to be written right now, and by whom."""
        return self._db.execute("SELECT path, pid FROM tapes WHERE state = 'running'").fetchall()

    def close(self) -> None:
        self._db.close()


def _connect(file: Path, wait: float) -> sqlite3.Connection:
    # Only ever used by one thread at a time, but made in one and closed in another.
    db = sqlite3.connect(file, timeout=wait, isolation_level=None, check_same_thread=False)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        # The index can be made again from the tapes: a power failure may destroy it, but waiting for the disk
        # would slow down every exchange.
        db.execute("PRAGMA synchronous = OFF")
    except BaseException:
        db.close()
        raise
    return db


def _create(file: Path) -> None:
    """Complete, or not at all: a viewer must not find half an index. Another process may be quicker."""
    fd, name = tempfile.mkstemp(prefix=".index-", dir=file.parent)  # for its owner alone
    make_private(fd)
    os.close(fd)
    try:
        db = _connect(Path(name), 5)
        db.executescript(f"{_SCHEMA}PRAGMA user_version = {VERSION};")
        db.close()
        with suppress(FileExistsError):
            give_name(Path(name), file)
    finally:
        Path(name).unlink(missing_ok=True)


class _Transaction:
    """Takes the write lock at the beginning: one that is taken later can fail in the middle."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def __enter__(self) -> None:
        self._db.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self._db.execute("COMMIT")
        elif self._db.in_transaction:
            self._db.execute("ROLLBACK")


def _values(row: Mapping[str, Any], now: float, columns: Iterable[str] = COLUMNS) -> dict[str, Any]:
    values = {name: _fit(row.get(name), _DEFAULTS.get(name)) for name in columns}
    found = row.get("findings")
    findings = {str(code): n for code, n in found.items() if _is_int(n)} if isinstance(found, Mapping) else {}
    called = row.get("tools")
    tools = [name for name in called if isinstance(name, str)] if isinstance(called, list | tuple) else []
    return values | {"findings": json_text(findings), "tools": json_text(tools), "updated": now}


def _fit(value: Any, default: Any) -> Any:
    """What a column can hold. One odd value, out of a tape or a request, must not cost a whole batch."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return value if isinstance(value, float) or _is_int(value) else default


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and abs(value) < 1 << 62


def _inode(file: Path) -> int:
    try:
        return file.stat().st_ino
    except OSError:
        return 0


_WAIT = 0.5  # seconds: a person waits for the screen


def library_of(tape: Path) -> Path | None:
    """The library that a tape is in; None: it is somewhere else."""
    tape = tape.absolute()
    if len(tape.parents) < 3 or tape.parents[1].name != TAPES:
        return None
    library = tape.parents[2]
    return library if (library / INDEX).exists() else None


def tell_index(tape: Path) -> None:
    """Write into the index whether a tape has marks now. A tape outside a library has no index, and a busy
    index learns of it when it is rebuilt: the file beside the tape is what counts."""
    tape = tape.absolute()
    library = library_of(tape)
    if library is None:
        return
    with suppress(sqlite3.Error, OSError):
        index = Index(library, _WAIT)
        try:
            index.mark(tape.relative_to(library).as_posix(), is_marked(tape))
        finally:
            index.close()


def put_aside(library: Path) -> None:
    """Moves a damaged index out of the way. It is kept: a user may want to know what happened to it."""
    for ending in ("-wal", "-shm", ""):
        file = library / f"{INDEX}{ending}"
        with suppress(OSError):
            file.replace(library / f"{INDEX}{ending}.damaged")


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """How many tapes were read, and how many of them cannot be."""

    tapes: int
    damaged: int


def rebuild(library: Path, progress: Callable[[int, int], None] = lambda done, of: None) -> Rebuilt:
    """Read every tape, then replace the rows in one transaction: until then all readers see the old ones."""
    read_at = time.time()
    entries = list(list_tapes(library))
    rows: list[dict[str, Any]] = []
    for entry in entries:
        progress(len(rows), len(entries))
        rows.append(summarise(library, entry))
    progress(len(rows), len(entries))
    rows = [row for row in rows if (library / row["path"]).exists()]
    index = _open(library)
    try:
        # A process that writes a tape knows more about it than can be read there.
        index.replace(rows, read_at, [path for path, pid in index.running() if is_alive(pid)])
    finally:
        index.close()
    return Rebuilt(len(rows), sum(row.get("state") == "damaged" for row in rows))


_AT_ONCE = 20  # rows in one transaction: viewers see them appear


def fill_in(library: Path, progress: Callable[[int, int], None] = lambda done, of: None) -> int:
    """Read the tapes whose rows an older version wrote, for what it did not write; how many there were."""
    index = _open(library)
    try:
        paths = index.unfilled()
        for at in range(0, len(paths), _AT_ONCE):
            progress(at, len(paths))
            index.fill([_filled(library, path) for path in paths[at : at + _AT_ONCE]])
        if paths:
            progress(len(paths), len(paths))
        return len(paths)
    finally:
        index.close()


def _filled(library: Path, path: str) -> dict[str, Any]:
    """A tape that is gone, or cannot be read, gets an empty text: it is not looked for again."""
    try:
        found = (library / path).stat()
    except OSError:
        return {"path": path}
    return summarise(library, TapeEntry(path, found.st_size, found.st_mtime, False))


def delete_tape(library: Path, path: str) -> None:
    """A tape, what was noted about it, and its row. Raises UserError while it is being written."""
    tape = library / path
    try:
        found = tape.stat()
        if is_running(tape, found.st_mtime, time.time()):
            raise UserError("this exchange still runs; it can be deleted when it has ended")
    except FileNotFoundError:
        pass
    try:
        for file in (tape, *marks_files(tape)):
            file.unlink(missing_ok=True)
        index = Index(library, _WAIT)
        try:
            index.remove([path])
        finally:
            index.close()
    except (OSError, sqlite3.Error) as error:
        raise UserError(f"{tape} cannot be deleted: {error}") from None


def reconcile(library: Path, index: Index) -> list[TapeEntry]:
    """Drop the rows of tapes that were deleted. The result is the tapes without a row, newest first:
    the process that wrote them was killed before the index knew."""
    entries = {entry.path: entry for entry in list_tapes(library)}
    known = dict(index.paths())
    missing = [path for path, state in known.items() if path not in entries and state != "running"]
    # Checked again: one may have begun since they were listed.
    index.remove([path for path in missing if not (library / path).exists()])
    return [entry for path, entry in reversed(entries.items()) if path not in known]


def _open(library: Path) -> Index:
    try:
        return Index(library, wait=30)
    except sqlite3.OperationalError:  # locked, or not writable: the file itself is well
        raise
    except sqlite3.DatabaseError:
        # Not an index, or of another version. Everything in it is on the tapes, too. Proxies notice it.
        for side in ("", "-wal", "-shm"):
            with suppress(FileNotFoundError):
                (library / f"{INDEX}{side}").unlink()
        return Index(library, wait=30)
