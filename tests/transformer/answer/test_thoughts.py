"""Thoughts in the content: whether calls in them count, whether they become reasoning (docs/spec.md, 6)."""

from __future__ import annotations

import json
from typing import Any

from tests.support.cases import deltas
from tests.support.cuts import check_every_split, codes, run
from tests.support.spans import check_records
from tests.support.streams import stream_of, tool
from tests.support.tiers import each_row
from transformer import DIALECTS, write_call

READ = tool("read", {"path": {"type": "string"}}, required=["path"])
BUILT_IN = ["roo-xml", "qwen3-coder", "kimi-k2", "glm"]
each_dialect = each_row("dialect", BUILT_IN)


def call(dialect: str) -> str:
    return write_call(dialect, "read", {"path": "a"}, READ)


def result(dialect: str, text: str, **policy: Any) -> Any:
    kwargs: dict[str, Any] = {"tools": [READ], "policy": policy}
    data = stream_of(text, 4)
    got, transformer = run(dialect, data, **kwargs)
    check_every_split(dialect, data, **kwargs)
    check_records(transformer, data)
    assert transformer.unaccounted == 0
    return got, codes(transformer)


@each_dialect
def test_a_call_in_a_thought_counts_where_the_policy_says_so(dialect: str) -> None:
    text = f"<think>I read it.\n{call(dialect)}"
    got, _ = result(dialect, text, in_think="call")
    assert len(got.calls) == 1 and got.content.strip() == "<think>I read it."
    got, _ = result(dialect, text, in_think="text")
    assert got.calls == [] and "read" in got.content


@each_dialect
def test_after_the_thought_a_call_counts(dialect: str) -> None:
    text = f"<think>{call(dialect)}</think>\n{call(dialect)}"
    got, _ = result(dialect, text, in_think="text")
    assert len(got.calls) == 1 and "</think>" in got.content


@each_dialect
def test_the_tag_of_a_thought_inside_a_value_is_data(dialect: str) -> None:
    text = write_call(dialect, "read", {"path": "<think> a"}, READ)
    got, _ = result(dialect, text, in_think="text", reasoning="split")
    assert [json.loads(arguments) for _, arguments in got.calls] == [{"path": "<think> a"}]


def test_what_each_dialect_does_by_default() -> None:
    defaults = {name: DIALECTS[name].policy.in_think for name in BUILT_IN}
    assert defaults == {"roo-xml": "text", "qwen3-coder": "call", "kimi-k2": "call", "glm": "call"}


@each_row(
    ("text", "content", "reasoning"),
    [
        ("<think>a b</think>c", "c", "a b"),
        ("x <thinking>y</thinking> z", "x  z", "y"),
        ("<think>never ends", "", "never ends"),
        ("no thought </think> here", "no thought </think> here", ""),
        ("<thin and <think", "<thin and <think", ""),
        ("<think>a</thin", "", "a</thin"),
        ("<think>a</think><think>b</think>c", "c", "ab"),
    ],
)
def test_thoughts_become_reasoning(text: str, content: str, reasoning: str) -> None:
    got, findings = result("qwen3-coder", text, reasoning="split")
    assert (got.content, got.reasoning) == (content, reasoning)
    assert set(findings) <= {"thought-split"}


@each_dialect
def test_a_call_after_a_thought_that_became_reasoning(dialect: str) -> None:
    got, _ = result(dialect, f"<think>hm</think>\n\n{call(dialect)}", reasoning="split")
    assert (got.content.strip(), got.reasoning, len(got.calls)) == ("", "hm", 1)


def test_by_default_thoughts_stay_where_they_are() -> None:
    got, _ = run("qwen3-coder", deltas("<think>a</think>b"), tools=[READ])
    assert (got.content, got.reasoning) == ("<think>a</think>b", "")
