"""The tape of an answer that was held: what the client got is what is shown, whatever upstream sent."""

from __future__ import annotations

from typing import Any

from tests.support.streams import message, sse, stream_of
from tests.support.tapes import live
from workbench.analysis.variants.changes import Switch
from workbench.analysis.variants.script import apply, script_of
from workbench.analysis.variants.texts import retexts, texts_of
from workbench.analysis.verdicts import facts_of_player, verdict
from workbench.replay.message import Assembly
from workbench.replay.player import Pane, Player
from workbench.replay.rowtext import row_text
from workbench.tape.format import Line, end_line, finding_line, hold_line, read_line, release_line
from workbench.text import json_text

HEAD = stream_of("Look:", finish=None, done=False)
CALL = stream_of("\n<read_file>\n<path>secret</path>\n</read_file>")
OTHER = stream_of("\n<read_file>\n<path>README</path>\n</read_file>")
HELD = hold_line(0.2, "tool:*", "a call of read_file")


def edited(*, reads: tuple[bytes, ...] = (OTHER,), how: str = "edited", end: Line | None = None) -> Player:
    release = release_line(3.2, how, 3.0, 1, [read.decode() for read in reads])  # type: ignore[arg-type]
    return live(read_line(0.1, HEAD), HELD, read_line(0.2, CALL), release, end or end_line(3.3, "done"))


def paths(player: Player) -> list[str]:
    calls = player.completion["choices"][0]["message"].get("tool_calls") or []  # type: ignore[index]
    return [call["function"]["arguments"] for call in calls]


def rows(player: Player, pane: Pane) -> list[str]:
    return [row_text(player, player.item(pane, row)) for row in range(len(player.rows(pane)))]


def test_the_answer_is_the_edited_one_and_both_are_shown():
    player = edited()
    assert player.edited and paths(player) == ['{"path":"README"}'] and player.unaccounted == 0
    client = rows(player, Pane.CLIENT)
    assert "HELD at tool:*: a call of read_file" in client and "let go, edited by hand after 3.0 s" in client
    before, after = (
        next(at for at, row in enumerate(client) if word in row) for word in ("secret", "README")
    )
    assert before < client.index("let go, edited by hand after 3.0 s") < after
    # What comes from an edit has no bytes of upstream's, and is shown all the same.
    last = next(at for at, row in enumerate(client) if "README" in row)
    assert player.bytes_of(player.item(Pane.CLIENT, last)) == ()
    assert player.reads == 2 and bytes(player.data) == HEAD + CALL


def test_the_message_at_each_step():
    player = edited()
    assembly = Assembly(player)
    assembly.catch_up()
    release = next(
        step for step in range(player.steps) if "let go" in row_text(player, player.item(*player.place(step)))
    )

    def called(step: int) -> list[Any]:
        return [call.arguments for choice in assembly.assembled(step).choices for call in choice.calls]

    assert called(release) == called(player.steps - 1) == ['{"path":"README"}']


def test_a_variant_of_it_is_made_of_the_edited_text():
    player = edited()
    (text,) = texts_of(player)
    assert text.text == "Look:\n<read_file>\n<path>README</path>\n</read_file>"
    script = apply(script_of(player), player, retexts(text, text.text.replace("README", "a.py")))
    again = Player(script.header)
    again.add(script.lines)
    assert paths(again) == ['{"path":"a.py"}'] and not again.edited
    plain = apply(script_of(player), player, [Switch("dialect", "passthrough")])
    again = Player(plain.header)
    again.add(plain.lines)
    assert not paths(again)


def test_a_dropped_answer_has_only_what_the_client_got():
    error = {"message": "dropped", "type": "workbench_dropped"}
    player = edited(how="dropped", reads=(), end=end_line(3.3, "error", error=error))
    assert paths(player) == [] and player.unaccounted == 0
    assert player.completion["choices"][0]["message"]["content"] == "Look:"  # type: ignore[index]
    player.add([finding_line(3.3, "answer-dropped", "error", "a person dropped it", "proxy")])
    assert "dropped by hand" in verdict(facts_of_player(player)).sentence


def test_an_answer_in_one_piece():
    body, other = (json_text(message(text)) for text in ("secret", "README"))
    release = release_line(1.0, "edited", 0.9, 0, [other])
    lines = (HELD, read_line(0.1, body.encode()), release, end_line(1.1, "done"))
    player = live(*lines, stream=False)
    assert player.completion["choices"][0]["message"]["content"] == "README"  # type: ignore[index]


def test_while_it_is_held_the_verdict_says_so():
    noted = finding_line(0.2, "answer-held", "info", "held", "proxy")
    player = live(read_line(0.1, HEAD), HELD, noted, read_line(0.2, CALL))
    assert verdict(facts_of_player(player)).sentence.startswith("HELD")
    player.add([finding_line(0.3, "answer-released", "info", "let go", "proxy")])
    assert verdict(facts_of_player(player)).sentence.startswith("still running")


def test_lines_that_make_no_sense_change_nothing():
    odd: list[dict[str, Any]] = [
        {"release": 1}, {"release": "edited", "keep": -1, "reads": []}, {"release": "edited", "keep": "x"},
        {"hold": None}, {"release": "edited", "keep": 5, "reads": [7, None]},
    ]  # fmt: skip
    for value in odd:
        player = live(read_line(0.1, sse({"choices": []})), Line({"t": 0.2, **value}), end_line(0.3, "done"))
        assert player.complete and player.problem is None, value
