"""Conversations are told apart without a session header, by what requests repeat of those before."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.bench import CALL, TOOLS, Bench
from tests.support.client import result
from tests.support.streams import stream_of
from tests.support.tiers import each_row
from tests.support.upstream.answers import stream
from workbench.proxy.conversations import Conversations, Turn
from workbench.proxy.incoming import CHAT, Incoming

Message = dict[str, Any]
_names = (f"new-{number}" for number in itertools.count())


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def says(text: str) -> Message:
    return {"role": "assistant", "content": text}


def calls(*ids: str) -> Message:
    made = [{"id": id, "type": "function", "function": {"name": "read", "arguments": "{}"}} for id in ids]
    return {"role": "assistant", "content": None, "tool_calls": made}


def gives(id: str, text: str = "x") -> Message:
    return {"role": "tool", "tool_call_id": id, "content": text}


def system(text: str) -> Message:
    return {"role": "system", "content": text}


def asked(
    conversations: Conversations,
    *messages: Message,
    answer: Message | None = None,
    headers: Mapping[str, str] | None = None,
) -> str:
    said = list((headers or {}).items())
    incoming = Incoming("POST", CHAT, "", said, b"", {"messages": list(messages)})
    turn: Turn = conversations.turn(incoming, next(_names))
    if answer is not None:
        conversations.answered(turn, {"choices": [{"index": 0, "message": answer}]})
    assert turn.session is not None
    return turn.session


def test_issue_11_13_a_request_continues_what_it_repeats() -> None:
    some = Conversations()
    one = asked(some, user("fix a.py"), answer=calls("id-1"))
    two = asked(some, user("write a poem"), answer=says("Roses"))
    assert one != two
    assert asked(some, user("fix a.py"), calls("id-1"), gives("id-1"), answer=says("Done.")) == one
    assert asked(some, user("write a poem"), says(" Roses\n"), user("more")) == two
    assert asked(some, user("fix a.py"), calls("id-1"), gives("id-1"), says("Done."), user("ok")) == one


def test_issue_11_13_the_same_first_words_are_told_apart_by_the_answers() -> None:
    some = Conversations()
    one = asked(some, user("hi"), answer=says("Hello!"))
    asked(some, user("hi"), says("Hello!"), user("a"), answer=says("A"))
    two = asked(some, user("hi there"), answer=says("Good day."))
    assert asked(some, user("hi"), says("Hello!"), user("a"), says("A"), user("b")) == one
    assert asked(some, user("hi there"), says("Good day."), user("b")) == two


def test_issue_11_13_a_shortened_history_is_known_by_its_calls() -> None:
    some = Conversations()
    one = asked(some, user("fix a.py"), answer=calls("id-1"))
    asked(some, user("fix b.py"), answer=calls("id-2"))
    assert asked(some, user("summary: we fix a.py"), calls("id-1"), gives("id-1")) == one


def test_issue_11_13_ids_that_every_conversation_has_tell_nothing() -> None:
    some = Conversations()
    one = asked(some, user("fix a.py"), answer=calls("functions.read:0"))
    two = asked(some, user("fix b.py"), answer=calls("functions.read:0"))
    third = asked(some, user("fix c.py"), calls("functions.read:0"), gives("functions.read:0"))
    assert third not in (one, two)
    assert asked(some, user("fix a.py"), calls("functions.read:0"), gives("functions.read:0")) == one
    assert asked(some, user("fix b.py"), calls("functions.read:0"), gives("functions.read:0")) == two


def test_issue_11_13_the_time_in_a_system_prompt_changes_nothing() -> None:
    some = Conversations()
    one = asked(some, system("It is 9:00"), user("fix a.py"), answer=says("ok"))
    assert asked(some, system("It is 9:01"), user("fix a.py"), says("ok"), user("go on")) == one


def test_what_is_remembered_is_bounded() -> None:
    some = Conversations(10)
    for number in range(50):
        asked(some, user(f"words {number}"), answer=says("ok"))
    assert asked(some, user("words 49"), says("ok"), user("x")) != asked(some, user("words 0"), says("ok"))


@each_row(
    ("headers", "session"),
    [
        ({"x-session-id": "ses_1"}, "ses_1"),
        ({"x-session-id": "title-ses_1"}, "ses_1"),
        ({"x-claude-code-session-id": "c1"}, "c1"),
        ({"session_id": "s1", "thread-id": "t1"}, "s1"),
        ({"x-conversation-id": "v1"}, "v1"),
    ],
)
def test_issue_11_13_what_the_client_says_counts(headers: dict[str, str], session: str) -> None:
    assert asked(Conversations(), user("hi"), headers=headers) == session


@pytest.mark.parametrize(
    "metadata", [{"user_id": "user_1_account_2_session_c1"}, {"session_id": "c1", "user_id": "u"}]
)
def test_a_session_in_the_metadata(metadata: dict[str, str]) -> None:
    body = {"messages": [user("hi")], "metadata": metadata}
    assert Conversations().turn(Incoming("POST", CHAT, "", [], b"", body), "new").session == "c1"


def test_issue_11_13_through_the_proxy(bench: Bench) -> None:
    """Two agents without a session header, their steps in turns."""

    def ask(messages: list[Message]) -> Message:
        bench.upstream.answer(stream(stream_of(CALL)))
        body = {"model": "m", "stream": True, "tools": TOOLS, "messages": messages}
        got = result(bench.client.post("/v1/chat/completions", json=body).content)
        made = [
            {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
            for id, (name, arguments) in zip(got.ids, got.calls, strict=True)
        ]
        return {"role": "assistant", "content": got.content, "tool_calls": made}

    before = len(bench.proxy.tapes())
    histories: list[list[Message]] = [[user("fix a.py")], [user("fix b.py")]]
    for _ in range(3):
        for history in histories:
            answer = ask(history)
            history += [answer, gives(answer["tool_calls"][0]["id"])]
    tapes = bench.proxy.tapes(before + 6)[before:]
    sessions = [tape.header["session"] for tape in tapes]
    assert len(set(sessions)) == 2 and sessions == sessions[:2] * 3
    assert all(tape.end is not None and tape.end.value["answer"]["choices"] for tape in tapes)
