"""glm: what stands in a call, and the tags that GLM loses or doubles (docs/spec.md, sections 4 and 5)."""

from __future__ import annotations

from tests.support.cases import Row, check, written
from tests.support.cuts import check_every_split, codes, run
from tests.support.streams import stream_of, tool
from tests.support.tags import GLM, OFFERED, broken, check_both, good, unfinished
from tests.support.tiers import each_row

A = [("read", {"path": "a"})]
MENDED = ["repaired-tag"]


def key(name: str) -> str:
    return f"<arg_key>{name}</arg_key>"


def value(text: str) -> str:
    return f"<arg_value>{text}</arg_value>"


def of(name: str, *parts: str) -> str:
    return f"<tool_call>{name}{''.join(parts)}</tool_call>"


READ_A = of("read\n", key("path"), "\n", value("a"), "\n")
PATH_A = key("path") + value("a")
OPEN_A = PATH_A.removesuffix("</arg_value>")
TOUCHING = of("readpath", "</arg_key>", value("a"))
UNTYPED = ("5", "true", "null", '[1,"x"]', "a 5", '"q"')

SHARED = dict([*good(GLM), *broken(GLM)])
TEXT = dict(unfinished(GLM))
OWN: dict[str, Row] = {
    "whitespace around the name": ("<tool_call>\n now \n</tool_call>", "", [("now", {})], []),
    "whitespace around a key": (of("read", key(" path "), value("a")), "", A, []),
    "newlines at the ends of a value": (
        of("write", PATH_A, key("content"), value("\nx\n\n")),
        "",
        written("\nx\n\n"),
        [],
    ),
    "no schema: what looks like JSON is JSON": (
        of("free", *(key(name) + value(text) for name, text in zip("abcdef", UNTYPED, strict=True))),
        "",
        [("free", {"a": 5, "b": True, "c": None, "d": [1, "x"], "e": "a 5", "f": '"q"'})],
        [],
    ),
    # Lost tags
    "<arg_value> is lost": (of("read", key("path"), "a</arg_value>"), "", A, MENDED),
    "<arg_value> is lost, the value keeps its indentation": (
        of("read", key("path"), "\n    a\n</arg_value>"),
        "",
        [("read", {"path": "    a\n"})],
        MENDED,
    ),
    "<arg_value> is lost of one of two": (
        of("write", key("path"), "a</arg_value>\n", key("content"), "\n", value("x")),
        "",
        written("x"),
        MENDED,
    ),
    "<arg_value> is lost of the second": (
        of("write", PATH_A, key("content"), "<b>x</b></arg_value>"),
        "",
        written("<b>x</b>"),
        MENDED,
    ),
    "one </arg_key> too many to be a slip": (
        of("read", key("path"), *["\n</arg_key>"] * 3, "\n", value("a")),
        "",
        [("read", {"path": "</arg_key>\n<arg_value>a"})],
        MENDED,
    ),
    "<arg_key> is lost": (of("read", "\npath</arg_key>", value("a")), "", A, MENDED),
    "<arg_key> is lost, the names touch": (TOUCHING, "", A, MENDED),
    "<arg_key> is lost of a tool nobody offered": (
        of("zip a", "</arg_key>", value("b")),
        "",
        [("zip", {"a": "b"})],
        [*MENDED, "unknown-tool"],
    ),
    "<arg_key> is lost of the second": (
        of("write", PATH_A, "\ncontent</arg_key>", value("x")),
        "",
        written("x"),
        MENDED,
    ),
    "<arg_key> is lost of one that the schema does not have": (
        of("read", PATH_A, "other</arg_key>", value("x")),
        "",
        [("read", {"path": "a</arg_value>other</arg_key><arg_value>x"})],
        [],
    ),
    "the names touch, and nobody offered such a tool": (
        of("zipa", "</arg_key>", value("b")),
        of("zipa", "</arg_key>", value("b")),
        [],
        [],
    ),
    "</arg_key> is lost": (of("read", "<arg_key>path", value("a")), "", A, MENDED),
    "</arg_value> is lost in the middle of a line": (
        of("write", OPEN_A, key("content"), value("x")),
        "",
        written("x"),
        ["repaired-parameter"],
    ),
    "</arg_value> is lost twice": (
        of("edit", OPEN_A, key("count"), "<arg_value>3", key("note"), value("x")),
        "",
        [("edit", {"path": "a", "count": 3, "note": "x"})],
        ["repaired-parameter", "repaired-parameter"],
    ),
    "</arg_value> is lost, and so is the call's last": (
        of("write", OPEN_A, key("content"), "<arg_value>x"),
        "",
        written("x"),
        ["repaired-parameter", "repaired-parameter"],
    ),
    "a parameter in a value that has its own end": (
        of("edit", key("path"), value(f"a {key('note')}{value('x')} b"), key("count"), value("3")),
        "",
        [("edit", {"path": f"a {key('note')}{value('x')} b", "count": 3})],
        [],
    ),
    # Doubled tags
    "a stray </arg_key>": (of("read", key("path"), "</arg_key>", value("a")), "", A, MENDED),
    "<arg_key> twice": (of("read", "<arg_key>", key("path"), "\n", value("a")), "", A, MENDED),
    "<tool_call> twice": (f"<tool_call>\n{READ_A}", "", A, []),
    "</tool_call> three times": (f"{READ_A}</tool_call>\n</tool_call> bye", " bye", A, []),
}
NO_CALLS = {
    "a word in the tags, in a sentence": "Write <tool_call>name</tool_call> so.",
    "JSON in the tags": '<tool_call>{"name": "read"}</tool_call>',
    "words after the name": "<tool_call>read or not</tool_call>",
}


@each_row("row", SHARED.values(), ids=SHARED)
def test_what_all_tag_dialects_share(row: Row) -> None:
    check_both(GLM, row)


@each_row("row", TEXT.values(), ids=TEXT)
def test_what_is_not_finished_is_text(row: Row) -> None:
    check("glm", row, tools=OFFERED)


@each_row("row", OWN.values(), ids=OWN)
def test_glm(row: Row) -> None:
    check_both(GLM, row)


@each_row("text", NO_CALLS.values(), ids=NO_CALLS)
def test_what_is_not_a_call_is_text(text: str) -> None:
    check("glm", (text, text, [], []))


# What users of other parsers reported; the numbers are those in the samples' headers.

NAMED = tool("named", {"name": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "rows": {"type": "array"}})
BOTH = each_row("arguments", ["whole", "stream"])


def test_40_a_call_without_arguments_is_not_lost() -> None:
    got = check_every_split("glm", stream_of("<tool_call>now</tool_call>", 4), tools=OFFERED)
    assert got.calls == [("now", "{}")] and got.finish_reason == "tool_calls"


@BOTH
def test_41_an_optional_string_and_an_array_come_once(arguments: str) -> None:
    text = of("named", key("name"), value("Smith"), key("rows"), value("[[1], []]"))
    got = check_every_split("glm", stream_of(text, 4), tools=[NAMED], policy={"arguments": arguments})
    assert got.calls == [("named", '{"name":"Smith","rows":[[1], []]}')]


@BOTH
def test_42_a_value_without_a_schema_is_the_same_streamed_or_not(arguments: str) -> None:
    text = of("free", key("n"), value("5"), key("s"), value("x"))
    got = check_every_split("glm", stream_of(text, 4), tools=OFFERED, policy={"arguments": arguments})
    assert got.calls == [("free", '{"n":5,"s":"x"}')]


@BOTH
@each_row(
    "text",
    [
        of("read", key("path"), "a</arg_value>"),
        TOUCHING,
        of("read path", "</arg_key>", value("a")),
        of("read", key("path"), "</arg_key>", value("a")),
    ],
)
def test_43_lost_and_stray_tags(text: str, arguments: str) -> None:
    got = check_every_split("glm", stream_of(text, 4), tools=OFFERED, policy={"arguments": arguments})
    assert got.calls == [("read", '{"path":"a"}')] and got.content == ""


def test_a_lost_tag_is_told_as_it_was_written() -> None:
    _, transformer = run("glm", stream_of(TOUCHING), tools=OFFERED)
    assert [finding.message for finding in transformer.findings] == [
        "the tag of path is path</arg_key><arg_value> and not <arg_key>path</arg_key><arg_value>; "
        "it was read as if it were"
    ]


def test_only_offered_tools_are_taken_apart() -> None:
    only = {"unknown_tools": "text"}
    got, transformer = run("glm", stream_of(TOUCHING), tools=OFFERED, policy=only)
    assert got.calls == [("read", '{"path":"a"}')] and codes(transformer) == MENDED
    got, _ = run("glm", stream_of(of("zip", key("a"), "b</arg_value>")), tools=OFFERED, policy=only)
    assert got.calls == []


def test_a_call_in_the_reasoning_is_made() -> None:
    got = check_every_split("glm", stream_of(f"I read it. {READ_A}", 7, "reasoning_content"), tools=OFFERED)
    assert (got.reasoning, got.calls) == ("I read it.", [("read", '{"path":"a"}')])
