"""How a table is written down, and what the machine does that no table says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum

import pytest

from tests.support.cuts import codes, transform
from tests.support.streams import stream_of, tool
from tests.support.tiers import each_row
from transformer import DIALECTS, Rule, Transition
from transformer.answer.choice import Choice
from transformer.answer.setting import make_setting
from transformer.frontends.chat import NoChunks
from transformer.journal import Journal
from transformer.parser.dialect import TOO_LONG, Dialect, Lexicon, Rules, Table, guard, table
from transformer.parser.machine import Machine, ignore, prose, then
from transformer.parser.tagcall import open_parameter
from transformer.policy import USUAL
from transformer.records import Effect


class Light(StrEnum):
    RED = "red"
    GREEN = "green"


class Sign(StrEnum):
    GO = "go"
    STOP = "stop"
    WAIT = "wait"


GO, STOP, WAIT = Sign
ON = Rule(Light.GREEN, Effect.PROSE, prose, "somebody said go")
OFF = Rule(Light.RED, Effect.NONE, ignore, "somebody said stop")
HURRY = Rule(
    Light.GREEN, Effect.PROSE, prose, "somebody is in a hurry", guard("it is late")(lambda m, name: True)
)


def test_a_table_spells_out_every_pair() -> None:
    spelled = table(
        list(Sign), {Light.RED: ({GO: ON}, OFF), Light.GREEN: ({(STOP, WAIT): OFF, GO: ON}, None)}
    )
    assert spelled == {
        (Light.RED, GO): (ON,),
        (Light.RED, STOP): (OFF,),
        (Light.RED, WAIT): (OFF,),
        (Light.GREEN, GO): (ON,),
        (Light.GREEN, STOP): (OFF,),
        (Light.GREEN, WAIT): (OFF,),
    }


def test_after_the_last_guard_the_rule_for_all_others_follows() -> None:
    spelled = table(list(Sign), {Light.RED: ({GO: [HURRY], STOP: [HURRY, OFF]}, ON)})
    assert spelled == {
        (Light.RED, GO): (HURRY, ON),
        (Light.RED, STOP): (HURRY, OFF),
        (Light.RED, WAIT): (ON,),
    }


def test_a_table_refuses_to_decide_a_pair_twice() -> None:
    with pytest.raises(ValueError, match="red decides stop twice"):
        table(list(Sign), {Light.RED: ({STOP: OFF, (GO, STOP): ON}, OFF)})


NOTHING = Lexicon("(?!)", "(?!)", "(?!)")
WHOLE: Table = {(light, sign): (OFF,) for light in Light for sign in Sign}


def dialect(transitions: Table, lights: Sequence[StrEnum] = tuple(Light)) -> Dialect:
    return Dialect(
        name="crossing",
        summary="lights",
        policy=USUAL,
        states=tuple(Light),
        tokens=tuple(Sign),
        transitions=transitions,
        lexicons=dict.fromkeys(lights, NOTHING),
        read=lambda match: (GO, ""),
        states_in_words={},
        tokens_in_words={},
    )


@each_row(
    ("entry", "message"),
    [
        ((), "red does not decide wait"),
        ((HURRY,), "red does not decide wait"),
        ((ON, OFF), "red never comes to the last rule for wait"),
        ((HURRY, ON._replace(why=HURRY.why)), "red gives the same reason for two rules of wait"),
        ((ON._replace(to=Sign.GO),), "red leads to an unknown state by wait"),
    ],
    ids=["a hole", "a hole after a guard", "a rule that is never reached", "one reason for two", "nowhere"],
)
def test_a_dialect_refuses_a_table_that_does_not_decide_everything(entry: Rules, message: str) -> None:
    dialect(WHOLE)
    with pytest.raises(ValueError, match=f"^crossing: {message}$"):
        dialect({**WHOLE, (Light.RED, WAIT): entry})


def test_a_dialect_refuses_a_table_in_which_a_pair_is_missing() -> None:
    spelled = table(list(Sign), {Light.RED: ({GO: ON, STOP: OFF}, None), Light.GREEN: ({}, OFF)})
    with pytest.raises(ValueError, match=r"^crossing: red does not decide wait$"):
        dialect(spelled)
    with pytest.raises(ValueError, match=r"^crossing: red does not decide wait$"):
        replace(dialect(WHOLE), transitions=spelled)


def test_a_dialect_needs_a_lexicon_for_every_state() -> None:
    with pytest.raises(ValueError, match=r"^crossing: green has no lexicon$"):
        dialect(WHOLE, [Light.RED])


def test_a_rule_is_named_after_its_action() -> None:
    rule = Rule(Light.RED, Effect.NONE, open_parameter, "why not")
    assert (rule.name, rule.condition) == ("open parameter", "")
    assert rule._replace(action=then(prose, ignore)).name == "prose then ignore"
    assert HURRY.condition == "it is late"


TOOLS = [tool("read", {"path": {"type": "string"}})]
LONG = {
    "in a value": "<read>\n<path>" + "x" * 40 + "</path>\n</read>\nbye",
    "in a tag": "<read>\n<path>" + "x" * 14 + "</path>\n</read>\nbye",
    "in whitespace": "<read>" + " " * 50 + "bye",
}


@each_row("size", [1, 7, 1000])
@each_row("arguments", ["whole", "stream"])
@each_row("text", LONG.values(), ids=LONG)
def test_a_call_that_is_too_long_leaves_by_a_transition(text: str, arguments: str, size: int) -> None:
    policy = {"max_call_bytes": 30, "arguments": arguments}
    _, t = transform("roo-xml", stream_of(text, size), tools=TOOLS, policy=policy, records="all")
    assert codes(t).count("call-too-long") == 1
    moves = [record for record in t.records if isinstance(record, Transition)]
    (out,) = [move for move in moves if move.rule == TOO_LONG.name]
    assert out.to == "text" and out.effect in (Effect.CUTS, Effect.GIVES_UP)
    assert (out.effect is Effect.CUTS) == (arguments == "stream" and "<path>" in text)
    before, after = moves[moves.index(out) - 1], moves[moves.index(out) + 1]
    assert (before.to, after.state) == (out.state, "text")
    assert before.span.end == out.span.start and out.span.end <= after.span.start


def test_a_dialect_remembers_what_it_read_while_another_one_reads() -> None:
    """Whoever looks for the dialect of an answer tries another one, and comes back."""
    kimi, journal = DIALECTS["kimi-k2"], Journal("findings")
    choice = Choice(0, make_setting(kimi, TOOLS), NoChunks(), journal, lambda: 0)
    machine = Machine(kimi, choice, "content")
    machine.feed("<|tool_calls_section_begin|>")
    twin = machine.clone(choice)
    machine.become(DIALECTS["roo-xml"])
    machine.feed("text")
    machine.become(kimi)
    machine.feed("<|tool_calls_section_begin|>")
    assert [finding.code for finding in journal.findings.items] == ["empty-section"]
    twin.feed("<|tool_calls_section_begin|>")  # a twin has a memory of its own
    assert [finding.code for finding in journal.findings.items] == ["empty-section"] * 2
