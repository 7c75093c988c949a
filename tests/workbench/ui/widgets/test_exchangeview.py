"""What is said of an exchange while its tape is read, in plain words: no verdict before its end."""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path

import pytest

from tests.support.streams import sse
from tests.support.tapes import items, live, sample
from tests.support.views import write_tape
from workbench.library.summary import Row
from workbench.replay.lines import Tail
from workbench.replay.player import Item, Pane, Player
from workbench.replay.rowindex import ALL
from workbench.replay.timeline import Timeline
from workbench.tape.format import end_line, make_header, read_line, sent_line
from workbench.ui.opentape import OpenTape
from workbench.ui.widgets.bars import VerdictBar
from workbench.ui.widgets.exchangetable import Order, Table, judged
from workbench.ui.widgets.exchangeview import ExchangeView, numbers_of
from workbench.ui.widgets.panes import ClientPane, alarm, matters
from workbench.ui.widgets.replayview import rows_of
from workbench.ui.widgets.rowpane import RowPane


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sentences of the bar; there is no application to draw or to load in."""
    sentences: list[str] = []
    monkeypatch.setattr(RowPane, "show", lambda self: None)
    monkeypatch.setattr(ExchangeView, "_keep_loading", lambda self: None)
    monkeypatch.setattr(VerdictBar, "say", lambda self, level, sentence, *rest: sentences.append(sentence))
    return sentences


@pytest.mark.parametrize("running", [True, False])
def test_a_tape_that_is_still_read_is_not_judged(tmp_path: Path, said: list[str], running: bool):
    event = sse({"choices": [{"index": 0, "delta": {"content": "word "}}]}, done=False)
    header = make_header("x", "roo-xml", ids="s", request={"model": "m"})
    path = write_tape(tmp_path / "long.jsonl", header, [event * 20] * 300)
    tape = OpenTape()
    view = ExchangeView(tape)
    view.open(Tail(path), running)
    while tape.busy:
        assert said[-1] == "reading …"
        tape.read_on(0.002)
        view.tell()
    assert said.count("reading …") > 2
    assert "the answer was passed through unchanged" in said[-1]
    assert not any("cut off" in sentence for sentence in said)


def test_held_back_is_said_when_it_matters_in_plain_words_and_never_longer_than_the_exchange():
    opening = sse({"choices": [{"index": 0, "delta": {"content": "Hm.\n<read_file>\n<path>a"}}]}, done=False)
    player = live(read_line(1.0, opening), started=0.0)  # a clock that was wrong
    assert player.held_at(player.steps - 1) is not None
    assert alarm(player, None, idle=0.4) == ""
    said = alarm(player, None, idle=2.5)
    assert said.startswith("HELD BACK") and "for 2.5 s" in said and "state" not in said
    assert said.endswith("waiting for the tag that closes the parameter")
    assert matters(2_000, 0) and not matters(20, 0.5)


def test_a_comment_says_what_upstream_really_does():
    event = sse({"choices": [{"index": 0, "delta": {"content": "<read_file>"}}]}, done=False)
    player = live(
        sent_line(5.0, b": waiting\n\n", "heartbeat"),
        read_line(6.0, event),
        sent_line(6.2, b": waiting\n\n", "heartbeat"),
        sent_line(11.2, b": waiting\n\n", "heartbeat"),
    )
    pane = ClientPane()
    rows = [pane_text(pane, player, item) for _, where, item in items(player) if where is Pane.CLIENT]
    assert [row for row in rows if row.startswith("♥")] == [
        "♥ a comment, upstream is silent for 5 s",
        "♥ a comment, upstream sends, but nothing that can go on yet",
        "♥ a comment, upstream is silent for 5 s",
    ]


def pane_text(pane: ClientPane, player: Player, item: Item) -> str:
    pane.player = player
    return "".join(text for text, _ in pane.pieces(item))


def test_calls_count_from_one_and_a_long_answer_does_not_begin_again():
    pane = ClientPane()
    assert [pane.call_bar(call)[0] for call in (None, 0, 8, 9, 83)] == ["   ", " 1▌", " 9▌", "10▌", "84▌"]
    player = sample("roo-xml/good-read")
    timeline = Timeline(player)
    timeline.catch_up(ALL)
    assert "call 1" in [label for label, _, _ in rows_of(timeline.assembly, player.steps - 1)]
    assert timeline.goto("call 1", 0).step == timeline.calls[0]


@pytest.mark.parametrize("today", [True, False])
def test_an_exchange_says_its_date_and_labels_its_times(today: bool):
    started = time.time() if today else 1_700_000_000.0
    row = Row("x.jsonl", "x", started, state="done", ttfb=0.25, duration=3.0, chunks=1)
    table = Table([judged(row)], 100, Order())
    names, text = ("".join(piece for piece, _ in pieces) for pieces in (table.head(), table.row(judged(row))))
    assert names.index("took") + len("took") == text.index("3.0 s") + len("3.0 s")
    moment = datetime.fromtimestamp(started)
    assert moment.strftime("%H:%M") in text
    assert (moment.strftime("%d %b") in text) is (moment.date() != datetime.now().date())
    player = live(read_line(1.0, b"data: [DONE]\n\n"), end_line(2.0, "done"), started=started)
    numbers = " · ".join(numbers_of(player))
    assert numbers.startswith("1 read · 14 bytes · first byte 1.00 s · duration 2.0 s · roo-xml")
    assert numbers.endswith(moment.strftime("%Y-%m-%d %H:%M:%S"))
    # What is held back is counted with the time since the last line, so the exchange is as well.
    running = live(read_line(1.0, b"data: {}\n\n"), started=started)
    assert "so far 6.0 s" in " · ".join(numbers_of(running, idle=5.0))
