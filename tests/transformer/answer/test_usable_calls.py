"""What keeps a client from using a call is found by the transformer itself, in every dialect."""

from __future__ import annotations

from typing import Any

from tests.support.cases import deltas
from tests.support.client import events_of
from tests.support.cuts import codes, run
from tests.support.streams import message, sse, tool
from tests.support.tiers import each_row
from transformer import Delta, StreamTransformer, transform_message, write_call
from transformer.findings import CATALOGUE

TEXT = {"type": "string"}
WRITE = tool(
    "write", {"path": TEXT, "content": TEXT, "mode": {"type": "integer"}}, required=["path", "content"]
)
DIALECTS = ["roo-xml", "qwen3-coder", "kimi-k2", "glm"]
each_dialect = each_row("dialect", DIALECTS)


def findings(dialect: str, arguments: dict[str, Any], name: str = "write", **kwargs: Any) -> list[str]:
    text = write_call(dialect, name, arguments, WRITE)
    got, transformer = run(dialect, deltas(text), tools=[WRITE], records="findings", **kwargs)
    assert len(got.calls) == 1
    return codes(transformer)


@each_dialect
def test_a_good_call_has_no_finding(dialect: str) -> None:
    assert findings(dialect, {"path": "a", "content": "b", "mode": 5}) == []


@each_dialect
def test_a_missing_parameter(dialect: str) -> None:
    assert findings(dialect, {"path": "a"}) == ["missing-parameter"]


@each_dialect
def test_a_value_of_another_type(dialect: str) -> None:
    assert findings(dialect, {"path": "a", "content": "b", "mode": "soon"}) == ["value-not-of-type"]


@each_dialect
def test_a_tool_that_was_not_offered(dialect: str) -> None:
    assert findings(dialect, {"path": "a", "content": "b"}, "fly") == ["unknown-tool"]


@each_dialect
def test_a_call_in_an_answer_that_was_cut(dialect: str) -> None:
    text = write_call(dialect, "write", {"path": "a", "content": "b"}, WRITE)
    data = sse(
        {"choices": [{"index": 0, "delta": {"content": text}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]},
    )
    got, transformer = run(dialect, data, tools=[WRITE])
    assert got.finish_reason == "length" and codes(transformer) == ["cut-after-call"]


def test_arguments_that_are_not_json() -> None:
    text = "<|tool_call_begin|>functions.write:0<|tool_call_argument_begin|>{no}<|tool_call_end|>"
    assert codes(run("kimi-k2", deltas(text), tools=[WRITE])[1]) == ["invalid-arguments"]


def test_all_of_them_are_errors() -> None:
    for code in (
        "missing-parameter",
        "value-not-of-type",
        "unknown-tool",
        "cut-after-call",
        "invalid-arguments",
    ):
        assert CATALOGUE[code].level == "error"


# Ids without `ids=`


def ids_of(answer: str | None) -> list[str]:
    text = write_call("roo-xml", "write", {"path": "a", "content": "b"}, WRITE) * 2
    event: dict[str, Any] = {"choices": [{"index": 0, "delta": {"content": text}}]}
    data = sse(event if answer is None else event | {"id": answer})
    return run("roo-xml", data, tools=[WRITE], policy={"calls": "all"}, ids=None)[0].ids


def test_ids_of_two_answers_differ_and_are_the_same_each_time() -> None:
    assert ids_of("one") == ids_of("one")
    assert len({*ids_of("one"), *ids_of("two")}) == 4


def test_a_whole_message_has_the_ids_of_the_stream() -> None:
    text = write_call("roo-xml", "write", {"path": "a", "content": "b"}, WRITE)
    body = message(text) | {"id": "one"}
    calls = transform_message(body, "roo-xml", tools=[WRITE])["choices"][0]["message"]["tool_calls"]
    assert [call["id"] for call in calls] == ids_of("one")[:1]


# Answers that are none, and events with odd values


def test_an_answer_without_choices_is_an_error() -> None:
    events: list[dict[str, Any]] = [{"choices": []}, {"choices": [], "id": "x"}]
    for event in events:
        transformer = StreamTransformer("roo-xml", tools=[WRITE])
        out = transformer.feed(sse(event)) + transformer.finish()
        assert "error" in events_of(out)[-2]
    assert "error" in transform_message({"choices": []}, "roo-xml", tools=[WRITE])


@each_row(
    ("value", "code"),
    [
        (b"1" * 5000, ["number-too-long"]),
        (b"[" * 3000 + b"]" * 3000, ["nested-too-deep"]),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, ["nested-too-deep"]),
        (b'"raw \x00 and \x01"', []),
    ],
    ids=["number", "arrays", "objects", "control characters"],
)
def test_the_text_of_an_event_with_an_odd_value_is_not_lost(value: bytes, code: list[str]) -> None:
    data = b'data: {"choices":[{"index":0,"delta":{"content":"hi [\\\\"}}],"x":' + value + b"}\n\n"
    got, transformer = run("roo-xml", data, tools=[WRITE])
    assert got.content == "hi [\\" and codes(transformer) == code
    (delta,) = [r for r in transformer.records if isinstance(r, Delta) and r.kind == "content"]
    assert delta.span is not None
    assert b"".join(data[a:b] for a, b in transformer.bytes_of(delta.span)) == b"hi [\\\\"


# Ends


def kimi(number: int, arguments: str, end: str = "<|tool_call_end|>") -> str:
    return f"<|tool_call_begin|>functions.write:{number}<|tool_call_argument_begin|>{arguments}{end}"


def test_a_fault_inside_a_later_call_is_an_error() -> None:
    whole = '{"path":"a","content":"b"}'
    for later in ('{"path":"b', ""):
        transformer = StreamTransformer("kimi-k2", tools=[WRITE])
        text = kimi(0, whole) + kimi(1, later, "")
        out = transformer.feed(sse({"choices": [{"index": 0, "delta": {"content": text}}]}, done=False))
        out += transformer.fail("reset")
        assert ("error" in events_of(out)[-2]) is bool(later)


def test_a_call_is_not_repaired_once_another_has_begun() -> None:
    """Two channels: the call in the reasoning is open when one in the content begins."""
    transformer = StreamTransformer("kimi-k2", tools=[WRITE], policy={"malformed": "repair"})
    parts = [
        {"reasoning_content": kimi(0, '{"path":"a","content":"b"', "")},
        {"content": kimi(1, '{"path":"c","content":"d"}')},
    ]
    out = b"".join(
        transformer.feed(sse({"choices": [{"index": 0, "delta": part}]}, done=False)) for part in parts
    )
    assert b'"index":0,"function"' not in transformer.finish()
    assert out.count(b"functions.write") == 2
