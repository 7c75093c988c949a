"""Marks: kept beside the tape, never at the cost of what was there."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from tests.support.tapes import SAMPLES, sample
from tests.support.tiers import each_row
from workbench.errors import UserError
from workbench.files import samples_dir
from workbench.library.index import rebuild
from workbench.library.query import Filter, Library
from workbench.library.retention import Keep, expire
from workbench.library.tapefiles import marks_of
from workbench.replay.marks import Mark, Marks, mark_at
from workbench.replay.player import Player
from workbench.tape.format import read_tape

HOSTILE = "\x1b[2J [/x] \u202e \ud800 </script>\n…"


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    path = tmp_path / "a.jsonl"
    path.write_bytes((samples_dir() / "roo-xml" / "good-read.jsonl").read_bytes())
    path.chmod(0o600)
    return path


def test_marks_come_back(tape: Path):
    marks = Marks(tape)
    assert (marks.marks, marks.breakpoints, marks.problem) == ([], [], None)
    player = sample("roo-xml/good-read")
    for step, note, byte in [(12, HOSTILE, 512), (3, "first", None), (-1, "before all", None)]:
        marks.put(mark_at(player, step, note, byte))
    marks.breakpoints = ["state:value", "client:\ud800"]
    marks.save()
    again = Marks(tape)
    assert again.problem is None and again.breakpoints == marks.breakpoints
    assert again.marks == marks.marks and [mark.step for mark in again.marks] == [-1, 3, 12]
    assert again.at(3) == marks.at(3) != None and again.at(4) is None  # noqa: E711


def test_a_person_can_read_the_file(tape: Path):
    marks = Marks(tape)
    player = sample("roo-xml/good-read")
    step = player.step_of_read(3) + 1
    marks.put(mark_at(player, step, "here it goes wrong"))
    marks.save()
    assert marks.path == tape.parent / "a.jsonl.marks.json" == marks_of(tape)
    value = json.loads(marks_of(tape).read_text())
    assert value == {
        "version": 1,
        "marks": [
            {"step": step + 1, "read": 4, "time": player.times[3], "note": "here it goes wrong"},
        ],
        "breakpoints": [],
    }


def test_a_step_has_one_mark():
    marks = Marks()
    marks.put(Mark(5, "a"))
    marks.put(Mark(5, "b"))
    marks.put(Mark(2, "c"))
    assert [mark.note for mark in marks.marks] == ["c", "b"]
    marks.remove(5)
    marks.remove(77)
    assert marks.marks == [Mark(2, "c")]
    marks.save()  # what has no file is not kept, and that is no error


def test_what_is_left_empty_goes(tape: Path):
    marks = Marks(tape)
    marks.save()
    assert not marks_of(tape).exists()
    marks.put(Mark(1, "x"))
    marks.breakpoints.append("rule:prose")
    marks.save()
    marks.remove(1)
    marks.save()
    assert marks_of(tape).exists(), "the breakpoints are something"
    marks.breakpoints.clear()
    marks.save()
    assert os.listdir(tape.parent) == ["a.jsonl"]


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o640])
def test_who_may_read_the_tape_may_read_its_marks(tape: Path, mode: int):
    tape.chmod(mode)
    marks = Marks(tape)
    marks.put(Mark(1, "x"))
    marks.save()
    assert stat.S_IMODE(marks_of(tape).stat().st_mode) == mode
    assert sorted(os.listdir(tape.parent)) == ["a.jsonl", "a.jsonl.marks.json"], "nothing is left over"


GOOD = {"step": 3, "read": 1, "time": 0.5, "note": "good"}


@each_row(
    ("data", "said", "kept"),
    [
        (b"", "not a file of marks", 0),
        (b"nonsense", "not a file of marks", 0),
        (b"\xff\xfe", "not a file of marks", 0),
        (b"[]", "not a file of marks", 0),
        (b'{"marks": []}', "not a file of marks", 0),
        (b'{"version": 2, "marks": []}', "has version 2", 0),
        (b"[" * 100_000, "not a file of marks", 0),
        (b'{"version": 1, "marks": {}}', "is damaged", 0),
        (b'{"version": 1, "breakpoints": "state:x"}', "is damaged", 0),
        (b'{"version": 1, "breakpoints": [5]}', "is damaged", 0),
        *(
            (json.dumps({"version": 1, "marks": [GOOD, bad]}).encode(), "is damaged", 1)
            for bad in (
                5,
                {},
                GOOD | {"step": -1},
                GOOD | {"step": "1"},
                GOOD | {"step": True},
                GOOD | {"step": 10**30},
                GOOD | {"read": None},
                GOOD | {"note": None},
                GOOD,
            )
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_told_and_stays(tape: Path, data: bytes, said: str, kept: int):
    marks_of(tape).write_bytes(data)
    marks = Marks(tape)
    assert marks.problem is not None and said in marks.problem and str(marks_of(tape)) in marks.problem
    assert len(marks.marks) == kept
    marks.put(Mark(1, "x"))
    with pytest.raises(UserError, match="not kept"):
        marks.save()
    assert marks_of(tape).read_bytes() == data


def test_odd_times_and_bytes_are_no_damage(tape: Path):
    odd = [GOOD | {"time": 1e400}, GOOD | {"step": 4, "time": "x", "byte": -1}, GOOD | {"step": 5, "time": 2}]
    marks_of(tape).write_text(json.dumps({"version": 1, "marks": odd}))
    marks = Marks(tape)
    assert marks.problem is None
    assert [(mark.time, mark.byte) for mark in marks.marks] == [(0.0, None), (0.0, None), (2.0, None)]


def test_what_a_later_version_added_is_kept(tape: Path):
    marks_of(tape).write_text(json.dumps({"version": 1, "marks": [GOOD], "colour": "red"}))
    marks = Marks(tape)
    marks.put(Mark(8, "y"))
    marks.save()
    assert json.loads(marks_of(tape).read_text())["colour"] == "red"
    assert len(Marks(tape).marks) == 2


def test_somebody_else_was_quicker(tape: Path):
    one, other = Marks(tape), Marks(tape)
    one.put(Mark(1, "one"))
    one.save()
    other.put(Mark(2, "other"))
    with pytest.raises(UserError, match="changed meanwhile"):
        other.save()
    assert [mark.note for mark in Marks(tape).marks] == ["one"]
    one.put(Mark(3, "more"))
    one.save()


def test_where_nothing_can_be_written(tape: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    marks = Marks(tape)
    marks.put(Mark(1, "x"))
    monkeypatch.setattr("workbench.replay.marks.replace_file", refuse)
    with pytest.raises(UserError, match=r"a\.jsonl\.marks\.json: Permission denied"):
        marks.save()
    monkeypatch.undo()
    marks.save()
    assert Marks(tape).marks == marks.marks, "they were not lost"


def test_a_folder_of_that_name(tape: Path):
    marks_of(tape).mkdir()
    assert "cannot be read" in str(Marks(tape).problem)


@each_row("name", SAMPLES[::10])
def test_a_mark_is_found_again(name: str):
    player = sample(name)
    for step in range(-1, player.steps):
        assert mark_at(player, step, "x").found(player) == step


def test_a_mark_is_found_where_the_steps_are_others():
    player = sample("roo-xml/good-read")
    step = player.step_of_read(5) + 1
    mark = mark_at(player, step, "x")
    header = {**player.header, "dialect": "passthrough"}
    tape = read_tape(samples_dir() / "roo-xml" / "good-read.jsonl")
    other = Player(header)
    assert mark.found(other) is None, "not there yet"
    other.add(tape.lines)
    found = mark.found(other)
    assert found is not None and other.last_read(found) == 5
    short = Player(header)
    short.add([line for line in tape.lines if line.kind != "read"])
    assert mark.found(short) == short.steps - 1, "it will not come any more"


def test_a_mark_before_the_first_read_waits_for_its_step():
    tape = read_tape(samples_dir() / "roo-xml" / "good-read.jsonl")
    mark = mark_at(sample("roo-xml/good-read"), 1, "the client's status")
    player = Player(tape.header)
    found = []
    for line in tape.lines[:3]:
        found.append(mark.found(player))
        player.add([line])
    assert (mark.read, found, mark.found(player)) == (-1, [None, None, 1], 1)


def test_the_library_keeps_what_is_marked_and_knows_it(tmp_path: Path):
    names = ("good-read", "unclosed-call")
    tapes = [tmp_path / "tapes" / "2020-01-01" / f"000000-{name}.jsonl" for name in names]
    tapes[0].parent.mkdir(parents=True)
    for name, path in zip(names, tapes, strict=True):
        path.write_bytes((samples_dir() / "roo-xml" / f"{name}.jsonl").read_bytes())
        os.utime(path, (0, 0))
    assert rebuild(tmp_path).tapes == 2
    marks = Marks(tapes[0])
    marks.put(Mark(3, "keep this"))
    marks.save()

    def marked() -> dict[str, bool]:
        with Library(tmp_path) as library:
            return {row.path: row.marked for row in library.rows(Filter())}

    known = {path.relative_to(tmp_path).as_posix(): path is tapes[0] for path in tapes}
    assert marked() == known, "the index learns of it at once"
    assert rebuild(tmp_path).tapes == 2, "the file of marks is no tape"
    assert marked() == known
    assert list(expire(tmp_path, Keep(days=1))) == [tapes[1].relative_to(tmp_path).as_posix()]
    assert sorted(os.listdir(tapes[0].parent)) == [tapes[0].name, marks_of(tapes[0]).name]
    marks.remove(3)
    marks.save()
    assert not any(marked().values())
    assert list(expire(tmp_path, Keep(days=1))) == [tapes[0].relative_to(tmp_path).as_posix()]
    assert not tapes[0].parent.exists()


def test_marks_of_a_tape_outside_a_library_are_not_written_beside_it(tmp_path: Path):
    repository, ours = tmp_path / "repository", tmp_path / "library" / "marks"
    tapes = [repository / "a" / "x.jsonl", repository / "b" / "x.jsonl"]
    for number, path in enumerate(tapes):
        path.parent.mkdir(parents=True)
        path.write_bytes(b"{}\n")
        marks = Marks(path, ours)
        marks.put(Mark(number, f"note {number}"))
        marks.save()
    assert [Marks(path, ours).marks[0].note for path in tapes] == ["note 0", "note 1"]
    assert sorted(path.name for path in repository.rglob("*") if path.is_file()) == ["x.jsonl", "x.jsonl"]
    assert len([*ours.iterdir()]) == 2
    beside = Marks(tapes[0])  # one that is there already is used as before
    beside.put(Mark(5, "old"))
    beside.save()
    assert Marks(tapes[0], ours).marks[0].note == "old"
