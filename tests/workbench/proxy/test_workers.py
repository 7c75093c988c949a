"""Several workers at one address, with real processes: every tape whole and its own, one proxy to viewers."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support import http
from tests.support.proxies import Proxy, running_proxy
from tests.support.streams import chunk, sse, stream_of
from tests.support.upstream.answers import Answer, Finish, Gate, Head, Send, Step, stream
from tests.support.upstream.server import ScriptedUpstream
from workbench.proxy.asking import status_of
from workbench.proxy.registration import registered
from workbench.tape.format import Tape

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="workers need fork")
STREAMS = 40


class Team:
    """A proxy with two workers, and what a viewer asks of it."""

    def __init__(self, proxy: Proxy, upstream: ScriptedUpstream) -> None:
        self.proxy, self.upstream = proxy, upstream
        (self.registration,) = registered(proxy.library)

    def status(self) -> dict[str, Any]:
        status = status_of(self.registration, 5)
        assert status is not None
        return status

    def control(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        headers = {"x-workbench-token": self.registration.token}
        answer = http.request(method, self.registration.control + path, json=body, headers=headers)
        assert answer.status_code == 200, answer.text
        value: dict[str, Any] = answer.json()
        return value

    def ask(self, *messages: str, session: str | None = None, key: str | None = None) -> str:
        """On a connection of its own, which any worker may get."""
        roles = ("user", "assistant")
        said = [{"role": roles[at % 2], "content": text} for at, text in enumerate(messages)]
        headers = {"x-session-id": session} if session else {}
        headers |= {"authorization": f"Bearer {key}"} if key else {}
        body = {"model": "m", "stream": True, "messages": said}
        with http.client() as client:
            answer = client.post(f"{self.proxy.url}/chat/completions", json=body, headers=headers)
        return answer.text


def until(condition: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it does not become true"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    with (
        ScriptedUpstream() as upstream,
        running_proxy(tmp_path_factory.mktemp("team"), upstream, "roo-xml", "--workers", "2") as proxy,
    ):
        yield Team(proxy, upstream)


def unfinished(team: Team) -> list[int]:
    """The processes of tapes that have no end."""
    return [tape.header["pid"] for tape in team.proxy.tapes() if not tape.complete]


def said(tape: Tape) -> str:
    return b"".join(tape.sent).decode()


def test_forty_streams_at_once_each_with_its_own_tape(team: Team):
    reads = {f"s{n}": [f"[{n}.{part}] " for part in range(5)] for n in range(STREAMS)}

    def answer(seen: Any) -> Any:
        texts = reads.get(str(seen.header("x-session-id")), [])
        return stream([sse(chunk(text)) for text in texts] + [stream_of("")])

    team.upstream.answer_with(answer)
    with ThreadPoolExecutor(STREAMS) as pool:
        got = dict(zip(reads, pool.map(lambda name: team.ask(name, session=name), reads), strict=True))
    tapes = {str(tape.header["session"]): tape for tape in team.proxy.tapes(STREAMS)}
    assert tapes.keys() == reads.keys()
    for name, texts in reads.items():
        assert said(tapes[name]) == got[name]
        assert re.findall(r"\[\d+\.\d+\] ", got[name]) == texts
    assert len({tape.header["pid"] for tape in tapes.values()}) == 2, "both have worked"
    assert len(team.status()["workers"]) == 2
    health = http.get(f"{team.proxy.base}/health", timeout=10).json()
    assert health["tapes"]["lost_lines"] == 0 and health["running"] == 0


def test_what_a_viewer_changes_all_of_them_know(team: Team):
    team.control("PATCH", "/upstreams/default", {"dialect": "hermes"})
    for _ in range(8):  # any of the two may answer
        assert team.status()["upstreams"][0]["dialect"] == "hermes"
    team.control("PATCH", "/upstreams/default", {"dialect": "roo-xml"})
    team.upstream.answer_with(lambda seen: stream([stream_of("Fine.")]))
    team.ask("With a key.", session="key", key="sk-of-the-client-0123456789")

    def resent_with() -> set[str | None]:
        before = len(team.upstream.requests)
        for _ in range(6):
            team.control("POST", "/resend", {"body": {"model": "m", "messages": [], "stream": True}})
        until(lambda: len(team.upstream.requests) >= before + 6)
        return {seen.header("authorization") for seen in team.upstream.requests[before:]}

    until(lambda: resent_with() == {"Bearer sk-of-the-client-0123456789"})  # one tells the others


def test_a_conversation_stays_one_whoever_gets_its_next_turn(team: Team):
    team.upstream.answer_with(lambda seen: stream([stream_of("Fine.")]))
    talk = ["Where is the bug?"]

    def turns() -> list[Tape]:
        asked = [tape for tape in team.proxy.tapes() if tape.header["request"]["messages"]]
        return [tape for tape in asked if tape.header["request"]["messages"][0]["content"] == talk[0]]

    for turn in range(6):
        assert "Fine." in team.ask(*talk)
        until(lambda: len([tape for tape in turns() if tape.complete]) == turn + 1)  # noqa: B023 - called at once
        talk += ["Fine.", f"And {turn}?"]
    assert len({tape.header["session"] for tape in turns()}) == 1


def test_what_runs_is_told_and_a_killed_worker_is_replaced(team: Team):
    head = Head(200, [("content-type", "text/event-stream")], "chunked")
    steps: list[Step] = [head, Send(sse(chunk("First."))), Gate("go"), Send(stream_of("Last.")), Finish()]
    team.upstream.answer_with(lambda seen: Answer(steps))
    team.control("PATCH", "/upstreams/default", {"dialect": "hermes"})
    got: list[str] = []

    def ask() -> None:
        try:
            got.append(team.ask("Go on.", session="cut"))
        except httpx.HTTPError as error:
            got.append(type(error).__name__)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    until(lambda: len(team.status()["running"]) == 8)
    workers = team.status()["workers"]
    until(lambda: len(unfinished(team)) == 8)
    running = unfinished(team)
    os.kill(workers[0], signal.SIGKILL)
    until(lambda: len(set(team.status()["workers"]) - {workers[0]}) == 2)
    team.upstream.open("go")
    for thread in threads:
        thread.join(20)
    cut = sum(pid == workers[0] for pid in running)
    assert sum("Last." in one for one in got) == 8 - cut, "the other worker's answers are whole"
    assert "was ended by SIGKILL" in team.proxy.log.read_text()
    for _ in range(8):  # the new one knows what was changed before it came
        assert team.status()["upstreams"][0]["dialect"] == "hermes"
    assert [one.pid for one in registered(team.proxy.library)] == [team.proxy.process.pid]


def test_stopped_as_one(tmp_path: Path):
    with (
        ScriptedUpstream() as upstream,
        running_proxy(tmp_path, upstream, "roo-xml", "--workers", "2") as proxy,
    ):
        team = Team(proxy, upstream)
        workers = team.status()["workers"]
        team.control("POST", "/stop")
        assert proxy.process.wait(20) == 0
        assert registered(proxy.library) == []
        for pid in workers:
            with pytest.raises(ProcessLookupError):
                os.kill(pid, 0)


# `workbench`, whose first process is slow after each worker that it hears has begun to serve.
SLOW_TO_HEAR = """
import os, sys, time
read = os.read
def slowly(descriptor, count):
    data = read(descriptor, count)
    if data == b".":
        time.sleep(1)
    return data
os.read = slowly
from workbench.cli.main import main
main()
"""


def test_a_worker_that_serves_while_another_is_heard_is_not_forgotten(tmp_path: Path):
    arguments = ["serve", "--port", "0", "--workers", "3", "--upstream", "http://127.0.0.1:9/v1"]
    command = [sys.executable, "-c", SLOW_TO_HEAR, *arguments, "--library", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], 20)
        process.terminate()
    assert ready, "nobody was told where it serves"
