"""What the client gets (docs/spec.md, section 3), and what of section 2 the whole pipeline must keep."""

from __future__ import annotations

import json
from typing import Any

from tests.support.client import Result, chunks_of, events_of, result, results
from tests.support.cuts import check_every_split, check_every_split_choices, codes, run, transform
from tests.support.spans import check_records
from tests.support.streams import JSON, META, chunk, sse, stream_of, tool
from tests.support.tiers import each_row
from transformer import StreamTransformer

READ = tool("read", {"path": {"type": "string"}})
BASH = tool("bash", {"command": {"type": "string"}})
TOOLS = [READ, BASH]
BEGIN, ARGS, END = "<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>"


def kimi(path: str, number: int = 0) -> str:
    return f'{BEGIN}functions.read:{number}{ARGS}{{"path":"{path}"}}{END}'


def roo(path: str) -> str:
    return f"<read>\n<path>{path}</path>\n</read>"


def qwen(path: str) -> str:
    return f"<tool_call>\n<function=read>\n<parameter=path>\n{path}\n</parameter>\n</function>\n</tool_call>"


CALLS = {"roo-xml": roo("a"), "qwen3-coder": qwen("a"), "kimi-k2": kimi("a")}
CONVERTING = each_row("dialect", CALLS)
A, B = ("read", '{"path":"a"}'), ("read", '{"path":"b"}')


def check_some_splits(dialect: str, data: bytes, **kwargs: Any) -> Result:
    """The result, the same for a few cuts: what the cases here are about does not hang on the cut."""
    out, transformer = transform(dialect, data, **kwargs)
    check_records(transformer, data)
    for size in (1, 2, 7, 40, 333):
        again, other = transform(
            dialect, [data[at : at + size] for at in range(0, len(data), size)], **kwargs
        )
        assert (results(again), codes(other)) == (results(out), codes(transformer)), f"reads of {size} bytes"
        assert other.unaccounted == 0
    return result(out)


def delta(index: int = 0, finish: str | None = None, /, **fields: Any) -> JSON:
    """A chunk with exactly these fields in its delta."""
    return {**META, "choices": [{"index": index, "delta": fields, "finish_reason": finish}]}


# role, ids, index


@CONVERTING
@each_row("roles", [(), (0,), (0, 1, 2), (1, 2)], ids=str)
def test_the_role_comes_once_in_the_first_delta(dialect: str, roles: tuple[int, ...]) -> None:
    texts = ["Hi ", "there", "\n" + CALLS[dialect]]
    events = [
        delta(**({"role": "assistant"} if number in roles else {}), content=text)
        for number, text in enumerate(texts)
    ]
    got = check_some_splits(dialect, sse(*events, delta(0, "stop")), tools=TOOLS)
    assert (got.content, got.calls) == ("Hi there", [A])


@CONVERTING
def test_a_first_delta_with_nothing_but_the_role_leaves_at_once(dialect: str) -> None:
    transformer = StreamTransformer(dialect, tools=TOOLS)
    (data,) = events_of(transformer.feed(sse(delta(role="assistant", content=""), done=False)))
    assert json.loads(data)["choices"][0]["delta"] == {"role": "assistant", "content": ""}


@CONVERTING
def test_a_call_says_id_type_and_name_once_and_its_index_always(dialect: str) -> None:
    out, _ = transform(
        dialect, stream_of("Hi\n" + CALLS[dialect], 3), tools=TOOLS, policy={"arguments": "stream"}
    )
    calls = [
        call
        for event in chunks_of(out)
        for choice in event["choices"]
        for call in choice["delta"].get("tool_calls", ())
    ]
    assert len(calls) > 2
    first, *others = calls
    assert set(first) == {"index", "id", "type", "function"} and first["index"] == 0
    assert all(set(call) == {"index", "function"} and call["index"] == 0 for call in others)
    assert all(set(call["function"]) == {"arguments"} for call in others)


def test_the_index_counts_over_all_channels() -> None:
    data = sse(
        chunk(None, kimi("a", 0)),
        chunk(kimi("b", 1)),
        chunk(None, kimi("c", 2)),
        chunk(finish_reason="stop"),
    )
    out, _ = transform("kimi-k2", data, tools=TOOLS)
    assert [path for _, path in result(out).calls] == ['{"path":"a"}', '{"path":"b"}', '{"path":"c"}']
    got = check_every_split("kimi-k2", data, tools=TOOLS, twin=False)
    assert got.ids == ["functions.read:0", "functions.read:1", "functions.read:2"]


@CONVERTING
def test_each_choice_counts_for_itself_and_ids_are_unique(dialect: str) -> None:
    texts = {"roo-xml": (roo("a"), roo("b")), "qwen3-coder": (qwen("a"), qwen("b") + qwen("c"))}
    first, second = texts.get(dialect, (kimi("a", 0), kimi("b", 1) + kimi("c", 2)))
    events = []
    for at in range(0, max(len(first), len(second)), 50):
        events += [
            chunk(text[at : at + 50], index=i) for i, text in ((1, second), (0, first)) if text[at : at + 50]
        ]
    data = sse(*events, chunk(index=0, finish_reason="stop"), chunk(index=1, finish_reason="length"))
    # No twin: ids are numbered as calls come, and here the second choice's comes first.
    got = check_every_split_choices(dialect, data, tools=TOOLS, twin=False)
    assert got[0].calls == [A] and got[1].calls[0] == B
    assert len(got[1].calls) == (1 if dialect == "roo-xml" else 2)
    assert (got[0].finish_reason, got[1].finish_reason) == ("tool_calls", "length")


def test_two_choices_in_one_event_each_have_their_machine() -> None:
    both = [
        {"index": 0, "delta": {"content": "<read>\n<pa"}},
        {"index": 1, "delta": {"content": "plain <re"}},
    ]
    rest = [
        {"index": 1, "delta": {"content": "ad> text"}, "finish_reason": "stop"},
        {"index": 0, "delta": {"content": "th>a</path></read>"}, "finish_reason": "stop"},
    ]
    data = sse({"choices": both}, {"choices": rest})
    got = check_every_split_choices("roo-xml", data, tools=TOOLS)
    assert (got[0].calls, got[0].content) == ([A], "")
    assert (got[1].calls, got[1].content) == ([], "plain <read> text")


# finish_reason

FINISH: list[tuple[str | None, str, str]] = [  # upstream says, with a call, without
    ("stop", "tool_calls", "stop"),
    ("tool_calls", "tool_calls", "stop"),
    ("length", "length", "length"),
    ("content_filter", "content_filter", "content_filter"),
    (None, "tool_calls", "stop"),
    ("", "tool_calls", "stop"),
]


@CONVERTING
@each_row("place", ["choice", "delta"])
@each_row(("said", "with_call", "without"), FINISH, ids=[repr(row[0]) for row in FINISH])
def test_finish_reason(dialect: str, place: str, said: str | None, with_call: str, without: str) -> None:
    last: JSON = {"index": 0, "delta": {}}
    (last if place == "choice" else last["delta"])["finish_reason"] = said
    for text, expected in ((CALLS[dialect], with_call), ("Hello", without)):
        got, _ = run(dialect, sse(chunk(text), {"choices": [last]}), tools=TOOLS)
        assert got.finish_reason == expected
        alone = {"index": 0, "delta": {"content": text}} | (
            {"finish_reason": said} if place == "choice" else {}
        )
        got, _ = run(dialect, sse({"choices": [alone]}), tools=TOOLS)
        assert got.finish_reason == (
            expected if place == "choice" else {True: "tool_calls", False: "stop"}[text != "Hello"]
        )


@CONVERTING
@each_row("done", [True, False])
def test_finish_reason_and_done_come_once_even_if_upstream_forgot(dialect: str, done: bool) -> None:
    got = check_some_splits(dialect, sse(chunk("Hi\n" + CALLS[dialect]), done=done), tools=TOOLS)
    assert (got.content, got.calls, got.finish_reason) == ("Hi", [A], "tool_calls")


def test_finish_reason_said_twice_is_told_once() -> None:
    data = sse(chunk("Hi", finish_reason="stop"), chunk(finish_reason="stop"), chunk(finish_reason="stop"))
    assert check_every_split("roo-xml", data, tools=TOOLS) == Result("Hi", finish_reason="stop")


def test_finish_reason_of_every_choice() -> None:
    data = sse(chunk("x", index=0), chunk(roo("a"), index=1, finish_reason="stop"), chunk("y", index=2))
    got = check_every_split_choices("roo-xml", data, tools=TOOLS)
    assert {index: found.finish_reason for index, found in got.items()} == {
        0: "stop",
        1: "tool_calls",
        2: "stop",
    }


def test_a_finish_reason_that_contradicts_is_named() -> None:
    _, transformer = run("roo-xml", stream_of("Hi", finish="tool_calls"), tools=TOOLS)
    assert codes(transformer) == ["finish-contradicts"]


def test_text_that_comes_with_the_finish_reason_is_still_read() -> None:
    data = sse(chunk("<read>\n<path>a</path>"), chunk("</read>", finish_reason="stop"))
    got = check_every_split("roo-xml", data, tools=TOOLS)
    assert (got.calls, got.finish_reason) == ([A], "tool_calls")


# metadata


def metas(out: bytes) -> list[JSON]:
    return [{k: v for k, v in event.items() if k not in ("choices", "usage")} for event in chunks_of(out)]


@CONVERTING
def test_metadata_is_preserved(dialect: str) -> None:
    meta = META | {
        "system_fingerprint": "fp_1",
        "service_tier": "x",
        "provider": {"name": "p", "n": [1, None]},
    }
    out, transformer = transform(dialect, stream_of("Hi\n" + CALLS[dialect], meta=meta), tools=TOOLS)
    assert metas(out) == [meta] * len(metas(out))
    assert transformer.completion is not None
    kept = {key: transformer.completion[key] for key in ("id", "created", "model", "system_fingerprint")}
    assert kept == {key: meta[key] for key in kept}
    assert transformer.completion["object"] == "chat.completion"


@CONVERTING
@each_row("missing", ["id", "object", "created", "model"])
def test_what_upstream_lacks_is_made_up_once(dialect: str, missing: str) -> None:
    meta = {key: value for key, value in META.items() if key != missing}
    out, _ = transform(
        dialect,
        stream_of("Hi\n" + CALLS[dialect], meta=meta),
        request={"model": "m", "tools": TOOLS},
        now=1700.5,
    )
    (only,) = {json.dumps(found, sort_keys=True) for found in metas(out)}
    made = json.loads(only)
    assert {key: made[key] for key in meta} == meta
    assert made[missing] == {
        "id": made["id"], "object": "chat.completion.chunk", "created": 1700, "model": "m",
    }[missing]  # fmt: skip
    assert isinstance(made["id"], str) and made["id"]


def test_a_usage_chunk_has_the_metadata_too() -> None:
    out, _ = transform("roo-xml", stream_of("Hi", usage={"total_tokens": 3}, meta=META), tools=TOOLS)
    assert metas(out) == [META] * len(metas(out))


def held_back(dialect: str) -> list[str]:
    """A call in pieces none of which leaves before the last."""
    text = CALLS[dialect]
    return [text[at : at + 6] for at in range(0, len(text), 6)]


@CONVERTING
def test_unknown_fields_of_the_answer_are_kept(dialect: str) -> None:
    """In every place of every event, whether its text leaves, is held back, or there is none."""
    pieces = ["Hi ", "there\n", *held_back(dialect), ""]
    events: list[JSON] = []
    for number, piece in enumerate(pieces):
        choice = {"index": 0, "delta": {"content": piece, "x_delta": f"d{number}"}, "x_choice": f"c{number}"}
        events.append({**META, "choices": [choice], "x_top": f"t{number}"})
    out, _ = transform(dialect, sse(*events, delta(0, "stop")), tools=TOOLS)
    found = chunks_of(out)
    choices = [choice for event in found for choice in event["choices"]]
    wanted = range(len(pieces))
    assert {c["delta"]["x_delta"] for c in choices if "x_delta" in c["delta"]} == {f"d{n}" for n in wanted}
    assert {c["x_choice"] for c in choices if "x_choice" in c} == {f"c{n}" for n in wanted}
    assert {e["x_top"] for e in found if "x_top" in e} == {f"t{n}" for n in wanted}


def test_an_event_without_choices_goes_on() -> None:
    strange = {**META, "choices": [], "prompt_filter_results": [{"prompt_index": 0}]}
    out, _ = transform("roo-xml", sse(strange, delta(content="Hi"), delta(0, "stop")), tools=TOOLS)
    assert chunks_of(out)[0] == strange


@each_row(
    "fields",
    [
        {"refusal": "no"},
        {"content": [{"type": "text", "text": "x"}]},
        {"annotations": [1]},
        {"audio": {"id": "a"}},
    ],
    ids=json.dumps,
)
def test_fields_of_a_delta_that_are_no_text_go_on_as_they_are(fields: JSON) -> None:
    out, transformer = transform("roo-xml", sse(delta(**fields), delta(0, "stop")), tools=TOOLS)
    first = chunks_of(out)[0]["choices"][0]["delta"]
    assert {key: first[key] for key in fields} == fields
    assert transformer.completion is not None
    said = transformer.completion["choices"][0]["message"]
    wanted = {"content": "x"} if "content" in fields else fields  # parts of text are joined
    assert {key: said[key] for key in fields} == wanted


# logprobs


def test_logprobs_go_with_their_text_and_only_once() -> None:
    probs = [{"content": [{"token": token, "logprob": -0.1}]} for token in ("a", "b")]
    events: list[JSON] = []
    for text, prob in zip(("a", "b\n" + roo("a")), probs, strict=True):
        choice = {"index": 0, "delta": {"content": text}, "logprobs": prob, "finish_reason": None}
        events.append({**META, "choices": [choice]})
    out, _ = transform("roo-xml", sse(*events, delta(0, "stop")), tools=TOOLS)
    choices = [choice for event in chunks_of(out) for choice in event["choices"]]
    assert len(choices) > 3
    assert [choice["logprobs"] for choice in choices if choice.get("logprobs")] == probs


def test_logprobs_null_stay_null() -> None:
    choice = {"index": 0, "delta": {"content": "a"}, "logprobs": None, "finish_reason": None}
    out, _ = transform("roo-xml", sse({**META, "choices": [choice]}, delta(0, "stop")), tools=TOOLS)
    assert chunks_of(out)[0]["choices"][0]["logprobs"] is None


# usage

USAGE = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12, "x": {"cached": 1}}
ASKED: JSON = {"tools": TOOLS, "stream_options": {"include_usage": True}}
REQUESTS: list[tuple[JSON | None, bool]] = [
    (None, True),
    (ASKED, True),
    ({"tools": TOOLS}, False),
    ({"tools": TOOLS, "stream_options": None}, False),
    ({"tools": TOOLS, "stream_options": {"include_usage": False}}, False),
]


@each_row(("request_body", "_told"), REQUESTS)
@CONVERTING
def test_usage_as_openai_sends_it_is_passed_on(dialect: str, request_body: JSON | None, _told: bool) -> None:
    data = stream_of("Hi\n" + CALLS[dialect], usage=USAGE, meta=META)
    out, transformer = transform(dialect, data, request=request_body)
    found = chunks_of(out)
    assert [event["usage"] for event in found if event.get("usage")] == [USAGE]
    assert found[-1] == {**META, "choices": [], "usage": USAGE}
    assert transformer.completion is not None and transformer.completion["usage"] == USAGE


def test_usage_in_the_last_chunk_is_passed_on_once() -> None:
    last = delta(0, "stop") | {"usage": USAGE}
    out, transformer = transform("roo-xml", sse(delta(content="Hi\n" + roo("a")), last), tools=TOOLS)
    assert [event["usage"] for event in chunks_of(out) if event.get("usage")] == [USAGE]
    assert result(out).finish_reason == "tool_calls"
    assert transformer.completion is not None and transformer.completion["usage"] == USAGE


def test_usage_in_an_event_whose_text_is_held_back_is_passed_on() -> None:
    events = [delta(content="Hi\n"), delta(content=roo("a")[:-1]) | {"usage": USAGE}, delta(content=">")]
    out, _ = transform("roo-xml", sse(*events, delta(0, "stop")), tools=TOOLS)
    assert [event["usage"] for event in chunks_of(out) if event.get("usage")] == [USAGE]


def test_usage_that_is_null_stays_null() -> None:
    events = [delta(content="Hi") | {"usage": None}, delta(0, "stop") | {"usage": None}]
    out, _ = transform("roo-xml", sse(*events), tools=TOOLS)
    assert [event["usage"] for event in chunks_of(out)] == [None, None]


@each_row(("request_body", "told"), REQUESTS)
def test_usage_as_qwens_chat_counts_it(request_body: JSON | None, told: bool) -> None:
    """Cumulative with every chunk: the last value, mapped, in one chunk at the end, if somebody asked."""
    events: list[JSON] = [
        {
            "choices": [
                {"delta": {"role": "assistant", "content": text, "phase": "answer", "status": "typing"}}
            ],
            "usage": {"input_tokens": 30, "output_tokens": number, "total_tokens": 30 + number},
        }
        for number, text in enumerate(["Hi ", "there", "\n<read>\n<path>a", "</path>\n</read>"], 1)
    ]
    end = {"choices": [{"delta": {"content": "", "phase": "answer", "status": "finished"}}]}
    data = sse(*events, end, done=False)
    out, transformer = transform("roo-xml", data, request=request_body)
    found = chunks_of(out)
    wanted = {"prompt_tokens": 30, "completion_tokens": 4, "total_tokens": 34}
    assert [event["usage"] for event in found if event.get("usage")] == [wanted] * told
    if told:
        assert found[-1]["choices"] == []
    assert transformer.completion is not None and transformer.completion["usage"] == wanted
    got = check_some_splits("roo-xml", data, request=request_body)
    assert (got.content, got.calls, got.finish_reason) == ("Hi there", [A], "tool_calls")


def test_usage_of_qwens_chat_without_a_total() -> None:
    event = {"choices": [{"delta": {"content": "Hi"}}], "usage": {"input_tokens": 3, "output_tokens": 4}}
    got, _ = run("roo-xml", sse(event), request=ASKED)
    assert got.usage == {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}


# native tool_calls

NATIVE: list[JSON] = [
    {
        "index": 0,
        "id": "call_n",
        "type": "function",
        "function": {"name": "read", "arguments": ""},
        "extra": 1,
    },
    {"index": 0, "function": {"arguments": '{"path":'}},
    {"index": 0, "function": {"arguments": '"a"}'}},
]


def native_parts(out: bytes) -> list[JSON]:
    return [
        call
        for event in chunks_of(out)
        for choice in event["choices"]
        for call in choice["delta"].get("tool_calls") or ()
    ]


@CONVERTING
@each_row(("said", "expected"), [("tool_calls", "tool_calls"), ("stop", "tool_calls"), ("length", "length")])
def test_native_calls_pass_through_unchanged(dialect: str, said: str, expected: str) -> None:
    data = sse(delta(content="Hi "), *(delta(tool_calls=[part]) for part in NATIVE), delta(0, said))
    out, transformer = transform(dialect, data, tools=TOOLS)
    assert native_parts(out) == NATIVE
    got = check_some_splits(dialect, data, tools=TOOLS)
    assert (got.content.rstrip(), got.calls, got.ids) == ("Hi", [A], ["call_n"])
    assert got.finish_reason == expected
    assert codes(transformer) == ["native-calls", *(["cut-after-call"] if said == "length" else [])]


@CONVERTING
def test_native_calls_and_then_one_in_the_text(dialect: str) -> None:
    data = sse(
        *(delta(tool_calls=[part]) for part in NATIVE), delta(content=CALLS[dialect]), delta(0, "stop")
    )
    got = check_some_splits(dialect, data, tools=TOOLS, policy={"calls": "all"})
    assert got.calls == [A, A]
    assert got.ids[0] == "call_n" and got.finish_reason == "tool_calls"


@CONVERTING
def test_a_call_in_the_text_and_then_a_native_one(dialect: str) -> None:
    """Two calls under one index would be joined by every client."""
    data = sse(
        delta(content=CALLS[dialect]), *(delta(tool_calls=[part]) for part in NATIVE), delta(0, "stop")
    )
    out, _ = transform(dialect, data, tools=TOOLS)
    assert [part["index"] for part in native_parts(out) if "id" in part] == [0, 1]
    assert result(out).calls == [A, A]


def test_text_in_the_same_delta_as_a_native_call_is_kept() -> None:
    data = sse(
        delta(content="Hi", tool_calls=NATIVE[:1]), delta(tool_calls=NATIVE[1:]), delta(0, "tool_calls")
    )
    got = check_every_split("roo-xml", data, tools=TOOLS, twin=False)
    assert (got.content, got.calls) == ("Hi", [A])


# errors

ERRORS: dict[str, tuple[JSON, str]] = {
    "OpenAI": ({"error": {"message": "boom", "type": "server_error", "param": None, "code": 7}}, "boom"),
    "a text": ({"error": "boom"}, "boom"),
    "a detail": ({"error": {"detail": "boom"}}, "boom"),
    "without a message": ({"error": {"status": 500}}, "500"),
    "vLLM": ({"object": "error", "message": "boom", "type": "BadRequest", "code": 400}, "boom"),
    "Qwen chat": ({"success": False, "data": {"details": "boom"}}, "boom"),
    "with metadata": (META | {"choices": [], "error": {"message": "boom"}}, "boom"),
    "OpenRouter": (
        {
            "error": {"message": "boom", "code": 502},
            "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}],
        },
        "boom",
    ),
}


@each_row(("event", "text"), ERRORS.values(), ids=ERRORS)
@CONVERTING
def test_an_error_inside_the_stream(dialect: str, event: JSON, text: str) -> None:
    for before in ([], [chunk("Hi "), chunk(CALLS[dialect][:9])]):
        data = sse(*before, event, chunk("never"))
        got = check_some_splits(dialect, data, tools=TOOLS)
        assert got.error is not None and text in got.error["message"]
        assert {"message", "type", "param", "code"} <= set(got.error)
        assert (got.finish_reason, got.calls) == (None, [])
        assert got.content == ("Hi " + CALLS[dialect][:9] if before else ""), "text is never lost"
        _, transformer = run(dialect, data, tools=TOOLS)
        assert "upstream-error" in codes(transformer)


def test_text_in_the_event_that_reports_an_error_is_not_lost() -> None:
    data = sse({"error": {"message": "boom"}, "choices": [{"index": 0, "delta": {"content": "Hi"}}]})
    out, transformer = transform("roo-xml", data, tools=TOOLS)
    assert result(out).error is not None
    named = any("Hi" in finding.message for finding in transformer.findings)
    assert result(out).content == "Hi" or named


def test_an_error_that_is_null_is_none() -> None:
    events = [chunk("Hi") | {"error": None}, chunk(finish_reason="stop")]
    out, transformer = transform("roo-xml", sse(*events), tools=TOOLS)
    assert [event["choices"][0]["delta"].get("content") for event in chunks_of(out)] == ["Hi", None]
    assert chunks_of(out)[-1]["choices"][0]["finish_reason"] == "stop"
    assert codes(transformer) == []


@CONVERTING
def test_an_event_that_is_no_json_is_named_and_the_rest_goes_on(dialect: str) -> None:
    text = CALLS[dialect]
    data = sse(
        chunk("Hi"),
        "{broken",
        chunk("\n" + text[:12]),
        "nonsense",
        chunk(text[12:]),
        chunk(finish_reason="stop"),
    )
    got = check_some_splits(dialect, data, tools=TOOLS)
    assert (got.content, got.calls) == ("Hi", [A])
    _, transformer = run(dialect, data, tools=TOOLS)
    assert codes(transformer) == ["bad-json-event", "bad-json-event"]
    bad = transformer.findings[0]
    assert "{broken" in bad.message and bad.event == 1 and bad.level == "error"


@each_row("data", ["[1,2]", '"text"', "17", "null", "true", '{"x":1}'])
def test_an_event_that_is_no_part_of_an_answer_is_named(data: str) -> None:
    stream = sse(chunk("Hi"), data, chunk(" there", finish_reason="stop"))
    got, transformer = run("roo-xml", stream, tools=TOOLS)
    assert (got.content, codes(transformer)) == ("Hi there", ["unknown-event"])


NO_ANSWER: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "empty"),
    "blank lines": (b"\n\n\r\n", "empty"),
    "a comment": (b": ping\n\n", "empty"),
    "only [DONE]": (b"data: [DONE]\n\n", "empty"),
    "only metadata": (sse(META | {"choices": []}), "empty"),
    "only usage": (sse({**META, "choices": [], "usage": USAGE}), "empty"),
    "a JSON error": (b'{"error": {"message": "no such model", "type": "invalid"}}', "no such model"),
    "a JSON error, laid out": (b'{\n  "error": {\n    "message": "no such model"\n  }\n}\n', "no such model"),
    "a JSON error of vLLM": (b'{"object":"error","message":"no such model"}', "no such model"),
    "HTML": (b"<html>\n<h1>502 Bad Gateway</h1>\n</html>\n", "502 Bad Gateway"),
    "a text": (b"Internal Server Error", "Internal Server Error"),
    "only broken JSON": (b"data: {broken\n\n", ""),
}


@each_row(("data", "text"), NO_ANSWER.values(), ids=NO_ANSWER)
@CONVERTING
def test_no_answer_is_never_an_empty_success(dialect: str, data: bytes, text: str) -> None:
    got = check_some_splits(dialect, data, tools=TOOLS)
    assert got.error is not None and text in got.error["message"]
    assert (got.content, got.finish_reason) == ("", None)


def test_a_completion_as_a_body_where_sse_was_asked_is_no_empty_success() -> None:
    body = {"id": "x", "object": "chat.completion", "choices": [{"index": 0, "message": {"content": "Hi"}}]}
    got, transformer = run("roo-xml", json.dumps(body).encode(), tools=TOOLS)
    assert got.error is not None
    assert "not-sse" in codes(transformer)


# how an answer ends


@CONVERTING
@each_row("records", ["all", "findings", "none"])
def test_fail_before_a_complete_call_is_an_error(dialect: str, records: Any) -> None:
    transformer = StreamTransformer(dialect, tools=TOOLS, records=records)
    half = CALLS[dialect][:20]
    out = transformer.feed(sse(chunk("Hi\n" + half), done=False)) + transformer.fail(TimeoutError("too slow"))
    got = result(out)
    assert got.error is not None and got.error["message"] == "too slow"
    assert (got.content, got.calls, got.finish_reason) == ("Hi\n" + half, [], None)
    assert transformer.unaccounted == 0
    if records != "none":
        assert "upstream-broke" in codes(transformer)


@CONVERTING
@each_row("records", ["all", "findings", "none"])
def test_fail_after_a_complete_call_closes_the_answer(dialect: str, records: Any) -> None:
    transformer = StreamTransformer(dialect, tools=TOOLS, records=records)
    out = transformer.feed(sse(chunk("Hi\n" + CALLS[dialect] + "\n"), done=False)) + transformer.fail("reset")
    got = result(out)
    assert (got.error, got.content, got.calls, got.finish_reason) == (None, "Hi", [A], "tool_calls")
    if records != "none":
        assert codes(transformer) == ["broke-after-call"]


@each_row("records", ["all", "findings", "none"])
def test_fail_after_arguments_that_are_whole_closes_the_answer(records: Any) -> None:
    """Without its end token the call is not complete, but a client has run it as soon as its JSON parsed."""
    transformer = StreamTransformer("kimi-k2", tools=TOOLS, records=records)
    said = CALLS["kimi-k2"].partition("<|tool_call_end|>")[0]
    out = transformer.feed(sse(chunk(said), done=False)) + transformer.fail("reset")
    got = result(out)
    assert (got.error, got.calls, got.finish_reason) == (None, [A], "tool_calls")
    if records != "none":
        assert codes(transformer)[-1] == "broke-after-call"


@each_row("records", ["all", "findings", "none"])
def test_fail_after_a_complete_native_call_closes_the_answer(records: Any) -> None:
    transformer = StreamTransformer("roo-xml", tools=TOOLS, records=records)
    out = transformer.feed(sse(*(delta(tool_calls=[part]) for part in NATIVE), done=False))
    got = result(out + transformer.fail("reset"))
    assert (got.error, got.calls, got.finish_reason) == (None, [A], "tool_calls")


@each_row("records", ["all", "findings", "none"])
def test_fail_inside_the_arguments_of_a_native_call_is_an_error(records: Any) -> None:
    transformer = StreamTransformer("roo-xml", tools=TOOLS, records=records)
    out = transformer.feed(sse(*(delta(tool_calls=[part]) for part in NATIVE[:2]), done=False))
    got = result(out + transformer.fail("reset"))
    assert got.error is not None and got.finish_reason is None


def test_fail_inside_arguments_that_stream_is_an_error() -> None:
    transformer = StreamTransformer("kimi-k2", tools=TOOLS)
    out = transformer.feed(sse(chunk(f'{BEGIN}functions.read:0{ARGS}{{"path":"a'), done=False))
    got = result(out + transformer.fail("reset"))
    assert got.error is not None and got.finish_reason is None
    assert got.calls == [("read", '{"path":"a')]


def test_fail_after_upstreams_finish_is_a_finish() -> None:
    transformer = StreamTransformer("roo-xml", tools=TOOLS)
    out = transformer.feed(sse(chunk("Hi", finish_reason="stop"), done=False)) + transformer.fail("reset")
    assert result(out) == Result("Hi", finish_reason="stop")


FAULTS: dict[str, tuple[object, str, str]] = {
    "an exception": (ConnectionError("reset by peer"), "reset by peer", "upstream_error"),
    "an exception without words": (TimeoutError(), "TimeoutError", "upstream_error"),
    "a text": ("gone", "gone", "upstream_error"),
    "an error object": ({"message": "gone", "type": "x"}, "gone", "x"),
    "an OpenAI body": ({"error": {"message": "gone", "code": 1}}, "gone", "upstream_error"),
    "nothing": (None, "None", "upstream_error"),
}


@each_row(("fault", "text", "kind"), FAULTS.values(), ids=FAULTS)
def test_fail_before_anything_came(fault: object, text: str, kind: str) -> None:
    got = result(StreamTransformer("roo-xml", tools=TOOLS).fail(fault))
    assert got.error is not None
    assert (got.error["message"], got.error["type"]) == (text, kind)


def test_the_last_event_counts_when_upstream_breaks_behind_it() -> None:
    transformer = StreamTransformer("roo-xml", tools=TOOLS)
    out = transformer.feed(sse(chunk(roo("a")), done=False).rstrip(b"\n"))
    assert out == b""
    assert result(transformer.fail("reset")).calls == [A]


@CONVERTING
def test_an_answer_ends_once(dialect: str) -> None:
    for first in ("finish", "fail"):
        transformer = StreamTransformer(dialect, tools=TOOLS)
        transformer.feed(sse(chunk("Hi"), done=False))
        end = transformer.finish() if first == "finish" else transformer.fail("x")
        assert end.endswith(b"data: [DONE]\n\n")
        assert transformer.ended
        assert [transformer.finish(), transformer.fail("y"), transformer.finish()] == [b"", b"", b""]


def test_what_comes_after_the_end_is_named_and_changes_nothing() -> None:
    data = sse(chunk("Hi", finish_reason="stop")) + sse(chunk(" again"), chunk(finish_reason="length"))
    got, transformer = run("roo-xml", data, tools=TOOLS)
    assert got == Result("Hi", finish_reason="stop")
    assert codes(transformer) == ["event-after-end"] * 2


def test_feed_after_finish_gives_nothing() -> None:
    transformer = StreamTransformer("roo-xml", tools=TOOLS)
    result(transformer.feed(sse(chunk("Hi"), done=False)) + transformer.finish())
    assert transformer.feed(sse(chunk("more"))) == b""
    assert transformer.completion is not None
    assert transformer.completion["choices"][0]["message"]["content"] == "Hi"


def test_raw_bytes_cut_inside_an_event_are_closed_before_the_error() -> None:
    transformer = StreamTransformer("passthrough")
    cut = sse(chunk("Hi"), chunk(" there"), done=False)[:-20]
    assert transformer.feed(cut) == cut
    assert transformer.half_sent
    end = transformer.fail("reset")
    assert end.startswith(b"\n\ndata: ") and end.endswith(b"data: [DONE]\n\n")
    assert json.loads(end.split(b"\n\n")[1][6:])["error"]["message"] == "reset"


# JSON that is not quite JSON


def test_a_surrogate_pair_cut_in_two_is_one_character() -> None:
    data = sse(
        r'{"choices":[{"delta":{"content":"a\ud83d"}}]}', r'{"choices":[{"delta":{"content":"\ude00b"}}]}'
    )
    got, transformer = run("roo-xml", data, tools=TOOLS)
    assert (got.content, codes(transformer)) == ("a😀b", [])


@each_row(
    ("literals", "text"),
    [
        ([r"a\ud83d", "b"], "a\ufffdb"),
        ([r"a\ude00b"], "a\ufffdb"),
        ([r"a\ud83d"], "a\ufffd"),
        ([r"\ud83d\ud83d\ude00"], "\ufffd😀"),
    ],
    ids=str,
)
def test_a_lone_surrogate_is_replaced_and_named(literals: list[str], text: str) -> None:
    events = [f'{{"choices":[{{"delta":{{"content":"{literal}"}}}}]}}' for literal in literals]
    got = check_some_splits("roo-xml", sse(*events), tools=TOOLS)
    assert got.content == text
    _, transformer = run("roo-xml", sse(*events), tools=TOOLS)
    assert codes(transformer) == ["lone-surrogate"]


def test_bytes_that_are_no_utf8_are_replaced_and_named() -> None:
    data = b'data: {"choices":[{"delta":{"content":"a\xff\xc3b"}}]}\n\n' + sse(
        chunk(" c", finish_reason="stop")
    )
    got, transformer = run("roo-xml", data, tools=TOOLS)
    assert (got.content, codes(transformer)) == ("a\ufffd\ufffdb c", ["invalid-utf8"])


@each_row("number", [2**53 + 1, 2**63, 2**64, 2**70, -(2**64), 10**40], ids=str)
def test_a_huge_integer_is_kept(number: int) -> None:
    event = f'{{"choices":[{{"index":0,"delta":{{"content":"Hi"}}}}],"x_number":{number}}}'
    out, _ = transform("roo-xml", sse(event), tools=TOOLS)
    assert result(out).content == "Hi"
    assert chunks_of(out)[0]["x_number"] == number
    assert type(chunks_of(out)[0]["x_number"]) is int


@each_row("word", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_json_does_not_have(word: str) -> None:
    event = f'{{"choices":[{{"index":0,"delta":{{"content":"Hi"}}}}],"x":{word}}}'
    out, _ = transform("roo-xml", sse(event), tools=TOOLS)

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON, strict clients refuse it")

    for data in events_of(out)[:-1]:
        json.loads(data, parse_constant=refuse)
    assert result(out).content == "Hi"


@each_row("depth", [500, 1000, 1500, 100_000])
@each_row("number", ["", "12345678901234567890"], ids=["", "with a long number"])
def test_deep_nesting_is_no_crash(depth: int, number: str) -> None:
    event = '{"choices":[{"delta":{"content":"Hi"}}],"x":' + "[" * depth + number + "]" * depth + "}"
    got, transformer = run("roo-xml", sse(event, chunk(" there", finish_reason="stop")), tools=TOOLS)
    assert got.content == "Hi there"
    assert codes(transformer) in ([], ["nested-too-deep"])


def test_a_number_of_thousands_of_digits_is_no_crash() -> None:
    event = '{"choices":[{"delta":{"content":"Hi"}}],"x":' + "7" * 5000 + "}"
    got, transformer = run("roo-xml", sse(event, chunk(" there", finish_reason="stop")), tools=TOOLS)
    assert got.content == "Hi there"
    assert codes(transformer) == ["number-too-long"]


def test_data_lines_without_blank_lines_between_are_events() -> None:
    lines = [json.dumps(chunk(text)) for text in ("Hi\n<read>\n<pa", "th>a</path>", "</read>")]
    stream = "".join(
        f"data: {line}\n" for line in [*lines, json.dumps(chunk(finish_reason="stop")), "[DONE]"]
    )
    got = check_every_split("roo-xml", stream.encode() + b"\n", tools=TOOLS, twin=False)
    assert (got.content, got.calls, got.finish_reason) == ("Hi", [A], "tool_calls")


def test_one_object_over_several_data_lines_is_one_event() -> None:
    text = json.dumps(chunk("Hi\n" + roo("a"), finish_reason="stop"), indent=1)
    got = check_every_split("roo-xml", sse(text), tools=TOOLS)
    assert (got.content, got.calls) == ("Hi", [A])


# channels


def test_reasoning_in_both_fields_is_one_channel_and_different_texts_are_two() -> None:
    same = sse(delta(reasoning="x " + kimi("a"), reasoning_content="x " + kimi("a")), delta(0, "stop"))
    got = check_some_splits("kimi-k2", same, tools=TOOLS)
    assert got.texts == {"reasoning": "x", "reasoning_content": "x"} and got.calls == [A]
    two = sse(delta(reasoning="x " + kimi("a"), reasoning_content="y " + kimi("b", 1)), delta(0, "stop"))
    got = check_some_splits("kimi-k2", two, tools=TOOLS)
    assert got.texts == {"reasoning": "x", "reasoning_content": "y"} and got.calls == [A, B]


def test_the_thinking_of_qwens_chat_is_reasoning() -> None:
    events = [
        {"choices": [{"delta": {"content": "hm <read> ", "phase": "think", "status": "typing"}}]},
        {"choices": [{"delta": {"content": "yes", "phase": "think", "status": "finished"}}]},
        {"choices": [{"delta": {"content": "Hi\n" + roo("a"), "phase": "answer", "status": "typing"}}]},
        {"choices": [{"delta": {"content": "", "phase": "answer", "status": "finished"}}]},
    ]
    got = check_every_split("roo-xml", sse(*events, done=False), tools=TOOLS)
    assert got.texts == {"reasoning_content": "hm <read> yes", "content": "Hi"}
    assert (got.calls, got.finish_reason) == ([A], "tool_calls")


# hold-back: (piece, all that has left behind it, what is held)

HOLD: dict[str, tuple[str, list[tuple[str, str, int]]]] = {
    "roo, a tag in the middle of a line": (
        "roo-xml",
        [
            ("Use <read", "Use", 6),
            ("> and </re", "Use <read> and", 5),
            ("ad>.", "Use <read> and </read>.", 0),
        ],
    ),
    "roo, a tag at the start of a line, in prose": (
        "roo-xml",
        [
            ("Use\n", "Use", 1),
            ("<re", "Use", 4),
            ("ad>", "Use", 7),
            (" ", "Use", 8),
            ("i", "Use\n<read> i", 0),
            ("s good", "Use\n<read> is good", 0),
        ],
    ),
    "roo, a tag that is none": (
        "roo-xml",
        [
            ("<", "", 1),
            ("r", "", 2),
            ("e ", "<re", 1),
            ("x", "<re x", 0),
            ("\n<", "<re x", 2),
            ("3 you", "<re x\n<3 you", 0),
        ],
    ),
    "roo, a smaller sign": (
        "roo-xml",
        [("a <", "a", 2), (" b <= c", "a < b <= c", 0), ("\n< d", "a < b <= c\n< d", 0)],
    ),
    "roo, HTML at the start of a line": (
        "roo-xml",
        [
            ("<di", "", 3),
            ("v>", "<div>", 0),
            ("x</div>\n", "<div>x</div>", 1),
            ("<p class", "<div>x</div>\n<p class", 0),
        ],
    ),
    "roo, a closing tag is nothing to wait for": (
        "roo-xml",
        [("</re", "</re", 0), ("ad>\n", "</read>", 1), ("</", "</read>\n</", 0)],
    ),
    "roo, an unknown tag without children": (
        "roo-xml",
        [("<foo>", "", 5), ("\n", "", 6), ("b", "<foo>\nb", 0), ("</foo>", "<foo>\nb</foo>", 0)],
    ),
    "roo, an unknown tag inside a code fence": (
        "roo-xml",
        [
            ("```xml\n", "```xml", 1),
            ("<fo", "```xml\n<fo", 0),
            ("o>\n<bar>1</bar>", "```xml\n<foo>\n<bar>1</bar>", 0),
        ],
    ),
    "roo, whitespace may precede a call": (
        "roo-xml",
        [("Hi \n\n", "Hi", 3), ("\t", "Hi", 4), ("x", "Hi \n\n\tx", 0)],
    ),
    "roo, an open call is held, then gone": (
        "roo-xml",
        [
            ("Hi\n<read>\n", "Hi", 8),
            ("<path>", "Hi", 14),
            ("a</path>\n</rea", "Hi", 28),
            ("d>", "Hi", 0),
            ("\n", "Hi", 0),
        ],
    ),
    "qwen, a word that is none": (
        "qwen3-coder",
        [
            ("a <tool", "a", 6),
            ("_x", "a <tool_x", 0),
            (" <func", "a <tool_x", 6),
            ("y", "a <tool_x <funcy", 0),
        ],
    ),
    "qwen, a function nobody offered": (
        "qwen3-coder",
        [
            ("<function=", "", 10),
            ("re", "", 12),
            ("x", "<function=rex", 0),
            ("><function=z", "<function=rex><function=z", 0),
        ],
    ),
    "qwen, closing tags and parameters in prose": (
        "qwen3-coder",
        [
            ("</tool", "</tool", 0),
            ("_call></func", "</tool_call></func", 0),
            ("tion><para", "</tool_call></function><para", 0),
        ],
    ),
    "qwen, <tool_call> in prose": (
        "qwen3-coder",
        [
            ("A <tool_call>", "A", 12),
            (" ", "A", 13),
            ("t", "A <tool_call> t", 0),
            ("ag", "A <tool_call> tag", 0),
        ],
    ),
    "kimi, a word that is none": (
        "kimi-k2",
        [
            ("a <", "a", 2),
            ("|", "a", 3),
            ("im_end|>", "a <|im_end|>", 0),
            (" <|tool_call_x", "a <|im_end|> <|tool_call_x", 0),
        ],
    ),
    "kimi, tokens of a call outside any call": (
        "kimi-k2",
        [(f"a {END}", f"a {END}", 0), (f" {ARGS} b", f"a {END} {ARGS} b", 0)],
    ),
}


@each_row(("dialect", "rows"), HOLD.values(), ids=HOLD)
def test_text_leaves_at_once_and_only_the_undecided_is_held(
    dialect: str, rows: list[tuple[str, str, int]]
) -> None:
    transformer = StreamTransformer(dialect, tools=TOOLS)
    left = ""
    seen = []
    for piece, _, _ in rows:
        for data in events_of(transformer.feed(sse(chunk(piece), done=False))):
            left += json.loads(data)["choices"][0]["delta"].get("content") or ""
        seen.append((piece, left, transformer.unaccounted))
    assert seen == rows
    rest = transformer.finish()
    assert results(rest) if left == "" else rest.endswith(b"data: [DONE]\n\n")
    assert transformer.unaccounted == 0


@CONVERTING
def test_prose_without_any_marker_is_never_held(dialect: str) -> None:
    transformer = StreamTransformer(dialect, tools=TOOLS)
    for word in "read the path, tool_call, function=read, parameter=path: {x} [y] & 1 > 0; é😀".split(" "):
        out = transformer.feed(sse(chunk(word), done=False))
        assert transformer.unaccounted == 0
        assert json.loads(events_of(out)[0])["choices"][0]["delta"]["content"] == word


@each_row("odd", [5, True, {"text": "x"}])
def test_a_content_that_is_no_text_does_not_replace_the_text_of_the_message(odd: Any) -> None:
    transformer = StreamTransformer("roo-xml", tools=TOOLS)
    transformer.feed(sse(chunk("Hi"), {"choices": [{"index": 0, "delta": {"content": odd}}]}))
    transformer.finish()
    assert transformer.completion is not None
    assert transformer.completion["choices"][0]["message"]["content"] == "Hi"
