"""A disk that is full, a library that vanishes, files that are not what they seem: the real proxy on them."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.bench import CALL, HEAD, QUICK, Bench, running_bench, wait_for
from tests.support.streams import chunk, message, sse, stream_of
from tests.support.tiers import each_row
from tests.support.upstream.answers import Answer, Finish, Gate, Send, Step, whole
from tests.support.upstream.server import ScriptedUpstream
from workbench.analysis.filters import fits_exchange, parse
from workbench.cli.sessions import sessions_list
from workbench.errors import UserError
from workbench.lab.store import open_try
from workbench.library.index import rebuild
from workbench.library.query import Library, tape_of
from workbench.library.retention import Keep, expire
from workbench.library.summary import Row
from workbench.library.tapefiles import list_tapes
from workbench.library.turns import Chats, Turn
from workbench.proxy.asking import Resend, resend
from workbench.proxy.registration import Registration, register, registered
from workbench.replay.lines import Tail
from workbench.replay.marks import Marks
from workbench.tape.format import dump_line, end_line, make_header

STRANGE = "rows that no workbench writes"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own, of two megabytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("only root can mount a small disk")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def tapes_health(bench: Bench) -> dict[str, Any]:
    bench.upstream.answer(whole({}))  # the health check asks upstream as well
    return dict(bench.client.get("/health").json()["tapes"])


def fill(disk: Path) -> Path:
    """A file that leaves no room for anything else."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        size = 1 << 16
        while size:
            try:
                size = size if file.write(bytes(size)) == size else size // 2
            except OSError:
                size //= 2
    return ballast


def rows(bench: Bench) -> list[Row]:
    with suppress(UserError), Library(bench.proxy.library) as library:  # there may be none yet
        return library.rows()
    return []


def ask(bench: Bench) -> None:
    assert bench.ask(whole(message(CALL)), stream=False).status_code == 200


def test_a_full_disk_heals_when_there_is_room_again(small_disk: Path):
    with running_bench(small_disk) as bench:
        ask(bench)
        bench.tape()
        ballast = fill(small_disk)
        ask(bench)
        told = wait_for(
            lambda: (now := tapes_health(bench))["problem"] and now["lost_lines"] and now, "a loss"
        )
        assert told["writable"] is False
        ballast.unlink()
        wait_for(lambda: tapes_health(bench)["writable"], "room")
        ask(bench)
        assert bench.tape().complete


def test_a_full_disk_heals_when_the_tape_that_is_being_written_is_deleted(small_disk: Path):
    """A deleted file keeps its room for as long as the proxy has it open."""
    text = [Send(sse(chunk("x" * 1000), done=False))] * 200
    rest: list[Step] = [Gate("full"), *text, Gate("deleted"), Send(stream_of(CALL)), Finish()]
    with running_bench(small_disk, toml=QUICK.replace("idle_timeout = 3", "idle_timeout = 30")) as bench:
        with bench.asking(Answer([HEAD, *text, *rest])) as response:
            reads = response.iter_raw()
            (tape,) = wait_for(lambda: list(bench.proxy.library.glob("tapes/*/*.jsonl")), "a tape")
            wait_for(lambda: tape.read_bytes().count(b"x") > 390_000, "both directions on the tape")
            fill(small_disk)
            bench.upstream.open("full")
            wait_for(lambda: tapes_health(bench)["problem"], "a full disk")
            tape.unlink()
            wait_for(lambda: tapes_health(bench)["writable"], "room")
            bench.upstream.open("deleted")
            assert b"tool_calls" in b"".join(reads)
        found = bench.tape()
        assert found.complete and found.end is not None and found.end.value["calls"] == 1
        assert list(found.of("lost")) and found.end.value["lost"]["lines"] > 0
        assert tapes_health(bench)["lost_lines"] == found.end.value["lost"]["lines"]


# A library from elsewhere


@pytest.fixture
def strange_library(tmp_path: Path) -> Path:
    """Links that lead out of it, pipes and folders where tapes should be, and one real tape."""
    outside = tmp_path / "outside" / "2020-01-01"
    outside.mkdir(parents=True)
    (outside / "000000-precious.jsonl").write_bytes(TAPE)
    library = tmp_path / "library"
    day = library / "tapes" / "2020-01-02"
    day.mkdir(parents=True)
    (day / "000000-real.jsonl").write_bytes(TAPE)
    (day / "000001-link.jsonl").symlink_to(outside / "000000-precious.jsonl")
    (day / "000002-folder.jsonl").mkdir()
    os.mkfifo(day / "000003-pipe.jsonl")
    (library / "tapes" / "2020-01-03").symlink_to(outside, target_is_directory=True)
    os.mkfifo(library / "tapes" / "2020-01-04")
    (library / "tapes" / "2020-01-05").symlink_to("/dev")
    for folder in (outside, day):
        for file in folder.glob("*.jsonl"):
            os.utime(file, (1, 1), follow_symlinks=False)
    return library


TAPE = dump_line(make_header("x", "roo-xml", started=1.0)) + dump_line(end_line(1, "done"))


def test_rebuild_and_retention_stay_inside_the_library(strange_library: Path, tmp_path: Path):
    assert [entry.path for entry in list_tapes(strange_library)] == ["tapes/2020-01-02/000000-real.jsonl"]
    assert rebuild(strange_library).tapes == 1
    gone = list(expire(strange_library, Keep(days=1, bytes=0)))
    assert gone == ["tapes/2020-01-02/000000-real.jsonl"]
    assert (tmp_path / "outside" / "2020-01-01" / "000000-precious.jsonl").exists()


@each_row(
    "change",
    [
        "path = '/etc/passwd'", "path = '../x.jsonl'", "path = 'tapes/../x.jsonl'", "path = 'tapes/a/b.txt'",
        "path = 'tapes/./x.jsonl'", "path = 'tapes/a/../../x.jsonl'",
        "path = 'tapes/a/' || char(0) || '.jsonl'", "path = x'2f'",
        "started = 'soon'", "started = 9e999", "findings = '['", "findings = '[1]'",
        "findings = '{\"a\": \"b\"}'", "tools = '{}'", "model = x'00'", "calls = 'many'", "pid = 'me'",
    ],
)  # fmt: skip
def test_an_index_that_leads_elsewhere_is_not_read(strange_library: Path, change: str):
    rebuild(strange_library)
    with closing(sqlite3.connect(strange_library / "library.sqlite")) as index:
        index.execute(f"UPDATE tapes SET {change}")
        index.commit()
    with pytest.raises(UserError, match=STRANGE):
        Library(strange_library)
    assert rebuild(strange_library).tapes == 1
    with Library(strange_library) as library:
        assert [row.path for row in library.rows()] == ["tapes/2020-01-02/000000-real.jsonl"]


@pytest.mark.parametrize(
    "name", ["000001-link", "000002-folder", "000003-pipe", "../2020-01-03/000000-precious"]
)
def test_an_index_that_names_a_link_or_a_pipe_opens_none(strange_library: Path, name: str):
    rebuild(strange_library)
    path = os.path.normpath(f"tapes/2020-01-02/{name}.jsonl")
    with closing(sqlite3.connect(strange_library / "library.sqlite")) as index:
        index.execute("UPDATE tapes SET path = ?, id = 'x'", (path,))
        index.commit()
    tail = Tail(strange_library / path)
    assert tail.advance(1) and tail.player is None and tail.problem
    with pytest.raises(UserError, match="is not a file"):
        tape_of(strange_library, "x")
    with Library(strange_library) as library:
        (row,) = library.rows()
    assert not fits_exchange(parse("text:x"), row, strange_library)


@pytest.mark.parametrize("change", ["answered = 'soon'", "answered = 9e999", "model = x'00'", "turn = 'one'"])
def test_chats_of_a_stranger_are_told_to_be_such(tmp_path: Path, change: str):
    with closing(Chats(tmp_path)) as chats:
        chats.remember(Turn(0, "d", "u", "m", "c", "p", 1, "x", None, None, None, 1.0))
        assert not chats.strange()
    with closing(sqlite3.connect(tmp_path / "chats.sqlite")) as file:
        file.execute(f"UPDATE turns SET {change}")
        file.commit()
    with pytest.raises(UserError, match=STRANGE):
        sessions_list(str(tmp_path), as_json=True)


def _pipe(file: Path) -> None:
    os.mkfifo(file)


STRANGE_FILES: list[Callable[[Path], object]] = [
    _pipe,
    lambda file: file.symlink_to("/dev/zero"),
    lambda file: file.write_text("[" * 100_000),
    lambda file: file.write_text('{"times": ' + "9" * 6_000 + "}"),
    lambda file: file.write_text('{"cases": 1, "variants": [null]}'),
]


@pytest.mark.parametrize("make", STRANGE_FILES)
def test_a_try_of_a_stranger_is_refused_with_a_sentence(tmp_path: Path, make: Callable[[Path], object]):
    folder = tmp_path / "tries" / "try-x"
    folder.mkdir(parents=True)
    make(folder / "plan.json")
    with pytest.raises(UserError):
        open_try(tmp_path, "last")


def test_an_index_that_is_a_pipe_is_not_waited_for(tmp_path: Path):
    _pipe(tmp_path / "library.sqlite")
    with pytest.raises(UserError, match="is not a file"):
        Library(tmp_path)


def test_a_running_proxy_is_not_held_up_by_a_pipe(tmp_path: Path):
    day = tmp_path / "proxy" / "library" / "tapes" / "2020-01-02"
    day.mkdir(parents=True)
    os.mkfifo(day / "000003-pipe.jsonl")
    (day.parents[1] / "proxies").mkdir()
    os.mkfifo(day.parents[1] / "proxies" / "1.json")
    with running_bench(tmp_path) as bench:
        ask(bench)
        wait_for(lambda: [row.state for row in rows(bench)] == ["done"], "the tape in the index")
        assert tapes_health(bench)["index_problem"] is None


def test_marks_that_are_a_pipe_do_not_stop_anybody(tmp_path: Path):
    tape = tmp_path / "a.jsonl"
    tape.write_bytes(TAPE)
    os.mkfifo(tmp_path / "a.jsonl.marks.json")
    assert "is not a file" in str(Marks(tape).problem)


def test_a_library_of_tapes_that_are_elsewhere_is_not_written_to(tmp_path: Path):
    library = tmp_path / "proxy" / "library"
    library.mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (library / "tapes").symlink_to(tmp_path / "outside", target_is_directory=True)
    with running_bench(tmp_path) as bench:
        assert "is a link" in tapes_health(bench)["problem"]


@each_row(
    "change",
    [
        {"url": "http://192.0.2.1:80/v1", "control": "http://192.0.2.1:80/_workbench"},
        {"control": "http://example.invalid/_workbench"},
        {"control": "https://127.0.0.1:1/_workbench"},
        {"control": "http://[::ffff:192.0.2.1]/_workbench"},
        {"control": "http://0.0.0.0:1/_workbench"},
        {"control": "//"}, {"control": ""}, {"control": None}, {"control": "http://[", "url": 7},
        {"pid": "1"}, {"pid": -1}, {"pid": 10**30}, {"pid": None}, {"started": "soon"},
    ],
)  # fmt: skip
def test_a_registration_that_leads_elsewhere_is_not_one(tmp_path: Path, change: dict[str, Any]):
    base = "http://127.0.0.1:1"
    good = Registration(os.getpid(), f"{base}/v1", f"{base}/_workbench", "t", 1.0)
    assert register(tmp_path, good) is not None and registered(tmp_path) == [good]
    path = tmp_path / "proxies" / f"{os.getpid()}.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    assert registered(tmp_path) == []


def test_a_request_is_not_sent_to_a_stranger_on_this_machine(tmp_path: Path):
    """It says another process id than the registration, or none at all: it gets no request to send."""
    with ScriptedUpstream() as stranger:
        stranger.answer_with(lambda seen: whole({"pid": 1}))
        register(tmp_path, Registration(os.getpid(), stranger.url, stranger.base, "t", 1.0))
        with pytest.raises(UserError):
            asyncio.run(resend(tmp_path, Resend({"messages": ["secret"]})))
        assert [seen.method for seen in stranger.requests] == ["GET"]
        assert not any(b"secret" in seen.body for seen in stranger.requests)
