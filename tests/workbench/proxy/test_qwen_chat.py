"""A qwen-chat upstream: conversations of clients that repeat everything, as chats that upstream keeps."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.seeds import test_seed_001 as seed_001
from tests.support import http
from tests.support.bench import QUICK, by_transformer, replayed, wait_for
from tests.support.client import chunks_of, result
from tests.support.proxies import Proxy, running_proxy
from tests.support.qwenchat import Misbehaviour, QwenChatServer, delta, event, playing
from tests.support.streams import tool
from tests.support.upstream.answers import Answer, Reset, failure, stream
from tests.support.upstream.server import ScriptedUpstream
from workbench.tape.format import Tape

READ = tool("read", {"filePath": {"type": "string"}}, required=["filePath"])
COOKIE = "token=very-secret-cookie"
TOML = """
[upstreams.qwen]
url = "{url}"
kind = "qwen-chat"
cookie_env = "QWEN_COOKIE"
headers = {{ bx-umidtoken = "${{QWEN_TOKEN}}" }}
models = {{ fast = "qwen3-max" }}
retries = 2
{more}
"""
CALL = "I'll read the package.json file.\n\n<read>\n<filePath>/home/user/package.json</filePath>\n</read>"
Message = dict[str, Any]


def model(text: str) -> str:
    if "package.json" in text and "Tool Result" not in text:
        return CALL
    if "Tool Result from read:" in text:
        return "The package.json file contains 2 dependencies."
    return f"You said: {text.splitlines()[-1]}"


@dataclass
class Qwen:
    server: QwenChatServer
    proxy: Proxy
    client: httpx.Client
    since: float = 0  # when this test began

    def tapes(self, count: int) -> list[Tape]:
        def found() -> list[Tape] | None:
            tapes = [t for t in self.proxy.tapes() if t.complete and t.header["started"] >= self.since]
            return tapes if len(tapes) >= count else None

        tapes: list[Tape] = wait_for(found, f"{count} tapes")
        return tapes

    def ask(self, *messages: Message, expect: int = 200, **more: Any) -> Message:
        """The assistant's message, from a stream or whole; the whole body where that is an error."""
        body = {"model": "qwen3-max", "stream": True, "messages": list(messages), **more}
        got = self.client.post("/v1/chat/completions", json=body)
        assert got.status_code == expect, got.text
        if expect != 200:
            return dict(got.json())
        if not body["stream"]:
            return dict(got.json()["choices"][0]["message"])
        found = result(got.content)
        calls = [
            {"id": f"call_{at}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for at, (name, arguments) in enumerate(found.calls)
        ]
        message: Message = {"role": "assistant", "content": found.content}
        return message | ({"tool_calls": calls} if calls else {})


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Qwen]:
    with start(tmp_path_factory.mktemp("qwen")) as (qwen, _):
        yield qwen


@pytest.fixture
def qwen(shared: Qwen) -> Iterator[Qwen]:
    """The one proxy of this module, with a server that has seen nothing yet."""
    shared.server.turns.clear()
    shared.since = time.time()
    yield shared
    shared.server.check()


class start:
    """A server with a proxy before it; the proxy can be started anew with the same library."""

    def __init__(self, folder: Path, more: str = "", **server: Any) -> None:
        self.folder, self.more, self.options = folder, more, server

    def __enter__(self) -> tuple[Qwen, start]:
        self.upstream = ScriptedUpstream().__enter__()
        self.server = QwenChatServer(self.upstream, model, **self.options)
        self.open()
        return self.qwen, self

    def open(self) -> Qwen:
        toml = QUICK + TOML.format(url=self.upstream.base, more=self.more)
        secrets = {"QWEN_COOKIE": COOKIE, "QWEN_TOKEN": "very-secret-token"}
        self.running = running_proxy(self.folder, None, toml=toml, env=secrets)
        proxy = self.running.__enter__()
        client = http.client(proxy.base)
        self.qwen = Qwen(self.server, proxy, client)
        return self.qwen

    def close(self, *why: Any) -> None:
        self.qwen.client.close()
        self.running.__exit__(*(why or (None, None, None)))

    def __exit__(self, *why: Any) -> None:
        self.close(*why)
        self.upstream.__exit__(*why)


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def gives(call: Message, text: str) -> Message:
    return {"role": "tool", "tool_call_id": call["tool_calls"][0]["id"], "content": text}


def saying(text: str) -> Misbehaviour:
    """An answer that this server's model would not give."""
    return lambda server, turn: stream([event(one) for one in server.events(turn, text)])


def test_seed_000_cycle_1(qwen: Qwen) -> None:
    question = user("What's in the package.json file?")
    call = qwen.ask(question, tools=[READ])
    assert call["content"] == "I'll read the package.json file."
    assert call["tool_calls"][0]["function"] == {
        "name": "read", "arguments": '{"filePath":"/home/user/package.json"}'
    }  # fmt: skip
    found = '{"dependencies":{"express":"^4.18.0","axios":"^1.4.0"}}'
    answer = qwen.ask(question, call, gives(call, found))
    assert answer["content"] == "The package.json file contains 2 dependencies."
    first, second = qwen.server.turns
    assert first.system is not None and "## read" in first.system and first.text == question["content"]
    assert second.body["messages"][0]["content"] == f"Tool Result from read:\n{found}"
    assert (second.chat, second.parent, second.system) == (first.chat, first.node, None)


BASH = tool("bash", {"command": {"type": "string"}, "description": {"type": "string"}}, required=["command"])
LODASH = """I'll install lodash using npm.

<bash>
<command>npm install lodash</command>
<description>Install lodash utility library</description>
</bash>"""


def test_seed_000_cycle_2(qwen: Qwen) -> None:
    question, done = user("Install the lodash package"), "Successfully installed lodash version 4.17.21."
    qwen.server.next = [saying(LODASH), saying(done)]
    call = qwen.ask(question, tools=[BASH])
    assert call["content"] == "I'll install lodash using npm."
    arguments = '{"command":"npm install lodash","description":"Install lodash utility library"}'
    assert [one["function"] for one in call["tool_calls"]] == [{"name": "bash", "arguments": arguments}]
    assert qwen.ask(question, call, gives(call, "added 1 package in 2.3s"), tools=[BASH])["content"] == done
    first, second = qwen.server.turns
    assert first.system is not None and "## bash" in first.system and first.text == question["content"]
    assert second.text == "Tool Result from bash:\nadded 1 package in 2.3s"
    assert (second.chat, second.parent, second.system) == (first.chat, first.node, None)


def test_seed_001_the_stream_as_printed(qwen: Qwen) -> None:
    """Also its ids and its [DONE], which this upstream does not always send."""
    qwen.server.next = [lambda server, turn: stream([f"data: {one}\n\n".encode() for one in seed_001.EVENTS])]
    got = qwen.client.post("/v1/chat/completions", json=seed_001.REQUEST)
    found = result(got.content)
    assert found.content == "I'll read the file."
    assert found.calls == [("read", '{"filePath":"/home/user/package.json"}')]
    assert found.finish_reason == "tool_calls" and got.content.count(b"[DONE]") == 1
    assert chunks_of(got.content)[-1]["usage"] == {
        "prompt_tokens": 25, "completion_tokens": 15, "total_tokens": 40
    }  # fmt: skip
    (tape,) = qwen.tapes(1)
    assert tape.end is not None
    chain = tape.end.value["chat"]
    assert (chain["parent"], chain["turn"], chain["response"]) == (None, 1, "resp-789")


def test_the_chat_is_on_the_tape_before_the_end(qwen: Qwen) -> None:
    first = qwen.ask(user("hi"))
    qwen.ask(user("hi"), first, user("and again"))
    for number, (tape, turn) in enumerate(zip(qwen.tapes(2), qwen.server.turns, strict=True), 1):
        (status,) = (one.value for one in tape.of("status") if one.value["side"] == "upstream")
        began = "new" if number == 1 else "known"
        assert status["chat"] == {"id": turn.chat, "parent": turn.parent, "turn": number, "began": began}


def test_tapes_replay_and_hold_no_secret(qwen: Qwen) -> None:
    question = user("What's in the package.json file?")
    call = qwen.ask(question, tools=[READ])
    qwen.ask(question, call, gives(call, "{}"), tools=[READ])
    tapes = qwen.tapes(2)
    for tape in tapes:
        assert by_transformer(tape) == replayed(tape) != b""
    chains = [tape.end.value["chat"] for tape in tapes if tape.end is not None]
    assert [(chain["turn"], chain["began"]) for chain in chains] == [(1, "new"), (2, "known")]
    assert chains[1]["parent"] == qwen.server.turns[0].node
    assert qwen.server.headers[-1]["cookie"] == COOKIE
    assert qwen.server.headers[-1]["bx-umidtoken"] == "very-secret-token"
    kept = b"".join(path.read_bytes() for path in qwen.proxy.library.rglob("*") if path.is_file())
    assert b"very-secret" not in kept


def test_a_request_without_tools_is_made_openais(qwen: Qwen) -> None:
    body = {"model": "fast", "stream": True, "messages": [user("A title, please")],
            "stream_options": {"include_usage": True}}  # fmt: skip
    got = qwen.client.post("/v1/chat/completions", json=body)
    found = result(got.content)
    assert found.content == "You said: A title, please" and found.finish_reason == "stop"
    assert b"response.created" not in got.content and got.content.endswith(b"data: [DONE]\n\n")
    assert found.usage is not None and found.usage["prompt_tokens"] == 25
    assert qwen.server.turns[0].body["model"] == "qwen3-max"


def test_a_client_that_does_not_stream(qwen: Qwen) -> None:
    first = qwen.ask(user("one"), stream=False)
    assert first["content"] == "You said: one"
    qwen.ask(user("one"), first, user("two"), stream=False)
    assert qwen.server.turns[1].parent == qwen.server.turns[0].node


def test_chats_never_mix(qwen: Qwen) -> None:
    """The same words, the same answers: still two chats, and each goes on in its own."""
    one, other = qwen.ask(user("hi")), qwen.ask(user("hi"))
    qwen.ask(user("hi"), one, user("first"))
    qwen.ask(user("hi"), other, user("second"))
    chats = [turn.chat for turn in qwen.server.turns]
    assert chats[0] != chats[1] and set(chats[2:]) == set(chats[:2])


def test_a_repeated_request_and_a_branch(qwen: Qwen) -> None:
    first = qwen.ask(user("hi"))
    qwen.ask(user("hi"), first, user("go on"))
    qwen.ask(user("hi"), first, user("go on"))
    qwen.ask(user("hi"), first, user("go elsewhere"))
    begun, *others = qwen.server.turns
    assert [(turn.chat, turn.parent) for turn in others] == [(begun.chat, begun.node)] * 3


def test_an_edited_history_begins_a_chat_with_all_its_text(qwen: Qwen) -> None:
    qwen.ask(user("hi"))
    edited = {"role": "assistant", "content": "I never said that"}
    qwen.ask({"role": "system", "content": "Be brief."}, user("hi"), edited, user("and now?"))
    first, second = qwen.server.turns
    assert second.chat != first.chat and second.parent is None and second.system == "Be brief."
    assert [text in second.text for text in ("hi", "I never said that", "and now?")] == [True] * 3


def test_a_lost_chat_is_rebuilt_with_the_whole_conversation(qwen: Qwen) -> None:
    first = qwen.ask(user("remember the number 17"))
    qwen.server.forget()
    second = qwen.ask(user("remember the number 17"), first, user("which one?"))
    turn = qwen.server.turns[-1]
    assert turn.parent is None and "remember the number 17" in turn.text and "which one?" in turn.text
    tape = qwen.tapes(2)[-1]
    assert "session-lost" in [line.value["finding"] for line in tape.of("finding")]
    qwen.ask(user("remember the number 17"), first, user("which one?"), second, user("thanks"))
    assert qwen.server.turns[-1].parent == turn.node


def test_a_conversation_survives_a_restart(tmp_path: Path) -> None:
    with start(tmp_path) as (qwen, running):
        first = qwen.ask(user("hi"))
        qwen.proxy.stop(signal.SIGTERM)
        running.close()
        qwen = running.open()
        qwen.ask(user("hi"), first, user("still there?"))
        assert qwen.server.turns[1].parent == qwen.server.turns[0].node
        qwen.server.check()


def test_a_chat_expires(tmp_path: Path) -> None:
    with start(tmp_path, "session_hours = 0.0000001") as (qwen, _):
        first = qwen.ask(user("hi"))
        qwen.ask(user("hi"), first, user("still there?"))
        assert qwen.server.turns[1].parent is None and "hi" in qwen.server.turns[1].text


def test_the_parent_can_be_the_response(tmp_path: Path) -> None:
    more = 'parent_from = "response_id"\naccount = true\nthinking = true'
    with start(tmp_path, more, parent_from="response_id") as (qwen, _):
        first = qwen.ask(user("hi"))
        qwen.ask(user("hi"), first, user("and?"))
        turn = qwen.server.turns[1]
        assert turn.parent == qwen.server.turns[0].node and turn.body["chat_mode"] == "normal"
        assert turn.body["messages"][0]["feature_config"]["thinking_enabled"] is True
        qwen.server.check()


def test_faults_before_an_answer_are_tried_again(qwen: Qwen) -> None:
    qwen.server.fail = [failure(status, {}, headers=[("retry-after", "0")]) for status in (503, 429)]
    assert qwen.ask(user("hi"))["content"] == "You said: hi"
    # A connection that was used before and is closed is not a fault yet: only the second one surely is.
    qwen.server.fail = [Answer([Reset()]), Answer([Reset()])]
    assert qwen.ask(user("ho"))["content"] == "You said: ho"
    refused, broken = ([line.value["finding"] for line in tape.of("finding")] for tape in qwen.tapes(2))
    assert refused.count("upstream-retried") == 2 and broken.count("upstream-retried") in (1, 2)


def test_a_refusal_is_told_and_not_repeated(qwen: Qwen) -> None:
    qwen.server.fail = [failure(401, {"success": False, "data": {"code": "Unauthorized", "details": "who?"}})]
    qwen.ask(user("hi"), expect=401)
    assert qwen.server.turns == []


def test_nothing_is_repeated_once_an_answer_has_begun(qwen: Qwen) -> None:
    qwen.server.next = [
        lambda server, turn: stream([b"data: " + json.dumps(delta("Hel")).encode() + b"\n\n"], end=Reset())
    ]
    got = qwen.client.post(
        "/v1/chat/completions", json={"model": "m", "stream": True, "messages": [user("hi")]}
    )
    assert b"Hel" in got.content and b'"error"' in got.content
    assert len(qwen.server.turns) == 1


@pytest.mark.parametrize(
    ("events", "content"),
    [
        ([delta("He"), delta("Hello"), delta("Hello wor"), delta("", status="finished")], "Hello wor"),
        (
            [
                delta("hm", "think"),
                delta("", "think", "finished"),
                delta("Hi"),
                delta("", status="finished"),
                True,
            ],
            "Hi",
        ),
        ([delta("no end")], "no end"),
    ],
)
def test_misbehaviour(qwen: Qwen, events: list[Any], content: str) -> None:
    for stream_it in (True, False):
        qwen.server.next = [playing(*events)]
        assert qwen.ask(user("hi"), stream=stream_it)["content"] == content


def test_of_two_candidates_one_is_the_answer(qwen: Qwen) -> None:
    events = [
        {"response.created": {"chat_id": "c", "parent_id": "p", "response_id": id}, "response_index": at}
        for at, id in enumerate("ab")
    ]
    for text in ("1", "2"):
        events += [
            delta(f"{id.upper()}{text}", response_id=id, response_index=at) for at, id in enumerate("ab")
        ]
    events += [delta("", status="finished", response_id=id, response_index=at) for at, id in enumerate("ab")]
    qwen.server.next = [lambda server, turn: stream([event(one) for one in events])]
    assert qwen.ask(user("which of two?"))["content"] == "A1A2"
    (tape,) = qwen.tapes(1)
    assert tape.end is not None and tape.end.value["findings"]["candidate-dropped"] == 1


def test_a_tool_of_upstreams_own_is_told_and_not_an_answer(qwen: Qwen) -> None:
    qwen.server.next = [
        playing(
            delta("looking it up", "local_tool"),
            delta("", "local_tool", "finished"),
            delta("It rains."),
            delta("", status="finished"),
        )
    ]
    assert qwen.ask(user("What is the weather?"))["content"] == "It rains."
    (tape,) = qwen.tapes(1)
    assert tape.end is not None and tape.end.value["findings"]["upstream-tool"] == 1


@pytest.mark.parametrize("stream_it", [True, False])
def test_errors_under_status_200(qwen: Qwen, stream_it: bool) -> None:
    qwen.server.next = [
        lambda server, turn: failure(200, '{"ret":["FAIL_SYS_USER_VALIDATE"],"success":false}')
    ]
    body = qwen.ask(user("hi"), stream=stream_it, expect=502)
    assert body["error"]["message"] == "FAIL_SYS_USER_VALIDATE"
    qwen.server.next = [playing({"success": False, "data": {"code": "RateLimited", "details": "slow down"}})]
    assert qwen.ask(user("hi"), stream=stream_it, expect=502)["error"]["message"] == "slow down"
    qwen.server.next = [playing(delta("", status="finished"))]
    assert "empty" in qwen.ask(user("hi"), stream=stream_it, expect=502)["error"]["message"]


def test_models_are_upstreams_and_ours_and_cached(qwen: Qwen) -> None:
    before = qwen.server.models
    got = [qwen.client.get("/v1/models").json() for _ in range(2)]
    assert [model["id"] for model in got[0]["data"]] == ["qwen3-max", "fast"] and got[0] == got[1]
    assert qwen.server.models - before <= 1
    assert qwen.client.get("/v1/models/fast").json()["owned_by"] == "qwen"
    assert qwen.client.get("/v1/models/none").status_code == 404
