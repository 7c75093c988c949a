"""Words for states, tokens and moves of the machine, which fit into a sentence."""

from __future__ import annotations

from collections.abc import Mapping

from transformer.dialects import DIALECTS
from transformer.parser.machine import Rule
from transformer.records import Transition
from transformer.wording import quote
from workbench.replay.player import Player

_END = "the end of the answer"
_SPACE = "whitespace"
_TEXT = "text"

# By dialect; each completes "the machine is …".
STATES: Mapping[str, Mapping[str, str]] = {
    "roo-xml": {
        "text": "in the prose, outside of any call",
        "thinking": "behind <think>, where calls are only thought of",
        "call": "behind the tag of an offered tool, before its first parameter",
        "unknown": "behind a tag that may be a tool nobody offered",
        "value": "inside the value of a parameter, where anything may stand",
        "closed": "behind a closing tag that ends the value if a parameter or the call's end follows",
        "example": "inside a value, in an example of this very call",
        "example_closed": "in such an example, behind the closing tag of the parameter",
        "broken": "behind the call's closing tag at the start of a line, its parameter still open",
        "after": "behind a call",
        "done": "behind the end of the answer",
    },
    "qwen3-coder": {
        "text": "in the prose, outside of any call",
        "wrapper": "behind <tool_call>, waiting for <function=",
        "function": "behind <function=name>, before its first parameter",
        "value": "inside the value of a parameter, where anything may stand",
        "closed": "behind </parameter>, which ends the value if a parameter or </function> follows",
        "unclosed": "behind </function> with the parameter still open: the call's end, or data",
        "example": "inside a value, in an example of a call",
        "example_closed": "in such an example, behind </parameter>",
        "after": "behind a call",
        "done": "behind the end of the answer",
    },
    "kimi-k2": {
        "text": "in the prose, outside of any call",
        "section": "in a section of calls, or behind a call that had none",
        "header": "behind <|tool_call_begin|>, before the call's id",
        "id": "in the call's id, which holds the tool's name",
        "id_end": "behind the call's id",
        "arguments": "in the arguments' JSON, outside of its strings",
        "string": "in the arguments' JSON, inside a string, where everything is data",
        "done": "behind the end of the answer",
    },
    "passthrough": {
        "text": "in the answer, which goes on as it came",
        "done": "behind the end of the answer",
    },
}

# By dialect; each completes "it met …".
TOKENS: Mapping[str, Mapping[str, str]] = {
    "roo-xml": {
        "text": _TEXT,
        "space": _SPACE,
        "think": "a tag that begins a thought",
        "close_think": "the tag that ends a thought",
        "tool": "the tag of an offered tool at the start of a line",
        "maybe_tool": "a tag at the start of a line that may be a tool nobody offered",
        "parameter": "the tag of a parameter that this call may still have",
        "element": "a tag that the tool's schema does not know",
        "close": "the closing tag of the open parameter",
        "close_call": "the call's closing tag",
        "close_line": "the call's closing tag at the start of a line",
        "close_inner": "the closing tag of an example inside the example",
        "own": "this call's own tag at the start of a line",
        "own_unknown": "this call's own tag at the start of a line",
        "end": _END,
    },
    "qwen3-coder": {
        "text": _TEXT,
        "space": _SPACE,
        "tool_call": "the wrapper's tag",
        "function": "a function's tag that can begin a call here",
        "foreign": "the tag of a function nobody offered, without <tool_call> before it",
        "example": "a function's tag at the start of a line inside a call",
        "parameter": "a parameter's tag",
        "new_parameter": "the tag, at the start of a line, of a parameter that is not given yet",
        "inline": "a parameter with its value inside the tag",
        "close_parameter": "a parameter's closing tag",
        "close_function": "the function's closing tag",
        "close_inner": "the closing tag of an example inside the example",
        "close_tool_call": "the wrapper's closing tag",
        "end": _END,
    },
    "kimi-k2": {
        "text": _TEXT,
        "space": _SPACE,
        "section_begin": "the token that begins a section",
        "section_end": "the token that ends a section",
        "call_begin": "the token that begins a call",
        "argument_begin": "the token that begins the arguments",
        "call_end": "the token that ends a call",
        "quote": "a quotation mark",
        "cut": "the beginning of a token, cut off by the end of the answer",
        "end": _END,
    },
    "passthrough": {"text": _TEXT, "end": _END},
}

_WAITS: Mapping[str, str] = {
    "call": "a parameter or the call's closing tag",
    "unknown": "a child, which would make it a call",
    "value": "the tag that closes the parameter",
    "closed": "what follows the closing tag: a parameter, or the call's end",
    "example": "the end of the example",
    "example_closed": "the end of the example",
    "broken": "what follows: another call would show that this one is broken",
    "wrapper": "<function=",
    "function": "a parameter or </function>",
    "unclosed": "what follows </function>",
    "header": "the call's id",
    "id": "the end of the call's id",
    "id_end": "<|tool_call_argument_begin|>",
}


def state_meaning(dialect: str, state: str) -> str:
    """What it is to be in this state; empty for one that no dialect of today has."""
    return STATES.get(dialect, {}).get(state, "")


def token_meaning(dialect: str, token: str) -> str:
    return TOKENS.get(dialect, {}).get(token, token)


def awaited(state: str) -> str:
    """What would decide about text that is held back in this state."""
    return _WAITS.get(state, "what follows: whitespace goes with a call, and a tag may only have begun")


_PLAIN = ("text", "space", "end")
# The machine's own way out, which is in no table.
_TOO_LONG = "the call is longer than max_call_bytes allows"


def move_words(player: Player, move: Transition) -> str:
    """State, token, rule, and where that led."""
    dialect = player.dialect
    meaning = state_meaning(dialect, move.state)
    state = f"state {move.state} ({meaning})" if meaning else f"state {move.state}"
    why = rule_why(player, move)
    reason = f" ({why})" if why else ""
    led = f"stayed in {move.to}" if move.to == move.state else f"went to {move.to}"
    return f"In {state} it met {_met(dialect, move)}; rule {move.rule} fired{reason} and it {led}."


def _met(dialect: str, move: Transition) -> str:
    said = f" {quote(move.text)}" if move.text else ""
    meaning = token_meaning(dialect, move.token)
    if move.token in _PLAIN:
        return f"{meaning}{said}"
    return f"{move.token}{said}, {meaning}"


def rule_why(player: Player, move: Transition) -> str:
    """What the table says about it; empty where the table of today has no such rule."""
    if move.rule == "too long":
        return _TOO_LONG
    rule = _rule(player, move)
    return "" if rule is None or rule.name != move.rule else rule.why


def _rule(player: Player, move: Transition) -> Rule | None:
    dialect = DIALECTS.get(player.dialect)
    if dialect is None:
        return None
    pair = ((state, token) for state in dialect.states if state == move.state for token in dialect.tokens)
    found = next((one for one in pair if one[1] == move.token), None)
    return None if found is None else dialect.transitions[found]


def held_words(move: Transition) -> str | None:
    """What is held back behind a move, and what for."""
    if not move.held:
        return None
    are = "1 character is" if move.held == 1 else f"{move.held} characters are"
    return f"{are} held back now: waiting for {awaited(move.to)}."
