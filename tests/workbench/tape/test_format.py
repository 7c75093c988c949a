"""The tape format: byte-exact, forgiving to damage, nothing lost on a read and write."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.tiers import each_row
from workbench.tape.format import (
    BOM,
    Line,
    Tape,
    TapeError,
    TapeReader,
    dump_line,
    dump_tape,
    end_line,
    finding_line,
    is_end_line,
    lost_line,
    make_header,
    read_line,
    read_tape,
    release_line,
    sent_line,
    status_line,
)

HEADER = make_header("a test", "roo-xml", now=7, ids="seed", request={"stream": True})
TAPE = Tape(
    HEADER,
    (
        status_line(0.1, "upstream", 200, [("set-cookie", "a"), ("set-cookie", "b")]),
        read_line(0.2, b"data: {}\n\n"),
        sent_line(0.21, b": heartbeat\n\n", by="proxy"),
        sent_line(0.22, b"data: [DONE]\n\n"),
        end_line(0.3, "done", bytes=10),
    ),
)


def objects(data: bytes) -> list[object]:
    return [json.loads(line) for line in data.split(b"\n") if line]


def test_the_lines_look_as_the_issue_says():
    assert objects(dump_tape(TAPE)) == [
        {
            "tape": 1,
            "about": "a test",
            "dialect": "roo-xml",
            "ids": "seed",
            "now": 7,
            "request": {"stream": True},
        },
        {"t": 0.1, "side": "upstream", "status": 200, "headers": [["set-cookie", "a"], ["set-cookie", "b"]]},
        {"t": 0.2, "read": "data: {}\n\n"},
        {"t": 0.21, "sent": ": heartbeat\n\n", "by": "proxy"},
        {"t": 0.22, "sent": "data: [DONE]\n\n"},
        {"t": 0.3, "end": "done", "bytes": 10},
    ]


def test_the_proxys_own_lines():
    lines = finding_line(0.1, "odd", "warning", "a sentence", "request"), lost_line(0.2, 3, 500)
    assert objects(dump_tape(Tape(HEADER, lines)))[1:] == [
        {"t": 0.1, "finding": "odd", "level": "warning", "message": "a sentence", "where": "request"},
        {"t": 0.2, "lost": {"lines": 3, "bytes": 500}},
    ]


def test_a_tape_reads_back_as_it_was():
    tape = read_tape(dump_tape(TAPE))
    assert tape == TAPE
    assert tape.complete
    assert tape.problem is None
    assert tape.reads == [b"data: {}\n\n"]
    assert [line.t for line in tape.of("read")] == [0.2]
    assert tape.sent == [b": heartbeat\n\n", b"data: [DONE]\n\n"]
    assert tape.end is not None
    assert tape.end.value["end"] == "done"


def test_a_tape_is_read_from_a_file(tmp_path: Path):
    path = tmp_path / "one.jsonl"
    path.write_bytes(dump_tape(TAPE))
    assert read_tape(path) == read_tape(str(path)) == TAPE


@each_row(
    ("data", "key"),
    [
        (b"", "read"),
        (b"\x00\x01\x1b\x7f", "read"),
        (b"\xef\xbb\xbfdata: 1", "read"),
        (b"a\rb\r\nc\n", "read"),
        ("\u2028\u2029\u0085\x0b\x0c".encode(), "read"),
        ("\u202e\u009b\ufeff\U000e0041".encode(), "read"),
        ("naïve 日本 🙂".encode(), "read"),
        ("🙂".encode()[:2], "read64"),
        (b"\xff\xfe", "read64"),
        (b"\xed\xa0\x80", "read64"),
    ],
)
def test_a_read_is_byte_exact(data: bytes, key: str):
    line = read_line(1.5, data)
    assert key in line.value
    text = dump_line(line)
    assert text.count(b"\n") == 1
    assert text.endswith(b"\n")
    tape = read_tape(dump_line(HEADER) + text + dump_line(end_line(2, "eof")))
    assert tape.reads == [data]
    assert tape.of("read")[0].t == 1.5


def test_a_tape_printed_on_a_terminal_does_not_steer_it():
    text = dump_line(read_line(0, "\x1b]0;x\x07 \u009b31m \u202e 🙂".encode()))
    shown = text.decode()
    assert "🙂" in shown
    assert not {"\x1b", "\x07", "\u009b", "\u202e"} & set(shown)


@given(st.lists(st.binary(max_size=40), max_size=8), st.sampled_from(["done", "eof", "error", "cancelled"]))
def test_any_bytes_in_any_cut_come_back(reads: list[bytes], how: str):
    lines = [read_line(n / 8, data) for n, data in enumerate(reads)]
    lines += [sent_line(n / 8, data) for n, data in enumerate(reads)]
    tape = Tape(HEADER, (*lines, end_line(9, how)))  # type: ignore[arg-type]
    again = read_tape(dump_tape(tape))
    assert again == tape
    assert again.reads == again.sent == reads


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), JSON, max_size=4), JSON)
def test_unknown_keys_and_lines_survive_in_order(more: dict, value: object):
    header = {"tape": 1, **{f"x-{key}": v for key, v in more.items()}}
    line = {"t": 1, "read": "x", "x-note": value}
    strange = {"mark": value, "t": 10**30}
    tape = read_tape(dump_tape(Tape(header, (Line(strange), Line(line), end_line(1, "done", why=value)))))
    assert json.dumps(tape.header) == json.dumps(header)
    assert [json.dumps(line.value) for line in tape.lines[:2]] == [json.dumps(strange), json.dumps(line)]
    assert [line.kind for line in tape.lines] == ["other", "read", "end"]
    assert tape.lines[2].value["why"] == value


@each_row(
    ("line", "kind"),
    [
        ({"t": 1, "read": ""}, "read"),
        ({"t": 1, "sent64": "AA=="}, "sent"),
        ({"t": 1, "end": "error", "status": 502}, "end"),
        ({"t": 1, "status": 200}, "status"),
        ({"t": 1, "finding": "odd", "level": "error", "message": "m", "where": "proxy"}, "finding"),
        ({"t": 1, "lost": {"lines": 1, "bytes": 2}}, "lost"),
        ({"t": 1, "end": "done", "lost": {"lines": 1, "bytes": 2}, "findings": {"odd": 1}}, "end"),
        ({"t": 1, "weather": "fine"}, "other"),
        ({}, "other"),
    ],
)
def test_the_kind_of_a_line(line: dict, kind: str):
    assert Line(line).kind == kind


def test_what_a_line_says_is_asked_of_it():
    noticed = finding_line(0.1, "odd", "warning", "a sentence", "request")
    assert (noticed.finding, noticed.level) == ("odd", "warning")
    assert (noticed.message, noticed.where) == ("a sentence", "request")
    status, read, heartbeat, own, end = TAPE.lines
    assert (status.side, status.status) == ("upstream", 200)
    assert (heartbeat.by, own.by, read.by) == ("proxy", None, None)
    assert (end.ended, end.error) == ("done", None)
    assert release_line(0.2, "edited", 1.0).released == "edited"
    assert end_line(1, "error", error="why").error_message == "why"
    assert end_line(1, "error", error={"message": "why"}).error_message == "why"


def test_what_a_line_lacks_or_has_wrong_is_told_from_what_it_says():
    bare, odd = Line({}), Line({"finding": 5, "level": ["x"], "by": 0, "end": None})
    assert (bare.finding, bare.by) == (None, None)
    assert not any((bare.level, bare.message, bare.where, bare.side, bare.status, bare.ended, bare.released))
    assert (odd.finding, odd.level, odd.by, odd.ended) == ("5", "['x']", "0", "")


@each_row(
    ("text", "is_end"),
    [
        (dump_line(end_line(1, "done")), True),
        (b'{"t": 1, "end": "error", "status": 502}', True),
        (dump_line(read_line(1, b"the end")), False),
        (b'{"t": 1, "end": "do', False),
        (b"", False),
    ],
)
def test_the_last_line_of_a_tape_says_whether_it_is_over(text: bytes, is_end: bool):
    assert is_end_line(text) is is_end


def test_a_tape_without_its_last_line_opens_and_says_so():
    tape = read_tape(dump_tape(Tape(HEADER, TAPE.lines[:-1])))
    assert not tape.complete
    assert tape.end is None
    assert tape.reads == TAPE.reads
    assert "end line is missing" in str(tape.problem)


def test_every_cut_of_a_tape_opens_and_says_so():
    whole = dump_tape(TAPE)
    first = whole.index(b"\n") + 1
    for cut in range(first, len(whole) - 1):
        tape = read_tape(whole[:cut])
        assert not tape.complete
        half = "half written" in str(tape.problem)
        assert half == (whole[cut - 1 : cut] != b"\n" and whole[cut : cut + 1] != b"\n")
        assert tape.lines == TAPE.lines[: len(tape.lines)]
        assert read_tape(dump_tape(tape)).lines == tape.lines
    assert read_tape(whole[:-1]) == TAPE


@each_row(
    ("bad", "problem"),
    [
        (b"{nonsense", "line 3 is not a JSON object"),
        (b"[1]", "line 3 is not a JSON object"),
        (b"\xff\xff", "line 3 is not a JSON object"),
        (b"[" * 100_000, "line 3 is not a JSON object"),
        (b'{"t": ' + b"9" * 5000 + b"}", "line 3 is not a JSON object"),
        (b'{"t": 1, "read": 5}', "line 3 has a 'read' that is not text"),
        (b'{"t": 1, "read64": "!"}', "line 3 has bytes that cannot be decoded"),
        (b'{"t": 1, "read64": "\xc3\xa9"}', "line 3 has bytes that cannot be decoded"),
        (b'{"t": 1, "sent": "\\ud800"}', "line 3 has bytes that cannot be decoded"),
    ],
)
def test_a_damaged_line_is_named_kept_and_passed_over(bad: bytes, problem: str):
    lines = dump_tape(TAPE).split(b"\n")
    data = b"\n".join([*lines[:2], bad, *lines[2:]])
    tape = read_tape(data)
    assert tape.problem == problem
    assert tape.complete
    assert tape.reads == TAPE.reads
    assert tape.lines[1].kind == "damaged"
    assert tape.lines[1].data == b""
    assert dump_tape(tape) == data


def test_blank_lines_crlf_and_a_bom_do_no_harm():
    data = b"\xef\xbb\xbf" + dump_tape(TAPE).replace(b"\n", b"\r\n\r\n")
    assert read_tape(data) == TAPE


def test_a_time_that_is_no_time_is_zero():
    odd = (None, "x", 10**400, float("inf"), float("nan"), -1e300)
    assert [Line({"t": t}).t for t in (*odd, 3)] == [0] * len(odd) + [3]


def test_lines_behind_the_end_are_kept_and_named():
    more = b'{"t": 9, "read": "late"}\n{"t": 9, "odd": 1}\n'
    tape = read_tape(dump_tape(TAPE) + more)
    assert tape.complete
    assert tape.problem == "2 lines come after its end line"
    assert tape.lines[: len(TAPE.lines)] == TAPE.lines
    assert dump_tape(tape) == dump_tape(TAPE) + more
    assert read_tape(dump_tape(TAPE) + b"[]\n").problem == (
        f"line {len(TAPE.lines) + 2} is not a JSON object; 1 line comes after its end line"
    )


@each_row("data", [b'{"tape": 1, "ab', b'{"tape":', BOM + b' { "tape" : 1, "ab\n{"t": 0}\n'])
def test_a_first_line_that_is_half_written_is_said_to_be(data: bytes):
    with pytest.raises(TapeError, match="its first line is half written"):
        read_tape(data)


def test_a_tape_of_a_later_version_opens_and_says_so():
    tape = read_tape(b'{"tape": 2}\n{"t": 0, "end": "eof"}\n')
    assert tape.complete
    assert "version 2" in str(tape.problem)


@each_row(
    "data",
    [
        b"",
        b"\n\n",
        b"hello",
        b"data: {}\n\n",
        b'{"choices": []}',
        b"[]\n",
        b"\xff",
        b'{"tape": 1, "ab',
        b'{"tape": 1, "ab\n{"t": 0, "end": "eof"}\n',
    ],
)
def test_what_is_no_tape_is_refused_in_words(data: bytes):
    with pytest.raises(TapeError, match="not a tape"):
        read_tape(data)


@each_row("size", [1, 2, 7, 1000])
def test_a_growing_tape_gives_each_line_once_when_it_is_whole(size: int):
    data = dump_tape(TAPE)
    reader = TapeReader()
    lines = []
    for start in range(0, len(data), size):
        lines += reader.feed(data[start : start + size])
        assert reader.rest == data[: start + size].rpartition(b"\n")[2]
    assert tuple(lines) == TAPE.lines
    assert reader.header == HEADER
    assert reader.close() == []
    assert reader.problems == []


def test_what_is_appended_line_by_line_is_the_tape(tmp_path: Path):
    path = tmp_path / "live.jsonl"
    with path.open("ab") as file:
        file.write(dump_line(HEADER))
        for line in TAPE.lines:
            file.write(dump_line(line))
    assert path.read_bytes() == dump_tape(TAPE)


def test_the_header_leaves_out_what_is_not_known():
    header = make_header("x", "kimi-k2", extra=1, model=None, policy={"calls": "all"})
    assert list(header) == ["tape", "about", "dialect", "policy", "extra"]
