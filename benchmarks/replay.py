"""What replaying costs: how soon a long tape is seen, what a step in it takes, and how much memory it needs.

    python benchmarks/replay.py [--reads N] [--steps N] [--rounds N]

Two tapes are made, one of 100 reads and one of 100 000, alike but for their length: prose, calls and some
malformed calls, with what was sent, as the recorder writes them. The real program opens the long one in a
pseudo-terminal: the time until its first rows are on the screen, and its memory once all of it is read. Then
the application runs in this process on each of them: from a key to the last frame that it led to, near the
start, in the middle, backwards at the end, and at random places. What is compared is processor time: a busy
machine holds up anything.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

# A benchmark beside this one has the name of the package and would hide it.
ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)

from benchmarks.load import event  # noqa: E402
from benchmarks.stepping import SIZE, Cost, step_through  # noqa: E402
from tests.support.terminal import Program  # noqa: E402
from transformer import StreamTransformer  # noqa: E402
from workbench.replay.captures import tokens  # noqa: E402
from workbench.replay.lines import Tail  # noqa: E402
from workbench.tape.format import dump_line, end_line, make_header, read_line, sent_line, status_line  # noqa: E402
from workbench.tape.recipe import Wishes, make_recipe  # noqa: E402

SHORT = 100
FIRST_FRAME = 0.5  # seconds
LONGEST_STEP = 0.05  # seconds
MOST_COST = 3.0  # times a step in the short tape
MOST_MEMORY = 10.0  # times the file
ROWS = b"HTTP 200"  # the first row of a tape
TOOL = {
    "type": "function",
    "function": {"name": "read_file", "parameters": {"type": "object", "properties": {"path": {}}}},
}
PROSE = "Let me look at the file before I change anything, so that the tests keep passing. "
CALL = "\n\n<read_file>\n<path>src/module_{}/main.py</path>\n</read_file>\n\n"
BROKEN = "\n\n<read_file>\n<path>src/module_{}/main.py\n</read_file>\n\n"
# `workbench replay FILE`, with the moment at which the application begins to run.
PROGRAM = """
import sys, time
sys.path[0] = {root!r}
from workbench.ui.app import ReplayApp  # noqa: E402

begin = ReplayApp.run

def noted(self, *args, **more):
    with open({log!r}, "w") as log:
        print(time.perf_counter(), file=log)
    return begin(self, *args, **more)

ReplayApp.run = noted
from workbench.cli.main import main  # noqa: E402
sys.argv = ["workbench", "replay", {tape!r}]
main()
"""
PLAY = """
import sys
sys.path[0] = {root!r}
from pathlib import Path
from benchmarks.replay import play  # noqa: E402
play(Path({tape!r}))
"""


# The tapes


def pieces() -> Iterator[str]:
    """What a model writes, token by token: every 20th call is malformed."""
    number = 0
    while True:
        call = BROKEN if number % 20 == 1 else CALL
        yield from tokens(PROSE + call.format(number))
        number += 1


def write_tape(path: Path, reads: int) -> Path:
    header = make_header(
        "made for a benchmark", "roo-xml", policy={"calls": "all", "after_call": "keep"}, model="m", ids="x",
        now=0, request={"model": "m", "stream": True, "tools": [TOOL]}, kind="chat", stream=True,
    )  # fmt: skip
    stream: StreamTransformer = make_recipe(header, Wishes()).stream("none")
    text = pieces()
    with path.open("wb") as file:
        file.write(dump_line(header))
        for side in ("upstream", "client"):
            file.write(dump_line(status_line(0.1, side, 200, [("content-type", "text/event-stream")])))
        for number in range(reads):
            t, data = 0.2 + number / 50, event(next(text))
            file.write(dump_line(read_line(t, data)))
            if sent := stream.feed(data):
                file.write(dump_line(sent_line(t, sent)))
        t = 0.2 + reads / 50
        file.write(dump_line(sent_line(t, stream.finish())) + dump_line(end_line(t, "eof")))
    return path


# The first frame, and memory


@dataclass(frozen=True, slots=True)
class Opened:
    """Seconds until the first rows were drawn, since the application and since the process began; and
    once all was read: seconds since then, bytes of memory."""

    first: float
    process: float
    loaded: float
    memory: int


def open_once(folder: Path, tape: Path, reads: int) -> Opened:
    log = folder / "begun"
    code = PROGRAM.format(root=str(ROOT), log=str(log), tape=str(tape))
    begin = perf_counter()
    with Program(folder, size=SIZE, command=("-c", code)) as screen:
        screen.until(lambda: ROWS in screen.raw, "the first rows", 60)
        seen = perf_counter()
        run = float(log.read_text())
        whole = re.compile(rf"(?:{reads}|{reads:,}) reads".encode())
        screen.until(lambda: whole.search(screen.raw), "all of it", 300)
        loaded = perf_counter()
        return Opened(seen - run, seen - begin, loaded - run, resident(screen.process.pid))


def resident(pid: int | str = "self") -> int:
    """Bytes of memory that a process has now."""
    pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def play(tape: Path) -> None:
    """In a process of its own: prints by how much playing a tape has let it grow."""
    before, tail = resident(), Tail(tape)
    while tail.advance(60) and tail.behind:
        pass
    assert tail.player is not None and tail.player.complete
    print(f"grown by {resident() - before} bytes", flush=True)


def growth(folder: Path, tape: Path) -> int:
    with Program(folder, command=("-c", PLAY.format(root=str(ROOT), tape=str(tape)))) as program:
        assert program.exit_code(300) == 0, program.state()
        found = re.search(rb"grown by (\d+) bytes", program.raw)
        assert found is not None, program.state()
        return int(found[1])


# Judging


def judge(name: str, good: bool, said: str) -> bool:
    print(f"{'PASS' if good else 'FAIL'}  {name}: {said}", flush=True)
    return good


def judge_steps(short: dict[str, list[Cost]], long: dict[str, list[Cost]]) -> list[bool]:
    print(f"\n{'a step':28} {'short tape':>22} {'long tape':>22}   cost")
    worst_ratio, worst_wall = 0.0, 0.0
    for place, costs in long.items():
        ratio = _middle(costs, "cpu") / max(_middle(short[place], "cpu"), 1e-9)
        worst_ratio, worst_wall = max(worst_ratio, ratio), max(worst_wall, _middle(costs, "wall"))
        print(f"{place:28} {_span(short[place]):>22} {_span(costs):>22}   {ratio:.2f} times")
    print("  (milliseconds until it is drawn, in the middle and at most; of these the processor's)\n")
    return [
        judge("the cost of a step", worst_ratio <= MOST_COST,
              f"at most {worst_ratio:.2f} times that in the short tape, {MOST_COST:.0f} are allowed"),
        judge("a step", worst_wall < LONGEST_STEP,
              f"drawn within {worst_wall * 1000:.0f} ms, {LONGEST_STEP * 1000:.0f} are allowed"),
    ]  # fmt: skip


def _middle(costs: Sequence[Cost], what: str) -> float:
    return float(median(getattr(cost, what) for cost in costs))


def _span(costs: Sequence[Cost]) -> str:
    most = max(cost.wall for cost in costs)
    return f"{_middle(costs, 'wall') * 1000:.0f} ({most * 1000:.0f}), {_middle(costs, 'cpu') * 1000:.1f}"


def judge_opening(folder: Path, tape: Path, reads: int, rounds: int) -> list[bool]:
    size = tape.stat().st_size
    runs = [open_once(folder, tape, reads) for _ in range(rounds)]
    for run in runs:
        print(
            f"  first rows {run.first:.2f} s after the application began, {run.process:.2f} s after the "
            f"process; all of it after {run.loaded:.1f} s; the program then has {run.memory / 1e6:.0f} MB"
        )
    first, grown = median(run.first for run in runs), growth(folder, tape)
    return [
        judge("the first frame", first < FIRST_FRAME, f"{first:.2f} s, {FIRST_FRAME} are allowed"),
        judge("memory", grown / size < MOST_MEMORY,
              f"{grown / 1e6:.0f} MB for a tape of {size / 1e6:.0f} MB, {grown / size:.1f} times the file, "
              f"less than {MOST_MEMORY:.0f} are allowed"),
    ]  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--reads", type=int, default=100_000, help="of the long tape; default 100000")
    parser.add_argument("--steps", type=int, default=20, help="that are timed at each place; default 20")
    parser.add_argument("--rounds", type=int, default=3, help="of opening the long tape; default 3")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="workbench-bench.") as name:
        folder = Path(name)
        short, long = (
            write_tape(folder / "short.jsonl", SHORT),
            write_tape(folder / "long.jsonl", given.reads),
        )
        print(f"a tape of {given.reads:,} reads, {long.stat().st_size / 1e6:.0f} MB", flush=True)
        good = judge_opening(folder, long, given.reads, given.rounds)
        costs = [asyncio.run(step_through(tape, given.steps)) for tape in (short, long)]
    good += judge_steps(*costs)
    print("reached" if all(good) else "NOT REACHED")
    return int(not all(good))


if __name__ == "__main__":
    sys.exit(main())
