"""A tape that is open on the screen, without one."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.support.streams import chunk, sse
from workbench.replay.lines import Tail
from workbench.tape.format import dump_line, make_header, read_line
from workbench.ui.opentape import SLICE, OpenTape


class Counted(OpenTape):
    """Knows how many slices were read."""

    slices = 0

    def read_on(self, seconds: float = SLICE) -> None:
        self.slices += 1
        super().read_on(seconds)


async def test_whoever_becomes_ready_while_a_tape_is_read_waits_for_one_slice(tmp_path: Path):
    """A key takes many such turns until it is drawn."""
    path = tmp_path / "long.jsonl"
    lines = (read_line(at / 100, sse(chunk(f"word{at} "), done=False)) for at in range(3000))
    path.write_bytes(dump_line(make_header("", "roo-xml", ids="x", now=0)) + b"".join(map(dump_line, lines)))
    tape, waited = Counted(), []
    tape.show_source(Tail(path))
    loading = asyncio.create_task(tape.load())
    while tape.busy:
        before = tape.slices
        await asyncio.sleep(0.001)  # over before a slice is
        waited.append(tape.slices - before)
    await loading
    assert len(waited) > 3 and max(waited) == 1
