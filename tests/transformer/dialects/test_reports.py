"""What users of other parsers reported of every dialect; the numbers are those of samples/cases/reports.py.

Reports of one dialect are named in its own tests and in the samples, which tests/test_samples.py checks.
"""

from __future__ import annotations

import json

from samples.cases.reports import REPORTS
from tests.support.cases import TOOLS, WRITE
from tests.support.cost import calls_made
from tests.support.cuts import check_every_split, run
from tests.support.streams import JSON, sse, stream_of
from tests.support.tiers import each_row, only_exhaustive
from transformer import write_call
from transformer.dialects import DIALECTS

SPOKEN = sorted(DIALECTS.keys() - {"passthrough", "auto"})
# Quick: every dialect in one of the two ways, its neighbour in the other. Both ways give the same calls:
# test_cuts.py, test_arguments_streamed_or_whole_are_the_same_calls, and parser/test_jsongrammar.py.
WAYS = ["whole", "stream"]
BOTH = [(dialect, way) for dialect in SPOKEN for way in WAYS]
QUICK = [(dialect, WAYS[number % 2]) for number, dialect in enumerate(SPOKEN)]
every_dialect = each_row(("dialect", "arguments"), only_exhaustive(BOTH, QUICK, arguments=2))
# Their arguments are JSON, or strings with the same escapes.
ESCAPES = {
    "deepseek-v3", "deepseek-v31", "harmony", "hermes", "kimi-k2", "llama3-json", "longcat", "mistral",
    "nemotron-toolcall", "pythonic",
}  # fmt: skip
ALL: JSON = {"calls": "all", "after_call": "keep"}


def written(dialect: str, content: str) -> str:
    return write_call(dialect, "write", {"path": "a", "content": content}, WRITE, tools=TOOLS)


def values(call: tuple[str, str]) -> JSON:
    assert call[0] == "write"
    found: JSON = json.loads(call[1])
    return found


def test_every_number_is_a_report_with_a_sample_or_a_test_here() -> None:
    assert set(range(1, 61)) - set(REPORTS) == {33}  # of time, which a sample cannot show


@every_dialect
def test_33_no_delta_makes_the_parser_read_all_again(dialect: str, arguments: str) -> None:
    def work(size: int) -> int:
        data = stream_of(written(dialect, "ab }]) </ <| \n" * size), 4)
        return calls_made(
            lambda: run(dialect, data, tools=TOOLS, policy={"arguments": arguments}, records="findings")
        )

    work(1)  # expressions are compiled once
    assert work(60) < 2.3 * work(30)


@every_dialect
def test_56_a_call_cut_by_max_tokens_does_not_end_with_tool_calls(dialect: str, arguments: str) -> None:
    text = written(dialect, "a long text")
    half = text[: text.index("long")]
    data = stream_of(half, 5, finish="length")
    got = check_every_split(dialect, data, tools=TOOLS, policy={"arguments": arguments})
    assert got.finish_reason == "length"
    assert got.calls or half.strip() in got.content


@every_dialect
def test_57_an_escape_may_be_cut_anywhere(dialect: str, arguments: str) -> None:
    text = written(dialect, "你好 😀 é")
    assert "你好 😀 é" in text
    policy = {"arguments": arguments}
    events = [{"choices": [{"delta": {"content": part}}]} for part in (text[:-3], text[-3:])]
    escaped = sse(*map(json.dumps, events), '{"choices":[{"delta":{},"finish_reason":"stop"}]}')
    got = check_every_split(dialect, escaped, tools=TOOLS, policy=policy)
    assert "你好 😀 é" in got.calls[0][1]
    if dialect in ESCAPES:
        for size in (1, 3, 5):
            inside = stream_of(text.replace("你好 😀 é", "\\u4f60\\u597d \\ud83d\\ude00 \\u00e9"), size)
            got, _ = run(dialect, inside, tools=TOOLS, policy=policy)
            assert values(got.calls[0])["content"] == "你好 😀 é"


@every_dialect
def test_59_a_streamed_answer_is_the_same_as_a_whole_one(dialect: str, arguments: str) -> None:
    text = f"So.\n{written(dialect, 'x </b> ] } y')}"
    # check_every_split reads the whole message as well, and wants the same of it.
    got = check_every_split(dialect, stream_of(text, 3), tools=TOOLS, policy=ALL | {"arguments": arguments})
    assert [values(call) for call in got.calls] == [{"path": "a", "content": "x </b> ] } y"}]


@every_dialect
def test_60_equal_calls_are_two_and_not_repeated_as_text(dialect: str, arguments: str) -> None:
    text = written(dialect, "same")
    data = stream_of(f"{text}\n{text}", 5)
    got = check_every_split(dialect, data, tools=TOOLS, policy=ALL | {"arguments": arguments})
    assert [values(call) for call in got.calls] == [{"path": "a", "content": "same"}] * 2
    assert got.content.strip() == ""
