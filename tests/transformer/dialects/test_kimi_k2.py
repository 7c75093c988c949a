"""kimi-k2: a token inside a JSON string is data, only the string's own quote ends it (docs/spec.md 5)."""

from __future__ import annotations

from tests.support.cases import TOOLS, deltas
from tests.support.cuts import check_every_split, codes, run
from tests.support.streams import stream_of
from tests.support.tiers import each_row

BEGIN, ARGS, END = "<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>"
TOKENS = f"{BEGIN}{ARGS}{END}<|tool_calls_section_begin|><|tool_calls_section_end|>"
KIMI_ARGUMENTS: dict[str, str] = {
    "tokens in a string": f'{{"path":"a {TOKENS} b"}}',
    "tokens in a key": f'{{"{TOKENS}":1}}',
    "tokens behind an escaped quote": rf'{{"path":"a \"{END} b"}}',
    "tokens behind an escaped backslash and quote": rf'{{"path":"a \\\"{END} b"}}',
    "a string that ends with a backslash": rf'{{"path":"a \\"}}',  # noqa: F541
    "an escape at every place": r'{"\u0022":"\u005c\"\/\b\f\n\r\t\\"}',
    "tokens in nested values": f'{{"path":["{END}",{{"b":"{BEGIN}"}}]}}',
    "half tokens": '{"path":"<|tool_call_en <|"}',
    "a whole call of every dialect": '{"path":"<read><path>b</path></read></function></tool_call>"}',
}


@each_row("arguments", KIMI_ARGUMENTS.values(), ids=KIMI_ARGUMENTS)
def test_kimi_k2(arguments: str) -> None:
    text = f"{BEGIN}functions.read:0{ARGS}{arguments}{END}"
    # The arguments go out as they are, whether they suit the tool or not.
    misfits = {"missing-parameter", "value-not-of-type"}
    for size in (1, 2, 3, 7, len(text)):
        got, transformer = run("kimi-k2", stream_of(text, size), tools=TOOLS)
        assert (got.content, got.calls) == ("", [("read", arguments)])
        assert set(codes(transformer)) <= misfits
    assert check_every_split("kimi-k2", deltas(text), tools=TOOLS).calls == [("read", arguments)]


def test_kimi_k2_outside_a_string_a_token_ends_the_call() -> None:
    text = f'{BEGIN}functions.read:0{ARGS}{{"path":"a"{BEGIN}functions.read:1{ARGS}{{"path":"b"}}{END}'
    got, transformer = run("kimi-k2", stream_of(text), tools=TOOLS)
    assert got.calls == [("read", '{"path":"a"'), ("read", '{"path":"b"}')]
    assert codes(transformer) == ["repaired-call", "invalid-arguments"]
