"""glm: `<tool_call>name<arg_key>key</arg_key><arg_value>value</arg_value></tool_call>`, GLM 4.5 and later."""

from __future__ import annotations

import re
from enum import StrEnum

from transformer.parser import machine
from transformer.parser import tagcall as tag
from transformer.parser.leakmarks import WORD, leak_mark
from transformer.parser.machine import (
    USUAL_STATES,
    USUAL_TOKENS,
    Dialect,
    Lexicon,
    Machine,
    Rule,
    guard,
    table,
)
from transformer.parser.mending import Mender
from transformer.parser.tagmending import TagMending
from transformer.parser.writing import TagSyntax, packaged_template, tag_writer
from transformer.policy import USUAL, Policy
from transformer.records import Effect as E

S = StrEnum("S", "TEXT OPENED NAMED VALUE CLOSED AFTER DONE")
T = StrEnum("T", "TEXT SPACE CALL WORD PARAMETER CLOSE_VALUE CLOSE_CALL END")

STATES: dict[str, str] = {
    **USUAL_STATES,
    S.OPENED: "after <tool_call>, before the tool's name",
    S.NAMED: "after the tool's name, before its first parameter",
    S.CLOSED: "after </arg_value>, which ends the value if a parameter or </tool_call> follows",
}
TOKENS: dict[str, str] = {
    **USUAL_TOKENS,
    T.CALL: "the tag that begins a call",
    T.WORD: "a word that may be a tool's name",
    T.PARAMETER: "a parameter's key and the tag of its value",
    T.CLOSE_VALUE: "the tag that closes a value",
    T.CLOSE_CALL: "the tag that closes the call",
}
WAITS_FOR = {
    S.OPENED: "the tool's name",
    S.NAMED: "a parameter or </tool_call>",
    S.VALUE: "</arg_value>",
    S.CLOSED: "what follows </arg_value>: a parameter, or the call's end",
}

_NAME = r"[\w.:/-]{1,256}"
_KEY = r"<arg_key>([^<>]{1,256})</arg_key>\s{0,64}<arg_value>"
_TAGS = "<tool_call>|</tool_call>|</arg_value>"
_PARTIAL = (
    machine.beginnings("<tool_call>", "</tool_call>", "</arg_value>", "<arg_key>_")
    + rf"\Z|<arg_key>[^<>]{{1,256}}(?:{machine.beginnings('</arg_key>')}|</arg_key>\s{{0,64}}{machine.beginnings('<arg_value>')}?)?\Z"
)
_USUAL = Lexicon(machine.upto("<"), re.compile(f"{_TAGS}|{_KEY}"), re.compile(_PARTIAL))
_AT_NAME = Lexicon(
    machine.upto(r"<\w"),
    re.compile(rf"{_TAGS}|{_NAME}(?![\w.:/-])(?!\Z)"),
    re.compile(rf"{_NAME}\Z|{_PARTIAL}"),
)
_FIXED = {"<tool_call>": T.CALL, "</tool_call>": T.CLOSE_CALL, "</arg_value>": T.CLOSE_VALUE}


def read(match: re.Match[str]) -> tuple[StrEnum, str]:
    if match[0] in _FIXED:
        return _FIXED[match[0]], ""
    return (T.PARAMETER, match[1].strip()) if match[0].startswith("<") else (T.WORD, match[0])


def holds(m: Machine, text: str, start: int) -> bool:
    return m.call is not None or "<tool_call>".startswith(text[start:])


@guard("the tool was offered, or the policy passes unknown ones on")
def is_tool(m: Machine, name: str) -> bool:
    return m.tool(name) is not None or m.choice.policy.unknown_tools != "text"


def begin_call(m: Machine, text: str, name: str) -> None:
    m.call = tag.TagCall(m, "", m.pos - len(text), call_closer="</tool_call>")
    m.call.add(text)


def name_call(m: Machine, text: str, name: str) -> None:
    opened: tag.TagCall = m.call
    m.call = tag.TagCall(
        m, name, opened.start, closer="</arg_value>", call_closer="</tool_call>", verbatim=True
    )
    m.call.add(opened.raw() + text)


_BEGIN = Rule(S.OPENED, E.BEGINS | E.HELD, begin_call, "a call, if a tool's name follows")
_ANEW = Rule(
    S.OPENED,
    E.GIVES_UP | E.BEGINS | E.HELD,
    machine.then(machine.release, begin_call),
    "the one before it was text",
)
_ENDS = [
    Rule(S.DONE, E.CUTS, tag.leave_cut, "the client keeps what it has of it", tag.is_streamed),
    Rule(S.DONE, E.GIVES_UP, tag.give_up, "the answer ended inside the call, so it is text"),
]
_OVER = Rule(S.DONE, E.NONE, machine.ignore, "the answer is over")
# fmt: off
TRANSITIONS = table(tuple(T), {
    S.TEXT: ({T.CALL: _BEGIN, T.END: _OVER}, Rule(S.TEXT, E.PROSE, machine.prose, "text leaves at once")),
    S.OPENED: ({
        T.SPACE: Rule(S.OPENED, E.HELD, machine.hold, "whitespace before the name"),
        T.WORD: [Rule(S.NAMED, E.NAMES | E.HELD, name_call, "the tool's name", is_tool)],
        T.CALL: _ANEW,
        T.END: _ENDS,
    }, Rule(S.TEXT, E.GIVES_UP, tag.not_a_call, "a tag merely named in prose")),
    S.NAMED: ({
        T.SPACE: Rule(S.NAMED, E.HELD, machine.hold, "whitespace before the first parameter"),
        T.PARAMETER: Rule(S.VALUE, E.OPENS_VALUE | E.HELD, tag.open_parameter, "the first parameter"),
        T.CLOSE_CALL: Rule(S.AFTER, E.COMPLETES, tag.complete_call, "a call without parameters"),
        T.CALL: _ANEW,
        T.END: _ENDS,
    }, Rule(S.TEXT, E.GIVES_UP, tag.not_a_call, "neither a parameter nor the end of the call follows the name")),
    S.VALUE: ({
        T.CLOSE_VALUE: Rule(S.CLOSED, E.HELD, tag.maybe_end, "ends the value if structure follows"),
        T.END: _ENDS,
    }, Rule(S.VALUE, E.ARGUMENT, tag.data, "a value may contain anything")),
    S.CLOSED: ({
        T.SPACE: Rule(S.CLOSED, E.HELD, machine.hold, "whitespace before what decides"),
        T.PARAMETER: Rule(S.VALUE, E.ENDS_VALUE | E.OPENS_VALUE | E.HELD, tag.next_parameter, "the next parameter"),
        T.CLOSE_CALL: Rule(S.AFTER, E.ENDS_VALUE | E.COMPLETES, tag.complete_call, "the call is complete"),
        T.CLOSE_VALUE: Rule(S.CLOSED, E.HELD, tag.maybe_end, "the one before was data; this may be the end"),
        T.END: _ENDS,
    }, Rule(S.VALUE, E.ARGUMENT, tag.data, "no structure follows, so it was data")),
    S.AFTER: ({
        T.SPACE: Rule(S.AFTER, E.PROSE, machine.prose, "dropped, unless text follows"), T.CALL: _BEGIN, T.END: _OVER,
    }, Rule(S.TEXT, E.PROSE, machine.prose, "text after a call")),
    S.DONE: ({}, Rule(S.DONE, E.NONE, machine.ignore, "nothing comes after the end")),
})
# fmt: on

SYNTAX = TagSyntax(
    dialect="glm",
    name=re.compile(_NAME),
    marks=re.compile(r"</?(?:arg_key|arg_value|tool_call)>()"),
    parameter=lambda key, text: f"<arg_key>{key}</arg_key>\n<arg_value>{text}</arg_value>",
    call=lambda name, parts: "\n".join((f"<tool_call>{name}", *parts, "</tool_call>")),
    on_one_line=True,
    verbatim=True,
)
MENDING = TagMending(
    re.compile(_KEY),
    re.compile(rf"<tool_call>\s*({_NAME})"),
    lambda key: "</arg_value>",
    lambda tool: "</tool_call>",
)
GLM = Dialect(
    name="glm",
    summary="<tool_call>name<arg_key>key</arg_key><arg_value>value</arg_value></tool_call>",
    policy=Policy(
        tools="template", calls="all", arguments="whole", after_call="keep", channels=("content", "reasoning")
    ).over(USUAL),
    states=tuple(S),
    tokens=tuple(T),
    transitions=TRANSITIONS,
    lexicons={state: _AT_NAME if state is S.OPENED else _USUAL for state in S},
    read=read,
    holds=holds,
    states_in_words=STATES,
    tokens_in_words=TOKENS,
    waits_for=WAITS_FOR,
    writer=tag_writer(SYNTAX, "\n"),
    template=packaged_template("glm.jinja"),
    taught_by=("<arg_key>",),
    leak_marks=(
        leak_mark("<tool_call>", rf"<tool_call>\s*(?P<name>{WORD})\s*<arg_key>", "name or line"),
        leak_mark("<tool_call>", rf"<tool_call>\s*(?P<name>{WORD})\s*</tool_call>", "name and line"),
    ),
    mender=Mender(MENDING.ideas),
    models=("glm-4.5", "glm-4.6", "glm-4.7", "glm-5"),
)
