"""The replay in a real terminal: a malformed case is stepped through and explained."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.explanations import why_of
from tests.support.tapes import sample
from tests.support.terminal import Terminal
from workbench.analysis.verdicts import Facts, verdict
from workbench.files import samples_dir

CONVERTED = verdict(Facts("done", 200, 1)).sentence
SAMPLE = samples_dir() / "roo-xml" / "unclosed-parameter.jsonl"


def test_stepping_through_a_malformed_case_to_its_explanation(tmp_path: Path):
    with Terminal(tmp_path, "replay", str(SAMPLE), size=(120, 30)) as terminal:
        said = sample("roo-xml/unclosed-parameter").findings[0].message
        terminal.wait_for("step 1 of 41", said.partition(",")[0])
        terminal.press("right", "right")
        terminal.wait_for("read 3 of 16", "state text")
        for _ in range(6):
            terminal.press("right")
        terminal.wait_for("state value", "call → value", "20 characters held")
        assert not terminal.shows("✖ unclosed-parameter"), "it is not known yet"
        terminal.press("left")
        terminal.wait_for("state call")
        terminal.wait_without("call → value")  # one step back, that had not happened
        terminal.press("n")
        terminal.wait_for("✖ unclosed-parameter")
        terminal.press("w")
        why = why_of(sample("roo-xml/unclosed-parameter"), "unclosed-parameter").sentences[0]
        terminal.wait_for(why.partition(" to ")[0])
        terminal.press("1")
        terminal.wait_for("VARIANT", CONVERTED, "read_file  call_", '{"path":"src/main.py"}')
        terminal.press("u")
        terminal.wait_without("VARIANT")
        terminal.press("q")
        assert terminal.exit_code() == 0


@pytest.mark.exhaustive  # quick: test_picker, test_replay: two keys away
def test_the_samples_in_a_picker(tmp_path: Path):
    with Terminal(tmp_path, "replay", "samples", size=(100, 30)) as terminal:
        terminal.wait_for("roo-xml", "Malformed")
        terminal.press("enter")
        terminal.wait_for("step 1 of", "Machine")
        terminal.press("escape")
        terminal.wait_for("Malformed")
        terminal.press("q")
        terminal.wait_without("Malformed")
        terminal.press("q")
        assert terminal.exit_code() == 0
