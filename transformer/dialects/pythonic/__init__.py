"""pythonic: `[name(key=value), …]`, calls as Python writes them, with or without markers around them.

It is a list of calls, or one call a line. The values are Python's literals, or JSON's; the arguments leave as
JSON. After a marker a call may be written as JSON, too: `{"name": name, "arguments": {…}}`. A call is one only
once its parenthesis is closed and a comma, the list's end or a marker follows: until then it may be an expression
of a program. So nothing of a call leaves before that, whatever the policy says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from transformer.dialects.pythonic.pythoncall import PythonCall, PythonMachine, json_call
from transformer.dialects.pythonic.pythonmending import MENDER
from transformer.dialects.pythonic.pythonspelling import (
    LEXICONS,
    OPENERS,
    STATES,
    STRINGS,
    TOKENS,
    WAITS_FOR,
    State,
    Token,
    leftover,
    read,
)
from transformer.findings import note
from transformer.jsonscan import members
from transformer.parser.dialect import Dialect, Rule, guard, table
from transformer.parser.leakmarks import WORD, leak_mark
from transformer.parser.machine import (
    close_marker,
    drop_token,
    hold,
    ignore,
    prose,
    release,
    swallow,
    text_after,
    then,
)
from transformer.parser.opencall import is_rejected
from transformer.parser.writing import ReadsBack, Writer, packaged_template
from transformer.policy import USUAL
from transformer.records import Effect, Finding
from transformer.values.literals import missing_python_end, python_or_json
from transformer.values.schema import Tool

S, T, E = State, Token, Effect


# -- guards


@guard("it stands at the start of a line, outside of code")
def can_be_bare(m: PythonMachine, name: str) -> bool:
    return m.line and not m.markdown.fenced


@guard("no marker stands before it, and no such tool was offered")
def is_foreign(m: PythonMachine, name: str) -> bool:
    call = m.call
    return call.bare and m.choice.tools_known and m.tool(name) is None


@guard("a marker stands before the calls")
def is_marked(m: PythonMachine, name: str) -> bool:
    return m.wrapped


@guard("it is inside a bracket of the value")
def is_inside(m: PythonMachine, name: str) -> bool:
    return m.call.depth > 0


@guard("it is a brace, and a marker stands before it")
def is_marked_brace(m: PythonMachine, name: str) -> bool:
    return name == "{" and m.wrapped


@guard("with it the JSON is a call")
def ends_json_call(m: PythonMachine, name: str) -> bool:
    return json_call(f"{m.call.value}}}") is not None


@guard("the policy repairs, and with what is missing every required argument is there")
def is_repairable(m: PythonMachine, name: str) -> bool:
    call = m.call
    tool = m.tool(call.name)
    if m.choice.policy.malformed != "repair" or m.choice.was_cut or tool is None or m.state is S.CALL:
        return False
    value = str(call.value)
    given = {*call.arguments, call.key}
    return set(tool.required) <= given and python_or_json(value + missing_python_end(value)) is not None


@guard("it closes the call's parenthesis")
def closes_call(m: PythonMachine, name: str) -> bool:
    return name == ")"


@guard("it is complete, and a marker or the list shows that it was meant")
def is_closed(m: PythonMachine, name: str) -> bool:
    return m.state is S.CLOSED and not m.choice.rejects(m.call.name)


# -- actions


def begin_marked(m: PythonMachine, text: str, name: str) -> None:
    m.wrapped = True
    m.call = PythonCall(m, text, bare=False)


def begin_bare(m: PythonMachine, text: str, name: str) -> None:
    m.wrapped = False
    m.call = PythonCall(m, text, bare=True)


def begin_further(m: PythonMachine, text: str, name: str) -> None:
    m.call = PythonCall(m, text, bare=not m.wrapped)
    m.call.name = name


def begin_object(m: PythonMachine, text: str, name: str) -> None:
    m.call.open(m, "", "")
    m.call.data(text)


def begin_further_object(m: PythonMachine, text: str, name: str) -> None:
    m.call = PythonCall(m, "", bare=False)
    m.call.start = m.pos - len(text)
    begin_object(m, text, name)


def close_object(m: PythonMachine, text: str, name: str) -> None:
    call = m.call
    call.data(text)
    found = json_call(str(call.value))
    assert found is not None
    call.name, call.json = found
    call.closed = m.pos


def name_call(m: PythonMachine, text: str, name: str) -> None:
    m.call.add(text)
    m.call.name = name


def not_a_call(m: PythonMachine, text: str, name: str) -> None:
    m.wrapped = False
    m.call.release(m)
    m.say(text)


def malformed(m: PythonMachine, text: str, name: str) -> None:
    """Something other than `key=value` is where an argument should be."""
    end = m.pos - len(text.lstrip())
    m.found("malformed-call", m.call.start, end, tool=m.call.name, reason="an argument has no name")
    not_a_call(m, text, name)


def begin_value(m: PythonMachine, text: str, name: str) -> None:
    m.call.open(m, text, name)


def data(m: PythonMachine, text: str, name: str) -> None:
    m.call.data(text)


def begin_bracket(m: PythonMachine, text: str, name: str) -> None:
    m.call.depth += 1
    m.call.data(text)


def end_bracket(m: PythonMachine, text: str, name: str) -> None:
    m.call.depth -= 1
    m.call.data(text)


def end_value(m: PythonMachine, text: str, name: str) -> None:
    m.call.commit(m)


def next_argument(m: PythonMachine, text: str, name: str) -> None:
    m.call.commit(m)
    m.call.add(text)


def close_call(m: PythonMachine, text: str, name: str) -> None:
    m.call.add(text)
    m.call.closed = m.pos


def complete(m: PythonMachine, text: str, name: str) -> None:
    """What follows shows that it was a call."""
    m.call.deliver(m)


def complete_unended(m: PythonMachine, text: str, name: str) -> None:
    m.found("repaired-call", m.call.start, m.call.closed, tool=m.call.name, closing="]")
    m.call.deliver(m)


def repair(m: PythonMachine, text: str, name: str) -> None:
    """The answer ended in a value: it ends with what is open in it, and so does the call."""
    call = m.call
    missing = missing_python_end(str(call.value))
    m.found("repaired-call", call.start, m.pos, tool=call.name, closing=f"{missing})")
    call.value.append(missing)
    call.commit(m)
    call.closed = m.pos
    call.deliver(m)


def give_up(m: PythonMachine, text: str, name: str) -> None:
    call = m.call
    if call.name:
        fate = "it went to the client as text"
        m.found("truncated-call", call.start, m.pos, tool=call.name, fate=fate)
    call.release(m)


# -- the table

_BEGIN = E.BEGINS | E.HELD
_NOT_OFFERED = "only offered tools are called here"
_OVER = Rule(S.DONE, E.NONE, ignore, "the answer is over")

# fmt: off
_ENDS = [
    Rule(S.DONE, E.REPAIRS | E.COMPLETES, complete_unended, "only the end of the list is missing", is_closed),
    Rule(S.DONE, E.GIVES_UP, give_up, "the answer ended inside the call, so it is text"),
]
_REPAIRS = [
    Rule(S.DONE, E.GIVES_UP, give_up, _NOT_OFFERED, is_rejected),
    Rule(S.DONE, E.REPAIRS | E.COMPLETES, repair, "what is missing is clear", is_repairable),
    _ENDS[-1],
]
_ANEW = Rule(S.MARKED, E.GIVES_UP | _BEGIN, then(release, begin_marked), "the one before it was text")
_LIST = Rule(S.MARKED, _BEGIN, begin_bare, "a list of calls, if it calls an offered tool", can_be_bare)
_FURTHER_OBJECT = Rule(S.OBJECT, _BEGIN, begin_further_object, "a further call, as JSON", is_marked_brace)
_FURTHER = Rule(S.CALL, _BEGIN | E.NAMES, begin_further, "a further call")

TRANSITIONS = table(
    tuple(Token),
    {
        S.TEXT: (
            {
                T.OPEN: Rule(S.MARKED, _BEGIN, begin_marked, "calls, if one follows"),
                T.BRACKET: [_LIST],
                T.END: _OVER,
            },
            Rule(S.TEXT, E.PROSE, prose, "text leaves at once"),
        ),
        S.MARKED: (
            {
                (T.SPACE, T.CUT): Rule(S.MARKED, E.HELD, hold, "before a call"),
                (T.OPEN, T.BRACKET): Rule(S.MARKED, E.HELD, hold, "a list of calls"),
                T.NAME: [
                    Rule(S.TEXT, E.GIVES_UP, not_a_call, "a list of something else", is_foreign),
                    Rule(S.CALL, E.NAMES | E.HELD, name_call, "the tool's name"),
                ],
                T.OPENING: [Rule(S.OBJECT, E.HELD, begin_object, "a call as JSON", is_marked_brace)],
                T.END: _ENDS,
            },
            Rule(S.TEXT, E.GIVES_UP, not_a_call, "a marker or a bracket in prose"),
        ),
        S.CALL: (
            {
                (T.SPACE, T.CUT): Rule(S.CALL, E.HELD, hold, "before an argument"),
                T.KEY: Rule(S.VALUE, E.OPENS_VALUE | E.HELD, begin_value, "an argument"),
                T.CLOSING: Rule(S.CLOSED, E.HELD, close_call, "the end, if the list goes on or ends"),
                T.OPEN: _ANEW,
                T.END: _ENDS,
            },
            Rule(S.TEXT, E.GIVES_UP, malformed, "an argument needs a name"),
        ),
        S.VALUE: (
            {
                (T.BRACKET, T.OPENING): Rule(S.VALUE, E.ARGUMENT, begin_bracket, "a list or an object begins"),
                T.END_BRACKET: Rule(S.VALUE, E.ARGUMENT, end_bracket, "a list ends"),
                T.CLOSING: [
                    Rule(S.VALUE, E.ARGUMENT, end_bracket, "an object or a tuple ends", is_inside),
                    Rule(S.CLOSED, E.ENDS_VALUE | E.HELD, then(end_value, close_call),
                         "the end, if the list goes on or ends", closes_call),
                ],
                T.COMMA: [
                    Rule(S.VALUE, E.ARGUMENT, data, "a comma inside a bracket", is_inside),
                    Rule(S.CALL, E.ENDS_VALUE | E.HELD, next_argument, "the next argument"),
                ],
                T.QUOTE: Rule(S.STRING, E.ARGUMENT, data, "a string begins"),
                T.APOSTROPHE: Rule(S.QUOTED, E.ARGUMENT, data, "a string begins"),
                T.LONG_QUOTE: Rule(S.LONG_STRING, E.ARGUMENT, data, "a long string begins"),
                T.LONG_APOSTROPHE: Rule(S.LONG_QUOTED, E.ARGUMENT, data, "a long string begins"),
                T.OPEN: _ANEW,
                T.END: _REPAIRS,
            },
            Rule(S.VALUE, E.ARGUMENT, data, "part of the value"),
        ),
        **{
            state: (
                {end: Rule(S.VALUE, E.ARGUMENT, data, "the string ends"), T.END: _REPAIRS},
                Rule(state, E.ARGUMENT, data, "inside a string everything is data"),
            )
            for state, end in zip(
                STRINGS[:4], (T.QUOTE, T.APOSTROPHE, T.LONG_QUOTE, T.LONG_APOSTROPHE), strict=True
            )
        },
        S.OBJECT: (
            {
                T.QUOTE: Rule(S.OBJECT_STRING, E.HELD, data, "a string begins"),
                T.OPENING: Rule(S.OBJECT, E.HELD, begin_bracket, "an object begins"),
                T.CLOSING: [
                    Rule(S.OBJECT, E.HELD, end_bracket, "an object ends", is_inside),
                    Rule(S.CLOSED, E.NAMES | E.HELD, close_object, "the end, if the list goes on or ends",
                         ends_json_call),
                    Rule(S.TEXT, E.GIVES_UP, not_a_call, "JSON that is not a call"),
                ],
                T.CLOSE: Rule(S.TEXT, E.GIVES_UP, not_a_call, "not JSON, so not a call"),
                T.OPEN: _ANEW,
                T.END: _ENDS,
            },
            Rule(S.OBJECT, E.HELD, data, "part of the JSON"),
        ),
        S.OBJECT_STRING: (
            {T.QUOTE: Rule(S.OBJECT, E.HELD, data, "the string ends"), T.END: _ENDS},
            Rule(S.OBJECT_STRING, E.HELD, data, "inside a string everything is data"),
        ),
        S.CLOSED: (
            {
                (T.SPACE, T.CUT): Rule(S.CLOSED, E.HELD, hold, "before what decides"),
                T.COMMA: [
                    Rule(S.REJECTED, E.GIVES_UP | E.PROSE, then(release, prose), _NOT_OFFERED, is_rejected),
                    Rule(S.MORE, E.COMPLETES | E.MARKUP, then(complete, swallow), "a further call follows"),
                ],
                T.END_BRACKET: [
                    Rule(S.REJECTED, E.GIVES_UP | E.PROSE, then(release, prose), _NOT_OFFERED, is_rejected),
                    Rule(S.AFTER, E.COMPLETES | E.MARKUP, then(complete, swallow), "the list is over"),
                ],
                T.CLOSE: [
                    Rule(S.TEXT, E.GIVES_UP | E.PROSE, then(release, text_after), _NOT_OFFERED, is_rejected),
                    Rule(S.AFTER, E.COMPLETES | E.MARKUP, then(complete, close_marker), "the calls are over"),
                ],
                T.OPEN: [
                    Rule(S.MARKED, E.GIVES_UP | _BEGIN, then(release, begin_marked), _NOT_OFFERED, is_rejected),
                    Rule(S.MARKED, E.COMPLETES | _BEGIN, then(complete, begin_marked), "further calls"),
                ],
                T.NAME: [
                    Rule(S.CALL, E.GIVES_UP | _BEGIN | E.NAMES, then(release, begin_further), _NOT_OFFERED,
                         is_rejected),
                    Rule(S.CALL, E.COMPLETES | _BEGIN | E.NAMES, then(complete, begin_further),
                         "a further call, on a line of its own", is_marked),
                ],
                T.END: _ENDS,
            },
            Rule(S.TEXT, E.GIVES_UP, not_a_call, "part of a program"),
        ),
        S.MORE: (
            {
                T.SPACE: Rule(S.MORE, E.PROSE, prose, "dropped, unless text follows"),
                T.NAME: _FURTHER,
                T.OPENING: [_FURTHER_OBJECT],
                T.END_BRACKET: Rule(S.AFTER, E.MARKUP, swallow, "the list is over"),
                T.OPEN: Rule(S.MARKED, _BEGIN, begin_marked, "further calls, if one follows"),
                T.CLOSE: Rule(S.AFTER, E.MARKUP, close_marker, "the calls are over"),
                T.CUT: Rule(S.MORE, E.DROPPED, drop_token, "part of a marker"),
                T.END: _OVER,
            },
            Rule(S.TEXT, E.PROSE, text_after, "text after a call"),
        ),
        S.REJECTED: (
            {
                (T.SPACE, T.COMMA, T.END_BRACKET): Rule(S.REJECTED, E.PROSE, prose, "part of the same text"),
                T.NAME: _FURTHER,
                T.OPENING: [_FURTHER_OBJECT],
                T.OPEN: Rule(S.MARKED, _BEGIN, begin_marked, "further calls, if one follows"),
                T.END: _OVER,
            },
            Rule(S.TEXT, E.PROSE, text_after, "text follows, or the marker that ends it"),
        ),
        S.AFTER: (
            {
                T.SPACE: Rule(S.AFTER, E.PROSE, prose, "dropped, unless text follows"),
                T.OPEN: Rule(S.MARKED, _BEGIN, begin_marked, "further calls, if one follows"),
                T.BRACKET: [_LIST],
                T.CLOSE: Rule(S.AFTER, E.MARKUP, close_marker, "it ends the calls before it"),
                T.CUT: Rule(S.AFTER, E.DROPPED, drop_token, "part of a marker"),
                T.END: _OVER,
            },
            Rule(S.TEXT, E.PROSE, text_after, "text after a call"),
        ),
        S.DONE: ({}, Rule(S.DONE, E.NONE, ignore, "nothing comes after the end")),
    },
)
# fmt: on


# -- the way up: the values are JSON except for its words, which Python spells differently

_STRING_OR_WORD = re.compile(r'"(?:[^"\\]|\\.)*+"|\b(?:true|false|null)\b')
_WORDS = {"true": "True", "false": "False", "null": "None"}


def _value(raw: str) -> str:
    return _STRING_OR_WORD.sub(lambda found: _WORDS.get(found[0], found[0]), raw)


def _compose(
    name: str, arguments: str, tools: Mapping[str, Tool], id: str | None, reads_back: ReadsBack
) -> tuple[str, list[Finding]]:
    found = members(arguments.strip() or "{}")
    if found is None:
        return f"{name}({arguments})", [note("arguments-not-json", tool=name)]
    text = f"{name}({', '.join(f'{member.key}={_value(member.raw.strip())}' for member in found)})"
    meant = {member.key: member.value for member in found}
    if reads_back(f"[{text}]", tools, name, meant, None):
        return text, []
    return text, [note("call-not-carried", tool=name, dialect="pythonic")]


# Of a whole call: strings, brackets, and what else a value may have. A part of a program goes on differently.
_ARGUMENT = r"""[^'"()]|"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'|\([^()'"]*+\)"""

PYTHONIC = Dialect(
    name="pythonic",
    summary="[name(key=value)]",
    policy=USUAL,
    states=tuple(State),
    tokens=tuple(Token),
    transitions=TRANSITIONS,
    lexicons=LEXICONS,
    read=read,
    leftover=leftover,
    states_in_words=STATES,
    tokens_in_words=TOKENS,
    waits_for=WAITS_FOR,
    fenced=True,
    writer=Writer(_compose, lambda calls: f"[{', '.join(calls)}]", "\n"),
    template=packaged_template("pythonic.jinja"),
    taught_by=("[example_function(", "<|python_start|>", "<|tool_call_start|>", "[func_name1(params_name1="),
    leak_marks=(
        leak_mark("<|tool_call_start|>", r"<\|tool_call_start\|>(?=\s*[\[{])"),
        leak_mark("<|python_start|>", r"<\|python_start\|>(?=\s*\[)"),
        leak_mark(
            "[",
            rf"\[(?P<name>{WORD})\((?=(?:\w{{1,256}}\s*=(?:{_ARGUMENT}){{0,4096}}+)?\)\s*[\],])",
            "name and line",
        ),
    ),
    openers=lambda tools: (*OPENERS, "\n["),
    proof=E.COMPLETES,  # up to its end a call may be a part of a program
    mender=MENDER,
    models=("llama-4", "llama4", "olmo-3", "lfm2", "toolace"),
)
