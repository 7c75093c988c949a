"""Qwen's chat: whatever its versions send, in whatever cut, becomes one OpenAI stream."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest

from tests.support.cuts import every_split
from tests.support.streams import tool
from tests.support.tiers import each_row
from transformer import StreamTransformer, transform_message
from transformer.records import Delta
from transformer.upstreams import KINDS, UnknownKind, find_kind
from transformer.upstreams.kind import Now, Options, Place

KIND = find_kind("qwen-chat")
READ = tool("read", {"filePath": {"type": "string"}}, required=["filePath"])
ASKED = {"model": "qwen3-max", "stream": True, "stream_options": {"include_usage": True}}
CREATED = {"response.created": {"chat_id": "c", "parent_id": "p", "response_id": "r"}}
OTHER = {"response.created": {"chat_id": "c", "parent_id": "p2", "response_id": "r2", "response_index": "1"}}


def said(text: str, phase: str = "answer", status: str = "typing", **more: Any) -> dict[str, Any]:
    return {
        "choices": [{"delta": {"role": "assistant", "content": text, "phase": phase, "status": status}}],
        **more,
    }


def thought(*texts: str) -> dict[str, Any]:
    delta = {"content": "", "phase": "thinking_summary", "status": "typing",
             "extra": {"summary_thought": {"content": list(texts)}}}  # fmt: skip
    return {"choices": [{"delta": delta}]}


def used(given: int, made: int) -> dict[str, Any]:
    return {"usage": {"input_tokens": given, "output_tokens": made, "total_tokens": given + made}}


def stream(*events: Any) -> bytes:
    return b"".join(b"data: " + json.dumps(event, ensure_ascii=False).encode() + b"\n\n" for event in events)


END = said("", status="finished")


class Case(NamedTuple):
    name: str
    data: bytes
    content: str | None
    reasoning: str | None = None
    usage: tuple[int, int] | None = None
    codes: tuple[str, ...] = ()


CASES = [
    Case("deltas", stream(CREATED, said("I'll "), said("go."), END), "I'll go."),
    Case(
        "a growing usage",
        stream(CREATED, said("a", **used(5, 1)), said("b", **used(5, 2)), END),
        "ab",
        usage=(5, 2),
    ),
    Case(
        "usage after the end",
        stream(said("a", **used(5, 1)), END, {"choices": [], **used(5, 9)}),
        "a",
        usage=(5, 9),
    ),
    Case("usage with the end", stream(said("a"), END | used(5, 3)), "a", usage=(5, 3)),
    Case("no end at all", stream(CREATED, said("a"), said("b")), "ab"),
    Case("snapshots", stream(said("He"), said("Hello"), said("Hello wor"), END), "Hello wor"),
    Case("two snapshots", stream(said("测试"), said("测试通过"), END), "测试通过"),
    Case(
        "a snapshot comes twice",
        stream(said("Well then"), said("Well then"), said("Well then, yes"), END),
        "Well then, yes",
    ),
    Case(
        "snapshots, and a shorter one",
        stream(said("Good day"), said("Good day to"), said("Good"), END),
        "Good day to",
    ),
    Case(
        "deltas that look like snapshots", stream(said("1"), said("10"), said(" apples"), END), "110 apples"
    ),
    Case(
        "the same delta again and again",
        stream(said("ha"), said("ha"), said("ha"), said("!"), END),
        "hahaha!",
    ),
    Case("one delta twice", stream(said("="), said("="), END), "=="),
    Case(
        "a snapshot that is rewritten",
        stream(said("Good morning"), said("Good morning to"), said("Good evening to you"), END),
        "Good morning to you",
        codes=("snapshot-rewritten",),
    ),
    Case("thoughts", stream(said("Hm", "think"), said("", "think", "finished"), said("Hi"), END), "Hi", "Hm"),
    Case(
        "a summary of thoughts, which grows",
        stream(thought("Fir"), thought("First."), thought("First.", "Then."), said("Hi"), END),
        "Hi",
        "First.Then.",
    ),
    Case(
        "upstream's own tool",
        stream(said("looking it up", "local_tool"), said("", "local_tool", "finished"), said("Hi"), END),
        "Hi",
        "looking it up",
        codes=("upstream-tool",),
    ),
    Case(
        "two candidates",
        stream(
            CREATED,
            OTHER,
            said("A1", response_id="r"),
            said("B1", response_id="r2"),
            said("A2", response_id="r"),
            said("B2", response_id="r2"),
            END | {"response_id": "r2"},
            END | {"response_id": "r"},
            said("B3", response_id="r2"),
        ),
        "A1A2",
        codes=("candidate-dropped",),
    ),
    Case(
        "candidates by their index",
        stream(
            CREATED,
            OTHER,
            said("B1", response_index=1),
            said("A1", response_index=0),
            END | {"response_index": 1},
        ),
        "B1",
        codes=("candidate-dropped",),
    ),
    Case("a last true", stream(said("a"), END, True), "a"),
    Case("[DONE] without an end", stream(said("a")) + b"data: [DONE]\n\n", "a"),
    Case(
        "half a character",
        b'data: {"choices":[{"delta":{"content":"\\ud83d","phase":"answer"}}]}\n\n'
        b'data: {"choices":[{"delta":{"content":"\\ude00","phase":"answer"}}]}\n\n',
        "😀",
    ),
]


@each_row("upstream", ["qwen-chat", "openai"])
@each_row("case", CASES, ids=lambda case: case.name)
def test_every_habit_in_every_cut(case: Case, upstream: str) -> None:
    """The kind is known, or recognised by its events, where calls are looked for anyway."""
    request = ASKED if upstream == "qwen-chat" else ASKED | {"tools": [READ]}
    first: tuple[bytes, Any] | None = None
    for reads in every_split(case.data):
        t = StreamTransformer("roo-xml", request=request, upstream=upstream)
        out = b"".join(map(t.feed, reads)) + t.finish()
        first = first or (out, t.completion)
        assert (out, t.completion) == first, "another cut, another result"
    message = t.completion["choices"][0]["message"] if t.completion else {}
    assert (message["content"], message.get("reasoning_content")) == (case.content, case.reasoning)
    assert t.completion is not None and t.completion["choices"][0]["finish_reason"] == "stop"
    if case.name != "usage after the end" or upstream == "qwen-chat":
        usage = t.completion.get("usage")
        assert (usage and (usage["prompt_tokens"], usage["completion_tokens"])) == case.usage
    assert tuple(found.code for found in t.findings if found.code != "event-after-end") == case.codes
    assert out.endswith(b"data: [DONE]\n\n") and out.count(b'"finish_reason":"stop"') == 1
    assert t.unaccounted == 0


@each_row("case", CASES, ids=lambda case: case.name)
def test_every_character_has_its_bytes(case: Case) -> None:
    t = StreamTransformer("roo-xml", request=ASKED, upstream="qwen-chat")
    t.feed(case.data)
    t.finish()
    for record in t.records:
        if isinstance(record, Delta) and record.span is not None and record.text != "😀":
            raw = b"".join(case.data[start:end] for start, end in t.bytes_of(record.span))
            assert json.loads(b'"%b"' % raw) == record.text


def test_a_copy_goes_on_by_itself() -> None:
    reads = [event + b"\n\n" for event in CASES[5].data.split(b"\n\n") if event]
    t = StreamTransformer("roo-xml", request=ASKED, upstream="qwen-chat")
    whole = StreamTransformer("roo-xml", request=ASKED, upstream="qwen-chat")
    expected = b"".join(map(whole.feed, reads)) + whole.finish()
    out = b""
    for at, read in enumerate(reads):
        copy = t.snapshot()
        assert out + b"".join(map(copy.feed, reads[at:])) + copy.finish() == expected
        out += t.feed(read)


def test_calls_are_found_in_snapshots() -> None:
    """The parts are too short to be anything else by themselves."""
    text = "I'll read it.\n\n<read>\n<filePath>a.py</filePath>\n</read>"
    events = [said(text[:end]) for end in range(9, len(text) + 1, 5)] + [said(text), END]
    t = StreamTransformer("roo-xml", [READ], request=ASKED | {"tools": [READ]}, upstream="qwen-chat")
    t.feed(stream(CREATED, *events))
    t.finish()
    assert t.completion is not None
    choice = t.completion["choices"][0]
    assert choice["message"]["content"] == "I'll read it." and choice["finish_reason"] == "tool_calls"
    assert choice["message"]["tool_calls"][0]["function"]["arguments"] == '{"filePath":"a.py"}'
    assert t.place == Place("c", "p", "r")


@each_row(
    ("data", "message", "code"),
    [
        (
            stream(CREATED, {"error": {"code": "data_inspection_failed", "details": "no"}}),
            "no",
            "data_inspection_failed",
        ),
        (
            stream({"success": False, "data": {"code": "RateLimited", "details": "slow"}}),
            "slow",
            "RateLimited",
        ),
        (
            b'{"ret":["FAIL_SYS_USER_VALIDATE"],"success":false}',
            "FAIL_SYS_USER_VALIDATE",
            "FAIL_SYS_USER_VALIDATE",
        ),
        (stream(CREATED, END), "upstream sent an empty answer", None),
        (b"", "upstream sent an empty answer", None),
    ],
)
def test_an_error_is_never_an_empty_success(data: bytes, message: str, code: str | None) -> None:
    for reads in every_split(data):
        t = StreamTransformer("roo-xml", request=ASKED, upstream="qwen-chat")
        out = b"".join(map(t.feed, reads)) + t.finish()
        assert t.error is not None and (t.error["message"], t.error["code"]) == (message, code)
        assert b'"error"' in out and b"finish_reason" not in out


def test_an_error_after_some_text_ends_the_answer_with_it() -> None:
    t = StreamTransformer("roo-xml", request=ASKED, upstream="qwen-chat")
    out = t.feed(stream(CREATED, said("Wait"), {"success": False, "data": {"details": "gone"}})) + t.finish()
    assert b"Wait" in out and b'"message":"gone"' in out and b'finish_reason":"stop' not in out


def test_a_break_after_the_end_is_no_error() -> None:
    t = StreamTransformer("roo-xml", request=ASKED, upstream="qwen-chat")
    out = t.feed(stream(CREATED, said("Hi"), END)) + t.fail("reset")
    assert b"error" not in out and out.endswith(b"[DONE]\n\n")
    assert [found.code for found in t.findings] == ["broke-after-end"]


WHOLE = {
    "success": True,
    "data": {
        "chat_id": "c",
        "parent_id": "p",
        "message_id": "m",
        "choices": [
            {
                "message": {
                    "role": "assistant",
                    "content": "I'll read.\n<read>\n<filePath>a</filePath>\n</read>",
                }
            }
        ],
    },
}


def test_a_whole_answer() -> None:
    got = transform_message(WHOLE, "roo-xml", [READ], request=ASKED, now=7, upstream="qwen-chat")
    assert (got["id"], got["object"], got["created"], got["model"]) == (
        "chatcmpl-m",
        "chat.completion",
        7,
        "qwen3-max",
    )
    choice = got["choices"][0]
    assert choice["message"]["content"] == "I'll read." and choice["finish_reason"] == "tool_calls"


def test_a_whole_answer_where_a_stream_was_asked_for() -> None:
    data = json.dumps(WHOLE).encode()
    t = StreamTransformer("roo-xml", [READ], request=ASKED, upstream="qwen-chat")
    out = t.feed(data) + t.finish()
    assert t.completion is not None and t.completion["choices"][0]["finish_reason"] == "tool_calls"
    assert out.endswith(b"data: [DONE]\n\n") and t.place == Place("c", "p", "m")


def test_the_first_turn_and_a_later_one() -> None:
    now = Now(1700000000.25, ["id-1", "id-2"])
    new = KIND.new_chat("m", Options(), now)
    assert new.body == {"title": "New Chat", "models": ["m"], "chat_mode": "guest", "chat_type": "t2t",
                        "timestamp": 1700000000250}  # fmt: skip
    first = KIND.turn("m", "Be kind.", "Hi", Place("c"), True, Options(), now)
    assert (first.path, first.query) == ("/api/v2/chat/completions", "chat_id=c")
    assert first.body["parent_id"] is None and first.body["timestamp"] == 1700000000
    assert [(m["role"], m["content"], m["parent_id"], m["fid"]) for m in first.body["messages"]] == [
        ("system", "Be kind.", None, "id-1"),
        ("user", "Hi", None, "id-2"),
    ]
    later = KIND.turn("m", "Be kind.", "And?", Place("c", "p"), False, Options(thinking=True), now)
    (message,) = later.body["messages"]
    assert (message["parentId"], message["parent_id"], later.body["parent_id"]) == ("p", "p", "p")
    assert message["feature_config"]["thinking_enabled"] is True and later.body["stream"] is False
    assert KIND.new_chat("m", Options(account=True), now).body["chat_mode"] == "normal"


@each_row(
    ("status", "body", "lost"),
    [
        (404, b"", True),
        (200, b'{"success":false,"data":{"code":"Not_Found","details":"chat not exist"}}', True),
        (400, b'{"detail":"invalid parent_id"}', True),
        (400, b'{"detail":"the model does not fit"}', False),
        (200, b'{"success":false,"data":{"code":"RateLimited","details":"chat not found in quota"}}', False),
        (429, b"chat not found", False),
        (500, b"chat not found", False),
    ],
)
def test_what_says_that_a_chat_is_lost(status: int, body: bytes, lost: bool) -> None:
    assert KIND.lost(status, body) is lost


def test_models_and_addresses() -> None:
    assert (
        KIND.base("https://chat.example/api/v2/")
        == KIND.base("https://chat.example")
        == "https://chat.example"
    )
    listed = KIND.listed(
        {"data": [{"id": "qwen3-max", "name": "x", "info": {"created_at": 5}}, {"no": "id"}]}
    )
    assert listed == [{"id": "qwen3-max", "object": "model", "created": 5, "owned_by": "qwen"}]
    assert KINDS["openai"].listed({"error": 1}) is None
    with pytest.raises(UnknownKind, match="openai, qwen-chat"):
        find_kind("gemini")
