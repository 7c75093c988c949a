"""What `workbench replay` opens: captures, texts and completions as the tapes they would have been."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.samples import ALL as SAMPLES
from tests.support.samples import some_samples
from tests.support.streams import stream_of
from tests.support.tiers import each_row
from tests.support.views import write_tape
from transformer import DIALECTS
from transformer.answer.observations import OBSERVED
from transformer.findings import CATALOGUE
from workbench.analysis.appraisal import appraise
from workbench.errors import UserError
from workbench.files import samples_dir
from workbench.replay.lines import LineSource, MemoryTape, Tail
from workbench.replay.player import Player
from workbench.replay.sources import (
    GAP,
    MALFORMED,
    Compose,
    Replayable,
    event_reads,
    memory_tape_of,
    rechunked,
    replayables_of,
    tokens,
)
from workbench.tape.format import dump_line, end_line, make_header, read_line, read_tape, sent_line
from workbench.tape.inputs import Chunking, Input, load
from workbench.tape.recipe import Wishes, make_recipe

TOOL = {
    "type": "function",
    "function": {"name": "read_file", "parameters": {"type": "object", "properties": {"path": {}}}},
}
GOOD = "Let me see.\n\n<read_file>\n<path>naïve 🙂.py</path>\n</read_file>"
BAD = "Let me see.\n\n<read_file>\n<path>a.py\n</read_file>"
ROO = Wishes(dialect="roo-xml", tools=[TOOL])


def completion(text: str) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return json.dumps({"object": "chat.completion", "choices": [choice]}, indent=1).encode()


def played(opening: Replayable) -> Player:
    source = opening.open()
    source.advance(60)
    assert source.player is not None, source.problem
    return source.player


def calls(player: Player) -> list[tuple[str, Any]]:
    message = (player.completion or {})["choices"][0]["message"]
    functions = [call["function"] for call in message.get("tool_calls") or ()]
    return [(function["name"], json.loads(function["arguments"])) for function in functions]


CALLED = [("read_file", {"path": "naïve 🙂.py"})]
KINDS: dict[str, Callable[[str], bytes]] = {
    "answer.txt": str.encode,
    "answer.sse": stream_of,
    "answer.json": completion,
}


# Pieces


@given(st.text(max_size=300))
def test_tokens_join_to_the_text(text: str):
    pieces = list(tokens(text))
    assert "".join(pieces) == text
    assert pieces == list(tokens(text)), "the same ones every time"


def test_tokens_are_as_short_as_a_models():
    pieces = list(tokens("I'll read it.\n\n<read_file>\n<path>src/main.py</path>\n</read_file>"))
    assert max(map(len, pieces)) <= 6
    assert "<read_file>" not in pieces and {"<", "read_", "</"} <= set(pieces), "tags are cut"


@each_row(
    ("data", "reads"),
    [
        (b"", []),
        (b"data: 1\n\ndata: 2\n\n", [b"data: 1\n\n", b"data: 2\n\n"]),
        (b": hello\n\ndata: 1\r\n\r\ndata: 2\r\r", [b": hello\n\ndata: 1\r\n\r\n", b"data: 2\r\r"]),
        (b"data: 1\n\ndata: half", [b"data: 1\n\n", b"data: half"]),
        (b"no stream at all", [b"no stream at all"]),
    ],
)
def test_one_read_an_event(data: bytes, reads: list[bytes]):
    assert list(event_reads(data)) == reads


@some_samples(3)
def test_events_of_every_sample_join_to_what_came(path: Path):
    data = b"".join(read_tape(path).reads)
    assert b"".join(event_reads(data)) == data


@each_row("how", ["1", "7", "lines", "random:x", "1000000"])
def test_other_reads_have_the_same_bytes_and_come_when_they_can(how: str):
    tape = read_tape(samples_dir() / "roo-xml" / "good-unicode.jsonl")
    lines = list(rechunked(tape.lines, Chunking.parse(how)))
    again = [line for line in lines if line.kind == "read"]
    assert b"".join(line.data for line in again) == b"".join(tape.reads)
    assert [line for line in lines if line.kind != "read"] == [
        one for one in tape.lines if one.kind != "read"
    ]
    assert [line.t for line in lines] == sorted(line.t for line in lines)
    arrived, had = 0, 0
    before = {line.t: (arrived := arrived + len(line.data)) for line in tape.of("read")}
    for line in again:
        had += len(line.data)
        assert had <= before[line.t], "nothing comes before its last byte did"


# Files


@pytest.mark.parametrize("name", KINDS)
def test_whatever_it_is_the_same_call_comes_out(tmp_path: Path, name: str):
    path = tmp_path / name
    path.write_bytes(KINDS[name](GOOD))
    (opening,) = replayables_of([str(path)], ROO)
    player = played(opening)
    assert calls(player) == CALLED
    assert player.complete and player.difference is None and player.problem is None
    assert opening.path == path and opening.facts.dialect == "roo-xml" and opening.folder == ""


@pytest.mark.parametrize(
    ("name", "reads", "about"),
    [
        ("answer.txt", len(list(tokens(GOOD))) + 2, "one event a token, 20 ms apart"),
        ("answer.sse", stream_of(GOOD).count(b"\n\n"), "neither times nor the cuts of its reads; one"),
        ("answer.json", 1, "a whole completion"),
    ],
)  # fmt: skip
def test_reads_and_times_are_made_up_and_that_is_said(tmp_path: Path, name: str, reads: int, about: str):
    path = tmp_path / name
    path.write_bytes(KINDS[name](GOOD))
    (opening,) = replayables_of([str(path)], ROO)
    player = played(opening)
    assert player.reads == reads
    assert list(player.times) == pytest.approx([number * GAP for number in range(reads)])
    assert about in opening.about


@pytest.mark.parametrize("name", ["answer.txt", "answer.sse"])
def test_a_chunking_cuts_otherwise(tmp_path: Path, name: str):
    path = tmp_path / name
    path.write_bytes(KINDS[name](GOOD))
    (opening,) = replayables_of([str(path)], ROO, chunking=Chunking.parse("1"))
    player = played(opening)
    assert player.reads == (len(GOOD) + 2 if name == "answer.txt" else len(stream_of(GOOD)))
    assert calls(player) == CALLED and "cut as --chunk says" in opening.about


def test_a_text_that_is_not_utf8_says_so(tmp_path: Path):
    path = tmp_path / "answer.txt"
    path.write_bytes(b"caf\xe9")
    (opening,) = replayables_of([str(path)], ROO)
    assert "not valid UTF-8" in played(opening).header["about"]


def test_a_capture_without_its_end_ends_all_the_same(tmp_path: Path):
    path = tmp_path / "cut.sse"
    path.write_bytes(stream_of(GOOD, done=False))
    (opening,) = replayables_of([str(path)], ROO)
    end = played(opening).end
    assert end is not None and end.value["end"] == "eof"


@some_samples(3)
def test_a_sample_opens_as_the_tape_it_is(path: Path):
    (opening,) = replayables_of([str(path)], Wishes())
    source = opening.open()
    assert isinstance(source, Tail) and source.name == path.name
    assert opening.about == read_tape(path).header["about"]
    assert played(opening).complete


def test_a_tape_is_not_read_to_be_recognised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = write_tape(tmp_path / "big.jsonl", make_header("big", "roo-xml"), [b"x" * 1000] * 1000)
    asked: list[int] = []
    real = Path.open

    def watched(self: Path, *args: Any, **more: Any) -> Any:
        file = real(self, *args, **more)
        asked.append(self.stat().st_size)
        return _Watched(file, asked)

    monkeypatch.setattr(Path, "open", watched)
    replayables_of([str(path)], Wishes())
    assert asked[:1] == [path.stat().st_size] and sum(asked[1:]) <= 64 << 10


class _Watched:
    """A file that notes how much of it is read."""

    def __init__(self, file: Any, asked: list[int]) -> None:
        self._file, self._asked = file, asked

    def read(self, size: int = -1) -> bytes:
        data: bytes = self._file.read(size)
        self._asked.append(len(data))
        return data

    def __enter__(self) -> _Watched:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def test_a_large_completion_is_still_recognised(tmp_path: Path):
    path = tmp_path / "large.json"
    path.write_bytes(completion("x" * 200_000))
    (opening,) = replayables_of([str(path)], ROO)
    assert played(opening).mode == "message"


# A tape, but otherwise


@each_row(
    ("wishes", "codes"),
    [
        (Wishes(), {"unclosed-parameter"}),
        (Wishes(switches={"malformed": "repair"}), {"repaired-parameter"}),
        (Wishes(dialect="passthrough"), set()),
        (Wishes(tools=[]), set()),
    ],
)
@each_row("chunk", [None, "3"])
def test_wishes_make_a_variant(wishes: Wishes, codes: set[str], chunk: str | None):
    path = samples_dir() / "roo-xml" / "unclosed-parameter.jsonl"
    chunking = Chunking.parse(chunk) if chunk else None
    (opening,) = replayables_of([str(path)], wishes, chunking=chunking)
    player = played(opening)
    assert {finding.code for finding in player.findings} == codes
    assert player.difference is None, "what was sent then says nothing about a variant"
    assert ("variant_of" in player.header) == (wishes != Wishes() or chunk is not None)
    if wishes.dialect:
        assert player.dialect == opening.facts.dialect == wishes.dialect
    assert player.reads == (16 if chunk is None else -(-len(player.data) // 3))


@some_samples(3)
def test_the_changed_header_converts_as_the_wishes_say(path: Path):
    """Two ways to the same end: a recipe with wishes, and a header that has them."""
    tape = read_tape(path)
    tools = [*(tape.header.get("request", {}).get("tools") or ()), TOOL]
    for wishes in (Wishes(switches={"malformed": "repair", "calls": "all"}), Wishes(tools=tools)):
        recipe = make_recipe(tape.header, wishes)
        stream = recipe.stream("none")
        out = b"".join(map(stream.feed, tape.reads)) + stream.finish()
        reel = memory_tape_of("x", Input("tape", b"", tape=tape), wishes, None)
        assert reel.player is not None
        again = make_recipe(reel.player.header, Wishes()).stream("none")
        assert b"".join(map(again.feed, tape.reads)) + again.finish() == out


def test_a_tape_in_memory_plays_like_its_file():
    path = samples_dir() / "roo-xml" / "broke-inside-call.jsonl"
    reel = memory_tape_of("x", load(str(path), None), Wishes(), None)
    (opening,) = replayables_of([str(path)], Wishes())
    one, other = reel.play(), played(opening)
    assert one.records == other.records and one.panes_of_steps == other.panes_of_steps
    assert one.difference is None


# Folders


def test_the_samples_are_a_folder_whatever_is_in_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    openings = replayables_of(["samples"], Wishes())
    assert len(openings) == len(SAMPLES)
    folders = list(dict.fromkeys(opening.folder for opening in openings))
    assert folders == [name for name in DIALECTS if (samples_dir() / name).is_dir()], "in their usual order"
    for folder in folders:
        good = [one.title.startswith("good") for one in openings if one.folder == folder]
        assert good == sorted(good), "what went wrong comes first"


def test_a_folder_of_that_name_is_meant_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "samples").mkdir()
    write_tape(tmp_path / "samples" / "mine.jsonl", make_header("mine", "roo-xml"), [])
    (opening,) = replayables_of(["samples"], Wishes())
    assert (opening.title, opening.folder, opening.about) == ("mine", "samples", "mine")


def test_a_folder_has_the_tapes_below_it_and_nothing_else(tmp_path: Path):
    for name in ("b/2.jsonl", "b/1.jsonl", "a.jsonl", "c/d/3.jsonl"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_tape(path, make_header(name, "roo-xml"), [])
    (tmp_path / "b" / "training.jsonl").write_text('{"messages": []}\n')
    (tmp_path / "b" / "1.jsonl.marks.json").write_text("{}")
    (tmp_path / "loop").symlink_to(tmp_path)
    openings = replayables_of([str(tmp_path)], Wishes())
    assert [(one.folder, one.title) for one in openings] == [
        (tmp_path.name, "a"), ("b", "1"), ("b", "2"), ("c/d", "3"),
    ]  # fmt: skip


def test_what_was_recorded_is_told_by_its_question(tmp_path: Path):
    messages = [
        {"role": "system", "content": "You are …"},
        {"role": "user", "content": "first"},
        {"role": "user", "content": [{"type": "text", "text": "What does\nmain.py do?"}]},
    ]
    header = make_header("POST /chat/completions", "roo-xml", method="POST", model="qwen3-max",
                         request={"messages": messages})  # fmt: skip
    write_tape(tmp_path / "one.jsonl", header, [])
    (opening,) = replayables_of([str(tmp_path / "one.jsonl")], Wishes())
    assert opening.about == "qwen3-max: What does main.py do?"


@pytest.mark.parametrize(
    "request_", [None, [], {"messages": 3}, {"messages": [7, {"role": "user", "content": 5}]}]
)
def test_a_strange_request_has_no_question(tmp_path: Path, request_: Any):
    header = make_header("POST /x", "roo-xml", method="POST", request=request_)
    write_tape(tmp_path / "one.jsonl", header, [])
    (opening,) = replayables_of([str(tmp_path / "one.jsonl")], Wishes())
    assert opening.about == "POST /x"


@pytest.mark.parametrize(
    ("pid", "running"), [("mine", True), (2**31 - 5, False), ("x", False), (None, False)]
)
def test_a_tape_runs_as_long_as_somebody_writes_it(tmp_path: Path, pid: Any, running: bool):
    path = tmp_path / "one.jsonl"
    header = make_header("x", "roo-xml", pid=os.getpid() if pid == "mine" else pid)
    path.write_bytes(dump_line(header) + dump_line(read_line(0, b"data: ")))
    (opening,) = replayables_of([str(path)], Wishes())
    assert opening.running is running
    source = opening.open()
    source.advance(60)
    assert appraise(opening, source).level == ("running" if running else "warning")
    with path.open("ab") as file:
        file.write(dump_line(end_line(1, "done")))
    assert source.advance(60) and source.player is not None and source.player.complete


# What cannot be opened


@pytest.mark.parametrize(
    ("name", "data", "kind", "why"),
    [
        ("gone.jsonl", None, None, "cannot read {}: No such file"),
        ("answer.txt", b"plain text", None, "{}: which dialect does the model speak"),
        ("half.jsonl", b'{"tape": 1, "dial', None, "{} cannot be shown: .* half written"),
        ("text.txt", b"text", "tape", "{} cannot be shown: this is not a tape"),
        ("empty.jsonl", b"", "tape", "{} cannot be shown: it is empty"),
        ("folder", "folder", None, "there is nothing to replay in {}"),
    ],
)
def test_an_error_names_the_file(tmp_path: Path, name: str, data: Any, kind: Any, why: str):
    path = tmp_path / name
    if data == "folder":
        path.mkdir()
    elif data is not None:
        path.write_bytes(data)
    with pytest.raises(UserError, match=why.format(path)):
        replayables_of([str(path)], Wishes(), kind)
    sample = str(SAMPLES[0])
    bad, good = replayables_of([str(path), sample], Wishes(), None if kind is None else kind)
    assert good.problem is None and played(good).complete, "the others open all the same"
    source = bad.open()
    assert bad.problem is not None and str(path) in bad.problem and bad.about == bad.problem == source.problem
    assert source.advance(1) and not source.has_more
    assert appraise(bad, source).level == "error"


def test_a_broken_completion_says_so_when_it_is_opened(tmp_path: Path):
    path = tmp_path / "broken.json"
    path.write_bytes(b"{")
    (opening,) = replayables_of([str(path)], ROO, "json")
    source: LineSource = opening.open()
    assert source.player is None and source.problem is not None and str(path) in source.problem


@each_row(
    ("wishes", "why"),
    [
        (Wishes(dialect="roo"), "did you mean roo-xml"),
        (Wishes(switches={"malformed": "maybe"}), "--set: malformed is one of"),
    ],
)
def test_a_wrong_wish_is_wrong_at_once(wishes: Wishes, why: str):
    with pytest.raises(UserError, match=why):
        replayables_of([str(SAMPLES[0])], wishes)


def test_a_name_that_is_no_name():
    with pytest.raises(UserError, match="cannot read"):
        replayables_of(["a\0b"], Wishes())


# Pipes


def piped(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_standard_input_can_be_anything(monkeypatch: pytest.MonkeyPatch, make: Callable[[str], bytes]):
    piped(monkeypatch, make(GOOD))
    (opening,) = replayables_of(["-"], ROO)
    assert opening.path is None and opening.title == "standard input"
    assert calls(played(opening)) == CALLED == calls(played(opening)), "also a second time"


def test_a_tape_can_be_piped_in(monkeypatch: pytest.MonkeyPatch):
    piped(monkeypatch, (samples_dir() / "roo-xml" / "good-read.jsonl").read_bytes())
    (opening,) = replayables_of(["-"], Wishes())
    player = played(opening)
    assert player.complete and player.difference is None and opening.about == player.header["about"]


def test_a_named_pipe_is_read_once(tmp_path: Path):
    read, write = os.pipe()
    os.write(write, GOOD.encode())
    os.close(write)
    (opening,) = replayables_of([f"/dev/fd/{read}"], ROO)
    os.close(read)
    assert calls(played(opening)) == CALLED == calls(played(opening))


def test_without_a_pipe_there_is_nothing_to_read(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(UserError, match="nothing is piped in"):
        replayables_of(["-"], ROO)


# Pasted text


def test_a_pasted_text_is_opened():
    compose = Compose(ROO)
    opening = compose.make(GOOD)
    assert calls(played(opening)) == CALLED
    assert compose.dialect == opening.facts.dialect == "roo-xml" and opening.path is None
    assert isinstance(opening.open(), MemoryTape)


@each_row("make", [stream_of, completion])
def test_a_pasted_capture_is_one(make: Callable[[str], Any]):
    assert calls(played(Compose(ROO).make(make(GOOD).decode()))) == CALLED


def test_a_pasted_tape_knows_its_dialect():
    text = (samples_dir() / "kimi-k2" / "good-call.jsonl").read_text(encoding="utf-8")
    player = played(Compose(Wishes(dialect="roo-xml")).make(text))
    assert player.dialect == "kimi-k2" and player.difference is None


@each_row("text", ["", " \n"])
def test_nothing_is_no_text(text: str):
    with pytest.raises(UserError, match="there is no text yet"):
        Compose(ROO).make(text)


def test_half_a_character_can_be_pasted():
    assert played(Compose(ROO).make("a\ud800b")).complete


def test_without_a_dialect_nothing_can_be_composed():
    with pytest.raises(UserError, match="--dialect is one of roo-xml"):
        Compose(Wishes())


# Appraisals


@each_row(
    ("text", "level", "malformed", "failed"),
    [(GOOD, "good", False, False), (BAD, "error", True, True), ("Just words.", "info", False, False)],
)
def test_what_is_said_of_it(text: str, level: str, malformed: bool, failed: bool):
    opening = Compose(ROO).make(text)
    source = opening.open()
    source.advance(60)
    said = appraise(opening, source)
    assert (said.level, said.malformed, said.failed, said.excerpt) == (level, malformed, failed, text)


def test_what_counts_as_malformed_are_findings_that_exist():
    assert {*CATALOGUE, *OBSERVED} >= MALFORMED


def test_a_sent_line_of_the_proxy_stays_in_a_variant(tmp_path: Path):
    path = tmp_path / "one.jsonl"
    lines = [
        read_line(0, stream_of("x")), sent_line(0, b"sent"), sent_line(1, b": beat\n\n", "heartbeat"),
        end_line(2, "done"),
    ]  # fmt: skip
    path.write_bytes(dump_line(make_header("x", "roo-xml")) + b"".join(map(dump_line, lines)))
    (as_it_was,) = replayables_of([str(path)], Wishes())
    (variant,) = replayables_of([str(path)], Wishes(dialect="qwen3-coder"))
    assert played(as_it_was).difference is not None and played(variant).difference is None
    assert [line.value.get("by") for line in played(variant).lines if line.kind == "sent"] == ["heartbeat"]


def test_a_file_without_a_name_is_not_the_current_folder():
    with pytest.raises(UserError, match="without a name"):
        replayables_of([""], Wishes())
