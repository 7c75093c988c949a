"""A breakpoint on live traffic, with the real openai SDK as the client that waits."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support import http
from tests.support.bench import HASTY, TOOLS, Bench, running_bench, wait_for
from tests.support.sdks import openai
from tests.support.streams import message, stream_of
from tests.support.tapes import SAMPLES, as_message, sample
from tests.support.tiers import some
from tests.support.upstream.answers import Answer, Close, Finish, Gate, Head, Send, stream, whole
from workbench.breakpoints import parse
from workbench.proxy.intercept import Watch
from workbench.proxy.registration import registered
from workbench.replay.hits import next_hit
from workbench.replay.player import Player
from workbench.replay.timeline import Timeline
from workbench.tape.format import Tape
from workbench.tape.recipe import Wishes, make_recipe

CALL = "Look:\n<read_file>\n<path>secret.txt</path>\n</read_file>"
READS = [
    stream_of("Look:", finish=None, done=False),
    stream_of("\n<read_file>\n<path>secret", finish=None, done=False),
    stream_of(".txt</path>\n</read_file>"),
]
OTHER = "\n<read_file>\n<path>README.md</path>\n</read_file>"


def gated(*gates: str) -> Answer:
    """The three reads, the second and the third of which wait."""
    waits = [step for gate, read in zip(gates, READS[1:], strict=True) for step in (Gate(gate), Send(read))]
    return Answer([Head(200, [("content-type", "text/event-stream")]), Send(READS[0]), *waits, Finish()])


class Person:
    """The person at the screen: sets breakpoints, sees what is held, decides."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.registration = registered(bench.proxy.library)[0]
        self.pool = ThreadPoolExecutor(4)

    def ask(self, method: str, path: str, body: Any = None, status: int = 200) -> Any:
        headers = {"x-workbench-token": self.registration.token}
        url = self.registration.control + path
        answer = http.request(method, url, json=body, headers=headers)
        assert answer.status_code == status, answer.text
        return answer.json()

    def stop_at(self, *lines: str, **more: Any) -> None:
        self.ask("PUT", "/breakpoints", {"breakpoints": list(lines), **more})

    def held(self, count: int = 1, arriving: bool | None = None) -> list[dict[str, Any]]:
        def there() -> tuple[list[dict[str, Any]]] | None:
            found = self.ask("GET", "/held")["held"]
            fits = arriving is None or all(one["arriving"] is arriving for one in found)
            return (found,) if len(found) == count and fits else None

        (found,) = wait_for(there, f"{count} answers are held")
        return list(found)

    def do(self, id: str, what: str, status: int = 200, **more: Any) -> Any:
        return self.ask("POST", f"/held/{id}", {"do": what, **more}, status)

    def start(self, work: Callable[[openai.OpenAI], Any], *answers: Answer) -> Future[Any]:
        """The client begins to ask, in a thread of its own."""
        self.bench.upstream.answer(*answers)
        http_client = openai.DefaultHttpxClient(verify=http.NO_CERTIFICATES)
        client = openai.OpenAI(
            base_url=self.bench.proxy.url, api_key="sk-x", timeout=20, http_client=http_client
        )
        return self.pool.submit(work, client)

    def tape(self, id: str, complete: bool = True) -> Tape:
        def found() -> Tape | None:
            tapes = self.bench.proxy.tapes()
            return next((t for t in tapes if t.header["id"] == id and (t.complete or not complete)), None)

        tape: Tape = wait_for(found, "its tape")
        return tape


@pytest.fixture(scope="module")
def module_bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with running_bench(tmp_path_factory.mktemp("intercept"), toml=HASTY) as bench:
        yield bench


@pytest.fixture
def person(module_bench: Bench) -> Iterator[Person]:
    person = Person(module_bench)
    yield person
    person.ask("DELETE", "/breakpoints")
    person.pool.shutdown()


class Streamed:
    """`create(stream=True)` as most people's code uses it; what came so far can be seen meanwhile."""

    def __init__(self) -> None:
        self.content = ""
        self.calls: dict[int, list[str]] = {}

    def __call__(self, client: openai.OpenAI) -> tuple[str, list[tuple[str, Any]]]:
        asked = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "tools": TOOLS}
        for chunk in client.chat.completions.create(**asked, stream=True):  # type: ignore[call-overload]
            for choice in chunk.choices:
                self.content += choice.delta.content or ""
                for call in choice.delta.tool_calls or []:
                    one = self.calls.setdefault(call.index, [call.function.name or "", ""])
                    one[1] += call.function.arguments or ""
        return self.content, [(name, json.loads(text)) for name, text in self.calls.values()]


def created(client: openai.OpenAI) -> tuple[str, list[tuple[str, Any]]]:
    asked = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "tools": TOOLS}
    said = client.chat.completions.create(**asked).choices[0].message  # type: ignore[call-overload]
    calls = [(one.function.name, json.loads(one.function.arguments)) for one in said.tool_calls or ()]
    return said.content or "", calls


def replayed(tape: Tape) -> Player:
    player = Player(tape.header)
    player.add(tape.lines)
    assert player.difference is None and player.problem is None
    return player


def called(player: Player) -> list[tuple[str, Any]]:
    calls = player.completion["choices"][0]["message"].get("tool_calls") or []  # type: ignore[index]
    return [(one["function"]["name"], json.loads(one["function"]["arguments"])) for one in calls]


def test_a_stream_is_held_read_edited_and_let_go(person: Person):
    person.stop_at("tool:read*")
    client = Streamed()
    done = person.start(client, gated("first", "rest"))
    wait_for(lambda: client.content == "Look:" or None, "what comes before the hold")
    person.bench.upstream.open("first")
    (held,) = person.held()
    assert held["breakpoint"] == "tool:read*" and held["message"] == "a call of read_file"
    assert held["arriving"] and 0 < held["left"] <= 300 and held["keep"] == 1
    assert "can be edited when all of it is here" in str(
        person.do(held["id"], "edit", 409, keep=1, reads=[OTHER])
    )
    person.bench.upstream.open("rest")
    (held,) = person.held(arriving=False)
    # The running tape has all that upstream sent, and that it is held.
    running = lambda: person.tape(held["id"], complete=False)  # noqa: E731
    wait_for(lambda: len(running().reads) == 3, "what came is on the running tape")
    assert [line.value["hold"] for line in running().of("hold")] == ["tool:read*"]
    # A comment keeps the client waiting; nothing of the call has reached it.
    # A slow upstream may have been waited for before that, with another comment.
    wait_for(lambda: b": held\n\n" in [one.data for one in running().of("sent")], "a heartbeat of the hold")
    assert not client.calls and not done.done()
    assert "has the beginning" in str(
        person.do(held["id"], "edit", 409, keep=0, reads=[stream_of("No").decode()])
    )
    person.do(held["id"], "edit", keep=1, reads=[stream_of(OTHER).decode()])
    assert done.result(10) == ("Look:", [("read_file", {"path": "README.md"})])
    person.do(held["id"], "release", 409)
    tape = person.tape(held["id"])
    (release,) = tape.of("release")
    assert (
        release.value["release"] == "edited" and release.value["keep"] == 1 and release.value["seconds"] > 0
    )
    assert tape.reads == READS, "what upstream sent is on the tape as it came"
    assert called(replayed(tape)) == [("read_file", {"path": "README.md"})]
    assert tape.end is not None and tape.end.value["findings"]["answer-edited"] == 1


def test_a_whole_answer_is_held_edited_and_let_go(person: Person):
    person.stop_at("client:secret")
    done = person.start(created, whole(message(CALL)))
    (held,) = person.held()
    assert not held["arriving"] and not done.done()
    assert "is not a" in str(person.do(held["id"], "edit", 409, keep=0, reads=["not JSON"]))
    person.do(held["id"], "edit", keep=0, reads=[json.dumps(message(OTHER))])
    assert done.result(10) == ("", [("read_file", {"path": "README.md"})])
    tape = person.tape(held["id"])
    assert tape.of("release")[0].value["release"] == "edited"
    assert called(replayed(tape)) == [("read_file", {"path": "README.md"})]
    assert b"secret.txt" in tape.reads[0]


def test_let_go_while_upstream_still_sends(person: Person):
    person.stop_at("upstream:ook")
    client = Streamed()
    person.bench.upstream.open("at once")
    done = person.start(client, gated("at once", "more"))
    (held,) = person.held()
    assert held["keep"] == 0 and not client.content
    person.do(held["id"], "release")
    wait_for(lambda: client.content == "Look:" or None, "what was held")
    person.bench.upstream.open("more")
    assert done.result(10) == ("Look:", [("read_file", {"path": "secret.txt"})])
    tape = person.tape(held["id"])
    assert tape.of("release")[0].value["release"] == "unchanged"
    replayed(tape)


@pytest.mark.parametrize("arriving", [True, False])
def test_a_dropped_stream_ends_with_an_error(person: Person, arriving: bool):
    person.stop_at("tool:*")
    client = Streamed()
    asked = len(person.bench.upstream.requests)
    gates = (f"call {arriving}", f"end {arriving}")
    done = person.start(client, gated(*gates))
    wait_for(lambda: client.content == "Look:" or None, "what comes before the hold")
    for gate in gates[: 1 if arriving else 2]:
        person.bench.upstream.open(gate)
    (held,) = person.held(arriving=arriving)
    person.do(held["id"], "drop")
    with pytest.raises(openai.APIError, match="dropped by a person"):
        done.result(10)
    assert client.content == "Look:" and not client.calls
    assert len(person.bench.upstream.requests) == asked + 1
    tape = person.tape(held["id"])
    player = replayed(tape)
    assert called(player) == [] and tape.of("release")[0].value["release"] == "dropped"
    assert tape.end is not None and tape.end.value["findings"].keys() == {"answer-held", "answer-dropped"}


def test_a_dropped_whole_answer_is_an_error_that_is_not_asked_for_again(person: Person):
    person.stop_at("tool:*")
    asked = len(person.bench.upstream.requests)
    done = person.start(created, whole(message(CALL)))
    (held,) = person.held()
    person.do(held["id"], "drop")
    with pytest.raises(openai.UnprocessableEntityError):
        done.result(10)
    assert len(person.bench.upstream.requests) == asked + 1
    assert replayed(person.tape(held["id"])).completion is None


def test_the_limit_lets_go_unchanged_and_two_at_once_are_two_decisions(person: Person):
    person.stop_at("tool:*")
    first = person.start(created, whole(message(CALL)))
    (one,) = person.held()
    person.stop_at("tool:*", limit=0.4)
    second = person.start(Streamed(), stream(READS))
    both = person.held(2)
    other = next(each for each in both if each["id"] != one["id"])
    assert other["left"] <= 0.4 < one["left"]
    assert second.result(10)[1] == [("read_file", {"path": "secret.txt"})]
    assert person.tape(other["id"]).of("release")[0].value["release"] == "limit"
    assert not first.done() and [each["id"] for each in person.held()] == [one["id"]]
    person.ask("DELETE", "/breakpoints")  # what a screen does when it closes
    assert first.result(10)[1] == [("read_file", {"path": "secret.txt"})]
    assert person.ask("GET", "/breakpoints") == {"breakpoints": [], "limit": 300.0}


def test_a_client_that_leaves_while_its_answer_is_held(person: Person):
    person.stop_at("tool:*")
    with person.bench.asking(stream(READS)) as response:
        (held,) = person.held(arriving=False)
        response.close()
        person.held(0)
    tape = person.tape(held["id"])
    assert tape.of("release")[0].value["release"] == "left"
    assert tape.end is not None and tape.end.value["end"] == "cancelled"


def test_upstream_breaks_while_its_answer_is_held(person: Person):
    """What came can still be made a whole answer by hand."""
    person.stop_at("tool:*")
    done = person.start(Streamed(), stream([b"".join(READS[:2])], end=Close(), framing=5000))
    (held,) = person.held(arriving=False)
    person.do(held["id"], "edit", keep=0, reads=[stream_of(OTHER).decode()])
    assert done.result(10)[1] == [("read_file", {"path": "README.md"})]
    replayed(person.tape(held["id"]))


def test_what_cannot_be_done_is_said(person: Person):
    assert "state:VALUE" in str(person.ask("PUT", "/breakpoints", {"breakpoints": ["nonsense"]}, 409))
    assert "list of texts" in str(person.ask("PUT", "/breakpoints", {"breakpoints": "tool:x"}, 400))
    assert "seconds" in str(person.ask("PUT", "/breakpoints", {"breakpoints": [], "limit": -1}, 400))
    assert "not held" in str(person.do("nobody", "release", 409))
    assert "do is" in str(person.do("nobody", "burn", 400))


def test_breakpoints_of_the_command_line_stay_when_a_screen_goes(tmp_path: Path):
    with running_bench(tmp_path, toml=HASTY, flags=("--break", "tool:read*")) as bench:
        person = Person(bench)
        person.stop_at("tool:other")
        assert person.ask("DELETE", "/breakpoints")["breakpoints"] == ["tool:read*"]
        done = person.start(created, whole(message(CALL)))
        (held,) = person.held()
        person.do(held["id"], "release")
        assert done.result(10)[1] == [("read_file", {"path": "secret.txt"})]


def test_whichever_worker_is_asked_the_one_that_holds_it_decides(tmp_path: Path):
    flags = ("--break", "tool:read*", "--workers", "2")
    with running_bench(tmp_path, toml=HASTY, flags=flags) as bench:
        person = Person(bench)
        clients = [person.start(created, whole(message(CALL))) for _ in range(3)]
        held = person.held(3)
        for _ in range(6):  # each is a new connection, and so to any of the workers
            assert "is not a" in str(person.do(held[0]["id"], "edit", 409, keep=0, reads=["not JSON"]))
        person.do(held[0]["id"], "edit", keep=0, reads=[json.dumps(message(OTHER))])
        person.do(held[1]["id"], "release")
        person.ask("DELETE", "/breakpoints")  # lets the third one go, wherever it is held
        paths = sorted(client.result(10)[1][0][1]["path"] for client in clients)
        assert paths == ["README.md", "secret.txt", "secret.txt"]


# the watch of a live answer sees what the replay of its tape sees, with the same read


LINES = [
    "state:VALUE", "state:*closed", "rule:begin*", "finding:*call*", "finding:check-*", "upstream:</",
    "machine:value → closed", "machine:src/", "client:file", "client:^call", "text:read_file", "held>0",
    "held>40ch", "tool:*", "tool:re*",
]  # fmt: skip


def in_replay(player: Player, line: str) -> int | None:
    """The read with which a breakpoint is first hit; -1: before any; None: never."""
    hit = next_hit(Timeline(player), [parse(line)], -1)
    return None if hit is None else player.last_read(hit.step)


def live(player: Player, line: str) -> int | None:
    watch = Watch([parse(line)], make_recipe(player.header, Wishes()))
    for number in range(player.reads):
        if watch.feed(player.read(number), player.times[number]) is not None:
            return number
    return player.reads - 1 if watch.finish(player.now) is not None else None


NATIVE = "passthrough/native-calls"  # whose calls only the checks of conformance read


@pytest.mark.parametrize("line", LINES)
def test_a_stream_is_held_at_the_read_at_which_the_replay_stops(line: str):
    found = 0
    for name in (NATIVE, *some(SAMPLES, 20)):
        player = sample(name)
        broke = player.end is None or player.end.value.get("end") not in ("done", "eof")
        lines = any("finding" in one.value for one in player.lines)
        if player.mode != "stream" or broke or (lines and line.startswith("finding")):
            continue  # what the proxy itself told is on the tape, and no part of the answer
        expected, seen = in_replay(player, line), live(player, line)
        if line.startswith(("text", "client", "upstream")) and expected is not None:
            # Rows of the tape itself (a status, the end) are searched there as well.
            expected = min(expected, expected if seen is None else seen)
        assert seen == expected, name
        found += expected is not None
    assert found or line in ("finding:check-*", "state:*closed")


@pytest.mark.parametrize("line", ["tool:*", "rule:begin*", "held>1000000"])
def test_an_answer_in_one_piece(line: str):
    for name in some(SAMPLES, 10):
        player = as_message(name)
        watch = Watch([parse(line)], make_recipe(player.header, Wishes()))
        hit = watch.whole(bytes(player.data), 0.0)
        assert (hit is not None) == (in_replay(player, line) is not None), name


def test_bytes_that_nobody_understands_hold_nobody_up():
    watch = Watch([parse("tool:*"), parse("text:(a+)+b$")], make_recipe({"dialect": "roo-xml"}, Wishes()))
    assert watch.feed(b"data: {\xff\xfe\n\n" + b"a" * 5000, 0.0) is None
    assert watch.finish(0.1) is None
    assert Watch([parse("tool:*")], make_recipe({"dialect": "roo-xml"}, Wishes())).whole(b"", 0.0) is None
