"""Explanations word for word, and laws that hold for all of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.support.explanations import TOOLS, played, sample, why_of, whys
from tests.support.samples import some_samples
from tests.support.streams import chunk, sse
from tests.support.tiers import each_row, exhaustive
from transformer import DIALECTS, Delta, Finding, Transition, write_call
from transformer.answer.conformance import RULES, Check
from transformer.wording import beginning, ending, quote
from workbench.analysis.explain.rows import explain_row
from workbench.analysis.explain.trace import REACH, Explanation
from workbench.replay.lines import MemoryTape
from workbench.replay.player import Pane, Player
from workbench.tape.format import (
    end_line,
    finding_line,
    lost_line,
    make_header,
    read_line,
    sent_line,
    status_line,
)

UNCLOSED = (
    "<filePath> is never closed; with </filePath> before </read> this is a call to read.",
    "It is about characters 6 to 26 of content, “<filePath>a.py</read>”, and was found with read 9.",
    "At that place: in state value (inside the value of a parameter, where anything may stand) it "
    "met close “</read>”, a closing tag (it is the call's); rule data fired (data, because the parameter is "
    "still open) and it stayed in value.",
    "Then: in state value (inside the value of a parameter, where anything may stand) it met the end "
    "of the answer; "
    "rule give up fired (the answer ended inside the call, so it is text) and it went to done.",
    "This call to read went to the client as text.",
    "Set malformed = repair if this model forgets the tag often; the call is then closed where the "
    "schema leaves no "
    "doubt. A stronger example in the prompt template helps as well.",
)

# The first sentence of each: what happened, and what would have made it a call.
FIRST: list[tuple[str, str, str, str]] = [
    (
        "roo-xml",
        "<read>\n<filePath>a.py",
        "truncated-call",
        "The answer ended in the middle of a call to read; with </filePath></read> at the end this "
        "is a call to read.",
    ),
    (
        "roo-xml",
        "<read><filePath>a</filePath> so </read>",
        "malformed-call",
        "After </filePath> comes neither a parameter nor </read>; without “ so ” between "
        "</filePath> and </read> "
        "this is a call to read.",
    ),
    (
        "qwen3-coder",
        "<function=bash>\n<parameter=command=ls</parameter>\n</function>",
        "malformed-call",
        "<parameter= is not followed by a name and >; with > instead of = after <parameter=command "
        "this is a call "
        "to bash.",
    ),
    (
        "kimi-k2",
        '<|tool_call_begin|>functions.bash:0 {"command": "ls"}<|tool_call_end|>',
        "malformed-call",
        "Something else follows its id; with <|tool_call_argument_begin|> after “functions.bash:0” "
        "this is a call to "
        "bash.",
    ),
    (
        "kimi-k2",
        '<|tool_call_begin|>functions.bash:0<|tool_call_argument_begin|>{"command": "ls',
        "truncated-call",
        'The answer ended in the middle of a call to bash; with “"}<|tool_call_end|>” at the end this is a '
        "call to bash.",
    ),
    (
        "roo-xml",
        "<think>\n<read>\n<filePath>a</filePath>\n</read>\n</think>",
        "call-in-thought",
        "A call to read stands inside <think>, where the model only thinks of it; with </think> "
        "before <read> this is "
        "a call to read.",
    ),
    (
        "roo-xml",
        "<deploy>\n<to>prod</to>\n</deploy>",
        "unknown-tool",
        "The model called deploy, which was not offered; with deploy among the offered tools this is "
        "a call to "
        "deploy.",
    ),
    (
        "roo-xml",
        "<read>\n<filePath>a</filePath>\n</read>\n<read>\n<filePath>b</filePath>\n</read>",
        "call-after-first",
        "A further call, to read, was dropped: only the first call of an answer counts; with calls = "
        "all this is a "
        "call to read.",
    ),
    (
        "roo-xml",
        "<bash>\n<command>ls</command>\n<timeout>soon</timeout>\n</bash>",
        "value-not-of-type",
        "The parameter timeout should be of type integer and is not; with “0” instead of “soon” this "
        "is a call to bash with "
        "timeout = 0.",
    ),
    (
        "kimi-k2",
        "<|tool_call_begin|>functions.bash:0<|tool_call_argument_begin|>{'command': 'ls'}<|tool_call_end|>",
        "invalid-arguments",
        'The arguments of the call to bash are not valid JSON; with “{"command":"ls"}” instead of '
        "“{'command': 'ls'}” this is a call to bash.",
    ),
]


def test_the_example_of_the_issue_word_for_word():
    why = why_of(played("<read><filePath>a.py</read>", "roo-xml"), "unclosed-parameter")
    assert why.title == "error: unclosed-parameter"
    assert why.sentences == UNCLOSED
    assert [remedy.words for remedy in why.remedies] == [
        "with </filePath> before </read> this is a call to read",
        "with malformed = repair this is a call to read",
    ]


@each_row(("dialect", "text", "code", "sentence"), FIRST, ids=lambda value: str(value)[:30])
def test_the_first_sentence(dialect: str, text: str, code: str, sentence: str):
    assert why_of(played(text, dialect), code).sentences[0] == sentence


def test_a_move_of_a_call_that_failed_says_so():
    player = played("<read><filePath>a.py</read>", "roo-xml", size=100)
    moves = [why for item, why in whys(player) if isinstance(item, Transition)]
    assert moves[0].title == "text → call: begin call"
    assert moves[0].sentences[:3] == (
        "In state text (in the prose, outside of any call) it met open “<read>”, an opening tag "
        "(it is an offered tool's, outside of code); rule begin call fired (an offered tool's tag "
        "starts a call) and it went to call.",
        "27 characters are held back now: waiting for a parameter or the call's closing tag.",
        "It belongs to call 1, which ended in unclosed-parameter (error).",
    )
    assert moves[0].sentences[3] == UNCLOSED[0]
    assert moves[0].remedies


def test_deltas_say_from_which_text_by_which_rules():
    player = played("Hm.\n<read>\n<filePath>a</filePath>\n</read>", "roo-xml", size=12)
    said = {item.kind: why for item, why in whys(player) if isinstance(item, Delta)}
    assert said["content"].sentences[:2] == (
        "The client got “Hm.” as content.",
        "It was made from characters 0 to 2 of content.",
    )
    assert said["call"].title == "delta: call read"
    assert said["call"].sentences[0].startswith("The client is told of call 1, to read, with the id “call_")
    assert said["arguments"].sentences[1].endswith("came with read 1 and waited 300 ms.")
    assert "rule complete call fired (the call is complete)" in said["arguments"].sentences[3]
    assert said["finish"].sentences == (
        "The answer is over with finish_reason “tool_calls”: the client is to run the calls and to "
        "send their "
        "results.",
    )


def test_reads_say_what_is_in_them():
    player = played("Hm.\n<read>\n<filePath>a</filePath>\n</read>", "roo-xml", size=12)
    first = explain_row(player, Pane.UPSTREAM, 0)
    assert first.title == "read 1"
    assert first.sentences == (
        "60 bytes with event 1.",
        "14 bytes of it say something: “Hm.\\n<read>\\n<”. The others are framing (SSE and JSON).",
        "The machine made 3 moves with it, from text to call (rules prose, begin call and hold).",
        "The client got “Hm.” as content.",
        "9 characters were held back after it, waiting for a parameter or the call's closing tag "
        "until read 4.",
    )


def test_how_long_something_is_held_back_is_not_looked_for_without_end():
    said = played("<read>\n<filePath>a</filePath>\n</read>", "roo-xml", size=12)
    reads = [read_line(at / 10, said.read(at)) for at in range(said.reads)]
    signs = [sent_line(0.05, b": still here\n\n", "heartbeat")] * (REACH + 1)
    far = MemoryTape("text", said.header, [reads[0], *signs, *reads[1:], end_line(9, "done")]).play()
    near, beyond = (explain_row(player, Pane.UPSTREAM, 0).sentences[-1] for player in (said, far))
    assert near == f"{beyond.removesuffix('.')} until read 4."


LINES: list[tuple[object, str, str]] = [
    (status_line(0, "upstream", 200), "status 200", "Upstream answered with status 200."),
    (status_line(0, "client", 502), "status 502", "The client was answered with status 502."),
    (
        sent_line(0, b": still here\n\n", "heartbeat"),
        "sent by heartbeat",
        "Upstream was silent, so the proxy sent a sign of life; a client ignores it.",
    ),
    (lost_line(0, 3, 400), "a gap", "3 lines with 400 bytes were not recorded before this."),
    (
        finding_line(0, "duplicate-tool", "warning", "read is offered more than once", "request"),
        "warning: duplicate-tool",
        "read is offered more than once.",
    ),
    (end_line(0, "error", error="reset"), "end: error", "The exchange ended with an error: “reset”."),
    (
        end_line(0, "cancelled"),
        "end: cancelled",
        "The client went away before the answer was over, so nothing more was converted.",
    ),
]


@each_row(("line", "title", "sentence"), LINES, ids=lambda value: str(value)[:30])
def test_lines_of_the_tape(line, title: str, sentence: str):
    player = MemoryTape("lines", make_header("", "roo-xml"), [read_line(0, b": hi\n\n"), line]).play()
    (why,) = [why for item, why in whys(player) if item is line]
    assert (why.title, why.sentences[0]) == (title, sentence)


# -- laws


@each_row("dialect", DIALECTS.values(), ids=lambda dialect: dialect.name)
def test_every_state_and_token_has_a_meaning_and_no_other_does(dialect):
    assert set(dialect.states_in_words) == set(dialect.states)
    assert set(dialect.tokens_in_words) == set(dialect.tokens)


def without_numbers(why: Explanation) -> tuple[str, ...]:
    """The sentences without what depends on how the bytes were cut."""
    return tuple(re.sub(r"(reads?|event) \d+", r"\1 N", sentence) for sentence in why.sentences)


@some_samples(2 if exhaustive() else 1)
def test_a_finding_is_explained_alike_however_the_bytes_are_cut(path: Path):
    cuts = [sample(path), sample(path, chunk=1), sample(path, chunk=1 << 20)]
    whole, *others = [
        [
            (item.code, without_numbers(why), why.remedies)
            for item, why in whys(player)
            if isinstance(item, Finding) and item.code not in ("bad-json-event", *RULES)
        ]
        for player in cuts
    ]
    for other in others:
        assert other == whole


@some_samples(4)
def test_every_row_has_sentences_that_end(path: Path):
    for item, why in whys(sample(path)):
        assert why.title and why.sentences, item
        assert all(sentence.strip()[-1] in ".”" for sentence in why.sentences), why.sentences


LONG = "<read_file>\n<path>" + "x" * 100 + "</path>\n</read_file>"


@each_row(
    ("quoted", "wanted"),
    [
        (quote("short"), "“short”"),
        (quote("a\x1b[0m\n"), "“a\x1b[0m\n”"),  # the screen makes controls visible
        (quote(LONG), "“<read_file>\n<path>xxxxxxxxxxx…xxxxxxxxx</path>\n</read_file>”"),
        (beginning("<a>" + "y" * 52 + "<tag>zzz"), "“<a>" + "y" * 52 + "…”"),  # no half tag
        (ending("zz</tag>" + "y" * 52 + "</a>"), "“…" + "y" * 52 + "</a>”"),
    ],
)
def test_quotes_are_short_and_cut_no_tag(quoted: str, wanted: str):
    assert quoted == wanted
    assert len(quoted) <= 62


def test_of_upstreams_own_calls_only_where_it_is_about_one():
    """An answer without any call has no calls that are upstream's own."""
    said = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hi"}}]}
    call = {"index": 0, "id": 5, "function": {"name": "read", "arguments": "{}"}}
    header = make_header("", "passthrough", request={"model": "m", "tools": TOOLS})
    data = sse(said, said, chunk(tool_calls=[call], finish_reason="tool_calls"))
    player = MemoryTape("x", header, [read_line(0, data), end_line(1, "done")]).play()
    own = {item.code: any("upstream's own" in one for one in why.sentences) for item, why in _checks(player)}
    assert own["check-role-repeated"] is False
    assert own["check-call-shape"] is True


def _checks(player: Player) -> Iterator[tuple[Check, Explanation]]:
    return ((item, why) for item, why in whys(player) if isinstance(item, Check) and item.level != "info")


def test_sentences_begin_with_a_capital():
    call = {"index": 0, "id": "a", "function": {"name": "read", "arguments": "{}"}}
    header = make_header("", "roo-xml", request={"model": "m", "tools": TOOLS})
    data = sse(chunk(tool_calls=[call], finish_reason="tool_calls"))
    player = MemoryTape("x", header, [read_line(0, data), end_line(1, "done")]).play()
    assert "They were passed through unchanged." in why_of(player, "native-calls").sentences


@each_row("dialect", ["hermes", "qwen3-coder"])
def test_moves_after_auto_chose_are_told_in_the_words_of_the_chosen_dialect(dialect: str):
    text = f"So it is.\n{write_call(dialect, 'read', {'filePath': 'a'}, TOOLS[0])}"
    player, same = (played(text, name, size=7) for name in ("auto", dialect))

    def moves(player: Player) -> dict[tuple[str, str, str], str]:
        told = ((item, why) for item, why in whys(player) if isinstance(item, Transition))
        return {
            (item.state, item.token, item.why): why.sentences[0].split(" it met ")[0] for item, why in told
        }

    wanted = moves(same)
    shared = {key: said for key, said in moves(player).items() if key in wanted}
    assert len(shared) > 3
    assert shared == {key: wanted[key] for key in shared}
    assert any("looking for the first call" in said for said in moves(player).values())
