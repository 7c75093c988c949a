"""Retexting: the text that was wanted, and not a byte of anything else."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.samples import some_samples
from tests.support.streams import chunk, message, sse, stream_of
from tests.support.tiers import each_row
from tests.support.variants import (
    TOOLS,
    cuts,
    play,
    play_bytes,
    played_file,
    streams,
    text_map,
    texts,
    torn,
    varied,
    without_texts,
)
from workbench.analysis.variants.changes import Cut, Retext
from workbench.analysis.variants.script import apply, script_of
from workbench.analysis.variants.texts import texts_of
from workbench.errors import UserError
from workbench.replay.player import Player
from workbench.tape.format import BOM, end_line, read_line, status_line

CONTENT = (0, "content")
REASONING = (0, "reasoning")


def hunks_of(key: tuple[int, str], text: str, places: list[int], new: list[str]) -> tuple[list[Retext], str]:
    """Changes between every other pair of places, and the text that they should give."""
    places = sorted(min(place, len(text)) for place in places)
    hunks, edited, at = [], "", 0
    for (start, end), put in zip(list(pairwise(places))[::2], new, strict=False):
        hunks.append(Retext(*key, start, end, put))
        edited += text[at:start] + put
        at = end
    return hunks, edited + text[at:]


def check(before: Player, after: Player, wanted: dict[tuple[int, str], str]) -> None:
    assert text_map(after) == {key: text for key, text in wanted.items() if text}
    assert without_texts(after.data) == without_texts(before.data)
    assert all(after.read(number) for number in range(after.reads))
    assert torn(after) <= torn(before), "no character is cut that was not cut before"
    assert set(after.times) <= set(before.times) and list(after.times) == sorted(after.times)


@given(streams(), cuts, st.data())
def test_any_change_of_any_stream(data: bytes, places: list[int], draw: st.DataObject):
    before = play_bytes(data, places)
    wanted = text_map(before)
    hunks = []
    for key, text in wanted.items():
        spots = draw.draw(st.lists(st.integers(0, len(text)), max_size=8))
        found, wanted[key] = hunks_of(key, text, spots, draw.draw(st.lists(texts, min_size=4, max_size=4)))
        hunks += found
    check(before, varied(before, *hunks), wanted)


@some_samples(4)
def test_every_sample(path: Path):
    before = played_file(path)
    dice = random.Random(path.stem)
    for key, text in text_map(before).items():
        for size in (0, 1, 30):
            start = dice.randrange(len(text))
            places = [start, start + size, start + size + 5, start + 2 * size + 20]
            hunks, edited = hunks_of(key, text, places, ['é "x"\n', "😀"])
            after = varied(before, *hunks)
            if any(finding.code == "refused-tool" for finding in before.findings + after.findings):
                # The answer ends with such a call, wherever that is now.
                assert text_map(after)[key].startswith(edited[: start + 6])
            else:
                check(before, after, text_map(before) | {key: edited})


def test_the_text_is_written_where_it_was():
    data = sse(chunk("Hel"), chunk("lo you"))
    after = varied(play_bytes(data), Retext(*CONTENT, 4, 5, '"\n'))
    assert bytes(after.data) == data.replace(b'"lo you"', b'"l\\"\\n you"')


@each_row(
    ("start", "end", "text", "events"),
    [
        (0, 0, "x", ["xab", "cd"]),
        (2, 2, "x", ["abx", "cd"]),  # behind the character before it
        (4, 4, "x", ["ab", "cdx"]),
        (1, 3, "x", ["ax", "d"]),
        (0, 4, "x", ["x", ""]),
        (2, 4, "", ["ab", ""]),
        (1, 1, "", ["ab", "cd"]),
    ],
)
def test_in_which_event(start: int, end: int, text: str, events: list[str]):
    after = varied(play_bytes(sse(chunk("ab"), chunk("cd"))), Retext(*CONTENT, start, end, text))
    assert bytes(after.data) == sse(*map(chunk, events))


@each_row(
    ("literals", "start", "end", "text", "wanted"),
    [
        ([r"a\ud83d\ude00b"], 1, 2, "é", ["aéb"]),  # a pair of escapes is one character
        ([r"a\ud83d", r"\ude00b"], 1, 2, "", ["a", "b"]),  # its halves in two events
        ([r"a\ud83d", r"\ude00b"], 0, 1, "x", [r"x\ud83d", r"\ude00b"]),
        ([r"a\ud83d", r"\ude00b"], 2, 2, "x", [r"a\ud83d", r"\ude00xb"]),
        ([r"\ud83d", r"\ude00b"], 0, 0, "x", [r"x\ud83d", r"\ude00b"]),
        ([r"a\u00e9\n\/b"], 1, 3, "", [r"a\/b"]),
        ([r"a\u00e9\n\/b"], 3, 4, "\\", [r"a\u00e9\n\\b"]),
        ([r"\ud83dx\ude00"], 1, 2, "", ["\ufffd\\ude00"]),  # two halves that must not become one
        ([r"a\ud83d", "x", r"\ude00"], 2, 3, "", ["a\ufffd", "", r"\ude00"]),
    ],
)
def test_escapes(literals: list[str], start: int, end: int, text: str, wanted: list[str]):
    def stream(written: list[str]) -> bytes:
        return sse(*(f'{{"choices":[{{"delta":{{"content":"{one}"}}}}]}}' for one in written))

    before = play_bytes(stream(literals))
    after = varied(before, Retext(*CONTENT, start, end, text))
    assert bytes(after.data) == stream(wanted)
    old = text_map(before)[CONTENT]
    assert text_map(after)[CONTENT] == old[:start] + text + old[end:]


def test_bytes_that_are_no_utf8():
    data = sse(chunk("a-X+b")).replace(b"-", b"\xc3").replace(b"+", b"\xa9")
    before = play_bytes(data)
    assert text_map(before)[CONTENT] == "a\ufffdX\ufffdb"
    after = varied(before, Retext(*CONTENT, 2, 3, ""))
    assert text_map(after)[CONTENT] == "a\ufffd\ufffdb"
    assert bytes(after.data) == data.replace(b"\xc3X\xa9", "\ufffd".encode() + b"\xa9")
    kept = varied(before, Retext(*CONTENT, 4, 5, "c"))
    assert bytes(kept.data) == data.replace(b"\xa9b", b"\xa9c")


def test_half_a_character_is_written_as_it_would_be_read():
    after = varied(play_bytes(sse(chunk("ab"))), Retext(*CONTENT, 1, 1, "\ud83d"))
    assert text_map(after)[CONTENT] == "a\ufffdb"


@each_row("newline", ["\n", "\r\n", "\r"])
def test_odd_framing(newline: str):
    events = (
        f': hi{newline}event: x{newline}data: {{"choices":[{{"delta":{newline}data: {{"content":"abc"}}}}]}}'
    )
    data = BOM + f"{events}{newline}{newline}data: [DONE]{newline}{newline}".encode()
    after = varied(play_bytes(data, [30, 60]), Retext(*CONTENT, 1, 2, "é"))
    assert bytes(after.data) == data.replace(b"abc", "aéc".encode())


def test_reasoning_in_two_fields_stays_one_channel():
    before = play_bytes(sse(chunk(reasoning="Well, "), chunk("x", "no")))
    after = varied(before, Retext(*REASONING, 4, 7, "!"), Retext(*CONTENT, 1, 1, "y"))
    assert text_map(after) == {CONTENT: "xy", REASONING: "Well!o"}
    assert bytes(after.data) == sse(chunk(reasoning="Well!"), chunk("xy", "o"))


def test_choices_are_told_apart():
    before = play_bytes(sse(chunk("one", index=0), chunk("two", index=1)))
    after = varied(before, Retext(1, "content", 0, 3, "2"), Retext(0, "content", 3, 3, "!"))
    assert text_map(after) == {(0, "content"): "one!", (1, "content"): "2"}


def test_reads_keep_their_boundaries():
    data = sse(chunk("abcdef"), done=False)
    at = data.index(b"abcdef")
    before = play_bytes(data, [at + 2, at + 4, at + 6])
    reads = [before.read(number) for number in range(before.reads)]
    assert reads[1:3] == [b"cd", b"ef"]

    def new_reads(*hunks: Retext) -> list[tuple[float, bytes]]:
        after = varied(before, *hunks)
        return [(after.times[n], after.read(n).removeprefix(data[:at])) for n in range(after.reads)][:-1]

    assert new_reads(Retext(*CONTENT, 2, 2, "X")) == [(0, b"abX"), (1, b"cd"), (2, b"ef")]
    assert new_reads(Retext(*CONTENT, 2, 4, "")) == [(0, b"ab"), (2, b"ef")], "none is left empty"
    assert new_reads(Retext(*CONTENT, 1, 5, "1234")) == [(0, b"a1"), (1, b"23"), (2, b"4f")]
    assert new_reads(Retext(*CONTENT, 1, 5, "😀")) == [(0, b"a"), (2, "😀f".encode())], "nor cut in two"


# -- a channel that has said nothing


@each_row(
    ("events", "wanted"),
    [
        ([chunk(role="assistant"), chunk(finish_reason="stop")], 1),
        ([chunk(role="assistant"), chunk()], 2),
        ([chunk(reasoning="Hm"), {"choices": [{"delta": {"phase": "answer", "status": "finished"}}]}], 1),
        ([chunk(role="assistant"), {"error": {"message": "no"}}], 1),
    ],
)
def test_a_first_text_comes_before_the_end(events: list[dict[str, object]], wanted: int):
    after = varied(play_bytes(sse(*events)), Retext(*CONTENT, 0, 0, 'a"é'))
    events.insert(wanted, chunk('a"é'))
    assert bytes(after.data) == sse(*events)
    assert text_map(after)[CONTENT] == 'a"é'


def test_a_first_reasoning_comes_before_the_content():
    meta = {"id": "c", "created": 7}
    data = sse(meta | chunk(role="assistant"), meta | chunk("Yes"), newline="\r\n")
    after = varied(play_bytes(data), Retext(*REASONING, 0, 0, "Hm"))
    thought = sse(meta | chunk(reasoning_content="Hm"), done=False, newline="\r\n")
    place = data.index(b'data: {"id":"c","created":7,"choices":[{"index":0,"delta":{"content"')
    assert bytes(after.data) == data[:place] + thought + data[place:]
    assert text_map(after) == {CONTENT: "Yes", REASONING: "Hm"}


@each_row(
    "data",
    [
        sse(chunk(role="assistant"), done=False)[:-1],  # no blank line
        sse(chunk(role="assistant"), done=False)[:-2],  # nor an end of the line
        sse(chunk(role="assistant"), "{broken", done=False)[:-2],
        b": ping\n\n",
        b'data: {"choices":[{"delta":{}}]}\ndata: {"choices":[{"delta":{}}]}\ndata: [DONE]\n\n',
        sse(chunk(role="assistant"), done=False) + b'event: error\ndata: {"message": "no"}\n\n',
    ],
)
def test_a_first_text_in_an_odd_stream(data: bytes):
    after = varied(play_bytes(data), Retext(*CONTENT, 0, 0, "Yes"))
    assert text_map(after) == {CONTENT: "Yes"}
    assert after.completion is not None and after.completion["choices"][0]["message"]["content"] == "Yes"


def test_a_first_text_where_upstream_said_nothing_at_all():
    before = play(status_line(0.5, "upstream", 200), end_line(2, "eof"))
    after = varied(before, Retext(*CONTENT, 0, 0, "Yes"))
    assert text_map(after) == {CONTENT: "Yes"}
    assert [line.kind for line in script_of(after).lines] == ["status", "read", "end"]
    assert list(after.times) == [2.0]


# -- answers that came whole


def whole(text: str | None, **more: object) -> bytes:
    return json.dumps(message(text) | more, ensure_ascii=False).encode()


@each_row("bom", [b"", BOM])
@each_row("request_", [{"tools": TOOLS}, {"tools": []}], ids=["converted", "raw"])
def test_a_message(bom: bytes, request_: dict[str, object]):
    text, wanted = (
        'Say "é"\n<read_file><path>a</path></read_file>',
        "\\\n<read_file><path>b.py</path></read_file>",
    )
    before = play_bytes(bom + whole(text), request=request_)
    assert before.mode == "message"
    place = text.index("a</path>")
    after = varied(before, Retext(*CONTENT, 0, 7, "\\"), Retext(*CONTENT, place, place + 1, "b.py"))
    assert bytes(after.data) == bom + whole(wanted)
    assert text_map(after) == {CONTENT: wanted}


@each_row(
    ("said", "put"),
    [
        ('"content": ""', '"content": "a\\né"'),
        ('"content": null', '"content": "a\\né"'),
        ('"refusal": "content: null"', '"content":"a\\né","refusal": "content: null"'),
        ('"x": {"content": null}, "content" : null', '"x": {"content": null}, "content" : "a\\né"'),
    ],
)
def test_a_first_text_in_a_message(said: str, put: str):
    body = '{"choices": [{"index": 0, "message": {"role": "assistant"}}, {"index": 4, "message": {%s}}]}'
    after = varied(play_bytes((body % said).encode()), Retext(4, "content", 0, 0, "a\né"))
    assert bytes(after.data).decode() == body % put
    assert text_map(after) == {(4, "content"): "a\né"}


def test_reasoning_of_a_message():
    before = play_bytes(whole("Yes"))
    after = varied(before, Retext(*REASONING, 0, 0, "Hm"))
    assert text_map(after) == {CONTENT: "Yes", REASONING: "Hm"}
    again = varied(after, Retext(*REASONING, 0, 2, ""))
    assert text_map(again) == {CONTENT: "Yes"}


# -- what cannot be done


@each_row(
    ("hunks", "said"),
    [
        ([Retext(0, "content", 2, 9, "")], "there are only 5 characters"),
        ([Retext(0, "content", 3, 2, "")], "only 5 characters"),
        ([Retext(0, "content", -1, 2, "")], "only 5 characters"),
        ([Retext(0, "content", 0, 3, ""), Retext(0, "content", 2, 4, "")], "overlap"),
        ([Retext(0, "contents", 0, 0, "")], "there are content, reasoning"),
        ([Retext(3, "content", 0, 0, "x")], "no choice 3 in this answer; there are 0"),
        ([Retext(0, "reasoning_content", 0, 0, "x")], "only beside another reasoning"),
    ],
)
def test_what_is_refused(hunks: list[Retext], said: str):
    before = play_bytes(sse(chunk("Hello")))
    with pytest.raises(UserError, match=said):
        apply(script_of(before), before, hunks)


@each_row(
    "player",
    [
        play(status_line(0, "upstream", 500), read_line(1, b'{"error": 1}'), end_line(2, "done")),
        play(status_line(0, "upstream", 500), end_line(2, "done")),
        play(read_line(1, b"[]"), end_line(2, "done"), kind="relay"),
        play(end_line(2, "done"), kind="relay"),
        play_bytes(sse(chunk("Hello")), dialect="klingon"),
    ],
)
def test_what_is_no_answer_has_no_text(player: Player):
    assert texts_of(player) == []
    with pytest.raises(UserError, match="no text of a model"):
        apply(script_of(player), player, [Retext(*CONTENT, 0, 0, "x")])


@each_row(
    ("body", "said"),
    [
        (b'{"choices": [{"message": {"content": [1]}}]}', "is not a text and cannot become one"),
        (b'{"choices": [{"message": {"content": nu', "not whole"),
    ],
)
def test_a_message_without_a_place_for_text(body: bytes, said: str):
    before = play_bytes(body)
    with pytest.raises(UserError, match=said):
        apply(script_of(before), before, [Retext(*CONTENT, 0, 0, "x")])


def test_a_text_and_a_cut_in_it_count_in_the_same_bytes():
    data = stream_of("Hello you", 9, done=False)
    before = play_bytes(data)
    after = varied(
        before, Cut(data.index(b" you")), Retext(*CONTENT, 0, 5, "Good day"), Retext(*CONTENT, 8, 9, "?")
    )
    assert bytes(after.data) == data[: data.index(b"Hello")] + b"Good day"
