"""harmony: which message is a thought, which is said, and which is a call (docs/spec.md, section 5)."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import TOOLS, Row, check, deltas
from tests.support.cuts import check_every_split, run
from tests.support.streams import stream_of
from tests.support.tiers import each_row, some
from transformer import Delta, write_call
from transformer.jsonscan import parsed
from transformer.request.offer import json_of

START, CHANNEL, MESSAGE, CALL = "<|start|>assistant", "<|channel|>", "<|message|>", "<|call|>"
READ = '{"path": "b"}'
B = ("read", READ)
TO_READ = f"{CHANNEL}commentary to=functions.read <|constrain|>json{MESSAGE}"
TOKENS = f'{{"path": "{CALL}<|end|>{START}{CHANNEL}final{MESSAGE}"}}'
NESTED = '{"path": {"a": [1, {"b": "}"}]}}'


def text(written: str, *found: str) -> Row:
    """All of it stays text."""
    return written, written, [], list(found)


ROWS: dict[str, Row] = {
    "a call": (f"{TO_READ}{READ}{CALL}", "", [B], []),
    "two calls": (f"{TO_READ}{READ}{CALL}{START}{TO_READ}{READ}{CALL}", "", [B, B], []),
    "blanks": (
        f"{CHANNEL} commentary  to=functions.read  <|constrain|> json {MESSAGE} {READ} {CALL}\n",
        "",
        [B],
        [],
    ),
    "no <|constrain|>": (f"{CHANNEL}commentary to=functions.read json{MESSAGE}{READ}{CALL}", "", [B], []),
    "no form": (f"{CHANNEL}commentary to=functions.read{MESSAGE}{READ}{CALL}", "", [B], []),
    "the recipient first": (
        f"{START} to=functions.read{CHANNEL}commentary{MESSAGE}{READ}{CALL}",
        "",
        [B],
        [],
    ),
    "the recipient as the first words": (
        f"to=functions.read{CHANNEL}commentary{MESSAGE}{READ}{CALL}",
        "",
        [B],
        [],
    ),
    "assistant as the first word": (
        f"assistant to=functions.read{CHANNEL}commentary{MESSAGE}{READ}",
        "",
        [B],
        [],
    ),
    "no channel": (f"{START} to=functions.read{MESSAGE}{READ}{CALL}", "", [B], []),
    "no functions.": (f"{CHANNEL}commentary to=read{MESSAGE}{READ}{CALL}", "", [B], []),
    "the channel twice": (
        f"{CHANNEL}commentary{CHANNEL}commentary to=functions.read{MESSAGE}{READ}",
        "",
        [B],
        [],
    ),
    "another end": (f"{TO_READ}{READ}<|end|>", "", [B], []),
    "no end": (f"{TO_READ}{READ}", "", [B], []),
    "no end before a message": (f"{TO_READ}{READ}{START}{CHANNEL}final{MESSAGE}Done.", "Done.", [B], []),
    "no arguments": (f"{CHANNEL}commentary to=functions.free{MESSAGE}{CALL}", "", [("free", "{}")], []),
    "no arguments, no end": (
        f"{CHANNEL}commentary to=functions.free{MESSAGE}{START}{TO_READ}{READ}",
        "",
        [("free", "{}"), B],
        [],
    ),
    "tokens in a string": (f"{TO_READ}{TOKENS}{CALL}", "", [("read", TOKENS)], []),
    "brackets in strings": (
        f"{CHANNEL}commentary to=functions.free{MESSAGE}{NESTED}{CALL}",
        "",
        [("free", NESTED)],
        [],
    ),
    "a token ends arguments that are open": (
        f'{TO_READ}{{"path": ["b"{CALL}',
        "",
        [("read", '{"path": ["b"')],
        ["repaired-call", "invalid-arguments"],
    ),
    "Python": (f"{TO_READ}{{'path': '}}'}}{CALL}", "", [("read", "{'path': '}'}")], ["invalid-arguments"]),
    "a list": (f"{TO_READ}[1]{CALL}", "", [("read", "[1]")], ["invalid-arguments"]),
    "not JSON": (f"{TO_READ}read b{CALL}", "", [("read", "read b")], ["invalid-arguments"]),
    "said to the user": (f"{CHANNEL}final{MESSAGE} It is 4.\n<|return|>", " It is 4.\n", [], []),
    "a preamble": (f"{CHANNEL}commentary{MESSAGE}Look.<|end|>{START}{TO_READ}{READ}{CALL}", "Look.", [B], []),
    "to the user": (f"{CHANNEL}commentary to=user{MESSAGE}Look.<|end|>", "Look.", [], []),
    "newlines between messages": (
        f"{CHANNEL}commentary{MESSAGE}Look.<|end|>\n{START}{CHANNEL}final{MESSAGE}Done.",
        "Look.Done.",
        [],
        [],
    ),
    "text after a call": (f"{TO_READ}{READ}{CALL} Done.", " Done.", [B], []),
    "no header": text("\nto be, or assistant to=x <b> <|not|> a header.\n"),
    "a token in prose": text("The token <|channel|> and <|start|> and <|message|>."),
    "a header that is cut off": (f"Hm.{START}{CHANNEL}comm", "Hm.", [], ["stray-token"]),
    # what users of other parsers reported
    "54: nothing of a call leaks": (
        f"{CHANNEL}commentary to=functions.read{MESSAGE}{READ}{CALL}",
        "",
        [B],
        [],
    ),
    "55: a recipient in final": (f"{CHANNEL}final to=functions.read{MESSAGE}{READ}", READ, [], []),
}


@each_row("row", ROWS.values(), ids=ROWS)
def test_rows(row: Row) -> None:
    check("harmony", row)
    check("harmony", row, policy={"arguments": "whole"})


@each_row("row", some(ROWS.values(), 6))  # the test above cuts all of them between characters
def test_rows_under_every_split(row: Row) -> None:
    assert check_every_split("harmony", stream_of(row[0], 5), tools=TOOLS).calls == row[2]


THOUGHTS: dict[str, tuple[str, str, str]] = {
    # text -> reasoning, content
    "a thought": (f"{CHANNEL}analysis{MESSAGE}Hm. \n<|end|>", "Hm. \n", ""),
    "a thought without an end": (f"{CHANNEL}analysis{MESSAGE}Hm.", "Hm.", ""),
    "a thought and an answer": (
        f"{CHANNEL}analysis{MESSAGE}Hm.<|end|>\n{START}{CHANNEL}final{MESSAGE}\n4",
        "Hm.",
        "\n4",
    ),
    "no end between them": (f"{CHANNEL}analysis{MESSAGE}Hm.{CHANNEL}final{MESSAGE}4", "Hm.", "4"),
    "two thoughts": (
        f"{CHANNEL}analysis{MESSAGE}One. <|end|>{START}{CHANNEL}analysis{MESSAGE}Two.<|end|>",
        "One. Two.",
        "",
    ),
    "55: a recipient in analysis": (f"{CHANNEL}analysis to=functions.read{MESSAGE}{READ}{CALL}", READ, ""),
    "a tag in a thought": (f"{CHANNEL}analysis{MESSAGE}<think>{CHANNEL}<|end|>4", f"<think>{CHANNEL}", "4"),
}


@each_row(("written", "reasoning", "content"), THOUGHTS.values(), ids=THOUGHTS)
def test_thoughts_are_reasoning(written: str, reasoning: str, content: str) -> None:
    got = check_every_split("harmony", stream_of(written, 4), tools=TOOLS)
    assert (got.reasoning, got.content, got.calls) == (reasoning, content, [])
    policy = {"text_channel": "content"}
    assert run("harmony", stream_of(written, 4), tools=TOOLS, policy=policy)[0].content == reasoning + content


def test_everything_leaves_at_once() -> None:
    parts = (
        f"{CHANNEL}analysis{MESSAGE}I",
        " see",
        f"<|end|>{START}{TO_READ}",
        '{"pa',
        'th": "a',
        "b",
        '"}',
        CALL,
    )
    _, transformer = run("harmony", deltas(*parts), tools=TOOLS, records="all")
    sent = [""] * len(parts)
    for record in transformer.records:
        if isinstance(record, Delta) and record.kind in ("reasoning", "arguments"):
            sent[record.event] += record.text
    assert sent == ["I", " see", "", '{"pa', 'th": "a', "b", '"}', ""]


def test_an_answer_that_ends_too_early() -> None:
    for end in range(1, len(READ)):
        cut = f"{START}{TO_READ}{READ[:end]}"
        check("harmony", (cut, "", [("read", READ[:end].rstrip())], ["truncated-call"]))
        check("harmony", text(cut, "truncated-call"), policy={"arguments": "whole"})


def test_a_tool_that_was_not_offered_stays_text() -> None:
    zip = f'{START}{CHANNEL}commentary to=functions.zip{MESSAGE}{{"a": 1}}'
    policy = {"unknown_tools": "text"}
    check("harmony", (f"{zip}{CALL}", zip, [], []), policy=policy)
    check("harmony", (f"{zip}{CALL}{START}{TO_READ}{READ}", zip, [B], []), policy=policy)
    check("harmony", (f"{zip[:-2]}{CALL}{START}{TO_READ}{READ}", zip[:-2].rstrip(), [B], []), policy=policy)
    check("harmony", text(zip[:-2], "truncated-call"), policy=policy)


def test_nearly_json_is_repaired() -> None:
    row: Row = (f"{TO_READ}{{'path': 'b'}}{CALL}", "", [("read", '{"path":"b"}')], ["repaired-arguments"])
    check("harmony", row, policy={"malformed": "repair"})
    cut: Row = (f'{TO_READ}{{"path": "b', "", [("read", '{"path": "b"}')], ["repaired-call"])
    check("harmony", cut, policy={"malformed": "repair"})


texts = st.lists(
    st.text(max_size=4) | st.sampled_from([CALL, CHANNEL, MESSAGE, "}", '"', "\\"]), max_size=5
).map("".join)


@given(
    arguments=st.dictionaries(
        texts, texts | st.integers() | st.none() | st.lists(texts, max_size=2), max_size=4
    )
)
def test_what_is_written_is_read(arguments: dict[str, Any]) -> None:
    got, _ = run("harmony", stream_of(write_call("harmony", "free", arguments), 5), tools=TOOLS)
    assert [(name, parsed(written)) for name, written in got.calls] == [("free", parsed(json_of(arguments)))]
    assert got.content == got.reasoning == ""
