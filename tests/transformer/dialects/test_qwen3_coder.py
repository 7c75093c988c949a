"""qwen3-coder: where a value ends, and what is repaired (docs/spec.md, sections 4 and 5)."""

from __future__ import annotations

from tests.support.cases import Row, check, written
from tests.support.tiers import each_row

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
        ["missing-parameter"],
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
        ["repaired-call", "missing-parameter"],
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


@each_row("row", QWEN.values(), ids=QWEN)
def test_qwen3_coder(row: Row) -> None:
    check("qwen3-coder", row)
