"""The keys of the replay screen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from textual.binding import Binding, BindingType

from workbench.player.cursor import Unit
from workbench.ui.screens.exchange import ExchangeScreen


def _steps(
    unit: Unit, on: str, back: str, name: str, what: str, display: tuple[str, str]
) -> list[BindingType]:
    """Two keys: to the next one of a kind, and to the one before."""
    return [
        Binding(on, f"seek('{unit}', 1)", name, id=f"replay.{unit}", key_display=display[0],
                tooltip=f"On to the next {what}", show=unit in (Unit.TRANSITION, Unit.READ)),
        Binding(back, f"seek('{unit}', -1)", f"{name} back", id=f"replay.{unit}-back", show=False,
                key_display=display[1], tooltip=f"Back to the {what} before"),
    ]  # fmt: skip


def _unseen(bindings: Iterable[BindingType], *keys: str) -> list[BindingType]:
    """These work as they do in the live screen, but the footer has no room for them."""
    return [replace(one, show=False) for one in bindings if isinstance(one, Binding) and one.key in keys]


KEYS: list[BindingType] = [
    *_steps(Unit.TRANSITION, "right", "left", "Step", "move of the parser", ("→", "←")),
    *_steps(Unit.READ, "right_square_bracket", "left_square_bracket", "Read", "read",
            ("]", "[")),
    *_steps(Unit.DELTA, "right_curly_bracket", "left_curly_bracket", "Delta",
            "thing that the client got", ("}", "{")),
    *_steps(Unit.CALL, "right_parenthesis", "left_parenthesis", "Call", "call", (")", "(")),
    *_steps(Unit.STEP, "full_stop", "comma", "Any step", "step, whatever happened", (".", ",")),
    Binding("space", "play", "Play", id="replay.play", tooltip="Play from here, or stand still"),
    Binding("plus,equals_sign", "speed(1)", "Faster", id="replay.faster", show=False, key_display="+",
            tooltip="Play faster: up to 100 times, then as fast as possible"),
    Binding("minus", "speed(-1)", "Slower", id="replay.slower", show=False, key_display="-",
            tooltip="Play slower: down to a tenth of the recorded speed"),
    Binding("c", "run(1)", "Run", id="replay.run", tooltip="Run to the next breakpoint"),
    Binding("C", "run(-1)", "Run back", id="replay.run-back", show=False,
            tooltip="Run back to the breakpoint before"),
    Binding("b", "breakpoints", "Breakpoints", id="replay.breakpoints",
            tooltip="Where running stops: states, rules, findings, texts, hold-back, tools"),
    Binding("m", "mark", "Mark", id="replay.mark", show=False,
            tooltip="Mark this step, with a note; kept beside the tape"),
    Binding("M", "marks", "Marks", id="replay.marks", show=False, tooltip="The marks of this tape"),
    Binding("e", "change('rewrite')", "Edit", id="replay.edit", tooltip="Edit the model's text"),
    Binding("d", "change('switch')", "What if", id="replay.switch",
            tooltip="Another dialect or policy: see at once what changes"),
    Binding("exclamation_mark", "change('cut')", "Cut here", id="replay.cut", show=False, key_display="!",
            tooltip="What if upstream had ended here?"),
    Binding("J", "change('join')", "Join reads", id="replay.join", show=False,
            tooltip="What if this read and the next one had come as one?"),
    Binding("vertical_line", "change('split')", "Split read", id="replay.split", show=False,
            key_display="|", tooltip="What if this read had come as two?"),
    Binding("u", "trial('undo')", "Undo", id="replay.undo", show=False,
            tooltip="Take the last change back"),
    Binding("S", "trial('save')", "Save variant", id="replay.save", show=False,
            tooltip="Write the variant, or what is in no file yet, as a new tape"),
    Binding("D", "open('difference')", "Difference", id="replay.difference", show=False,
            tooltip="Where what the client got then is not what today's code would send"),
    Binding("colon", "goto", "Go to", id="replay.goto", key_display=":",
            tooltip="To a step, a time, a byte, a read, a call, a finding"),
    Binding("less_than_sign", "edge(0)", "Start", id="replay.start", show=False, key_display="<",
            tooltip="To the start: nothing has happened yet"),
    Binding("greater_than_sign", "edge(1)", "End", id="replay.end", show=False, key_display=">",
            tooltip="To the last step"),
    Binding("h", "here", "To this row", id="replay.here", show=False,
            tooltip="Move the cursor in time to the selected row"),
    Binding("a", "message", "Message", id="replay.message", show=False,
            tooltip="Show the message as the client has it, or not"),
    Binding("4", "focus_on('message')", "Message pane", id="replay.message-pane", show=False,
            tooltip="To the message as the client has it"),
    Binding("o", "pick", "Open", id="replay.open", show=False,
            tooltip="Open another one of these tapes, or of the samples"),
    Binding("n", "next(1)", "Finding", id="exchange.next",
            tooltip="On to the next finding; to the next match, while there is a search"),
    Binding("N", "next(-1)", "Finding back", id="exchange.previous", show=False,
            tooltip="Back to the finding before; to the match before, while there is a search"),
    Binding("escape", "back", "Back", id="exchange.back", show=False,
            tooltip="Stop what moves, forget the search, leave zoom; then back to where you came from"),
    Binding("q", "close", "Close", id="replay.close", show=False, tooltip="Back to where you came from"),
    *_unseen(ExchangeScreen.BINDINGS, "enter", "r", "t", "z", "slash"),
]  # fmt: skip
