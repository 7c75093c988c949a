"""Retention: what is old or too much goes, what is marked or running stays."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from workbench.library.retention import Keep, expire
from workbench.library.tapefiles import marks_of

NOW = 1_800_000_000.0
DAY = 86400.0
HEADER = b'{"tape": 1, "dialect": "roo-xml"}\n'
ENDED = HEADER + b'{"t": 1, "end": "done", "calls": 1}\n'


def tape(library: Path, name: str, days: float, data: bytes = ENDED) -> Path:
    path = library / "tapes" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.utime(path, (NOW - days * DAY, NOW - days * DAY))
    return path


def left(library: Path) -> list[str]:
    return sorted(
        path.relative_to(library / "tapes").as_posix() for path in (library / "tapes").rglob("*.jsonl")
    )


def test_what_is_too_old_goes(tmp_path: Path):
    for days in (1, 29, 31, 400):
        tape(tmp_path, f"day{days:03}/1.jsonl", days)
    gone = list(expire(tmp_path, Keep(days=30), NOW))
    assert gone == ["tapes/day031/1.jsonl", "tapes/day400/1.jsonl"]
    assert left(tmp_path) == ["day001/1.jsonl", "day029/1.jsonl"]
    assert sorted(path.name for path in (tmp_path / "tapes").iterdir()) == ["day001", "day029"]


def test_the_oldest_go_when_it_is_too_much(tmp_path: Path):
    for number in range(6):
        tape(tmp_path, f"2026-11-0{number}/1.jsonl", 10 - number, ENDED + b" " * (1000 - len(ENDED)))
    gone = list(expire(tmp_path, Keep(days=30, bytes=3500), NOW))
    assert gone == [f"tapes/2026-11-0{number}/1.jsonl" for number in range(3)]
    assert list(expire(tmp_path, Keep(days=30, bytes=3500), NOW)) == []


@pytest.mark.parametrize(
    ("minutes", "data", "stays"),
    [
        (0, HEADER, True),
        (59, HEADER, True),
        (61, HEADER, False),
        (0, ENDED, False),
        (0, ENDED + b"\n", False),
        (0, ENDED[:-1], False),
        (0, ENDED[:-5], True),
        (0, b"", True),
        (0, b"nonsense", True),
        (0, HEADER + b'{"t": 1, "read": "' + b"x" * 200_000 + b'"}\n', True),
        (0, HEADER + b'{"t": 1, "read": "' + b"x" * 200_000 + b'"}\n{"t": 2, "end": "eof"}\n', False),
    ],
)
def test_what_runs_stays(tmp_path: Path, minutes: float, data: bytes, stays: bool):
    tape(tmp_path, "d/1.jsonl", minutes / 1440, data)
    gone = list(expire(tmp_path, Keep(days=30, bytes=-1), NOW))
    assert (gone == []) == stays
    assert (left(tmp_path) == ["d/1.jsonl"]) == stays


def test_what_is_marked_stays(tmp_path: Path):
    kept = [tape(tmp_path, f"d/{number}.jsonl", 400) for number in range(2)]
    marks_of(kept[0]).write_text("{}")
    kept[1].with_name("1.marks.json").write_text("{}")
    tape(tmp_path, "d/2.jsonl", 400)
    assert list(expire(tmp_path, Keep(), NOW)) == ["tapes/d/2.jsonl"]
    assert left(tmp_path) == ["d/0.jsonl", "d/1.jsonl"]


def test_what_is_marked_at_the_last_moment_stays(tmp_path: Path):
    tape(tmp_path, "d/1.jsonl", 400)
    second = tape(tmp_path, "d/2.jsonl", 400)
    going = expire(tmp_path, Keep(), NOW)
    assert next(going) == "tapes/d/1.jsonl"
    marks_of(second).write_text("{}")
    assert list(going) == []
    assert second.exists()


def test_what_a_killed_process_left_goes_with_its_folder(tmp_path: Path):
    tape(tmp_path, "old/1.jsonl", 400)
    tape(tmp_path, "old/.2.jsonl.part", 400)
    tape(tmp_path, "new/1.jsonl", 400)
    fresh = tape(tmp_path, "new/.2.jsonl.part", 0)
    assert len(list(expire(tmp_path, Keep(), NOW))) == 2
    assert not (tmp_path / "tapes" / "old").exists()
    assert fresh.exists()


def test_what_cannot_be_deleted_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for number in range(3):
        tape(tmp_path, f"d/{number}.jsonl", 400)
    really = Path.unlink

    def unlink(path: Path, missing_ok: bool = False) -> None:
        if path.name == "1.jsonl":
            raise PermissionError(1, "no")
        really(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", unlink)
    assert list(expire(tmp_path, Keep(), NOW)) == ["tapes/d/0.jsonl", "tapes/d/2.jsonl"]


def test_other_files_are_none_of_our_business(tmp_path: Path):
    tape(tmp_path, "d/notes.txt", 400)
    tape(tmp_path, "top.jsonl", 400)
    assert list(expire(tmp_path, Keep(), NOW)) == []
    assert (tmp_path / "tapes" / "d" / "notes.txt").exists()
    assert list(expire(tmp_path / "nowhere", Keep(), NOW)) == []
