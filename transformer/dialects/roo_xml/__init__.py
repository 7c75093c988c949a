"""roo-xml: `<tool><parameter>value</parameter></tool>`, as RooCode, Cline and XML prompts have it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from transformer.dialects.roo_xml.roomending import MENDER
from transformer.dialects.roo_xml.tags import (
    HTML_ELEMENTS,
    LEXICON,
    NO_TOOL,
    STATES,
    THINK,
    TOKENS,
    WAITS_FOR,
    Named,
    NamingMachine,
    State,
    Token,
    holds,
    may_be_tool,
    read,
)
from transformer.parser.dialect import Dialect, Rule, guard, table
from transformer.parser.leakmarks import WORD, leak_mark
from transformer.parser.machine import hold, ignore, prose, then
from transformer.parser.opencall import is_streamed
from transformer.parser.tagcall import (
    NAME_LIMIT,
    TagCall,
    close_example,
    close_example_at_end,
    close_in_example,
    data,
    give_up,
    has_pair,
    in_inner_example,
    leave_cut,
    may_repair,
    open_example,
    open_parameter,
    read_from_pair,
    remember_end,
    tell_unfinished,
)  # fmt: skip
from transformer.parser.writing import TagSyntax, packaged_template, tag_writer
from transformer.policy import USUAL, Policy
from transformer.records import Effect as E

S, T = State, Token


# -- guards


def _leads(m: NamingMachine) -> bool:
    """The tag is the first on its line, except for blanks and a list marker."""
    return m.line or m.markdown.leads


@guard("it is an offered tool's, outside of code")
def is_tool(m: NamingMachine, name: str) -> bool:
    if m.tool(name) is None:
        return False
    return m.line or (not m.markdown.quoted and (m.markdown.leads or not m.markdown.fenced))


@guard("it is an offered tool's, at the start of a line, and the policy takes calls in thoughts")
def calls_in_thought(m: NamingMachine, name: str) -> bool:
    return m.choice.policy.in_think == "call" and is_tool_on_line.holds(m, name)


@guard("it is an offered tool's, at the start of a line")
def is_tool_on_line(m: NamingMachine, name: str) -> bool:
    return m.line and m.tool(name) is not None


@guard("it is an offered tool's that is not an HTML element, outside of code")
def has_attributes(m: NamingMachine, name: str) -> bool:
    return name.lower() not in HTML_ELEMENTS and is_tool.holds(m, name)


@guard("the tag of that tool stayed text before it")
def closes_named(m: NamingMachine, name: str) -> bool:
    return name in m.memory.tags and not m.markdown.quoted


@guard("the tag of a tool stands alone on a line before it")
def has_named(m: NamingMachine, name: str) -> bool:
    return any(alone for _, alone in m.memory.tags.values())


@guard("it may be a tool nobody offered: at the start of a line, outside of a fence, not HTML")
def is_unknown_tool(m: NamingMachine, name: str) -> bool:
    return m.line and name.lower() not in NO_TOOL and may_be_tool(m, name)


@guard("it is <think> or <thinking> at the start of a line")
def begins_thought(m: NamingMachine, name: str) -> bool:
    return m.line and name in THINK


@guard("it is </think> or </thinking>")
def ends_thought(m: NamingMachine, name: str) -> bool:
    return name in THINK


@guard("it is this call's own, at the start of a line")
def is_own(m: NamingMachine, name: str) -> bool:
    return name == m.call.name and m.line and m.examples


@guard("it is this call's own, at the start of a line, and the tool was offered")
def is_own_offered(m: NamingMachine, name: str) -> bool:
    return m.call.offered and is_own.holds(m, name)


@guard("it is this call's own, at the start of a line, and the client has a part of the call")
def is_own_streamed(m: NamingMachine, name: str) -> bool:
    return is_streamed.holds(m, name) and is_own.holds(m, name)


@guard("it is an offered tool's, at the start of a line, and the client has a part of the call")
def is_tool_streamed(m: NamingMachine, name: str) -> bool:
    return is_streamed.holds(m, name) and is_tool_on_line.holds(m, name)


@guard("it is a parameter that this call may still have")
def is_new_parameter(m: NamingMachine, name: str) -> bool:
    call = m.call
    if not is_known_parameter.holds(m, name):
        return False
    return (name not in call.given and name != call.key) or (
        call.tool is not None and call.tool.repeats(name)
    )


@guard("it is a parameter of this tool, which has the tool's own name")
def is_namesake(m: NamingMachine, name: str) -> bool:
    return name == m.call.name and is_new_parameter.holds(m, name)


@guard("the call's tag is the first on its line, or nobody knows the tool's parameters")
def may_be_unknown_parameter(m: NamingMachine, name: str) -> bool:
    call = m.call
    return call.leads or call.tool is None or not call.tool.has_schema


@guard("it is the call's, and the tool needs a parameter")
def closes_too_early(m: NamingMachine, name: str) -> bool:
    call = m.call
    return name == call.name and call.tool is not None and bool(call.tool.required)


@guard("it is a parameter of this tool")
def is_known_parameter(m: NamingMachine, name: str) -> bool:
    return m.call.tool is not None and m.call.tool.knows(name)


@guard("it is the call's")
def closes_call(m: NamingMachine, name: str) -> bool:
    return name == m.call.name


@guard("it is the call's, at the start of a line")
def closes_call_on_line(m: NamingMachine, name: str) -> bool:
    return m.line and name == m.call.name


@guard("it is the call's, and an example inside the example is open")
def closes_inner_example(m: NamingMachine, name: str) -> bool:
    return name == m.call.name and in_inner_example.holds(m, name)


@guard("it is that of the open parameter, or of an element looked ahead into")
def closes_value(m: NamingMachine, name: str) -> bool:
    call = m.call
    if name == call.name and call.key != call.name:
        return False
    return name == call.key or name in call.ahead


@guard("the tool was not offered")
def is_unoffered(m: NamingMachine, name: str) -> bool:
    return not m.call.offered


@guard("the policy repairs, and the schema leaves one reading")
def is_repairable(m: NamingMachine, name: str) -> bool:
    return _repair_plan(m) is not None


# -- actions


def begin_call(m: NamingMachine, text: str, name: str) -> None:
    m.call = TagCall(m, name, m.pos - len(text), leads=_leads(m) or m.line)
    m.call.add(text)


def begin_unknown_call(m: NamingMachine, text: str, name: str) -> None:
    """It is not known yet whether it is a call, so nothing of it may leave before its end."""
    m.call = TagCall(m, name, m.pos - len(text), live=False)
    m.call.add(text)


def not_a_call(m: NamingMachine, text: str, name: str) -> None:
    release(m, text, name)
    m.say(text)


def release(m: NamingMachine, text: str, name: str) -> None:
    """The tag is text after all. If it turns out that a call was meant, that is reported."""
    call = m.call
    if call.offered:
        after = call.raw().partition(">")[2] + text
        alone = call.leads and "\n" in after[: len(after) - len(after.lstrip())]
        m.memory.tags[call.name] = (call.start, alone)
    call.release(m)


def call_needs_parameters(m: NamingMachine, text: str, name: str) -> None:
    call = m.call
    needed = " and ".join(call.tool.required if call.tool is not None else ())
    reason = f"it has no parameter, and {call.name} needs {needed}"
    m.found("malformed-call", call.start, m.pos, tool=call.name, reason=reason, without_parameter=True)
    call.release(m)
    m.say(text)


def tell_attributes(m: NamingMachine, text: str, name: str) -> None:
    """Parameters as attributes are not read, but never silently."""
    reason = "its parameters are attributes of the tag, where elements are read"
    m.found("malformed-call", m.pos - len(text), m.pos, tool=name, reason=reason, attributes=True)
    m.say(text)


def tell_named(m: NamingMachine, text: str, name: str) -> None:
    """A closing tag shows that the opening one, which stayed text, was to be a call."""
    start, _ = m.memory.tags.pop(name)
    reason = f"its tag is not followed by a parameter of {name}"
    m.found("malformed-call", start, m.pos, tool=name, reason=reason, without_parameter=True)
    m.say(text)


def tell_all_named(m: NamingMachine, text: str, name: str) -> None:
    """The answer is over, and the tag of a tool stands alone on a line: that was to be a call."""
    for tool, (start, alone) in m.memory.tags.items():
        if alone:
            reason = f"its tag is neither followed by a parameter of {tool} nor closed"
            m.found("malformed-call", start, m.pos, tool=tool, reason=reason, without_parameter=True)


def thought_of_call(m: NamingMachine, text: str, name: str) -> None:
    """The model only thinks of a call. It stays text, like one in a reasoning channel, but is named."""
    m.found("call-in-thought", m.pos - len(text), m.pos, tool=name)
    m.say(text)


def complete_empty_call(m: NamingMachine, text: str, name: str) -> None:
    m.call.add(text)
    m.call.deliver(m, m.pos)


def maybe_end(m: NamingMachine, text: str, name: str) -> None:
    """A closing tag; if it closes an element looked ahead into, it decides about an earlier end of the
    value."""
    call = m.call
    here = call.region.size
    call.end, begin = call.ahead.pop(name, (here, -1))
    if begin >= 0:
        call.elements.append((name, begin, here))
    call.add(text)


def look_ahead(m: NamingMachine, text: str, name: str) -> None:
    """An element that the schema doesn't know: the value ended before it only if the element is whole."""
    call = m.call
    call.add(text)
    call.ahead.setdefault(name, (call.end, call.region.size))


def next_parameter(m: NamingMachine, text: str, name: str) -> None:
    _end_value(m)
    open_parameter(m, text, name)


def complete_call(m: NamingMachine, text: str, name: str) -> None:
    _end_value(m)
    m.call.add(text)
    m.call.deliver(m, m.pos)


def _end_value(m: NamingMachine) -> None:
    """The value ends where it could; whole elements after it are parameters too."""
    call = m.call
    start, at = call.region_start, call.end
    rest = call.commit(m, at)
    for name, begin, end in sorted(call.elements, key=lambda element: element[1]):
        if begin > at:  # another one inside it is a part of its value
            call.also(m, name, rest[begin - call.end : end - call.end], start + begin)
            at = end


def break_off(m: NamingMachine, text: str, name: str) -> None:
    """The call before it was malformed, and is text."""
    _tell_broken(m, m.pos - len(text))
    m.call.release(m)


def cut_off(m: NamingMachine, text: str, name: str) -> None:
    """The call before it was malformed; the part that the client has stays."""
    end = m.pos - len(text)
    _tell_broken(m, end)
    m.call.close(m, end)


def _tell_broken(m: NamingMachine, end: int) -> None:
    call = m.call
    closing = call.call_closer
    m.found("unclosed-parameter", call.key_start, end, parameter=call.key, tool=call.name, closing=closing)


def look_again(m: NamingMachine, text: str, name: str) -> None:
    """It was not a call of an unknown tool, so it may contain a call of an offered one."""
    call = m.call
    tell_unfinished(m, call.call_closer)
    call.forget(m)
    m.memory.offered_until = m.pos
    m.prev = "\n"
    m.again(call.start, call.raw())


# -- repair, at the end of the answer, where the schema leaves no doubt

_LINE_TAG = re.compile(r"(?m)^<([^\s<>/]+)>")
_Part = tuple[str, str, int, bool]  # name, value, where it starts, whether it was closed


def repair(m: NamingMachine, text: str, name: str) -> None:
    """The answer is over: what is open is closed."""
    call = m.call
    plan = _repair_plan(m)
    assert plan is not None
    parts, upto, closed = plan
    base, region = call.region_start, str(call.region)
    for position, (key, value, start, whole) in enumerate(parts):
        if not whole:
            end = base + start + len(value)
            m.found("repaired-parameter", base + start, end, parameter=key, closing=f"</{key}>")
        if position:
            call.also(m, key, value, base + start)
        else:
            call.commit(m, len(value))
    if not closed:
        m.found("repaired-call", call.start, m.pos, tool=call.name, closing=call.call_closer)
    call.deliver(m, base + upto)
    m.again(m.pos - len(region) + upto, region[upto:])


def _repair_plan(m: NamingMachine) -> tuple[list[_Part], int, bool] | None:
    """The parameters, where in the region the call ends, whether it was closed; None if ambiguous."""
    call = m.call
    if not may_repair(m, call.key) or m.choice.was_cut:
        return None
    region, closing = str(call.region), call.call_closer
    if region.count(closing) > 1 or call.ahead:
        return None
    end = region.find(closing)
    parts = _parts(call, region if end < 0 else region[:end])
    required = set(call.tool.required if call.tool else ())
    if parts is None or not required <= call.given | {part[0] for part in parts}:
        return None
    if end < 0 and not parts[-1][3] and not (len(parts) == 1 and call.ends_itself(region)):
        return None
    return parts, len(region) if end < 0 else end + len(closing), end >= 0


def _parts(call: TagCall, text: str) -> list[_Part] | None:
    """The open parameter and those that begin in it."""
    names, starts, ends = [call.key], [0], []
    for match in _LINE_TAG.finditer(text):
        name = match.group(1)
        if call.tool is not None and call.tool.knows(name) and name not in call.given and name not in names:
            names.append(name)
            ends.append(match.start())
            starts.append(match.end())
    ends.append(len(text))
    parts = []
    for name, start, end in zip(names, starts, ends, strict=True):
        value, mark = text[start:end], f"</{name}>"
        closed = value.rstrip().endswith(mark)
        if value.count(mark) > closed:
            return None
        parts.append((name, value.rstrip().removesuffix(mark) if closed else value, start, closed))
    return parts


# -- the table

_BEGIN = E.BEGINS | E.NAMES | E.HELD
_OPENED = E.OPENS_VALUE | E.HELD
_SPACED = [Rule(S.CALL, _BEGIN, begin_call, "an offered tool's tag starts a call", is_tool)]
_ATTRIBUTES = [
    Rule(S.TEXT, E.PROSE, tell_attributes, "parameters are elements here, not attributes", has_attributes)
]
_CLOSERS = [Rule(S.TEXT, E.PROSE, tell_named, "a call without a parameter that can be read", closes_named)]
_OVER = [
    Rule(S.DONE, E.NONE, tell_all_named, "the answer is over, and a call was meant", has_named),
    Rule(S.DONE, E.NONE, ignore, "the answer is over"),
]
_OUTSIDE = [
    Rule(S.CALL, _BEGIN, begin_call, "an offered tool's tag starts a call", is_tool),
    Rule(S.THINKING, E.PROSE, prose, "the model thinks aloud", begins_thought),
    Rule(S.UNKNOWN, _BEGIN, begin_unknown_call, "a tool that was not offered, perhaps", is_unknown_tool),
]
_EXAMPLE = Rule(S.EXAMPLE, E.ARGUMENT, open_example, "an example of this call inside the value", is_own)
_ENDS = [
    Rule(S.VALUE, E.REREADS, read_from_pair, "the example never closed: its first end was the end", has_pair),
    Rule(S.TEXT, E.GIVES_UP | E.REREADS, look_again, "not a call; one of an offered tool may stand in it",
         is_unoffered),
    Rule(S.AFTER, E.REPAIRS | E.COMPLETES | E.REREADS, repair, "what is missing is clear", is_repairable),
    Rule(S.DONE, E.CUTS, leave_cut, "the client keeps what it has of it", is_streamed),
    Rule(S.DONE, E.GIVES_UP, give_up, "the answer ended inside the call, so it is text"),
]  # fmt: skip

TRANSITIONS = table(
    tuple(Token),
    {
        S.TEXT: (
            {
                T.OPEN: _OUTSIDE,
                T.SPACED: _SPACED,
                T.ATTRIBUTES: _ATTRIBUTES,
                T.CLOSE: _CLOSERS,
                T.END: _OVER,
            },
            Rule(S.TEXT, E.PROSE, prose, "text leaves at once"),
        ),
        S.THINKING: (
            {
                T.OPEN: [
                    Rule(S.CALL, _BEGIN, begin_call, "a thought may call here", calls_in_thought),
                    Rule(S.THINKING, E.PROSE, thought_of_call, "a call that is only thought of", is_tool_on_line),
                ],
                T.CLOSE: [Rule(S.TEXT, E.PROSE, prose, "the thought is over", ends_thought)],
                T.END: _OVER,
            },
            Rule(S.THINKING, E.PROSE, prose, "a thought is text"),
        ),
        S.CALL: (
            {
                T.SPACE: Rule(S.CALL, E.HELD, hold, "whitespace before the first parameter"),
                T.OPEN: [
                    Rule(S.VALUE, _OPENED, open_parameter, "the first parameter, named like its tool", is_namesake),
                    Rule(S.CALL, E.GIVES_UP | _BEGIN, then(release, begin_call), "the same tag before it was only text", is_own),
                    Rule(S.VALUE, _OPENED, open_parameter, "the first parameter", is_new_parameter),
                    Rule(S.CALL, E.GIVES_UP | _BEGIN, then(release, begin_call), "the tag before it was only text", is_tool),
                    Rule(S.VALUE, _OPENED, open_parameter, "a first parameter that the schema does not know",
                         may_be_unknown_parameter),
                ],
                T.SPACED: [
                    Rule(S.CALL, E.GIVES_UP | _BEGIN, then(release, begin_call), "the tag before it was only text", is_tool),
                ],
                T.CLOSE: [
                    Rule(S.TEXT, E.GIVES_UP, call_needs_parameters, "a call without the parameters it needs", closes_too_early),
                    Rule(S.AFTER, E.COMPLETES, complete_empty_call, "a call without parameters", closes_call)
                ],
                T.END: _ENDS,
            },
            Rule(S.TEXT, E.GIVES_UP, not_a_call, "a tag merely named in prose"),
        ),
        S.UNKNOWN: (
            {
                T.SPACE: Rule(S.UNKNOWN, E.HELD, hold, "whitespace before the first child"),
                T.OPEN: [
                    Rule(S.UNKNOWN, E.GIVES_UP | _BEGIN, then(release, begin_unknown_call), "the same tag before it was only text",
                         is_own),
                    Rule(S.CALL, E.GIVES_UP | _BEGIN, then(release, begin_call), "the tag before it was only text", is_tool),
                    Rule(S.VALUE, _OPENED, open_parameter, "it has children, as a call does"),
                ],
                T.END: _ENDS,
            },
            Rule(S.TEXT, E.GIVES_UP, not_a_call, "without a child it is not a call"),
        ),
        S.VALUE: (
            {
                T.OPEN: [_EXAMPLE],
                T.CLOSE: [
                    Rule(S.CLOSED, E.HELD, maybe_end, "ends the value if structure follows", closes_value),
                    Rule(S.BROKEN, E.HELD, hold, "data, unless another tool's tag follows", closes_call_on_line),
                    Rule(S.VALUE, E.ARGUMENT, data, "data, because the parameter is still open", closes_call),
                ],
                T.END: _ENDS,
            },
            Rule(S.VALUE, E.ARGUMENT, data, "a value may contain anything"),
        ),
        S.CLOSED: (
            {
                T.SPACE: Rule(S.CLOSED, E.HELD, hold, "whitespace before what decides"),
                T.OPEN: [
                    _EXAMPLE,
                    Rule(S.VALUE, E.ENDS_VALUE | _OPENED, next_parameter, "a parameter that is not given yet",
                         is_new_parameter),
                    Rule(S.VALUE, E.HELD, look_ahead, "a parameter if the whole element stands"),
                ],
                T.CLOSE: [
                    Rule(S.AFTER, E.ENDS_VALUE | E.COMPLETES, complete_call, "the call is complete", closes_call),
                    Rule(S.CLOSED, E.HELD, maybe_end, "the one before was data; this may be the end", closes_value),
                ],
                T.END: _ENDS,
            },
            Rule(S.VALUE, E.ARGUMENT, data, "no structure follows, so it was data"),
        ),
        S.EXAMPLE: (
            {
                T.OPEN: [_EXAMPLE],
                T.CLOSE: [
                    Rule(S.EXAMPLE, E.ARGUMENT, close_example, "an example inside it ends", closes_inner_example),
                    Rule(S.VALUE, E.ARGUMENT, close_example, "the example ends", closes_call),
                    Rule(S.EXAMPLE_CLOSED, E.ARGUMENT, close_in_example, "data, but remember it", closes_value),
                ],
                T.END: _ENDS,
            },
            Rule(S.EXAMPLE, E.ARGUMENT, data, "an example is data"),
        ),
        S.EXAMPLE_CLOSED: (
            {
                T.SPACE: Rule(S.EXAMPLE_CLOSED, E.ARGUMENT, hold, "whitespace inside a pair"),
                T.OPEN: [
                    _EXAMPLE,
                    Rule(S.EXAMPLE, E.ARGUMENT, remember_end, "the end of the value, should no other come",
                         is_new_parameter),
                ],
                T.CLOSE: [
                    Rule(S.EXAMPLE, E.ARGUMENT, close_example_at_end, "the end, should no other come",
                         closes_inner_example),
                    Rule(S.VALUE, E.ARGUMENT, close_example_at_end, "the end after all, should no other come",
                         closes_call),
                    Rule(S.EXAMPLE_CLOSED, E.ARGUMENT, close_in_example, "data, but remember it", closes_value),
                ],
                T.END: _ENDS,
            },
            Rule(S.EXAMPLE, E.ARGUMENT, data, "an example is data"),
        ),
        S.BROKEN: (
            {
                T.SPACE: Rule(S.BROKEN, E.HELD, hold, "whitespace before what decides"),
                T.OPEN: [
                    Rule(S.CALL, E.CUTS | _BEGIN, then(cut_off, begin_call), "the call before it was malformed and stays cut; the same tool again", is_own_streamed),
                    Rule(S.CALL, E.GIVES_UP | _BEGIN, then(break_off, begin_call), "the call before it was malformed; the same tool again", is_own_offered),
                    _EXAMPLE,
                    Rule(S.VALUE, E.ARGUMENT, data, "a parameter's tag, so it was data", is_known_parameter),
                    Rule(S.CALL, E.CUTS | _BEGIN, then(cut_off, begin_call), "the call before it was malformed and stays cut", is_tool_streamed),
                    Rule(S.CALL, E.GIVES_UP | _BEGIN, then(break_off, begin_call), "the call before it was malformed", is_tool_on_line),
                ],
                T.CLOSE: [
                    Rule(S.BROKEN, E.HELD, hold, "data, unless another tool's tag follows", closes_call_on_line),
                    Rule(S.CLOSED, E.HELD, maybe_end, "ends the value if structure follows", closes_value),
                ],
                T.END: _ENDS,
            },
            Rule(S.VALUE, E.ARGUMENT, data, "no tool's tag follows, so it was data"),
        ),
        S.AFTER: (
            {
                T.SPACE: Rule(S.AFTER, E.PROSE, prose, "dropped, unless text follows"),
                T.OPEN: _OUTSIDE,
                T.SPACED: _SPACED,
                T.ATTRIBUTES: _ATTRIBUTES,
                T.CLOSE: _CLOSERS,
                T.END: _OVER,
            },
            Rule(S.TEXT, E.PROSE, prose, "text after a call"),
        ),
        S.DONE: ({}, Rule(S.DONE, E.NONE, ignore, "nothing comes after the end")),
    },
)  # fmt: skip


# -- the way up


def _parameter(key: str, text: str) -> str:
    return f"<{key}>{text}</{key}>"


def _call(name: str, parts: Sequence[str]) -> str:
    return "\n".join((f"<{name}>", *parts, f"</{name}>"))


SYNTAX = TagSyntax(
    dialect="roo-xml",
    name=re.compile(rf"[^\s<>/]{{1,{NAME_LIMIT}}}"),
    marks=re.compile(rf"</?([^\s<>/]{{1,{NAME_LIMIT}}})>"),
    parameter=_parameter,
    call=_call,
    on_one_line=True,
    nested=True,
)


_TOOL_HEADING = re.compile(r"^## ([\w.-]+)\n(?:Description|Parameters|Usage):", re.MULTILINE)


def _describes_a_tool(text: str) -> bool:
    """One tool as Roo describes it, with its example."""
    return any(f"<{tool[1]}>\n<" in text for tool in _TOOL_HEADING.finditer(text))


def taken(name: str) -> str:
    """What else a tool's name means where calls are tags."""
    if name.lower() in HTML_ELEMENTS:
        return "an HTML element"
    return "the tag in which models think" if name.lower() in THINK else ""


ROO_XML = Dialect(
    name="roo-xml",
    summary="<tool><parameter>value</parameter></tool>, as RooCode, Cline and XML prompts have it",
    policy=Policy(tools="inject", calls="first", after_call="drop").over(USUAL),
    states=tuple(State),
    tokens=tuple(Token),
    transitions=TRANSITIONS,
    lexicons=dict.fromkeys(State, LEXICON),
    read=read,
    holds=holds,
    memory=Named,
    states_in_words=STATES,
    tokens_in_words=TOKENS,
    waits_for=WAITS_FOR,
    fenced=True,
    has_thoughts=True,
    writer=tag_writer(SYNTAX, "\n\n"),
    template=packaged_template("roo_xml.jinja"),
    taught_by=(
        "<actual_tool_name>",
        "<tool_name>\n<parameter1",
        "formatted using XML-style tags",
        "## Available Tools\n",
        _describes_a_tool,
    ),
    tags_are_names=True,
    openers=lambda tools: tuple(f"<{name}" for name in tools),
    names_taken=taken,
    leak_marks=(
        leak_mark(
            "<",
            rf"<(?P<name>{WORD})>(?=\s*(?:<(?P<child>{WORD})>|</(?P=name)>))",
            "name and parameter",
        ),
    ),
    mender=MENDER,
)
