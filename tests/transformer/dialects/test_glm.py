"""glm: what stands in a call, and the tags that GLM loses or doubles (docs/spec.md, sections 4 and 5)."""

from __future__ import annotations

import pytest

from tests.support.cases import Row, check, written
from tests.support.cuts import check_every_split, codes, run
from tests.support.streams import stream_of, tool
from tests.support.tags import GLM, OFFERED, broken, check_both, good, unfinished

A = [("read", {"path": "a"})]
READ_A = "<tool_call>read\n<arg_key>path</arg_key>\n<arg_value>a</arg_value>\n</tool_call>"


def of(name: str, *parts: str) -> str:
    return f"<tool_call>{name}{''.join(parts)}</tool_call>"


SHARED = dict([*good(GLM), *broken(GLM)])
TEXT = dict(unfinished(GLM))
OWN: dict[str, Row] = {
    "whitespace around the name": ("<tool_call>\n now \n</tool_call>", "", [("now", {})], []),
    "whitespace around a key": (of("read", "<arg_key> path </arg_key><arg_value>a</arg_value>"), "", A, []),
    "newlines at the ends of a value": (
        of("write", "<arg_key>path</arg_key><arg_value>a</arg_value><arg_key>content</arg_key><arg_value>\nx\n\n</arg_value>"),
        "",
        written("\nx\n\n"),
        [],
    ),
    "no schema: what looks like JSON is JSON": (
        of("free", *(f"<arg_key>{k}</arg_key><arg_value>{v}</arg_value>" for k, v in zip("abcdef", ("5", "true", "null", '[1,"x"]', "a 5", '"q"'), strict=True))),
        "",
        [("free", {"a": 5, "b": True, "c": None, "d": [1, "x"], "e": "a 5", "f": '"q"'})],
        [],
    ),
    # Lost tags
    "<arg_value> is lost": (of("read", "<arg_key>path</arg_key>a b</arg_value>"), "", [("read", {"path": "a b"})], ["repaired-tag"]),
    "<arg_value> is lost, the value keeps its indentation": (
        of("read", "<arg_key>path</arg_key>\n    a\n</arg_value>"), "", [("read", {"path": "    a\n"})], ["repaired-tag"],
    ),
    "<arg_value> is lost of one of two": (
        of("write", "<arg_key>path</arg_key>a</arg_value>\n<arg_key>content</arg_key>\n<arg_value>x</arg_value>"), "", written("x"), ["repaired-tag"],
    ),
    "<arg_value> is lost of the second": (
        of("write", "<arg_key>path</arg_key><arg_value>a</arg_value><arg_key>content</arg_key><b>x</b></arg_value>"), "", written("<b>x</b>"), ["repaired-tag"],
    ),
    "<arg_key> is lost": (of("read", "\npath</arg_key><arg_value>a</arg_value>"), "", A, ["repaired-tag"]),
    "<arg_key> is lost, the names touch": (of("readpath", "</arg_key><arg_value>a</arg_value>"), "", A, ["repaired-tag"]),
    "<arg_key> is lost of a tool nobody offered": (of("zip a", "</arg_key><arg_value>b</arg_value>"), "", [("zip", {"a": "b"})], ["repaired-tag", "unknown-tool"]),
    "<arg_key> is lost of the second": (
        of("write", "<arg_key>path</arg_key><arg_value>a</arg_value>\ncontent</arg_key><arg_value>x</arg_value>"), "", written("x"), ["repaired-tag"],
    ),
    "<arg_key> is lost of one that the schema does not have": (
        of("write", "<arg_key>path</arg_key><arg_value>a</arg_value>other</arg_key><arg_value>x</arg_value>"),
        "", [("write", {"path": "a</arg_value>other</arg_key><arg_value>x"})], [],
    ),
    "the names touch, and nobody offered such a tool": (
        of("zipa", "</arg_key><arg_value>b</arg_value>"), of("zipa", "</arg_key><arg_value>b</arg_value>"), [], [],
    ),
    "</arg_key> is lost": (of("read", "<arg_key>path<arg_value>a</arg_value>"), "", A, ["repaired-tag"]),
    "</arg_value> is lost in the middle of a line": (
        of("write", "<arg_key>path</arg_key><arg_value>a<arg_key>content</arg_key><arg_value>x</arg_value>"), "", written("x"), ["repaired-parameter"],
    ),
    "</arg_value> is lost twice": (
        of("edit", "<arg_key>path</arg_key><arg_value>a<arg_key>count</arg_key><arg_value>3<arg_key>note</arg_key><arg_value>x</arg_value>"),
        "", [("edit", {"path": "a", "count": 3, "note": "x"})], ["repaired-parameter", "repaired-parameter"],
    ),
    "</arg_value> is lost, and so is the call's last": (
        of("write", "<arg_key>path</arg_key><arg_value>a<arg_key>content</arg_key><arg_value>x"), "", written("x"), ["repaired-parameter", "repaired-parameter"],
    ),
    "a parameter in a value that has its own end": (
        of("edit", "<arg_key>path</arg_key><arg_value>a <arg_key>note</arg_key><arg_value>x</arg_value> b</arg_value><arg_key>count</arg_key><arg_value>3</arg_value>"),
        "", [("edit", {"path": "a <arg_key>note</arg_key><arg_value>x</arg_value> b", "count": 3})], [],
    ),
    # Doubled tags
    "a stray </arg_key>": (of("read", "<arg_key>path</arg_key></arg_key><arg_value>a</arg_value>"), "", A, ["repaired-tag"]),
    "<arg_key> twice": (of("read", "<arg_key><arg_key>path</arg_key>\n<arg_value>a</arg_value>"), "", A, ["repaired-tag"]),
    "<tool_call> twice": (f"<tool_call>\n{READ_A}", "", A, []),
    "</tool_call> three times": (f"{READ_A}</tool_call>\n</tool_call> bye", " bye", A, []),
    # Not a call
    "a word in the tags, in a sentence": ("Write <tool_call>name</tool_call> so.", "Write <tool_call>name</tool_call> so.", [], []),
    "JSON in the tags": ('<tool_call>{"name": "read"}</tool_call>', '<tool_call>{"name": "read"}</tool_call>', [], []),
    "words after the name": ("<tool_call>read or not</tool_call>", "<tool_call>read or not</tool_call>", [], []),
}  # fmt: skip


@pytest.mark.parametrize("row", SHARED.values(), ids=SHARED)
def test_what_all_tag_dialects_share(row: Row) -> None:
    check_both(GLM, row)


@pytest.mark.parametrize("row", TEXT.values(), ids=TEXT)
def test_what_is_not_finished_is_text(row: Row) -> None:
    check("glm", row, tools=OFFERED)


@pytest.mark.parametrize("row", OWN.values(), ids=OWN)
def test_glm(row: Row) -> None:
    check_both(GLM, row)


# What users of other parsers reported (the numbers are those of the samples' headers)

NAMED = tool("named", {"name": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "rows": {"type": "array"}})


def test_40_a_call_without_arguments_is_not_lost() -> None:
    got = check_every_split("glm", stream_of("<tool_call>now</tool_call>", 4), tools=OFFERED)
    assert got.calls == [("now", "{}")] and got.finish_reason == "tool_calls"


@pytest.mark.parametrize("arguments", ["whole", "stream"])
def test_41_an_optional_string_and_an_array_come_once(arguments: str) -> None:
    text = of(
        "named",
        "<arg_key>name</arg_key><arg_value>Smith</arg_value><arg_key>rows</arg_key><arg_value>[[1], []]</arg_value>",
    )
    got = check_every_split("glm", stream_of(text, 4), tools=[NAMED], policy={"arguments": arguments})
    assert got.calls == [("named", '{"name":"Smith","rows":[[1], []]}')]


@pytest.mark.parametrize("arguments", ["whole", "stream"])
def test_42_a_value_without_a_schema_is_the_same_streamed_or_not(arguments: str) -> None:
    text = of(
        "free", "<arg_key>n</arg_key><arg_value>5</arg_value><arg_key>s</arg_key><arg_value>x</arg_value>"
    )
    got = check_every_split("glm", stream_of(text, 4), tools=OFFERED, policy={"arguments": arguments})
    assert got.calls == [("free", '{"n":5,"s":"x"}')]


@pytest.mark.parametrize(
    "text",
    [
        of("read", "<arg_key>path</arg_key>a</arg_value>"),
        of("readpath", "</arg_key><arg_value>a</arg_value>"),
        of("read path", "</arg_key><arg_value>a</arg_value>"),
        of("read", "<arg_key>path</arg_key></arg_key><arg_value>a</arg_value>"),
    ],
)
@pytest.mark.parametrize("arguments", ["whole", "stream"])
def test_43_lost_and_stray_tags(text: str, arguments: str) -> None:
    got = check_every_split("glm", stream_of(text, 4), tools=OFFERED, policy={"arguments": arguments})
    assert got.calls == [("read", '{"path":"a"}')] and got.content == ""


def test_a_lost_tag_is_told_as_it_was_written() -> None:
    _, transformer = run(
        "glm", stream_of(of("readpath", "</arg_key><arg_value>a</arg_value>")), tools=OFFERED
    )
    assert [finding.message for finding in transformer.findings] == [
        "the tag of path is path</arg_key><arg_value> and not <arg_key>path</arg_key><arg_value>; "
        "it was read as if it were"
    ]


def test_only_offered_tools_are_taken_apart() -> None:
    text = of("readpath", "</arg_key><arg_value>a</arg_value>")
    got, transformer = run("glm", stream_of(text), tools=OFFERED, policy={"unknown_tools": "text"})
    assert got.calls == [("read", '{"path":"a"}')] and codes(transformer) == ["repaired-tag"]
    got, _ = run(
        "glm",
        stream_of(of("zip", "<arg_key>a</arg_key>b</arg_value>")),
        tools=OFFERED,
        policy={"unknown_tools": "text"},
    )
    assert got.calls == []


def test_a_call_in_the_reasoning_is_made() -> None:
    got = check_every_split("glm", stream_of(f"I read it. {READ_A}", 7, "reasoning_content"), tools=OFFERED)
    assert (got.reasoning, got.calls) == ("I read it.", [("read", '{"path":"a"}')])
