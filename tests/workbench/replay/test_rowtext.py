"""Rows as text: what can be searched for."""

from __future__ import annotations

from tests.support.streams import chunk, sse
from tests.support.tapes import SAMPLES, items, live, sample
from tests.support.tiers import each_row, some
from transformer import Delta, Finding, Transition
from workbench.replay.player import Pane, Player
from workbench.replay.rowtext import row_text
from workbench.tape.format import Line, end_line, finding_line, lost_line, read_line, sent_line, status_line


def texts(player: Player, pane: Pane) -> list[str]:
    return [row_text(player, item) for _, where, item in items(player) if where is pane]


def test_what_the_rows_of_a_call_say():
    call = "<read_file>\n<path>a\n</path>\n</read_file>"
    player = live(read_line(0, sse(chunk("Hi\n"), chunk(call))), end_line(1, "done"))
    assert texts(player, Pane.UPSTREAM) == [
        "Hi\\n…<read_file>\\n<path>a\\n</path>\\n</read_file>",
        "end: done",
    ]
    assert texts(player, Pane.MACHINE)[:4] == [
        "text prose text Hi\n",
        "text → call begin call open <read_file>",
        "call hold space \n",
        "call → value open parameter open <path>",
    ]
    call_id = next(one.id for one in player.records if isinstance(one, Delta) and one.id)
    assert texts(player, Pane.CLIENT) == [
        "content Hi", f"call read_file {call_id}", 'arguments {"path":"a"}', "finish tool_calls", "done",
    ]  # fmt: skip


@each_row(
    ("line", "text"),
    [
        (status_line(0, "upstream", 404), "HTTP 404"),
        (finding_line(0, "upstream-fault", "error", "no way", "proxy"), "upstream-fault no way"),
        (sent_line(0, b": waiting\n\n", "heartbeat"), "heartbeat : waiting\n\n"),
        (end_line(0, "error", error={"message": "reset"}), "end: error, reset"),
        (end_line(0, "error", error="reset"), "end: error, reset"),
        (lost_line(0, 2, 30), "lost {'t': 0, 'lost': {'lines': 2, 'bytes': 30}}"),
        (Line({}, raw=b"\xff"), "damaged {}"),
        (read_line(0, b"no \xff stream\n"), "no \\xff stream"),
    ],
)
def test_what_the_lines_of_a_tape_say(line: Line, text: str):
    (said,) = [row_text(player, item) for player in [live(line)] for _, _, item in items(player)]
    assert said == text


def test_every_row_of_every_sample_has_a_text():
    for name in some(SAMPLES, 100):
        player = sample(name)
        for step, _, item in items(player):
            text = row_text(player, item)
            assert text, (name, step)
            if isinstance(item, Transition | Delta):
                assert item.text in text
            elif isinstance(item, Finding):
                assert text == f"{item.code} {item.message}"
