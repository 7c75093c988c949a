"""The grammar of calls as JSON, in every dialect that is a spelling of it (docs/spec.md, section 5)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import TOOLS, Row, check, deltas
from tests.support.cost import calls_made
from tests.support.cuts import check_every_split, codes, run
from tests.support.streams import stream_of
from tests.support.tiers import each, each_row, exhaustive, some
from transformer import DIALECTS, Delta, write_call
from transformer.jsonscan import parsed
from transformer.parser.jsonspelling import JsonSpelling
from transformer.request.offer import json_of

SPELLED = [name for name, dialect in DIALECTS.items() if isinstance(dialect.spelling, JsonSpelling)]
# Objects with a name and arguments: the marker before them, and the one after them.
MARKED: dict[str, tuple[str, str]] = {
    "hermes": ("<tool_call>", "</tool_call>"),
    "longcat": ("<longcat_tool_call>", "</longcat_tool_call>"),
    "nemotron-toolcall": ("<TOOLCALL>", "</TOOLCALL>"),
    "mistral": ("[TOOL_CALLS]", ""),
    "llama3-json": ("<|python_tag|>", "<|eot_id|>"),
}
each_marked = each_row("dialect", MARKED)

READ = '{"path": "b"}'
CALL = '{"name": "read", "arguments": {"path": "b"}}'
B: list[tuple[str, dict[str, Any] | str]] = [("read", READ)]
HARD = r'{"path": "a OPENCLOSE \" } ] , { \\"}'


def spelled(dialect: str, row: Row) -> Row:
    """The row in the dialect's own markers."""
    open, close = MARKED[dialect]

    def put(text: str) -> str:
        return text.replace("CALL", CALL).replace("OPEN", open).replace("CLOSE", close)

    text, content, calls, found = row
    return (
        put(text),
        put(content),
        [(name, put(args) if isinstance(args, str) else args) for name, args in calls],
        found,
    )


def text(written: str, *found: str) -> Row:
    """All of it stays text."""
    return written, written, [], list(found)


# text -> content, calls, codes; OPEN and CLOSE are the markers, CALL is a call
OBJECTS: dict[str, Row] = {
    # good ones
    "a call": ("OPENCALLCLOSE", "", B, []),
    "whitespace everywhere": (
        'Hi.\n\nOPEN \n{ \n "name" : "read" , \n"arguments" : {"path": "b"} \n}\n CLOSE\n',
        "Hi.",
        B,
        [],
    ),
    "two calls": ("OPENCALLCLOSE\nOPENCALLCLOSE", "", [*B, *B], []),
    "two objects after one marker": ("OPENCALL\nCALLCLOSE", "", [*B, *B], []),
    "objects with a comma between them": ("OPENCALL, CALLCLOSE", "", [*B, *B], []),
    "a list": ("OPEN[CALL, CALL,CALL]CLOSE", "", [*B, *B, *B], []),
    "text around": ("One OPENCALLCLOSE two OPENCALLCLOSE three", "One two three", [*B, *B], []),
    # arguments
    "a marker in a string": (
        'OPEN{"name": "read", "arguments": ' + HARD + "}CLOSE",
        "",
        [("read", HARD)],
        [],
    ),
    "arguments before the name": ('OPEN{"arguments": {"path": "b"}, "name": "read"}CLOSE', "", B, []),
    "a name in the arguments": (
        'OPEN{"arguments": {"name": "x", "arguments": 1}, "name": "free"}CLOSE',
        "",
        [("free", '{"name": "x", "arguments": 1}')],
        [],
    ),
    "other members": (
        'OPEN{"id": "}", "x": [{"name": "y"}, "]"], "n": null, "name": "read", "arguments": {"path": "b"}, '
        '"z": {"a": "}"}}CLOSE',
        "",
        B,
        [],
    ),
    "the other key": ('OPEN{"name": "read", "parameters": {"path": "b"}}CLOSE', "", B, []),
    "arguments twice": (
        'OPEN{"name": "read", "arguments": {"path": "b"}, "parameters": {"path": "c"}}CLOSE',
        "",
        B,
        ["duplicate-parameter"],
    ),
    "a name twice": ('OPEN{"name": "read", "arguments": {"path": "b"}, "name": "x"}CLOSE', "", B, []),
    "no arguments": ('OPEN{"name": "free"}CLOSE', "", [("free", {})], []),
    "null": ('OPEN{"name": "free", "arguments": null}CLOSE', "", [("free", {})], []),
    "an empty string": ('OPEN{"arguments": "", "name": "free"}CLOSE', "", [("free", {})], []),
    "an escaped name": (
        'OPEN{"n\\u0061me": "r\\u0065ad", "arguments": {"path": "b"}}CLOSE',
        "",
        B,
        [],
    ),
    # what is missing, or too many
    "a brace is missing before a marker": (
        'OPEN{"name": "read", "arguments": {"path": "b"}OPENCALLCLOSE',
        "",
        [*B, *B],
        ["repaired-call"],
    ),
    "a brace is missing before the end of the list": (
        'OPEN[{"name": "read", "arguments": {"path": "b"}]CLOSE after',
        " after",
        B,
        ["repaired-call"],
    ),
    "a brace is missing before text": (
        'OPEN{"name": "read", "arguments": {"path": "b"} so',
        "so",
        B,
        ["repaired-call"],
    ),
    "a brace is missing at the end": (
        'OPEN{"name": "read", "arguments": {"path": "b"}',
        "",
        B,
        ["repaired-call"],
    ),
    "brackets are missing in the arguments": (
        'OPEN{"name": "read", "arguments": {"path": ["b"OPENCALLCLOSE',
        "",
        [("read", '{"path": ["b"'), *B],
        ["repaired-call", "invalid-arguments"],
    ),
    "a brace too many": ("OPENCALL}CLOSE after", " after", B, ["stray-token"]),
    "a marker twice": ("OPENOPENCALLCLOSE", "", B, []),
    # what is text
    "a marker alone": text("OPEN"),
    "a marker in a sentence": text("Use OPEN and CLOSE."),
    "a marker in code": text("`OPEN`\n"),
    "braces that are not JSON": text("OPEN{...}CLOSE"),
    "a placeholder": text('OPEN{"name": <function-name>, "arguments": <args-json-object>}CLOSE'),
    "an object of another kind": text('OPEN{"a": 1}CLOSE'),
    "an empty list": text("OPEN[]CLOSE"),
    "an empty name": text('OPEN{"name": ""}CLOSE'),
    "no name": text('OPEN{"arguments": {"path": "b"}}CLOSE', "malformed-call"),
    "no JSON after the name": (
        'OPEN{"name": "read" oops}CLOSEOPENCALLCLOSE',
        'OPEN{"name": "read" oops}CLOSE',
        B,
        ["malformed-call"],
    ),
    "no arguments after their key": text('OPEN{"name": "read", "arguments"}', "malformed-call"),
    "one object of a list is not a call": ('OPEN[{"a": 1}, CALL]CLOSE after', 'OPEN[{"a": 1}, after', B, []),
}
# Arguments that are not a JSON object: as they are written, and as `malformed: repair` sends them.
NEARLY_JSON: dict[str, tuple[str, str | None]] = {
    "a raw line break": ('{"path": "a\nb"}', '{"path": "a\\nb"}'),
    "an escape that JSON does not have": ('{"path": "\\x1b\\d"}', '{"path": "\\u001b\\\\d"}'),
    "a comma too many": ('{"path": ",}",}', '{"path": ",}"}'),
    "both": ('{"path": "a\nb",}', '{"path": "a\\nb"}'),
    "Python": (
        "{'path': 'it\\'s } \"', 'x': None, 'y': ('a', True)}",
        '{"path":"it\'s } \\"","x":null,"y":["a",true]}',
    ),
    "words of Python": ('{"path": "b", "x": True}', '{"path":"b","x":true}'),
    "an apostrophe where no string begins": ('{"path": it\'s}', None),
    "JSON in a string": ('"{\\"path\\": \\"b\\"}"', '{"path": "b"}'),
    "a list": ('["b"]', None),
    "a number": ("12", None),
    "nobody can tell": ('{"path" b}', None),
}


def chosen(dialect: str, rows: dict[str, Row]) -> list[str]:
    """The first dialect has every row; the others, which share its grammar, some in the quick tier."""
    return list(rows) if dialect == next(iter(MARKED)) else some(rows, 6 if exhaustive() else 4)


@each_marked
def test_arguments_that_are_not_json_leave_as_they_are(dialect: str) -> None:
    rows = {
        name: spelled(
            dialect,
            (
                f'OPEN{{"name": "free", "arguments": {wrote}}}CLOSE',
                "",
                [("free", wrote)],
                ["invalid-arguments"],
            ),
        )
        for name, (wrote, _) in NEARLY_JSON.items()
    }
    each(chosen(dialect, rows), lambda name: check(dialect, rows[name]))
    each(chosen(dialect, rows), lambda name: check(dialect, rows[name], policy={"arguments": "whole"}))


@each_marked
def test_arguments_that_are_nearly_json_are_repaired(dialect: str) -> None:
    rows = {}
    for name, (wrote, sent) in NEARLY_JSON.items():
        found = ["invalid-arguments" if sent is None else "repaired-arguments"]
        row = (f'OPEN{{"name": "free", "arguments": {wrote}}}CLOSE', "", [("free", sent or wrote)], found)
        rows[name] = spelled(dialect, row)
    each(chosen(dialect, rows), lambda name: check(dialect, rows[name], policy={"malformed": "repair"}))
    whole = {"malformed": "repair", "arguments": "whole"}
    each(chosen(dialect, rows), lambda name: check(dialect, rows[name], policy=whole))


@each_marked
def test_objects(dialect: str) -> None:
    rows = {name: spelled(dialect, row) for name, row in OBJECTS.items()}
    each(chosen(dialect, rows), lambda name: check(dialect, rows[name]))
    fewer = some(chosen(dialect, rows), 20 if exhaustive() else 8)
    each(fewer, lambda name: check(dialect, rows[name], policy={"arguments": "whole"}))


@each_marked
def test_objects_under_every_split(dialect: str) -> None:
    open, close = MARKED[dialect]
    written = f'Hi {open}[{CALL}, {{"arguments": {{"path": "é {open}"}}, "name": "read"}}]{close} bye'
    for policy in ({}, {"arguments": "whole"}, {"malformed": "repair"}):
        got = check_every_split(dialect, stream_of(written, 6), tools=TOOLS, policy=policy)
        assert got.calls == [*B, ("read", f'{{"path": "é {open}"}}')]
        assert got.content == "Hi bye"


# What the policies change


@each_marked
def test_a_tool_that_was_not_offered(dialect: str) -> None:
    zip = '{"name": "zip", "arguments": {"a": 1}}'
    check(dialect, spelled(dialect, (f"OPEN{zip}CLOSE", "", [("zip", '{"a": 1}')], ["unknown-tool"])))
    rows: list[Row] = [
        text(f"OPEN{zip}CLOSE x"),
        text(f"OPEN[{zip}, {zip}]CLOSE x"),
        (f"OPEN{zip}CLOSEOPENCALLCLOSE", f"OPEN{zip}CLOSE", B, []),
        (f"OPEN{zip}OPENCALLCLOSE", f"OPEN{zip}", B, []),
        (f"OPEN[{zip}, CALL]CLOSE", f"OPEN[{zip},", B, []),
        text('OPEN{"name": "zip", "arguments": {"a": 1', "truncated-call"),
        text('OPEN{"name": "zip", "arguments": {"a": 1}', "truncated-call"),
    ]
    each(rows, lambda row: check(dialect, spelled(dialect, row), policy={"unknown_tools": "text"}))


@each_marked
def test_an_answer_that_ends_too_early(dialect: str) -> None:
    open, _ = MARKED[dialect]
    text = f"{open}{CALL}"
    begun, ended = text.index('{"path') + 1, len(text) - 1
    ends = range(len(open) + 1, len(text))
    # Quick: the first dialect has every end; of the others, which share its grammar, the last ones and some.
    for end in ends if dialect == next(iter(MARKED)) else {*some(ends, 8), *ends[-4:]}:
        cut = text[:end]
        streamed, transformer = run(dialect, stream_of(cut, 3), tools=TOOLS)
        if end < begun:
            assert (streamed.content, streamed.calls) == (cut, [])
        else:
            assert (streamed.content, streamed.calls) == (
                "",
                [("read", text[begun - 1 : min(end, ended)].rstrip())],
            )
        told = ["repaired-call"] if end == ended else ["truncated-call"] if '"read"' in cut else []
        assert codes(transformer) == told, cut
        whole, _ = run(dialect, stream_of(cut, 3), tools=TOOLS, policy={"arguments": "whole"})
        assert (whole.content, whole.calls) == (("", B) if end == ended else (cut, []))


# Arguments stream as soon as the name is known


def arguments_by_delta(dialect: str, *parts: str) -> list[str]:
    """What of the arguments leaves with each part of the text."""
    _, transformer = run(dialect, deltas(*parts), tools=TOOLS, records="all")
    sent = [""] * len(parts)
    for record in transformer.records:
        if isinstance(record, Delta) and record.kind == "arguments":
            sent[record.event] += record.text
    return sent


@each_marked
def test_arguments_stream(dialect: str) -> None:
    open, close = MARKED[dialect]
    parts: tuple[str, ...]
    parts = (f'{open}{{"name": "read", "arguments"', ': {"pa', 'th": "a', "b c", '"', "}", "}", close or " ")
    assert arguments_by_delta(dialect, *parts) == ["", '{"pa', 'th": "a', "b c", '"', "}", "", ""]
    parts = (f'{open}{{"arguments": {{"path": "a', 'b", "x', '": 1}, "name": "read"', "}", close or " ")
    assert arguments_by_delta(dialect, *parts) == ["", "", '{"path": "ab", "x": 1}', "", ""]


# Text leaves at once


@each_marked
def test_a_marker_in_prose_holds_nothing_back(dialect: str) -> None:
    open, _ = MARKED[dialect]
    for text in (
        f"The `{open}`",
        f"A {open} tag",
        f"{open} [1",
        f"{open}{{x",
        f"{open}x y",
        "a < b",
        '{"a": 1',
    ):
        _, transformer = run(dialect, deltas(text, " and", " more"), tools=TOOLS, records="all")
        sent = [record for record in transformer.records if isinstance(record, Delta)]
        assert "".join(delta.text for delta in sent if delta.event <= 1) == f"{text} and", text


# Linear (FAILURES 33)


@each_row("dialect", SPELLED)
@each_row(("arguments", "filling"), [('{"path": "%s"}', "ab < [c "), ('{"path": [%s]}', "[1], ")])
def test_the_work_is_linear(dialect: str, arguments: str, filling: str) -> None:
    def work(size: int) -> int:
        text = write_call(dialect, "read", "{}").replace("{}", arguments % (filling * size))
        return calls_made(lambda: run(dialect, stream_of(text, 7), tools=TOOLS, records="findings"))

    work(1)  # what is made once for a dialect is no part of it
    assert work(100) < 2.4 * work(50)


# A call that is written and read again is the same call

values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
marks = st.sampled_from([*(mark for pair in MARKED.values() for mark in pair), "}}", '"', "\\", "'", "```"])
texts = st.lists(st.text(max_size=4) | marks, max_size=6).map("".join)
arguments = st.dictionaries(st.text(max_size=6) | texts, values | texts, max_size=4)


@pytest.mark.parametrize("dialect", SPELLED)
@given(arguments=arguments, size=st.integers(1, 9), stream=st.booleans())
def test_what_is_written_is_read(dialect: str, arguments: dict[str, Any], size: int, stream: bool) -> None:
    text = write_call(dialect, "read", arguments)
    policy = {"arguments": "stream" if stream else "whole"}
    got, transformer = run(dialect, stream_of(text, size), tools=TOOLS, policy=policy, records="findings")
    assert [name for name, _ in got.calls] == ["read"]
    assert parsed(got.calls[0][1]) == parsed(json_of(arguments))
    assert got.content == ""
    assert [code for code in codes(transformer) if code != "missing-parameter"] == []
