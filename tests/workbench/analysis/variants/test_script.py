"""Scripts: the causes of an exchange lead to the same rows."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.samples import some_samples
from tests.support.streams import chunk, message, sse
from tests.support.tiers import each_row
from tests.support.variants import TOOLS, play, played, played_file
from workbench.analysis.variants.changes import Change, Cut, Merge, Offer, Switch
from workbench.analysis.variants.difference import changed_rows
from workbench.analysis.variants.script import apply, script_of
from workbench.replay.player import Item, Pane, Player
from workbench.tape.format import Line, end_line, finding_line, lost_line, read_line, sent_line, status_line

HELLO = sse(chunk("Hello"))
OK = status_line(0, "upstream", 200)
PING = sent_line(2, b": ping\n\n", "proxy")
BODY = json.dumps(message("Hello")).encode()


def rows(player: Player) -> list[list[object]]:
    """What the panes say, but for what was sent then and what an end line sums up."""
    items = [[player.item(pane, row) for row in range(len(player.rows(pane)))] for pane in Pane]
    return [[said(player, item) for item in pane if not was_sent(item)] for pane in items]


def was_sent(item: Item) -> bool:
    return isinstance(item, Line) and item.kind == "sent" and "by" not in item.value


def said(player: Player, item: Item) -> object:
    if isinstance(item, int):
        return player.read(item)
    if isinstance(item, Line) and item.kind == "end":
        return item.t, item.value["end"], item.value.get("error")
    return item


def check(before: Player) -> None:
    script = script_of(before)
    after = played(script)
    assert rows(after) == rows(before)
    assert (after.mode, after.completion, after.header) == (before.mode, before.completion, before.header)
    assert (after.held, after.times, after.starts, after.data) == (
        before.held, before.times, before.starts, before.data,
    )  # fmt: skip
    assert script_of(after) == script
    assert all(marks.first is None for marks in changed_rows(before, after))


@some_samples(4)
def test_every_sample(path: Path):
    check(played_file(path))


@each_row(
    "lines",
    [
        [],
        [read_line(1, HELLO)],
        [read_line(1, HELLO[:9]), PING, read_line(3, HELLO[9:]), end_line(4, "done")],
        [read_line(1, HELLO[:20]), lost_line(2, 3, 99), Line({}, raw=b"{half"), Line({"t": 3, "odd": 1})],
        [read_line(1, b""), read_line(2, HELLO), end_line(3, "error", error="gone", calls=7)],
        [OK, read_line(1, BODY), status_line(2, "client", 200), sent_line(3, BODY)],
        [read_line(1, BODY[:9]), read_line(2, BODY[9:]), sent_line(3, BODY), end_line(4, "done")],
        [status_line(0, "upstream", 500), read_line(1, b"{}"), end_line(2, "done")],
        [read_line(1, HELLO), end_line(2, "cancelled"), read_line(3, HELLO)],
        [finding_line(1, "upstream-fault", "error", "no", "proxy"), end_line(2, "error", error={"code": 1})],
    ],
)  # fmt: skip
def test_every_kind_of_line(lines: list[Line]):
    check(play(*lines))


def test_only_causes_stay():
    lines = script_of(
        play(
            OK,
            read_line(1, HELLO),
            sent_line(1, HELLO),
            PING,
            end_line(3, "done", calls=2, findings={"x": 1}, usage={}),
        )
    ).lines
    assert [line.kind for line in lines] == ["status", "read", "sent", "end"]
    assert lines[-1] == end_line(3, "done")


def test_a_change_leaves_the_script_as_it_was():
    before = play(read_line(1, HELLO[:9]), read_line(2, HELLO[9:]), end_line(3, "done"))
    script = script_of(before)
    header = json.dumps(script.header)
    new = apply(script, before, [Switch("calls", "all"), Offer("x"), Merge(0)])
    assert new.header["policy"] == {"calls": "all"}
    assert [tool["function"]["name"] for tool in new.header["request"]["tools"]] == ["read_file", "x"]
    assert len(new.lines) == len(script.lines) - 1
    assert json.dumps(script.header) == header and script.header["request"]["tools"] == TOOLS
    assert apply(script, before, []) == script


def test_the_order_of_changes_does_not_matter():
    before = play(read_line(1, HELLO[:9]), read_line(2, HELLO[9:]), end_line(3, "done"))
    changes: list[Change] = [Cut(20), Switch("calls", "all"), Merge(0)]
    script = script_of(before)
    assert apply(script, before, changes) == apply(script, before, changes[::-1])
