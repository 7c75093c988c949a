"""Streams as nasty as servers send them, with their texts, for the tests of variants."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from tests.support.streams import tool
from workbench.analysis.variants.changes import Change
from workbench.analysis.variants.script import Script, apply, script_of
from workbench.analysis.variants.texts import texts_of
from workbench.replay.lines import MemoryTape
from workbench.replay.player import Player
from workbench.tape.format import BOM, Line, end_line, make_header, read_line, read_tape

TOOLS = [tool("read_file", {"path": {"type": "string"}})]
HEADER = make_header("x", "roo-xml", request={"model": "m", "tools": TOOLS}, ids="s")
_FIELD = re.compile(rb'("(?:content|reasoning|reasoning_content)"\s*:\s*)"(?:[^"\\]|\\.)*"')
_CHARACTERS = 'aZ <>/"\\\n\t\x00\x7fé€😀\u2028\ufffd'


def played_file(path: Path) -> Player:
    tape = read_tape(path)
    player = Player(tape.header)
    player.add(tape.lines)
    return player


def played(script: Script) -> Player:
    return MemoryTape("x", script.header, script.lines).play()


def play(*lines: Line, **more: Any) -> Player:
    """A tape of these lines; more keys for its header."""
    return played(Script(HEADER | more, lines))


def play_bytes(data: bytes, cuts: Iterable[int] = (), **more: Any) -> Player:
    """A tape of these bytes, one read a second."""
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    reads = [data[start:end] for start, end in pairwise(places)]
    lines = [read_line(at, read) for at, read in enumerate(reads)]
    return play(*lines, end_line(len(reads), "done"), **more)


def varied(player: Player, *changes: Change) -> Player:
    return played(apply(script_of(player), player, changes))


def text_map(player: Player) -> dict[tuple[int, str], str]:
    return {(text.choice, text.channel): text.text for text in texts_of(player) if text.text}


def without_texts(data: bytes | bytearray) -> bytes:
    """Everything but what the texts of a stream are written with."""
    return _FIELD.sub(rb'\1""', bytes(data))


def torn(player: Player) -> int:
    """How many reads begin inside a character."""
    return sum(player.data[start] & 0xC0 == 0x80 for start in player.starts)


def written(text: str, escape: bool) -> str:
    return json.dumps(text, ensure_ascii=escape)


# Texts, also with halves of characters; a half at an end may find the other one in the next event.
texts = st.text(st.sampled_from(_CHARACTERS), max_size=6)
pieces = st.lists(
    st.one_of(texts, texts.map(lambda text: text + "\ud83d"), texts.map(lambda text: "\ude00" + text)),
    max_size=6,
)


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    """An answer with content and reasoning, in events of every shape."""
    newline = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    fields = st.sampled_from([("content",), ("reasoning_content",), ("reasoning", "reasoning_content")])
    events = [BOM.decode() if draw(st.booleans()) else ""]
    for text in draw(pieces):
        both = draw(fields)
        # A half can only be written as an escape.
        escape = draw(st.booleans()) or not text.isprintable() or "\ud83d" in text or "\ude00" in text
        delta = ",".join(f'"{field}": {written(text, escape)}' for field in both)
        space = draw(st.sampled_from(["", " ", "\n"]))
        data = f'{{"id":"é","choices":[{{"index":0,{space}"delta":{{{delta}}}}}]}}'
        events += [f"data: {line}{newline}" for line in data.split("\n")]
        events.append(draw(st.sampled_from(["", f": ping{newline}"])) + newline)
    events.append(f"data: [DONE]{newline}{newline}")
    return "".join(events).encode()


cuts = st.lists(st.integers(1, 2000), max_size=12)
