"""Tapes for the tests of modules above the player: all samples, also as whole messages, and made-up ones."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.samples import ALL, name_of
from tests.support.streams import message_behind, tool
from tests.support.tiers import some
from workbench.files import samples_dir
from workbench.replay.player import Item, Pane, Player
from workbench.tape.format import Line, Tape, end_line, make_header, read_line, read_tape

SAMPLES = [name_of(path) for path in ALL]
TOOLS = [tool("read_file", {"path": {"type": "string"}}), tool("bash", {"command": {"type": "string"}})]
CALL = "Hello\n<read_file>\n<path>a.py</path>\n</read_file>"


def samples_of(dialect: str) -> list[str]:
    """In the quick tier some of them."""
    return some((name for name in SAMPLES if name.startswith(f"{dialect}/")), 3)


@cache
def tape_of(name: str) -> Tape:
    return read_tape(Path(samples_dir() / f"{name}.jsonl"))


@cache
def sample(name: str) -> Player:
    """A sample, all of it. It is shared, so it must not be added to."""
    return played(tape_of(name).header, tape_of(name).lines)


@cache
def as_message(name: str) -> Player:
    """A sample as if its answer had come in one piece."""
    tape = tape_of(name)
    body = json.dumps(message_behind(b"".join(tape.reads))).encode()
    return played({**tape.header, "stream": False}, [read_line(1, body), end_line(2, "done")])


def played(header: Any, lines: Iterable[Line]) -> Player:
    player = Player(header)
    player.add(lines)
    return player


def live(*lines: Line, dialect: str = "roo-xml", **more: Any) -> Player:
    """A tape made on the spot, whose client offers two tools."""
    header = make_header("x", dialect, **{"request": {"model": "m", "tools": TOOLS}, "ids": "s"} | more)
    return played(header, lines)


def items(player: Player) -> Iterator[tuple[int, Pane, Item]]:
    """Every step with what it represents."""
    for step in range(player.steps):
        pane, row = player.place(step)
        yield step, pane, player.item(pane, row)
