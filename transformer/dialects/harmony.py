"""harmony: messages with a channel and a recipient, `<|channel|>commentary to=functions.name<|message|>{json}<|call|>`.

What is written in the channel `analysis` is a thought, what is written to `functions.name` in `commentary` is a call,
and all else is said to the user. The arguments of a call are read as in the grammar of calls as JSON, whose guards
and actions these are.
"""

from __future__ import annotations

import re
from enum import StrEnum, auto

from transformer.parser.dialect import (
    USUAL_STATES,
    USUAL_TOKENS,
    Action,
    Block,
    Dialect,
    Lexicon,
    Rule,
    beginnings,
    table,
    upto,
)
from transformer.parser.jsongrammar import (
    ENDS,
    ObjectCall,
    ObjectMachine,
    argument,
    begin_arguments,
    begin_array,
    begin_scalar,
    bracket,
    can_begin_string,
    closes_call,
    closes_mendable,
    closes_rejected,
    complete_empty,
    complete_headed,
    complete_unended,
    end_string,
    has_all,
    is_no_call,
    release_headed,
    string,
)
from transformer.parser.jsonmending import JsonMending
from transformer.parser.jsonspelling import inside_string
from transformer.parser.leakmarks import WORD, leak_mark
from transformer.parser.machine import Machine, drop_token, hold, ignore, prose, release, then
from transformer.parser.mending import Mender
from transformer.parser.opencall import is_rejected
from transformer.parser.writing import json_writer, packaged_template
from transformer.policy import USUAL, Policy
from transformer.records import Effect

START, CHANNEL, CONSTRAIN, MESSAGE = "<|start|>", "<|channel|>", "<|constrain|>", "<|message|>"
CLOSING = ("<|call|>", "<|end|>", "<|return|>")

# -- states and tokens


class State(StrEnum):
    BETWEEN = auto()
    TEXT = auto()
    THOUGHT = auto()
    VALUE = auto()
    ARGUMENTS = auto()
    STRING = auto()
    QUOTED = auto()
    RAW = auto()
    DONE = auto()


class Token(StrEnum):
    TEXT = auto()
    SPACE = auto()
    THOUGHT = auto()
    SAID = auto()
    CALL = auto()
    CLOSE = auto()
    QUOTE = auto()
    APOSTROPHE = auto()
    BRACE = auto()
    END_BRACE = auto()
    BRACKET = auto()
    END_BRACKET = auto()
    CUT = auto()
    END = auto()


S, T, E = State, Token, Effect

STATES: dict[str, str] = {
    S.BETWEEN: "before a message, or between two of them",
    S.TEXT: "in what is said to the user",
    S.THOUGHT: "in a thought, in the channel analysis",
    S.VALUE: "in a message to a tool, before its arguments",
    S.ARGUMENTS: "in the arguments' JSON, outside of its strings",
    S.STRING: "in the arguments' JSON, inside a string, where everything is data",
    S.QUOTED: "in the arguments, inside a string between apostrophes, as Python writes it",
    S.RAW: "in a message to a tool that is not JSON",
    S.DONE: USUAL_STATES["done"],
}
TOKENS: dict[str, str] = {
    **USUAL_TOKENS,
    T.THOUGHT: "the header of a thought",
    T.SAID: "the header of a message to the user",
    T.CALL: "the header of a message to a tool",
    T.CLOSE: "the token that ends a message",
    T.QUOTE: "a quotation mark",
    T.APOSTROPHE: "an apostrophe",
    T.BRACE: "an opening brace",
    T.END_BRACE: "a closing brace",
    T.BRACKET: "an opening bracket",
    T.END_BRACKET: "a closing bracket",
    T.CUT: "the beginning of a token, cut off by the end of the answer",
}
WAITS_FOR = {
    S.VALUE: "the arguments",
    S.ARGUMENTS: "the end of the arguments",
    S.STRING: "the end of the string",
    S.QUOTED: "the end of the string",
    S.RAW: "the token that ends the message",
}

# A header: who writes, in which channel, to whom, and in which form. In prose that names a token, the next
# word shows that it is not a header.
_GAP = r"\s{0,8}"
_RECIPIENT = r"to=[^\s<]{0,256}+"
_FROM = rf"<\|start\|>{_GAP}(?:assistant)?(?:\s{{1,8}}{_RECIPIENT})?{_GAP}"
_IN = rf"<\|channel\|>{_GAP}(?:analysis|commentary|final)(?:\s{{1,8}}(?:{_RECIPIENT}|[a-z]{{1,16}}+)){{0,3}}{_GAP}"
_FORM = rf"<\|constrain\|>{_GAP}[a-z]{{0,16}}+{_GAP}"
_HEADER = rf"(?:(?:{_FROM})?(?:{_IN}){{1,3}}(?:{_FORM})?|{_FROM})<\|message\|>"
_BEGUN = (
    rf"(?:{_FROM})?(?:{_IN}){{0,3}}(?:{_FORM})?"
    rf"(?:{beginnings(START, CHANNEL, CONSTRAIN, MESSAGE)}|<\|start\|>{_GAP}(?:{beginnings('assistant')}|(?:assistant)?\s{{1,8}}to?)"
    rf"|<\|channel\|>{_GAP}(?:{beginnings('analysis', 'commentary', 'final')})?)?"
)
# The prompt ends after `<|start|>assistant`, so that the first header may begin with its recipient.
_FIRST = rf"(?:assistant)?{_GAP}{_RECIPIENT}{_GAP}"
_FIRST_BEGUN = rf"{beginnings('assistant')}|assistant{_GAP}(?:to?)?|to?|{_FIRST}(?:{_BEGUN})"
_CLOSE = "|".join(map(re.escape, CLOSING))
_SIGNS = {'"': T.QUOTE, "'": T.APOSTROPHE, "{": T.BRACE, "}": T.END_BRACE, "[": T.BRACKET, "]": T.END_BRACKET}
_CHANNEL_NAME = re.compile(rf"<\|channel\|>{_GAP}([a-z]+)")
_TO = re.compile(r"\bto=([^\s<]+)")
_PEOPLE = ("user", "assistant", "all")


def _lexicon(signs: str = "", first: bool = False) -> Lexicon:
    """Headers and closing tokens, and some signs of JSON; with `first`, a header that begins with its recipient."""
    header, begun, starts = _HEADER, f"{_BEGUN}|{beginnings(*CLOSING)}", f"<{re.escape(signs)}"
    if first:
        header, begun, starts = f"(?:{_FIRST})?{_HEADER}", f"{begun}|{_FIRST_BEGUN}", "<at"
    pattern = rf"(?P<header>{header})|(?P<close>{_CLOSE})" + (f"|[{re.escape(signs)}]" if signs else "")
    return Lexicon(upto(starts), pattern, rf"(?:{begun})\Z")


LEXICONS: dict[StrEnum, Lexicon] = {
    S.BETWEEN: _lexicon(first=True),
    S.TEXT: _lexicon(),
    S.THOUGHT: _lexicon(),
    S.VALUE: _lexicon("\"'{["),
    S.ARGUMENTS: _lexicon("\"'{}[]"),
    S.STRING: inside_string('"'),
    S.QUOTED: inside_string("'"),
    S.RAW: _lexicon(),
    S.DONE: _lexicon(),
}


def read(match: re.Match[str]) -> tuple[StrEnum, str]:
    kind, text = match.lastgroup, match[0]
    if kind is None:
        return _SIGNS[text], text
    if kind == "close":
        return T.CLOSE, ""
    channels = _CHANNEL_NAME.findall(text)
    channel = channels[-1] if channels else ""
    to = _TO.search(text)
    name = to[1].removeprefix("functions.") if to is not None else ""
    if channel == "analysis":
        return T.THOUGHT, ""
    if name and name not in _PEOPLE and channel in ("", "commentary"):
        return T.CALL, name
    return T.SAID, ""


def leftover(m: Machine, rest: str) -> StrEnum:
    """A header that was cut off is markup, a word that might have begun one is not."""
    inside = m.state in (S.STRING, S.QUOTED)
    return T.CUT if not inside and rest.startswith("<|") else T.TEXT


# -- actions


def begin_message(m: ObjectMachine, text: str, name: str) -> None:
    """Headers are markup, with the whitespace before them."""
    m.settled += len(text)
    m.prose.forget()


def end_message(m: ObjectMachine, text: str, name: str) -> None:
    """All of the message is text, whitespace at its end included."""
    m.prose.release()
    m.settled += len(text)


def close_call(m: ObjectMachine, text: str, name: str) -> None:
    """The token that ends a message, right after its call."""
    m.settled += len(text)


def think(m: ObjectMachine, text: str, name: str) -> None:
    m.think(text)


def begin_call(m: ObjectMachine, text: str, name: str) -> None:
    m.call = ObjectCall(m, text)
    m.call.headed = True
    m.call.name_it(m, name)


# -- the table

_BEGIN = E.BEGINS | E.NAMES | E.HELD
_REPAIRED = E.REPAIRS | E.COMPLETES
_NOT_OFFERED = "only offered tools are called here"


def _at_tokens(*cases: Rule) -> Block:
    """Rules for the tokens that end a call: each case says what becomes of the call."""
    following: tuple[tuple[Token, State, Effect, Action], ...] = (
        (T.CLOSE, S.BETWEEN, E.MARKUP, close_call),
        (T.THOUGHT, S.THOUGHT, E.MARKUP, begin_message),
        (T.SAID, S.TEXT, E.MARKUP, begin_message),
        (T.CALL, S.VALUE, _BEGIN, begin_call),
    )
    return {
        token: [
            case._replace(to=to, effect=case.effect | own, action=then(case.action, act)) for case in cases
        ]
        for token, to, own, act in following
    }


# fmt: off
_MESSAGES: Block = {
    T.THOUGHT: Rule(S.THOUGHT, E.MARKUP, begin_message, "a thought begins"),
    T.SAID: Rule(S.TEXT, E.MARKUP, begin_message, "a message to the user begins"),
    T.CALL: Rule(S.VALUE, _BEGIN, begin_call, "a message to a tool is a call"),
    T.CUT: Rule(S.BETWEEN, E.DROPPED, drop_token, "part of a token"),
}
# There is always a name, and no object around the arguments that could be left open.
_ENDS = [rule._replace(to=S.DONE) for rule in ENDS if rule.when not in (is_no_call, has_all)]
_REJECTED = Rule(S.BETWEEN, E.GIVES_UP, release, _NOT_OFFERED, is_rejected)
_ENDED = _at_tokens(_REJECTED, Rule(S.BETWEEN, _REPAIRED, complete_unended, "it ends the call that is open"))
_OVER = Rule(S.DONE, E.NONE, ignore, "the answer is over")

TRANSITIONS = table(
    tuple(Token),
    {
        S.BETWEEN: (
            {
                **_MESSAGES,
                T.SPACE: Rule(S.BETWEEN, E.PROSE, prose, "dropped, unless text follows"),
                T.CLOSE: Rule(S.BETWEEN, E.MARKUP, close_call, "it ends the message before it"),
                T.END: _OVER,
            },
            Rule(S.TEXT, E.PROSE, prose, "text without a header is said to the user"),
        ),
        S.TEXT: (
            {
                **_MESSAGES,
                T.CLOSE: Rule(S.BETWEEN, E.MARKUP, end_message, "the message is over"),
                T.END: _OVER,
            },
            Rule(S.TEXT, E.PROSE, prose, "text leaves at once"),
        ),
        S.THOUGHT: (
            {
                **_MESSAGES,
                T.CLOSE: Rule(S.BETWEEN, E.MARKUP, end_message, "the thought is over"),
                T.END: _OVER,
            },
            Rule(S.THOUGHT, E.PROSE, think, "a thought goes to the client as reasoning"),
        ),
        S.VALUE: (
            {
                (T.SPACE, T.CUT): Rule(S.VALUE, E.HELD, hold, "before the arguments"),
                T.BRACE: Rule(S.ARGUMENTS, E.ARGUMENT, begin_arguments, "passed on as written"),
                T.BRACKET: Rule(S.ARGUMENTS, E.ARGUMENT, begin_array, "not an object, but passed on as written"),
                **_at_tokens(_REJECTED, Rule(S.BETWEEN, E.COMPLETES, complete_empty, "a call without arguments")),
                T.END: _ENDS,
            },
            Rule(S.RAW, E.ARGUMENT, begin_scalar, "not JSON, but passed on as written"),
        ),
        S.ARGUMENTS: (
            {
                (T.TEXT, T.SPACE): Rule(S.ARGUMENTS, E.ARGUMENT, argument, "passed on as written"),
                T.QUOTE: Rule(S.STRING, E.ARGUMENT, argument, "a string begins"),
                T.APOSTROPHE: [
                    Rule(S.QUOTED, E.ARGUMENT, argument, "a string as Python writes it", can_begin_string),
                    Rule(S.ARGUMENTS, E.ARGUMENT, argument, "not JSON, but passed on as written"),
                ],
                (T.BRACE, T.BRACKET): Rule(S.ARGUMENTS, E.ARGUMENT, bracket, "an object or a list begins"),
                (T.END_BRACE, T.END_BRACKET): [
                    Rule(S.BETWEEN, E.GIVES_UP, release_headed, _NOT_OFFERED, closes_rejected),
                    Rule(S.BETWEEN, _REPAIRED, complete_headed, "complete, with arguments as they were meant",
                         closes_mendable),
                    Rule(S.BETWEEN, E.COMPLETES, complete_headed, "the call is complete", closes_call),
                    Rule(S.ARGUMENTS, E.ARGUMENT, bracket, "an object or a list ends"),
                ],
                T.CUT: Rule(S.ARGUMENTS, E.HELD, hold, "part of a token, which is not JSON"),
                **_ENDED,
                T.END: _ENDS,
            },
            None,
        ),
        S.STRING: (
            {
                T.QUOTE: Rule(S.ARGUMENTS, E.ARGUMENT, end_string, "the string ends"),
                T.END: _ENDS,
            },
            Rule(S.STRING, E.ARGUMENT, string, "inside a string everything is data"),
        ),
        S.QUOTED: (
            {
                T.APOSTROPHE: Rule(S.ARGUMENTS, E.ARGUMENT, end_string, "the string ends"),
                T.END: _ENDS,
            },
            Rule(S.QUOTED, E.ARGUMENT, string, "inside a string everything is data"),
        ),
        S.RAW: (
            {
                T.CUT: Rule(S.RAW, E.HELD, hold, "part of a token, which is not data"),
                **_at_tokens(_REJECTED, Rule(S.BETWEEN, E.COMPLETES, complete_empty, "the call is over")),
                T.END: _ENDS,
            },
            Rule(S.RAW, E.ARGUMENT, argument, "passed on as written"),
        ),
        S.DONE: ({}, Rule(S.DONE, E.NONE, ignore, "nothing comes after the end")),
    },
)
# fmt: on


def _call(name: str, arguments: str) -> str:
    header = f"{START}assistant{CHANNEL}commentary to=functions.{name} {CONSTRAIN}json{MESSAGE}"
    return f"{header}{arguments}<|call|>"


HARMONY = Dialect(
    name="harmony",
    summary="<|channel|>commentary to=functions.name <|constrain|>json<|message|>{json}<|call|>",
    policy=Policy(arguments="stream").over(USUAL),
    states=tuple(State),
    tokens=tuple(Token),
    transitions=TRANSITIONS,
    lexicons=LEXICONS,
    read=read,
    leftover=leftover,
    states_in_words=STATES,
    tokens_in_words=TOKENS,
    waits_for=WAITS_FOR,
    own_json=True,
    has_thoughts=True,
    writer=json_writer("harmony", _call, "".join, ""),
    template=packaged_template("harmony.jinja", "json_tools.jinja"),
    taught_by=("<|channel|>commentary", "to=functions."),
    leak_marks=(
        leak_mark(
            CHANNEL,
            rf"<\|channel\|>(?=\s*commentary\s+to=functions\.(?P<name>{WORD})"
            r"|\s*(?:analysis|commentary|final)\b[^<\n]{0,256}<\|(?:message|constrain)\|>)",
        ),
        leak_mark(
            START,
            rf"<\|start\|>assistant(?=\s*<\|channel\|>\s*commentary\s+to=functions\.(?P<name>{WORD})"
            r"|\s*<\|channel\|>|\s+to=functions\.)",
        ),
    ),
    openers=lambda tools: (START, CHANNEL, "to=functions.", "assistant to=functions."),
    proof=E.MARKUP | E.ARGUMENT | E.COMPLETES,  # a header is one of tokens that nobody types
    mender=Mender(JsonMending(CHANNEL, "<|call|>", ("arguments",)).ideas),
    models=("gpt-oss",),
)
