"""The recorder: it never keeps anybody waiting, and what is on a tape is whole, whatever the disk does."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.project import ROOT
from workbench.errors import UserError
from workbench.library.query import Library
from workbench.library.summary import Row
from workbench.recording import tapewriter
from workbench.recording.recorder import Recorder
from workbench.recording.recording import GATHER, Backlog, Item, Recording
from workbench.tape.format import Tape, make_header, read_tape

KEY = "sk-live-0123456789abcdef"
EVENT = b'data: {"choices":[{"delta":{"content":"x"}}]}\n\n'
CUT_OFF = "its end line is missing, the recording was cut off"
MakeRecorder = Callable[..., Recorder]


def header(**more: Any) -> dict[str, Any]:
    return make_header("POST /v1/chat/completions", "roo-xml", model="m", started=time.time(), **more)


def wait_for(condition: Callable[[], Any], limit: float = 20) -> Any:
    until = time.monotonic() + limit
    while not (result := condition()):
        assert time.monotonic() < until, "this never came true"
        threading.Event().wait(0.005)
    return result


@pytest.fixture
def recorder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeRecorder]:
    """It looks more often than usual whether there is room, or an index: no test waits long for that."""
    monkeypatch.setattr("workbench.recording.recorder._EVERY", 0.1)
    monkeypatch.setattr("workbench.recording.recorder._LOOK", 0.1)
    monkeypatch.setattr(tapewriter, "_PROBE_AGAIN", 0.1)
    made = []

    def make(library: Path = tmp_path / "library", **options: Any) -> Recorder:
        made.append(Recorder(library, **options))
        made[-1].start()
        return made[-1]

    yield make
    for one in made:
        one.close()


class Disk:
    """Stands at `os.write`: a disk that can be full, or take its time."""

    def __init__(self) -> None:
        self.room: int | None = None
        self.free = threading.Event()
        self.free.set()
        self.blocked = threading.Event()
        self._write = os.write

    def write(self, fd: int, data: bytes) -> int:
        if not self.free.is_set():
            self.blocked.set()
            self.free.wait(30)
        if self.room is None:
            return self._write(fd, data)
        if self.room == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken = self._write(fd, data[: self.room])
        self.room -= taken
        return taken


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    disk = Disk()
    monkeypatch.setattr(os, "write", disk.write)
    yield disk
    disk.free.set()


def only_row(library: Path) -> Row:
    with Library(library) as opened:
        (row,) = opened.rows()
    return row


def losses(tape: Tape) -> list[dict[str, int]]:
    return [line.value["lost"] for line in tape.of("lost")]


# What is on a tape


def test_an_exchange_is_on_its_tape(recorder: MakeRecorder, tmp_path: Path):
    one = recorder()
    recording = one.begin(
        header(
            session="s1",
            client_headers=[["authorization", f"Bearer {KEY}"]],
            request={"messages": [{"role": "user", "content": f"my key: {KEY}"}], "api_key": "hidden"},
        )
    )
    recording.status(0.1, "upstream", 200, iter([("set-cookie", "a=b"), ("x", "y")]))
    recording.status(0.1, "client", 200, [("x", "y")])
    recording.read(0.25, b"bad key " + KEY[:9].encode())
    recording.read(0.26, KEY[9:].encode() + b", \xff\n")
    recording.sent(0.3, b": ping\n\n", by="heartbeat")
    recording.sent(0.4, "naïve \u2028\n".encode())
    recording.finding(0.5, "odd", "warning", f"{KEY} was refused", "proxy")
    recording.end(1.5, "done", calls=2, findings={"unclosed-call": 1}, usage={"prompt_tokens": 7}, error=None)
    assert one.close()
    tape = read_tape(recording.path)
    assert tape.problem is None
    assert KEY not in recording.path.read_text()
    assert tape.header["id"] == recording.id
    assert tape.header["client_headers"] == [["authorization", f"Bearer {'*' * len(KEY)}"]]
    assert tape.header["request"] == {
        "messages": [{"role": "user", "content": f"my key: {'*' * len(KEY)}"}],
        "api_key": "******",
    }
    assert [line.value for line in tape.of("status")] == [
        {"t": 0.1, "side": "upstream", "status": 200, "headers": [["set-cookie", "***"], ["x", "y"]]},
        {"t": 0.1, "side": "client", "status": 200, "headers": [["x", "y"]]},
    ]
    assert tape.reads == [b"bad key " + b"*" * 9, b"*" * (len(KEY) - 9) + b", \xff\n"]
    assert [(line.t, line.data, line.value.get("by")) for line in tape.of("sent")] == [
        (0.3, b": ping\n\n", "heartbeat"),
        (0.4, "naïve \u2028\n".encode(), None),
    ]
    (finding,) = tape.of("finding")
    assert finding.value == {
        "t": 0.5,
        "finding": "odd",
        "level": "warning",
        "message": f"{'*' * len(KEY)} was refused",
        "where": "proxy",
    }
    assert tape.end is not None
    assert tape.end.value["calls"] == 2
    assert (one.lost_lines, one.lost_bytes, one.problem) == (0, 0, None)
    row = only_row(tmp_path / "library")
    assert (row.path, row.id) == (str(recording.path.relative_to(tmp_path / "library")), recording.id)
    assert (row.model, row.session, row.status, row.state, row.ttfb, row.duration) == (
        "m",
        "s1",
        200,
        "done",
        0.25,
        1.5,
    )
    assert (row.chunks, row.bytes, row.calls, row.prompt_tokens) == (2, 8 + len(KEY) + 4, 2, 7)
    assert (row.findings, row.level) == ({"odd": 1, "unclosed-call": 1}, "warning")
    assert row.size == recording.path.stat().st_size


def test_a_tapes_place_says_when_it_was_made(recorder: MakeRecorder, tmp_path: Path):
    recording = recorder().begin(header() | {"started": 1_700_000_000.5})
    day = time.strftime("%Y-%m-%d", time.localtime(1_700_000_000))
    clock = time.strftime("%H%M%S", time.localtime(1_700_000_000))
    assert recording.path == tmp_path / "library" / "tapes" / day / f"{clock}-{recording.id}.jsonl"
    assert re.fullmatch("[0-9a-z]{10}", recording.id)
    wait_for(recording.path.exists)


@pytest.mark.parametrize("umask", [0o000, 0o777])
def test_only_the_owner_may_read(recorder: MakeRecorder, tmp_path: Path, umask: int):
    tmp_path.chmod(0o755)
    before = os.umask(umask)
    try:
        one = recorder(tmp_path / "deep" / "library")
        recording = one.begin(header())
        recording.end(1, "done")
        assert one.close()
    finally:
        os.umask(before)
    rights = {path.relative_to(tmp_path): path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")}
    assert recording.path.relative_to(tmp_path) in rights
    assert Path("deep/library/library.sqlite") in rights
    assert {rights[path] for path in rights if (tmp_path / path).is_dir()} == {0o700}
    assert {rights[path] for path in rights if (tmp_path / path).is_file()} == {0o600}
    assert tmp_path.stat().st_mode & 0o777 == 0o755


def test_the_users_own_folder_keeps_its_rights(recorder: MakeRecorder, tmp_path: Path):
    (tmp_path / "library").mkdir(mode=0o750)
    one = recorder()
    one.begin(header())
    assert one.close()
    assert (tmp_path / "library").stat().st_mode & 0o777 == 0o750


def test_two_hundred_at_once(recorder: MakeRecorder, tmp_path: Path):
    one = recorder()
    recordings = [one.begin(header(ids=str(number))) for number in range(200)]
    for at in range(20):
        for number, recording in enumerate(recordings):
            recording.read(at / 100, b"%d %d\n" % (number, at))
            recording.sent(at / 100, b"%d %d\n" % (number, at))
    for recording in recordings:
        recording.end(1, "done")
    assert one.close(60)
    for number, recording in enumerate(recordings):
        tape = read_tape(recording.path)
        assert tape.problem is None
        assert tape.header["ids"] == str(number)
        assert tape.reads == tape.sent == [b"%d %d\n" % (number, at) for at in range(20)]
    with Library(tmp_path / "library") as library:
        assert len(library.rows()) == 200


def test_the_same_id_twice_gives_two_tapes(recorder: MakeRecorder, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("workbench.recording.recorder.new_id", lambda: "same")
    monkeypatch.setattr(tapewriter, "new_id", lambda: "other")
    one = recorder()
    first, second = one.begin(header() | {"started": 1.0}), one.begin(header() | {"started": 1.0})
    first.end(1, "done")
    second.end(2, "error")
    assert one.close()
    assert first.path != second.path
    assert [read_tape(one.path).header["id"] for one in (first, second)] == ["same", "other"]


# In time


def test_a_line_is_in_the_file_without_waiting_for_the_next(recorder: MakeRecorder):
    """After `GATHER` at the latest, which is below a tenth of a second."""
    recording = recorder().begin(header(), [KEY])
    wait_for(recording.path.exists)
    for number in range(5):
        # Each may be the beginning of a secret, which is the slowest case.
        text = b"%d sk-" % number
        recording.read(number, text)
        wait_for(partial(_holds, recording.path, text))
    assert GATHER < 0.1


def _holds(path: Path, text: bytes) -> bool:
    return text in path.read_bytes()


def test_a_tape_that_runs_does_not_wait_for_others_to_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tapewriter, "_TURN", 0)  # one thing at a time
    tapes = tapewriter.OpenTapes(tmp_path, (), lambda *_: None, lambda *_: None)
    backlog: Backlog[Item] = Backlog(1 << 20)
    recordings = [Recording(backlog, lose, name, tmp_path / name, header(), ()) for name in ("a", "b", "c")]
    first, *others = recordings
    begin, *begins = backlog.take(0)
    assert tapes.write([begin]) == begin.size
    for recording in recordings:
        recording.read(1, b"1")
    reads = backlog.take(0)
    assert tapes.write([*begins, *reads]) == reads[0].size + begins[0].size
    assert read_tape(first.path).reads == [b"1"]
    assert [one.path.exists() for one in others] == [True, False]
    for _ in range(3):
        assert tapes.due_in() == 0
        assert tapes.write([])
    assert tapes.due_in() is None
    assert [read_tape(one.path).reads for one in others] == [[b"1"], [b"1"]]
    tapes.close()


def lose(lines: int, payload: int) -> None:
    raise AssertionError("nothing is lost here")


def test_what_came_and_went_at_once_is_two_lines(recorder: MakeRecorder):
    same, odd = b'data: {"x": 1}\n\n', "data: ü\x7f\n\n".encode()
    own = recorder()
    recording = own.begin(header(), [KEY])
    recording.carried(0.125, same, 0.25, same)
    recording.carried(0.5, same, 0.75, b"data: another\n\n")
    recording.carried(1, odd, 2, odd)
    recording.carried(3, KEY.encode() + b"\n", 4, b"\n")
    recording.carried(5, b"\xff\n", 6, b"a " + KEY.encode() + b"\n")
    recording.end(7, "done")
    assert own.close()
    tape = read_tape(recording.path)
    stars = b"*" * len(KEY)
    assert tape.reads == [same, same, odd, stars + b"\n", b"\xff\n"]
    assert tape.sent == [same, b"data: another\n\n", odd, b"\n", b"a " + stars + b"\n"]
    assert [line.value["t"] for line in tape.lines][:-1] == [0.125, 0.25, 0.5, 0.75, 1, 2, 3, 4, 5, 6]


def test_both_lines_count_when_there_is_no_room_for_them(tmp_path: Path):
    backlog: Backlog[Item] = Backlog(100_000)
    lost: list[tuple[int, int]] = []
    recording = Recording(backlog, lambda *counts: lost.append(counts), "a", tmp_path / "a", header(), ())
    recording.carried(1, bytes(60_000), 1, bytes(50_000))
    recording.carried(2, b"in", 2, b"out")
    assert lost == [(2, 110_000)]
    assert [(item.op, item.missed) for item in backlog.take(0)] == [("begin", (0, 0)), ("carried", lost[0])]


def test_a_tape_can_be_read_while_it_grows(recorder: MakeRecorder, tmp_path: Path):
    recording = recorder().begin(header())
    recording.read(0.1, b"first")
    wait_for(lambda: recording.path.exists() and b"first" in recording.path.read_bytes())
    assert read_tape(recording.path).problem == CUT_OFF
    wait_for((tmp_path / "library" / "library.sqlite").exists)
    with Library(tmp_path / "library") as library:
        row = wait_for(lambda: [row for row in library.rows() if row.chunks == 1])[0]
        assert (row.state, row.pid) == ("running", os.getpid())
        before = library.data_version()
        recording.read(0.2, b"second")
        recording.finding(0.2, "upstream-fault", "error", "it broke", "proxy")
        row = wait_for(lambda: [row for row in library.rows() if row.chunks == 2])[0]
        assert library.data_version() != before
        row = wait_for(lambda: [row for row in library.rows() if row.findings])[0]
    assert (row.findings, row.level, row.bytes) == ({"upstream-fault": 1}, "error", len(b"firstsecond"))


# When the disk does not play along


def test_a_blocked_disk_keeps_nobody_waiting(recorder: MakeRecorder, disk: Disk):
    one = recorder(queue_bytes=100_000)
    recording = one.begin(header())
    recording.read(0, b"before\n")
    wait_for(lambda: recording.path.exists() and b"before" in recording.path.read_bytes())
    disk.free.clear()
    recording.read(1, b"into the wall\n")
    assert disk.blocked.wait(10)

    def go_on() -> None:
        for number in range(2000):
            recording.read(2 + number, b"x" * 100)
            other = one.begin(header()) if number % 500 == 0 else recording
            other.sent(2 + number, b"y" * 100)

    stream = threading.Thread(target=go_on, daemon=True)
    stream.start()
    stream.join(60)
    assert not stream.is_alive(), "it waits for the disk, which is stuck for good"
    assert one.lost_lines > 1000
    assert "too slow" in str(one.problem)
    lost = one.lost_lines, one.lost_bytes
    disk.free.set()
    wait_for(lambda: one.problem is None)
    recording.read(9000, b"after\n")
    recording.end(9001, "done")
    assert one.close()
    tape = read_tape(recording.path)
    assert tape.problem is None
    assert tape.reads[:2] == [b"before\n", b"into the wall\n"]
    assert tape.reads[-1] == b"after\n"
    (gap,) = losses(tape)
    assert gap["bytes"] == gap["lines"] * 100
    assert tape.lines[-3].kind == "lost"
    assert tape.end is not None
    assert tape.end.value["lost"] == gap
    kept = len(tape.reads) + len(tape.sent)
    assert kept + gap["lines"] <= 4003 <= kept + lost[0] + 4
    assert (one.lost_lines, one.lost_bytes) >= lost


def test_a_beginning_that_found_no_room_comes_late(recorder: MakeRecorder, disk: Disk):
    one = recorder(queue_bytes=60_000)
    first = one.begin(header())
    wait_for(first.path.exists)
    disk.free.clear()
    first.read(0, b"x" * 50_000)
    assert disk.blocked.wait(10)
    late = one.begin(header())
    late.read(1, b"lost\n")
    assert one.lost_lines == 1
    disk.free.set()
    wait_for(lambda: one.problem is None)
    late.read(2, b"kept\n")
    late.end(3, "eof")
    assert one.close()
    tape = read_tape(late.path)
    assert (tape.reads, losses(tape)) == ([b"kept\n"], [{"lines": 1, "bytes": 5}])


def test_what_is_larger_than_the_queue_goes_alone(recorder: MakeRecorder):
    one = recorder(queue_bytes=1000)
    recording = one.begin(header(request={"messages": [{"content": "x" * 5000}]}))
    wait_for(recording.path.exists)
    wait_for(lambda: one.waiting_bytes == 0)
    recording.read(1, b"y" * 5000)
    recording.end(2, "done")
    assert one.close()
    tape = read_tape(recording.path)
    assert (tape.reads, one.lost_lines) == ([b"y" * 5000], 0)


@pytest.mark.parametrize("room", [0, 1, 30, 70, 100, 150, 400])
def test_a_full_disk_leaves_only_whole_lines(recorder: MakeRecorder, disk: Disk, tmp_path: Path, room: int):
    one = recorder()
    recording = one.begin(header())
    recording.read(0, b"before\n")
    wait_for(lambda: recording.path.exists() and b"before" in recording.path.read_bytes())
    disk.room = room
    for number in range(10):
        recording.read(1 + number, b"%d\n" % number * 10)
    wait_for(lambda: one.problem)
    assert "No space left on device; free some space" in str(one.problem)
    assert recording.path.read_bytes().endswith(b"\n")
    found = read_tape(recording.path)
    assert found.problem == CUT_OFF
    kept = len(found.reads) - 1
    assert one.lost_lines == 10 - kept
    disk.room = None
    recording.read(20, b"after\n")
    recording.end(21, "done")
    assert one.close()
    tape = read_tape(recording.path)
    assert tape.problem is None
    assert tape.reads == [b"before\n", *(b"%d\n" % number * 10 for number in range(kept)), b"after\n"]
    gap = {"lines": 10 - kept, "bytes": 20 * (10 - kept)}
    assert losses(tape) == [gap]
    assert tape.end is not None
    assert tape.end.value["lost"] == gap
    assert (one.problem, one.lost_lines, one.lost_bytes) == (None, gap["lines"], gap["bytes"])
    assert only_row(tmp_path / "library").lost == gap["lines"]


def test_a_beginning_for_which_there_is_no_room_is_written_later(recorder: MakeRecorder, disk: Disk):
    one = recorder()
    disk.room = 20
    recording = one.begin(header())
    recording.read(1, b"lost\n")
    wait_for(lambda: one.lost_lines)
    assert list(recording.path.parent.iterdir()) == []  # no half of a first line, which nobody could open
    disk.room = None
    wait_for(recording.path.exists)
    recording.read(2, b"kept\n")
    recording.end(3, "done")
    assert one.close()
    tape = read_tape(recording.path)
    assert (tape.reads, losses(tape), one.problem) == ([b"kept\n"], [{"lines": 1, "bytes": 5}], None)


def test_a_file_system_without_hard_links(
    recorder: MakeRecorder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    def link(*_: object) -> None:
        raise PermissionError(errno.EPERM, "no such thing here")

    monkeypatch.setattr(os, "link", link)
    monkeypatch.setattr("workbench.recording.recorder.new_id", lambda: "same")
    one = recorder()
    recordings = [one.begin(header() | {"started": 1.0}) for _ in range(2)]
    for recording in recordings:
        recording.end(1, "done")
    assert one.close()
    assert all(read_tape(recording.path).complete for recording in recordings)
    with Library(tmp_path / "library") as library:
        assert len(library.rows()) == 2


def test_an_end_for_which_there_is_no_room_is_written_later(recorder: MakeRecorder, disk: Disk):
    one = recorder()
    recording = one.begin(header())
    wait_for(recording.path.exists)
    disk.room = 5
    recording.end(1, "done")
    wait_for(lambda: one.problem)
    assert not read_tape(recording.path).complete
    disk.room = None
    wait_for(lambda: read_tape(recording.path).complete)
    assert one.lost_lines == 0


def test_a_half_line_that_cannot_be_taken_back_damages_nothing_else(
    recorder: MakeRecorder, disk: Disk, monkeypatch: pytest.MonkeyPatch
):
    one = recorder()
    recording = one.begin(header())
    wait_for(recording.path.exists)
    monkeypatch.setattr(os, "ftruncate", lambda fd, size: (_ for _ in ()).throw(OSError(errno.EIO, "no")))
    disk.room = 10
    recording.read(1, b"half of this\n")
    wait_for(lambda: one.problem)
    disk.room = None
    recording.read(2, b"after\n")
    recording.end(3, "done")
    assert one.close()
    tape = read_tape(recording.path)
    assert tape.reads == [b"after\n"]
    assert [line.kind for line in tape.lines] == ["damaged", "lost", "read", "end"]


def test_a_real_limit_of_the_system(tmp_path: Path):
    """The kernel refuses what goes beyond: short writes and EFBIG as they really come."""
    out = run_script(
        """
        import resource
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
        recording = recorder.begin(header, [])
        for number in range(100):
            recording.read(number, b"x" * 200)
            time.sleep(0.002)
        recording.end(1, "done")
        recorder.close()
        print(recording.path, recorder.lost_lines)
        """,
        tmp_path,
    )
    path, lost = out.split()
    tape = read_tape(path)
    assert tape.problem == CUT_OFF
    assert len(tape.reads) + int(lost) == 100
    assert len(tape.reads) > 5


def test_a_library_that_cannot_be_written(recorder: MakeRecorder, tmp_path: Path):
    (tmp_path / "library").write_text("in the way")
    one = recorder()
    assert "cannot be written" in str(one.problem)
    recording = one.begin(header())
    recording.read(1, b"lost\n")
    wait_for(lambda: one.lost_lines == 1)
    (tmp_path / "library").unlink()
    wait_for(lambda: one.problem is None)
    recording.read(2, b"kept\n")
    recording.end(3, "done")
    assert one.close()
    tape = read_tape(recording.path)
    assert (tape.reads, losses(tape)) == ([b"kept\n"], [{"lines": 1, "bytes": 5}])
    assert only_row(tmp_path / "library").state == "done"


def test_a_library_that_vanishes_comes_back(recorder: MakeRecorder, tmp_path: Path):
    one = recorder()
    recording = one.begin(header())
    recording.read(1, b"before\n")
    wait_for(lambda: recording.path.exists() and b"before" in recording.path.read_bytes())
    shutil.rmtree(tmp_path / "library")

    def again() -> bool:
        recording.read(2, b"x")
        return recording.path.exists()

    wait_for(again)
    recording.end(3, "done")
    assert one.close()
    tape = read_tape(recording.path)
    assert tape.problem is None
    assert tape.reads[0] == b"before\n"
    assert one.lost_lines == 0
    assert only_row(tmp_path / "library").state == "done"


# When something else goes wrong


def test_a_locked_index_stops_no_tape(recorder: MakeRecorder, tmp_path: Path):
    one = recorder()
    first = one.begin(header())
    first.end(1, "done")
    wait_for((tmp_path / "library" / "library.sqlite").exists)
    with Library(tmp_path / "library") as library:
        wait_for(library.rows)
        other = sqlite3.connect(tmp_path / "library" / "library.sqlite", isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        second = one.begin(header())
        second.read(1, b"x")
        second.end(2, "done")
        wait_for(lambda: second.path.exists() and read_tape(second.path).complete)
        wait_for(lambda: one.index_problem)
        assert one.problem is None
        other.execute("ROLLBACK")
        other.close()
        wait_for(lambda: len(library.rows()) == 2)
        wait_for(lambda: one.index_problem is None)


def test_a_broken_index_stops_no_tape(recorder: MakeRecorder, tmp_path: Path):
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "library.sqlite").write_bytes(b"this is no database" * 1000)
    one = recorder()
    recording = one.begin(header())
    recording.end(1, "done")
    wait_for((tmp_path / "library" / "library.sqlite.damaged").exists)
    wait_for(lambda: one.index_problem is None)
    with Library(tmp_path / "library") as library:
        wait_for(library.rows)
    assert one.close()
    assert (one.problem, read_tape(recording.path).complete) == (None, True)
    aside = tmp_path / "library" / "library.sqlite.damaged"
    assert aside.read_bytes().startswith(b"this is no database")


@pytest.mark.parametrize("loss", ["deleted", "broken"])
def test_an_index_that_is_lost_meanwhile_is_made_again(recorder: MakeRecorder, tmp_path: Path, loss: str):
    """All of it, and without a restart or another exchange."""
    index = tmp_path / "library" / "library.sqlite"
    one = recorder()
    for _ in range(3):
        one.begin(header()).end(1, "done")
    wait_for(index.exists)
    with Library(tmp_path / "library") as library:
        wait_for(lambda: len(library.rows()) == 3)
    if loss == "deleted":
        index.unlink()
    else:
        other = index.with_name("new")
        other.write_bytes(b"this is no database" * 1000)
        other.replace(index)

    def rows() -> int:
        try:
            with Library(tmp_path / "library") as library:
                return len(library.rows())
        except UserError:
            return 0

    wait_for(lambda: rows() == 3)


def test_a_value_that_cannot_be_recorded_costs_only_itself(recorder: MakeRecorder, tmp_path: Path):
    one = recorder()
    broken = one.begin(header(client_headers=[["only a name"]]))
    broken.read(1, b"x")
    odd = one.begin(header(request={"n": 10**40, "s": "\ud800", "o": ValueError("v")}))
    odd.end(1, "done", calls={1, 2}, status=10**30, model="\ud800", error=ValueError(KEY))
    assert one.close()
    assert one.lost_lines == 2
    tape = read_tape(odd.path)
    assert tape.header["request"] == {"n": 10**40, "s": "\ud800", "o": "v"}
    row = only_row(tmp_path / "library")
    assert (row.state, row.calls, row.status, row.model) == ("done", 0, None, "?")
    assert KEY not in str(row) + odd.path.read_text()


def test_an_error_nested_too_deep_does_not_keep_a_tape_open(recorder: MakeRecorder, tmp_path: Path):
    deep: Any = KEY
    for _ in range(1000):
        deep = [deep]
    one = recorder()
    recording = one.begin(header())
    recording.end(1, "error", error=deep, calls=2)
    assert one.close()
    tape = read_tape(recording.path)
    assert (tape.problem, one.lost_lines) == (None, 0)
    assert tape.end is not None
    assert tape.end.value["calls"] == 2
    assert only_row(tmp_path / "library").state == "error"


def test_an_end_whose_details_cannot_be_recorded_is_an_end(recorder: MakeRecorder, tmp_path: Path):
    one = recorder()
    recording = one.begin(header())
    recording.end(1, "error", error=Unspeakable())
    wait_for(lambda: recording.path.exists() and read_tape(recording.path).complete)
    assert one.close()
    assert one.lost_lines == 1
    assert only_row(tmp_path / "library").state == "error"


class Unspeakable:
    def __str__(self) -> str:
        raise ValueError(KEY)


def test_what_comes_after_the_end_is_not_recorded(recorder: MakeRecorder):
    one = recorder()
    recording = one.begin(header())
    recording.end(1, "done")
    recording.end(2, "error")
    recording.read(3, b"late")
    assert one.close()
    assert read_tape(recording.path).problem is None
    assert one.lost_lines == 1


def test_after_it_is_closed_everything_is_lost(tmp_path: Path):
    one = Recorder(tmp_path)
    assert one.close()
    recording = one.begin(header())
    recording.read(1, b"x")
    recording.end(1, "done")
    assert one.lost_lines == 2
    assert not recording.path.exists()


def test_closing_does_not_wait_for_ever(recorder: MakeRecorder, disk: Disk):
    one = recorder()
    disk.free.clear()
    one.begin(header()).read(1, b"x")
    assert disk.blocked.wait(10)
    assert not one.close(0.05)
    disk.free.set()
    assert one.close()


# With other processes


def script(body: str) -> str:
    return textwrap.dedent(
        """
        import sys, time
        from pathlib import Path
        from workbench.recording.recorder import Recorder
        recorder = Recorder(Path(sys.argv[1]))
        recorder.start()
        header = {"tape": 1, "about": "x", "dialect": "roo-xml"}
        """
    ) + textwrap.dedent(body)


def run_script(body: str, library: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script(body), str(library)],
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_after_kill_9_every_tape_opens(tmp_path: Path):
    writing = subprocess.Popen(
        [
            sys.executable,
            "-c",
            script(
                """
                recordings = [recorder.begin(dict(header, now=n)) for n in range(20)]
                for number in range(1_000_000):
                    for recording in recordings:
                        recording.read(number, ("%d é\\n" % number * 50).encode())
                    if number == 20:
                        print("go", flush=True)
                    time.sleep(0.001)
                """
            ),
            str(tmp_path),
        ],
        cwd=ROOT, stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert writing.stdout is not None
        assert writing.stdout.readline() == b"go\n"
        tapes = wait_for(lambda: found if len(found := list(tmp_path.rglob("*.jsonl"))) == 20 else None)
        wait_for(lambda: all(path.stat().st_size > 50_000 for path in tapes))
    finally:
        writing.send_signal(signal.SIGKILL)
        writing.wait()
        assert writing.stdout is not None
        writing.stdout.close()
    for path in tapes:
        tape = read_tape(path)
        assert str(tape.problem).endswith(CUT_OFF)
        assert [line.t for line in tape.of("read")] == list(range(len(tape.reads)))
        assert len(tape.reads) > 20
    with Library(tmp_path) as library:
        assert {row.state for row in library.rows()} == {"cut"}
    # The next proxy that comes says so in the index, too.
    one = Recorder(tmp_path)
    one.start()
    assert one.close()
    states = (
        sqlite3.connect(tmp_path / "library.sqlite").execute("SELECT DISTINCT state FROM tapes").fetchall()
    )
    assert states == [("cut",)]


def test_a_tape_that_the_index_was_never_told_of_is_found(recorder: MakeRecorder, tmp_path: Path):
    folder = tmp_path / "library" / "tapes" / "2026-01-01"
    folder.mkdir(parents=True)
    for name in ("a", "b"):
        (folder / f"120000-{name}.jsonl").write_text('{"tape": 1, "dialect": "roo-xml", "model": "m"}\n')
    one = recorder()
    wait_for((tmp_path / "library" / "library.sqlite").exists)
    with Library(tmp_path / "library") as library:
        wait_for(lambda: len(library.rows()) == 2)
        found = {(row.id, row.state, row.model) for row in library.rows()}
        assert found == {("a", "cut", "m"), ("b", "cut", "m")}
        shutil.rmtree(folder)
        assert one.close()
        assert recorder().close()
        assert library.rows() == []


def test_two_processes_share_a_library(tmp_path: Path):
    body = """
    for number in range(15):
        recording = recorder.begin(header)
        for at in range(20):
            recording.read(at, b"x" * 50)
        recording.end(1, "done", calls=1)
        time.sleep(0.005)
    assert recorder.close(30)
    assert recorder.problem is None and recorder.lost_lines == 0, recorder.problem
    assert recorder.index_problem is None, recorder.index_problem
    """
    command = [sys.executable, "-c", script(body), str(tmp_path)]
    both = [subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE) for _ in range(2)]
    for process in both:
        _, error = process.communicate(timeout=120)
        assert process.returncode == 0, error.decode()
    tapes = [read_tape(path) for path in tmp_path.rglob("*.jsonl")]
    assert len(tapes) == 30
    assert {tape.problem for tape in tapes} == {None}
    with Library(tmp_path) as library:
        rows = library.rows()
    assert len(rows) == 30
    assert {(row.state, row.chunks, row.calls) for row in rows} == {("done", 20, 1)}
    assert len({row.pid for row in rows}) == 2


def test_old_tapes_go_when_a_recorder_starts(recorder: MakeRecorder, tmp_path: Path):
    folder = tmp_path / "library" / "tapes" / "2020-01-01"
    folder.mkdir(parents=True)
    old = folder / "120000-old.jsonl"
    old.write_text(json.dumps({"tape": 1}) + '\n{"t": 1, "end": "done"}\n')
    os.utime(old, (1.6e9, 1.6e9))
    one = recorder(keep_days=30)
    recording: Recording = one.begin(header())
    wait_for(lambda: not folder.exists())
    recording.end(1, "done")
    assert one.close()
    assert recording.path.exists()
