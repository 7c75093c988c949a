"""`workbench library calls`: the calls of all tapes, each with its arguments and its result."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import Any

from workbench.analysis.toolresults import Link, Trouble, Turn, chain, turn_of
from workbench.cli.printing import Painted, write, write_painted
from workbench.errors import UserError
from workbench.library.query import Filter, Library, parse_moment
from workbench.library.summary import Row, started_of
from workbench.library.tapefiles import is_real_file
from workbench.replay.player import Player
from workbench.tape.format import Tape, TapeError, read_tape
from workbench.text import json_object, json_text, say, visible_line

_EXCERPT = 100


@dataclass(frozen=True, slots=True)
class Called:
    """A call, and the row of the exchange whose answer contains it."""

    row: Row
    link: Link


def library_calls(
    folder: Path,
    tool: str | None = None,
    session: str | None = None,
    since: str | None = None,
    limit: int = 50,
    as_json: bool = False,
) -> int:
    """Print the newest calls; a `limit` of 0 means all of them."""
    if limit < 0:
        raise UserError("--limit is a number of calls, 0 for all of them")
    moment = None if since is None else parse_moment(since, time.time())
    with Library(folder) as library:
        rows = library.rows(Filter(session=session, since=moment))
    found = sorted(_calls(folder, rows), key=lambda called: called.row.started, reverse=True)
    wanted = [called for called in found if tool is None or fnmatchcase(called.link.call.name, tool)]
    shown = list(islice(wanted, limit or None))
    if as_json:
        write("".join(json_text(_as_json(called)) + "\n" for called in shown).encode("utf-8"))
    else:
        write_painted(_line(called) for called in shown)
    if not shown:
        say("there are no calls yet" if (tool, session, since) == (None,) * 3 else "no call fits")
    elif len(wanted) > len(shown):
        say(f"these are the newest {limit} of {len(wanted)}; --limit 0 lists them all")
    return 0


def _calls(folder: Path, rows: Iterable[Row]) -> Iterator[Called]:
    """Conversation by conversation: only the next request of the same one has the results."""
    sessions: dict[str | None, dict[str, Row]] = {}
    for row in rows:
        if row.kind != "relay":
            sessions.setdefault(row.session, {})[row.id] = row
    for by_id in sessions.values():
        turns = [turn for row in by_id.values() if (turn := _turn(folder / row.path, row.id)) is not None]
        yield from (Called(by_id[link.exchange], link) for link in chain(turns))


def _turn(path: Path, id: str) -> Turn | None:
    """From the tape's last line, where that has the answer; otherwise the tape is played."""
    if not is_real_file(path):
        return None
    try:
        tape = read_tape(path)
    except (TapeError, OSError):
        return None  # `library list` says so
    answer = tape.end.value.get("answer") if tape.end is not None else None
    if isinstance(answer, Mapping):
        return Turn(id, started_of(tape.header) or 0.0, tape.header.get("request"), answer)
    return turn_of(_played(tape), id)


def _played(tape: Tape) -> Player:
    player = Player(tape.header)
    player.add(tape.lines)
    return player


def _as_json(called: Called) -> dict[str, Any]:
    row, link = called.row, called.link
    arguments = json_object(link.call.arguments.encode("utf-8", "surrogatepass"))
    return {
        "time": datetime.fromtimestamp(row.started).astimezone().isoformat(timespec="milliseconds"),
        "tool": link.call.name,
        "id": link.call.id,
        "arguments": link.call.arguments if arguments is None else arguments,
        "result": None if link.result is None else link.result.text,
        "troubles": list(link.troubles),
        "model": row.model,
        "dialect": row.dialect,
        "session": row.session,
        "exchange": row.id,
        "path": row.path,
    }


def _line(called: Called) -> list[Painted]:
    row, link = called.row, called.link
    when = datetime.fromtimestamp(row.started).strftime("%m-%d %H:%M:%S")
    result = "no result yet" if link.result is None else _excerpt(link.result.text)
    if Trouble.MISSING in link.troubles:
        result = "no result came back"
    colour = "red" if link.troubles else "cyan"
    return [
        Painted(f"{when}  {row.id}  "),
        Painted(visible_line(link.call.name or "–"), "green"),
        Painted(f" {_excerpt(link.call.arguments)}  "),
        Painted(f"-> {result}", colour),
    ]


def _excerpt(text: str) -> str:
    line = " ".join(text[: 4 * _EXCERPT].split())
    return visible_line(line if len(line) <= _EXCERPT else line[: _EXCERPT - 1] + "…")
