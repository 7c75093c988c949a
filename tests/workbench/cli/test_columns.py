"""Three columns of plain text: what stands where, how wide, and that nothing in it steers a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.support.samples import name_of, some_samples
from tests.support.tiers import each_row
from workbench.analysis.verdicts import facts_of_player, verdict
from workbench.cli.columns import WIDTH, columns, screen_width
from workbench.files import samples_dir
from workbench.replay.lines import Tail
from workbench.replay.player import Player
from workbench.text import visible_line


def player_of(sample: str) -> Player:
    tail = Tail(Path(samples_dir() / sample))
    tail.advance(60)
    assert tail.player is not None
    return tail.player


def lines_of(sample: str, width: int = 120) -> list[str]:
    return list(columns(player_of(sample), width))


def row_with(lines: list[str], text: str) -> list[str]:
    """The cells of the only line that has this."""
    (line,) = [line for line in lines if text in line]
    return [cell.strip() for cell in line.split("│")]


def test_the_verdict_comes_first_and_its_proof_is_marked():
    player = player_of("roo-xml/unclosed-parameter.jsonl")
    lines, judged = list(columns(player)), verdict(facts_of_player(player))
    assert judged.finding_code == "unclosed-parameter"
    assert lines[0].startswith("error: ") and f"{judged.level}: {judged.long}".startswith(lines[0])
    assert any("malformed = repair" in line for line in lines[:5]), "what to do about it"
    marked = [line for line in lines if line.startswith(">")]
    assert len(marked) == 1 and judged.finding_code in marked[0]


def test_causes_and_effects_stand_in_one_line():
    lines = lines_of("roo-xml/good-read.jsonl")
    assert row_with(lines, "Upstream") == ["Upstream", "Machine", "Client"]
    upstream, machine, client = row_with(lines, '" read"')
    assert upstream.endswith('" read"') and machine == 'text: prose " read"' and client == 'content " read"'
    upstream, machine, client = row_with(lines, "call read_file")
    assert "→" in machine and client.startswith("call read_file")


@each_row("width", [60, 80, 120, 200])
@each_row("sample", ["roo-xml/good-unicode.jsonl", "roo-xml/hostile-text.jsonl"])
def test_no_line_is_wider_than_it_may_be(sample: str, width: int):
    lines = lines_of(sample, width)
    assert max(cell_len(line) for line in lines) <= width
    bars = {tuple(cell_len(part) for part in line.split("│")[:2]) for line in lines if line.count("│") == 2}
    assert len(bars) == 1, "the columns are straight"


@some_samples(3)
def test_every_sample_can_be_printed_and_steers_nothing(path: Path):
    for line in lines_of(f"{name_of(path)}.jsonl"):
        assert line == visible_line(line)
        line.encode("utf-8")


def test_a_tape_that_has_only_begun_can_be_printed():
    assert list(columns(Player({"tape": 1, "dialect": "roo-xml"}), 80))
    assert list(columns(Player({"tape": 1, "dialect": "no such"}), 80))


@pytest.mark.parametrize(
    ("said", "width"),
    [("100", 100), ("5", 60), ("", WIDTH), ("wide", WIDTH), ("9" * 30, WIDTH), ("²", WIDTH)],
)
def test_columns_says_how_wide(said: str, width: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", said)
    assert screen_width() == width
