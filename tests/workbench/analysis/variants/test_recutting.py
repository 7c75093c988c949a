"""Recutting: other reads, and an end where there was none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.samples import some_samples
from tests.support.streams import chunk, message, sse
from tests.support.tiers import each_row
from tests.support.variants import cuts, play, play_bytes, played_file, streams, varied
from workbench.analysis.variants.changes import Change, Cut, Merge, Split
from workbench.analysis.variants.script import Script, apply, script_of
from workbench.analysis.variants.texts import Edit, Edits
from workbench.errors import UserError
from workbench.replay.player import Player
from workbench.tape.format import Line, end_line, read_line, sent_line, status_line

OK = status_line(0, "upstream", 200)
TAPE = (OK, read_line(1, b"ab"), status_line(2, "client", 200), read_line(3, b"cd"), read_line(4, b"ef"),
        sent_line(5, b"x", "proxy"), end_line(6, "done"))  # fmt: skip


def recut(lines: tuple[Line, ...], *changes: Change) -> list[object]:
    """The reads with their times, and the kinds of the other lines."""
    new = apply(Script({"dialect": "roo-xml"}, lines), play(*lines), changes).lines
    return [(line.t, line.data) if line.kind == "read" else line.kind for line in new]


@each_row(
    ("changes", "wanted"),
    [
        ([Merge(0)], ["status", "status", (3, b"abcd"), (4, b"ef"), "sent", "end"]),
        ([Merge(0), Merge(1)], ["status", "status", (4, b"abcdef"), "sent", "end"]),
        ([Split(1)], ["status", (1, b"a"), (1, b"b"), "status", (3, b"cd"), (4, b"ef"), "sent", "end"]),
        ([Split(5), Split(3), Merge(1)],
         ["status", (1, b"ab"), "status", (3, b"c"), (4, b"de"), (4, b"f"), "sent", "end"]),
        ([Cut(0)], ["status", "end"]),
        ([Cut(1)], ["status", (1, b"a"), "end"]),
        ([Cut(2)], ["status", (1, b"ab"), "end"]),
        ([Cut(3)], ["status", (1, b"ab"), "status", (3, b"c"), "end"]),
        ([Cut(6)], ["status", (1, b"ab"), "status", (3, b"cd"), (4, b"ef"), "end"]),
        ([Cut(5), Cut(1)], ["status", (1, b"a"), "end"]),
        ([Cut(3), Merge(0)], ["status", "status", (3, b"abc"), "end"]),
    ],
)  # fmt: skip
def test_reads(changes: list[Change], wanted: list[object]):
    assert recut(TAPE, *changes) == wanted


@each_row(("byte", "t"), [(0, 0), (1, 1), (3, 3), (6, 4)])
def test_a_cut_is_a_clean_end_with_the_last_read(byte: int, t: float):
    new = apply(Script({}, TAPE), play(*TAPE), [Cut(byte)])
    assert new.lines[-1] == end_line(t, "eof")
    assert apply(Script({}, ()), play(), [Cut(0)]).lines == (end_line(0, "eof"),)


def test_empty_reads_stay_unless_they_are_joined():
    lines = (read_line(1, b"ab"), read_line(2, b""), read_line(3, b"cd"))
    assert recut(lines, Split(1)) == [(1, b"a"), (1, b"b"), (2, b""), (3, b"cd")]
    assert recut(lines, Merge(0)) == [(2, b"ab"), (3, b"cd")]
    assert recut(lines, Merge(1)) == [(1, b"ab"), (3, b"cd")]


@each_row(
    ("change", "said"),
    [
        (Merge(2), "no read after read 3"),
        (Merge(-1), "no read after read 0"),
        (Split(0), "begins or ends at byte 0"),
        (Split(4), "begins or ends at byte 4"),
        (Split(6), "begins or ends at byte 6"),
        (Split(7), "no byte 7: upstream sent 6"),
        (Split(-1), "no byte -1"),
        (Cut(7), "no byte 7: upstream sent 6"),
        (Cut(-1), "no byte -1"),
    ],
)
def test_what_is_refused(change: Change, said: str):
    with pytest.raises(UserError, match=said):
        recut(TAPE, change)


def outcome(player: Player) -> object:
    """What a client has in the end, and what was found on the way."""
    return player.completion, [(finding.code, finding.message) for finding in player.findings]


@some_samples(4)
def test_the_cut_of_reads_does_not_matter(path: Path):
    before = played_file(path)
    changes: list[Change] = [Merge(read) for read in range(0, before.reads - 1, 3)]
    changes += [Split(at) for at in range(1, len(before.data), 41) if at not in before.starts]
    after = varied(before, *changes)
    assert after.data == before.data and list(after.starts) != list(before.starts)
    assert outcome(after) == outcome(before)


@given(streams(), cuts, st.data())
def test_the_cut_of_any_stream_does_not_matter(data: bytes, places: list[int], draw: st.DataObject):
    before = play_bytes(data, places)
    inside = st.integers(1, len(data) - 1).filter(lambda at: at not in before.starts)
    changes: list[Change] = [Split(at) for at in draw.draw(st.sets(inside, max_size=4))]
    if before.reads > 1:
        changes += map(Merge, draw.draw(st.sets(st.integers(0, before.reads - 2), max_size=4)))
    after = varied(before, *changes)
    assert after.data == before.data and after.reads == before.reads + _added(changes)
    assert outcome(after) == outcome(before)


def _added(changes: list[Change]) -> int:
    return sum(1 if isinstance(change, Split) else -1 for change in changes)


def test_a_message_in_pieces_is_the_same_message():
    before = play_bytes(json.dumps(message("Hello")).encode())
    assert outcome(varied(before, Split(9), Split(30))) == outcome(before)


@some_samples(4)
def test_a_stream_can_be_cut_anywhere(path: Path):
    before = played_file(path)
    script = script_of(before)
    for byte in {0, 1, len(before.data) // 2, len(before.data) - 1, len(before.data)}:
        after = varied(before, Cut(byte))
        assert after.data == before.data[:byte] and after.complete and after.unaccounted == 0
        assert after.end == end_line(after.times[-1] if after.reads else script.lines[1].t, "eof")


def test_what_is_cut_off_is_not_found_any_more():
    before = play_bytes(sse(chunk("<read_file>\n<path>a</path>"), chunk("\n</read_file>")))
    assert before.findings == []
    after = varied(before, Cut(before.data.index(b"</path>")))
    # The event is not whole now, so its text never came.
    assert [finding.code for finding in after.findings] == ["bad-json-event", "empty-answer"]


@each_row(
    ("edits", "moved"),
    [
        ([], [0, 1, 2, 3, 4, 5, 6]),
        ([Edit(2, 2, b"xy")], [0, 1, 4, 5, 6, 7, 8]),
        ([Edit(2, 4, b"")], [0, 1, 2, 2, 2, 3, 4]),
        ([Edit(1, 5, b"xy")], [0, 1, 2, 3, 3, 3, 4]),
        ([Edit(1, 5, "é€".encode())], [0, 1, 1, 3, 3, 6, 7]),
        ([Edit(4, 5, b"xyz"), Edit(0, 1, b"")], [0, 0, 1, 2, 3, 6, 7]),
    ],
)
def test_where_boundaries_go(edits: list[Edit], moved: list[int]):
    edited = Edits(b"abcdef", edits)
    assert [edited.moved(byte) for byte in range(7)] == moved
    assert moved[-1] == len(edited.data)
