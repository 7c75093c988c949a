"""roo-xml: where a value ends (docs/spec.md, section 4), sentence by sentence."""

from __future__ import annotations

from tests.support.cases import Row, check, written
from tests.support.tiers import each_row

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
    "the same parameter twice: the first counts": (
        f"{HEAD}x</content>\n<content>y{TAIL}",
        "",
        written("x"),
        ["duplicate-parameter"],
    ),
    "the open parameter's own tag in the middle of its text": (
        f"{HEAD}x</content>\n<content>y</content> z{TAIL}",
        "",
        written("x</content>\n<content>y</content> z"),
        [],
    ),
    "a parameter behind text": (
        "<write>\n<content>x</content> y\n<path>a</path>\n</content>\n</write>",
        "",
        [("write", {"content": "x</content> y\n<path>a</path>"})],
        ["missing-parameter"],
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
    # What is never closed is text (docs/spec.md, section 5).
    "a value without end": (f"{HEAD}x\n</write>", f"{HEAD}x\n</write>", [], ["unclosed-parameter"]),
    "a call without end": (f"{HEAD}x</content>\n", f"{HEAD}x</content>\n", [], ["truncated-call"]),
    "half a closing tag": (f"{HEAD}x</cont", f"{HEAD}x</cont", [], ["truncated-call"]),
    # Newlines: exactly one at each end.
    "newlines of the framing": (f"{HEAD}\n\n x \n\n{TAIL}", "", written("\n x \n"), []),
    "newlines of the framing, CRLF": (f"{HEAD}\r\n\r\nx\r\n\r\n{TAIL}", "", written("\r\nx\r\n"), []),
    "an empty value": (f"{HEAD}{TAIL}", "", written(""), []),
    "a value of one newline": (f"{HEAD}\n{TAIL}", "", written(""), []),
}


@each_row("row", ROO.values(), ids=ROO)
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


@each_row(
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
