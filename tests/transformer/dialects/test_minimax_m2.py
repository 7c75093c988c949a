"""minimax-m2: names in attributes, several calls in one wrapper (docs/spec.md, sections 4 and 5)."""

from __future__ import annotations

from tests.support.cases import Row, check
from tests.support.cuts import check_every_split
from tests.support.invokes import attributes, bodies, flagged
from tests.support.streams import stream_of
from tests.support.tags import MINIMAX, OFFERED, broken, check_both, good, unfinished
from tests.support.tiers import each_row
from transformer import transform_request

SHARED: dict[str, Row] = dict(
    [*good(MINIMAX), *broken(MINIMAX), *attributes(MINIMAX), *flagged(MINIMAX), *bodies(MINIMAX)]
)
TEXT: dict[str, Row] = dict(unfinished(MINIMAX))


@each_row("row", SHARED.values(), ids=SHARED)
def test_what_all_such_dialects_share(row: Row) -> None:
    check_both(MINIMAX, row)


@each_row("row", TEXT.values(), ids=TEXT)
def test_what_is_not_finished_is_text(row: Row) -> None:
    check("minimax-m2", row, tools=OFFERED)


# What users of other parsers reported; the numbers are those in the samples' headers.

BOTH = each_row("arguments", ["whole", "stream"])


@BOTH
@each_row(("text", "value"), [("hi", '"hi"'), ("null", "null"), ("5", '"5"')])
def test_44_a_string_or_null_is_the_string(text: str, value: str, arguments: str) -> None:
    data = stream_of(MINIMAX.one("typed", maybe=text), 4)
    got = check_every_split("minimax-m2", data, tools=OFFERED, policy={"arguments": arguments})
    assert got.calls == [("typed", f'{{"maybe":{value}}}')]


@BOTH
def test_45_calls_of_one_wrapper_do_not_mix(arguments: str) -> None:
    calls = [MINIMAX.call("read", path="a"), MINIMAX.call("read", path="b"), MINIMAX.call("now")]
    data = stream_of(f"So.\n{MINIMAX.wrapped(*calls)}", 4)
    got = check_every_split("minimax-m2", data, tools=OFFERED, policy={"arguments": arguments})
    assert got.calls == [("read", '{"path":"a"}'), ("read", '{"path":"b"}'), ("now", "{}")]
    assert (got.content, got.ids) == ("So.", ["call_0", "call_1", "call_2"])


@each_row("name", [" read", "read ", " read "])
def test_blanks_around_a_name_in_its_quotation_marks(name: str) -> None:
    """Found by the fuzz: without a wrapper it was a call in one delta and text in single characters."""
    call = MINIMAX.call("read", path="a").replace('"read"', f'"{name}"')
    got = check_every_split("minimax-m2", stream_of(call, 1), tools=OFFERED)
    assert got.calls == [("read", '{"path":"a"}')]


def test_46_a_malformed_call_does_not_take_the_good_ones_with_it() -> None:
    bad = '<invoke name="read">\n<parameter path>a</parameter>\n</invoke>'
    text = MINIMAX.wrapped(MINIMAX.call("now"), bad, MINIMAX.call("read", path="b"))
    got = check_every_split("minimax-m2", stream_of(text, 4), tools=OFFERED)
    assert got.calls == [("now", "{}"), ("read", '{"path":"b"}')] and bad in got.content


def test_10_all_parameters_in_one_delta() -> None:
    text = MINIMAX.one("write", path="a", content="x")
    got = check_every_split("minimax-m2", stream_of(text, len(text)), tools=OFFERED)
    assert got.calls == [("write", '{"path":"a","content":"x"}')]


def test_the_wrapper_in_a_value_does_not_end_the_call() -> None:
    text = MINIMAX.one("read", "", path="Montréal </minimax:tool_call> café")
    got = check_every_split("minimax-m2", stream_of(text, 4), tools=OFFERED)
    assert got.calls == [("read", '{"path":"Montréal </minimax:tool_call> café"}')]


def test_a_call_in_the_reasoning_is_made() -> None:
    data = stream_of(f"I read it. {MINIMAX.one('read', path='a')}", 7, "reasoning_content")
    got = check_every_split("minimax-m2", data, tools=OFFERED)
    assert (got.reasoning, got.calls) == ("I read it.", [("read", '{"path":"a"}')])


def test_several_calls_are_written_into_one_wrapper() -> None:
    calls = [
        {"id": f"c{n}", "type": "function", "function": {"name": "now", "arguments": "{}"}} for n in (1, 2)
    ]
    said = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "So.", "tool_calls": calls}]
    body, _ = transform_request(
        {"model": "m", "messages": said, "tools": OFFERED}, dialect="minimax-m2", policy={"tools": "inject"}
    )
    now = '<invoke name="now">\n</invoke>'
    assert (
        body["messages"][-1]["content"] == f"So.\n\n<minimax:tool_call>\n{now}\n{now}\n</minimax:tool_call>"
    )
