"""The player: the same rows however a tape comes, and a cause for each of them."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tests.helpers import chunk, message, sse, stream_of, tool
from transformer import Delta, Finding, StreamTransformer, Transition
from workbench.paths import samples_dir
from workbench.player import Pane, Player, Tail
from workbench.player.links import linked, overlap
from workbench.tape import (
    Line,
    dump_line,
    end_line,
    finding_line,
    make_header,
    read_line,
    read_tape,
    sent_line,
    status_line,
)

SAMPLES = sorted(samples_dir().glob("*/*.jsonl"))
TOOLS = [tool("read_file", {"path": {"type": "string"}})]
CALL = "Hello\n<read_file>\n<path>a.py</path>\n</read_file>"


def played(path: Path) -> Player:
    tape = read_tape(path)
    player = Player(tape.header)
    player.add(tape.lines)
    return player


def shape(player: Player) -> list[tuple[int, list[int], list[int]]]:
    return [(len(rows), list(rows.refs), list(rows.steps)) for rows in player.panes]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_sample(path: Path):
    player = played(path)
    assert player.problem is None and player.unaccounted == 0 and player.complete
    assert player.difference is None, "a tape replays to what was sent then"
    steps = sorted(step for rows in player.panes for step in rows.steps)
    assert steps == list(range(player.steps)), "each step is one row of one pane"
    for step in range(player.steps):
        pane, row = player.place(step)
        assert player.rows(pane).steps[row] == step
        assert 0 <= player.time(player.item(pane, row)) <= player.now
    for pane in Pane:
        for row in range(len(player.rows(pane))):
            for other in Pane:
                found = None if other is pane else linked(player, pane, row, other)
                assert found is None or 0 <= found < len(player.rows(other))


@pytest.mark.parametrize("path", SAMPLES[::12], ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_tape_that_grows_gives_the_rows_of_one_that_is_whole(path: Path, tmp_path: Path):
    data, wanted = path.read_bytes(), shape(played(path))
    growing = tmp_path / "growing.jsonl"
    growing.write_bytes(b"")
    tail = Tail(growing)
    for at in range(0, len(data), 97):
        with growing.open("ab") as file:
            file.write(data[at : at + 97])
        tail.advance(1)
    assert tail.player is not None and not tail.behind
    assert shape(tail.player) == wanted


def test_known_at_is_a_prefix():
    player = played(samples_dir() / "roo-xml" / "good-read.jsonl")
    counts = [tuple(rows.known_at(step) for rows in player.panes) for step in range(player.steps)]
    assert all(sum(after) - sum(before) == 1 for before, after in itertools.pairwise(counts))
    assert counts[-1] == tuple(len(rows) for rows in player.panes)
    for rows in player.panes:
        for step in rows.steps:
            assert rows.after(step - 1) == step == rows.before(step + 1)


def test_bytes_behind_a_delta_are_its_text():
    player = played(samples_dir() / "roo-xml" / "good-read.jsonl")
    texts = 0
    for row in range(len(player.rows(Pane.CLIENT))):
        item = player.item(Pane.CLIENT, row)
        if (
            isinstance(item, Delta)
            and item.kind == "content"
            and item.text.isascii()
            and "\n" not in item.text
        ):
            raw = b"".join(bytes(player.data[start:end]) for start, end in player.bytes_of(item))
            assert raw.decode() == item.text
            machine = linked(player, Pane.CLIENT, row, Pane.MACHINE)
            assert machine is not None
            assert overlap(player.bytes_of(player.item(Pane.MACHINE, machine)), player.bytes_of(item))
            texts += 1
    assert texts


def live(*lines: Line, **more: object) -> Player:
    player = Player(make_header("x", "roo-xml", request={"model": "m", "tools": TOOLS}, ids="s", **more))
    player.add(lines)
    return player


def test_held_back_text():
    player = live(
        read_line(1.0, sse(chunk("Hello\n"), done=False)),
        read_line(2.0, sse(chunk("<read_file>\n<path>a"), done=False)),
        read_line(5.0, sse(chunk("bc"), done=False)),
    )
    held = player.held_at(player.steps - 1)
    assert held is not None and held.characters > 20 and held.channel == "content"
    assert held.since == 1.0, "the line break before the call waits, too"
    assert player.held_at(0) is not None
    player.add([read_line(6.0, stream_of("</path>\n</read_file>"))])
    assert player.held_at(player.steps - 1) is None


def test_what_the_proxy_said_is_a_row_of_its_own():
    player = live(
        status_line(0.1, "upstream", 200),
        finding_line(0.1, "template-failed", "error", "no", "request"),
        status_line(0.2, "client", 200),
        sent_line(0.3, b": waiting\n\n", "heartbeat"),
        read_line(0.4, stream_of(CALL)),
        end_line(0.5, "done"),
    )
    kinds = [
        [type(player.item(pane, row)).__name__ for row in range(len(player.rows(pane)))] for pane in Pane
    ]
    assert kinds[Pane.UPSTREAM] == ["Line", "int", "Line"]
    assert kinds[Pane.MACHINE][0] == "Line" and "Transition" in kinds[Pane.MACHINE]
    assert kinds[Pane.CLIENT][:2] == ["Line", "Line"] and "Delta" in kinds[Pane.CLIENT]
    assert player.status == {"upstream": 200, "client": 200}


def test_a_difference_to_what_was_sent_is_noticed():
    data = stream_of(CALL)
    request = {"model": "m", "tools": TOOLS}
    then = StreamTransformer("roo-xml", TOOLS, request=request, ids=lambda number: "other")
    sent = then.feed(data) + then.finish()
    player = live(read_line(0, data), sent_line(0, sent), end_line(1, "done"))
    assert player.difference is not None
    assert sent[: player.difference].endswith(b'"id":"'), "the ids are made otherwise today"
    short = live(read_line(0, data), sent_line(0, b""), end_line(1, "done"))
    assert short.difference is None, "a tape without what was sent has nothing to compare"


@pytest.mark.parametrize(
    ("lines", "mode"),
    [
        ([read_line(0, stream_of(CALL))], "stream"),
        ([read_line(0, dump_line(message(CALL)))], "message"),
        ([status_line(0, "upstream", 404), read_line(0, b"<html>")], "plain"),
    ],
)
def test_what_kind_of_answer_it_is(lines: list[Line], mode: str):
    player = live(*lines, end_line(1, "done"))
    assert player.mode == mode
    found = {type(record) for record in player.records}
    assert (Transition in found) is (mode != "plain")


def test_an_error_before_the_answer_is_not_played_as_one():
    player = live(
        status_line(0, "upstream", 200),
        status_line(0, "client", 502),
        sent_line(0, b'{"error":{}}', "proxy"),
        end_line(0.1, "error", error={"message": "empty"}),
    )
    assert player.difference is None and not player.records


def test_findings_are_rows():
    player = played(samples_dir() / "roo-xml" / "unclosed-call.jsonl")
    rows = [player.item(Pane.MACHINE, row) for row in range(len(player.rows(Pane.MACHINE)))]
    assert [item.code for item in rows if isinstance(item, Finding)] == [f.code for f in player.findings]


def test_a_file_that_is_no_tape_says_so(tmp_path: Path):
    (tmp_path / "x.jsonl").write_text("nonsense\n")
    for path in (tmp_path / "x.jsonl", tmp_path / "missing.jsonl"):
        tail = Tail(path)
        assert tail.advance(1) and tail.problem is not None and str(path) in tail.problem
        assert not tail.advance(1)
