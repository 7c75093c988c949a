"""Seed 002, "Tool Call Transformation Specification": Kimi's tokens in the reasoning channel."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.client import Result, chunks_of, events_of, message_result, result
from tests.support.cuts import check_every_split, codes, run, transform
from tests.support.streams import JSON, chunk, message, sse, stream_of, tool
from tests.support.tiers import each_row, some
from transformer import DIALECTS, Policy, StreamTransformer, transform_message

SECTION, SECTION_END = "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"
CALL, ARGUMENTS, CALL_END = "<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>"
TOKENS = (SECTION, CALL, ARGUMENTS, CALL_END, SECTION_END)

BASH = tool("bash", {"command": {"type": "string"}})
OTHER = tool("other", {"arg": {"type": "string"}})
NOW = tool("now", {})

META: JSON = {
    "id": "chatcmpl-8c3707e154df23bb",
    "object": "chat.completion.chunk",
    "created": 1772231256,
    "model": "moonshotai/Kimi-K2.5-TEE",
}

# The document's log. Line 12 is broken JSON, read as docs/spec.md, section 8, says. The second call is left
# out there and filled in here.
LOG_DELTAS: list[JSON] = [
    {"reasoning": " <|tool_calls_section_begin|>"},
    {"reasoning": " <|tool_call_begin|>"},
    {"reasoning": " functions"},
    {"reasoning": ".b"},
    {"reasoning": "ash"},
    {"reasoning": ":"},
    {"reasoning": "15"},
    {"reasoning": " <|tool_call_argument_begin|>"},
    {"reasoning": ' {"'},
    {"reasoning": "command"},
    {"reasoning": '": '},
    {"reasoning": ' "'},
    {"reasoning": "ls"},
    {"reasoning": ' -la /usr/include | grep asm"'},
    {"reasoning": "}"},
    {"reasoning": " <|tool_call_end|>"},
    {"reasoning": " <|tool_call_begin|>"},
    {"reasoning": " functions"},
    {"reasoning": ".bash:"},
    {"reasoning": "16"},
    {"reasoning": " <|tool_call_argument_begin|>"},
    {"reasoning": ' {"command": "uname'},
    {"reasoning": ' -a"}'},
    {"reasoning": " <|tool_call_end|>"},
    {"reasoning": " <|tool_calls_section_end|>"},
    {"reasoning": "", "finish_reason": "stop"},
]
USAGE = {"prompt_tokens": 43206, "completion_tokens": 133}
LOG_CALLS = [
    ("bash", '{"command":  "ls -la /usr/include | grep asm"}'),
    ("bash", '{"command": "uname -a"}'),
]
LOG_RESULT = Result(
    calls=LOG_CALLS, ids=["functions.bash:15", "functions.bash:16"], finish_reason="tool_calls", usage=USAGE
)


def log_events(*fields: str, meta: JSON = META) -> list[JSON]:
    """The log as chunks, its text in each of these fields."""
    events = []
    for delta in LOG_DELTAS:
        texts = dict.fromkeys(fields, delta["reasoning"])
        finish = {key: value for key, value in delta.items() if key == "finish_reason"}
        events.append(meta | {"choices": [{"index": 0, "delta": texts | finish}]})
    return [*events, meta | {"choices": [], "usage": USAGE}]


LOG = sse(*log_events("reasoning", "reasoning_content"))


def reasoning(text: str, size: int = 24, **more: Any) -> bytes:
    return stream_of(text, size, "reasoning_content", **more)


def call_text(id: str, arguments: str) -> str:
    return f"{CALL}{id}{ARGUMENTS}{arguments}{CALL_END}"


LS = call_text("functions.bash:0", '{"command": "ls"}')
LS_CALL = ("bash", '{"command": "ls"}')
LS_RESULT = Result(calls=[LS_CALL], ids=["functions.bash:0"], finish_reason="tool_calls")


@each_row(
    "fields",
    [("reasoning", "reasoning_content"), ("reasoning",), ("reasoning_content",), ("content",)],
    ids=" and ".join,
)
def test_example_tool_call_sequence_from_the_log(fields: tuple[str, ...]) -> None:
    data = sse(*log_events(*fields, meta={}))
    assert check_every_split("kimi-k2", data, tools=[BASH]) == LOG_RESULT


def test_example_tool_call_sequence_from_the_log_tools_unknown() -> None:
    assert run("kimi-k2", LOG)[0] == LOG_RESULT


def test_example_tool_call_sequence_from_the_log_as_a_whole_message() -> None:
    text = "".join(delta["reasoning"] for delta in LOG_DELTAS)
    body = message(None, **(META | {"object": "chat.completion", "usage": USAGE}))
    body["choices"][0]["message"] |= {"reasoning": text, "reasoning_content": text}
    got = transform_message(body, dialect="kimi-k2", tools=[BASH])
    assert message_result(got) == LOG_RESULT
    assert {key: got[key] for key in ("id", "created", "model")} == {
        key: META[key] for key in ("id", "created", "model")
    }


def test_sse_event_structure_metadata_is_preserved() -> None:
    extra = {"system_fingerprint": "fp_1", "service_tier": "default", "x_unknown": {"a": [1, None]}}
    out, _ = transform("kimi-k2", sse(*log_events("reasoning", meta=META | extra)), tools=[BASH])
    for event in chunks_of(out):
        assert {key: event.get(key) for key in META | extra} == META | extra
    assert result(out) == LOG_RESULT


def test_special_tokens_never_reach_the_client() -> None:
    out, _ = transform("kimi-k2", LOG, tools=[BASH])
    assert [token for token in TOKENS if token.encode() in out] == []


def test_key_observations_2_both_fields_are_one_channel() -> None:
    text = f"Thinking… {SECTION}{LS}{SECTION_END}"
    data = sse(*(chunk(reasoning=text[at : at + 30]) for at in range(0, len(text), 30)))
    got = check_every_split("kimi-k2", data, tools=[BASH])
    assert got.calls == [LS_CALL]
    assert got.texts == {"reasoning": "Thinking…", "reasoning_content": "Thinking…"}


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content", "content"])
def test_key_observations_2_text_goes_on_in_the_field_it_came_in(field: str) -> None:
    text = f"Thinking… {SECTION}{LS}{SECTION_END} done"
    got = check_every_split("kimi-k2", stream_of(text, 16, field), tools=[BASH])
    assert got.texts == {field: "Thinking… done"}


def test_desired_openai_format() -> None:
    out, _ = transform("kimi-k2", LOG, tools=[BASH])
    deltas = [choice["delta"] for event in chunks_of(out) for choice in event["choices"]]
    calls = [call for delta in deltas for call in delta.get("tool_calls", ())]
    starts = [call for call in calls if "id" in call]
    assert [(call["index"], call["id"], call["type"], call["function"]["name"]) for call in starts] == [
        (0, "functions.bash:15", "function", "bash"),
        (1, "functions.bash:16", "function", "bash"),
    ]


def test_desired_openai_format_final_chunk_usage() -> None:
    out, _ = transform("kimi-k2", LOG, tools=[BASH])
    assert chunks_of(out)[-1] == META | {"choices": [], "usage": USAGE}


FORMAT_STRUCTURE = """<|tool_calls_section_begin|>
<|tool_call_begin|>call_123<|tool_call_argument_begin|>{"command": "ls"}<|tool_call_end|>
<|tool_call_begin|>call_456<|tool_call_argument_begin|>{"arg": "value"}<|tool_call_end|>
<|tool_calls_section_end|>
"""


def test_format_structure() -> None:
    # The ids name no tool: the only one whose schema fits the arguments is meant.
    expected = Result(
        calls=[("bash", '{"command": "ls"}'), ("other", '{"arg": "value"}')],
        ids=["call_123", "call_456"],
        finish_reason="tool_calls",
    )
    assert check_every_split("kimi-k2", reasoning(FORMAT_STRUCTURE), tools=[BASH, OTHER]) == expected


def test_format_structure_an_id_without_a_name_takes_the_only_offered_tool() -> None:
    text = SECTION + call_text("call_123", '{"command": "ls"}') + SECTION_END
    expected = Result(calls=[LS_CALL], ids=["call_123"], finish_reason="tool_calls")
    assert check_every_split("kimi-k2", reasoning(text), tools=[BASH]) == expected


@pytest.mark.parametrize(
    "tools",
    [[NOW, OTHER], [BASH, tool("shell", {"command": {"type": "string"}})]],
    ids=["none fits", "two fit"],
)
def test_format_structure_an_id_that_could_mean_anything_is_text(tools: list[JSON]) -> None:
    block = call_text("call_123", '{"command": "ls"}')
    got = check_every_split("kimi-k2", reasoning(SECTION + block + SECTION_END), tools=tools)
    assert got == Result(reasoning=block, finish_reason="stop")
    _, transformer = run("kimi-k2", reasoning(SECTION + block + SECTION_END), tools=tools)
    assert "unnamed-call" in codes(transformer)


def test_handling_mixed_content_in_a_single_sse_packet() -> None:
    # docs/spec.md, section 8: the text stays in its channel, the token is recorded.
    data = sse(chunk(reasoning="Hello <|tool_calls_section_begin|>world"))
    assert check_every_split("kimi-k2", data, tools=[BASH]) == Result(
        reasoning="Hello world", finish_reason="stop"
    )
    _, transformer = run("kimi-k2", data, tools=[BASH])
    (finding,) = transformer.findings
    assert SECTION in finding.message


def test_handling_mixed_content_with_the_documents_own_reading() -> None:
    data = sse(chunk(reasoning="Hello <|tool_calls_section_begin|>world"))
    policy = Policy(text_channel="content")
    got = check_every_split("kimi-k2", data, tools=[BASH], policy=policy)
    assert got == Result("Hello world", finish_reason="stop")


MIXED = {
    "content, section, content": (f"Hello {SECTION}{LS}{SECTION_END} world", "Hello world"),
    "content, section": (f"Hello {SECTION}{LS}{SECTION_END}", "Hello"),
    "section, content": (f"{SECTION}{LS}{SECTION_END}world", "world"),
    "lines": (f"Hello\n\n{SECTION}\n{LS}\n{SECTION_END}\nworld\n", "Hello\nworld\n"),
}


@each_row(("text", "expected"), MIXED.values(), ids=MIXED)
@each_row("size", [1000, 19], ids=["one packet", "many"])
def test_key_points_3_tokens_can_be_mixed_with_content(text: str, expected: str, size: int) -> None:
    got = check_every_split("kimi-k2", reasoning(text, size), tools=[BASH])
    assert got == Result(
        reasoning=expected, calls=[LS_CALL], ids=["functions.bash:0"], finish_reason="tool_calls"
    )
    policy = Policy(text_channel="content")
    got = check_every_split("kimi-k2", reasoning(text, size), tools=[BASH], policy=policy)
    assert got == Result(expected, calls=[LS_CALL], ids=["functions.bash:0"], finish_reason="tool_calls")


def seen_after_each_event(parts: list[str], **kwargs: Any) -> list[tuple[str, str]]:
    """Reasoning (but for blanks at its end: they may be held back) and arguments after each event."""
    transformer = StreamTransformer(dialect="kimi-k2", tools=[BASH], **kwargs)
    text = arguments = ""
    seen = []
    for part in parts:
        for data in events_of(transformer.feed(sse(chunk(reasoning=part), done=False))):
            delta = json.loads(data)["choices"][0]["delta"]
            text += delta.get("reasoning") or ""
            calls = delta.get("tool_calls") or ()
            arguments += "".join(call["function"].get("arguments", "") for call in calls)
        seen.append((text.rstrip(), arguments))
    return seen


def test_state_machine_text_leaves_and_arguments_leave_as_they_arrive() -> None:
    table = [
        ("Let me look", "Let me look", ""),
        (". ", "Let me look.", ""),
        ("<|tool_calls_", "Let me look.", ""),
        ("section_begin|>", "Let me look.", ""),
        (f"{CALL}functions.bash:0", "Let me look.", ""),
        (ARGUMENTS, "Let me look.", ""),
        ('{"comm', "Let me look.", '{"comm'),
        ('and": "ls', "Let me look.", '{"command": "ls'),
        (' -la"}', "Let me look.", '{"command": "ls -la"}'),
        (CALL_END, "Let me look.", '{"command": "ls -la"}'),
        (SECTION_END, "Let me look.", '{"command": "ls -la"}'),
        (" Done.", "Let me look. Done.", '{"command": "ls -la"}'),
    ]
    seen = seen_after_each_event([row[0] for row in table])
    assert seen == [(text, arguments) for _, text, arguments in table]


def test_state_machine_a_marker_like_word_is_held_only_until_it_is_ruled_out() -> None:
    table = [("a <|tool", "a"), (" b", "a <|tool b"), (" <", "a <|tool b"), ("|x", "a <|tool b <|x")]
    seen = seen_after_each_event([part for part, _ in table])
    assert [text for text, _ in seen] == [text for _, text in table]


FINISH = {
    "stop with a call": (LS, "stop", "tool_calls"),
    "nothing with a call": (LS, None, "tool_calls"),
    "length with a call": (LS, "length", "length"),
    "content_filter with a call": (LS, "content_filter", "content_filter"),
    "tool_calls with a call": (LS, "tool_calls", "tool_calls"),
    "stop without a call": ("Hello", "stop", "stop"),
    "nothing without a call": ("Hello", None, "stop"),
    "tool_calls without a call": ("Hello", "tool_calls", "stop"),
    "length without a call": ("Hello", "length", "length"),
}


@each_row(("text", "said", "expected"), FINISH.values(), ids=FINISH)
@each_row("place", ["choice", "delta"])
def test_state_machine_finish_reason(text: str, said: str | None, expected: str, place: str) -> None:
    # "Pass through unchanged" yields to docs/spec.md, section 3, or clients would never run the call.
    last: JSON = {"index": 0, "delta": {"reasoning": ""}}
    (last if place == "choice" else last["delta"])["finish_reason"] = said
    data = sse(chunk(reasoning=text), {"choices": [last]})
    assert check_every_split("kimi-k2", data, tools=[BASH]).finish_reason == expected


def test_state_machine_finish_reason_passed_through_unchanged_if_wanted() -> None:
    policy = Policy(finish_reason="upstream")
    got = check_every_split("kimi-k2", reasoning(LS, finish="stop"), tools=[BASH], policy=policy)
    assert (got.calls, got.finish_reason) == ([LS_CALL], "stop")


ARGS = '{"command": "ls"}'
IDS: dict[str, tuple[str, list[str]]] = {
    "as in the example": (call_text("call_abc123", ARGS), ["call_abc123"]),
    "as Kimi writes it": (call_text("functions.bash:15", ARGS), ["functions.bash:15"]),
    "without functions.": (call_text("bash:15", ARGS), ["bash:15"]),
    "blanks around": (call_text(" functions.bash:15 ", f" {ARGS} "), ["functions.bash:15"]),
    "newlines around": (call_text("\nfunctions.bash:15\n", f"\n{ARGS}\n"), ["functions.bash:15"]),
    "missing": (call_text("", ARGS), ["call_0_1700000000"]),
    "blank": (call_text("  ", ARGS), ["call_0_1700000000"]),
    "repeated": (
        call_text("functions.bash:0", ARGS) + call_text("functions.bash:0", ARGS),
        ["functions.bash:0", "call_1_1700000000"],
    ),
    "missing twice": (
        call_text("", ARGS) + call_text("", ARGS),
        ["call_0_1700000000", "call_1_1700000000"],
    ),
}


@each_row(("text", "ids"), IDS.values(), ids=IDS)
def test_id_handling(text: str, ids: list[str]) -> None:
    data = reasoning(SECTION + text + SECTION_END)
    got = check_every_split("kimi-k2", data, tools=[BASH], now=1700000000)
    assert got == Result(calls=[LS_CALL] * len(ids), ids=ids, finish_reason="tool_calls")
    fallbacks = sum(id.endswith("_1700000000") for id in ids)
    _, transformer = run("kimi-k2", data, tools=[BASH], now=1700000000)
    assert codes(transformer) == ["generated-id"] * fallbacks


def test_id_handling_the_name_may_hold_dots_and_colons() -> None:
    text = SECTION + call_text("functions.mcp.server:do:3", "{}") + SECTION_END
    got = check_every_split("kimi-k2", reasoning(text), tools=[tool("mcp.server:do", {})])
    assert (got.calls, got.ids) == ([("mcp.server:do", "{}")], ["functions.mcp.server:do:3"])


def test_output_requirements_2_valid_sse_format() -> None:
    out, _ = transform("kimi-k2", LOG, tools=[BASH])
    *events, rest = out.decode().split("\n\n")
    assert rest == ""
    assert events.pop() == "data: [DONE]"
    for event in events:
        assert event.startswith("data: {") and "\n" not in event
        json.loads(event.removeprefix("data: "))


@each_row("size", [1, 2, 3, 5, 8, 13])
def test_output_requirements_3_split_tokens_are_reassembled(size: int) -> None:
    text = f"Hm.\n{SECTION}{LS}{SECTION_END}"
    got, _ = run("kimi-k2", reasoning(text, size), tools=[BASH])
    assert got == Result(
        reasoning="Hm.", calls=[LS_CALL], ids=["functions.bash:0"], finish_reason="tool_calls"
    )


def test_output_requirements_4_only_meaningful_output() -> None:
    out, _ = transform("kimi-k2", [event + b"\n\n" for event in LOG.split(b"\n\n") if event], tools=[BASH])
    for event in chunks_of(out):
        for choice in event["choices"]:
            delta = choice["delta"]
            said = [value for key, value in delta.items() if key != "role" and value]
            assert said or "role" in delta or choice["finish_reason"], event
            for call in delta.get("tool_calls", ()):
                assert "id" in call or call["function"]["arguments"], event


def test_output_requirements_5_chunks_without_tool_calls_pass_unchanged() -> None:
    first = META | chunk(role="assistant", content="Hello")
    second = META | chunk(" world", reasoning="thinking", logprobs_of_ours={"a": 1})
    last = META | chunk(finish_reason="stop")
    usage = META | {"choices": [], "usage": USAGE, "x": True}
    out, _ = transform("kimi-k2", sse(first, second, last, usage), tools=[BASH])
    got = chunks_of(out)
    assert got[0] == first
    assert got[-1] == usage
    assert result(out) == Result("Hello world", "thinking", finish_reason="stop", usage=USAGE)


EMPTY = {
    "nothing between the tokens": "",
    "a blank between the tokens": " ",
    "an empty object": "{}",
}


@pytest.mark.parametrize("arguments", EMPTY.values(), ids=EMPTY)
def test_edge_case_1_empty_arguments(arguments: str) -> None:
    text = SECTION + call_text("functions.now:0", arguments) + SECTION_END
    expected = Result(calls=[("now", "{}")], ids=["functions.now:0"], finish_reason="tool_calls")
    assert check_every_split("kimi-k2", reasoning(text), tools=[NOW]) == expected


def test_edge_case_2_multiple_tool_calls() -> None:
    blocks = [call_text(f"functions.bash:{n}", f'{{"command": "echo {n}"}}') for n in range(3)]
    expected = Result(
        calls=[("bash", f'{{"command": "echo {n}"}}') for n in range(3)],
        ids=[f"functions.bash:{n}" for n in range(3)],
        finish_reason="tool_calls",
    )
    texts = [SECTION + between.join(["", *blocks, ""]) + SECTION_END for between in ("", " ", "\n")]
    texts.append("".join(SECTION + block + SECTION_END for block in blocks))  # a section for each
    for text in texts:
        for size in (1, 7, 40):
            assert run("kimi-k2", reasoning(text, size), tools=[BASH])[0] == expected
    assert check_every_split("kimi-k2", reasoning("\n".join(blocks), 60), tools=[BASH]) == expected


def test_edge_case_3_nested_tool_calls_a_begin_closes_the_open_call() -> None:
    text = (
        f'{SECTION}{CALL}functions.bash:0{ARGUMENTS}{{"command": "ls"}}'
        f'{CALL}functions.other:1{ARGUMENTS}{{"arg": "value"}}{CALL_END}{SECTION_END}'
    )
    expected = Result(
        calls=[LS_CALL, ("other", '{"arg": "value"}')],
        ids=["functions.bash:0", "functions.other:1"],
        finish_reason="tool_calls",
    )
    assert check_every_split("kimi-k2", reasoning(text), tools=[BASH, OTHER]) == expected


@each_row("token", TOKENS)
def test_edge_case_3_nested_tool_calls_a_token_inside_a_json_string_is_data(token: str) -> None:
    arguments = f'{{"command": "echo \\"{token}\\" {token}"}}'
    text = SECTION + call_text("functions.bash:0", arguments) + SECTION_END
    got = check_every_split("kimi-k2", reasoning(text), tools=[BASH])
    assert got.calls == [("bash", arguments)]


def test_edge_case_4_token_boundary() -> None:
    parts = [
        SECTION[:9],
        SECTION[9:] + CALL[:3],
        CALL[3:] + "func",
        "tions.b",
        "ash",
        ":",
        "1",
        "5" + ARGUMENTS[:20],
    ]
    parts += [
        ARGUMENTS[20:] + "{",
        '"comma',
        'nd": "l',
        's"',
        "}" + CALL_END[:-1],
        CALL_END[-1] + SECTION_END,
    ]
    data = sse(*(chunk(reasoning=part) for part in parts))
    expected = Result(calls=[LS_CALL], ids=["functions.bash:15"], finish_reason="tool_calls")
    assert check_every_split("kimi-k2", data, tools=[BASH]) == expected


def test_edge_case_5_no_tool_calls() -> None:
    data = sse(chunk(role="assistant", reasoning="Let me think."), chunk("The answer is 42 < 43 |> ok."))
    got = check_every_split("kimi-k2", data, tools=[BASH])
    assert got == Result("The answer is 42 < 43 |> ok.", "Let me think.", finish_reason="stop")


ERRORS: dict[str, tuple[JSON, str]] = {
    "OpenAI's shape": (
        {
            "error": {
                "message": "Rate limit reached",
                "type": "rate_limit_error",
                "param": None,
                "code": "429",
            }
        },
        "Rate limit reached",
    ),
    "a message alone": ({"error": {"message": "overloaded"}}, "overloaded"),
    "a text": ({"error": "overloaded"}, "overloaded"),
    "vLLM's older shape": (
        {"object": "error", "message": "too long", "type": "BadRequestError", "param": None, "code": 400},
        "too long",
    ),
}


@each_row(("event", "text"), ERRORS.values(), ids=ERRORS)
@each_row("dialect", [name for name in DIALECTS if name != "passthrough"])
def test_edge_case_6_error_responses(dialect: str, event: JSON, text: str) -> None:
    # Status codes are the proxy's business; the object in the stream is ours. No dialect reads it: in the
    # quick tier some have every cut of it.
    cut = dialect in some(DIALECTS, 5)
    for before in ([], [chunk("Hello")]):
        for done in (True, False):
            data = sse(*before, event, done=done)
            if cut:
                got = check_every_split(dialect, data, tools=[BASH], twin=False)
            else:
                got, _ = run(dialect, data, tools=[BASH])
            assert got.error is not None
            assert text in got.error["message"]
            assert got.content == ("Hello" if before else "")
            assert got.finish_reason is None
    _, transformer = run(dialect, sse(event), tools=[BASH])
    assert codes(transformer) == ["upstream-error"]


def test_edge_case_6_error_responses_keep_type_and_code() -> None:
    event, _ = ERRORS["OpenAI's shape"]
    got, _ = run("kimi-k2", sse(event), tools=[BASH])
    assert got.error is not None
    assert {key: got.error[key] for key in ("message", "type", "code")} == {
        key: event["error"][key] for key in ("message", "type", "code")
    }


def test_edge_case_7_mixed_content_in_the_content_channel() -> None:
    data = sse(chunk(f"Hello {SECTION}{LS}{SECTION_END}"))
    expected = Result("Hello", calls=[LS_CALL], ids=["functions.bash:0"], finish_reason="tool_calls")
    assert check_every_split("kimi-k2", data, tools=[BASH]) == expected


def test_edge_case_7_mixed_content_in_two_channels_of_one_packet() -> None:
    data = sse(chunk("Hello", reasoning=f"Hm. {SECTION}{LS}{SECTION_END}"))
    expected = Result("Hello", "Hm.", calls=[LS_CALL], ids=["functions.bash:0"], finish_reason="tool_calls")
    assert check_every_split("kimi-k2", data, tools=[BASH]) == expected


def test_edge_case_8_trailing_content() -> None:
    text = f"{SECTION}{LS}{SECTION_END}\n\nThat is all.\n"
    got = check_every_split("kimi-k2", reasoning(text), tools=[BASH])
    assert got == Result(
        reasoning="\n\nThat is all.\n", calls=[LS_CALL], ids=["functions.bash:0"], finish_reason="tool_calls"
    )
    policy = Policy(text_channel="content")
    got = check_every_split("kimi-k2", reasoning(text), tools=[BASH], policy=policy)
    assert got == Result(
        "\n\nThat is all.\n", calls=[LS_CALL], ids=["functions.bash:0"], finish_reason="tool_calls"
    )


def test_edge_case_8_trailing_whitespace_alone_is_dropped() -> None:
    assert (
        check_every_split("kimi-k2", reasoning(f"{SECTION}{LS}{SECTION_END}\n\n"), tools=[BASH]) == LS_RESULT
    )


SLOPPY = {
    "no section tokens": LS,
    "no section end": SECTION + LS,
    "singular section tokens": f"<|tool_call_section_begin|>{LS}<|tool_call_section_end|>",
    "no call end before the section's end": SECTION + LS.removesuffix(CALL_END) + SECTION_END,
    "no call end at all": SECTION + LS.removesuffix(CALL_END),
}


@each_row("text", SLOPPY.values(), ids=SLOPPY)
def test_special_tokens_missing_or_singular_are_accepted(text: str) -> None:
    assert check_every_split("kimi-k2", reasoning(text), tools=[BASH]) == LS_RESULT


TRUNCATED = {
    "in the arguments": ('{"command": "l', '{"command": "l'),
    "after a backslash": ('{"command": "l\\', '{"command": "l\\'),
    "before the end token": ('{"command": "ls"}', '{"command": "ls"}'),
    "in the end token": ('{"command": "ls"}<|tool_call_e', '{"command": "ls"}'),
}


@each_row(("arguments", "expected"), TRUNCATED.values(), ids=TRUNCATED)
def test_streaming_a_call_cut_off_is_closed_as_it_is(arguments: str, expected: str) -> None:
    data = reasoning(f"{SECTION}{CALL}functions.bash:0{ARGUMENTS}{arguments}", finish="length")
    got = check_every_split("kimi-k2", data, tools=[BASH])
    assert got == Result(calls=[("bash", expected)], ids=["functions.bash:0"], finish_reason="length")
    assert "truncated-call" in codes(run("kimi-k2", data, tools=[BASH])[1]) or expected.endswith("}")


@each_row("text", [f"{CALL}functions.bash:0", CALL, f"{CALL}functions.ba", CALL[:8]])
def test_streaming_a_call_cut_off_before_its_arguments_is_text(text: str) -> None:
    got = check_every_split("kimi-k2", reasoning(f"Hm. {text}", finish="length"), tools=[BASH])
    assert got == Result(reasoning=f"Hm. {text}", finish_reason="length")
