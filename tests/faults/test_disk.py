"""A disk that is full, a library that vanishes, files that are not what they seem: the real proxy on them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.bench import CALL, HEAD, QUICK, Bench, running_bench, wait_for
from tests.support.streams import chunk, message, sse, stream_of
from tests.support.upstream.answers import Answer, Finish, Gate, Send, whole


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
        assert "free some space" in told["problem"] and told["writable"] is False
        ballast.unlink()
        wait_for(lambda: tapes_health(bench)["writable"], "room")
        ask(bench)
        assert bench.tape().complete


def test_a_full_disk_heals_when_the_tape_that_is_being_written_is_deleted(small_disk: Path):
    """A deleted file keeps its room for as long as the proxy has it open."""
    text = [Send(sse(chunk("x" * 1000), done=False))] * 200
    rest = [Gate("full"), *text, Gate("deleted"), Send(stream_of(CALL)), Finish()]
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
