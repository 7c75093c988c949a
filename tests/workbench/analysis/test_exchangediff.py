"""Two exchanges beside each other: what is the same, what differs, where it begins."""

from __future__ import annotations

from tests.support.project import SAMPLES
from workbench.analysis.exchangediff import Aligned, align, compare
from workbench.replay.player import Player
from workbench.tape.format import Tape, read_line, read_tape
from workbench.tape.recipe import Wishes

GOOD = read_tape(SAMPLES / "roo-xml" / "good-read.jsonl")
BROKEN = read_tape(SAMPLES / "roo-xml" / "unclosed-parameter.jsonl")


def played(tape: Tape, wishes: Wishes | None = None) -> Player:
    player = Player(tape.header, wishes)
    player.add(tape.lines)
    return player


def test_an_exchange_and_itself():
    found = compare(played(GOOD), played(GOOD))
    assert found.first is None and found.sentence == "both say the same"
    assert all(section.same and section.lines for section in found.sections)


def test_other_reads_are_no_difference():
    """The same answer, byte by byte."""
    data = b"".join(GOOD.reads)
    pieces = [read_line(0.0, data[at : at + 1]) for at in range(len(data))]
    tape = Tape(GOOD.header, (*pieces, *(line for line in GOOD.lines if line.kind == "end")))
    assert compare(played(GOOD), played(tape)).first is None


def test_a_repaired_call():
    found = compare(played(BROKEN), played(BROKEN, Wishes(switches={"malformed": "repair"})))
    prompt, message, calls, machine, client = found.sections
    assert prompt.same and not (message.same or calls.same or machine.same or client.same)
    assert found.first == (1, 1) and "message, line 2" in found.sentence
    assert [line.right for line in calls.lines] == ["read_file", "  path: src/main.py"]
    assert [judged.level for judged in found.verdicts] == ["error", "warning"]
    assert all("\n" not in (line.left or "") + (line.right or "") for line in client.lines)


def test_lines_beside_each_other():
    left = ["a", "Let me look.", "<read>", "finish_reason: stop", "c"]
    right = ["a", "Now.", "finish_reason: tool_calls", "c"]
    assert list(align(left, right)) == [
        Aligned("same", "a", "a"),
        Aligned("removed", "Let me look.", None),
        Aligned("removed", "<read>", None),
        Aligned("added", None, "Now."),
        Aligned("changed", "finish_reason: stop", "finish_reason: tool_calls"),
        Aligned("same", "c", "c"),
    ]
    assert list(align(["b"], ["x"])) == [Aligned("changed", "b", "x")], "one for one is a change"
    many = [str(number) for number in range(2000)]
    assert len(list(align(many, [f"{one}x" for one in many]))) == 2000, "in a time near their number"
    assert [line.kind for line in align(["a", "b"], ["a"])] == ["same", "removed"]
    assert list(align([], [])) == []
