"""pythonic: calls as Python writes them, their values as JSON (docs/spec.md, section 5)."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import TOOLS, Row, check, deltas
from tests.support.cost import calls_made
from tests.support.cuts import check_every_split, run
from tests.support.streams import stream_of
from tests.support.tiers import each_row, some
from transformer import Delta, write_call
from transformer.jsonscan import parsed
from transformer.request.offer import json_of
from transformer.values.literals import python_or_json

B = ("read", '{"path":"b"}')
FREE = ("free", "{}")


def text(written: str, *found: str) -> Row:
    """All of it stays text."""
    return written, written, [], list(found)


ROWS: dict[str, Row] = {
    "a list": ('[read(path="b")]', "", [B], []),
    "two calls": ("[read(path='b'), free()]", "", [B, FREE], []),
    "blanks and newlines": ("[ read ( path = 'b' ) ,\n  free( ) ]\n", "", [B, FREE], []),
    "a comma at the ends": ("[read(path='b',), free(),]", "", [B, FREE], []),
    "text around": ("Reading.\n\n[read(path='b')]\nDone.", "Reading.\nDone.", [B], []),
    "Llama 4": ("<|python_start|>[read(path='b')]<|python_end|>", "", [B], []),
    "LFM2": ("<|tool_call_start|>[read(path='b')]<|tool_call_end|> So.", " So.", [B], []),
    "Olmo": ("<function_calls>\nread(path='b')\nfree()\n</function_calls>", "", [B, FREE], []),
    "Olmo, one line": ("<function_calls>read(path='b')</function_calls>", "", [B], []),
    "two blocks": (
        "<function_calls>free()</function_calls>\n<function_calls>free()",
        "",
        [FREE, FREE],
        ["repaired-call"],
    ),
    "a marker twice": (
        "<|python_start|><|python_start|>[free()]<|python_end|><|python_end|>",
        "",
        [FREE],
        [],
    ),
    "no end": ("[read(path='b')", "", [B], ["repaired-call"]),
    "a marker that is cut off": ("<|tool_call_start|>[free()]<|tool_call", "", [FREE], ["stray-token"]),
    "markers in a string": (
        "<|tool_call_start|>[read(path='<|tool_call_end|>)]')]<|tool_call_end|>",
        "",
        [("read", '{"path":"<|tool_call_end|>)]"}')],
        [],
    ),
    "LFM2, as JSON": (
        '<|tool_call_start|>[{"name": "read", "arguments": {"path": "b]}"}}, {"name": "free"}]',
        "",
        [("read", '{"path": "b]}"}'), FREE],
        [],
    ),
    "JSON without a list": (
        '<|python_start|>{"name": "free", "parameters": {}}',
        "",
        [FREE],
        ["repaired-call"],
    ),
    "JSON and Python": (
        '<|tool_call_start|>[free(), {"name": "free"}]<|tool_call_end|>',
        "",
        [FREE, FREE],
        [],
    ),
    "an argument twice": ("[read(path='b', path='c')]", "", [B], ["duplicate-parameter"]),
    "a variable": ("[free(a=x)]", "", [("free", '{"a":"x"}')], ["value-not-of-type"]),
    # what is text
    "a list of something else": text("[zip(a=1)]"),
    "a comprehension": text("[read(path=p) for p in paths]"),
    "an index": text("[read(path='b')[0]]"),
    "in the middle of a line": text("So: [read(path='b')]"),
    "in a code fence": text("```python\n[read(path='b')]\n```"),
    "brackets in prose": text("[1, 2] [read] [read (a) b] [^1]: [read"),
    "a marker in prose": text("The <function_calls> tag and <|python_start|>."),
    "no name of an argument": text("[read('b')]", "malformed-call"),
    "JSON that is not a call": text('<|python_start|>[{"name": 1}]<|python_end|>'),
    "JSON that is cut off": text('<|python_start|>[{"name": "read", "argu'),
    "JSON without a marker": text('[{"name": "read", "arguments": {}}]'),
    "half a call": text("[read(path='b", "truncated-call"),
    # 53: what users of other parsers reported
    "53: a bracket in a string": ("[read(path='a]b)')]", "", [("read", '{"path":"a]b)"}')], []),
    "53: a raw newline": ("[read(path='a\nb')]", "", [("read", '{"path":"a\\nb"}')], []),
    "53: a negative number": ("[free(a=-1, b=-2.5)]", "", [("free", '{"a":-1,"b":-2.5}')], []),
    "53: a tuple": ("[free(a=(1, 'x'))]", "", [("free", '{"a":[1,"x"]}')], []),
    "53: an argument named like a keyword": (
        "[free(from='a', class=1)]",
        "",
        [("free", '{"from":"a","class":1}')],
        [],
    ),
    "53: None and single quotes": (
        "[free(a=None, b='it\\'s')]",
        "",
        [("free", '{"a":null,"b":"it\'s"}')],
        [],
    ),
}


@each_row("row", ROWS.values(), ids=ROWS)
def test_rows(row: Row) -> None:
    check("pythonic", row)
    check("pythonic", row, policy={"arguments": "stream"})


@each_row("row", some(ROWS.values(), 6))  # the test above cuts all of them between characters
def test_rows_under_every_split(row: Row) -> None:
    assert check_every_split("pythonic", stream_of(row[0], 5), tools=TOOLS).calls == row[2]


HUGE = "123456789012345678901234567890"
VALUES = {
    "12": "12", "-0.5": "-0.5", "1e3": "1e3", "True": "true", "None": "null", "true": "true", "null": "null",
    '"a"': '"a"', "'a'": '"a"', '"\\u4f60"': '"\\u4f60"', "''": '""', '""': '""', HUGE: HUGE, "()": "[]",
    '"""a\n"b"\n"""': '"a\\n\\"b\\"\\n"', "[1, 'x', [2]]": '[1,"x",[2]]', '{"a": true}': '{"a": true}',
    "{'a': {'b': None}}": '{"a":{"b":null}}', "{'a': true}": '{"a":true}', "r'a\\b'": '"a\\\\b"',
    "x": None, "f(1)": None, "1, 2": None, "": None, "{'a'": None,
}  # fmt: skip


@each_row(("written", "wanted"), VALUES.items())
def test_values(written: str, wanted: str | None) -> None:
    assert python_or_json(written) == wanted
    if wanted is not None and not written.startswith("1,"):
        check("pythonic", (f"[free(a={written}, b=1)]", "", [("free", f'{{"a":{wanted},"b":1}}')], []))


def test_half_a_call_is_repaired_where_the_policy_wants_it() -> None:
    policy = {"malformed": "repair"}
    for cut in ("[read(path='b", "[read(path='b'", '<|python_start|>[read(path="b'):
        check("pythonic", (cut, "", [B], ["repaired-call"]), policy=policy)
    nested = ("[free(a=[1, {'b': 'c", "", [("free", '{"a":[1,{"b":"c"}]}')], ["repaired-call"])
    check("pythonic", nested, policy=policy)
    for cut in ("[read(pa", "[read(", "[edit(note='x'"):  # which value is meant nobody knows
        check("pythonic", text(cut, "truncated-call"), policy=policy)


def test_a_tool_that_was_not_offered() -> None:
    zip = "<|tool_call_start|>[zip(a=1)"
    check("pythonic", (f"{zip}]<|tool_call_end|>", "", [("zip", '{"a":1}')], ["unknown-tool"]))
    policy = {"unknown_tools": "text"}
    check("pythonic", text(f"{zip}]<|tool_call_end|> x"), policy=policy)
    check("pythonic", (f"{zip}, free()]<|tool_call_end|>", f"{zip},", [FREE], []), policy=policy)


def test_prose_leaves_at_once() -> None:
    for written in ("A [1", "[x", "[read", "[read is", "<function_calls> x", "a < b", "[zip(a"):
        _, transformer = run("pythonic", deltas(written, " and", " more"), tools=TOOLS, records="all")
        sent = [record for record in transformer.records if isinstance(record, Delta)]
        assert "".join(delta.text for delta in sent if delta.event <= 1) == f"{written} and", written


@each_row("filling", ["ab ] ", "', '", "[1], "])
def test_the_work_is_linear(filling: str) -> None:
    def work(size: int) -> int:
        written = f"[free(a=['{filling * size}'])]"
        return calls_made(lambda: run("pythonic", stream_of(written, 7), tools=TOOLS, records="findings"))

    assert work(1000) < 2.4 * work(500)


keys = st.from_regex(r"[a-z_]{1,6}", fullmatch=True)
signs = st.sampled_from(["]", ")", '"', "'", "\\", "<|python_end|>"])
texts = st.lists(st.text(max_size=4) | signs, max_size=5).map("".join)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


@given(arguments=st.dictionaries(keys, values, max_size=4))
def test_what_is_written_is_read(arguments: dict[str, Any]) -> None:
    got, _ = run("pythonic", stream_of(write_call("pythonic", "free", arguments), 5), tools=TOOLS)
    assert [(name, parsed(written)) for name, written in got.calls] == [("free", parsed(json_of(arguments)))]
    assert got.content == ""
