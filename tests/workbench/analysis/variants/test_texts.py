"""Texts: as the transformer's spans count them, and as little changed as can be."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.support.samples import some_samples
from tests.support.streams import chunk, sse
from tests.support.tiers import each_row
from tests.support.variants import play, play_bytes, played_file, streams
from transformer import Delta, Transition
from workbench.analysis.variants.changes import Retext
from workbench.analysis.variants.texts import Text, retexts, texts_of
from workbench.replay.player import Player
from workbench.tape.format import end_line


def check_spans(player: Player) -> int:
    """Every record with a text of a channel finds it there; how many there were."""
    texts = {(text.choice, text.channel): text.text for text in texts_of(player)}
    moves = [record for record in player.records if isinstance(record, Transition) and record.text]
    for move in moves:
        span = move.span
        assert texts[span.choice, span.channel][span.start : span.end] == move.text
    ends: dict[tuple[int, str], int] = {}
    for record in player.records:
        if isinstance(record, Transition | Delta) and record.span is not None and record.span.channel:
            key = record.span.choice, record.span.channel
            ends[key] = max(ends.get(key, 0), record.span.end)
    assert {key: len(text) for key, text in texts.items() if text} == ends
    return len(moves)


@some_samples(3)
def test_every_sample(path: Path):
    player = played_file(path)
    moves = check_spans(player)
    # Where nothing is converted, no machine moves.
    raw = path.parent.name == "passthrough" or path.stem in ("no-tools-offered", "tool-choice-none")
    assert bool(moves) == (not raw and any(text.text for text in texts_of(player)))


@given(streams())
def test_every_stream(data: bytes):
    check_spans(play_bytes(data))


def test_the_order_is_by_choice_and_channel():
    player = play_bytes(sse(chunk("two", index=1), chunk("one", "Hm"), chunk(role="x", index=2)))
    assert texts_of(player) == [
        Text(0, "content", "one"),
        Text(0, "reasoning", "Hm"),
        Text(1, "content", "two"),
        Text(2, "content", ""),
    ]


def test_an_answer_without_text_has_an_empty_one():
    assert texts_of(play(end_line(1, "eof"))) == [Text(0, "content", "")]


def applied(old: str, hunks: list[Retext]) -> str:
    for hunk in reversed(hunks):
        old = old[: hunk.start] + hunk.text + old[hunk.end :]
    return old


@each_row(
    ("old", "new", "hunks"),
    [
        ("abc", "abc", []),
        ("abc", "aXc", [(1, 2, "X")]),
        ("", "abc", [(0, 0, "abc")]),
        ("abc", "", [(0, 3, "")]),
        ("aa", "aaa", [(2, 2, "a")]),
        ("one\ntwo\nthree\n", "one\n2\nthree\nfour\n", [(4, 7, "2"), (14, 14, "four\n")]),
        ("a b c\nsame\nd e f\n", "a X c\nsame\nd Y f\n", [(2, 3, "X"), (13, 14, "Y")]),
        ("the cat sat\n", "the dog sat down\n", [(4, 7, "dog"), (11, 11, " down")]),
        ("x\r\ny\r\n", "x\ny\n", [(1, 2, ""), (4, 5, "")]),
    ],
)
def test_hunks(old: str, new: str, hunks: list[tuple[int, int, str]]):
    assert retexts(Text(1, "reasoning", old), new) == [Retext(1, "reasoning", *hunk) for hunk in hunks]


@given(st.text("ab \n\r", max_size=40), st.text("ab \n\r", max_size=40))
def test_hunks_make_the_new_text(old: str, new: str):
    hunks = retexts(Text(0, "content", old), new)
    assert applied(old, hunks) == new
    assert all(one.end <= other.start for one, other in pairwise(hunks))
    assert all(hunk.text or hunk.start < hunk.end for hunk in hunks)


@each_row(
    ("old", "new"),
    [
        ("ab" * 50_000, "ba" * 50_000 + "x"),
        ("a\n" * 50_000, "b\na\n" * 50_000),
        ("a b " * 30_000, "b a " * 30_000),
    ],
)
def test_long_texts_are_no_trouble(old: str, new: str):
    assert applied(old, retexts(Text(0, "content", old), new)) == new
