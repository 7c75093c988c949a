"""Remedies: whatever an explanation offers gives the call that its words promise."""

from __future__ import annotations

from pathlib import Path

from tests.support.explanations import begins_there, codes, keeps, retried, sample, whys
from tests.support.samples import ALL, some_samples
from transformer import Finding
from transformer.answer.conformance import Check
from transformer.answer.observations import OBSERVED
from transformer.findings import CATALOGUE
from workbench.analysis.explain.findings import HOPELESS, seen_in, why_seen
from workbench.analysis.explain.remedies import MENDABLE
from workbench.analysis.verdicts import observations_of

# Findings of the samples that nothing in the text or the policies could have avoided, and why.
NO_REMEDY = {
    ("first-call-only", "call-after-first"): "the request itself asks for one call",
    ("bad-json-event", "bad-json-event"): "the event's bytes are damaged",
    ("invalid-utf8", "invalid-utf8"): "the bytes are lost, the call is not",
    ("surrogate-halves", "lone-surrogate"): "the other half never came, the call is not lost",
    ("broke-inside-arguments", "upstream-broke"): "the call has a finding of its own",
    ("broke-inside-call", "upstream-broke"): "the call has a finding of its own",
    ("broke-after-call", "broke-after-call"): "the call is complete",
    ("error-in-stream", "upstream-error"): "there is no call in what came",
    ("missing-parameter", "missing-parameter"): "nobody knows the value",
    ("cut-by-length-after-call", "cut-after-call"): "the call is complete",
    ("truncated-arguments", "cut-after-call"): "the calls before are complete",
    ("list-truncated-arguments", "cut-after-call"): "the calls before are complete",
    ("not-json-at-all", "invalid-arguments"): "no small change makes JSON of it",
    ("not-json", "malformed-call"): "there are no arguments",
    ("no-object", "malformed-call"): "there are no arguments",
    ("attributes", "malformed-call"): "another syntax, of which no small change makes a call",
    ("empty-turn", "empty-turn"): "there is no text",
    ("finish-without-call", "finish-contradicts"): "there is no call in the text",
}
NO_REMEDY_SEEN = {
    ("empty-section", "only-reasoning"): "there is no call in the text",
    ("cut-by-length-after-call", "cut-by-length"): "the call is complete",
    ("header-cut", "cut-by-length"): "there is no call in the text",
    ("not-json", "leaked-markers"): "there are no arguments",
    ("no-object", "leaked-markers"): "there are no arguments",
    ("tool-choice-none", "leaked-markers"): "the client itself wants no calls",
}


@some_samples(4)
def test_every_remedy_in_every_sample_gives_what_it_promises(path: Path):
    player = sample(path)
    offered = {remedy for _, why in whys(player) for remedy in why.remedies}
    for remedy in offered:
        assert keeps(remedy, retried(player, remedy)), remedy


@some_samples(4)
def test_every_lost_or_altered_call_of_every_sample_has_a_remedy(path: Path):
    player = sample(path)
    for item, why in whys(player):
        if not isinstance(item, Finding) or isinstance(item, Check) or item.level == "info":
            continue
        if (path.stem, item.code) in NO_REMEDY:
            assert not why.remedies
            assert HOPELESS[item.code] in why.sentences
            continue
        assert why.remedies, (item.code, why.sentences)
        for remedy in why.remedies:
            after = retried(player, remedy)
            assert codes(after, item.code) < codes(player, item.code), remedy
            assert begins_there(player, item, remedy, after), remedy


@some_samples(3)
def test_what_the_observer_saw_has_a_remedy_as_well(path: Path):
    player = sample(path)
    for seen, _ in seen_in(player):
        if seen.level == "info":
            continue
        why = why_seen(player, seen)
        if (path.stem, seen.code) in NO_REMEDY_SEEN:
            assert not why.remedies
            continue
        assert why.remedies, (seen.code, why.sentences)
        for remedy in why.remedies:
            after = retried(player, remedy)
            assert keeps(remedy, after), remedy
            told = [one for one in observations_of(after) if one.code == seen.code]
            assert not told or seen.code == "cut-by-length"


def test_the_tables_of_what_has_no_remedy_name_only_what_exists():
    stems = {path.stem for path in ALL}
    assert {stem for stem, _ in (*NO_REMEDY, *NO_REMEDY_SEEN)} <= stems
    assert {code for _, code in NO_REMEDY} <= CATALOGUE.keys()
    assert {code for _, code in NO_REMEDY_SEEN} <= OBSERVED.keys()


def test_every_code_about_answers_is_mended_or_said_to_be_hopeless():
    first_of_request = list(CATALOGUE).index("upstream-fault")
    about_answers = set(list(CATALOGUE)[:first_of_request])
    assert about_answers == (MENDABLE | HOPELESS.keys()) & about_answers
    assert MENDABLE | HOPELESS.keys() <= about_answers
