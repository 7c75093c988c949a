"""Plans: cases of tapes, variants of options, the order of trials, what is sent for each."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.support.project import SAMPLES
from tests.support.tiers import each_row
from transformer.answer.observations import Call
from workbench.errors import UserError
from workbench.lab.plan import Case, Expected, Plan, Variant, make_variants, parse_variant, read_case

TAPE = SAMPLES / "roo-xml" / "good-read.jsonl"
READ = Call("1", "read_file", '{"path": "src/main.py", "limit": 3}')


def test_a_case_expects_what_its_tape_called():
    case = read_case(TAPE)
    assert (case.name, case.dialect, case.expected) == ("good-read", "roo-xml", Expected("read_file"))
    assert case.request["messages"] and case.template is None


@each_row(
    ("expected", "calls", "met"),
    [
        (Expected("read_file"), [READ], True),
        (Expected("read_file"), [Call("1", "write", "{}"), READ], True),
        (Expected("read_file"), [], False),
        (Expected("read_file", {"path": "src/main.py"}), [READ], True),
        (Expected("read_file", {"path": "other.py"}), [READ], False),
        (Expected("read_file", {"missing": None}), [READ], False),
        (Expected("read_file", {}), [Call("1", "read_file", "not JSON")], False),
        (Expected(), [READ], None),
        (Expected(call=False), [], True),
        (Expected(call=False), [READ], False),
    ],
)
def test_what_meets_an_expectation(expected: Expected, calls: list[Call], met: bool | None):
    assert expected.met_by(calls) is met


def test_variants_follow_each_other_and_take_turns_to_be_first():
    plan = Plan((read_case(TAPE), read_case(TAPE)), tuple(Variant(name) for name in "abc"), 6)
    trials = plan.trials
    assert [trial.number for trial in trials] == list(range(36))
    for at in range(0, 36, 3):
        together = trials[at : at + 3]
        assert {trial.variant for trial in together} == {0, 1, 2}
        assert len({(trial.case, trial.round) for trial in together}) == 1
    firsts = Counter(trial.variant for trial in trials[::3])
    assert set(firsts.values()) == {4}, "each variant is first equally often"


def test_a_plan_survives_the_disk():
    case = read_case(TAPE)
    plan = Plan(
        (case,), (Variant("a", "mine", "text", "roo-xml", "m", {"malformed": "repair"}, {"seed": 1}),), 3
    )
    assert Plan.from_json(plan.as_json()) == plan


def test_variants_are_all_combinations(tmp_path: Path):
    mine = tmp_path / "mine.jinja"
    mine.write_text("{{ tools[0].name }}")
    found = make_variants([str(mine), "built-in"], ["roo-xml", "qwen3-coder"], ["m"], ["temperature=0.5"])
    assert [variant.name for variant in found] == [
        "mine roo-xml", "mine qwen3-coder", "built-in roo-xml", "built-in qwen3-coder",
    ]  # fmt: skip
    assert {variant.model for variant in found} == {"m"} and found[0].body == {"temperature": 0.5}
    assert found[0].template == "{{ tools[0].name }}" and found[2].template is None
    assert [variant.name for variant in make_variants([], [], [], [])] == ["recorded"]


@each_row(
    ("settings", "said"),
    [
        (["temperature"], "key=value"),
        (["tempreature=1"], "neither a switch nor a parameter"),
        (["malformed=fix"], "malformed is one of"),
    ],
)
def test_settings_that_do_not_exist(settings: list[str], said: str):
    with pytest.raises(UserError, match=said):
        make_variants([], [], [], settings)


def test_the_same_prompt_twice_is_refused(tmp_path: Path):
    with pytest.raises(UserError, match="two variants"):
        make_variants(["built-in", "built-in"], [], [], [])


def test_what_is_sent():
    case = Case(
        "c", {"model": "m", "messages": [], "seed": 7}, "roo-xml", {"malformed": "text"}, "recorded text"
    )
    variants = (
        Variant("as it was"),
        Variant("built-in", "built-in"),
        Variant("other", "mine", "my text", "qwen3-coder", "n", {"malformed": "repair"}, {"seed": None}),
    )
    plan = Plan((case,), variants, 1)
    wishes = {trial.variant: plan.wish(trial, "try-1", ("default",)) for trial in plan.trials}
    assert wishes[0].template == "recorded text" and wishes[0].body == case.request
    assert wishes[0].policy == {"malformed": "text"} and wishes[0].session == "try-1"
    assert wishes[1].template is not None and wishes[1].template.startswith("{# The prompt")
    other = wishes[2]
    assert (other.template, other.dialect, other.policy) == (
        "my text",
        "qwen3-coder",
        {"malformed": "repair"},
    )
    assert other.body == {"model": "n", "messages": []}, "null leaves a member out"
    assert other.labels == {"try_id": "try-1", "prompt": "mine", "variant": "other", "case": "c"}


def test_notes_about_answers_that_cannot_differ():
    case = Case("c", {"messages": [], "seed": 7, "temperature": 0}, "roo-xml")
    said = " ".join(Plan((case,), (Variant("a"),), 5).notes)
    assert "seed" in said and "temperature" in said
    assert not list(Plan((case,), (Variant("a"),), 1).notes)


def test_a_tape_without_a_chat_request(tmp_path: Path):
    tape = tmp_path / "x.jsonl"
    tape.write_text('{"tape": 1, "dialect": "roo-xml"}\n')
    with pytest.raises(UserError, match="no chat request"):
        read_case(tape)


def test_a_variant_that_is_typed(tmp_path: Path):
    file = tmp_path / "very careful.jinja"
    file.write_text("{{ tools }}")
    found = parse_variant(f"'{file}' temperature=0.7 dialect=hermes malformed=repair model=m")
    assert found.name == "very careful dialect=hermes model=m temperature=0.7 malformed=repair"
    assert (found.prompt, found.template, found.dialect, found.model) == (
        "very careful", "{{ tools }}", "hermes", "m",
    )  # fmt: skip
    assert found.switches == {"malformed": "repair"} and found.body == {"temperature": 0.7}
    assert parse_variant("") == Variant("recorded") and parse_variant("built-in").prompt == "built-in"


@each_row(
    ("text", "said"),
    [
        ("dialect=hermse", "did you mean hermes"),
        ("built-in recorded", "one prompt"),
        ("model=", "one model"),
        ("nothing=1", "neither a switch nor a parameter"),
        ("missing.jinja", "missing.jinja"),
        ("'open", "is not a variant"),
    ],
)
def test_a_variant_that_cannot_be(text: str, said: str):
    with pytest.raises(UserError, match=said):
        parse_variant(text)
