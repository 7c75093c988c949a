"""Rows side by side: each once, in order, no effect above its cause, and nothing moves when more comes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.support.streams import sse
from tests.support.tapes import SAMPLES, as_message, live, tape_of
from transformer.records import Delta, Finding, Transition
from workbench.replay.alignment import EMPTY, REST, Alignment
from workbench.replay.player import Pane, Player
from workbench.tape.format import Line, end_line, read_line, sent_line, status_line


def aligned(player: Player) -> Alignment:
    alignment = Alignment(player)
    alignment.catch_up()
    return alignment


def streams() -> st.SearchStrategy[list[Line]]:
    """A sample's bytes as a server behind a buffer sends them, or one that cuts events: in any reads."""

    def cut(name: str, places: list[float]) -> list[Line]:
        data = b"".join(tape_of(name).reads)
        ends = sorted({int(place * len(data)) for place in places} | {len(data)})
        starts = [0, *ends[:-1]]
        reads = [
            read_line(1 + at, data[a:b]) for at, (a, b) in enumerate(zip(starts, ends, strict=True)) if a < b
        ]
        return [
            status_line(0.5, "upstream", 200),
            status_line(0.6, "client", 200),
            *reads,
            end_line(99, "done"),
        ]

    names = st.sampled_from([name for name in SAMPLES if name.startswith(("roo-xml/", "qwen3-coder/"))])
    return st.builds(cut, names, st.lists(st.floats(0, 0.999), max_size=12))


@given(streams())
def test_each_row_once_in_order_and_no_effect_above_its_cause(lines: list[Line]):
    player = live(*lines)
    alignment = aligned(player)
    for pane in Pane:
        cells = [row for row in alignment.cells[pane] if row != EMPTY]
        assert list(dict.fromkeys(cells)) == list(range(len(player.rows(pane))))
        assert cells == sorted(cells)
        if pane is not Pane.UPSTREAM:
            assert len(cells) == len(set(cells))
        assert list(alignment.line_of[pane]) == [
            alignment.cells[pane].index(row) for row in dict.fromkeys(cells)
        ]
    assert all(any(column[line] != EMPTY for column in alignment.cells) for line in range(len(alignment)))
    check_causes(player, alignment)


def check_causes(player: Player, alignment: Alignment) -> None:
    upstream, machine, client = alignment.line_of
    for pane, lines in ((Pane.MACHINE, machine), (Pane.CLIENT, client)):
        for row, line in enumerate(lines):
            item = player.item(pane, row)
            if isinstance(item, Transition | Delta | Finding) and 0 <= item.read < player.reads:
                assert line >= upstream[player.rows_of_reads[item.read]]
    moves = [(player.item(Pane.MACHINE, row), line) for row, line in enumerate(machine)]
    for row, line in enumerate(client):
        delta = player.item(Pane.CLIENT, row)
        if not isinstance(delta, Delta) or delta.span is None:
            continue
        for move, place in moves:
            if isinstance(move, Transition) and move.seq < delta.seq:
                same = (move.span.choice, move.span.channel) == (delta.span.choice, delta.span.channel)
                if same and move.span.start < delta.span.end and delta.span.start < move.span.end:
                    assert line >= place


@given(streams())
def test_each_event_of_a_read_that_brings_several_has_a_line_beside_what_it_led_to(lines: list[Line]):
    player = live(*lines)
    alignment = aligned(player)
    for read in range(player.reads):
        end = player.read_end(read)
        whole = [event for event in player.events_in(read) if event.end <= end]
        row = player.rows_of_reads[read]
        places = [line for line in range(len(alignment)) if alignment.cells[Pane.UPSTREAM][line] == row]
        if len(whole) < 2:
            assert [alignment.events[line] for line in places] == [EMPTY]
            continue
        shown = [alignment.events[line] for line in places]
        assert [number for number in shown if number != REST] == [event.number for event in whole]
        # Together they are the read, to the byte.
        assert b"".join(player.data[slice(*alignment.range_of(line))] for line in places) == player.read(read)
        for line, number in zip(places, shown, strict=True):
            for at in range(*alignment.level_of(line)):
                row = alignment.cells[Pane.MACHINE][at]
                item = player.item(Pane.MACHINE, row) if row >= 0 else None
                if isinstance(item, Transition):
                    assert number == REST or item.event <= number


@given(streams())
def test_what_came_before_never_moves(lines: list[Line]):
    """The alignment of a prefix is a prefix: made line by line, and made at once, it is the same."""
    whole = aligned(live(*lines))
    growing = live()
    alignment = Alignment(growing)
    for line in lines:
        growing.add([line])
        alignment.catch_up()
        for pane in Pane:
            assert alignment.line_of[pane] == whole.line_of[pane][: len(alignment.line_of[pane])]
    assert [list(column) for column in alignment.cells] == [list(column) for column in whole.cells]
    assert (alignment.levels, alignment.runs, alignment.kinds) == (whole.levels, whole.runs, whole.kinds)


@given(streams(), st.integers(1, 40))
def test_slices_make_no_difference_and_lines_only_grow_with_the_steps(lines: list[Line], slice: int):
    player = live(*lines)
    whole, sliced = aligned(player), Alignment(player)
    while not sliced.catch_up(slice):
        pass
    assert sliced.cells == whole.cells and sliced.levels == whole.levels
    before = 0
    for step in range(player.steps):
        known = whole.lines_at(*(rows.known_at(step) for rows in player.panes))
        assert known >= before
        pane, row = player.place(step)
        assert whole.line_of[pane][row] < known
        before = known
    assert before == len(whole)


def test_a_whole_message_and_a_heartbeat():
    player = as_message("roo-xml/good-read")
    alignment = aligned(player)
    check_causes(player, alignment)
    assert alignment.line_of[Pane.UPSTREAM][0] == alignment.line_of[Pane.MACHINE][0] == 0
    event = sse({"choices": [{"index": 0, "delta": {"content": "Hi"}}]}, done=False)
    player = live(read_line(1, event), sent_line(6, b": waiting\n\n", "heartbeat"), read_line(7, event))
    alignment = aligned(player)
    # A heartbeat is not what a read led to: it stands on a line of its own.
    assert list(alignment.cells[Pane.UPSTREAM]) == [0, EMPTY, 1]
    assert alignment.line_of[Pane.CLIENT][-2] == 1


def test_a_delta_stands_beside_the_last_of_the_moves_that_led_to_it():
    text = "One.\n<read_file>\n<path>a.py</path>\n</read_file>"
    player = live(read_line(1, sse({"choices": [{"index": 0, "delta": {"content": text}}]}, done=False)))
    alignment = aligned(player)
    lines = {}
    for row, line in enumerate(alignment.line_of[Pane.CLIENT]):
        item = player.item(Pane.CLIENT, row)
        assert isinstance(item, Delta)
        lines[item.kind] = line
    prose, *_, last = alignment.line_of[Pane.MACHINE]
    assert lines["content"] == prose and lines["arguments"] >= last
