"""The cost of checking tapes: verdicts, conformance, recorded output beside today's, explanations.

    python -m benchmarks check [--rounds 3]

Tapes of 1 000, 10 000 and 100 000 reads (prose, calls, some malformed, with what was sent) are checked as
`workbench replay FOLDER` and the picker of the screen do it: played, compared with what was sent when
recorded, and judged. Beside the whole are its parts: the conformance of all events, as it is looked at
where nothing is converted; the comparison; the verdict with its proof. The measure is reading and converting
the same tape with the records that the proxy keeps, in the same round. An explanation is made for one row at
a time, when a user presses a key; that of a malformed call tries what would have made it one, and is only
reported. The list's verdicts are made from the index, of as many exchanges as the tapes have reads. All of it
in processor time. Growth is the cost of a read in the longest tape beside that in the shortest.
"""

from __future__ import annotations

import argparse
import gc
import sqlite3
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from time import process_time

from benchmarks.opening import write_exchanges
from benchmarks.replay import write_tape
from benchmarks.report import Bars, Lines, Program, Report, Table, number, progress, ratio
from transformer.answer.conformance import Conformance
from transformer.records import Event, Finding
from workbench.analysis.appraisal import appraise
from workbench.analysis.explain.rows import explain_row
from workbench.analysis.verdicts import facts_of_player, facts_of_row, proof, verdict
from workbench.library.index import INDEX, Index
from workbench.library.query import Filter, Library
from workbench.library.tapefiles import new_id, tape_path
from workbench.replay.player import Pane, Player
from workbench.replay.sentdifference import SentComparison
from workbench.replay.sources import replayables_of
from workbench.tape.format import TapeReader, read_tape
from workbench.tape.recipe import Wishes, make_recipe

READS = (1_000, 10_000, 100_000)
BASE, WHOLE = "read and convert", "the whole check"
PARTS = ("conformance", "comparison", "verdict and proof")
LISTED, EXPLAINED, MENDED = "verdicts of a list", "explanation of a row", "explanation of a malformed call"
ROWS = 120  # explained
MOST_COST = 8.0  # times reading and converting, for the whole check
MOST_GROWTH = 1.3
MOST_WAIT = 50.0  # ms: a user has pressed a key
_FOREVER = 1e9


class Checked:
    """One tape, and what each way to look at it needs."""

    def __init__(self, folder: Path, reads: int) -> None:
        self.reads = reads
        self.path = write_tape(folder / f"{reads}.jsonl", reads)
        self.good = write_tape(folder / f"{reads}-good.jsonl", reads, malformed=False)
        self.megabytes = self.path.stat().st_size / 1e6
        self.library = folder / f"library-{reads}"
        write_index(self.library, reads)

    def ways(self) -> dict[str, Callable[[], float]]:
        """Processor seconds of each, for the whole tape."""
        return {
            BASE: lambda: seconds(self.convert),
            WHOLE: lambda: seconds(self.check),
            "conformance": self.conformance,
            "comparison": self.comparison,
            "verdict and proof": self.judge,
            EXPLAINED: self.explain,
            MENDED: self.mend,
            LISTED: lambda: seconds(self.list),
        }

    def convert(self) -> None:
        reader = TapeReader()
        reads = [line.data for line in reader.feed(self.path.read_bytes()) if line.kind == "read"]
        assert reader.header is not None
        stream = make_recipe(reader.header, Wishes()).stream("findings")
        for data in reads:
            stream.feed(data)
        stream.finish()

    def check(self, path: Path | None = None) -> Player:
        """As `workbench replay FOLDER` does it for each of its tapes."""
        (replayable,) = replayables_of([str(path or self.path)], Wishes())
        source = replayable.open()
        source.advance(_FOREVER)
        replayable.appraisal = appraise(replayable, source)
        assert source.player is not None and source.player.complete and source.player.difference is None
        return source.player

    def conformance(self) -> float:
        tape = read_tape(self.path)
        stream = make_recipe(tape.header, Wishes(dialect="passthrough")).stream("all")
        for data in tape.reads:
            stream.feed(data)
        events = [record for record in stream.records if isinstance(record, Event)]
        checks = Conformance(stream.setting)

        def work() -> None:
            for event in events:
                checks.event(event)
            checks.end()

        return seconds(work)

    def comparison(self) -> float:
        tape = read_tape(self.path)
        stream = make_recipe(tape.header, Wishes()).stream("none")
        made = [stream.feed(data) for data in tape.reads]
        both = SentComparison()

        def work() -> None:
            for at, data in enumerate(made):
                both.made(data, at)
                if data:
                    both.sent(data)
            both.end()

        return seconds(work)

    def judge(self) -> float:
        player = self.check()
        return seconds(lambda: proof(player, verdict(facts_of_player(player, live=False))))

    def explain(self) -> float:
        """Rows of all panes, where nothing went wrong."""
        player = self.check(self.good)
        rows = [
            (pane, at * len(player.rows(pane)) // (ROWS // 3))
            for pane in Pane
            for at in range(ROWS // 3)
            if len(player.rows(pane))
        ]

        def work() -> None:
            for pane, row in rows:
                explain_row(player, pane, row)

        return seconds(work) / len(rows)

    def mend(self) -> float:
        """Of a malformed call: what would have made it a call is tried on the text from there on."""
        player = self.check()
        rows = player.rows(Pane.MACHINE)
        found = next(row for row in range(len(rows)) if isinstance(player.item(Pane.MACHINE, row), Finding))
        return seconds(lambda: explain_row(player, Pane.MACHINE, found))

    def list(self) -> None:
        with Library(self.library) as opened:
            found = [verdict(facts_of_row(row)) for row in opened.rows(Filter(), None)]
        assert len(found) == self.reads


def write_index(library: Path, count: int) -> None:
    """An index with this many exchanges; their tapes are never opened."""
    write_exchanges(library, 1)
    with sqlite3.connect(library / INDEX) as db:
        db.row_factory = sqlite3.Row
        row = dict(db.execute("SELECT * FROM tapes").fetchone())
    index, at = Index(library), 1
    while at < count:
        block = range(at, min(count, at + 10_000))
        ids = [new_id() for _ in block]
        index.put(row | {"id": id, "path": tape_path(float(row["started"]) - 5, id)} for id in ids)
        at += len(block)
    index.close()


def seconds(work: Callable[[], object]) -> float:
    """Garbage of the previous tape is collected before, not meanwhile."""
    gc.collect()
    start = process_time()
    work()
    return process_time() - start


Found = Mapping[str, Sequence[float]]


def reported(tapes: Sequence[Checked], found: Sequence[Found]) -> Report:
    report = Report("What it costs to check tapes")
    largest, last = tapes[-1], found[-1]
    rows = []
    for name in (BASE, WHOLE, *PARTS):
        spent = median(last[name])
        rows.append(
            (
                name,
                number(spent / largest.megabytes * 1000),
                number(spent / largest.reads * 1e6),
                number(ratio(last[name], last[BASE])),
                number(_growth(name, tapes, found)),
            )
        )
    head = ("", "ms CPU for a MB", "ms CPU for 1 000 reads", "× read and convert", "growth")
    size = f"{largest.reads:,} reads, {largest.megabytes:.0f} MB"
    report.tables.append(Table(f"A tape of {size}", head, rows))
    rows = [
        (EXPLAINED, *(number(median(one[EXPLAINED]) * 1000) for one in found)),
        (MENDED, *(number(median(one[MENDED]) * 1000) for one in found)),
        ("verdict of an exchange in the list",
         *(number(median(one[LISTED]) / tape.reads * 1000) for one, tape in zip(found, tapes, strict=True))),
    ]  # fmt: skip
    sizes = [f"{tape.reads:,}" for tape in tapes]
    report.tables.append(Table("One of them, by reads or exchanges", ("ms CPU", *sizes), rows))
    report.add(WHOLE, ratio(last[WHOLE], last[BASE]), f"× {BASE}", goal=MOST_COST)
    for name in (BASE, WHOLE, *PARTS, LISTED):
        report.add(f"{name}: growth", _growth(name, tapes, found), "×", goal=MOST_GROWTH)
    report.add(EXPLAINED, median(last[EXPLAINED]) * 1000, "ms CPU", goal=MOST_WAIT)
    report.add(MENDED, median(last[MENDED]) * 1000, "ms CPU")
    parts = {name: ratio(last[name], last[BASE]) for name in (BASE, WHOLE, *PARTS)}
    report.charts.append(Bars(f"A tape of {size}", f"× {BASE}", parts, MOST_COST, marked=WHOLE))
    lines = {
        name: [(tape.reads, _each(name, tape, one)) for tape, one in zip(tapes, found, strict=True)]
        for name in (BASE, WHOLE, *PARTS)
    }
    report.charts.append(Lines("By the length of the tape", "reads", "µs CPU for a read", lines))
    listed = [(tape.reads, _each(LISTED, tape, one)) for tape, one in zip(tapes, found, strict=True)]
    report.charts.append(
        Lines("Verdicts of a list", "exchanges", "µs CPU for an exchange", {LISTED: listed},
              listed[0][1] * MOST_GROWTH)
    )  # fmt: skip
    explained = {
        name: [(tape.reads, median(one[name]) * 1000) for tape, one in zip(tapes, found, strict=True)]
        for name in (EXPLAINED, MENDED)
    }
    report.charts.append(
        Lines("Explanations", "reads of the tape", "ms CPU", explained)
    )  # fmt: skip
    report.data = {
        f"{tape.reads}": {"megabytes": tape.megabytes, "seconds": {name: list(v) for name, v in one.items()}}
        for tape, one in zip(tapes, found, strict=True)
    }
    return report


def _each(name: str, tape: Checked, found: Found) -> float:
    """Microseconds for a read, or for an exchange of the list."""
    return median(found[name]) / tape.reads * 1e6


def _growth(name: str, tapes: Sequence[Checked], found: Sequence[Found]) -> float:
    return ratio(found[-1][name], found[0][name]) * tapes[0].reads / tapes[-1].reads


def measured(options: argparse.Namespace) -> Report:
    with tempfile.TemporaryDirectory(prefix="workbench-check.") as name:
        tapes = [Checked(Path(name), reads) for reads in (READS[:-1] if options.quick else READS)]
        found: list[dict[str, list[float]]] = [{} for _ in tapes]
        for at in range(options.rounds):
            for tape, times in zip(tapes, found, strict=True):
                # A short tape is checked several times: its milliseconds alone would be noise.
                repeats = max(1, 5_000 // tape.reads)
                for way, measure in tape.ways().items():
                    progress(f"round {at + 1} of {options.rounds}: {tape.reads:,} reads, {way}")
                    times.setdefault(way, []).append(median(measure() for _ in range(repeats)))
    return reported(tapes, found)


PROGRAM = Program("check", __doc__, measured, 3)
