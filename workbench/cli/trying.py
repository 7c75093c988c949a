"""`workbench try`: recorded requests sent again, with several prompts, and the answers counted."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from workbench.analysis.filters import FilterError, fits_exchange, parse
from workbench.cli.printing import write
from workbench.config.reading import read_settings
from workbench.config.settings import Flags, Settings
from workbench.demo.traffic import UnreliableModel, answer_on, asked_last
from workbench.errors import UserError
from workbench.files import PRIVATE, replace_file, resolve
from workbench.lab.outcomes import Outcome
from workbench.lab.page import Page
from workbench.lab.plan import Case, Expected, Plan, make_variants, read_case
from workbench.lab.report import as_json, failures, junit_xml, lines, short
from workbench.lab.statistics import Table, tabulate
from workbench.lab.store import Try, create_try, open_try
from workbench.lab.suite import SUFFIX, TIMES, plan_of, read_suite, write_suite
from workbench.lab.trials import JOBS, Budget, Ending, Trials, proxy_for
from workbench.library.query import Library, tape_of
from workbench.library.tapefiles import is_real_file
from workbench.proxy.asking import ProxyConnection
from workbench.recording.redaction import Redaction, check_patterns
from workbench.tape.format import read_tape
from workbench.tape.recipe import known_dialect
from workbench.text import json_text, say, visible_line

INTERRUPTED = 130  # as a shell has it for a program that was ended by Ctrl-C


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the command line said."""

    tapes: Sequence[str] = ()
    where: str | None = None
    prompts: Sequence[str] = ()
    dialects: Sequence[str] = ()
    models: Sequence[str] = ()
    upstream: str | None = None
    settings: Sequence[str] = ()
    expect: str | None = None
    expect_args: str | None = None
    times: int | None = None
    jobs: int = JOBS
    budget: Budget = field(default_factory=Budget)
    resume: str | None = None
    json: bool = False
    html: str | None = None
    junit: str | None = None
    new_suite: str | None = None
    demo: bool = False
    library: str | None = None


def try_prompts(wanted: Wanted) -> int:
    """The exit code: 0 when all was asked and every case of a suite passes, 1 when not, 130 after Ctrl-C."""
    settings = read_settings(Flags(upstream=wanted.upstream, library=_library(wanted)))
    if wanted.new_suite is not None:
        return _new_suite(wanted, settings)
    made = _continued(wanted, settings) if wanted.resume is not None else _begun(wanted, settings)
    for note in made.plan.notes:
        say(f"note {note}", "cyan")
    ending = asyncio.run(_carry_out(made, wanted, settings))
    table = tabulate(made.plan, made.in_order)
    _show(made, table, wanted, settings)
    if ending is not Ending.DONE:
        say(f"{ending}; workbench try --resume {made.id} goes on" + _where(wanted))
    if ending is Ending.STOPPED:
        return INTERRUPTED
    failed = failures(table) if made.plan.suite is not None else []
    for case, variant in failed:
        cell, told = table.cells[case][variant], made.plan.cases[case]
        name = f"{short(told.name, 60)}, {short(made.plan.variants[variant].name)}"
        say(f"failed {name}: {cell.good.hits} of {cell.good.of} as wanted, {told.rate:.0%} have to be", "red")
    return int(bool(failed) or ending is not Ending.DONE)


def _library(wanted: Wanted) -> str | None:
    if wanted.library is None and wanted.demo and wanted.resume is None:
        return tempfile.mkdtemp(prefix="workbench-try-")  # 0700
    return wanted.library


def _where(wanted: Wanted) -> str:
    return f" (with --library {wanted.library})" if wanted.library is not None else ""


# -- the plan


def _begun(wanted: Wanted, settings: Settings) -> Try:
    plan = _plan(wanted, settings)
    if wanted.times is not None:
        if wanted.times < 1:
            raise UserError("-n is how often each request is sent with each variant, at least 1")
        plan = replace(plan, times=wanted.times)
    return create_try(settings.library, plan)


def _continued(wanted: Wanted, settings: Settings) -> Try:
    if wanted.tapes or wanted.where or wanted.prompts or wanted.dialects or wanted.models or wanted.settings:
        raise UserError("--resume goes on with a try as it was planned; it takes neither tapes nor variants")
    assert wanted.resume is not None
    return open_try(settings.library, wanted.resume)


def _plan(wanted: Wanted, settings: Settings) -> Plan:
    for dialect in wanted.dialects:
        known_dialect(dialect)
    said = (wanted.prompts, wanted.dialects, wanted.models, wanted.settings)
    variants = make_variants(*said) if any(said) else None
    suites = [name for name in wanted.tapes if name.endswith(SUFFIX)]
    if suites:
        if len(wanted.tapes) > 1 or wanted.where:
            raise UserError("a suite is tried alone: it names its tapes itself")
        plan = read_suite(suites[0])
        return plan if variants is None else replace(plan, variants=variants)
    expected = _expected(wanted)
    cases = [read_case(path) for path in _tapes(wanted, settings)]
    if expected is not None:
        cases = [replace(case, expected=_merged(expected, case)) for case in cases]
    return plan_of(cases, variants or make_variants((), (), (), ()), TIMES)


def _expected(wanted: Wanted) -> Expected | None:
    if wanted.expect is None and wanted.expect_args is None:
        return None
    if wanted.expect_args is None:
        return Expected(wanted.expect)
    try:
        arguments = json.loads(wanted.expect_args)
    except ValueError as error:
        raise UserError(f"--expect-args is not JSON: {error}") from None
    if not isinstance(arguments, dict):
        raise UserError('--expect-args is a JSON object, such as \'{"path": "src/main.py"}\'')
    return Expected(wanted.expect, arguments)


def _merged(expected: Expected, case: Case) -> Expected:
    """Arguments without a tool are those of the tool that was called on the tape."""
    if expected.tool is not None:
        return expected
    if case.expected.tool is None:
        raise UserError(
            f"{case.name}: --expect-args needs --expect, since the tape's own answer called nothing"
        )
    return Expected(case.expected.tool, expected.arguments)


def _tapes(wanted: Wanted, settings: Settings) -> list[Path]:
    """Files, ids of the library's exchanges, and what a filter finds there."""
    found = []
    for name in wanted.tapes:
        path = resolve(name)
        if os.path.isdir(path):
            found += sorted(path.rglob("*.jsonl"))
        elif os.path.exists(path) or "/" in name or "." in name:
            found.append(path)
        else:
            found.append(tape_of(settings.library, name))
    if wanted.where is not None:
        found += _fitting(settings.library, wanted.where)
    return found


def _fitting(library: Path, text: str) -> list[Path]:
    """The exchanges that a filter finds, oldest first; answers that a try itself has got are left out."""
    try:
        wanted = parse(text)
    except FilterError as error:
        raise UserError(f"--where: {error.message}") from None
    with Library(library) as opened:
        rows = opened.rows()
    asked = [row for row in reversed(rows) if row.kind != "relay" and (row.try_id is None or "try:" in text)]
    fits = [row for row in asked if is_real_file(library / row.path) and fits_exchange(wanted, row, library)]
    if not fits:
        raise UserError(f"no exchange in {library} fits {text!r}")
    return [library / row.path for row in fits]


def _new_suite(wanted: Wanted, settings: Settings) -> int:
    assert wanted.new_suite is not None
    chosen = wanted if wanted.tapes or wanted.where else replace(wanted, where="has:mark")
    try:
        tapes = _tapes(chosen, settings)
    except UserError:
        if chosen is wanted:
            raise
        tapes = []
    file = Path(wanted.new_suite)
    count = write_suite(file, tapes, wanted.times or TIMES)
    say(f"{count} case{'' if count == 1 else 's'} in {file}; workbench try {file} asks them")
    return 0


# -- the work


async def _carry_out(made: Try, wanted: Wanted, settings: Settings) -> Ending:
    if not wanted.demo:
        upstream = settings.default if wanted.upstream is not None else None
        return await _asked(made, wanted, settings.library, wanted.upstream, upstream)
    async with UnreliableModel(_answers(made.plan.cases)) as model:
        # Its name is the one that a flag gives to an upstream.
        return await _asked(made, wanted, settings.library, model.url, "default")


async def _asked(made: Try, wanted: Wanted, library: Path, url: str | None, upstream: str | None) -> Ending:
    async with proxy_for(library, url) as proxy, ProxyConnection(proxy) as connection:
        progress = Progress(made)
        trials = Trials(
            made,
            connection,
            jobs=wanted.jobs,
            budget=wanted.budget,
            upstream=upstream,
            on_outcome=progress.tell,
        )
        if trials.left:
            say(f"{made.id}: {trials.left:,} requests, {wanted.jobs} at a time; Ctrl-C stops and keeps them")
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, trials.stop)
        try:
            return await trials.run()
        finally:
            loop.remove_signal_handler(signal.SIGINT)
            progress.end()


def _answers(cases: Sequence[Case]) -> Mapping[str, str]:
    """What the demo's model says to each request."""
    return {asked_last(case.request): answer_on(read_tape(Path(case.tape))) for case in cases}


class Progress:
    """One line that is drawn again on a terminal; anywhere else a line every few seconds."""

    _EVERY = 10.0

    def __init__(self, made: Try) -> None:
        self._try = made
        self._begun = self._told = time.monotonic()
        self._before = len(made.outcomes)
        self._drawn = False

    def tell(self, outcome: Outcome) -> None:
        now = time.monotonic()
        if sys.stderr is None or (not sys.stderr.isatty() and now - self._told < self._EVERY):
            return
        self._told = now
        line = self._line(now - self._begun)
        if sys.stderr.isatty():
            width = shutil.get_terminal_size().columns - 1
            sys.stderr.write(f"\r\x1b[2K{visible_line(line)[:width]}")
            sys.stderr.flush()
            self._drawn = True
        else:
            say(line)

    def _line(self, seconds: float) -> str:
        done, planned = len(self._try.outcomes), len(self._try.plan.trials)
        pace = (done - self._before) / seconds if seconds else 0.0
        left = (planned - done) / pace if pace else 0.0
        used = sum(outcome.tokens for outcome in self._try.outcomes.values())
        return f"{done:,} of {planned:,}, {pace * 60:,.0f} a minute, {_span(left)} left, {used:,} tokens"

    def end(self) -> None:
        if self._drawn:
            sys.stderr.write(os.linesep)


def _span(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


# -- the result


def _show(made: Try, table: Table, wanted: Wanted, settings: Settings) -> None:
    redaction = Redaction(check_patterns(settings.redact))
    if wanted.html is not None:
        _save(wanted.html, Page(made, table, redaction).html().encode("utf-8", "replace"))
    if wanted.junit is not None:
        _save(wanted.junit, junit_xml(made, table, redaction))
    if wanted.json:
        write(json_text(redaction.value(as_json(made, table)), indent=2).encode("utf-8") + b"\n")
        return
    columns = shutil.get_terminal_size().columns if sys.stdout is not None and sys.stdout.isatty() else None
    write("".join(f"{line}\n" for line in lines(table, columns)).encode("utf-8", "replace"))
    say(f"its exchanges: filter try:{made.id} in `workbench attach --library {made.library}`")


def _save(name: str, data: bytes) -> None:
    try:
        replace_file(Path(name).absolute(), data, PRIVATE)
    except OSError as error:
        raise UserError(f"{name} cannot be written: {error.strerror}") from None
