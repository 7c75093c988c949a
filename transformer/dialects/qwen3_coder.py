"""qwen3-coder: `<tool_call><function=name><parameter=key>value</parameter></function></tool_call>`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum, auto

from transformer.parser.leakmarks import NAME, leak_mark
from transformer.parser.machine import (
    USUAL_STATES,
    USUAL_TOKENS,
    Dialect,
    Lexicon,
    Machine,
    Rule,
    beginnings,
    guard,
    hold,
    ignore,
    prose,
    release,
    table,
    then,
    upto,
)  # fmt: skip
from transformer.parser.mending import Broken, Edit, Edits, Mender, insert_after
from transformer.parser.tagcall import (
    NAME_LIMIT,
    TagCall,
    close_example,
    close_example_at_end,
    close_in_example,
    complete_call,
    data,
    give_up,
    has_pair,
    in_inner_example,
    is_streamed,
    leave_cut,
    may_repair,
    maybe_end,
    next_parameter,
    not_a_call,
    open_example,
    open_parameter,
    read_from_pair,
    remember_end,
)  # fmt: skip
from transformer.parser.tagmending import TagMending
from transformer.parser.writing import TagSyntax, packaged_template, tag_writer
from transformer.policy import USUAL, Policy
from transformer.records import Effect as E
from transformer.values.schema import Tool

# -- states and tokens


class State(StrEnum):
    TEXT = auto()
    WRAPPER = auto()
    FUNCTION = auto()
    VALUE = auto()
    CLOSED = auto()
    UNCLOSED = auto()
    EXAMPLE = auto()
    EXAMPLE_CLOSED = auto()
    AFTER = auto()
    DONE = auto()


class Token(StrEnum):
    TEXT = auto()
    SPACE = auto()
    TOOL_CALL = auto()
    FUNCTION = auto()
    PARAMETER = auto()
    INLINE = auto()
    CLOSE_PARAMETER = auto()
    CLOSE_FUNCTION = auto()
    CLOSE_TOOL_CALL = auto()
    END = auto()


S, T = State, Token

STATES: dict[str, str] = {
    **USUAL_STATES,
    S.WRAPPER: "after <tool_call>, waiting for <function=",
    S.FUNCTION: "after <function=name>, before its first parameter",
    S.CLOSED: "after </parameter>, which ends the value if a parameter or </function> follows",
    S.UNCLOSED: "after </function> with the parameter still open: the call's end, or data",
    S.EXAMPLE: "inside a value, in an example of a call",
    S.EXAMPLE_CLOSED: "in such an example, after </parameter>",
}
TOKENS: dict[str, str] = {
    **USUAL_TOKENS,
    T.TOOL_CALL: "the wrapper's tag",
    T.FUNCTION: "a function's tag",
    T.PARAMETER: "a parameter's tag",
    T.INLINE: "a parameter with its value inside the tag",
    T.CLOSE_PARAMETER: "a parameter's closing tag",
    T.CLOSE_FUNCTION: "the function's closing tag",
    T.CLOSE_TOOL_CALL: "the wrapper's closing tag",
}
WAITS_FOR = {
    S.WRAPPER: "<function=",
    S.FUNCTION: "a parameter or </function>",
    S.VALUE: "the tag that closes the parameter",
    S.CLOSED: "what follows the closing tag: a parameter, or the call's end",
    S.UNCLOSED: "what follows </function>",
    S.EXAMPLE: "the end of the example",
    S.EXAMPLE_CLOSED: "the end of the example",
}

_NAME = rf"[^<>\n]{{1,{NAME_LIMIT}}}"
_INLINE = rf"<parameter=([^<>\n=]{{1,{NAME_LIMIT}}})=([^<>\n]{{0,1024}})"
_CLOSERS = ("</parameter>", "</function>", "</tool_call>")
_TOKEN = re.compile(
    rf"</(?:parameter|function|tool_call)>|<tool_call>|<(function|parameter)=({_NAME})>|{_INLINE}</parameter>"
)
_PARTIAL = re.compile(
    rf"(?:{beginnings('<tool_call>', '<function=_', '<parameter=_', *_CLOSERS)}"
    rf"|<(?:function|parameter)={_NAME}|{_INLINE}{beginnings('</parameter>')})\Z"
)
LEXICON = Lexicon(upto("<"), _TOKEN, _PARTIAL)

_FIXED = {
    "<tool_call>": T.TOOL_CALL,
    "</parameter>": T.CLOSE_PARAMETER,
    "</function>": T.CLOSE_FUNCTION,
    "</tool_call>": T.CLOSE_TOOL_CALL,
}


def read(match: re.Match[str]) -> tuple[StrEnum, str]:
    if match[3] is not None:
        return T.INLINE, match[3]
    if match[1] is None:
        return _FIXED[match[0]], ""
    name = match[2].strip()
    kind = T.FUNCTION if match[1] == "function" else T.PARAMETER
    return (kind if name else T.TEXT), name


def holds(m: Machine, text: str, start: int) -> bool:
    """Outside a call only what may begin one is held back, and after one its </tool_call>."""
    if m.call is not None:
        return True
    part = text[start:]
    if part.startswith("<function=") and not m.wrapped:
        return any(known.startswith(part[10:]) for known in m.choice.tools)
    if m.state is S.AFTER and "</tool_call>".startswith(part):
        return True
    return part.startswith("<function=") or "<function=".startswith(part) or "<tool_call>".startswith(part)


# -- guards


@guard("the tool was offered, or <tool_call> stands before it")
def can_start(m: Machine, name: str) -> bool:
    wrapped = m.wrapped and m.choice.policy.unknown_tools != "text"
    return wrapped or m.tool(name) is not None


@guard("it stands at the start of a line")
def is_example(m: Machine, name: str) -> bool:
    return m.line and m.examples


@guard("it stands at the start of a line, and the schema has it, and it is not given yet")
def is_next_parameter(m: Machine, name: str) -> bool:
    call: TagCall = m.call
    known = call.tool is not None and call.tool.knows(name)
    return m.line and known and name != call.key and name not in call.given


@guard("the policy repairs, and the schema has it")
def may_inline(m: Machine, name: str) -> bool:
    return may_repair(m, name)


@guard("the policy repairs, the open value is whole, and no required parameter is missing")
def is_repairable(m: Machine, name: str) -> bool:
    call: TagCall = m.call
    if not may_repair(m, call.key) or m.choice.was_cut:
        return False
    if m.state is not S.CLOSED and not call.ends_itself(str(call.region)):
        return False
    return call.tool is not None and set(call.tool.required) <= call.given | {call.key}


# -- actions


def begin_wrapper(m: Machine, text: str, name: str) -> None:
    m.wrapped = True
    m.call = TagCall(m, "", m.pos - len(text), call_closer="</function>")
    m.call.add(text)


def begin_function(m: Machine, text: str, name: str) -> None:
    """The call takes in its <tool_call>, if there was one."""
    wrapper: TagCall | None = m.call
    start = m.pos - len(text) if wrapper is None else wrapper.start
    m.call = TagCall(m, name, start, closer="</parameter>", call_closer="</function>")
    if wrapper is not None:
        m.call.add(wrapper.raw())
    m.call.add(text)


def not_a_wrapper(m: Machine, text: str, name: str) -> None:
    m.wrapped = False
    not_a_call(m, text, name)


def not_a_function(m: Machine, text: str, name: str) -> None:
    """A function merely named in prose, or one whose parameter cannot be read."""
    call: TagCall = m.call
    if text.lstrip().startswith("<parameter="):
        end = m.pos - len(text.lstrip()) + len("<parameter=")
        reason = "<parameter= is not followed by a name and >"
        m.found("malformed-call", call.start, end, tool=call.name, reason=reason, broken_tag=True)
    not_a_wrapper(m, text, name)


def repair_parameter(m: Machine, text: str, name: str) -> None:
    """</parameter> is missing, but a line begins with the next parameter of this tool."""
    call: TagCall = m.call
    call.end = call.region.size
    _tell_repaired(m)
    next_parameter(m, text, name)


def inline_parameter(m: Machine, text: str, name: str) -> None:
    """`<parameter=key=value</parameter>`: the value stands where the tag should have ended."""
    call: TagCall = m.call
    if call.key:
        call.commit(m, call.end)
    start = m.pos - len(text) + len(name) + 12
    m.found("repaired-parameter", m.pos - len(text), m.pos, parameter=name, closing="> and a newline")
    value = text[len(name) + 12 : -len("</parameter>")]
    call.add(text[: len(name) + 12])
    call.open(m, name)
    call.region_start = start
    call.add(value)
    call.end = len(value)
    call.add("</parameter>")


def _tell_repaired(m: Machine) -> None:
    call: TagCall = m.call
    start = call.region_start
    m.found("repaired-parameter", start, start + call.end, parameter=call.key, closing="</parameter>")


def complete_at_wrapper(m: Machine, text: str, name: str) -> None:
    """</tool_call> where </function> should have been."""
    call: TagCall = m.call
    m.found("repaired-call", call.start, m.pos, tool=call.name, closing="</function>")
    complete_call(m, text, name)
    m.wrapped = False


def complete_unclosed(m: Machine, text: str, name: str) -> None:
    """</parameter> is missing before </function>, and what follows shows that the call was over."""
    call: TagCall = m.call
    _tell_repaired(m)
    rest = call.commit(m, call.end).removeprefix("</function>")
    end = m.pos - len(text) - len(rest)
    call.deliver(m, end)
    m.say_at(end, rest)


def swallow(m: Machine, text: str, name: str) -> None:
    """The </tool_call> of a call, or one too many right after it."""
    m.wrapped = False
    m.settled += len(text)
    m.prose.call(m.pos)
    m.prev = "\n"


def text_after(m: Machine, text: str, name: str) -> None:
    m.wrapped = False
    m.say(text)


def repair(m: Machine, text: str, name: str) -> None:
    """Close what is open at the end of the answer."""
    call: TagCall = m.call
    call.given.add(call.key)
    if m.state is not S.CLOSED:
        call.end = call.region.size
        _tell_repaired(m)
    call.commit(m, call.end)
    m.found("repaired-call", call.start, m.pos, tool=call.name, closing="</function>")
    call.deliver(m, m.pos)


# -- the table

_BEGIN = E.BEGINS | E.NAMES | E.HELD
_NEXT = E.ENDS_VALUE | E.OPENS_VALUE | E.HELD
_DONE = E.ENDS_VALUE | E.COMPLETES
_REPAIRED = E.REPAIRS | E.ENDS_VALUE | E.COMPLETES
_ANEW = [
    Rule(
        S.FUNCTION,
        E.GIVES_UP | _BEGIN,
        then(release, begin_function),
        "the one before it was text",
        can_start,
    ),
]
_EXAMPLE = [Rule(S.EXAMPLE, E.ARGUMENT, open_example, "an example of a call inside the value", is_example)]
_INLINED = [
    Rule(S.CLOSED, E.REPAIRS | _NEXT, inline_parameter, "a parameter whose tag never ended", may_inline),
]
_UNCLOSED_PARAMETER = [
    Rule(
        S.VALUE, E.REPAIRS | _NEXT, repair_parameter, "</parameter> is missing before it", is_next_parameter
    ),
]
_ENDS = [
    Rule(S.VALUE, E.REREADS, read_from_pair, "the example never closed: its first end was the end", has_pair),
    Rule(S.DONE, _REPAIRED, repair, "what is missing is clear", is_repairable),
    Rule(S.DONE, E.CUTS, leave_cut, "the client keeps what it has of it", is_streamed),
    Rule(S.DONE, E.GIVES_UP, give_up, "the answer ended inside the call, so it is text"),
]

TRANSITIONS = table(
    tuple(Token),
    {
        S.TEXT: (
            {
                T.TOOL_CALL: Rule(
                    S.WRAPPER, E.BEGINS | E.HELD, begin_wrapper, "a call, if <function= follows"
                ),
                T.FUNCTION: [
                    Rule(
                        S.FUNCTION,
                        _BEGIN,
                        begin_function,
                        "<tool_call> is optional for an offered tool",
                        can_start,
                    )
                ],
                T.END: Rule(S.DONE, E.NONE, ignore, "the answer is over"),
            },
            Rule(S.TEXT, E.PROSE, prose, "text leaves at once"),
        ),
        S.WRAPPER: (
            {
                T.SPACE: Rule(S.WRAPPER, E.HELD, hold, "whitespace before <function="),
                T.FUNCTION: [Rule(S.FUNCTION, _BEGIN, begin_function, "a call begins", can_start)],
                T.TOOL_CALL: Rule(
                    S.WRAPPER,
                    E.GIVES_UP | E.BEGINS | E.HELD,
                    then(release, begin_wrapper),
                    "the one before it was text",
                ),
                T.END: _ENDS,
            },
            Rule(S.TEXT, E.GIVES_UP, not_a_wrapper, "<tool_call> without <function= is text"),
        ),
        S.FUNCTION: (
            {
                T.SPACE: Rule(S.FUNCTION, E.HELD, hold, "whitespace before the first parameter"),
                T.PARAMETER: Rule(S.VALUE, E.OPENS_VALUE | E.HELD, open_parameter, "the first parameter"),
                T.INLINE: _INLINED,
                T.CLOSE_FUNCTION: Rule(S.AFTER, E.COMPLETES, complete_call, "a call without parameters"),
                T.CLOSE_TOOL_CALL: Rule(
                    S.AFTER, E.REPAIRS | E.COMPLETES, complete_at_wrapper, "</function> is missing"
                ),
                T.TOOL_CALL: Rule(
                    S.WRAPPER,
                    E.GIVES_UP | E.BEGINS | E.HELD,
                    then(release, begin_wrapper),
                    "the one before it was text",
                ),
                T.FUNCTION: _ANEW,
                T.END: _ENDS,
            },
            Rule(S.TEXT, E.GIVES_UP, not_a_function, "a tag merely named in prose, or a broken <parameter="),
        ),
        S.VALUE: (
            {
                T.CLOSE_PARAMETER: Rule(S.CLOSED, E.HELD, maybe_end, "ends the value if structure follows"),
                T.CLOSE_FUNCTION: Rule(
                    S.UNCLOSED, E.HELD, maybe_end, "the end if the answer goes on as after a call"
                ),
                T.PARAMETER: _UNCLOSED_PARAMETER,
                T.FUNCTION: _EXAMPLE,
                T.END: _ENDS,
            },
            Rule(S.VALUE, E.ARGUMENT, data, "a value may contain anything"),
        ),
        S.CLOSED: (
            {
                T.SPACE: Rule(S.CLOSED, E.HELD, hold, "whitespace before what decides"),
                T.PARAMETER: Rule(S.VALUE, _NEXT, next_parameter, "the next parameter"),
                T.INLINE: _INLINED,
                T.CLOSE_FUNCTION: Rule(S.AFTER, _DONE, complete_call, "the call is complete"),
                T.CLOSE_TOOL_CALL: Rule(S.AFTER, _REPAIRED, complete_at_wrapper, "</function> is missing"),
                T.CLOSE_PARAMETER: Rule(
                    S.CLOSED, E.HELD, maybe_end, "the one before was data; this may be the end"
                ),
                T.FUNCTION: _EXAMPLE,
                T.END: _ENDS,
            },
            Rule(S.VALUE, E.ARGUMENT, data, "no structure follows, so it was data"),
        ),
        S.UNCLOSED: (
            {
                T.SPACE: Rule(S.UNCLOSED, E.HELD, hold, "whitespace before what decides"),
                T.CLOSE_TOOL_CALL: Rule(
                    S.AFTER, _REPAIRED, then(complete_unclosed, swallow), "</parameter> was missing"
                ),
                T.TOOL_CALL: Rule(
                    S.WRAPPER,
                    _REPAIRED | E.BEGINS,
                    then(complete_unclosed, begin_wrapper),
                    "</parameter> was missing",
                ),
                T.FUNCTION: [
                    Rule(
                        S.FUNCTION,
                        _REPAIRED | _BEGIN,
                        then(complete_unclosed, begin_function),
                        "</parameter> was missing before this call",
                        can_start,
                    ),
                    Rule(
                        S.TEXT,
                        _REPAIRED | E.PROSE,
                        then(complete_unclosed, prose),
                        "</parameter> was missing",
                    ),
                ],
                T.END: Rule(S.DONE, _REPAIRED, complete_unclosed, "</parameter> was missing"),
                T.CLOSE_PARAMETER: Rule(S.CLOSED, E.HELD, maybe_end, "ends the value if structure follows"),
                T.CLOSE_FUNCTION: Rule(
                    S.UNCLOSED, E.HELD, maybe_end, "the one before was data; this may be the end"
                ),
                T.PARAMETER: _UNCLOSED_PARAMETER,
            },
            Rule(S.VALUE, E.ARGUMENT, data, "the answer goes on inside the value, so it was data"),
        ),
        S.EXAMPLE: (
            {
                T.CLOSE_PARAMETER: Rule(
                    S.EXAMPLE_CLOSED, E.ARGUMENT, close_in_example, "data, but remember it"
                ),
                T.CLOSE_FUNCTION: [
                    Rule(S.EXAMPLE, E.ARGUMENT, close_example, "an example inside it ends", in_inner_example),
                    Rule(S.VALUE, E.ARGUMENT, close_example, "the example ends"),
                ],
                T.FUNCTION: _EXAMPLE,
                T.END: _ENDS,
            },
            Rule(S.EXAMPLE, E.ARGUMENT, data, "an example is data"),
        ),
        S.EXAMPLE_CLOSED: (
            {
                T.SPACE: Rule(S.EXAMPLE_CLOSED, E.ARGUMENT, hold, "whitespace inside a pair"),
                T.CLOSE_PARAMETER: Rule(
                    S.EXAMPLE_CLOSED, E.ARGUMENT, close_in_example, "data, but remember it"
                ),
                T.CLOSE_FUNCTION: [
                    Rule(
                        S.EXAMPLE,
                        E.ARGUMENT,
                        close_example_at_end,
                        "the end, should no other come",
                        in_inner_example,
                    ),
                    Rule(
                        S.VALUE, E.ARGUMENT, close_example_at_end, "the end after all, should no other come"
                    ),
                ],
                T.FUNCTION: _EXAMPLE,
                T.PARAMETER: Rule(
                    S.EXAMPLE, E.ARGUMENT, remember_end, "the end of the value, should no other come"
                ),
                T.END: _ENDS,
            },
            Rule(S.EXAMPLE, E.ARGUMENT, data, "an example is data"),
        ),
        S.AFTER: (
            {
                T.SPACE: Rule(S.AFTER, E.PROSE, prose, "dropped, unless text follows"),
                T.TOOL_CALL: Rule(
                    S.WRAPPER, E.BEGINS | E.HELD, begin_wrapper, "a further call, if <function= follows"
                ),
                T.FUNCTION: [Rule(S.FUNCTION, _BEGIN, begin_function, "a further call", can_start)],
                T.CLOSE_TOOL_CALL: Rule(S.AFTER, E.MARKUP, swallow, "belongs to the call before it"),
                T.END: Rule(S.DONE, E.NONE, ignore, "the answer is over"),
            },
            Rule(S.TEXT, E.PROSE, text_after, "text after a call"),
        ),
        S.DONE: ({}, Rule(S.DONE, E.NONE, ignore, "nothing comes after the end")),
    },
)


# -- the way up, as the model's own chat template writes it


def _parameter(key: str, text: str) -> str:
    # Strings bring their own line breaks; numbers and JSON get them here, where the reader ignores them.
    body = text if text.startswith("\n") else f"\n{text}\n"
    return f"<parameter={key}>{body}</parameter>"


def _call(name: str, parts: Sequence[str]) -> str:
    return "\n".join(("<tool_call>", f"<function={name}>", *parts, "</function>", "</tool_call>"))


SYNTAX = TagSyntax(
    dialect="qwen3-coder",
    # Blanks at the ends of a name are lost, those inside are not.
    name=re.compile(rf"(?!\s){_NAME}(?<!\s)"),
    marks=re.compile(r"</?(?:parameter|function|tool_call)[=>]()"),
    parameter=_parameter,
    call=_call,
    on_one_line=False,
)

# -- mending

_PARAMETER_TAG = "<parameter="
_WORD = re.compile(r"[A-Za-z_][\w.-]*")
_FUNCTION_TAG = re.compile(rf"<function={_NAME}>")
_MENDING = TagMending(
    re.compile(rf"<parameter=({_NAME})>"),
    re.compile(rf"<function=({_NAME})>"),
    lambda key: "</parameter>",
    lambda tool: "</function>",
    wrapper_closer="</tool_call>",
)


def ideas(broken: Broken) -> Iterator[Edits]:
    finding = broken.finding
    if finding.code == "malformed-call" and finding.values.get("broken_tag"):
        return _end_tag(broken)
    if finding.code == "repaired-parameter" and broken.text.startswith(_PARAMETER_TAG, finding.span.start):
        return _end_inline_tag(broken)
    return _MENDING.ideas(broken)


def _end_tag(broken: Broken) -> Iterator[Edits]:
    """`<parameter=` without a name, or without the > after it."""
    text, tool = broken.text, _MENDING.tool(broken)
    place = text.find(_PARAMETER_TAG, broken.finding.span.start)
    if place < 0:
        return
    place += len(_PARAMETER_TAG)
    name = _name_at(text, place, tool)
    after = place + len(name)
    if name and text.startswith("=", after):
        yield (_ended(after, name),)
    elif name:
        yield (insert_after(after, ">", _PARAMETER_TAG + name),)
    else:
        given = {match[1].strip() for match in _MENDING.parameter.finditer(text, 0, place)}
        for key in _wanted(tool, given)[:1]:
            yield (insert_after(place, f"{key}>", _PARAMETER_TAG),)


def _name_at(text: str, place: int, tool: Tool | None) -> str:
    """A parameter of the tool that stands there, else any word."""
    known = sorted(tool.properties, key=len, reverse=True) if tool is not None else ()
    for key in known:
        if text.startswith(key, place):
            return key
    word = _WORD.match(text, place)
    return word[0] if word is not None else ""


def _wanted(tool: Tool | None, given: set[str]) -> list[str]:
    """The parameters that a nameless one may be: required ones first."""
    if tool is None:
        return []
    keys = [*tool.required, *(key for key in tool.properties if key not in tool.required)]
    return [key for key in keys if key not in given]


def _end_inline_tag(broken: Broken) -> Iterator[Edits]:
    """`<parameter=key=value</parameter>`, which was read as if its tag had ended."""
    start = broken.finding.span.start + len(_PARAMETER_TAG)
    place = broken.text.find("=", start)
    if place >= 0:
        yield (_ended(place, broken.text[start:place]),)


def _ended(place: int, name: str) -> Edit:
    return Edit(place, place + 1, ">", f"with > instead of = after {_PARAMETER_TAG}{name}")


def _wrapped(text: str) -> Edits:
    """Of a tool that nobody offered a function's tag alone is not a call."""
    tag = _FUNCTION_TAG.match(text)
    return () if tag is None else (Edit(0, 0, "<tool_call>\n", f"with <tool_call> before {tag[0]}"),)


_CALL_SHAPE = re.compile(r"<function=[^<>\n]+>\s*<parameter=")

QWEN3_CODER = Dialect(
    name="qwen3-coder",
    summary="<tool_call><function=name><parameter=key>value</parameter></function></tool_call>",
    policy=Policy(
        tools="template",
        calls="all",
        arguments="whole",
        after_call="keep",
        channels=("content",),
    ).over(USUAL),
    states=tuple(State),
    tokens=tuple(Token),
    transitions=TRANSITIONS,
    lexicons=dict.fromkeys(State, LEXICON),
    read=read,
    holds=holds,
    states_in_words=STATES,
    tokens_in_words=TOKENS,
    waits_for=WAITS_FOR,
    writer=tag_writer(SYNTAX, "\n"),
    template=packaged_template("qwen3_coder.jinja"),
    taught_by=(
        "<function=example_function",
        "<function=...>",
        "<tools>\n<function>",
        lambda text: _CALL_SHAPE.search(text) is not None,
    ),
    leak_marks=(
        leak_mark("<tool_call>", rf"<tool_call>\s*<function=(?P<name>{NAME})>", "name or line"),
        leak_mark(
            "<function=",
            rf"<function=(?P<name>{NAME})>(?=\s*(?:<parameter=|</function>))",
            "name or line",
        ),
    ),
    mender=Mender(ideas, wrapped=_wrapped),
    models=("qwen3-coder", "qwen3.5", "qwen3.6", "qwen3.8", "mimo", "step-3.5", "nemotron-3-nano"),
)
