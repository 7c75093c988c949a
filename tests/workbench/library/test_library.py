"""The library: an index that several processes share, made anew from the tapes, and listed."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from tests.support.streams import message, stream_of, tool
from tests.support.tiers import each_row
from workbench.cli.library import library_list, library_rebuild, tape_table
from workbench.errors import UserError
from workbench.library.index import Index, rebuild
from workbench.library.query import Filter, Library, parse_moment
from workbench.library.summary import Row
from workbench.tape.format import (
    Tape,
    dump_tape,
    end_line,
    finding_line,
    lost_line,
    make_header,
    read_line,
    sent_line,
    status_line,
)

CALL = "<read_file>\n<path>a.py</path>\n</read_file>"
REQUEST = {"stream": True, "messages": [], "tools": [tool("read_file", {"path": {"type": "string"}})]}
WHOLE = REQUEST | {"stream": False}
NOW = datetime(2026, 11, 16, 12, 0).timestamp()
STARTED = NOW - 100
LONG = "qwen3-coder-480b-a35b-instruct-fp8-long-name"


def put(library: Path, *rows: dict[str, Any]) -> None:
    index = Index(library)
    index.put(rows)
    index.close()


def row(number: int, **columns: Any) -> dict[str, Any]:
    return {
        "path": f"tapes/d/{number}.jsonl",
        "id": str(number),
        "started": 1000.0 + number,
        "state": "done",
    } | columns


def ids(library: Path, **wanted: Any) -> list[str]:
    with Library(library) as opened:
        return [row.id for row in opened.rows(Filter(**wanted))]


def write_tape(library: Path, name: str, tape: Tape | bytes) -> Path:
    path = library / "tapes" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(tape if isinstance(tape, bytes) else dump_tape(tape))
    return path


def chat(text: str, *lines: Any, **header: Any) -> Tape:
    """A tape of the proxy: an answer in one read, and further lines."""
    head = make_header(
        "x", "roo-xml", model="m", started=STARTED, ids="s", now=7, request=REQUEST, kind="chat", **header
    )
    status = status_line(0.1, "client", 200), status_line(0.1, "upstream", 201)
    usage = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
    return Tape(head, (*status, read_line(0.5, stream_of(text, usage=usage)), sent_line(0.6, b"x"), *lines))


# The index


def test_a_row_comes_back_as_it_was_put(tmp_path: Path):
    given = Row(
        "tapes/d/1.jsonl", "1", 5.5, "s", "p", "m", "u", "roo-xml", "chat", True, 200, "done", 0.1, 2.5,
        1, 2, 3, 4, 5, 6, {"a-code": 2}, "error", 1, 99, True, "0", "why", "what", os.getpid(),
    )  # fmt: skip
    put(tmp_path, asdict(given))
    with Library(tmp_path) as library:
        (found,) = library.rows()
    assert found.updated > time.time() - 60
    assert replace(found, updated=0.0) == given


@each_row(
    ("wanted", "found"),
    [
        ({}, ["5", "4", "3", "2", "1"]),
        ({"model": "qwen3"}, ["2"]),
        ({"model": "QWEN*"}, ["2", "1"]),
        ({"upstream": "lo?al"}, ["3"]),
        ({"dialect": "kimi-k2"}, ["4"]),
        ({"session": "s1"}, ["2", "1"]),
        ({"id": "4"}, ["4"]),
        ({"finding": "unclosed-call"}, ["3"]),
        ({"finding": "unclosed*"}, ["4", "3"]),
        ({"finding": "*"}, ["4", "3", "1"]),
        ({"finding": "nothing"}, []),
        ({"state": "error"}, ["1"]),
        ({"state": "running"}, ["4"]),
        ({"state": "cut"}, ["5"]),
        ({"since": 1003.0}, ["5", "4", "3"]),
        ({"since": 1002.0, "before": 1004.0}, ["3", "2"]),
        ({"model": "qwen*", "state": "error", "session": "s1"}, ["1"]),
    ],
)
def test_filters(tmp_path: Path, wanted: dict[str, Any], found: list[str]):
    put(
        tmp_path,
        row(1, model="Qwen2", session="s1", state="error", findings={"empty-turn": 1}),
        row(2, model="qwen3", session="s1"),
        row(3, upstream="local", findings={"empty-turn": 2, "unclosed-call": 1}),
        row(4, dialect="kimi-k2", findings={"unclosed-parameter": 1}, state="running", pid=os.getpid()),
        row(5, state="running", pid=2**22 + 1),
    )
    assert ids(tmp_path, **wanted) == found


def test_a_limit_counts_what_is_shown(tmp_path: Path):
    put(tmp_path, *(row(number, state="cut" if number % 2 else "done") for number in range(10)))
    with Library(tmp_path) as library:
        assert [row.id for row in library.rows(Filter(state="cut"), 2)] == ["9", "7"]


def test_a_viewer_learns_of_news(tmp_path: Path):
    index = Index(tmp_path)
    with Library(tmp_path) as library:
        before = library.data_version()
        assert library.data_version() == before
        index.put([row(1)])
        after = library.data_version()
        assert after != before
        index.put([row(1, calls=3)])
        assert library.data_version() != after
        (found,) = library.rows()
        assert found.calls == 3


def test_marks_survive_news(tmp_path: Path):
    index = Index(tmp_path)
    index.put([row(1)])
    index.mark("tapes/d/1.jsonl", True)
    index.put([row(1, calls=1)])
    with Library(tmp_path) as library:
        assert [(one.marked, one.calls) for one in library.rows()] == [(True, 1)]


@pytest.mark.parametrize("name", [b"a b", b"?mode=rwc#%41", "é漢".encode(), b"\xff"])
def test_a_library_may_have_any_name(tmp_path: Path, name: bytes):
    folder = tmp_path / os.fsdecode(name)
    put(folder, row(1))
    assert ids(folder) == ["1"]


def test_several_write_at_once(tmp_path: Path):
    def work(number: int) -> None:
        index = Index(tmp_path, wait=30)
        for at in range(30):
            index.put([row(number * 100 + at)])
        index.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(ids(tmp_path)) == 120


def test_the_file_is_the_owners_alone(tmp_path: Path):
    index = Index(tmp_path / "library")
    index.put([row(1)])
    files = list((tmp_path / "library").iterdir())
    assert {path.name for path in files} >= {"library.sqlite", "library.sqlite-wal"}
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    assert (tmp_path / "library").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda file: None, "there is no library in .*workbench serve.*--library"),
        (lambda file: file.write_bytes(b"no database" * 500), "damaged.*workbench library rebuild"),
        (
            lambda file: sqlite3.connect(file).executescript("PRAGMA user_version = 99"),
            "another version.*rebuild",
        ),
    ],
)
def test_a_library_that_cannot_be_opened(tmp_path: Path, make: Callable[[Path], Any], said: str):
    make(tmp_path / "library.sqlite")
    with pytest.raises(UserError, match=said):
        Library(tmp_path)
    write_tape(
        tmp_path, "2026-11-16/120000-one.jsonl", chat("Hi.", end_line(1, "done", calls=0, findings={}))
    )
    rebuild(tmp_path)
    assert ids(tmp_path) == ["one"]


def test_a_viewer_follows_when_the_index_is_replaced(tmp_path: Path):
    put(tmp_path, row(1))
    with Library(tmp_path) as library:
        before = library.data_version()
        for path in tmp_path.glob("library.sqlite*"):
            path.unlink()
        put(tmp_path, row(2))
        assert library.data_version() != before
        assert [row.id for row in library.rows()] == ["2"]


# Made anew


ENDED = end_line(2.5, "done", calls=1, findings={"unclosed-call": 2}, usage={"prompt_tokens": 1})


@pytest.mark.parametrize(
    ("tape", "columns"),
    [
        (
            chat("x", ENDED, session="s", upstream="u", stream=True),
            {"state": "done", "calls": 1, "findings": {"unclosed-call": 2}, "prompt_tokens": 1,
             "duration": 2.5, "session": "s", "upstream": "u", "stream": True, "started": STARTED,
             "model": "m", "status": 200, "chunks": 1, "ttfb": 0.5, "level": "warning", "problem": None},
        ),
        (
            chat(CALL),
            {"state": "cut", "calls": 1, "findings": {}, "total_tokens": 7, "duration": 0.6, "level": None,
             "problem": "its end line is missing, the recording was cut off"},
        ),
        (
            chat("<read_file>\n<path>a.py\n</read_file>"),
            {"state": "cut", "calls": 0, "level": "error",
             "findings": {"unclosed-parameter": 1, "leaked-markers": 1}},
        ),
        (
            chat("x", *[finding_line(1, "odd", "error", "m", "proxy")] * 2,
                 end_line(2, "error", error={"message": "why"}, findings={"upstream-broke": 1}, calls=0)),
            {"state": "error", "error": "why", "findings": {"odd": 2, "upstream-broke": 1}, "level": "error"},
        ),
        (
            chat("x", lost_line(1, 5, 50), end_line(2, "done", calls=0, lost={"lines": 5, "bytes": 50})),
            {"state": "done", "lost": 5},
        ),
        (
            Tape(make_header("x", "passthrough", kind="relay"), (read_line(1, b"{}"), end_line(2, "eof"))),
            {"state": "eof", "kind": "relay", "chunks": 1, "bytes": 2, "calls": 0},
        ),
        (
            Tape(make_header("x", "roo-xml", started="2026-08-03T09:29:10Z", request=WHOLE),
                 (read_line(1, json.dumps(message(CALL)).encode()), end_line(2, "done"))),
            {"state": "done", "calls": 1, "started": 1785749350.0},
        ),
        (
            chat("x", end_line(1, "done", path="../x", id="y", pid=1, state="x", calls=-3, status=9)),
            {"state": "done", "calls": 0, "pid": None, "status": 9},
        ),
        (chat("x", pid=os.getpid()), {"state": "running", "pid": os.getpid()}),
        (  # still running, so it does not end in the middle of a call
            chat("<read_file>\n<path>a.p", pid=os.getpid()),
            {"state": "running", "findings": {}, "level": None, "chunks": 1},
        ),
        (b"", {"state": "damaged", "problem": "this is not a tape: it is empty"}),
        (b"nonsense\n", {"state": "damaged", "calls": 0}),
        (b'{"tape": 1, "dialect": "klingon"}\n', {"state": "damaged"}),
        (b'{"tape": 1, "dialect": ["x"], "model": {"a": 1}, "started": 1e999}\n', {"state": "damaged"}),
        (b'{"tape": 1, "dialect": "roo-xml", "model": "\\ud800", "started": "soon"}\n{"t": 1, "end": [1]}\n',
         {"state": "[1]", "model": "?"}),
        (b'{"tape": 1, "dialect": "roo-xml"}\n{"t": 1e999, "read": "x"}\n{"t": NaN, "end": "done"}\n',
         {"state": "done", "ttfb": None, "duration": None}),
    ],
)  # fmt: skip
def test_a_row_is_read_from_its_tape(tmp_path: Path, tape: Tape | bytes, columns: dict[str, Any]):
    path = write_tape(tmp_path, "2026-11-16/120000-abc.jsonl", tape)
    done = rebuild(tmp_path)
    with Library(tmp_path) as library:
        (found,) = library.rows()
    assert (found.id, found.path, found.size) == (
        "abc",
        "tapes/2026-11-16/120000-abc.jsonl",
        path.stat().st_size,
    )
    assert {key: getattr(found, key) for key in columns} == columns
    assert (done.tapes, done.damaged) == (1, found.state == "damaged")


def test_a_rebuild_forgets_what_is_gone_and_finds_what_is_new(tmp_path: Path):
    put(tmp_path, row(1), row(2, state="running", pid=2**22 + 1))
    write_tape(tmp_path, "2026-11-16/120000-abc.jsonl", chat("x", ENDED))
    marked = write_tape(tmp_path, "2026-11-16/120001-my-own-copy.jsonl", chat("x", ENDED))
    Path(f"{marked}.marks.json").write_text("{}")
    write_tape(tmp_path, "2026-11-16/notes.txt", b"not a tape")
    write_tape(tmp_path, "found/odd name.jsonl", b"{}")
    seen: list[tuple[int, int]] = []
    rebuild(tmp_path, lambda done, of: seen.append((done, of)))
    with Library(tmp_path) as library:
        rows = {row.id: row for row in library.rows()}
    assert set(rows) == {"abc", "my-own-copy", "odd name"}
    assert {id for id, row in rows.items() if row.marked} == {"my-own-copy"}
    assert seen[-1] == (3, 3)


def test_a_rebuild_keeps_what_proxies_write_meanwhile(tmp_path: Path):
    write_tape(tmp_path, "d/1.jsonl", chat("x"))
    write_tape(tmp_path, "d/2.jsonl", chat("x"))
    put(tmp_path, row(1, state="running", pid=os.getpid(), calls=7))
    index = Index(tmp_path)

    def meanwhile(done: int, of: int) -> None:
        if done == of:
            index.put([row(2, calls=8), row(3, state="running", pid=os.getpid())])

    rebuild(tmp_path, meanwhile)
    with Library(tmp_path) as library:
        assert {row.id: (row.state, row.calls) for row in library.rows()} == {
            "1": ("running", 7),
            "2": ("done", 8),
            "3": ("running", 0),
        }


# Listed


@pytest.fixture
def stocked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    put(
        tmp_path,
        row(1, id="aaaaaaaaaa", started=NOW, model=LONG, dialect="qwen3-coder", status=200, ttfb=0.123,
            duration=12.5, chunks=321, calls=2, prompt_tokens=9000, completion_tokens=250, level="error",
            findings={"empty-turn": 1, "truncated-call": 1, "stray-token": 3}),
        row(2, id="bbbbbbbbbb", started=NOW + 1, model="evil\x1b[31m\nname\u202e", dialect="roo-xml",
            status=502, state="error", duration=3723.0, lost=4),
        row(3, id="cccccccccc", started=NOW + 2, model="日本語モデル", status=None, state="cancelled"),
    )  # fmt: skip
    return tmp_path


def listed(capfdbinary: pytest.CaptureFixture[bytes]) -> list[str]:
    return capfdbinary.readouterr().out.decode().splitlines()


def test_the_table(stocked: Path, capfdbinary: pytest.CaptureFixture[bytes]):
    assert library_list(str(stocked)) == 0
    heading, *lines = listed(capfdbinary)
    assert heading.split() == (
        "time model dialect status ttfb took chunks calls tokens verdict finding session path id".split()
    )
    assert [line.split()[-1] for line in lines] == ["cccccccccc", "bbbbbbbbbb", "aaaaaaaaaa"]
    assert lines[2].split() == [
        "11-16", "12:00:00", LONG, "qwen3-coder", "200", "0.12s", "12.5s", "321", "2", "9000+250",
        *"✖ the answer ends in the middle of a call".split(), "truncated-call", "+2", "–", "tapes/d/1.jsonl",
        "aaaaaaaaaa",
    ]  # fmt: skip
    assert "evil\\x1b[31m\\nname\\u202e" in lines[1]
    assert " 502 error " in lines[1]
    assert "62m03s" in lines[1]
    assert "lost lines" in lines[1]
    assert "– cancelled" in lines[0]


def test_the_chat_that_an_upstream_keeps_has_a_column_where_there_is_one():
    lines = ["".join(piece.text for piece in line) for line in tape_table([Row("p", "i", chat="c-17")], None)]
    assert "chat" in lines[0].split() and "c-17" in lines[1].split()


@pytest.mark.parametrize("width", [200, 140, 120, 100, 80, 60, 40])
def test_the_table_is_no_wider_than_the_terminal(stocked: Path, width: int):
    with Library(stocked) as library:
        lines = ["".join(piece.text for piece in line) for line in tape_table(library.rows(), width)]
    widths = {cell_len(line) for line in lines}
    assert len(widths) == 1  # one below the other, wide characters too
    assert max(widths) <= width
    assert all(id in line for id, line in zip(["id", "c" * 10, "b" * 10, "a" * 10], lines, strict=True))
    cut = "…" in "".join(lines)
    assert cut if 80 <= width <= 200 else width < 80 or not cut


def test_no_name_pushes_the_rest_off_the_terminal():
    hostile = Row("p", "i" * 10, model="m" * 500, dialect="d" * 500, state="s" * 500, findings={"f" * 500: 1})
    for line in tape_table([hostile], 80):
        assert cell_len("".join(piece.text for piece in line)) <= 80


def test_on_a_terminal_it_fits(
    stocked: Path, run_on_terminal: Callable[..., tuple[object, str]], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "")
    code, out = run_on_terminal("library", "list", "--library", str(stocked))
    assert code == 0
    assert "\x1b[31m" in out  # our own red, for an error
    plain = re.sub(r"\x1b\[(31|33|0)m", "", out)
    assert "\x1b" not in plain
    assert {cell_len(line) for line in plain.splitlines()} == {100}


def test_as_json(stocked: Path, capfdbinary: pytest.CaptureFixture[bytes]):
    assert library_list(str(stocked), as_json=True) == 0
    rows = [json.loads(line) for line in listed(capfdbinary)]
    assert [row["id"] for row in rows] == ["cccccccccc", "bbbbbbbbbb", "aaaaaaaaaa"]
    assert rows[1]["model"] == "evil\x1b[31m\nname\u202e"
    assert rows[2]["findings"] == {"empty-turn": 1, "truncated-call": 1, "stray-token": 3}
    assert rows[2]["file"] == str(stocked / "tapes/d/1.jsonl")
    assert rows[2]["path"] == "tapes/d/1.jsonl" and rows[2]["session"] is None
    said = "the answer ends in the middle of a call"
    assert rows[2]["verdict"] == {"kind": "truncated-call", "level": "error", "sentence": said}


@pytest.mark.parametrize(
    ("options", "shown", "said"),
    [
        ({"model": "qwen*"}, ["aaaaaaaaaa"], ""),
        ({"limit": 1}, ["cccccccccc"], "newest 1; --limit 0"),
        ({"limit": 0}, ["cccccccccc", "bbbbbbbbbb", "aaaaaaaaaa"], ""),
        ({"finding": "truncated*", "dialect": "qwen3-coder"}, ["aaaaaaaaaa"], ""),
        ({"state": "error"}, ["bbbbbbbbbb"], ""),
        ({"since": "2026-11-16T12:00:01"}, ["cccccccccc", "bbbbbbbbbb"], ""),
        ({"upstream": "none"}, [], "no tape fits"),
    ],
)
def test_what_is_listed(
    stocked: Path, capfdbinary: pytest.CaptureFixture[bytes], options: dict, shown: list[str], said: str
):
    assert library_list(str(stocked), **options) == 0
    out, err = capfdbinary.readouterr()
    assert [line.split()[-1] for line in out.decode().splitlines()[1:]] == shown
    assert said in err.decode()
    assert bool(said) == bool(err)


@pytest.mark.parametrize(
    ("options", "said"),
    [({"since": "soon"}, "'soon'.*2h.*today.*2026-11-01"), ({"limit": -1}, "--limit")],
)
def test_what_cannot_be_listed(stocked: Path, options: dict, said: str):
    with pytest.raises(UserError, match=said):
        library_list(str(stocked), **options)


def test_rebuilding_by_command(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="there are no tapes in"):
        library_rebuild(str(tmp_path))
    write_tape(tmp_path, "d/1.jsonl", chat("x", ENDED))
    assert library_rebuild(str(tmp_path)) == 0
    assert "1 tape in the index" in capfdbinary.readouterr().err.decode()
    write_tape(tmp_path, "d/2.jsonl", b"")
    assert library_rebuild(str(tmp_path)) == 1
    assert "2 tapes in the index" in (said := capfdbinary.readouterr().err.decode())
    assert "1 of them cannot be read" in said


@each_row(
    ("text", "moment"),
    [
        ("90s", NOW - 90),
        ("30m", NOW - 1800),
        ("1.5h", NOW - 5400),
        ("2 H", NOW - 7200),
        ("3d", NOW - 3 * 86400),
        ("1w", NOW - 7 * 86400),
        ("today", NOW - 12 * 3600),
        ("Yesterday", NOW - 36 * 3600),
        ("08:30", NOW - 3.5 * 3600),
        ("2026-11-16", NOW - 12 * 3600),
        ("2026-11-16T11:00", NOW - 3600),
        ("2026-11-16 11:00:30", NOW - 3570),
        ("2026-11-01T00:00Z", 1793491200.0),
    ],
)
def test_moments(text: str, moment: float):
    assert parse_moment(text, NOW) == moment


@each_row("text", ["", "soon", "2", "-2h", "2h ago", "25:00", "2026-13-01", "9999999h", "0000-00-00", "\x1b"])
def test_what_is_no_moment(text: str):
    with pytest.raises(UserError, match="not a moment"):
        parse_moment(text, NOW)


def test_an_index_of_the_first_version_is_brought_up_to_date(tmp_path: Path):
    put(tmp_path, row(1, model="old"))
    db = sqlite3.connect(tmp_path / "library.sqlite")
    for column in "try_id prompt chat tools asked asked_by offered variant case_name".split():
        db.execute(f"ALTER TABLE tapes DROP COLUMN {column}")
    db.execute("PRAGMA user_version = 1")
    db.commit()
    db.close()
    with Library(tmp_path) as library:
        assert [(row.model, row.try_id) for row in library.rows()] == [("old", None)]
    put(tmp_path, row(2, try_id="try-1", prompt="mine"))
    with Library(tmp_path) as library:
        assert [(row.try_id, row.prompt) for row in library.rows()] == [("try-1", "mine"), (None, None)]


def test_what_an_older_version_did_not_write_is_read_from_the_tapes(tmp_path: Path, capfdbinary):
    """The tools that an answer calls, and what was asked: a row of version 3 has neither, its tape both."""
    call = {"id": "c1", "function": {"name": "read_file", "arguments": "{}"}}
    asked = [
        {"role": "user", "content": "Look\n at it."},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "1: NOTE"},
    ]
    write_tape(tmp_path, "d/1.jsonl", chat(CALL))
    head = {"request": REQUEST | {"messages": asked}}
    tape = chat("Done.")
    write_tape(tmp_path, "d/2.jsonl", Tape({**tape.header, **head}, tape.lines))
    rebuild(tmp_path)
    db = sqlite3.connect(tmp_path / "library.sqlite")
    for column in ("tools", "asked", "asked_by", "offered", "variant", "case_name"):
        db.execute(f"ALTER TABLE tapes DROP COLUMN {column}")
    db.execute("PRAGMA user_version = 3")
    db.commit()
    db.close()
    with Library(tmp_path) as library:
        assert library.unfilled() and [row.tools for row in library.rows()] == [(), ()]
    assert library_list(str(tmp_path), as_json=True, where="tool:read* since:2000-01-01") == 0
    assert [json.loads(line)["tools"] for line in listed(capfdbinary)] == [["read_file"]]
    with Library(tmp_path) as library:
        assert not library.unfilled()
        assert {(row.tools, row.asked, row.asked_by, row.offered) for row in library.rows()} == {
            (("read_file",), None, None, 1), ((), "1: NOTE", "read_file", 1),
        }  # fmt: skip
    with pytest.raises(UserError, match="no key 'tools'"):
        library_list(str(tmp_path), where="tools:x")
