"""deepseek-dsml: what a tag says about its value, and the ways to write the bars (docs/spec.md, 4 and 5)."""

from __future__ import annotations

import json

from tests.support.cases import Row, check
from tests.support.cuts import check_every_split, run
from tests.support.invokes import attributes, bodies, flagged
from tests.support.streams import stream_of
from tests.support.tags import DSML, OFFERED, broken, check_both, good, unfinished
from tests.support.tiers import each_row, some
from transformer import written_call

SHARED: dict[str, Row] = dict([*good(DSML), *broken(DSML), *attributes(DSML), *flagged(DSML), *bodies(DSML)])
TEXT: dict[str, Row] = dict(unfinished(DSML))
CALL = DSML.one("read", path="a")
PREFIXES = ("|DSML|", "||DSML||", "｜｜DSML｜｜", "‖DSML‖", " | DSML | ", " ｜DSML｜ ")
WRAPPERS = ("function_calls", "tool_calls", "tool_use", "calls")
BOTH = each_row("arguments", ["whole", "stream"])


# Some of them in the quick tier: the grammar is that of minimax-m2, which has all of them.
@each_row("row", some(SHARED.values(), 6))
def test_what_all_such_dialects_share(row: Row) -> None:
    check_both(DSML, row)


@each_row("row", TEXT.values(), ids=TEXT)
def test_what_is_not_finished_is_text(row: Row) -> None:
    check("deepseek-dsml", row, tools=OFFERED)


@each_row("wrapper", WRAPPERS)
def test_both_generations_names_of_the_wrapper(wrapper: str) -> None:
    check_both(DSML, (CALL.replace("tool_calls", wrapper), "", [("read", {"path": "a"})], []))


@each_row("prefix", PREFIXES)
def test_37_other_bars_and_blanks(prefix: str) -> None:
    text = f"Hi.\n{CALL.replace('｜DSML｜', prefix)}\nbye"
    check_both(DSML, (text, "Hi.\nbye", [("read", {"path": "a"})], []))


@each_row("prefix", PREFIXES)
def test_a_missing_closing_tag_is_told_as_this_call_would_write_it(prefix: str) -> None:
    text = CALL.replace("</｜DSML｜parameter>", "").replace("｜DSML｜", prefix)
    _, transformer = run("deepseek-dsml", stream_of(text), tools=OFFERED)
    (finding,) = transformer.findings
    assert finding.values["closing"] == f"</{prefix}parameter>"


@BOTH
def test_35_arguments_are_not_cut_where_they_end_in_a_number(arguments: str) -> None:
    text = DSML.one("edit", path="a", count="123")
    got = check_every_split(
        "deepseek-dsml", stream_of(text, 4), tools=OFFERED, policy={"arguments": arguments}
    )
    assert got.calls == [("edit", '{"path":"a","count":123}')]


@BOTH
def test_36_calls_in_two_chunks_keep_their_names(arguments: str) -> None:
    text = DSML.wrapped(DSML.call("read", path="a"), DSML.call("now"))
    got = check_every_split(
        "deepseek-dsml", stream_of(text, 1 + len(text) // 2), tools=OFFERED, policy={"arguments": arguments}
    )
    assert got.calls == [("read", '{"path":"a"}'), ("now", "{}")]


@BOTH
def test_37_markup_does_not_leak_into_arguments(arguments: str) -> None:
    text = f"So.\n{DSML.one('write', path='a', content='x </｜DSML｜parameter> y')}"
    got = check_every_split(
        "deepseek-dsml", stream_of(text, 1), tools=OFFERED, policy={"arguments": arguments}
    )
    assert got.calls == [("write", '{"path":"a","content":"x </｜DSML｜parameter> y"}')]


def test_text_that_only_looks_like_a_marker_arrives() -> None:
    for text in ("1 < 2", "2 <", "a <| b |> c", "<｜DSML", "< | x | y"):
        check("deepseek-dsml", (text, text, [], []))


def test_the_writer_says_what_is_a_string() -> None:
    given = {"path": "5", "count": 5, "tags": ["a"]}
    written = written_call("deepseek-dsml", "edit", given, OFFERED[1])
    assert written.findings == ()
    assert '<｜DSML｜parameter name="path" string="true">5</｜DSML｜parameter>' in written.text
    assert '<｜DSML｜parameter name="count" string="false">5</｜DSML｜parameter>' in written.text
    # What the tags say needs no schema.
    got, _ = run("deepseek-dsml", stream_of(written.text))
    assert json.loads(got.calls[0][1]) == given
