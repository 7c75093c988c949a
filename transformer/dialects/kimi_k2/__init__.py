"""kimi-k2: `<|tool_call_begin|>functions.name:0<|tool_call_argument_begin|>{json}<|tool_call_end|>`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum, auto

from transformer.dialects.kimi_k2.kimimending import MENDER
from transformer.dialects.kimi_k2.kimispelling import (
    ARGUMENT_BEGIN,
    CALL_BEGIN,
    CALL_END,
    NO_ID,
    SECTION_BEGIN,
    SECTION_END,
    own_id,
    tool_name,
)
from transformer.findings import note
from transformer.jsonscan import parsed
from transformer.parser.dialect import (
    USUAL_STATES,
    USUAL_TOKENS,
    Action,
    Block,
    Dialect,
    Guard,
    Lexicon,
    Rule,
    beginnings,
    guard,
    table,
    upto,
)
from transformer.parser.jsoncall import JsonCall, JsonMachine, is_repairable
from transformer.parser.leakmarks import NAME, leak_mark
from transformer.parser.machine import Machine, drop_token, ignore, prose, then
from transformer.parser.writing import IdForm, ReadsBack, Writer, packaged_template
from transformer.policy import USUAL, Policy
from transformer.records import Effect, Finding
from transformer.values.schema import Tool

# -- states and tokens


class State(StrEnum):
    TEXT = auto()
    SECTION = auto()
    HEADER = auto()
    ID = auto()
    ID_END = auto()
    ARGUMENTS = auto()
    STRING = auto()
    REJECTED = auto()
    REJECTED_STRING = auto()
    DONE = auto()


class Token(StrEnum):
    TEXT = auto()
    SPACE = auto()
    SECTION_BEGIN = auto()
    SECTION_END = auto()
    CALL_BEGIN = auto()
    ARGUMENT_BEGIN = auto()
    CALL_END = auto()
    QUOTE = auto()
    CUT = auto()
    END = auto()


S, T, E = State, Token, Effect

STATES: dict[str, str] = {
    S.TEXT: USUAL_STATES["text"],
    S.SECTION: "in a section of calls, or after a call that had none",
    S.HEADER: "after <|tool_call_begin|>, before the call's id",
    S.ID: "in the call's id, which holds the tool's name",
    S.ID_END: "after the call's id",
    S.ARGUMENTS: "in the arguments' JSON, outside of its strings",
    S.STRING: "in the arguments' JSON, inside a string, where everything is data",
    S.REJECTED: "in the arguments of a call that stays text, because its tool was not offered",
    S.REJECTED_STRING: "in such arguments, inside a string",
    S.DONE: USUAL_STATES["done"],
}
TOKENS: dict[str, str] = {
    **USUAL_TOKENS,
    T.SECTION_BEGIN: "the token that begins a section",
    T.SECTION_END: "the token that ends a section",
    T.CALL_BEGIN: "the token that begins a call",
    T.ARGUMENT_BEGIN: "the token that begins the arguments",
    T.CALL_END: "the token that ends a call",
    T.QUOTE: "a quotation mark",
    T.CUT: "the beginning of a token, cut off by the end of the answer",
}
WAITS_FOR = {
    S.HEADER: "the call's id",
    S.ID: "the end of the call's id",
    S.ID_END: ARGUMENT_BEGIN,
}

_MARKERS = {
    SECTION_BEGIN: T.SECTION_BEGIN,
    "<|tool_call_section_begin|>": T.SECTION_BEGIN,
    SECTION_END: T.SECTION_END,
    "<|tool_call_section_end|>": T.SECTION_END,
    CALL_BEGIN: T.CALL_BEGIN,
    ARGUMENT_BEGIN: T.ARGUMENT_BEGIN,
    CALL_END: T.CALL_END,
    '"': T.QUOTE,
}
_WORDS = [word for word in _MARKERS if word != '"']
_ANY = "|".join(re.escape(word) for word in _WORDS)
_PARTIAL = beginnings(*_WORDS) + r"\Z"
_OUTSIDE = Lexicon(upto("<"), _ANY, _PARTIAL)
_JSON = Lexicon(upto('<"'), f'{_ANY}|"', _PARTIAL)
# An id has no whitespace: what has some in the middle is prose that names the token.
_IN_HEADER = Lexicon(upto("<\\s"), rf"{_ANY}|\s+", _PARTIAL)
# Inside a string an escape is two characters like others: only the quote that ends it counts, and a
# backslash that is the last character so far.
_IN_STRING = Lexicon(r'(?s:[^"\\]++|\\.)*+["\\]', '"', r"\\\Z")
LEXICONS: dict[StrEnum, Lexicon] = {
    S.TEXT: _OUTSIDE,
    S.SECTION: _OUTSIDE,
    S.HEADER: _IN_HEADER,
    S.ID: _IN_HEADER,
    S.ID_END: _IN_HEADER,
    S.ARGUMENTS: _JSON,
    S.STRING: _IN_STRING,
    S.REJECTED: _JSON,
    S.REJECTED_STRING: _IN_STRING,
    S.DONE: _OUTSIDE,
}


def read(match: re.Match[str]) -> tuple[StrEnum, str]:
    return _MARKERS.get(match[0], T.SPACE), ""


def leftover(m: Machine, rest: str) -> StrEnum:
    return T.CUT if rest.startswith("<|") else T.TEXT


# -- the open call, and the section around it


class Section:
    """Remembers the first token of a section as long as no call is in it: where it begins and ends."""

    __slots__ = ("empty",)

    def __init__(self, empty: tuple[int, int] | None = None) -> None:
        self.empty = empty

    def clone(self) -> Section:
        return Section(self.empty)


class SectionCall(JsonCall):
    """A call that, once it is one, is what its section was for."""

    __slots__ = ()

    def announce(self, m: Machine, named_until: int) -> None:
        assert isinstance(m.memory, Section)
        m.memory.empty = None
        super().announce(m, named_until)


class SectionMachine(JsonMachine):
    """A machine that reads a section."""

    __slots__ = ()
    call: SectionCall
    memory: Section


# -- the id, which holds the name

_SHOWN = 60  # characters of a header in a sentence


def _header(m: SectionMachine) -> str:
    return str(m.call.header).strip()


def _name_in_header(m: SectionMachine) -> str:
    """The tool that the header names; the only one that was offered where it names none."""
    tools = m.choice.tools
    return tool_name(_header(m), tools) or (next(iter(tools)) if len(tools) == 1 else "")


def _named_so_far(m: SectionMachine) -> str:
    return _header(m)[:_SHOWN] or "no tool yet"


# -- guards


@guard("its tool was not offered, and the policy wants such a call as text")
def is_rejected(m: SectionMachine, name: str) -> bool:
    return m.choice.rejects(_name_in_header(m))


@guard("what stands before it is not an id")
def is_no_id(m: SectionMachine, name: str) -> bool:
    return NO_ID.search(_header(m)) is not None


@guard("its id names a tool, or only one was offered")
def is_named(m: SectionMachine, name: str) -> bool:
    return bool(_name_in_header(m))


@guard("its id names no tool, and its arguments do not tell which one is meant")
def is_unnamed(m: SectionMachine, name: str) -> bool:
    call = m.call
    return not (call.name or _name_in_header(m)) and len(call.fitting(m)) != 1


@guard("its token only ended the call before it")
def only_closed(m: SectionMachine, name: str) -> bool:
    return m.call.closer and not _header(m)


@guard("no argument has come yet")
def has_no_arguments(m: SectionMachine, name: str) -> bool:
    return m.call.args_start < 0


# -- sections


def begin_section(m: SectionMachine, text: str, name: str) -> None:
    _tell_empty(m, None)
    m.settled += len(text)
    if m.prose.quiet:
        m.prose.call(m.pos)
    m.memory.empty = (m.pos - len(text), m.pos)


def end_section(m: SectionMachine, text: str, name: str) -> None:
    """Section tokens always vanish, with whitespace that only separates them from a call."""
    _tell_empty(m, m.pos)
    m.settled += len(text)
    if m.prose.quiet:
        m.prose.call(m.pos)


def _tell_empty(m: SectionMachine, end: int | None) -> None:
    section = m.memory
    if section.empty is not None:
        start, after = section.empty
        m.found("empty-section", start, after if end is None else end, token=SECTION_BEGIN)
        section.empty = None


def end_in_section(m: SectionMachine, text: str, name: str) -> None:
    _tell_empty(m, None)


# -- headers


def begin_call(m: SectionMachine, text: str, name: str) -> None:
    m.call = SectionCall(m, text)


def begin_call_after(m: SectionMachine, text: str, name: str) -> None:
    """Its first token also ends what is open."""
    begin_call(m, text, name)
    m.call.closer = True


def header(m: SectionMachine, text: str, name: str) -> None:
    m.call.header.append(text)
    m.call.add(text)


def not_a_call(m: SectionMachine, text: str, name: str) -> None:
    """Prose that names the token, or an id that something else follows."""
    if str(m.call.header).lstrip().startswith("functions."):
        _tell_malformed(m, m.pos - len(text), "something else follows its id")
    m.call.release(m)
    m.say(text)


def begin_arguments(m: SectionMachine, text: str, name: str) -> None:
    """The header is complete: which tool, and which id."""
    call = m.call
    call.add(text)
    call.id, call.name = _header(m), _name_in_header(m)


def reject(m: SectionMachine, text: str, name: str) -> None:
    """The call stays text."""
    m.call.release(m)
    m.say(text)


def no_id(m: SectionMachine, text: str, name: str) -> None:
    _tell_malformed(m, m.pos, f"its arguments do not follow {ARGUMENT_BEGIN}")
    reject(m, text, name)


def _tell_malformed(m: SectionMachine, end: int, reason: str) -> None:
    m.found("malformed-call", m.call.start, end, tool=_named_so_far(m), reason=reason)


def no_call(m: SectionMachine, text: str, name: str) -> None:
    """A header that leads to no arguments is text."""
    _tell_malformed(m, m.pos - len(text), "it has no arguments")
    m.call.release(m)


def drop_closer(m: SectionMachine, text: str, name: str) -> None:
    """A token that was to begin a call only ended the one before it."""
    end = m.pos - len(text)
    m.found("stray-token", m.call.start, end, token=CALL_BEGIN)
    m.call.close(m, end)


def give_up(m: SectionMachine, text: str, name: str) -> None:
    """The answer ended before the arguments began."""
    fate = "it went to the client as text"
    m.found("truncated-call", m.call.start, m.pos, tool=_named_so_far(m), fate=fate)
    m.call.release(m)


# -- arguments


def argument(m: SectionMachine, text: str, name: str) -> None:
    m.call.argument(m, text)


def string(m: SectionMachine, text: str, name: str) -> None:
    """Inside a string whitespace counts, and nothing is held back."""
    m.call.pass_on(m, text)


def drop_repeated(m: SectionMachine, text: str, name: str) -> None:
    m.found("stray-token", m.pos - len(text), m.pos, token=text)
    m.call.add(text)


def complete_call(m: SectionMachine, text: str, name: str) -> None:
    m.call.add(text)
    _name(m)
    m.call.deliver(m, m.pos, complete=True)


def _name(m: SectionMachine) -> None:
    """A call whose id names no tool takes the only one that its arguments fit."""
    call = m.call
    if not call.name:
        call.id, call.name = _header(m), _name_in_header(m) or call.fitting(m)[0]


def give_up_unnamed(m: SectionMachine, text: str, name: str) -> None:
    call = m.call
    call.id = _header(m)
    m.found("unnamed-call", call.start, m.pos, id=call.id, fitting=len(call.fitting(m)) or "none")
    call.add(text)
    call.release(m)


def complete_unended(m: SectionMachine, text: str, name: str) -> None:
    """<|tool_call_end|> is missing, but a token that cannot be inside a call has come."""
    _tell_unended(m, text)
    _name(m)
    m.call.deliver(m, m.pos - len(text), complete=True)


def _tell_unended(m: SectionMachine, text: str) -> None:
    call = m.call
    m.found("repaired-call", call.start, m.pos - len(text), tool=call.name or "?", closing=CALL_END)


def unended_unnamed(m: SectionMachine, text: str, name: str) -> None:
    _tell_unended(m, text)
    give_up_unnamed(m, "", "")


def repair(m: SectionMachine, text: str, name: str) -> None:
    m.call.repair(m, CALL_END)


def close_cut(m: SectionMachine, text: str, name: str) -> None:
    """The answer ended inside the arguments: the call is closed as it is."""
    _name(m)
    call = m.call
    m.found("truncated-call", call.start, m.pos, tool=call.name, fate="it was closed as it is")
    call.deliver(m, m.pos, complete=False)


# -- the table

_BEGIN = E.BEGINS | E.HELD
_REPAIRED = E.REPAIRS | E.COMPLETES
_PLAIN = (T.TEXT, T.SPACE, T.QUOTE)


def _before_next(call: Action, *cases: tuple[Effect, Action, str, Guard | None]) -> Block:
    """Rules for the tokens that end what is open and begin something else; `call` begins a call."""
    following: Sequence[tuple[StrEnum, StrEnum, Effect, Action]] = (
        (T.CALL_BEGIN, S.HEADER, _BEGIN, call),
        (T.SECTION_BEGIN, S.SECTION, E.MARKUP, begin_section),
        (T.SECTION_END, S.TEXT, E.MARKUP, end_section),
    )
    return {
        token: [Rule(to, effect | own, then(end, begin), why, when) for effect, end, why, when in cases]
        for token, to, own, begin in following
    }


# fmt: off
_AFTER_HEADER: Block = {
    T.ARGUMENT_BEGIN: [
        Rule(S.REJECTED, E.GIVES_UP, reject, "only offered tools are called here", is_rejected),
        Rule(S.ARGUMENTS, E.NAMES | E.HELD, begin_arguments, "the id is complete", is_named),
        Rule(S.ARGUMENTS, E.HELD, begin_arguments, "the arguments may tell which tool is meant"),
    ],
    T.CALL_END: [
        Rule(S.SECTION, E.GIVES_UP, no_id, "an id has neither blanks nor braces", is_no_id),
        Rule(S.SECTION, E.GIVES_UP, reject, "only offered tools are called here", is_rejected),
        Rule(S.SECTION, E.GIVES_UP, give_up_unnamed, "nobody can tell which tool is meant", is_unnamed),
        Rule(S.SECTION, E.NAMES | E.COMPLETES, complete_call, "a call without arguments"),
    ],
    **_before_next(
        begin_call,
        (E.DROPPED, drop_closer, "a token too many", only_closed),
        (E.GIVES_UP, no_call, "the one before it was not a call", None),
    ),
    T.END: [
        Rule(S.DONE, E.DROPPED, then(drop_closer, end_in_section), "a token too many", only_closed),
        Rule(S.DONE, E.GIVES_UP, then(give_up, end_in_section), "the answer ended before the arguments"),
    ],
}
_ENDS = [
    Rule(S.DONE, E.GIVES_UP, then(give_up, end_in_section), "the answer ended before the arguments",
         has_no_arguments),
    Rule(S.DONE, _REPAIRED, then(repair, end_in_section), "what is missing is clear", is_repairable),
    Rule(S.DONE, E.GIVES_UP, then(give_up_unnamed, end_in_section), "nobody can tell which tool is meant",
         is_unnamed),
    Rule(S.DONE, E.CUTS, then(close_cut, end_in_section), "the answer ended inside the arguments"),
]

TRANSITIONS = table(
    tuple(Token),
    {
        S.TEXT: (
            {
                T.SECTION_BEGIN: Rule(S.SECTION, E.MARKUP, begin_section, "a section of calls begins"),
                T.SECTION_END: Rule(S.TEXT, E.DROPPED, drop_token, "section tokens always vanish"),
                T.CALL_BEGIN: Rule(S.HEADER, _BEGIN, begin_call, "the section token may be missing"),
                T.END: Rule(S.DONE, E.NONE, ignore, "the answer is over"),
            },
            Rule(S.TEXT, E.PROSE, prose, "text leaves at once"),
        ),
        S.SECTION: (
            {
                T.SECTION_BEGIN: Rule(S.SECTION, E.MARKUP, begin_section, "section tokens always vanish"),
                T.SECTION_END: Rule(S.TEXT, E.MARKUP, end_section, "the section is over"),
                T.CALL_BEGIN: Rule(S.HEADER, _BEGIN, begin_call, "a call begins"),
                (T.ARGUMENT_BEGIN, T.CALL_END, T.CUT): Rule(S.SECTION, E.DROPPED, drop_token, "no call is open"),
                _PLAIN: Rule(S.SECTION, E.PROSE, prose, "text between the tokens stays text"),
                T.END: Rule(S.DONE, E.NONE, end_in_section, "the section's end may be missing"),
            },
            None,
        ),
        S.HEADER: (
            {
                T.SPACE: Rule(S.HEADER, E.HELD, header, "whitespace before the id"),
                (T.TEXT, T.QUOTE, T.CUT): Rule(S.ID, E.HELD, header, "the id of the call"),
                **_AFTER_HEADER,
            },
            None,
        ),
        S.ID: (
            {
                T.SPACE: Rule(S.ID_END, E.HELD, header, "whitespace after the id"),
                (T.TEXT, T.QUOTE, T.CUT): Rule(S.ID, E.HELD, header, "more of the id"),
                **_AFTER_HEADER,
            },
            None,
        ),
        S.ID_END: (
            {
                (T.SPACE, T.CUT): Rule(S.ID_END, E.HELD, header, "more whitespace after the id"),
                (T.TEXT, T.QUOTE): Rule(S.TEXT, E.GIVES_UP, not_a_call, "a token merely named in prose"),
                **_AFTER_HEADER,
            },
            None,
        ),
        S.ARGUMENTS: (
            {
                (T.TEXT, T.SPACE): Rule(S.ARGUMENTS, E.ARGUMENT, argument, "passed on as written"),
                T.QUOTE: Rule(S.STRING, E.ARGUMENT, argument, "a string begins"),
                T.CALL_END: [
                    Rule(S.SECTION, E.GIVES_UP, give_up_unnamed, "nobody can tell which tool is meant",
                         is_unnamed),
                    Rule(S.SECTION, E.COMPLETES, complete_call, "the call is complete"),
                ],
                **_before_next(
                    begin_call_after,
                    (E.REPAIRS | E.GIVES_UP, unended_unnamed, "it closes a call that nobody can name", is_unnamed),
                    (_REPAIRED, complete_unended, "it closes the call that is open", None),
                ),
                (T.ARGUMENT_BEGIN, T.CUT): Rule(S.ARGUMENTS, E.DROPPED, drop_repeated, "not part of JSON"),
                T.END: _ENDS,
            },
            None,
        ),
        S.STRING: (
            {
                T.QUOTE: Rule(S.ARGUMENTS, E.ARGUMENT, string, "the string ends"),
                T.END: _ENDS,
            },
            Rule(S.STRING, E.ARGUMENT, string, "inside a string everything is data"),
        ),
        S.REJECTED: (
            {
                T.QUOTE: Rule(S.REJECTED_STRING, E.PROSE, prose, "a string begins"),
                T.CALL_END: Rule(S.SECTION, E.PROSE, prose, "the call that stayed text is over"),
                T.CALL_BEGIN: Rule(S.HEADER, _BEGIN, begin_call_after, "a call begins"),
                T.SECTION_BEGIN: Rule(S.SECTION, E.MARKUP, begin_section, "section tokens always vanish"),
                T.SECTION_END: Rule(S.TEXT, E.MARKUP, end_section, "the section is over"),
                T.END: Rule(S.DONE, E.NONE, end_in_section, "the answer is over"),
            },
            Rule(S.REJECTED, E.PROSE, prose, "the call stays text"),
        ),
        S.REJECTED_STRING: (
            {
                T.QUOTE: Rule(S.REJECTED, E.PROSE, prose, "the string ends"),
                T.END: Rule(S.DONE, E.NONE, end_in_section, "the answer is over"),
            },
            Rule(S.REJECTED_STRING, E.PROSE, prose, "inside a string everything is data"),
        ),
        S.DONE: ({}, Rule(S.DONE, E.NONE, ignore, "nothing comes after the end")),
    },
)
# fmt: on

# -- the way up: a call in the model's tokens, its arguments as they are

_SURROGATE = re.compile("[\ud800-\udfff]")
# These need no reading back: no blank at an end, no token, only the name between `functions.` and `:`.
_PLAIN_NAME = re.compile(r"[\w.-]+")
_PLAIN_ID = re.compile(r"(?:(?!<\|)\S)+")  # an id that can be put into a header unchanged


def _section(calls: str) -> str:
    """The calls of one message, in the one section it has."""
    return f"{SECTION_BEGIN}{calls}{SECTION_END}"


def _compose(
    name: str, arguments: str, tools: Mapping[str, Tool], id: str | None, reads_back: ReadsBack
) -> tuple[str, list[Finding]]:
    """The call as text, without its section, and what will not read back the same."""
    # JSON can hold half of a surrogate pair only as an escape.
    raw = _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", arguments).strip() or "{}"
    told = []
    try:
        meant = parsed(raw)
    except (ValueError, RecursionError):
        meant = raw
    if not isinstance(meant, dict):
        told.append(note("arguments-not-json", tool=name))
    own = own_id(name, 0)
    written = id or own
    text = _write(written, raw)
    plain = re.fullmatch(rf"functions\.{re.escape(name)}:[0-9]+", written)
    if not told and _PLAIN_NAME.fullmatch(name) and plain:
        return text, told
    if reads_back(_section(text), tools, name, meant, written):
        return text, told
    # The name matters more than the id: a model that sees no name calls nothing.
    named = _write(own, raw)
    if written != own and reads_back(_section(named), tools, name, meant, own):
        return named, [*told, note("id-not-carried", id=written, reason=f"does not name {name}", new=own)]
    return text, [*told, note("call-not-carried", tool=name, dialect=KIMI_K2.name)]


def _write(written: str, arguments: str) -> str:
    return f"{CALL_BEGIN}{written}{ARGUMENT_BEGIN}{arguments}{CALL_END}"


def _names(id: str, name: str) -> bool:
    return _PLAIN_ID.fullmatch(id) is not None and tool_name(id, {}) == name


KIMI_K2 = Dialect(
    name="kimi-k2",
    summary="<|tool_call_begin|>functions.name:0<|tool_call_argument_begin|>{json}<|tool_call_end|>",
    policy=Policy(
        arguments="stream",
        in_think="call",  # the model ends its thoughts with a call
        channels=("content", "reasoning"),
    ).over(USUAL),
    states=tuple(State),
    tokens=tuple(Token),
    transitions=TRANSITIONS,
    lexicons=LEXICONS,
    read=read,
    leftover=leftover,
    memory=Section,
    states_in_words=STATES,
    tokens_in_words=TOKENS,
    waits_for=WAITS_FOR,
    ids="upstream",
    own_json=True,
    writer=Writer(_compose, lambda calls: _section("".join(calls)), "", IdForm(own_id, _names)),
    template=packaged_template("kimi_k2.jinja"),
    taught_by=(SECTION_BEGIN, CALL_BEGIN),
    leak_marks=(
        leak_mark(
            "<|tool_call",
            r"<\|tool_call(?:s?_section_begin\|>(?=\s*<\|tool_call_begin\|>)|_argument_begin\|>(?=\s*\{)"
            rf"|_begin\|>(?=\s*(?:functions\.)?(?P<name>{NAME}?)(?::\d{{1,9}})?\s*<\|tool_call_argument_begin))",
        ),
    ),
    openers=lambda tools: (SECTION_BEGIN, "<|tool_call_section_begin|>", CALL_BEGIN),
    mender=MENDER,
    models=("kimi-k2", "kimi-linear", "moonshotai/kimi"),
)
