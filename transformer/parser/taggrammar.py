"""The grammar of wrapped calls: WRAPPER CALL PARAMETER value /PARAMETER … /CALL /WRAPPER, each of them a tag.

Qwen3-Coder, GLM, MiniMax, DeepSeek and others write the same thing with other markers. A dialect of this grammar
is a `Spelling`; the states, the tokens and the table are these, except those for which the spelling has no
markers.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any

from transformer.journal import Text
from transformer.jsonscan import JsonScanner, missing_end
from transformer.parser.dialect import Block, Rule, guard, table
from transformer.parser.machine import close_marker, hold, ignore, prose, release, swallow, text_after, then
from transformer.parser.mending import is_object
from transformer.parser.opencall import is_streamed
from transformer.parser.tagcall import (
    Split,
    TagCall,
    TagMachine,
    close_example,
    close_example_at_end,
    close_in_example,
    complete_call,
    data,
    end_value,
    give_up,
    has_pair,
    in_inner_example,
    leave_cut,
    may_repair,
    maybe_end,
    not_a_call,
    open_example,
    read_from_pair,
    remember_end,
    tell_repaired,
    unwrapped,
)
from transformer.parser.tagspelling import Spelling, State, Token, spelling_of
from transformer.records import Effect

S, T, E = State, Token, Effect

# -- guards


@guard("the tool was offered, or what stands before it shows that a call is meant")
def can_start(m: TagMachine, name: str) -> bool:
    if m.tool(name) is not None or _run_together(m, name) is not None:
        return True
    return (m.wrapped or spelling_of(m).bare) and m.choice.policy.unknown_tools != "text"


@guard("the tool was not offered, and its tag stands in the middle of a line")
def is_mentioned(m: TagMachine, name: str) -> bool:
    call = m.call
    return m.choice.tools_known and not (call.offered or call.leads)


@guard("the call's name is that of an offered tool and of a parameter of it, run together")
def is_run_together(m: TagMachine, name: str) -> bool:
    return not name and _run_together(m, m.call.name) is not None


def _run_together(m: TagMachine, name: str) -> tuple[str, str] | None:
    """The tool and the parameter, the longest tool first."""
    if spelling_of(m).rest is None:
        return None
    for tool in sorted(m.choice.tools.values(), key=lambda tool: len(tool.name), reverse=True):
        key = name.removeprefix(tool.name)
        if key != name and tool.knows(key):
            return tool.name, key
    return None


@guard("it has a name")
def has_name(m: TagMachine, name: str) -> bool:
    return bool(name)


@guard("the schema has it, and it is not given yet")
def is_new(m: TagMachine, name: str) -> bool:
    call = m.call
    known = call.tool is not None and call.tool.knows(name)
    given = name == call.key or name in call.given or any(split.key == name for split in call.splits)
    return known and not given


@guard("a parameter began in the value, before whose tag a closing tag is missing")
def is_split(m: TagMachine, name: str) -> bool:
    return bool(m.call.splits)


@guard("it stands at the start of a line")
def is_example(m: TagMachine, name: str) -> bool:
    return m.line and m.examples


@guard("it stands at the start of a line, and the schema has it, and it is not given yet")
def is_next_parameter(m: TagMachine, name: str) -> bool:
    return m.line and is_new.holds(m, name)


@guard("the policy repairs, and the schema has it")
def may_inline(m: TagMachine, name: str) -> bool:
    return may_repair(m, name)


@guard("the policy repairs, the open value is whole, and no required parameter is missing")
def is_repairable(m: TagMachine, name: str) -> bool:
    call = m.call
    if not may_repair(m, call.key) or m.choice.was_cut:
        return False
    if m.state is not S.CLOSED and not call.ends_itself(str(call.region)):
        return False
    given = call.given | {call.key, *(split.key for split in call.splits)}
    return call.tool is not None and set(call.tool.required) <= given


@guard("it stands inside a JSON string")
def in_string(m: TagMachine, name: str) -> bool:
    return m.call.json is not None and m.call.json.in_string


@guard("the JSON object is whole")
def is_whole(m: TagMachine, name: str) -> bool:
    return is_object(str(m.call.region))


@guard("the policy repairs, and what closes the JSON object is clear")
def is_closable(m: TagMachine, name: str) -> bool:
    return m.choice.policy.malformed == "repair" and missing_end(str(m.call.region)) is not None


@guard("the policy repairs, and the JSON object is whole")
def may_end_json(m: TagMachine, name: str) -> bool:
    return m.choice.policy.malformed == "repair" and not m.choice.was_cut and is_whole.holds(m, name)


# -- actions


def begin_wrapper(m: TagMachine, text: str, name: str) -> None:
    m.wrapped = True
    m.call = TagCall(m, "", m.pos - len(text), call_closer=spelling_of(m).close_call.shown)
    m.call.add(text)


def begin_call(m: TagMachine, text: str, name: str) -> None:
    """The call includes its wrapper, if there was one."""
    wrapper: TagCall | None = m.call
    spelling = spelling_of(m)
    call_closer, closer = spelling.closing_tags(text)
    m.call = TagCall(
        m,
        name,
        m.pos - len(text) if wrapper is None else wrapper.start,
        closer=closer,
        call_closer=call_closer,
        reading=spelling.reading,
        wrappers=spelling.wrappers,
        leads=m.line,
    )
    if wrapper is not None:
        m.call.add(wrapper.raw())
    m.call.add(text)


def not_a_wrapper(m: TagMachine, text: str, name: str) -> None:
    m.wrapped = False
    not_a_call(m, text, name)


def not_a_parameter(m: TagMachine, text: str, name: str) -> None:
    """A call merely named in prose, or one whose parameter cannot be read."""
    call = m.call
    parameter = spelling_of(m).parameter
    tag = text.lstrip()
    begun = re.match(parameter.parts[0].whole, tag)
    if begun is not None:
        end = m.pos - len(tag) + begun.end()
        reason = f"{begun[0]} is not followed by a name and {parameter.after}"
        m.found("malformed-call", call.start, end, tool=call.name, reason=reason, broken_tag=True)
    not_a_wrapper(m, text, name)


def open_parameter(m: TagMachine, text: str, name: str) -> None:
    call = m.call
    call.add(text)
    call.open(m, name, spelling_of(m).kind(text))
    call.key_start = m.pos - len(text)


def next_parameter(m: TagMachine, text: str, name: str) -> None:
    """The value ended where it could, and another parameter begins."""
    if m.call.key:
        end_value(m)
    open_parameter(m, text, name)


def mend_parameter(m: TagMachine, text: str, name: str) -> None:
    """A part of its tag is missing or doubled, but the parameter is clear."""
    _tell_mended(m, text, name)
    next_parameter(m, text, name)


def _tell_mended(m: TagMachine, tag: str, key: str) -> None:
    written, wanted = tag.strip(), spelling_of(m).regular(key)
    m.found("repaired-tag", m.pos - len(tag), m.pos, parameter=key, written=written, wanted=wanted)


def part_call(m: TagMachine, text: str, name: str) -> None:
    """The beginning of the first parameter's tag is missing, so that its name follows the tool's directly."""
    parted = _run_together(m, m.call.name)
    assert parted is not None
    tool, key = parted
    m.call.rename(m, tool)
    _tell_mended(m, key + text, key)
    next_parameter(m, text, key)


def repair_parameter(m: TagMachine, text: str, name: str) -> None:
    """The parameter's closing tag is missing, but a line begins with the next parameter of this tool."""
    call = m.call
    call.end = call.before_newline(call.region.size)
    _tell_unclosed(m)
    next_parameter(m, text, name)


def split_value(m: TagMachine, text: str, name: str) -> None:
    """The parameter's closing tag may be missing here; the next one decides, by what follows it."""
    call = m.call
    end = call.region.size
    call.add(text)
    call.splits.append(Split(name, end, call.region.size, spelling_of(m).kind(text)))


def data_after_all(m: TagMachine, text: str, name: str) -> None:
    """What looked like the end of the value is data, and so is all before it."""
    m.call.splits.clear()
    data(m, text, name)


def other_end(m: TagMachine, text: str, name: str) -> None:
    """What looked like the end of the value is data; this may be the end."""
    m.call.splits.clear()
    maybe_end(m, text, name)


def inline_parameter(m: TagMachine, text: str, name: str) -> None:
    """`<parameter=key=value</parameter>`: the value is where the tag should have ended."""
    call = m.call
    closer = call.closing_tag
    if call.key:
        end_value(m)
    opened = text.index(name) + len(name) + 1
    m.found("repaired-parameter", m.pos - len(text), m.pos, parameter=name, closing="> and a newline")
    value = text[opened : -len(closer)]
    start = m.pos - len(text) + opened
    call.add(text[:opened])
    call.open(m, name)
    call.region_start = start
    call.add(value)
    call.end = len(value)
    call.add(closer)


def _tell_unclosed(m: TagMachine) -> None:
    """The open value lacks its closing tag; those before it in the region are reported when they end."""
    call = m.call
    key, begin = (call.splits[-1].key, call.splits[-1].begin) if call.splits else (call.key, 0)
    tell_repaired(m, key, call.region_start + begin, call.region_start + call.end)


def complete_at_wrapper(m: TagMachine, text: str, name: str) -> None:
    """The wrapper's closing tag where the call's should have been."""
    call = m.call
    m.found("repaired-call", call.start, m.pos, tool=call.name, closing=call.call_closer)
    complete_call(m, text, name)
    m.wrapped = False


def complete_unclosed(m: TagMachine, text: str, name: str) -> None:
    """The parameter's closing tag is missing before the call's; what follows shows that the call was over."""
    call = m.call
    rest = str(call.region)[call.end + call.close_size :]
    call.end = call.before_newline(call.end)
    _tell_unclosed(m)
    end_value(m)
    end = m.pos - len(text) - len(rest)
    call.deliver(m, end)
    m.say_at(end, rest)


def begin_json(m: TagMachine, text: str, name: str) -> None:
    """All arguments as one object. They leave together: only their end shows what they are."""
    call = m.call
    call.past.append(str(call.region))
    call.region, call.region_start = Text(), m.pos - len(text)
    call.json = JsonScanner()
    more_json(m, text, name)


def more_json(m: TagMachine, text: str, name: str) -> None:
    call = m.call
    assert call.json is not None
    call.json.feed(text)
    call.add(text)


def complete_json(m: TagMachine, text: str, name: str) -> None:
    call = m.call
    call.arguments.body = unwrapped(str(call.region).strip(), call.tool, spelling_of(m).wrappers)
    call.add(text)
    call.deliver(m, m.pos)


def complete_broken_json(m: TagMachine, text: str, name: str) -> None:
    """The arguments are not a JSON object: the client gets them as they are."""
    call = m.call
    m.found("invalid-arguments", call.region_start, m.pos - len(text), tool=call.name)
    call.arguments.body = str(call.region).strip()
    call.add(text)
    call.deliver(m, m.pos)


def close_json(m: TagMachine, text: str, name: str) -> None:
    """The end of the JSON object is missing, but clear."""
    call = m.call
    missing = missing_end(str(call.region))
    assert missing is not None
    m.found("repaired-call", call.start, m.pos, tool=call.name, closing=missing)
    call.region.append(missing)
    complete_json(m, text, name)


def end_json(m: TagMachine, text: str, name: str) -> None:
    """The call's closing tag is missing after the object."""
    call = m.call
    m.found("repaired-call", call.start, m.pos, tool=call.name, closing=call.call_closer)
    complete_json(m, text, name)


def end_json_at_wrapper(m: TagMachine, text: str, name: str) -> None:
    end_json(m, text, name)
    m.wrapped = False


def repair(m: TagMachine, text: str, name: str) -> None:
    """Close what is open at the end of the answer."""
    call = m.call
    if m.state is not S.CLOSED:
        call.end = call.region.size
        _tell_unclosed(m)
    end_value(m)
    m.found("repaired-call", call.start, m.pos, tool=call.name, closing=call.call_closer)
    call.deliver(m, m.pos)


# -- the table

_BEGIN = E.BEGINS | E.NAMES | E.HELD
_WRAP = E.BEGINS | E.HELD
_OPEN = E.OPENS_VALUE | E.HELD
_NEXT = E.ENDS_VALUE | _OPEN
_DONE = E.ENDS_VALUE | E.COMPLETES
_REPAIRED = E.REPAIRS | E.ENDS_VALUE | E.COMPLETES
_MISSING = "the parameter's closing tag was missing"

# fmt: off
_EXAMPLE = [Rule(S.EXAMPLE, E.ARGUMENT, open_example, "an example of a call inside the value", is_example)]
_INLINED = [Rule(S.CLOSED, E.REPAIRS | _NEXT, inline_parameter, "a parameter whose tag never ended", may_inline)]
_MENDED = "a part of the parameter's tag is missing or doubled"
_UNENDED = Rule(S.VALUE, E.REPAIRS | _NEXT, repair_parameter, "the closing tag is missing before it", is_next_parameter)
_SPLIT = Rule(S.VALUE, E.HELD, split_value, "the closing tag is missing before it if this one ends", is_new)
_NEXT_ONE = Rule(S.VALUE, _NEXT, next_parameter, "the next parameter")
_SPLIT_NEXT = Rule(S.VALUE, E.REPAIRS | _NEXT, next_parameter, "the next parameter; several stand before it", is_split)
_COMPLETE = Rule(S.AFTER, _DONE, complete_call, "the call is complete")
_SPLIT_END = Rule(S.AFTER, _REPAIRED, complete_call, "the call is complete; several parameters end here", is_split)
_ANEW = Rule(S.WRAPPER, E.GIVES_UP | _WRAP, then(release, begin_wrapper), "the one before it was text")
_ENDS = [
    Rule(S.VALUE, E.REREADS, read_from_pair, "the example never closed: its first end was the end", has_pair),
    Rule(S.DONE, _REPAIRED, repair, "what is missing is clear", is_repairable),
    Rule(S.DONE, E.CUTS, leave_cut, "the client keeps what it has of it", is_streamed),
    Rule(S.DONE, E.GIVES_UP, give_up, "the answer ended inside the call, so it is text"),
]


def _blocks(spelling: Spelling) -> dict[StrEnum, tuple[Block, Rule | None]]:
    """The table by state; tokens that the spelling does not have are still in it."""
    unended, next_one, complete = [_UNENDED], [_NEXT_ONE], [_COMPLETE]
    if spelling.on_one_line:
        unended, next_one, complete = [_UNENDED, _SPLIT], [_SPLIT_NEXT, _NEXT_ONE], [_SPLIT_END, _COMPLETE]
    alone = [Rule(S.TEXT, E.GIVES_UP, not_a_call, "a tag merely named in prose", is_mentioned)] if spelling.bare else []
    return {
        S.TEXT: (
            {
                T.WRAPPER: Rule(S.WRAPPER, _WRAP, begin_wrapper, "a call, if one follows"),
                T.CALL: [Rule(S.CALL, _BEGIN, begin_call, "a call begins", can_start)],
                T.END: Rule(S.DONE, E.NONE, ignore, "the answer is over"),
            },
            Rule(S.TEXT, E.PROSE, prose, "text leaves at once"),
        ),
        S.WRAPPER: (
            {
                T.SPACE: Rule(S.WRAPPER, E.HELD, hold, "whitespace before the call"),
                T.CALL: [Rule(S.CALL, _BEGIN, begin_call, "a call begins", can_start)],
                T.WRAPPER: Rule(S.WRAPPER, E.HELD, hold, "the same tag once more"),
                T.END: _ENDS,
            },
            Rule(S.TEXT, E.GIVES_UP, not_a_wrapper, "a wrapper without a call is text"),
        ),
        S.CALL: (
            {
                T.SPACE: Rule(S.CALL, E.HELD, hold, "whitespace before the first parameter"),
                T.PARAMETER: Rule(S.VALUE, _OPEN, open_parameter, "the first parameter"),
                T.IRREGULAR: Rule(S.VALUE, E.REPAIRS | _OPEN, mend_parameter, _MENDED),
                T.REST: [
                    Rule(S.VALUE, E.REPAIRS | E.NAMES | _OPEN, part_call, "the tag between the two names is missing",
                         is_run_together),
                    Rule(S.VALUE, E.REPAIRS | _OPEN, mend_parameter, "the beginning of the parameter's tag is missing",
                         has_name),
                ],
                T.INLINE: _INLINED,
                T.JSON: Rule(S.JSON, _OPEN, begin_json, "all arguments as one object"),
                T.CLOSE_CALL: [*alone, Rule(S.AFTER, E.COMPLETES, complete_call, "a call without parameters")],
                T.CLOSE_WRAPPER: Rule(S.AFTER, E.REPAIRS | E.COMPLETES, complete_at_wrapper,
                                      "the call's closing tag is missing"),
                T.WRAPPER: _ANEW,
                T.CALL: [Rule(S.CALL, E.GIVES_UP | _BEGIN, then(release, begin_call), "the one before it was text",
                              can_start)],
                T.END: _ENDS,
            },
            Rule(S.TEXT, E.GIVES_UP, not_a_parameter, "a tag merely named in prose, or a broken parameter"),
        ),
        S.VALUE: (
            {
                T.CLOSE_PARAMETER: Rule(S.CLOSED, E.HELD, maybe_end, "ends the value if structure follows"),
                T.CLOSE_CALL: Rule(S.UNCLOSED, E.HELD, maybe_end, "the end if the answer goes on as after a call"),
                T.PARAMETER: unended,
                T.CALL: _EXAMPLE,
                T.END: _ENDS,
            },
            Rule(S.VALUE, E.ARGUMENT, data, "a value may contain anything"),
        ),
        S.CLOSED: (
            {
                T.SPACE: Rule(S.CLOSED, E.HELD, hold, "whitespace before what decides"),
                T.PARAMETER: next_one,
                T.IRREGULAR: Rule(S.VALUE, E.REPAIRS | _NEXT, mend_parameter, _MENDED),
                T.REST: [Rule(S.VALUE, E.REPAIRS | _NEXT, mend_parameter,
                              "the beginning of the parameter's tag is missing", is_new)],
                T.INLINE: _INLINED,
                T.CLOSE_CALL: complete,
                T.CLOSE_WRAPPER: Rule(S.AFTER, _REPAIRED, complete_at_wrapper, "the call's closing tag is missing"),
                T.CLOSE_PARAMETER: Rule(S.CLOSED, E.HELD, other_end, "the one before was data; this may be the end"),
                T.CALL: _EXAMPLE,
                T.END: _ENDS,
            },
            Rule(S.VALUE, E.ARGUMENT, data_after_all, "no structure follows, so it was data"),
        ),
        S.UNCLOSED: (
            {
                T.SPACE: Rule(S.UNCLOSED, E.HELD, hold, "whitespace before what decides"),
                T.CLOSE_WRAPPER: Rule(S.AFTER, _REPAIRED | E.MARKUP, then(complete_unclosed, close_marker), _MISSING),
                T.WRAPPER: Rule(S.WRAPPER, _REPAIRED | _WRAP, then(complete_unclosed, begin_wrapper), _MISSING),
                T.CALL: [
                    Rule(S.CALL, _REPAIRED | _BEGIN, then(complete_unclosed, begin_call), _MISSING, can_start),
                    Rule(S.TEXT, _REPAIRED | E.PROSE, then(complete_unclosed, prose), f"{_MISSING}; this is text"),
                ],
                T.END: Rule(S.DONE, _REPAIRED, complete_unclosed, _MISSING),
                T.CLOSE_PARAMETER: Rule(S.CLOSED, E.HELD, maybe_end, "ends the value if structure follows"),
                T.CLOSE_CALL: Rule(S.UNCLOSED, E.HELD, maybe_end, "the one before was data; this may be the end"),
                T.PARAMETER: unended,
            },
            Rule(S.VALUE, E.ARGUMENT, data, "the answer goes on inside the value, so it was data"),
        ),
        S.EXAMPLE: (
            {
                T.CLOSE_PARAMETER: Rule(S.EXAMPLE_CLOSED, E.ARGUMENT, close_in_example, "data, but remember it"),
                T.CLOSE_CALL: [
                    Rule(S.EXAMPLE, E.ARGUMENT, close_example, "an example inside it ends", in_inner_example),
                    Rule(S.VALUE, E.ARGUMENT, close_example, "the example ends"),
                ],
                T.CALL: _EXAMPLE,
                T.END: _ENDS,
            },
            Rule(S.EXAMPLE, E.ARGUMENT, data, "an example is data"),
        ),
        S.EXAMPLE_CLOSED: (
            {
                T.SPACE: Rule(S.EXAMPLE_CLOSED, E.ARGUMENT, hold, "whitespace inside a pair"),
                T.CLOSE_PARAMETER: Rule(S.EXAMPLE_CLOSED, E.ARGUMENT, close_in_example, "data, but remember it"),
                T.CLOSE_CALL: [
                    Rule(S.EXAMPLE, E.ARGUMENT, close_example_at_end, "the end, should no other come",
                         in_inner_example),
                    Rule(S.VALUE, E.ARGUMENT, close_example_at_end, "the end after all, should no other come"),
                ],
                T.CALL: _EXAMPLE,
                T.PARAMETER: Rule(S.EXAMPLE, E.ARGUMENT, remember_end, "the end of the value, should no other come"),
                T.END: _ENDS,
            },
            Rule(S.EXAMPLE, E.ARGUMENT, data, "an example is data"),
        ),
        S.JSON: (
            {
                T.CLOSE_CALL: [
                    Rule(S.JSON, E.ARGUMENT, more_json, "a string may contain anything", in_string),
                    Rule(S.AFTER, _DONE, complete_json, "the call is complete", is_whole),
                    Rule(S.AFTER, _REPAIRED, close_json, "the object's end is missing", is_closable),
                    Rule(S.AFTER, _DONE, complete_broken_json, "the call is complete, its JSON is not"),
                ],
                T.CLOSE_WRAPPER: [
                    Rule(S.JSON, E.ARGUMENT, more_json, "a string may contain anything", in_string),
                    Rule(S.AFTER, _REPAIRED, end_json_at_wrapper, "the call's closing tag is missing", is_whole),
                    # Not the default rule: this decision depends on the text before it.
                    Rule(S.JSON, E.ARGUMENT, more_json, "the JSON text is not over"),
                ],
                T.END: [
                    Rule(S.DONE, _REPAIRED, end_json, "what is missing is clear", may_end_json),
                    Rule(S.DONE, E.GIVES_UP, give_up, "the answer ended inside the call, so it is text"),
                ],
            },
            Rule(S.JSON, E.ARGUMENT, more_json, "part of the JSON text"),
        ),
        S.AFTER: (
            {
                T.SPACE: Rule(S.AFTER, E.PROSE, prose, "dropped, unless text follows"),
                T.WRAPPER: Rule(S.WRAPPER, _WRAP, begin_wrapper, "a further call, if one follows"),
                T.CALL: [Rule(S.CALL, _BEGIN, begin_call, "a further call", can_start)],
                T.CLOSE_WRAPPER: Rule(S.AFTER, E.MARKUP, close_marker, "belongs to the call before it"),
                T.CLOSE_CALL: Rule(S.AFTER, E.MARKUP, swallow, "the closing tag of the call before it, doubled"),
                T.END: Rule(S.DONE, E.NONE, ignore, "the answer is over"),
            },
            Rule(S.TEXT, E.PROSE, text_after, "text after a call"),
        ),
        S.DONE: ({}, Rule(S.DONE, E.NONE, ignore, "nothing comes after the end")),
    }
# fmt: on


def _used(spelling: Spelling) -> dict[StrEnum, tuple[Block, Rule | None]]:
    """The table without tokens that the spelling does not have, and without states that nothing leads to then."""
    blocks: dict[StrEnum, tuple[Block, Rule | None]] = {
        state: ({token: rules for token, rules in block.items() if token in spelling.tokens}, otherwise)
        for state, (block, otherwise) in _blocks(spelling).items()
    }
    reached: list[StrEnum] = [S.TEXT]
    for state in reached:
        block, otherwise = blocks[state]
        entries = [
            (entry,) if isinstance(entry, Rule) else entry for entry in (*block.values(), otherwise) if entry
        ]
        reached += dict.fromkeys(rule.to for rules in entries for rule in rules if rule.to not in reached)
    return {state: blocks[state] for state in State if state in reached}


def tag_grammar(spelling: Spelling) -> dict[str, Any]:
    """What a `Dialect` of this grammar is made of."""
    states, tokens, waits = spelling.words()
    blocks = _used(spelling)
    return {
        "states": tuple(blocks),
        "tokens": spelling.tokens,
        "transitions": table(spelling.tokens, blocks),
        "lexicons": {state: spelling.lexicon(state) for state in blocks},
        "read": spelling.read,
        "holds": spelling.holds,
        "states_in_words": {state: states[state] for state in blocks},
        "tokens_in_words": {token: tokens[token] for token in spelling.tokens},
        "waits_for": {state: waits[state] for state in blocks if state in waits},
        "spelling": spelling,
    }
