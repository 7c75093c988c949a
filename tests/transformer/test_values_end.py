"""SPEC section 4, "Where a value ends", sentence by sentence; and section 5's repairs of qwen3-coder."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

import pytest

from tests.helpers import (
    check_every_split,
    check_records,
    codes,
    message,
    message_result,
    run,
    sse,
    stream_of,
    tool,
)
from transformer import transform_message

TEXT = {"type": "string"}
WRITE = tool("write", {"path": TEXT, "content": TEXT}, required=["path"])
EDIT = tool(
    "edit",
    {"path": TEXT, "tags": {"type": "array", "items": TEXT}, "count": {"type": "integer"}, "note": TEXT},
    required=["path"],
)
READ = tool("read", {"path": TEXT})
FREE = {"type": "function", "function": {"name": "free"}}
TOOLS = [WRITE, EDIT, READ, FREE]

# text -> content, calls, finding codes
Calls: TypeAlias = list[tuple[str, dict[str, Any]]]
Row: TypeAlias = tuple[str, str, Calls, list[str]]


def deltas(*parts: str) -> bytes:
    events = [{"choices": [{"index": 0, "delta": {"content": part}}]} for part in parts if part]
    return sse(*events, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})


def check(dialect: str, row: Row, **kwargs: Any) -> None:
    """The row holds whole, for every two-way cut of the text, and for every larger number of deltas."""
    text, content, calls, expected = row
    wanted = (content, [(name, compact(values)) for name, values in calls], expected)
    kwargs = {"tools": TOOLS} | kwargs
    cuts = [deltas(text[:at], text[at:]) for at in range(len(text))]
    cuts += [stream_of(text, size) for size in (1, 2, 3, 7)]
    for data in cuts:
        got, transformer = run(dialect, data, records="findings", **kwargs)
        assert (got.content, got.calls, codes(transformer)) == wanted, data
        assert transformer.unaccounted == 0
    data = stream_of(text, 4)
    check_records(run(dialect, data, **kwargs)[1], data)
    whole = message_result(transform_message(message(text), dialect=dialect, **kwargs))
    assert (whole.content, whole.calls) == wanted[:2]


def compact(values: dict[str, Any]) -> str:
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"))


def written(content: str) -> Calls:
    return [("write", {"path": "a", "content": content})]


HEAD = "<write>\n<path>a</path>\n<content>"
TAIL = "</content>\n</write>"

ROO: dict[str, Row] = {
    # A value may contain anything, its own closing tag and whole foreign calls included.
    "its own closing tag, text follows": (f"{HEAD}x </content> y{TAIL}", "", written("x </content> y"), []),
    "its own closing tag at a line's end": (f"{HEAD}x</content>\ny{TAIL}", "", written("x</content>\ny"), []),
    "its own closing tag twice": (f"{HEAD}x</content></content></write>", "", written("x</content>"), []),
    "its own closing tag three times": (
        f"{HEAD}x</content>\n</content>\n\n</content></write>",
        "",
        written("x</content>\n</content>\n"),
        [],
    ),
    "its own pair of tags": (
        f"{HEAD}<content>x</content> y{TAIL}",
        "",
        written("<content>x</content> y"),
        [],
    ),
    "another parameter's closing tag": (
        f"{HEAD}x</path>\n</write>{TAIL}",
        "",
        written("x</path>\n</write>"),
        [],
    ),
    "a whole foreign call": (
        f"{HEAD}\n<read>\n<path>b</path>\n</read>\n{TAIL}",
        "",
        written("<read>\n<path>b</path>\n</read>"),
        [],
    ),
    "a whole call nobody offered": (
        f"{HEAD}\n<zip>\n<file>b</file>\n</zip>\n{TAIL}",
        "",
        written("<zip>\n<file>b</file>\n</zip>"),
        [],
    ),
    "a foreign call with a parameter of this tool": (
        "<write>\n<content>\n<read>\n<path>b</path>\n</read>\n</content>\n<path>a</path>\n</write>",
        "",
        [("write", {"content": "<read>\n<path>b</path>\n</read>", "path": "a"})],
        [],
    ),
    "foreign calls of other dialects": (
        f"{HEAD}<tool_call><function=read></function></tool_call><|tool_call_begin|>{TAIL}",
        "",
        written("<tool_call><function=read></function></tool_call><|tool_call_begin|>"),
        [],
    ),
    "HTML": (
        f"{HEAD}\n<div><p>x</p>\n<br/>\n<path d='M0'></path></div>\n{TAIL}",
        "",
        written("<div><p>x</p>\n<br/>\n<path d='M0'></path></div>"),
        [],
    ),
    "HTML behind its own closing tag": (
        f"{HEAD}x</content>\n<div>y</div>\n{TAIL}",
        "",
        written("x</content>\n<div>y</div>"),
        [],
    ),
    "beginnings of tags": (
        f"{HEAD}<<</</c</con</content <content{TAIL}",
        "",
        written("<<</</c</con</content <content"),
        [],
    ),
    "tags with attributes or blanks": (
        f"{HEAD}</content ></ content></CONTENT><content a=1>{TAIL}",
        "",
        written("</content ></ content></CONTENT><content a=1>"),
        [],
    ),
    # A closing tag ends it only when structure follows (after whitespace): the call's closing tag;
    "the call's closing tag at once": (f"{HEAD}x</content></write>", "", written("x"), []),
    "the call's closing tag after whitespace": (f"{HEAD}x</content> \r\n\t\n </write>", "", written("x"), []),
    "another call's closing tag": (
        f"{HEAD}x</content>\n</read>\n{TAIL}",
        "",
        written("x</content>\n</read>"),
        [],
    ),
    # the opening tag of a parameter of this tool that is not given yet
    "a parameter that is not given yet": (
        "<write>\n<content>x</content>\n<path>a</path>\n</write>",
        "",
        [("write", {"content": "x", "path": "a"})],
        [],
    ),
    "a parameter that is given": (
        f"{HEAD}x</content>\n<path>b</path>\n{TAIL}",
        "",
        written("x</content>\n<path>b</path>"),
        [],
    ),
    "the open parameter's own tag": (
        f"{HEAD}x</content>\n<content>y{TAIL}",
        "",
        written("x</content>\n<content>y"),
        [],
    ),
    "a parameter behind text": (
        "<write>\n<content>x</content> y\n<path>a</path>\n</content>\n</write>",
        "",
        [("write", {"content": "x</content> y\n<path>a</path>"})],
        [],
    ),
    # (arrays may repeat)
    "an array that repeats": (
        "<edit>\n<path>a</path>\n<tags>x</tags>\n<tags>y</tags>\n<tags>z</tags>\n</edit>",
        "",
        [("edit", {"path": "a", "tags": ["x", "y", "z"]})],
        [],
    ),
    "an array that repeats around another parameter": (
        "<edit>\n<tags>x</tags>\n<path>a</path>\n<tags>y</tags>\n</edit>",
        "",
        [("edit", {"tags": ["x", "y"], "path": "a"})],
        [],
    ),
    # for a name the schema doesn't know, a whole element whose first closing tag is followed by structure
    "an unknown name first": (
        "<write>\n<mode>1</mode>\n<path>a</path>\n</write>",
        "",
        [("write", {"mode": "1", "path": "a"})],
        [],
    ),
    "an unknown name in the middle": (
        "<write>\n<path>a</path>\n<mode>1</mode>\n<content>x</content>\n</write>",
        "",
        [("write", {"path": "a", "mode": "1", "content": "x"})],
        [],
    ),
    "an unknown name last": (
        f"{HEAD}x</content>\n<mode>\n1\n</mode></write>",
        "",
        [("write", {"path": "a", "content": "x", "mode": "1"})],
        [],
    ),
    "several unknown names": (
        "<write>\n<path>a</path><x>1</x><y>2</y>\n<z>3</z></write>",
        "",
        [("write", {"path": "a", "x": "1", "y": "2", "z": "3"})],
        [],
    ),
    "an unknown element, text follows": (
        f"{HEAD}x</content><b>y</b> z{TAIL}",
        "",
        written("x</content><b>y</b> z"),
        [],
    ),
    "an unknown element that is not closed": (
        f"{HEAD}x</content>\n<hr>\ny{TAIL}",
        "",
        written("x</content>\n<hr>\ny"),
        [],
    ),
    "unknown elements, text follows the last": (
        f"{HEAD}x</content><b>y</b><i>z</i> w{TAIL}",
        "",
        written("x</content><b>y</b><i>z</i> w"),
        [],
    ),
    "only an unknown element's first closing tag counts": (
        "<write>\n<path>a</path><x>1</x> 2</x></write>",
        "<write>\n<path>a</path><x>1</x> 2</x></write>",
        [],
        ["malformed-call"],
    ),
    "an unknown element around the end": (
        f"{HEAD}x</content><b>y{TAIL}",
        "",
        written("x</content><b>y"),
        [],
    ),
    # and for a tool without schema
    "a tool without schema": (
        "<free>\n<x>1</x>\n<y>true</y>\n</free>",
        "",
        [("free", {"x": "1", "y": "true"})],
        [],
    ),
    "a tool without schema, its own closing tag inside": (
        "<free>\n<x>a</x> b</x>\n</free>",
        "",
        [("free", {"x": "a</x> b"})],
        [],
    ),
    "a tool without schema, an element inside": (
        "<free>\n<x>a</x>\n<i>b</i> c</x>\n<y>2</y></free>",
        "",
        [("free", {"x": "a</x>\n<i>b</i> c", "y": "2"})],
        [],
    ),
    "a tool nobody offered": (
        "<zip>\n<file>a</file>\n<to>b</to>\n</zip>",
        "",
        [("zip", {"file": "a", "to": "b"})],
        ["unknown-tool"],
    ),
    "a tool nobody offered, and text between its elements": (
        "<zip>\n<file>a</file>\n<to>b</to> c\n</zip>",
        "<zip>\n<file>a</file>\n<to>b</to> c\n</zip>",
        [],
        [],
    ),
    # A line that starts with this call's own <TOOL> inside a value opens a nested example
    "an example of this call": (
        f"{HEAD}\nUse:\n<write>\n<path>p</path>\n<content>c</content>\n</write>\nlike so.\n{TAIL}",
        "",
        written("Use:\n<write>\n<path>p</path>\n<content>c</content>\n</write>\nlike so."),
        [],
    ),
    "an example that is all of the value": (
        f"{HEAD}\n<write>\n<content>c</content>\n</write>\n{TAIL}",
        "",
        written("<write>\n<content>c</content>\n</write>"),
        [],
    ),
    "two examples": (
        f"{HEAD}\n<write><content>c</content></write>\n<write>\n<content>d</content>\n</write>\n{TAIL}",
        "",
        written("<write><content>c</content></write>\n<write>\n<content>d</content>\n</write>"),
        [],
    ),
    "an example inside an example": (
        f"{HEAD}\n<write>\n<content>\n<write>\n<content>c</content>\n</write>\n</content>\n</write>\n{TAIL}",
        "",
        written("<write>\n<content>\n<write>\n<content>c</content>\n</write>\n</content>\n</write>"),
        [],
    ),
    "a new parameter inside an example": (
        "<write>\n<content>\n<write>\n<content>c</content>\n<path>p</path>\n</write>\n</content>\n<path>a</path></write>",
        "",
        [("write", {"content": "<write>\n<content>c</content>\n<path>p</path>\n</write>", "path": "a"})],
        [],
    ),
    "this call's own tag in the middle of a line is no example": (
        f"{HEAD}Use <write> so{TAIL}",
        "",
        written("Use <write> so"),
        [],
    ),
    "an example inside an element the schema doesn't know": (
        "<write>\n<path>a</path>\n<mode>\n<write>\n<path>p</path>\n</write>\n</mode>\n</write>",
        "",
        [("write", {"path": "a", "mode": "<write>\n<path>p</path>\n</write>"})],
        [],
    ),
    "an example inside a value of a tool without schema": (
        "<free>\n<x>1</x>\n<y>\n<free>\n<x>2</x>\n</free>\n</y>\n</free>",
        "",
        [("free", {"x": "1", "y": "<free>\n<x>2</x>\n</free>"})],
        [],
    ),
    # If the answer then ends without another end, the first such pair was the end (record).
    "an example that is never closed": (
        f"{HEAD}\n<write>\nx{TAIL}",
        "",
        written("<write>\nx"),
        ["ambiguous-end"],
    ),
    "an example that is never closed, text behind it": (
        f"Hi\n{HEAD}\n<write>\nx{TAIL}\nbye",
        "Hi",
        written("<write>\nx"),
        ["ambiguous-end", "text-after-call"],
    ),
    "an example that is never closed: its first pair": (
        f"{HEAD}\n<write>\nx{TAIL}\n{HEAD}\n<write>\ny{TAIL}",
        "",
        written("<write>\nx"),
        ["ambiguous-end", "call-after-first"],
    ),
    # </TOOL> at the start of a line inside an open value, followed by an offered tool's tag
    "a malformed call before a good one": (
        "Hi\n<write>\n<path>a\n</write>\n<read>\n<path>b</path>\n</read>",
        "Hi\n<write>\n<path>a\n</write>",
        [("read", {"path": "b"})],
        ["unclosed-parameter"],
    ),
    "a malformed call before one of the same tool": (
        "<read>\n<path>a\n</read>\n\n<read>\n<path>b</path>\n</read>",
        "<read>\n<path>a\n</read>",
        [("read", {"path": "b"})],
        ["unclosed-parameter"],
    ),
    "followed by the tag of a tool nobody offered it is data": (
        "<read>\n<path>a\n</read>\n<zip>\n<x>1</x></zip>\n</path>\n</read>",
        "",
        [("read", {"path": "a\n</read>\n<zip>\n<x>1</x></zip>"})],
        [],
    ),
    "in the middle of a line it is data": (
        "<write>\n<path>a </write>\n<read>\n</read>\n</path>\n</write>",
        "",
        [("write", {"path": "a </write>\n<read>\n</read>"})],
        [],
    ),
    "the other tool's tag in the middle of a line: it is data": (
        "<write>\n<path>a\n</write> <read>\n</read>\n</path>\n</write>",
        "",
        [("write", {"path": "a\n</write> <read>\n</read>"})],
        [],
    ),
    "text between them: it is data": (
        "<write>\n<path>a\n</write>\nthen\n<read>\n</read>\n</path>\n</write>",
        "",
        [("write", {"path": "a\n</write>\nthen\n<read>\n</read>"})],
        [],
    ),
    "in an example it ends the example": (
        f"{HEAD}\n<write>\n<path>p\n</write>\n<read>\n</read>\n{TAIL}",
        "",
        written("<write>\n<path>p\n</write>\n<read>\n</read>"),
        [],
    ),
    # What is never closed is text (section 5).
    "a value without end": (f"{HEAD}x\n</write>", f"{HEAD}x\n</write>", [], ["unclosed-parameter"]),
    "a call without end": (f"{HEAD}x</content>\n", f"{HEAD}x</content>\n", [], ["truncated-call"]),
    "half a closing tag": (f"{HEAD}x</cont", f"{HEAD}x</cont", [], ["truncated-call"]),
    # Newlines: exactly one at each end.
    "newlines of the framing": (f"{HEAD}\n\n x \n\n{TAIL}", "", written("\n x \n"), []),
    "newlines of the framing, CRLF": (f"{HEAD}\r\n\r\nx\r\n\r\n{TAIL}", "", written("\r\nx\r\n"), []),
    "an empty value": (f"{HEAD}{TAIL}", "", written(""), []),
    "a value of one newline": (f"{HEAD}\n{TAIL}", "", written(""), []),
}


@pytest.mark.parametrize("row", ROO.values(), ids=ROO)
def test_roo_xml(row: Row) -> None:
    check("roo-xml", row)


def test_roo_xml_text_behind_an_unclosed_example_is_kept_if_wanted() -> None:
    text = f"{HEAD}\n<write>\nx{TAIL}\nbye"
    row = (text, "\nbye", written("<write>\nx"), ["ambiguous-end"])
    check("roo-xml", row, policy={"after_call": "keep"})


def test_roo_xml_calls_behind_an_unclosed_example_are_read_if_wanted() -> None:
    text = f"{HEAD}\n<write>\nx{TAIL}\n<read>\n<path>b</path>\n</read>"
    row = (text, "", [*written("<write>\nx"), ("read", {"path": "b"})], ["ambiguous-end"])
    check("roo-xml", row, policy={"calls": "all"})


QHEAD = "<tool_call>\n<function=write>\n<parameter=path>\na\n</parameter>\n<parameter=content>\n"
QTAIL = "\n</parameter>\n</function>\n</tool_call>"
B = [("read", {"path": "b"})]
READ_B = "<function=read>\n<parameter=path>b</parameter>\n</function>"

QWEN: dict[str, Row] = {
    # Anything that is not followed by structure is data.
    "its own closing tag, text follows": (
        f"{QHEAD}x </parameter> y{QTAIL}",
        "",
        written("x </parameter> y"),
        [],
    ),
    "its own closing tag twice": (f"{QHEAD}x</parameter>{QTAIL}", "", written("x</parameter>"), []),
    "a whole foreign call": (
        f"{QHEAD}<tool_call>\n{READ_B}\n</tool_call>{QTAIL}",
        "",
        written(f"<tool_call>\n{READ_B}\n</tool_call>"),
        [],
    ),
    "foreign calls of other dialects": (
        f"{QHEAD}<read>\n<path>b</path>\n</read><|tool_call_end|>{QTAIL}",
        "",
        written("<read>\n<path>b</path>\n</read><|tool_call_end|>"),
        [],
    ),
    "HTML": (
        f"{QHEAD}<div>\n<parameter>x</parameter>\n<function>\n</function> y</div>{QTAIL}",
        "",
        written("<div>\n<parameter>x</parameter>\n<function>\n</function> y</div>"),
        [],
    ),
    "beginnings of tags": (
        f"{QHEAD}<<</</p</parameter </func<parameter=<parameter=x{QTAIL}",
        "",
        written("<<</</p</parameter </func<parameter=<parameter=x"),
        [],
    ),
    "an opening <tool_call> behind its own closing tag": (
        f"{QHEAD}x</parameter>\n<tool_call> y{QTAIL}",
        "",
        written("x</parameter>\n<tool_call> y"),
        [],
    ),
    # any <parameter=NAME>
    "a parameter that is not given yet": (
        "<function=write>\n<parameter=content>x</parameter><parameter=path>a</parameter></function>",
        "",
        [("write", {"content": "x", "path": "a"})],
        [],
    ),
    "a parameter the schema doesn't know": (
        "<function=read>\n<parameter=path>a</parameter>\n<parameter=mode>1</parameter></function>",
        "",
        [("read", {"path": "a", "mode": "1"})],
        [],
    ),
    "a parameter that is given": (
        "<function=read>\n<parameter=path>a</parameter>\n<parameter=path>b</parameter></function>",
        "",
        [("read", {"path": "a"})],
        ["duplicate-parameter"],
    ),
    "an array that repeats": (
        "<function=edit><parameter=tags>x</parameter><parameter=tags>y</parameter></function>",
        "",
        [("edit", {"tags": ["x", "y"]})],
        [],
    ),
    "a tool without schema": (
        "<function=free>\n<parameter=x>1</parameter>\n<parameter=y>2</parameter></function>",
        "",
        [("free", {"x": "1", "y": "2"})],
        [],
    ),
    # </function>, or </tool_call> when </function> is missing
    "</function> at once": (
        "<function=read><parameter=path>a</parameter></function>",
        "",
        [("read", {"path": "a"})],
        [],
    ),
    "</function> is missing": (
        "<tool_call><function=read><parameter=path>a</parameter>\n</tool_call>\nbye",
        "\nbye",
        [("read", {"path": "a"})],
        ["repaired-call"],
    ),
    "</function> is missing and there is no parameter": (
        "<tool_call>\n<function=read>\n</tool_call>",
        "",
        [("read", {})],
        ["repaired-call"],
    ),
    "</tool_call> is missing": (f"{READ_B}\nbye", "\nbye", B, []),
    "</tool_call> is missing before a call": (
        f"<tool_call>\n{READ_B}\n<tool_call>\n{READ_B}",
        "",
        [*B, *B],
        [],
    ),
    "</tool_call> in a value": (
        f"{QHEAD}x\n</tool_call>\ny{QTAIL}",
        "",
        written("x\n</tool_call>\ny"),
        [],
    ),
    # A missing </parameter> is repaired where a line starts with <parameter=K>, K in the schema, not given
    "</parameter> is missing before a new parameter": (
        "<function=write>\n<parameter=path>\na\n<parameter=content>\nx\n</parameter>\n</function>",
        "",
        written("x"),
        ["repaired-parameter"],
    ),
    "</parameter> is missing twice": (
        "<function=edit>\n<parameter=path>\na\n<parameter=count>\n3\n<parameter=note>\nx\n</parameter></function>",
        "",
        [("edit", {"path": "a", "count": 3, "note": "x"})],
        ["repaired-parameter", "repaired-parameter"],
    ),
    "a new parameter in the middle of a line": (
        "<function=write>\n<parameter=path>a <parameter=content>x</parameter></function>",
        "",
        [("write", {"path": "a <parameter=content>x"})],
        [],
    ),
    "a line with a parameter the schema doesn't know": (
        "<function=write>\n<parameter=path>a\n<parameter=mode>x</parameter></function>",
        "",
        [("write", {"path": "a\n<parameter=mode>x"})],
        [],
    ),
    "a line with a parameter that is given": (
        f"{QHEAD}x\n<parameter=path>\ny{QTAIL}",
        "",
        written("x\n<parameter=path>\ny"),
        [],
    ),
    "a line with the open parameter": (
        f"{QHEAD}x\n<parameter=content>\ny{QTAIL}",
        "",
        written("x\n<parameter=content>\ny"),
        [],
    ),
    "a line with a parameter, tool without schema": (
        "<function=free>\n<parameter=x>a\n<parameter=y>b</parameter></function>",
        "",
        [("free", {"x": "a\n<parameter=y>b"})],
        [],
    ),
    # or where </function> is followed by </tool_call>, <tool_call>, <function= or the end
    "</parameter> is missing, </tool_call> follows": (
        "<tool_call>\n<function=read>\n<parameter=path>\na\n</function>\n</tool_call> bye",
        " bye",
        [("read", {"path": "a"})],
        ["repaired-parameter"],
    ),
    "</parameter> is missing, <tool_call> follows": (
        f"<function=read>\n<parameter=path>\na\n</function>\n<tool_call>\n{READ_B}\n</tool_call>",
        "",
        [("read", {"path": "a"}), *B],
        ["repaired-parameter"],
    ),
    "</parameter> is missing, <function= follows": (
        f"<function=read>\n<parameter=path>\na\n</function>\n{READ_B}",
        "",
        [("read", {"path": "a"}), *B],
        ["repaired-parameter"],
    ),
    "</parameter> is missing, <function= of another tool follows": (
        "<function=read>\n<parameter=path>\na\n</function>\n<function=zip> x",
        "\n<function=zip> x",
        [("read", {"path": "a"})],
        ["repaired-parameter"],
    ),
    "</parameter> is missing, <tool_call> follows and is text": (
        "<function=read>\n<parameter=path>\na\n</function>\n<tool_call> x",
        "\n<tool_call> x",
        [("read", {"path": "a"})],
        ["repaired-parameter"],
    ),
    "</parameter> is missing, the end follows": (
        "<function=read>\n<parameter=path>\na\n</function>\n",
        "",
        [("read", {"path": "a"})],
        ["repaired-parameter"],
    ),
    "</function> in a value, text follows": (
        f"{QHEAD}x\n</function>\ny{QTAIL}",
        "",
        written("x\n</function>\ny"),
        [],
    ),
    "</function> in a value, its closing tag follows": (
        f"{QHEAD}x</function></parameter></function>",
        "",
        written("x</function>"),
        [],
    ),
    "</function> twice": (
        "<function=read>\n<parameter=path>a</function>\n</function>",
        "",
        [("read", {"path": "a</function>"})],
        ["repaired-parameter"],
    ),
    "</function> in a value, then a new parameter": (
        "<function=write>\n<parameter=content>x\n</function>\n<parameter=path>a</parameter></function>",
        "",
        [("write", {"content": "x\n</function>", "path": "a"})],
        ["repaired-parameter"],
    ),
    # Nested examples
    "an example of this call": (
        f"{QHEAD}Use:\n<tool_call>\n<function=write>\n<parameter=path>\np\n</parameter>\n</function>\n</tool_call>\n"
        f"like so.{QTAIL}",
        "",
        written(
            "Use:\n<tool_call>\n<function=write>\n<parameter=path>\np\n</parameter>\n</function>\n</tool_call>\n"
            "like so."
        ),
        [],
    ),
    "an example inside an example": (
        f"{QHEAD}<function=write>\n<parameter=content>\n<function=write>\n<parameter=content>c</parameter>\n"
        f"</function>\n</parameter>\n</function>{QTAIL}",
        "",
        written(
            "<function=write>\n<parameter=content>\n<function=write>\n<parameter=content>c</parameter>\n"
            "</function>\n</parameter>\n</function>"
        ),
        [],
    ),
    "<function= in the middle of a line is no example": (
        f"{QHEAD}Use <function=write> so{QTAIL}",
        "",
        written("Use <function=write> so"),
        [],
    ),
    "an example that is never closed": (
        f"{QHEAD}<function=write>\nx{QTAIL}",
        "",
        written("<function=write>\nx"),
        ["ambiguous-end"],
    ),
    "an example that is never closed, text behind it": (
        f"{QHEAD}<function=write>\nx{QTAIL} bye",
        " bye",
        written("<function=write>\nx"),
        ["ambiguous-end"],
    ),
    # What is never closed is text.
    "a value without end": (f"{QHEAD}x\n", f"{QHEAD}x\n", [], ["truncated-call"]),
    "a call without end": (f"{QHEAD}x\n</parameter>\n", f"{QHEAD}x\n</parameter>\n", [], ["truncated-call"]),
    # The wrapper
    "an orphan </tool_call> behind a call": (f"{READ_B}\n</tool_call>\n</tool_call>", "", B, []),
    "an orphan </tool_call> behind text": (
        f"{READ_B} bye </tool_call>",
        " bye </tool_call>",
        B,
        [],
    ),
    "an orphan </tool_call> before any call": (f"a </tool_call>\n{READ_B}", "a </tool_call>", B, []),
    "<tool_call> without a function": (
        f"<tool_call> {{}} </tool_call>\n{READ_B}",
        "<tool_call> {} </tool_call>",
        B,
        [],
    ),
    "a function nobody offered, without <tool_call>": (
        "<function=zip>\n<parameter=a>1</parameter></function>",
        "<function=zip>\n<parameter=a>1</parameter></function>",
        [],
        [],
    ),
    "a function nobody offered, in <tool_call>": (
        "<tool_call><function=zip>\n<parameter=a>1</parameter></function></tool_call>",
        "",
        [("zip", {"a": "1"})],
        ["unknown-tool"],
    ),
}


@pytest.mark.parametrize("row", QWEN.values(), ids=QWEN)
def test_qwen3_coder(row: Row) -> None:
    check("qwen3-coder", row)


# kimi-k2: a token inside a JSON string is data, so only the string's own quote ends it

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


@pytest.mark.parametrize("arguments", KIMI_ARGUMENTS.values(), ids=KIMI_ARGUMENTS)
def test_kimi_k2(arguments: str) -> None:
    text = f"{BEGIN}functions.read:0{ARGS}{arguments}{END}"
    for size in (1, 2, 3, 7, len(text)):
        got, transformer = run("kimi-k2", stream_of(text, size), tools=TOOLS)
        assert (got.content, got.calls, codes(transformer)) == ("", [("read", arguments)], [])
    assert check_every_split("kimi-k2", deltas(text), tools=TOOLS).calls == [("read", arguments)]


def test_kimi_k2_outside_a_string_a_token_ends_the_call() -> None:
    text = f'{BEGIN}functions.read:0{ARGS}{{"path":"a"{BEGIN}functions.read:1{ARGS}{{"path":"b"}}{END}'
    got, transformer = run("kimi-k2", stream_of(text), tools=TOOLS)
    assert got.calls == [("read", '{"path":"a"'), ("read", '{"path":"b"}')]
    assert codes(transformer) == ["repaired-call", "invalid-arguments"]


@pytest.mark.parametrize(
    "row",
    [
        (
            "<keep><path></path><text>\n<keep></text></keep></text></keep>",
            "",
            [("keep", {"path": "", "text": "<keep></text></keep>"})],
            ["unknown-tool"],
        ),
        (
            "<keep><path>a</path><b>x</path><c>y</c>z</b></keep>",
            "",
            [("keep", {"path": "a", "b": "x</path><c>y</c>z"})],
            ["unknown-tool"],
        ),
        ("<keep><path>a</path><b><b></b></b></keep>", "<keep><path>a</path><b><b></b></b></keep>", [], []),
    ],
    ids=["an example inside a later parameter", "an element inside a later parameter", "no structure at all"],
)
def test_parameters_of_an_unknown_tool_that_were_looked_ahead_into(row: Row):
    """Where they end was decided on the way: whoever looks for the first closing tag again finds another."""
    check("roo-xml", row)
