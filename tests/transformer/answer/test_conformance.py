"""Conformance: which rules of real clients an answer breaks, and when that is said."""

from __future__ import annotations

import json
import random
import re
from typing import Any

from tests.support.cost import calls_made
from tests.support.streams import chunk, message, sse, tool
from tests.support.tiers import each_row, exhaustive
from transformer import Policy, StreamTransformer
from transformer.answer.conformance import RULES, Check, Conformance
from transformer.answer.setting import make_setting
from transformer.records import Event
from transformer.values.fitting import Arguments, misfits
from workbench.analysis.advice import advice

TOOLS = [
    tool(
        "read",
        {
            "path": {"type": "string"},
            "line": {"type": "integer"},
            "any": {},
            "size": {"type": ["number", "null"]},
            "todos": {
                "type": "array",
                "items": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
            },
        },
        ["path"],
    )
]
GOOD = '{"path": "a"}'
STOP = chunk(finish_reason="stop")
CALLED = chunk(finish_reason="tool_calls")


def call(arguments: Any = None, name: str | None = None, id: str | None = None, **more: Any) -> Any:
    """One delta of a call."""
    function = {"name": name, "arguments": arguments}
    entry = {"index": 0, "id": id, "function": {key: v for key, v in function.items() if v is not None}}
    return {key: value for key, value in (entry | more).items() if value is not None}


def calls(*deltas: Any) -> dict[str, Any]:
    return chunk(tool_calls=list(deltas))


WHOLE = calls(call(GOOD, "read", "c0"))


def events_in(data: bytes) -> list[Event]:
    t = StreamTransformer("passthrough", TOOLS)
    t.feed(data)
    t.finish()
    return [record for record in t.records if isinstance(record, Event)]


def checked(
    data: bytes, *, dialect: str = "passthrough", cut: bool = False, tools: Any = TOOLS
) -> list[Check]:
    conformance = Conformance(make_setting(dialect, tools, Policy()))
    found = [check for event in events_in(data) for check in conformance.event(event)]
    return found + conformance.end(cut)


def codes(checks: list[Check]) -> list[str]:
    return [check.code for check in checks if check.code not in ("check-call", "check-stream")]


BREACHES = [
    ([WHOLE, CALLED], []),
    ([chunk(role="assistant"), chunk("Hi"), STOP, {"choices": [], "usage": {}}], []),
    # as OpenAI streams: id and name once, then pieces; some servers repeat them empty
    ([calls(call("", "read", "c0")), calls(call('{"path"', id="")), calls(call(': "a"}')), CALLED], []),
    # the first delta of a call
    ([calls(call("", id="c0")), calls(call(GOOD, "read")), CALLED], ["check-name-missing"]),
    ([calls(call(GOOD, "read")), CALLED], ["check-id-missing"]),
    ([calls(call(GOOD, "read", "")), CALLED], ["check-id-missing"]),
    ([calls(call(GOOD, "write", "c0")), CALLED], ["check-tool-unknown"]),
    # index
    ([calls(call(GOOD, "read", "c0", index=1)), CALLED], ["check-index-gap"]),
    ([WHOLE, calls(call(GOOD, "read", "c1", index=2)), CALLED], ["check-index-gap"]),
    ([WHOLE, calls(call(GOOD, "read", "c1", index=1)), CALLED], []),
    ([calls({"id": "c0", "function": {"name": "read", "arguments": GOOD}}), CALLED], ["check-index-missing"]),
    ([calls(call("", "read", "c0", index="0")), calls({"function": {"arguments": GOOD}}), CALLED],
     ["check-index-missing"]),
    ([calls(call("{", "read", "c0")), calls(call(GOOD, "read", "c1")), CALLED],
     ["check-index-reused", "check-arguments-json"]),
    # what openai-python joins
    ([calls(call("", "read", "c0")), calls(call(GOOD, id="c0")), CALLED], ["check-id-repeated"]),
    ([calls(call("", "read", "c0")), calls(call(GOOD, id="c7")), CALLED], ["check-id-repeated"]),
    ([calls(call("", "read", "c0")), calls(call(GOOD, "read")), CALLED], ["check-name-repeated"]),
    ([chunk("a", role="assistant"), chunk("b", role="assistant"), STOP], ["check-role-repeated"]),
    ([WHOLE, calls(call(GOOD, "read", "c0", index=1)), CALLED], ["check-id-shared"]),
    # arguments
    ([calls(call("{}", "read", "c0")), calls(call(GOOD)), CALLED],
     ["check-parameter-missing", "check-arguments-early"]),
    ([calls(call(GOOD, "read", "c0")), calls(call("\n")), CALLED], []),
    ([calls(call("", "read", "c0")), CALLED], ["check-arguments-json"]),
    ([calls(call('{"path": ', "read", "c0")), CALLED], ["check-arguments-json"]),
    ([calls(call("[]", "read", "c0")), CALLED], ["check-arguments-json"]),
    ([calls(call('{"path": NaN}', "read", "c0")), CALLED], ["check-arguments-json"]),
    ([calls(call('{"path": ', "read", "c0")), chunk(finish_reason="length")], []),
    ([calls(call('{"path": 5}', "read", "c0")), CALLED], ["check-parameter-type"]),
    ([calls(call({"path": "a"}, "read", "c0")), CALLED], ["check-call-shape", "check-arguments-json"]),
    ([calls("nonsense"), STOP], ["check-call-shape"]),
    ([chunk(tool_calls={"0": {}}), STOP], ["check-call-shape"]),
    # ends
    ([WHOLE], ["check-finish-missing"]),
    ([chunk("Hi"), CALLED], ["check-finish-untrue"]),
    ([WHOLE, STOP], ["check-finish-untrue"]),
    ([chunk("Hi"), chunk(finish_reason="eos")], ["check-finish-unknown"]),
    ([chunk("Hi"), chunk(finish_reason="")], ["check-finish-missing"]),
    ([chunk("Hi"), STOP, STOP], ["check-finish-repeated"]),
    ([STOP, chunk("Hi")], ["check-after-finish"]),
    ([chunk("Hi"), STOP, "[DONE]"], ["check-after-done"]),
    # events
    ([chunk("Hi"), "{", STOP], ["check-not-json"]),
    ([chunk("Hi"), "", STOP], ["check-empty-data"]),
    ([chunk("Hi"), "[1]", STOP], ["check-event-shape"]),
    ([{"hello": 1}, STOP], ["check-event-shape"]),
    ([{"choices": [3]}, STOP], ["check-event-shape"]),
    ([{"choices": [{"delta": "Hi"}]}, STOP], ["check-event-shape"]),
    ([{"id": "", **chunk("a")}, {"id": "a", **chunk("a")}, {"id": "b", **STOP}], ["check-answer-id"]),
    ([{"model": "a", **chunk("a")}, {"model": "b", **STOP}], ["check-answer-model"]),
    ([chunk("Hi"), {"error": {"message": "out of memory"}}], []),
    # choices are on their own
    ([chunk("a"), STOP, chunk("b", index=1), chunk(index=1, finish_reason="stop")], []),
    ([calls(call("", "read", "c0")), chunk("b", index=1), CALLED],
     ["check-arguments-json", "check-finish-missing"]),
]  # fmt: skip


@each_row(("events", "wanted"), BREACHES)
def test_a_breach_is_named(events: list[Any], wanted: list[str]):
    assert codes(checked(sse(*events))) == wanted


def test_every_rule_is_in_the_table_and_says_who_does_what():
    proven = {code for _, wanted in BREACHES for code in wanted} | {"check-done-missing"}
    assert proven == RULES.keys() - {"check-call", "check-stream"}
    for code, rule in RULES.items():
        assert re.search("OpenCode|openai-python|client", rule.sentence) or code in (
            "check-call", "check-stream", "check-finish-untrue",
        )  # fmt: skip
        assert rule.advice.endswith(".") and advice(code) == rule.advice


def test_the_end_of_a_stream_without_done():
    assert codes(checked(sse(chunk("Hi"), STOP, done=False))) == ["check-done-missing"]


def test_summaries():
    repeated = [calls(call("", "read", "c0")), *[calls(call(part, id="c0")) for part in GOOD]]
    found = checked(sse(*repeated, calls(call(GOOD, "read", "c1", index=1)), CALLED))
    said = {check.message: check.level for check in found[-3:]}
    assert said == {
        f"call 1 read: breaks check-id-repeated ({len(GOOD)} times)": "error",
        "call 2 read: conforms": "info",
        "the stream: conforms": "info",
    }
    assert [check.call for check in found[-3:]] == [0, 1, None]
    assert codes(found) == ["check-id-repeated"], "told of once"


def test_a_stream_that_was_cut_is_not_blamed_for_its_end():
    found = checked(sse(calls(call('{"path"', "read", "c0")), done=False), cut=True)
    assert [check.message for check in found] == [
        "call 1 read: the answer was cut off inside it",
        "the stream: conforms as far as it goes",
    ]


def test_a_breach_is_told_with_the_event_that_shows_it():
    data = sse(calls(call("{}", "read", "c0")), calls(call(GOOD)), CALLED)
    missing, early = checked(data)[:2]
    assert (missing.event, early.event) == (0, 1), "OpenCode runs a call as soon as its arguments parse"
    assert "2 characters" in early.message


def test_where_a_dialect_converts_only_the_calls_count():
    data = sse("nonsense", chunk("a", role="x"), chunk("b", role="x"), calls(call(GOOD, "read")), STOP, STOP)
    assert codes(checked(data, dialect="roo-xml")) == ["check-id-missing"]
    assert checked(sse(chunk("Hi"), STOP), dialect="roo-xml") == []


def test_a_line_that_every_client_reads_as_part_of_one_event():
    """The transformer is kinder than they are."""
    data = b'data: {"choices":[{"delta":{"content":"a"}}]}\ndata: {"choices":[{"delta":{"content":"b"}}]}\n\n'
    assert codes(checked(data + sse(chunk("Hi"), STOP))) == ["check-not-json"]


@each_row(
    ("said", "finish", "wanted"),
    [
        ([{"id": "c0", "function": {"name": "read", "arguments": GOOD}}], "tool_calls", []),
        ([{"function": {"name": "read", "arguments": "{"}}], "tool_calls",
         ["check-id-missing", "check-arguments-json"]),
        ([], "tool_calls", ["check-finish-untrue"]),
    ],
)  # fmt: skip
def test_a_message_that_does_not_stream(said: list[Any], finish: str, wanted: list[str]):
    body = message(None, finish=finish)
    body["choices"][0]["message"]["tool_calls"] = said
    data = json.dumps(body).encode()
    conformance = Conformance(make_setting("passthrough", TOOLS), streamed=False)
    found = conformance.event(Event(1, 0, 0, 0, len(data), "", data, ((0, len(data)),)))
    assert codes(found + conformance.end()) == wanted


@each_row(
    ("arguments", "wanted"),
    [
        ({"path": "a", "line": 3, "any": [1], "size": None}, []),
        ({"path": "a", "line": 3.0, "size": 1.5}, []),
        ({}, [("path", "", "")]),
        ({"path": "a", "line": "5"}, [("line", "string", "integer")]),
        ({"path": "a", "line": True}, [("line", "boolean", "integer")]),
        ({"path": None}, [("path", "null", "string")]),
        ({"path": "a", "size": "x"}, [("size", "string", "number or null")]),
        ({"path": "a", "todos": [{"id": "1"}, {}]}, [("todos[1].id", "", "")]),
        ({"path": "a", "todos": [{"id": 1}]}, [("todos[0].id", "number", "string")]),
        ({"path": "a", "more": 1}, []),
    ],
)
def test_what_the_schema_wants(arguments: dict[str, Any], wanted: list[tuple[str, str, str]]):
    assert list(misfits(make_setting("passthrough", TOOLS).tools["read"], arguments)) == wanted


@each_row(
    ("text", "first"),
    [
        ('{"a": "}{\\"", "b": [1, {}]} ', 27),
        ("{}", 2),
        ("[1]", 3),
        ("{]", None),
        ('"a b"', 5),
        ("12", 1),
        ("nul", None),
        ("", None),
    ],
)
def test_when_arguments_are_whole(text: str, first: int | None):
    growing = Arguments()
    at = None
    for place, character in enumerate(text):
        growing.add(character)
        if growing.whole and at is None:
            at = place + 1
    assert at == first


HOSTILE: list[Any] = [
    None, True, 0, -1, 10**30, 1.5, "", "x", "[DONE]", [], {}, [[]], {"index": 0}, "\ud800", "{}", "{",
    "\x1b[2J",
]  # fmt: skip


def test_whatever_comes_nothing_is_raised():
    dice = random.Random(5)

    def any_value(depth: int) -> Any:
        if not depth or dice.random() < 0.2:
            return dice.choice(HOSTILE)
        if dice.random() < 0.3:
            return [any_value(depth - 1) for _ in range(dice.randrange(3))]
        keys = ["choices", "delta", "tool_calls", "function", "name", "arguments", "index", "id", "role",
                "finish_reason", "model", "content", "error", "usage", "message"]  # fmt: skip
        return {key: any_value(depth - 1) for key in dice.sample(keys, 4)}

    for dialect in ("passthrough", "roo-xml"):
        for streamed in (True, False):
            for _ in range(300 if exhaustive() else 40):
                conformance = Conformance(make_setting(dialect, TOOLS), streamed=streamed)
                for number in range(6):
                    part = {"delta": any_value(3), "message": any_value(3), "finish_reason": any_value(1)}
                    value = {"choices": [part, any_value(4)]} if dice.random() < 0.8 else any_value(5)
                    data = json.dumps(value).encode()
                    conformance.event(Event(number, number, 0, 9 * number, 9 * number + 9, "", data, ()))
                assert all(isinstance(check, Check) for check in conformance.end())
    for data in (b"[" * 100_000, b'{"choices":' + b"[" * 100_000 + b"]" * 100_000 + b"}", b"\xff"):
        assert "check-not-json" in codes(checked(b"data: " + data + b"\n\n"))


@each_row("piece", ["x", " ", '"', "[", "{}", '\\"', "1"])
def test_long_arguments_take_work_in_proportion(piece: str):
    def add(count: int) -> None:
        growing = Arguments()
        for _ in range(count):
            growing.add(piece)
        assert growing.problem is not None or piece == "1"

    assert calls_made(lambda: add(8_000)) < 11 * calls_made(lambda: add(800))
