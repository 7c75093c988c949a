"""How many functions a delta and a request cost: the same on every machine, so a change is seen at once.

    python -m benchmarks counts [--write]

Counted are calls of functions (Python's and C's) and objects that stay, for a delta of prose and one of a
value in every dialect, calls for a request of a session and for a piece that is recorded, and what a screen
pays for a read of a tape and for an exchange of a list. `benchmarks/budget.json` has the last counts; a test
compares them. A change that costs more on purpose rewrites the budget with --write.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks import opening
from benchmarks.report import ROOT, Bars, Program, Report, Table
from benchmarks.request import request
from benchmarks.transformer import WRITE, answer, events, measured, value
from tests.support.cost import calls_made
from transformer import StreamTransformer, transform_request
from workbench.library.tapefiles import tape_path
from workbench.recording.recording import Backlog, Item, Recording
from workbench.recording.tapewriter import OpenTapes
from workbench.replay.lines import Tail
from workbench.ui.widgets.exchanges import Catalogue

BUDGET = ROOT / "benchmarks" / "budget.json"
_DELTAS = 200
_SLACK = 1.1  # less growth than this is not worth a person's time


def counted() -> dict[str, dict[str, float]]:
    """Everything that the budget is about."""
    found = {dialect: of_dialect(dialect) for dialect in measured()}
    found |= {"request": {"calls": calls_of_request()}, "recording": of_recording()}
    return found | {"tape": of_tape(), "list": of_list()}


def of_dialect(dialect: str) -> dict[str, float]:
    prose = list(events("The answer has many words. " * 80))[:_DELTAS]
    called = list(events(answer(dialect, value(_DELTAS * 8))))
    inside = called[len(called) // 3 :][:_DELTAS]
    return {
        "calls for a delta of prose": _calls(dialect, [], prose),
        "calls for a delta of a value": _calls(dialect, called[: len(called) // 3], inside),
        "objects kept for a delta": _kept(dialect, called[: len(called) // 3], inside),
    }


def calls_of_request() -> float:
    """For the next turn of a session whose tools are known."""
    transform_request(request(3), dialect="roo-xml", policy={"tools": "inject"})
    body = request(4)
    return calls_made(lambda: transform_request(body, dialect="roo-xml", policy={"tools": "inject"}))


def of_recording() -> dict[str, float]:
    """A piece that came and went to the client: the work of the event loop and of the recorder's thread,
    among many and alone in its batch."""
    reads = list(events("word" * _DELTAS))
    with tempfile.TemporaryDirectory() as name:
        library = Path(name)
        backlog: Backlog[Item] = Backlog(1 << 30)
        tapes = OpenTapes(library, (), _lose, lambda row, urgent: None)
        header = {"tape": 1, "request": {"messages": []}}
        path = library / tape_path(0.0, "counted")
        recording = Recording(backlog, _lose, "counted", path, header, ("sk-0123456789abcdef",))

        def say() -> None:
            for number, read in enumerate(reads):
                recording.carried(number / 100, read, number / 100, read)

        say()
        tapes.write(backlog.take(0))  # the first pieces cost more
        told = calls_made(say)
        written = calls_made(partial(tapes.write, backlog.take(0)))
        say()
        alone = sum(calls_made(partial(tapes.write, [item])) for item in backlog.take(0))
        tapes.close()
    return {
        "calls to tell of a piece": round(told / _DELTAS, 1),
        "calls to write a piece among many": round(written / _DELTAS, 1),
        "calls to write a piece by itself": round(alone / _DELTAS, 1),
    }


def _lose(lines: int, payload: int) -> None:
    raise AssertionError("nothing is lost here")


def of_tape() -> dict[str, float]:
    """A read, what it led to and what was sent for it, on their way from the file to rows of the panes."""
    found = {}
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "tape.jsonl"
        for what, pieces in (("prose", opening.words()), ("a value", opening.long_value())):
            opening.write_tape(path, pieces, reads=_DELTAS)
            tail = Tail(path)
            found[f"calls for a read of {what}"] = round(calls_made(partial(tail.advance, 60)) / _DELTAS, 1)
        del tail
        gc.collect()
        blocks = sys.getallocatedblocks()
        tail = Tail(path)
        tail.advance(60)
        gc.collect()
        found["objects kept for a read"] = round((sys.getallocatedblocks() - blocks) / _DELTAS, 1)
    return found


def of_list() -> dict[str, float]:
    with tempfile.TemporaryDirectory() as name:
        opening.write_exchanges(Path(name), _DELTAS)
        catalogue = Catalogue(Path(name))
        return {"calls for an exchange": round(calls_made(catalogue.poll) / _DELTAS, 1)}


def over_budget(found: dict[str, dict[str, float]], budget: dict[str, dict[str, float]]) -> list[str]:
    """What costs more than before, and what is not in the budget."""
    return [
        f"{name}, {what}: {count:g}, the budget has {budget.get(name, {}).get(what, 0):g}"
        for name, counts in found.items()
        for what, count in counts.items()
        if count > budget.get(name, {}).get(what, 0) * _SLACK + 1
    ]


def _calls(dialect: str, before: list[bytes], reads: list[bytes]) -> float:
    return round(calls_made(_feeding(dialect, before, reads)) / len(reads), 1)


def _kept(dialect: str, before: list[bytes], reads: list[bytes]) -> float:
    work = _feeding(dialect, before, reads)
    gc.collect()
    blocks = sys.getallocatedblocks()
    work()
    gc.collect()
    return round((sys.getallocatedblocks() - blocks) / len(reads), 1)


def _feeding(dialect: str, before: list[bytes], reads: list[bytes]) -> Callable[[], None]:
    transformer = StreamTransformer(dialect, tools=[WRITE], records="findings")
    for read in (*before, *reads[:20]):
        transformer.feed(read)

    def work() -> None:
        for read in reads[20:]:
            transformer.feed(read)

    return work


def compared(options: argparse.Namespace) -> Report:
    found = counted()
    if options.write:
        BUDGET.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    problems = over_budget(found, json.loads(BUDGET.read_text(encoding="utf-8")))
    report = Report(
        "How many functions are called, and objects kept, for a delta, a request, a tape and a list"
    )
    dialects = measured()
    heads = list(found[dialects[0]])
    rows = [[name, *(f"{found[name][what]:g}" for what in heads)] for name in dialects]
    report.tables.append(Table("The transformer", ["dialect", *heads], rows))
    others = [(f"{name}: {what}", f"{count:g}") for name, counts in found.items() if name not in dialects
              for what, count in counts.items()]  # fmt: skip
    report.tables.append(Table("The rest", ("", "count"), others))
    report.charts += [Bars(what, "", {name: found[name][what] for name in dialects}) for what in heads]
    report.add("counts above the budget", len(problems), goal=0)
    report.notes += problems
    report.data = found
    return report


def own_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--write", action="store_true", help="make this the budget")


PROGRAM = Program("counts", __doc__, compared, options=own_options)
