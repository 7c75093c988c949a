"""roo-xml: where a call may stand, and what is said of whatever only looks like one (docs/spec.md, 5)."""

from __future__ import annotations

from tests.support.cases import Calls, Row, check, deltas
from tests.support.cuts import run
from tests.support.streams import JSON, tool
from tests.support.tiers import each_row
from transformer import DIALECTS, StreamTransformer, transform_request, write_call

TEXT: JSON = {"type": "string"}
TOOLS = [
    tool("read", {"filePath": TEXT, "limit": {"type": "integer"}}, required=["filePath"]),
    tool("bash", {"command": TEXT}, required=["command"]),
    tool("now", {}),
    tool("skill", {"skill": TEXT}, required=["skill"]),
    tool("mark", {"names": {"type": "array", "items": TEXT}}),
    tool("code", {"text": TEXT}, required=["text"]),
]
A: Calls = [("read", {"filePath": "/a"})]
CALL = "<read><filePath>/a</filePath></read>"

# text, the content that is left, the calls, the findings
COUNTS: dict[str, Row] = {
    "after words on the same line": (f"Let me read it. {CALL}", "Let me read it.", A, []),
    "indented, its children too": ("  <read>\n    <filePath>/a</filePath>\n  </read>", "", A, []),
    "indented with a tab": (f"Look:\n\t{CALL}", "Look:", A, []),
    "after the number of a list": (f"1. {CALL}", "1.", A, []),
    "after the dash of a list": (f"- {CALL}", "-", A, []),
    "with blanks before the end of its tag": ("<read >\n<filePath>/a</filePath></read>", "", A, []),
    "with blanks, after the tag of another tool": (
        "<now> <read ><filePath>/a</filePath></read>",
        "<now>",
        A,
        [],
    ),
    "with blanks, after words": ("So: <read  ><filePath>/a</filePath></read>", "So:", A, []),
    "after code that is closed": (f"With `ls`: {CALL}", "With `ls`:", A, []),
    "after code on another line": (f"A ` alone.\n{CALL}", "A ` alone.", A, []),
    "a tool that needs nothing, after words": ("It is <now></now>", "It is", [("now", {})], []),
    "at the start of a line inside a fence": (f"```\n{CALL}", "```", A, []),
    "its own tag before it, in a sentence": (f"I use <read> now. {CALL}", "I use <read> now.", A, []),
    "a parameter named like its tool": (
        "<skill><skill>pdf</skill></skill>",
        "",
        [("skill", {"skill": "pdf"})],
        [],
    ),
    "the same on lines of their own": (
        "<skill>\n<skill>pdf</skill>\n</skill>",
        "",
        [("skill", {"skill": "pdf"})],
        [],
    ),
    "an array takes both": (
        "<mark><names>x</names>\n<names>y</names></mark>",
        "",
        [("mark", {"names": ["x", "y"]})],
        [],
    ),
    "the same parameter twice": (
        "<read>\n<filePath>/a</filePath>\n<filePath>/b</filePath>\n</read>",
        "",
        A,
        ["duplicate-parameter"],
    ),
    "the same parameter three times, another between": (
        "<read>\n<filePath>/a</filePath>\n<limit>5</limit>\n<filePath>/b</filePath>\n<filePath>/c</filePath>\n</read>",
        "",
        [("read", {"filePath": "/a", "limit": 5})],
        ["duplicate-parameter", "duplicate-parameter"],
    ),
    "its own tag in the middle of its text is data": (
        "<read><filePath>/a <filePath>x</filePath> y</filePath></read>",
        "",
        [("read", {"filePath": "/a <filePath>x</filePath> y"})],
        [],
    ),
}

_NO_PARAMETER = "<bash>\nls\n</bash>"
_COMMENT = f"<read>\n<!-- x -->\n{CALL[6:]}"
# The text stays as it is.
STAYS_TEXT: dict[str, tuple[str, list[str]]] = {
    "in backticks": (f"Write `{CALL}` to read.", []),
    "in double backticks": (f"Write ``{CALL}`` to read.", []),
    "named in a sentence": ("The <read> tag reads a file.", []),
    "named at the start of lines": ("Tools:\n<read> reads\n<bash> runs", []),
    "in a fence, after words": (f"```\nuse {CALL}\n```", []),
    "without a parameter's tag": (_NO_PARAMETER, ["malformed-call"]),
    "without a parameter's tag, after words": ("Run <bash>ls</bash> now", ["malformed-call"]),
    "a comment as its first child": (_COMMENT, ["malformed-call"]),
    "attributes, closed in itself": ('<read filePath="/a"/>', ["malformed-call"]),
    "attributes, after words": ('I see <read path="/a">x</read>', ["malformed-call"]),
    "attributes over several lines": ('<read\n  filePath="/a"\n/>', ["malformed-call"]),
    "attributes of an HTML element": ('<code class="x">y</code> is HTML', []),
    "attributes in backticks": ('Not `<read filePath="/a"/>`', []),
    "a tool that needs a parameter, without any": ("<read></read>", ["malformed-call"]),
    "alone on its line, never closed": ("<bash>\nls", ["malformed-call"]),
    "a parameter of another tool, after words": (
        "ok <read><command>x</command></read>",
        ["malformed-call"],
    ),
}


@each_row("row", COUNTS.values(), ids=COUNTS)
def test_it_is_a_call(row: Row) -> None:
    check("roo-xml", row, tools=TOOLS)


@each_row(("text", "findings"), STAYS_TEXT.values(), ids=STAYS_TEXT)
def test_it_stays_text_and_says_why(text: str, findings: list[str]) -> None:
    check("roo-xml", (text, text, [], findings), tools=TOOLS)


def test_the_history_shows_arrays_as_the_prompt_teaches_them() -> None:
    offered = tool("mark", {"names": {"type": "array", "items": TEXT}})
    text = write_call("roo-xml", "mark", {"names": ["a", "b"]}, offered)
    assert "<item>a</item>" in text and "[" not in text
    got, _ = run("roo-xml", deltas(text), tools=[offered])
    assert got.calls == [("mark", '{"names":["a","b"]}')]
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}], "tools": [offered]}
    assert "<item>" in transform_request(body, "roo-xml")[0]["messages"][0]["content"]


@each_row("dialect", ["roo-xml", "qwen3-coder", "kimi-k2"])
def test_with_convert_always_a_request_need_not_offer_tools(dialect: str) -> None:
    text = write_call(dialect, "read", {"filePath": "/a"}, TOOLS[0])
    for policy, calls in (({}, 0), ({"convert": "always"}, 1)):
        transformer = StreamTransformer(dialect, policy=policy, request={"model": "m", "messages": []})
        transformer.feed(deltas(text))
        transformer.finish()
        assert transformer.calls == calls
    assert DIALECTS[dialect].policy.convert == "tools"
