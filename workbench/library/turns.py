"""The chats that upstreams keep for us: where each conversation goes on. In SQLite, beside the tapes.

A row is one answered turn. It is found by the digest of the conversation up to that answer, so a process that
knows the whole conversation finds it, also after a restart. No text of a conversation is kept here.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from workbench.errors import UserError
from workbench.library.tapefiles import make_folder

FILE = "chats.sqlite"
_VERSION = 1
_WAIT = 5.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS turns (
    id INTEGER PRIMARY KEY, digest TEXT NOT NULL, upstream TEXT NOT NULL, model TEXT NOT NULL,
    chat TEXT NOT NULL, parent TEXT NOT NULL, turn INTEGER NOT NULL, prompt TEXT NOT NULL, session TEXT,
    tape TEXT, followed TEXT, answered REAL NOT NULL
);
CREATE INDEX IF NOT EXISTS by_digest ON turns (digest);
CREATE INDEX IF NOT EXISTS by_chat ON turns (chat);
"""
_COLUMNS = "id, digest, upstream, model, chat, parent, turn, prompt, session, tape, followed, answered"


class Turn(NamedTuple):
    """One answered turn: `parent` is what the next one follows, `prompt` the digest of what the chat was told
    at its beginning, `followed` the digest of what was said next, `answered` seconds since 1970."""

    id: int
    digest: str
    upstream: str
    model: str
    chat: str
    parent: str
    turn: int
    prompt: str
    session: str | None
    tape: str | None
    followed: str | None
    answered: float


@dataclass(frozen=True, slots=True)
class Chat:
    """All turns of a chat that are remembered."""

    chat: str
    upstream: str
    model: str
    turns: int
    first: float
    last: float
    session: str | None


class Chats:
    """All methods may be called from any thread, one at a time. They raise sqlite3.Error."""

    def __init__(self, library: Path, *, create: bool = True) -> None:
        file = library / FILE
        if not create and not file.exists():
            raise UserError(f"there are no chats in {library}; only upstreams of kind qwen-chat have any")
        make_folder(library)
        if not file.exists():
            with suppress(FileExistsError):
                os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        self._lock = threading.Lock()
        self._db = sqlite3.connect(file, timeout=_WAIT, isolation_level=None, check_same_thread=False)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.executescript(f"{_SCHEMA}PRAGMA user_version = {_VERSION};")

    def strange(self) -> bool:
        """Whether there are rows that only a stranger can have written."""
        texts = ("digest", "upstream", "model", "chat", "parent", "prompt")
        tests = [f"typeof({name}) != 'text'" for name in texts]
        tests += [f"typeof({name}) NOT IN ('text', 'null')" for name in ("session", "tape", "followed")]
        tests += ["typeof(turn) != 'integer'", "typeof(answered) != 'real'", "abs(answered) > 1e11"]
        with self._lock:
            found = self._db.execute(f"SELECT 1 FROM turns WHERE {' OR '.join(tests)} LIMIT 1")
            return found.fetchone() is not None

    def find(
        self, digest: str, upstream: str, model: str, session: str | None, following: str, since: float
    ) -> Turn | None:
        """The turn that `following` continues, now claimed by it.

        On a tie: one of the same session, then a repeat (it was continued like this before), then one not
        continued yet.
        """
        with self._lock:
            rows = self._db.execute(
                f"SELECT {_COLUMNS} FROM turns WHERE digest = ? AND upstream = ? AND model = ?"
                " AND answered >= ? ORDER BY id DESC",
                (digest, upstream, model, since),
            ).fetchall()
            turns = [Turn(*row) for row in rows]
            if not turns:
                return None

            def rank(turn: Turn) -> tuple[bool, bool, bool]:
                own = session is not None and turn.session == session
                return own, turn.followed == following, turn.followed is None

            best = max(turns, key=rank)  # of equals the latest
            if best.followed is None:
                self._db.execute("UPDATE turns SET followed = ? WHERE id = ?", (following, best.id))
            return best

    def remember(self, turn: Turn) -> None:
        """A turn was answered; its `id` is given here."""
        with self._lock:
            self._db.execute(
                f"INSERT INTO turns ({_COLUMNS}) VALUES (NULL{', ?' * (len(Turn._fields) - 1)})", turn[1:]
            )

    def forget(self, chat: str) -> int:
        """All turns of a chat; returns how many there were."""
        with self._lock:
            return self._db.execute("DELETE FROM turns WHERE chat = ?", (chat,)).rowcount

    def expire(self, upstream: str, before: float) -> int:
        """Forget turns answered before a moment; returns how many."""
        with self._lock:
            gone = self._db.execute(
                "DELETE FROM turns WHERE upstream = ? AND answered < ?", (upstream, before)
            )
            return gone.rowcount

    def clear(self) -> int:
        with self._lock:
            return self._db.execute("DELETE FROM turns").rowcount

    def chats(self) -> list[Chat]:
        """The latest first."""
        with self._lock:
            rows = self._db.execute(
                "SELECT chat, max(upstream), max(model), max(turn), min(answered), max(answered),"
                " max(session) FROM turns GROUP BY chat ORDER BY max(answered) DESC"
            ).fetchall()
        return [Chat(*row) for row in rows]

    def turns(self, chat: str) -> Sequence[Turn]:
        """In their order; `chat` may be the beginning of an id."""
        pattern = chat.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        with self._lock:
            rows = self._db.execute(
                f"SELECT {_COLUMNS} FROM turns WHERE chat LIKE ? ESCAPE '\\' ORDER BY id", (pattern,)
            ).fetchall()
        return [Turn(*row) for row in rows]

    def close(self) -> None:
        with self._lock:
            self._db.close()
