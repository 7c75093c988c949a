"""toolbridge: roo-xml's calls in a wrapper, which is markup with them or text with them (docs/spec.md, 5)."""

from __future__ import annotations

from tests.support.cases import Row, check, written
from tests.support.cuts import check_every_split, run
from tests.support.streams import stream_of
from tests.support.tags import OFFERED
from tests.support.tiers import each_row
from transformer import transform_request, written_call

OPEN, CLOSE = "<toolbridge_calls>", "</toolbridge_calls>"
READ_A = "<read>\n<path>a</path>\n</read>"
READ_B = READ_A.replace(">a<", ">b<")
A, B = ("read", {"path": "a"}), ("read", {"path": "b"})


def block(*calls: str) -> str:
    return "\n".join((OPEN, *calls, CLOSE))


def write(content: str) -> str:
    return f"<write>\n<path>a</path>\n<content>{content}</content>\n</write>"


ENDS = f"x </content> {CLOSE} y "  # of the parameter and of the wrapper, in a value

ROWS: dict[str, Row] = {
    "one call": (block(READ_A), "", [A], []),
    "without newlines": (block(READ_A).replace("\n", ""), "", [A], []),
    "two calls in one wrapper": (block(READ_A, READ_B), "", [A, B], []),
    "two wrappers, text around": (
        f"One.\n{block(READ_A)}\nTwo.\n{block(READ_B)}\nThree.", "One.\nTwo.\nThree.", [A, B], [],
    ),
    "a blank in the tool's tag": (block(READ_A.replace("<read>", "<read >")), "", [A], []),
    "no parameters": (block("<now></now>"), "", [("now", {})], []),
    "the older name of the wrapper": (block(READ_A).replace("e_calls", "e:calls"), "", [A], []),
    "entities are not decoded": (block(write("&lt;b&gt; &amp;")), "", written("&lt;b&gt; &amp;"), []),
    "its own closing tag inside": (block(write("x </content> y")), "", written("x </content> y"), []),
    "the wrapper's tags inside": (
        block(write(f"x {CLOSE} y {OPEN} z")), "", written(f"x {CLOSE} y {OPEN} z"), [],
    ),
    "a tool nobody offered": (block("<zip>\n<a>b</a>\n</zip>"), "", [("zip", {"a": "b"})], ["unknown-tool"]),
    "no opening wrapper": (f"{READ_A}\n{CLOSE}", "", [A], []),
    "no closing wrapper": (f"{OPEN}\n{READ_A}", "", [A], []),
    "no wrapper at all": (f"Hi\n{READ_A}\nbye", "Hi\nbye", [A], []),
    "the wrapper's tags twice": (f"{OPEN}\n{block(READ_A)}\n{CLOSE}", "", [A], []),
    "no closing tag of the call": (f"{OPEN}\n<read>\n<path>a</path>\n{CLOSE}", "", [A], ["repaired-call"]),
    "no closing tag of the call, text after it": (
        f"{OPEN}\n<read>\n<path>a</path>\n{CLOSE}\nbye", "\nbye", [A], ["repaired-call"],
    ),
    "no closing tag of the first call": (
        f"{OPEN}\n<read>\n<path>a</path>\n{CLOSE}\n{block(READ_B)}", "", [A, B], ["repaired-call"],
    ),
    "no closing tag of the first call, and no newlines": (
        f"{OPEN}<read><path>a</path>{CLOSE} So. {block(READ_B)} bye".replace("\n", ""), " So. bye", [A, B],
        ["repaired-call"],
    ),
    "no closing tag of two calls": (
        f"{OPEN}\n<read>\n<path>a</path>\n{CLOSE}\n{OPEN}\n<read>\n<path>b</path>\n{CLOSE}", "", [A, B],
        ["repaired-call", "repaired-call"],
    ),
    "another tool after no closing tag": (
        f"{OPEN}\n<read>\n<path>a</path>\n{CLOSE}\n{block(write('x'))}", "", [A, *written("x")],
        ["repaired-call"],
    ),
    "closing tags in the wrong order": (f"{OPEN}\n<read>\n<path>a</path>\n{CLOSE}\n</read>", "", [A], []),
    "both closing tags inside": (block(write(ENDS)), "", written(ENDS), []),
    "both closing tags inside, doubled": (block(write(ENDS * 2)), "", written(ENDS * 2), []),
    "both closing tags inside, none of the call": (
        f"{OPEN}\n<write>\n<path>a</path>\n<content>{ENDS}</content>\n{CLOSE}", "", written(ENDS),
        ["repaired-call"],
    ),
    "both closing tags and a wrapper inside": (
        block(write(f"{ENDS}{OPEN} z")), "", written(f"{ENDS}{OPEN} z"), [],
    ),
    "a whole example inside": (
        block(write(f"{OPEN}<write><content>x</content></write>{CLOSE}")), "",
        written(f"{OPEN}<write><content>x</content></write>{CLOSE}"), [],
    ),
    "an unknown parameter before the wrapper's end": (
        f"{OPEN}\n<read>\n<path>a</path><x>1</x>\n{CLOSE}\nbye", "\nbye", [("read", {"path": "a", "x": "1"})],
        ["repaired-call"],
    ),
    "attributes": (f'{OPEN}\n<read path="a"/>\n{CLOSE}',) * 2 + ([], ["malformed-call"]),
    "a wrapper without a call": (f"{OPEN} x {CLOSE}", f"{OPEN} x {CLOSE}", [], []),
    "prose that names the tags": (f"The `{OPEN}` tag holds calls.", f"The `{OPEN}` tag holds calls.", [], []),
    "a wrapper at the end": (f"Hi {OPEN}\n", f"Hi {OPEN}\n", [], []),
    "half a wrapper at the end": ("Hi <toolbridge_c", "Hi <toolbridge_c", [], []),
    "cut in a value": (f"{OPEN}\n<read>\n<path>a",) * 2 + ([], ["truncated-call"]),
}  # fmt: skip


@each_row("row", ROWS.values(), ids=ROWS)
def test_toolbridge(row: Row) -> None:
    check("toolbridge", row, tools=OFFERED)
    if row[2]:
        check("toolbridge", row, tools=OFFERED, policy={"arguments": "stream"})


@each_row("arguments", ["whole", "stream"])
def test_in_every_cut(arguments: str) -> None:
    data = stream_of(f"So.\n{block(READ_A, write('x'))}\nbye", 7)
    got = check_every_split("toolbridge", data, tools=OFFERED, policy={"arguments": arguments})
    assert got.calls == [("read", '{"path":"a"}'), ("write", '{"path":"a","content":"x"}')]
    assert got.content == "So.\nbye"


def test_values_are_typed_by_the_schema() -> None:
    types = {"i": "integer", "n": "number", "b": "boolean", "a": "array", "o": "object", "s": "string"}
    tool = {"name": "t", "parameters": {"properties": {key: {"type": kind} for key, kind in types.items()}}}
    values = {"i": "5", "n": "1.5", "b": "true", "a": "[1, 2]", "o": '{"k": null}', "s": "5"}
    text = "".join(f"<{key}>{value}</{key}>" for key, value in values.items())
    data = stream_of(block(f"<t>{text}</t>"), 7)
    got = check_every_split("toolbridge", data, tools=[{"type": "function", "function": tool}])
    assert got.calls == [("t", '{"i":5,"n":1.5,"b":true,"a":[1, 2],"o":{"k": null},"s":"5"}')]


# What users of other parsers reported; the numbers are those in the samples' headers.


@each_row("arguments", ["whole", "stream"])
def test_24_entities_are_not_decoded(arguments: str) -> None:
    data = stream_of(block(write("&lt;b&gt; &amp;")), 5)
    got = check_every_split("toolbridge", data, tools=OFFERED, policy={"arguments": arguments})
    assert got.calls == [("write", '{"path":"a","content":"&lt;b&gt; &amp;"}')]


@each_row("arguments", ["whole", "stream"])
def test_25_its_own_closing_tag_in_a_value(arguments: str) -> None:
    data = stream_of(block(write("x </content> y")), 5)
    got = check_every_split("toolbridge", data, tools=OFFERED, policy={"arguments": arguments})
    assert got.calls == [("write", '{"path":"a","content":"x </content> y"}')]


def test_27_a_call_in_a_thought_is_neither_made_nor_lost() -> None:
    text = f"<think>\n{block(READ_A)}\n</think>\nNo."
    got = check_every_split("toolbridge", stream_of(text, 5), tools=OFFERED)
    assert (got.calls, got.content) == ([], text)


def test_56_a_call_cut_by_max_tokens_does_not_end_with_tool_calls() -> None:
    text = f"{OPEN}\n<read>\n<path>a"
    got = check_every_split("toolbridge", stream_of(text, 5, finish="length"), tools=OFFERED)
    assert (got.calls, got.finish_reason) == ([], "length")


def test_26_a_call_of_more_than_ten_kilobytes_is_not_lost() -> None:
    text = "x" * 50_000
    got, _ = run("toolbridge", stream_of(block(write(text)), 4000), tools=OFFERED)
    assert got.calls == [("write", f'{{"path":"a","content":"{text}"}}')]


def test_calls_are_written_into_one_wrapper() -> None:
    written = written_call("toolbridge", "read", {"path": "a"}, OFFERED[2])
    assert written.text == f"{OPEN}\n{READ_A}\n{CLOSE}" and written.findings == ()
    body, _ = transform_request({"messages": [], "tools": OFFERED[:1]}, dialect="toolbridge")
    assert OPEN in body["messages"][0]["content"]
