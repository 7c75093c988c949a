"""`workbench library`: what is recorded, as a table no wider than the terminal, and rebuilding its index."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from rich.cells import cell_len, set_cell_size

from transformer.findings import CATALOGUE
from workbench.analysis.filters import Filter as Condition
from workbench.analysis.filters import FilterError, fits_exchange, parse
from workbench.analysis.verdicts import Verdict, facts_of_row, verdict
from workbench.cli.choices import State
from workbench.cli.printing import Painted, write, write_painted
from workbench.config.reading import read_settings
from workbench.config.settings import Flags
from workbench.errors import UserError
from workbench.library.index import fill_in, rebuild
from workbench.library.query import Filter, Library, parse_moment
from workbench.library.summary import Level, Row
from workbench.library.tapefiles import TAPES
from workbench.text import SIGNS, json_text, say, visible_line


def library_list(
    library: str | None = None,
    model: str | None = None,
    upstream: str | None = None,
    dialect: str | None = None,
    finding: str | None = None,
    session: str | None = None,
    since: str | None = None,
    state: State | None = None,
    limit: int = 50,
    as_json: bool = False,
    where: str = "",
) -> int:
    """Print the newest tapes: a table, or one JSON object a line. A `limit` of 0 means all of them; `where`
    is a filter as the list of the screen has it."""
    if limit < 0:
        raise UserError("--limit is a number of tapes, 0 for all of them")
    moment = None if since is None else parse_moment(since, time.time())
    wanted = Filter(model, upstream, dialect, session, finding=finding, state=state, since=moment)
    condition = _condition(where)
    with Library(library_folder(library)) as opened:
        if opened.unfilled():
            _fill_in(opened.folder)
        found = opened.rows(wanted, limit + 1 if limit and not condition.terms else None)
        fitting = (row for row in found if fits_exchange(condition, row, opened.folder))
        rows = list(islice(fitting, limit + 1 if limit else None))
    shown = rows[:limit] if limit else rows
    if as_json:
        lines = (json_text(_as_json(row, opened.folder)) + "\n" for row in shown)
        write("".join(lines).encode("utf-8"))
    elif shown:
        write_painted(tape_table(shown, _width()))
    if not shown:
        say(
            "there are no tapes yet"
            if wanted == Filter() and not where
            else "no tape fits all of these conditions"
        )
    elif len(rows) > len(shown):
        say(f"these are the newest {limit}; --limit 0 lists them all")
    return 0


def _condition(where: str) -> Condition:
    try:
        return parse(where)
    except FilterError as error:
        raise UserError(error.message) from None


def _fill_in(folder: Path) -> None:
    """Adds what an older version did not write to the index. An index that cannot be written is shown as it
    is."""
    with suppress(sqlite3.Error, OSError):
        fill_in(folder, _progress)


def library_rebuild(library: str | None = None) -> int:
    """Rebuild the index from the tapes; the exit code is 1 when one of them cannot be read."""
    folder = library_folder(library)
    if not os.path.isdir(folder / TAPES):
        raise UserError(f"there are no tapes in {folder}; --library names another folder")
    try:
        done = rebuild(folder, _progress)
    except (sqlite3.Error, OSError) as error:
        raise UserError(f"the index of {folder} cannot be written: {error}") from None
    damaged = f", {done.damaged} of them cannot be read (--state damaged lists them)" if done.damaged else ""
    say(f"{done.tapes} tape{'' if done.tapes == 1 else 's'} in the index of {folder}{damaged}")
    return int(done.damaged > 0)


def _as_json(row: Row, folder: Path) -> dict[str, Any]:
    said = verdict(facts_of_row(row))
    judged = {"kind": said.kind, "level": said.level, "sentence": said.sentence}
    return asdict(row) | {"verdict": judged, "file": str(folder.absolute() / row.path)}


def library_folder(library: str | None) -> Path:
    """The folder that a flag names, or the settings."""
    return read_settings(Flags(library=library)).library


def _width() -> int | None:
    """Of the terminal; output to a file is not cut."""
    if sys.stdout is None or not sys.stdout.isatty():
        return None
    return shutil.get_terminal_size().columns


def _progress(done: int, of: int) -> None:
    """One line that counts, only on a terminal."""
    if sys.stderr is not None and sys.stderr.isatty() and (done == of or not done % 10):
        sys.stderr.write(f"\r{done} of {of} tapes read{os.linesep if done == of else ''}")
        sys.stderr.flush()


# -- the table

_RIGHT = frozenset(("ttfb", "took", "chunks", "calls", "tokens"))
_LEAST = {
    "model": 12, "verdict": 20, "finding": 12, "dialect": 7, "status": 13, "session": 8, "chat": 8,
    "tools": 8, "asked": 16,
}  # fmt: skip
# Columns left out first if even that does not fit. Time, status and id stay: without them a row is useless.
_SPARE = (
    "path", "chat", "asked", "session", "ttfb", "chunks", "tokens", "finding", "dialect", "calls", "took",
    "tools", "model", "verdict",
)  # fmt: skip
_GAP = "  "
_COLOURS: Mapping[Level, str] = {"error": "red", "warning": "yellow", "info": "cyan", "good": "green"}


def tape_table(rows: Sequence[Row], width: int | None) -> Iterator[list[Painted]]:
    """Lines of cells; `width` None means as wide as they are."""
    judged = [verdict(facts_of_row(row)) for row in rows]
    cells = [_cells(row, said) for row, said in zip(rows, judged, strict=True)]
    # Most upstreams keep no chat, and many answers call nothing.
    empty = {name for name in ("chat", "tools", "asked") if not any(getattr(row, name) for row in rows)}
    cells = [{name: text for name, text in row.items() if name not in empty} for row in cells]
    widths = _widths(cells, width)
    yield [Painted(_joined({name: name for name in widths}, widths))]
    for said, texts in zip(judged, cells, strict=True):
        yield _line(said, texts, widths)


def _line(said: Verdict, texts: dict[str, str], widths: dict[str, int]) -> list[Painted]:
    pieces: list[Painted] = []
    for name, width in widths.items():
        gap = _GAP if pieces else ""
        colour = _COLOURS.get(said.level) if name == "verdict" else None
        pieces.append(Painted(gap + _cell(name, texts[name], width), colour))
    return pieces


def _widths(cells: Sequence[dict[str, str]], width: int | None) -> dict[str, int]:
    """Columns that do not fit are left out; then the long ones get narrower, the longest first."""
    widths = {name: max(map(cell_len, (name, *(row[name] for row in cells)))) for name in cells[0]}
    if width is None:
        return widths
    least = {name: min(natural, _LEAST.get(name, natural)) for name, natural in widths.items()}
    for name in _SPARE:
        if name in least and _total(least) > width:
            del least[name], widths[name]
    while _total(widths) > width:
        name = max(widths, key=lambda name: widths[name] - least[name])
        if widths[name] == least[name]:
            break
        widths[name] -= 1
    return widths


def _total(widths: Mapping[str, int]) -> int:
    return sum(widths.values()) + len(_GAP) * (len(widths) - 1)


def _joined(texts: dict[str, str], widths: dict[str, int]) -> str:
    return _GAP.join(_cell(name, texts[name], width) for name, width in widths.items())


def _cell(name: str, text: str, width: int) -> str:
    if cell_len(text) > width:
        return set_cell_size(text, width - 1) + "…"
    blanks = " " * (width - cell_len(text))
    return blanks + text if name in _RIGHT else text + blanks


def _cells(row: Row, said: Verdict) -> dict[str, str]:
    texts = {
        "time": datetime.fromtimestamp(row.started).strftime("%m-%d %H:%M:%S"),
        "model": row.model or "–",
        "dialect": row.dialect or "–",
        "status": _status(row),
        "ttfb": _seconds(row.ttfb),
        "took": _seconds(row.duration),
        "chunks": str(row.chunks),
        "calls": str(row.calls),
        "tools": ", ".join(row.tools) or "–",
        "tokens": _tokens(row),
        "verdict": f"{SIGNS[said.level]} {said.sentence}",
        "asked": _asked(row),
        "finding": _finding(row),
        "session": row.session or "–",
        "chat": row.chat or "–",
        "path": row.path,
        "id": row.id,
    }
    # Names come from clients and from files: none of them may control the terminal or break the table.
    return {name: visible_line(text) for name, text in texts.items()}


def _status(row: Row) -> str:
    code = "–" if row.status is None else str(row.status)
    return code if row.state in ("done", "eof") else f"{code} {row.state}"


def _seconds(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    if seconds < 99.95:
        return f"{seconds:.2f}s" if seconds < 9.995 else f"{seconds:.1f}s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}m{rest:02d}s"


def _tokens(row: Row) -> str:
    if row.prompt_tokens is None and row.completion_tokens is None:
        return "–" if row.total_tokens is None else str(row.total_tokens)
    return f"{row.prompt_tokens or 0}+{row.completion_tokens or 0}"


def _asked(row: Row) -> str:
    """The user's words, or a tool's result after the tool's name."""
    words = (row.asked or "")[:80] or "–"
    return f"{row.asked_by} → {words}" if row.asked_by else words


def _finding(row: Row) -> str:
    """The worst one, and how many other kinds there are; missing lines come before all of them."""
    worst = [code for code in row.findings if code in CATALOGUE and CATALOGUE[code][0] == row.level]
    codes = [*worst, *row.findings]
    said = ["lost lines"] if row.lost else []
    said += [codes[0] + (f" +{len(row.findings) - 1}" if len(row.findings) > 1 else "")] if codes else []
    return ", ".join(said) or ("damaged" if row.state == "damaged" else "–")
