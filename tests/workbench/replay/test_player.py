"""The player: the same rows however a tape comes, and a cause for each of them."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

from tests.support.samples import ALL as SAMPLES
from tests.support.samples import some_samples
from tests.support.streams import chunk, message, sse, stream_of, tool
from tests.support.tiers import each_row
from transformer import Delta, Finding, MessageTransformer, StreamTransformer, Transition, call_ids
from transformer.answer.conformance import Check
from transformer.jsontext import dumps
from workbench.files import samples_dir
from workbench.replay.lines import Tail
from workbench.replay.links import linked, overlap
from workbench.replay.player import Held, Pane, Player
from workbench.tape.format import (
    BOM,
    End,
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
from workbench.tape.recipe import Wishes, make_recipe

TOOLS = [tool("read_file", {"path": {"type": "string"}})]
CALL = "Hello\n<read_file>\n<path>a.py</path>\n</read_file>"


def played(path: Path) -> Player:
    tape = read_tape(path)
    player = Player(tape.header)
    player.add(tape.lines)
    return player


def shape(player: Player) -> list[tuple[int, list[int], list[int]]]:
    return [(len(rows), list(rows.refs), list(rows.steps)) for rows in player.panes]


@some_samples(3)
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


@each_row("path", SAMPLES[::12], ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_tape_that_grows_gives_the_rows_of_one_that_is_whole(path: Path, tmp_path: Path):
    data, wanted = path.read_bytes(), shape(played(path))
    growing = tmp_path / "growing.jsonl"
    growing.write_bytes(b"")
    tail = Tail(growing)
    for at in range(0, len(data), 97):
        with growing.open("ab") as file:
            file.write(data[at : at + 97])
        tail.advance(1)
    assert tail.player is not None and not tail.has_more
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
    second = player.rows(Pane.UPSTREAM).steps[1]
    assert player.held_at(0) is None, "it has only just come"
    assert player.held_at(second - 1) == Held(1, 1.0, "text", "content")
    assert player.held_at(second) == player.held_at(second - 1), "what came has not been looked at yet"
    player.add([read_line(6.0, stream_of("</path>\n</read_file>"))])
    assert player.held_at(player.steps - 1) is None


@each_row("how", ["eof", "error", "done"])
def test_nothing_is_held_back_behind_the_end(how: End):
    player = live(
        read_line(1.0, sse(chunk("<read_file>\n<path>abc"), done=False)),
        read_line(2.0, b": ping\n\n"),
        end_line(3.0, how),
    )
    held = [player.held_at(step) for step in range(player.steps)]
    ping = player.step_of_read(1)
    assert held[ping] == Held(21, 1.0, "value", "content")
    assert held[-1] is None, "the client got it as text"
    assert player.item(Pane.UPSTREAM, 2) == player.end


def test_what_is_held_back_does_not_depend_on_what_the_proxy_does_next():
    """Two machines hold text back; the last move says it only of its own."""
    reads = [read_line(1.0, sse(chunk("<read"), chunk("Hello\n", index=1), chunk("b", index=1), done=False))]
    before = live(*reads)
    after = live(*reads, status_line(2.0, "client", 200), sent_line(3.0, b": waiting\n\n", "heartbeat"))
    assert before.held_at(before.steps - 1) is not None
    for step in range(before.steps):
        assert after.held_at(step) == before.held_at(step)
    assert after.held_at(after.steps - 1) == before.held_at(before.steps - 1)


def test_events_inside_the_bytes_of_another_one():
    """Events without a blank line between them are taken apart; which read has a part of which is certain."""
    lines = [json.dumps(chunk(text)) for text in ("ab", "cd", "ef", "gh")]
    data = "".join(f"data: {line}\n" for line in lines).encode() + b"\n"
    size = len(data) // 8
    reads = [read_line(float(at), data[at : at + size]) for at in range(0, len(data), size)]
    player = live(*reads, read_line(999.0, stream_of("end")), end_line(999.0, "done"))
    events = [event for number in range(99) if (event := player.event(number)) is not None]
    assert any(one.end > other.end for one, other in itertools.pairwise(events))
    for read in range(player.reads):
        start, end = player.starts[read], player.read_end(read)
        assert player.events_in(read) == [one for one in events if one.start < end and one.end > start]


@each_row("size", [10_000, 100, 7])
@each_row("how", ["done", "cancelled"])
def test_a_message_is_the_same_in_however_many_reads(size: int, how: End):
    body = json.dumps(message(CALL)).encode()
    reads = [read_line(0.0, body[at : at + size]) for at in range(0, len(body), size)]
    whole = live(read_line(0.0, body), end_line(1.0, how), stream=False)
    player = live(*reads, end_line(1.0, how), stream=False)
    assert whole.completion is not None and player.completion == whole.completion


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
    found = player.difference
    assert sent[: found.byte].endswith(b'"id":"'), "the ids are made otherwise today"
    assert sent[: found.byte].endswith(found.before) and len(found.before) == 120
    assert sent[found.byte :].startswith(found.sent) and not found.made.startswith(found.sent[:40])
    assert found.read == 0
    short = live(read_line(0, data), sent_line(0, b""), end_line(1, "done"))
    assert short.difference is None, "a tape without what was sent has nothing to compare"


@each_row(
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


NATIVE = [
    chunk(tool_calls=[{"index": 0, "id": "c0", "function": {"name": "read_file", "arguments": ""}}]),
    chunk(tool_calls=[{"index": 0, "id": "c0", "function": {"arguments": '{"path": '}}]),
    chunk(tool_calls=[{"index": 0, "id": "c0", "function": {"arguments": '"a.py"}'}}]),
    chunk(finish_reason="tool_calls"),
]


def passed_through(*lines: Line, **more: object) -> Player:
    player = Player(make_header("x", "passthrough", request={"model": "m", "tools": TOOLS}, **more))
    player.add(lines)
    return player


def checks_in(player: Player) -> list[Check]:
    rows = (player.item(Pane.MACHINE, row) for row in range(len(player.rows(Pane.MACHINE))))
    return [item for item in rows if isinstance(item, Check)]


@each_row("size", [1, 7, 64, 10_000])
def test_checks_are_rows_of_the_machine(size: int):
    data = sse(*NATIVE)
    reads = [read_line(at, data[at : at + size]) for at in range(0, len(data), size)]
    player = passed_through(*reads, end_line(len(data), "done"))
    found = checks_in(player)
    assert [check.code for check in found] == ["check-id-repeated", "check-call", "check-stream"]
    assert found[1].message == "call 1 read_file: breaks check-id-repeated (2 times)"
    assert not player.findings, "nobody else takes them for findings of the transformer"
    ((start, end),) = player.bytes_of(found[0])
    event = data[start:end]
    assert json.loads(event.removeprefix(b"data: ")) == NATIVE[1], "the event that shows it"
    row = next(
        row for row in range(len(player.rows(Pane.MACHINE))) if player.item(Pane.MACHINE, row) is found[0]
    )
    delta = linked(player, Pane.MACHINE, row, Pane.CLIENT)
    assert delta is not None and player.bytes_of(player.item(Pane.CLIENT, delta)) == ((start, end),)
    read = linked(player, Pane.MACHINE, row, Pane.UPSTREAM)
    assert read is not None and player.item(Pane.UPSTREAM, read) == player.read_at(start)


def test_a_native_call_can_be_read_and_has_its_rail():
    player = passed_through(read_line(0, sse(*NATIVE)), end_line(1, "done"))
    deltas = [record for record in player.records if isinstance(record, Delta) and record.kind == "native"]
    assert [(delta.call, delta.text) for delta in deltas] == [
        (0, "read_file"),
        (0, '{"path": '),
        (0, '"a.py"}'),
    ]
    assert [player.call_of(event) for event in range(4)] == [0, 0, 0, None]


def test_checks_come_as_the_tape_grows():
    data = sse(*NATIVE)
    lines = [
        *(read_line(at, data[at : at + 50]) for at in range(0, len(data), 50)),
        end_line(len(data), "done"),
    ]
    whole, growing = passed_through(*lines), passed_through()
    seen = []
    for line in lines:
        growing.add([line])
        seen.append(len(checks_in(growing)))
    assert shape(growing) == shape(whole) and growing.records == whole.records
    assert seen[len(seen) // 2] == 1 and seen[-2:] == [1, 3], "a breach at once, the summaries at the end"


@each_row(
    ("lines", "last"),
    [
        ([end_line(1, "cancelled")], "the stream: conforms as far as it goes"),
        ([end_line(1, "error", error="broke")], "the stream: conforms as far as it goes"),
        ([end_line(1, "eof")], "the stream: breaks check-finish-missing, check-done-missing"),
        ([status_line(0, "client", 502), end_line(1, "error")], None),
    ],
)
def test_how_an_answer_ends_decides_what_is_said_of_it(lines: list[Line], last: str | None):
    player = passed_through(read_line(0, sse(chunk("Hi"), done=False)), *lines)
    found = checks_in(player)
    assert (found[-1].message if found else None) == last


def answered(body: bytes, *reads: bytes, dialect: str = "roo-xml", sent: bytes | None = None) -> Player:
    """An exchange that does not stream, as the proxy records it."""
    header = make_header(
        "x", dialect, request={"model": "m", "tools": TOOLS}, ids="s", stream=False, now=1_700_000_000
    )
    player = Player(header)
    wanted = make_recipe(header, Wishes()).message("findings")
    made = dumps(wanted.convert(json.loads(body.decode("utf-8-sig")))) if dialect != "passthrough" else body
    player.add([status_line(0, "upstream", 200), *(read_line(1, read) for read in reads or (body,))])
    player.add(
        [status_line(2, "client", 200), sent_line(2, made if sent is None else sent), end_line(3, "done")]
    )
    return player


@each_row("dialect", ["roo-xml", "passthrough"])
@each_row("mark", [b"", BOM])
def test_an_answer_that_came_whole(dialect: str, mark: bytes):
    player = answered(mark + dump_line(message(CALL)), dialect=dialect)
    assert player.mode == "message" and player.difference is None and player.problem is None
    client = [player.item(Pane.CLIENT, row) for row in range(len(player.rows(Pane.CLIENT)))]
    *deltas, status, sent = client
    assert isinstance(status, Line) and isinstance(sent, Line) and sent.kind == "sent", "the message itself"
    kinds = [item.kind for item in deltas if isinstance(item, Delta)]
    converted = ["content", "call", "arguments", "finish"]
    assert kinds == (converted if dialect == "roo-xml" else [])
    assert [check.message for check in checks_in(player)] == (
        [] if dialect == "roo-xml" else ["the message: conforms"]
    )
    ranges = [player.bytes_of(item) for item in deltas]
    assert not ranges or bytes(player.data[slice(*ranges[0][0])]) == b"Hello"


@each_row("before", [(b"  ",), (b"\n", b" \n"), (BOM,)])
def test_blanks_before_a_message_do_not_make_it_a_stream(before: tuple[bytes, ...]):
    """Some servers send them while they think."""
    body = dump_line(message(CALL))
    player = answered(body, *before, body)
    assert player.mode == "message" and player.difference is None
    assert player.completion == answered(body).completion


def test_a_message_is_compared_with_what_was_sent():
    body = dump_line(message(CALL))
    found = answered(body, sent=b'{"id":"other"}').difference
    assert found is not None and found.byte == len('{"id":"')
    assert answered(body, sent=b'{"id":"chatcmpl-1"').difference is not None, "it was cut short"


def test_a_message_in_many_reads_is_read_once():
    body = dump_line(message(CALL)) + b"   "
    wanted = answered(body)
    player = answered(body, *(body[at : at + 10] for at in range(0, len(body), 10)))
    assert player.records == wanted.records and player.difference is None
    assert len(player.rows(Pane.MACHINE)) == len(wanted.rows(Pane.MACHINE))


def test_a_stream_to_a_client_that_wanted_a_message():
    request = {"model": "m", "tools": TOOLS}
    data = stream_of(CALL)
    then = StreamTransformer("roo-xml", TOOLS, request=request, ids=call_ids("s"))
    then.feed(data)
    then.finish()
    player = live(read_line(0, data), sent_line(1, dumps(then.completion)), end_line(2, "done"), stream=False)
    assert player.mode == "stream" and player.difference is None
    client = [player.item(Pane.CLIENT, row) for row in range(len(player.rows(Pane.CLIENT)))]
    assert [item.kind for item in client if isinstance(item, Line)] == ["sent"], "the message is a row"


def test_a_message_that_the_transformer_fails_on(monkeypatch: pytest.MonkeyPatch):
    def fail(*_: object) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(MessageTransformer, "convert", fail)
    player = live(read_line(0, dump_line(message(CALL))), end_line(1, "done"))
    assert player.problem == "the transformer failed: RuntimeError: no"


def test_a_last_line_without_a_line_feed_counts_when_it_is_whole(tmp_path: Path):
    """As editors leave it; and one that is being written is waited for."""
    path = tmp_path / "tape.jsonl"
    end = dump_line(end_line(1, "done")).rstrip()
    path.write_bytes(dump_line(make_header("x", "roo-xml")) + end[:-4])
    tail = Tail(path)
    tail.advance(1)
    assert tail.player is not None and not tail.player.complete
    with path.open("ab") as file:
        file.write(end[-4:])
    tail.advance(1)
    assert tail.player.complete
    with path.open("ab") as file:
        file.write(b"\n")
    tail.advance(1)
    assert tail.player.steps == 1 and tail.problem is None


def test_a_file_that_became_shorter_is_another_one(tmp_path: Path):
    path = tmp_path / "tape.jsonl"
    path.write_bytes(dump_line(make_header("x", "roo-xml")) + dump_line(end_line(1, "done")))
    tail = Tail(path)
    tail.advance(1)
    path.write_bytes(dump_line(make_header("x", "roo-xml")))
    tail.advance(1)
    assert tail.problem is not None and "something shorter" in tail.problem
