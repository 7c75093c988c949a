"""docs/spec.md, section 6: every switch, what it changes, and that it changes nothing else."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any, TypeAlias

import pytest

from tests.support.client import Result, events_of, message_result
from tests.support.cuts import check_every_split, codes, run, transform
from tests.support.streams import JSON, chunk, message, sse, stream_of, tool
from tests.support.tiers import each_row
from transformer import DIALECTS, Policy, PolicyError, StreamTransformer, transform_message
from transformer.policy import CHOICES

TEXT = {"type": "string"}
READ = tool("read", {"path": TEXT})
EDIT = tool(
    "edit",
    {"path": TEXT, "count": {"type": "integer"}, "list": {"type": "array"}},
    required=["path", "count"],
)
TOOLS = [READ, EDIT]

BEGIN, ARGS, END = "<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>"


def roo(path: str, name: str = "read") -> str:
    return f"<{name}>\n<path>{path}</path>\n</{name}>"


def qwen(path: str, name: str = "read") -> str:
    parameter = f"<parameter=path>\n{path}\n</parameter>"
    return f"<tool_call>\n<function={name}>\n{parameter}\n</function>\n</tool_call>"


def kimi(path: str, name: str = "read", number: int = 0) -> str:
    return f'{BEGIN}functions.{name}:{number}{ARGS}{{"path":"{path}"}}{END}'


WRITERS = {"roo-xml": roo, "qwen3-coder": qwen, "kimi-k2": kimi}
CONVERTING = each_row("dialect", WRITERS)


def call(path: str, name: str = "read") -> tuple[str, str]:
    return name, f'{{"path":"{path}"}}'


# A switch that does not concern an answer changes nothing

SWITCHES: list[JSON] = [
    *({key: value} for key, values in CHOICES.items() for value in values),
    {"channels": ["content"]},
    {"channels": ["content", "reasoning"]},
    {"max_call_bytes": 4096},
]


@each_row("switch", SWITCHES, ids=[json.dumps(switch) for switch in SWITCHES])
@CONVERTING
def test_an_answer_that_a_switch_does_not_concern(dialect: str, switch: JSON) -> None:
    text = "Let me read it.\n\n" + WRITERS[dialect]("a") + "\n"
    expected = run(dialect, stream_of(text, finish="tool_calls"), tools=TOOLS)
    got = run(dialect, stream_of(text, finish="tool_calls"), tools=TOOLS, policy=switch)
    assert got[0] == expected[0]
    assert got[0].calls == [call("a")] and got[0].content == "Let me read it."
    assert codes(got[1]) == codes(expected[1]) == []
    assert got[1].completion == expected[1].completion


@CONVERTING
def test_the_defaults_said_aloud_change_no_byte(dialect: str) -> None:
    text = "Hi\n" + WRITERS[dialect]("a") + "\n" + WRITERS[dialect]("b") + " bye"
    expected = transform(dialect, stream_of(text), tools=TOOLS)[0]
    assert transform(dialect, stream_of(text), tools=TOOLS, policy=DIALECTS[dialect].policy)[0] == expected
    assert transform(dialect, stream_of(text), tools=TOOLS, policy={})[0] == expected


# docs/spec.md, section 5: the table of defaults
DEFAULTS: dict[str, JSON] = {
    "roo-xml": {
        "tools": "inject", "channels": ("content",), "unknown_tools": "call", "malformed": "text",
        "calls": "first",
        "arguments": "whole", "after_call": "drop",
    },
    "qwen3-coder": {
        "tools": "template", "channels": ("content",), "unknown_tools": "call", "malformed": "text",
        "calls": "all",
        "arguments": "whole", "after_call": "keep",
    },
    "kimi-k2": {
        "tools": "template", "channels": ("content", "reasoning"), "unknown_tools": "call",
        "malformed": "text",
        "calls": "all", "arguments": "stream", "after_call": "keep",
    },
    **{
        name: {
            "tools": "template", "channels": ("content", "reasoning"), "unknown_tools": "call",
            "malformed": "text",
            "calls": "all", "arguments": "whole", "after_call": "keep",
        }
        for name in ("glm", "minimax-m2", "deepseek-dsml")
    },
    "seed-oss": {
        "tools": "template", "channels": ("content",), "unknown_tools": "call", "malformed": "text",
        "calls": "all", "arguments": "whole", "after_call": "keep",
    },
    **{
        name: {
            "tools": "inject", "channels": ("content",), "unknown_tools": "call", "malformed": "text",
            "calls": "all", "arguments": "whole", "after_call": "keep",
        }
        for name in ("functions-invoke", "toolbridge")
    },
    **{
        name: {
            "tools": "template", "channels": ("content",), "unknown_tools": "call", "malformed": "text",
            "calls": "all", "arguments": "stream", "after_call": "keep",
        }
        for name in (
            "hermes", "longcat", "nemotron-toolcall", "mistral", "llama3-json", "deepseek-v3", "deepseek-v31",
            "harmony",
        )
    },
    "pythonic": {
        "tools": "template", "channels": ("content",), "unknown_tools": "call", "malformed": "text",
        "calls": "all", "arguments": "whole", "after_call": "keep",
    },
    "auto": {
        "tools": "pass", "channels": ("content", "reasoning"), "unknown_tools": "call", "malformed": "text",
        "calls": "all", "arguments": "whole", "after_call": "keep",
    },
    "passthrough": {"tools": "pass", "channels": ()},
}  # fmt: skip
# Their templates leave a think block open before a call
CALLS_IN_THINK = {"qwen3-coder", "kimi-k2", "glm", "minimax-m2", "auto"}
SHARED = {"finish_reason": "rewrite", "text_channel": "same", "max_call_bytes": 16 * 1024 * 1024}


@each_row("dialect", DIALECTS)
def test_defaults(dialect: str) -> None:
    policy = DIALECTS[dialect].policy
    wanted = DEFAULTS[dialect] | ({} if dialect == "passthrough" else SHARED)
    wanted |= {"in_think": "call" if dialect in CALLS_IN_THINK else "text"}
    assert {key: getattr(policy, key) for key in wanted} == wanted
    said = {field.name for field in fields(policy) if getattr(policy, field.name) is not None}
    assert said == {field.name for field in fields(policy)} - {"expect"}


# What each switch changes: text -> content, calls, finish_reason, finding codes

Row: TypeAlias = tuple[str, JSON, str, str, list[tuple[str, str]], str, list[str]]
R2 = roo("a") + "\n" + roo("b")
Q2 = qwen("a") + "\n" + qwen("b")
K2 = kimi("a") + kimi("b", number=1)
ZIP = {"roo-xml": roo("z", "zip"), "qwen3-coder": qwen("z", "zip"), "kimi-k2": kimi("z", "zip")}
A, B, Z = call("a"), call("b"), call("z", "zip")

ROWS: dict[str, Row] = {
    # calls
    "roo, first call": ("roo-xml", {}, R2, "", [A], "tool_calls", ["call-after-first"]),
    "roo, all calls": ("roo-xml", {"calls": "all"}, R2, "", [A, B], "tool_calls", []),
    "qwen, all calls": ("qwen3-coder", {}, Q2, "", [A, B], "tool_calls", []),
    "qwen, first call": ("qwen3-coder", {"calls": "first"}, Q2, "", [A], "tool_calls", ["call-after-first"]),
    "qwen, first call, text around": (
        "qwen3-coder",
        {"calls": "first"},
        f"x\n{qwen('a')}\ny\n{qwen('b')}\nz",
        "x\ny\nz",
        [A],
        "tool_calls",
        ["call-after-first"],
    ),
    "kimi, all calls": ("kimi-k2", {}, K2, "", [A, B], "tool_calls", []),
    "kimi, first call": ("kimi-k2", {"calls": "first"}, K2, "", [A], "tool_calls", ["call-after-first"]),
    "roo, all calls does not mean all text": (
        "roo-xml",
        {"calls": "all"},
        f"x\n{roo('a')}\ny\n{roo('b')}\nz",
        "x",
        [A, B],
        "tool_calls",
        ["text-after-call", "text-after-call"],
    ),
    # after_call
    "roo, text after a call dropped": (
        "roo-xml",
        {},
        f"x\n{roo('a')}\ny",
        "x",
        [A],
        "tool_calls",
        ["text-after-call"],
    ),
    "roo, text after a call kept": (
        "roo-xml",
        {"after_call": "keep"},
        f"x\n{roo('a')}\ny\n",
        "x\ny\n",
        [A],
        "tool_calls",
        [],
    ),
    "roo, text after a call kept, a second call dropped": (
        "roo-xml",
        {"after_call": "keep"},
        f"x\n{roo('a')}\ny\n{roo('b')} z",
        "x\ny z",
        [A],
        "tool_calls",
        ["call-after-first"],
    ),
    "qwen, text after a call dropped": (
        "qwen3-coder",
        {"after_call": "drop"},
        f"x\n{qwen('a')}\ny\n{qwen('b')}\nz",
        "x",
        [A, B],
        "tool_calls",
        ["text-after-call", "text-after-call"],
    ),
    "kimi, text after a call dropped": (
        "kimi-k2",
        {"after_call": "drop"},
        f"x {kimi('a')} y",
        "x",
        [A],
        "tool_calls",
        ["text-after-call"],
    ),
    "whitespace alone after a call is nothing to report": (
        "roo-xml",
        {},
        f"{roo('a')}\n\n ",
        "",
        [A],
        "tool_calls",
        [],
    ),
    # unknown_tools
    **{
        f"{dialect}, a tool nobody offered": (
            dialect,
            {},
            f"x\n{text}",
            "x",
            [Z],
            "tool_calls",
            ["unknown-tool"],
        )
        for dialect, text in ZIP.items()
    },
    **{
        f"{dialect}, a tool nobody offered is text": (
            dialect,
            {"unknown_tools": "text"},
            f"x\n{text} y",
            f"x\n{text} y",
            [],
            "stop",
            [],
        )
        for dialect, text in ZIP.items()
    },
    **{
        f"{dialect}, a tool nobody offered is text, an offered one a call": (
            dialect,
            {"unknown_tools": "text", "after_call": "keep"},
            f"{text}\n{WRITERS[dialect]('a')}",
            text,
            [A],
            "tool_calls",
            [],
        )
        for dialect, text in ZIP.items()
    },
    # malformed: repair closes what is open only when the schema makes it unambiguous, and records it
    "roo, an unclosed parameter": (
        "roo-xml",
        {},
        "<read>\n<path>a\n</read>",
        "<read>\n<path>a\n</read>",
        [],
        "stop",
        ["unclosed-parameter"],
    ),
    "roo, an unclosed parameter repaired": (
        "roo-xml",
        {"malformed": "repair"},
        "<read>\n<path>a\n</read>",
        "",
        [A],
        "tool_calls",
        ["repaired-parameter"],
    ),
    "roo, an unclosed call": (
        "roo-xml",
        {},
        "<read>\n<path>a</path>\n",
        "<read>\n<path>a</path>\n",
        [],
        "stop",
        ["truncated-call"],
    ),
    "roo, an unclosed call repaired": (
        "roo-xml",
        {"malformed": "repair"},
        "<read>\n<path>a</path>\n",
        "",
        [A],
        "tool_calls",
        ["repaired-call"],
    ),
    "roo, an unclosed number repaired": (
        "roo-xml",
        {"malformed": "repair"},
        "<edit>\n<path>a</path>\n<count>3",
        "",
        [("edit", '{"path":"a","count":3}')],
        "tool_calls",
        ["repaired-parameter", "repaired-call"],
    ),
    "roo, an unclosed text is not repaired: it may go on": (
        "roo-xml",
        {"malformed": "repair"},
        "<read>\n<path>a",
        "<read>\n<path>a",
        [],
        "stop",
        ["truncated-call"],
    ),
    "roo, a required parameter is missing: no repair": (
        "roo-xml",
        {"malformed": "repair"},
        "<edit>\n<path>a\n</edit>",
        "<edit>\n<path>a\n</edit>",
        [],
        "stop",
        ["unclosed-parameter"],
    ),
    "roo, a parameter the schema doesn't know: no repair": (
        "roo-xml",
        {"malformed": "repair"},
        "<read>\n<mode>a\n</read>",
        "<read>\n<mode>a\n</read>",
        [],
        "stop",
        ["unclosed-parameter"],
    ),
    "roo, two possible ends: no repair": (
        "roo-xml",
        {"malformed": "repair"},
        "<read>\n<path>a\n</read>\nx\n</read>",
        "<read>\n<path>a\n</read>\nx\n</read>",
        [],
        "stop",
        ["unclosed-parameter"],
    ),
    "qwen, an unclosed call": (
        "qwen3-coder",
        {},
        "<function=read>\n<parameter=path>\na\n</parameter>\n",
        "<function=read>\n<parameter=path>\na\n</parameter>\n",
        [],
        "stop",
        ["truncated-call"],
    ),
    "qwen, an unclosed call repaired": (
        "qwen3-coder",
        {"malformed": "repair"},
        "<function=read>\n<parameter=path>\na\n</parameter>\n",
        "",
        [A],
        "tool_calls",
        ["repaired-call"],
    ),
    "qwen, an unclosed text is not repaired": (
        "qwen3-coder",
        {"malformed": "repair"},
        "<function=read>\n<parameter=path>\na",
        "<function=read>\n<parameter=path>\na",
        [],
        "stop",
        ["truncated-call"],
    ),
    "qwen, a required parameter is missing: no repair": (
        "qwen3-coder",
        {"malformed": "repair"},
        "<function=edit>\n<parameter=path>a</parameter>",
        "<function=edit>\n<parameter=path>a</parameter>",
        [],
        "stop",
        ["truncated-call"],
    ),
    "qwen, a value in its tag repaired": (
        "qwen3-coder",
        {"malformed": "repair"},
        "<function=read>\n<parameter=path=a</parameter>\n</function>",
        "",
        [A],
        "tool_calls",
        ["repaired-parameter"],
    ),
    "kimi, cut arguments": (
        "kimi-k2",
        {},
        f'{BEGIN}functions.read:0{ARGS}{{"path":"a',
        "",
        [("read", '{"path":"a')],
        "tool_calls",
        ["truncated-call"],
    ),
    "kimi, arguments without their brace repaired": (
        "kimi-k2",
        {"malformed": "repair"},
        f'{BEGIN}functions.read:0{ARGS}{{"path":"a"',
        "",
        [A],
        "tool_calls",
        ["repaired-call"],
    ),
    "kimi, a required parameter is missing: no repair": (
        "kimi-k2",
        {"malformed": "repair"},
        f'{BEGIN}functions.edit:0{ARGS}{{"path":"a"',
        "",
        [("edit", '{"path":"a"')],
        "tool_calls",
        ["truncated-call"],
    ),
    # max_call_bytes: a runaway call is text again
    "a call of just the bytes allowed": (
        "roo-xml",
        {"max_call_bytes": len(roo("é")) + 1},
        roo("é"),
        "",
        [call("é")],
        "tool_calls",
        [],
    ),
    "a call of one byte more": (
        "roo-xml",
        {"max_call_bytes": len(roo("é"))},
        roo("é"),
        roo("é"),
        [],
        "stop",
        ["call-too-long"],
    ),
    "qwen, a call of just the bytes allowed": (
        "qwen3-coder",
        {"max_call_bytes": len(qwen("a")) - len("\n</tool_call>")},
        qwen("a"),
        "",
        [A],
        "tool_calls",
        [],
    ),
    "kimi, a call of just the bytes allowed": (
        "kimi-k2",
        {"max_call_bytes": len(kimi("a"))},
        kimi("a"),
        "",
        [A],
        "tool_calls",
        [],
    ),
    "kimi, a whole call that grows too long is text": (
        "kimi-k2",
        {"max_call_bytes": len(kimi("a")) - 1, "arguments": "whole"},
        "x " + kimi("a"),
        "x " + kimi("a"),
        [],
        "stop",
        ["call-too-long"],
    ),
}


@each_row("row", ROWS.values(), ids=ROWS)
def test_what_a_switch_changes(row: Row) -> None:
    dialect, policy, text, content, calls, finish, found = row
    for size in (1, 3, 7, len(text)):
        got, transformer = run(dialect, stream_of(text, size), tools=TOOLS, policy=policy)
        assert (got.content, got.calls, got.finish_reason) == (content, calls, finish)
        assert codes(transformer) == found
        assert transformer.unaccounted == 0
    whole = message_result(transform_message(message(text), dialect=dialect, tools=TOOLS, policy=policy))
    assert (whole.content, whole.calls, whole.finish_reason) == (content, calls, finish)


@each_row("reason", ["length", "content_filter"])
@each_row(
    ("dialect", "text"),
    [
        ("roo-xml", "<read>\n<path>a</path>\n"),
        ("qwen3-coder", "<function=read>\n<parameter=path>a</parameter>\n"),
    ],
)
def test_repair_leaves_alone_what_upstream_cut(dialect: str, text: str, reason: str) -> None:
    data = stream_of(text, finish=reason)
    got = check_every_split(dialect, data, tools=TOOLS, policy={"malformed": "repair"})
    assert got == Result(text, finish_reason=reason)


# unknown_tools: error


@CONVERTING
def test_unknown_tools_error(dialect: str) -> None:
    text = "x\n" + ZIP[dialect] + "\ny"
    got, transformer = run(dialect, stream_of(text), tools=TOOLS, policy={"unknown_tools": "error"})
    assert got.error is not None and "zip" in got.error["message"]
    assert (got.content, got.calls, got.finish_reason) == ("x", [], None)
    assert codes(transformer)[0] == "refused-tool"
    body = transform_message(message(text), dialect=dialect, tools=TOOLS, policy={"unknown_tools": "error"})
    assert body == {"error": got.error}


@CONVERTING
def test_unknown_tools_error_needs_to_know_the_tools(dialect: str) -> None:
    got, _ = run(dialect, stream_of(WRITERS[dialect]("a")), policy={"unknown_tools": "error"})
    assert got.error is None


# arguments


def arrival(dialect: str, text: str, arguments: str) -> list[str]:
    """What has left of the arguments after each character."""
    transformer = StreamTransformer(dialect, tools=TOOLS, policy={"arguments": arguments})
    seen = []
    joined = ""
    for char in text:
        for data in events_of(transformer.feed(sse(chunk(char), done=False))):
            for part in json.loads(data)["choices"][0]["delta"].get("tool_calls") or ():
                joined += part["function"].get("arguments", "")
        seen.append(joined)
    return seen


@CONVERTING
def test_arguments_whole_leave_when_the_call_is_complete(dialect: str) -> None:
    text = WRITERS[dialect]("abc")
    closing = {"roo-xml": "</read>", "qwen3-coder": "</function>", "kimi-k2": END}[dialect]
    end = text.index(closing) + len(closing)
    assert arrival(dialect, text, "whole") == [""] * (end - 1) + ['{"path":"abc"}'] * (len(text) - end + 1)


@each_row(("dialect", "held"), [("roo-xml", 0), ("qwen3-coder", 0), ("kimi-k2", 0)], ids=list(WRITERS))
def test_arguments_stream_leave_as_they_arrive(dialect: str, held: int) -> None:
    text = WRITERS[dialect]("abcdef")
    seen = arrival(dialect, text, "stream")
    for position, letter in enumerate("abcdef", 1):
        at = text.index("abcdef") + position - 1
        assert seen[at].endswith("abcdef"[:position]), letter
    assert seen[-1] == '{"path":"abcdef"}'


@CONVERTING
def test_a_call_that_streams_and_gets_too_long_is_closed_as_it_is(dialect: str) -> None:
    text = "x\n" + WRITERS[dialect]("#" * 200) + " bye"
    policy = {"arguments": "stream", "max_call_bytes": 150, "after_call": "keep"}
    results = []
    for size in (1, 7, len(text)):
        got, transformer = run(dialect, stream_of(text, size), tools=TOOLS, policy=policy)
        results.append((got.content, got.calls))
        assert codes(transformer)[0] == "call-too-long" and transformer.unaccounted == 0
    assert results[0] == results[1] == results[2]
    content, calls = results[0]
    assert calls[0][0] == "read" and calls[0][1].startswith('{"path":"####') and len(calls[0][1]) < 150
    assert calls[0][1].count("#") + content.count("#") == 200, "what is behind the cut is text"
    assert content.endswith(" bye")


# finish_reason

FINISH = ["stop", "length", "content_filter", "tool_calls", "function_call", None]


@each_row("said", FINISH)
@CONVERTING
def test_finish_reason_upstream_is_kept(dialect: str, said: str | None) -> None:
    policy = {"finish_reason": "upstream"}
    with_call, _ = run(dialect, stream_of(WRITERS[dialect]("a"), finish=said), tools=TOOLS, policy=policy)
    without, _ = run(dialect, stream_of("Hi", finish=said), tools=TOOLS, policy=policy)
    # Exactly once even when upstream forgot it.
    assert with_call.finish_reason == (said or "tool_calls")
    assert without.finish_reason == (said or "stop")


# channels


def both(content: str, reasoning: str) -> bytes:
    return sse(chunk(None, reasoning), chunk(content, finish_reason="stop"))


@each_row(
    ("channels", "calls"),
    [(["content"], ["a"]), (["reasoning"], ["b"]), (["content", "reasoning"], ["b", "a"]), ([], [])],
)
@CONVERTING
def test_channels(dialect: str, channels: list[str], calls: list[str]) -> None:
    write = WRITERS[dialect]
    content = write("a") if dialect != "kimi-k2" else kimi("a", number=1)
    policy = {"channels": channels, "calls": "all"}
    got = check_every_split(dialect, both(content, write("b")), tools=TOOLS, policy=policy, twin=False)
    assert got.calls == [call(path) for path in calls]
    assert got.content == ("" if "a" in calls else content)
    assert got.texts.get("reasoning", "") == ("" if "b" in calls else write("b"))
    assert got.texts.get("reasoning_content", "") == got.texts.get("reasoning", "")


# text_channel


@CONVERTING
def test_text_channel(dialect: str) -> None:
    data = both("C", "x\n" + WRITERS[dialect]("a") + " y")
    policy: JSON = {"channels": ["content", "reasoning"], "after_call": "keep"}
    same, _ = run(dialect, data, tools=TOOLS, policy=policy | {"text_channel": "same"})
    moved, _ = run(dialect, data, tools=TOOLS, policy=policy | {"text_channel": "content"})
    assert same.texts == {"reasoning": "x y", "reasoning_content": "x y", "content": "C"}
    assert moved.texts == {"content": "x yC"}
    assert (same.calls, same.finish_reason) == (moved.calls, moved.finish_reason) == ([A], "tool_calls")


# tools: a matter of the request


@each_row("tools", CHOICES["tools"])
@CONVERTING
def test_tools_changes_no_byte_of_the_answer(dialect: str, tools: str) -> None:
    data = stream_of("x\n" + WRITERS[dialect]("a"))
    expected = transform(dialect, data, tools=TOOLS)[0]
    assert transform(dialect, data, tools=TOOLS, policy={"tools": tools})[0] == expected


# parallel_tool_calls


@each_row(
    ("said", "policy", "calls"),
    [
        ({}, {}, [A, B]),
        ({"parallel_tool_calls": True}, {}, [A, B]),
        ({"parallel_tool_calls": None}, {}, [A, B]),
        ({"parallel_tool_calls": False}, {}, [A]),
        ({"parallel_tool_calls": False}, {"calls": "all"}, [A]),
        ({"parallel_tool_calls": True}, {"calls": "first"}, [A]),
    ],
)
@each_row(("dialect", "text"), [("qwen3-coder", Q2), ("kimi-k2", K2)])
def test_parallel_tool_calls(
    dialect: str, text: str, said: JSON, policy: JSON, calls: list[tuple[str, str]]
) -> None:
    got, _ = run(dialect, stream_of(text), request={"tools": TOOLS} | said, policy=policy)
    assert got.calls == calls


def test_parallel_tool_calls_allowed_do_not_make_roo_parallel() -> None:
    got, _ = run("roo-xml", stream_of(R2), request={"tools": TOOLS, "parallel_tool_calls": True})
    assert got.calls == [A]


# Policies as such

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no such switch": ({"call": "all"}, "there is no switch 'call'; there are after_call, arguments, calls"),
    "no such value": ({"calls": "some"}, "calls is one of first, all, not 'some'"),
    "a value of another switch": ({"malformed": "call"}, "malformed is one of text, repair, not 'call'"),
    "a value of another type": ({"arguments": True}, "arguments is one of whole, stream, not True"),
    "a list for a word": ({"tools": ["inject"]}, "tools is one of inject, template, pass, not"),
    "no such channel": ({"channels": "content,other"}, "channels are some of content, reasoning, not"),
    "a channel of another type": ({"channels": [1]}, "channels are some of content, reasoning, not"),
    "channels of another type": ({"channels": 5}, "channels are some of content, reasoning, not 5"),
    "a flag for channels": ({"channels": True}, "channels are some of content, reasoning, not True"),
    "no bytes": ({"max_call_bytes": 0}, "max_call_bytes is a number of bytes from 1, not 0"),
    "fewer than no bytes": ({"max_call_bytes": -5}, "max_call_bytes is a number of bytes from 1, not -5"),
    "a flag for bytes": ({"max_call_bytes": True}, "max_call_bytes is a number of bytes from 1, not True"),
    "half a byte": ({"max_call_bytes": 1.5}, "max_call_bytes is a number of bytes from 1, not 1.5"),
    "no bytes, in words": ({"max_call_bytes": "0"}, "max_call_bytes is a number of bytes from 1, not 0"),
    "no number": ({"max_call_bytes": "many"}, "max_call_bytes is a number of bytes such as 65536 or 16MiB"),
    "no number before the unit": ({"max_call_bytes": "MiB"}, "max_call_bytes is a number of bytes such as"),
    "nothing": ({"max_call_bytes": ""}, "max_call_bytes is a number of bytes such as"),
}


@each_row(("values", "message"), REFUSED.values(), ids=REFUSED)
def test_what_a_policy_refuses(values: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError) as caught:
        Policy.from_mapping(values)
    assert message in str(caught.value)


READ_AS: dict[str, tuple[dict[str, Any], Policy]] = {
    "nothing": ({}, Policy()),
    "words": ({"calls": "all", "tools": "pass"}, Policy(calls="all", tools="pass")),
    "nothing said": ({"calls": None}, Policy()),
    "channels as a text": ({"channels": "reasoning, content"}, Policy(channels=("content", "reasoning"))),
    "channels as a list": ({"channels": ["reasoning"]}, Policy(channels=("reasoning",))),
    "no channels": ({"channels": ""}, Policy(channels=())),
    "channels twice": ({"channels": ["content", "content"]}, Policy(channels=("content",))),
    "a number": ({"max_call_bytes": 7}, Policy(max_call_bytes=7)),
    "a number as a text": ({"max_call_bytes": " 65536 "}, Policy(max_call_bytes=65536)),
    "kilobytes": ({"max_call_bytes": "4k"}, Policy(max_call_bytes=4096)),
    "megabytes": ({"max_call_bytes": "16MiB"}, Policy(max_call_bytes=16 << 20)),
    "gigabytes": ({"max_call_bytes": "1 GiB"}, Policy(max_call_bytes=1 << 30)),
}


@each_row(("values", "policy"), READ_AS.values(), ids=READ_AS)
def test_from_mapping(values: dict[str, Any], policy: Policy) -> None:
    assert Policy.from_mapping(values) == policy


def test_what_was_said_comes_back() -> None:
    policy = Policy(calls="all", channels=("content",), max_call_bytes=5)
    assert policy.said() == {"calls": "all", "channels": ["content"], "max_call_bytes": 5}
    assert Policy.from_mapping(json.loads(json.dumps(policy.said()))) == policy
    assert Policy().said() == {}


def test_a_policy_over_its_defaults() -> None:
    defaults = DIALECTS["roo-xml"].policy
    full = Policy(calls="all", channels=()).over(defaults)
    assert (full.calls, full.channels) == ("all", ())
    changed = {f.name for f in fields(full) if getattr(full, f.name) != getattr(defaults, f.name)}
    assert changed == {"calls", "channels"}


def test_a_wrong_policy_is_told_when_the_transformer_is_made() -> None:
    with pytest.raises(PolicyError, match="there is no switch 'x'"):
        StreamTransformer("roo-xml", policy={"x": 1})
    with pytest.raises(PolicyError, match="calls is one of"):
        transform_message(message("x"), dialect="roo-xml", policy={"calls": "x"})


def test_a_number_of_5000_digits_is_refused_with_a_sentence():
    """Python reads no more than 4300."""
    with pytest.raises(PolicyError, match="a number of bytes such as 65536"):
        Policy.from_mapping({"max_call_bytes": "9" * 5000})
