"""`workbench`, `workbench attach` and `workbench serve`: the proxy with a screen, a screen for one that
runs, the proxy alone.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from workbench.analysis.verdicts import Verdict, facts_of_row, verdict
from workbench.breakpoints import parse
from workbench.cli.printing import on_terminal, write
from workbench.config.reading import read_settings
from workbench.config.settings import Flags, Settings
from workbench.errors import UserError
from workbench.library.summary import COLUMNS, Row
from workbench.proxy.guard import check_settings
from workbench.text import SIGNS, counted, json_text, say, visible_line


@dataclass(frozen=True, slots=True)
class LogOptions:
    """What `serve` logs about each exchange, and where; `file` None: on standard error."""

    verbose: bool = False
    quiet: bool = False
    file: str | None = None
    as_json: bool = False


_USUAL = LogOptions()


def serve(
    flags: Flags,
    log: LogOptions = _USUAL,
    breakpoints: Sequence[str] = (),
    workers: int = 1,
) -> int:
    """Run it. Errors in the settings are reported before anything is opened."""
    settings = read_settings(flags)
    for text in breakpoints:  # the settings may have named a dialect with states of its own
        parse(text)
    check_settings(settings)

    def announce(url: str) -> None:
        _announce(settings, url)

    def open_log() -> ExchangeLog | None:
        if log.quiet and log.file is None:
            return None
        return ExchangeLog(log.file, as_json=log.as_json, verbose=log.verbose)

    if workers > 1:
        from workbench.proxy.workers import serve_workers

        return serve_workers(settings, workers, announce, open_log, breakpoints)
    from workbench.proxy.server import serve as run

    return run(settings, announce, open_log, breakpoints)


def _announce(settings: Settings, url: str) -> None:
    upstream = settings.upstreams[settings.default] if settings.default else None
    where = f" -> {upstream.url} ({upstream.dialect})" if upstream is not None else ""
    write(f"workbench serves {url}{where}; tapes in {settings.library}\n".encode())
    for warning in settings.warnings:
        say(f"warning: {warning}", "yellow")


def ui(flags: Flags) -> int:
    """With the proxy as a child process, or attached to the one that runs already."""
    _needs_terminal("`workbench serve` runs the proxy without one")
    from workbench.ui.app import run_live

    return run_live(flags)


def attach(library: str | None) -> int:
    """A library that another process writes."""
    _needs_terminal("`workbench library list` lists the tapes without one")
    folder = Path(library) if library else read_settings(Flags()).library
    if not os.path.isdir(folder):
        raise UserError(f"there is no library in {folder}; --library names another folder")
    from workbench.ui.app import run_attached

    return run_attached(folder)


def _needs_terminal(instead: str) -> None:
    if not on_terminal():
        raise UserError(f"the screen needs a terminal; {instead}")


# -- the log: one line for each exchange that has ended, for people or as JSON
#
# It is written by a thread of its own: a terminal that was stopped, or a full disk, must hold up
# neither an answer nor a tape.

_MOST = 10_000  # exchanges that wait to be written
_CLOSE = 2.0  # seconds for the last of them


class ExchangeLog:
    """`put` takes the row of the index as the recorder has it: secrets in it are already masked."""

    def __init__(self, file: str | None = None, *, as_json: bool = False, verbose: bool = False) -> None:
        self._file = None if file is None else _opened(file)
        self._as_json = as_json
        self._verbose = verbose
        self._rows: queue.Queue[Mapping[str, Any] | None] = queue.Queue(_MOST)
        self._missed = 0
        self._thread = threading.Thread(target=self._run, name="exchange log", daemon=True)
        self._thread.start()

    def put(self, row: Mapping[str, Any]) -> None:
        """An exchange that has ended; never waits."""
        try:
            self._rows.put_nowait(dict(row))
        except queue.Full:
            self._missed += 1

    def close(self) -> None:
        """Write the rest, as far as that is possible soon."""
        try:
            self._rows.put(None, timeout=_CLOSE)
        except queue.Full:
            return
        self._thread.join(_CLOSE)

    def _run(self) -> None:
        while (columns := self._rows.get()) is not None:
            missed, self._missed = self._missed, 0
            if missed:
                told = f"{missed} exchanges are not in this log: it could not be written in time"
                self._write(json_text({"missed": missed}) if self._as_json else told)
            row = Row(**{name: value for name, value in columns.items() if name in COLUMNS})
            said = verdict(facts_of_row(row))
            self._write(json_line(row, said) if self._as_json else text_line(row, said, self._verbose))

    def _write(self, line: str) -> None:
        if self._file is None:
            say(line)
            return
        try:
            self._file.write(f"{visible_line(line)}\n")
            self._file.flush()
        except OSError:
            pass  # a full disk; the tapes report it


def _opened(name: str) -> IO[str]:
    try:
        return open(name, "a", encoding="utf-8", errors="backslashreplace", opener=_private)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UserError(f"the log cannot be written to {name}: {reason}") from None


def _private(name: str, flags: int) -> int:
    """Models, sessions and errors are private."""
    return os.open(name, flags, 0o600)


def text_line(row: Row, said: Verdict, verbose: bool = False) -> str:
    """`2026-11-16 18:49:23  qwen3  auto  ✔ 1 call converted  1 call  0.52s  repaired-call 2`."""
    words = [
        datetime.fromtimestamp(row.started).strftime("%Y-%m-%d %H:%M:%S"),
        row.model or "–",
        row.dialect or "–",
        f"{SIGNS[said.level]} {said.long if verbose else said.sentence}",
        counted(row.calls, "call"),
        f"{row.duration or 0:.2f}s",
        _findings(row),
        *(_more(row) if verbose else ()),
    ]
    return "  ".join(visible_line(word) for word in words)


def _findings(row: Row) -> str:
    return ", ".join(f"{code} {count}" if count != 1 else code for code, count in row.findings.items()) or "–"


def _more(row: Row) -> list[str]:
    tokens = (row.prompt_tokens, row.completion_tokens)
    return [
        f"status {row.status or '–'} {row.state}",
        f"upstream {row.upstream or '–'}",
        f"session {row.session or '–'}",
        "no first byte" if row.ttfb is None else f"first byte {row.ttfb:.2f}s",
        f"{counted(row.chunks, 'read')}, {counted(row.bytes, 'byte')}",
        *([] if None in tokens else [f"{tokens[0]}+{tokens[1]} tokens"]),
        row.path,
    ]


def json_line(row: Row, said: Verdict) -> str:
    """The same for programs; with all that is known of it, whether or not more was asked for."""
    time = datetime.fromtimestamp(row.started).astimezone().isoformat(timespec="milliseconds")
    judged = {"kind": said.kind, "level": said.level, "sentence": said.sentence}
    known = {
        name: getattr(row, name)
        for name in (
            "model", "dialect", "calls", "duration", "findings", "status", "state", "upstream", "session",
            "ttfb", "prompt_tokens", "completion_tokens", "chunks", "bytes", "lost", "error", "kind",
            "id", "path",
        )
    }  # fmt: skip
    return json_text({"time": time, "verdict": judged, **known})
