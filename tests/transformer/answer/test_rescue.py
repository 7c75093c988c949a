"""When a rule of a dialect fails, at whatever step, the client still gets all of the answer."""

from __future__ import annotations

from dataclasses import replace

from tests.support.client import result, results
from tests.support.cuts import codes
from tests.support.streams import numbered, sse, stream_of, tool
from tests.support.tiers import each_row, exhaustive
from transformer import DIALECTS, Dialect, Rule, StreamTransformer
from transformer.answer.stream import rescue
from transformer.parser.machine import Machine

TOOLS = [tool("read_file", {"path": {"type": "string"}})]
ROO = "Let me <b>look</b>.\n\n<read_file>\n<path>a.py</path>\n</read_file>"
QWEN = (
    "One moment.\n<tool_call>\n<function=read_file>\n<parameter=path>\na.py\n</parameter>\n</function>\n"
    "</tool_call>\nDone."
)
KIMI = (
    "hi <|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>"
    '{"path":"a.py"}<|tool_call_end|><|tool_calls_section_end|> bye'
)


class Bug(Exception):
    """Ours."""


def failing_at(step: int, dialect: str) -> Dialect:
    """The dialect, with a bug in the rule that fires at that step."""
    taken = 0

    def failing(rule: Rule) -> Rule:
        def action(m: Machine, text: str, name: str) -> None:
            nonlocal taken
            taken += 1
            if taken == step:
                raise Bug(f"step {step}")
            rule.action(m, text, name)

        return rule._replace(action=action)

    plain = DIALECTS[dialect]
    # A rule that stands in several places stays one rule.
    found = {id(rule): failing(rule) for rules in plain.transitions.values() for rule in rules}
    table = {place: tuple(found[id(rule)] for rule in rules) for place, rules in plain.transitions.items()}
    return replace(plain, transitions=table)


def converted(dialect: Dialect, reads: list[bytes]) -> tuple[bytes, StreamTransformer]:
    """As the proxy does it."""
    transformer = StreamTransformer(
        dialect, TOOLS, request={"model": "m"}, ids=numbered, now=5, records="findings"
    )
    out, seen = b"", list[bytes]()
    for read in [*reads, None]:
        seen += [read] if read is not None else []
        try:
            out += transformer.finish() if read is None else transformer.feed(read)
        except Bug as bug:
            transformer, more = rescue(transformer, seen, bug)
            out += more
            out += transformer.finish() if read is None else b""
    return out, transformer


@each_row("size", [1, 17, 100_000])
@each_row(("dialect", "text"), [("roo-xml", ROO), ("qwen3-coder", QWEN), ("kimi-k2", KIMI)])
def test_a_bug_costs_no_text(dialect: str, text: str, size: int):
    data = stream_of(text, 7)
    reads = [data[at : at + size] for at in range(0, len(data), size)]
    failed = 0
    for step in range(1, 40, 1 if exhaustive() else 2):
        out, transformer = converted(failing_at(step, dialect), reads)
        got = result(out)  # checks what any client insists on: one role, one finish, one [DONE]
        failed += "transformer-failed" in codes(transformer)
        if got.calls:
            assert got.finish_reason == "tool_calls"
            assert got.calls[0][0] == "read_file"
            assert "".join(got.calls[0][1].split()) in '{"path":"a.py"}'
        else:
            # Nothing of what the model said is missing, but for a marker that had been taken for one.
            assert got.content in (text, text.replace("<|tool_calls_section_begin|>", ""))
    assert failed > 5, "the rescue was not tried"


def test_other_choices_and_native_calls_go_on():
    events = [
        {"choices": [{"index": 0, "delta": {"content": "first"}}]},
        {"choices": [{"index": 1, "delta": {"content": "second"}}]},
        {"choices": [{"index": 0, "delta": {"content": " <read_file>"}}]},
        {"choices": [{"index": 1, "delta": {"tool_calls": [
            {"index": 0, "id": "c1", "type": "function", "function": {"name": "x", "arguments": "{}"}}]}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        {"choices": [{"index": 1, "delta": {}, "finish_reason": "tool_calls"}]},
    ]  # fmt: skip
    out, _ = converted(failing_at(2, "roo-xml"), [sse(*events)])
    got = results(out)
    assert got[0].content == "first <read_file>" and got[0].finish_reason == "stop"
    assert got[1].content == "second" and got[1].calls == [("x", "{}")]
