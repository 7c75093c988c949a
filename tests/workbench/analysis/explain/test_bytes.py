"""Bytes: which part of what event each is, and what became of it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tests.support.cost import calls_made
from tests.support.explanations import TOOLS, played, sample, why_of
from tests.support.samples import some_samples
from tests.support.streams import sse, stream_of
from tests.support.tiers import each_row, exhaustive
from transformer import DIALECTS, Finding, Span, Transition
from transformer.request.writtencall import reader, writer_of
from transformer.values.schema import offered
from workbench.analysis.explain.bytes import explain_byte, said_at
from workbench.analysis.explain.rows import explain_row
from workbench.analysis.explain.trace import event_at
from workbench.analysis.variants.texts import texts_of
from workbench.replay.lines import MemoryTape
from workbench.replay.player import Pane, Player
from workbench.tape.format import end_line, make_header, read_line
from workbench.text import json_text

CALL = "Hm. \n<read>\n<filePath>a.py</filePath>\n</read>\nDone."


def at(player: Player, text: bytes, offset: int = 0) -> tuple[str, ...]:
    """The explanation of the byte where some bytes stand."""
    return explain_byte(player, player.data.index(text) + offset).sentences


FATES: list[tuple[bytes, str]] = [
    (
        b"data:",
        "It is framing of server-sent events (a field name, a comment, a line end), not part of the data.",
    ),
    (
        b'"choices"',
        "It is framing: part of the JSON around what the model says. The client gets JSON of our own.",
    ),
    (b"Hm.", "It reached the client as content, in “Hm.”, with read 1."),
    (b"<read>", "It is markup of call 1: the client gets the call instead, with read 1."),
    (b"a.py", "It is part of the value of filePath in call 1, whose arguments left with read 1."),
    (b"</filePath>", "It is markup of call 1: the client gets the call instead, with read 1."),
    (
        b"Done",
        "It did not reach the client: 6 characters after the call were dropped, as the policy "
        "after_call=drop wants.",
    ),
]


@each_row(("text", "sentence"), FATES)
def test_what_became_of_a_byte(text: bytes, sentence: str):
    assert sentence in at(played(CALL, "roo-xml", size=200), text)


@each_row("name", [name for name, dialect in DIALECTS.items() if dialect.writer is not None])
def test_every_dialect_tells_a_value_from_the_markup_around_it(name: str):
    """A call as the dialect itself writes it: the value, then all that is outside of the arguments."""
    dialect = DIALECTS[name]
    writer, value = writer_of(dialect), "/src/one two.py"
    text, _ = writer.call("read", json_text({"filePath": value}), offered(TOOLS), None, reader(dialect))
    text = writer.calls([text])
    player = played(text, name, size=200)
    part = "the arguments" if dialect.own_json else "the value of filePath"
    for place in range(text.index(value), text.index(value) + len(value)):
        assert f"It is part of {part} in call 1, " in " ".join(explain_character(player, place)), place
    last = " ".join(explain_character(player, len(text) - 1))
    own = text.endswith('"}')  # the arguments, with nothing around them
    assert ("It is part of the arguments" if own else "It is markup") in last


def explain_character(player: Player, place: int) -> tuple[str, ...]:
    """The explanation of a character of the content."""
    (read, *_), *_ = player.sources[0, "content"].pieces(place, place + 1)
    event = player.event(read)
    assert event is not None
    found = (byte for byte in range(event.start, event.end) if said_at(player, event, byte))
    byte = next(at for at in found if (said := said_at(player, event, at)) and said.character == place)
    return explain_byte(player, byte).sentences


def test_a_byte_of_a_call_that_was_lost_has_its_remedies():
    player = played("<read><filePath>a.py</read>", "roo-xml", size=200)
    why = explain_byte(player, player.data.index(b"a.py"))
    assert why.sentences[:3] == (
        "It came with read 1, in event 1.",
        "It is part of what the model said: character 16 of content, “a” (U+0061 LATIN SMALL LETTER A).",
        "In state value (inside the value of a parameter, where anything may stand) it met text “a.py”; "
        "rule data fired (a value may contain anything) and it stayed in value.",
    )
    assert why.remedies and why.remedies == why_of(player, "unclosed-parameter").remedies


def test_escapes_are_named():
    event = '{"choices":[{"delta":{"content":"a\\n\\u00e9\\ud83d\\ude00\\"é"}}]}'
    player = MemoryTape(
        "escapes", make_header("", "roo-xml"), [read_line(0, sse(event)), end_line(0, "done")]
    ).play()
    acute = "“é” (U+00E9 LATIN SMALL LETTER E WITH ACUTE)"
    named = [
        (b"\\n", 1, "character 1 of content, “\n” (U+000A), written as the escape \\n."),
        (b"\\u00e9", 3, f"character 2 of content, {acute}, written as the escape \\u00e9."),
        (
            b"\\ude00",
            0,
            "character 3 of content, “😀” (U+1F600 GRINNING FACE), written as the escape \\ud83d\\ude00.",
        ),
        ("é".encode(), 1, f"character 5 of content, {acute}."),
    ]
    for text, offset, sentence in named:
        assert f"It is part of what the model said: {sentence}" in at(player, text, offset)


@some_samples(4)
def test_the_character_of_every_byte_is_the_one_that_came_from_it(path: Path):
    """Against the provenance of the transformer, the other way round."""
    player = sample(path)
    for text in texts_of(player):
        for character in range(0, len(text.text), 7):
            key = (text.choice, text.channel)
            span_item = Finding(0, 0, 0, "", "info", "", _span(key, character))
            for start, end in player.bytes_of(span_item):
                for byte in (start, end - 1):
                    event = event_at(player, byte)
                    assert event is not None
                    said = said_at(player, event, byte)
                    assert said is not None and (said.channel, said.character) == (key, character)


def _span(key: tuple[int, str], character: int) -> Span:
    return Span(*key, character, character + 1, 0)


@some_samples(4)
def test_every_byte_has_an_explanation(path: Path):
    player = sample(path)
    for byte in range(0, len(player.data), 11):
        why = explain_byte(player, byte)
        assert len(why.sentences) >= 2 and all(sentence.strip() for sentence in why.sentences)


@each_row("byte", [-1, 10**9])
def test_a_byte_that_is_not_there(byte: int):
    assert explain_byte(played("x", "roo-xml"), byte).sentences == ("There is no such byte.",)


# -- long tapes


def long_tape(text: str, reads: int) -> Player:
    header = make_header("", "roo-xml", request={"tools": TOOLS, "messages": []})
    size = max(1, len(text) // reads)
    events = [event + b"\n\n" for event in stream_of(text, size).split(b"\n\n")[:-1]]
    return MemoryTape(
        "long", header, [*(read_line(0, event) for event in events), end_line(0, "done")]
    ).play()


def test_an_explanation_costs_the_same_anywhere_in_a_long_tape():
    """A call of many reads that is never closed, behind as much prose: the worst place for all of them."""
    half = 20_000 if exhaustive() else 7_000
    prose, value = "word " * half, "line\n" * half
    player = long_tape(f"{prose}\n<write>\n<path>a</path>\n<content>{value}</write>", 2 * half)
    enough = 5 * half  # less than one look at every event
    rows = [
        (pane, row) for pane in Pane for row in (0, len(player.rows(pane)) // 2, len(player.rows(pane)) - 1)
    ]
    found = [
        (Pane.MACHINE, row)
        for row in range(len(player.rows(Pane.MACHINE)) - 5, len(player.rows(Pane.MACHINE)))
        if isinstance(player.item(Pane.MACHINE, row), Finding | Transition)
    ]
    explain_row(player, Pane.CLIENT, 0)  # what the observer sees is looked for once
    for pane, row in [*rows, *found]:
        assert calls_made(partial(explain_row, player, pane, row)) < enough, (pane, row)
    for byte in (0, len(player.data) // 3, len(player.data) - 40):
        assert calls_made(partial(explain_byte, player, byte)) < enough, byte
    remedies = [explain_row(player, pane, row).remedies for pane, row in found]
    assert any(one.words.startswith("with </content> before </write>") for group in remedies for one in group)
