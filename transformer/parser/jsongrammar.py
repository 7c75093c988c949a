"""The grammar of calls as JSON: markers around objects with a name and arguments, or around arguments alone.

    OPEN {"name": NAME, "arguments": {…}} CLOSE        one object, several of them, or a list
    OPEN NAME {…} CLOSE                                the name before its arguments

Hermes, Mistral, Llama, DeepSeek and others write the same thing with other markers. A dialect of this grammar is
a `JsonSpelling`; the states, the tokens and the table are these. The members of an object may come in any order.
Brackets, counted outside of strings, show where the arguments end: a marker inside a string is data, one
outside of every string ends the call. The arguments go on as the model wrote them, as soon as the tool's name is
known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from transformer.journal import Text
from transformer.jsonscan import JsonScanner
from transformer.parser.dialect import Action, Block, Rule, guard, table
from transformer.parser.jsoncall import JsonCall, JsonMachine, is_repairable
from transformer.parser.jsonspelling import (
    NAME_KEYS,
    OTHER_KEYS,
    JsonSpelling,
    State,
    Token,
    read,
    spelling_of,
)
from transformer.parser.machine import (
    Machine,
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
from transformer.parser.mending import is_object, mended_json
from transformer.parser.opencall import is_rejected, is_streamed
from transformer.records import Effect

S, T, E = State, Token, Effect

# -- the open call

# Values that mean: no arguments.
_NOTHING = ("null", "None", '""', "''")


class ObjectCall(JsonCall):
    """The registers of a call of this grammar."""

    __slots__ = ("bare", "brackets", "ended", "headed", "named", "sign")

    def __init__(self, m: Machine, text: str, bare: bool = False) -> None:
        super().__init__(m, text)
        self.live = self.live and not self.keep  # a repair needs the arguments as a whole
        self.bare = bare  # there is no marker before it
        self.headed = False  # its name precedes its arguments, without an object around both
        self.named = -1  # where its name ends
        self.ended = False  # its arguments are whole
        self.brackets = JsonScanner()  # of the value that is being read
        self.sign = ""  # the last sign of the arguments, outside of strings

    def name_it(self, m: Machine, name: str) -> None:
        """From here on the tool is known. Arguments that have come before may leave now."""
        self.name, self.named = name, m.pos
        self.live = self.live and not m.choice.rejects(name)
        if self.args_start >= 0:
            self._send(m, "", self.args_end)

    def named_until(self) -> int:
        return max(self.named, super().named_until())

    def mended(self, more: str = "") -> str | None:
        """The arguments, and `more` after them, as the JSON that was most likely meant, if the policy repairs;
        None where they are good, or where that cannot be told.
        """
        text = str(self.args) + (str(self.space) + more if more else "")
        if not self.keep or not text or text in _NOTHING or is_object(text):
            return None
        return next(mended_json(text), None)

    def deliver(self, m: Machine, end: int, complete: bool) -> None:
        if complete and not self.begun:
            self._settle(m)
        super().deliver(m, end, complete)

    def _settle(self, m: Machine) -> None:
        """The arguments as they are sent: none if the model says so, repaired if the policy wants that."""
        better = self.mended()
        if better is not None:
            m.found("repaired-arguments", self.args_start, self.args_end, tool=self.name)
            self.args = Text(better)
        elif str(self.args) in _NOTHING:
            self.args = Text()

    def clone(self) -> ObjectCall:
        twin = super().clone()
        assert isinstance(twin, ObjectCall)
        twin.brackets = self.brackets.clone()
        return twin


class ObjectMachine(JsonMachine):
    """A machine that has such a call open."""

    __slots__ = ()
    call: ObjectCall


# -- guards


@guard("the markers are tokens that nobody types")
def is_special(m: ObjectMachine, name: str) -> bool:
    return spelling_of(m).special


@guard("it stands at the start of a line, outside of code, and objects need no marker here")
def can_be_bare(m: ObjectMachine, name: str) -> bool:
    return m.line and not m.markdown.fenced and spelling_of(m).bare


@guard("a marker stands before the object")
def is_marked(m: ObjectMachine, name: str) -> bool:
    return m.wrapped


@guard("the name and the arguments are complete")
def has_all(m: ObjectMachine, name: str) -> bool:
    return bool(m.call.name and m.call.ended)


@guard("the name and the arguments are complete, and the policy wants the call")
def is_whole_call(m: ObjectMachine, name: str) -> bool:
    call = m.call
    return has_all.holds(m, name) and not m.choice.rejects(call.name)


@guard("no marker stands before the object, and it is not a key of a call")
def is_foreign_key(m: ObjectMachine, name: str) -> bool:
    known = (*NAME_KEYS, *OTHER_KEYS, *spelling_of(m).keys)
    return m.call.bare and name not in known and not has_all.holds(m, name)


@guard("it is the key of the name, for the first time")
def is_name_key(m: ObjectMachine, name: str) -> bool:
    return name in NAME_KEYS and not m.call.name


@guard("it is the key of the arguments, for the first time")
def is_arguments_key(m: ObjectMachine, name: str) -> bool:
    return name in spelling_of(m).keys and not m.call.ended


@guard("it is the key of the arguments once more")
def is_repeated_key(m: ObjectMachine, name: str) -> bool:
    return name in spelling_of(m).keys


@guard("no marker stands before the object, and no such tool was offered")
def is_foreign_name(m: ObjectMachine, name: str) -> bool:
    return m.call.bare and m.choice.tools_known and m.tool(name) is None


@guard("it is empty")
def is_empty(m: ObjectMachine, name: str) -> bool:
    return not name


@guard("it names no tool, or has neither a marker nor arguments")
def is_no_call(m: ObjectMachine, name: str) -> bool:
    call = m.call
    return not call.name or (call.bare and call.args_start < 0)


@guard("the policy repairs, and its arguments are nearly JSON")
def is_mendable(m: ObjectMachine, name: str) -> bool:
    call = m.call
    return call.mended() is not None


@guard("the name stands before the arguments, without an object around both")
def is_headed(m: ObjectMachine, name: str) -> bool:
    return bool(m.call.headed)


@guard("a string can begin here")
def can_begin_string(m: ObjectMachine, name: str) -> bool:
    return m.call.sign in ("{", "[", ",", ":")


@guard("it closes the arguments of a call that stays text, because its tool was not offered")
def closes_rejected(m: ObjectMachine, name: str) -> bool:
    call = m.call
    return closes_call.holds(m, name) and m.choice.rejects(call.name)


@guard("it closes arguments that are nearly JSON, there is no object around them, and the policy repairs")
def closes_mendable(m: ObjectMachine, name: str) -> bool:
    call = m.call
    return closes_call.holds(m, name) and call.mended(name) is not None


@guard("it closes the arguments, and there is no object around them")
def closes_call(m: ObjectMachine, name: str) -> bool:
    call = m.call
    return call.headed and call.brackets.depth <= 1


@guard("it closes the arguments")
def closes_arguments(m: ObjectMachine, name: str) -> bool:
    return m.call.brackets.depth <= 1


@guard("it is all there is of the arguments")
def is_whole_value(m: ObjectMachine, name: str) -> bool:
    return m.call.brackets.depth == 0


@guard("it is inside a bracket of the member")
def is_in_member(m: ObjectMachine, name: str) -> bool:
    return m.call.brackets.depth > 0


@guard("it is not inside a bracket of the member")
def ends_member(m: ObjectMachine, name: str) -> bool:
    return m.call.brackets.depth == 0


# -- actions: a call begins, or does not


def begin_call(m: ObjectMachine, text: str, name: str) -> None:
    m.wrapped = True
    m.call = ObjectCall(m, text)


def begin_bare(m: ObjectMachine, text: str, name: str) -> None:
    m.wrapped = False
    m.call = ObjectCall(m, text, bare=True)


def begin_further(m: ObjectMachine, text: str, name: str) -> None:
    """A further object after the same marker, if there was one."""
    m.call = ObjectCall(m, text, bare=not m.wrapped)


def not_a_call(m: ObjectMachine, text: str, name: str) -> None:
    """A marker merely named in prose, or JSON that is not a call."""
    m.wrapped = False
    stay_text(m, text, name)


def stay_text(m: ObjectMachine, text: str, name: str) -> None:
    m.call.release(m)
    m.say(text)


def malformed(m: ObjectMachine, text: str, name: str) -> None:
    """Something else is where JSON should be."""
    if m.call.name:
        _tell_malformed(m, m.pos - len(text.lstrip()), "it is not JSON")
    not_a_call(m, text, name)


def unnamed(m: ObjectMachine, text: str, name: str) -> None:
    """The object is complete, but it is not a call."""
    if m.call.args_start >= 0:
        _tell_malformed(m, m.pos, "it names no tool")
    stay_text(m, text, name)


def _tell_malformed(m: ObjectMachine, end: int, reason: str) -> None:
    m.found("malformed-call", m.call.start, end, tool=m.call.name or "a tool", reason=reason)


# -- actions: its members


def name_header(m: ObjectMachine, text: str, name: str) -> None:
    call = m.call
    header = spelling_of(m).header
    found = re.match(header.pattern, text) if header is not None else None
    call.id = (found.groupdict().get("id") if found is not None else None) or ""
    call.headed = True
    name_call(m, text, name)


def name_call(m: ObjectMachine, text: str, name: str) -> None:
    m.call.add(text)
    m.call.name_it(m, name)


def begin_member(m: ObjectMachine, text: str, name: str) -> None:
    m.call.add(text)
    m.call.brackets = JsonScanner()


def skip_repeated(m: ObjectMachine, text: str, name: str) -> None:
    m.found("duplicate-parameter", m.pos - len(text), m.pos, parameter=name)
    begin_member(m, text, name)


def member_bracket(m: ObjectMachine, text: str, name: str) -> None:
    m.call.add(text)
    m.call.brackets.feed(text)


def begin_arguments(m: ObjectMachine, text: str, name: str) -> None:
    m.call.brackets = JsonScanner()
    bracket(m, text, name)


def begin_array(m: ObjectMachine, text: str, name: str) -> None:
    m.call.live = False
    begin_arguments(m, text, name)


def begin_scalar(m: ObjectMachine, text: str, name: str) -> None:
    """Arguments that are not an object wait for their end: they may mean that there are none."""
    m.call.live = False
    m.call.brackets = JsonScanner()
    argument(m, text, name)


def argument(m: ObjectMachine, text: str, name: str) -> None:
    call = m.call
    call.sign = text.rstrip()[-1:] or call.sign
    call.argument(m, text)


def bracket(m: ObjectMachine, text: str, name: str) -> None:
    m.call.brackets.feed(text)
    argument(m, text, name)


def end_arguments(m: ObjectMachine, text: str, name: str) -> None:
    bracket(m, text, name)
    m.call.ended = True


def string(m: ObjectMachine, text: str, name: str) -> None:
    """Inside a string whitespace counts, and nothing is held back."""
    m.call.pass_on(m, text)


def end_string(m: ObjectMachine, text: str, name: str) -> None:
    m.call.sign = text
    m.call.pass_on(m, text)


def end_whole_string(m: ObjectMachine, text: str, name: str) -> None:
    end_string(m, text, name)
    m.call.ended = True


def end_scalar(m: ObjectMachine, text: str, name: str) -> None:
    m.call.add(text)
    m.call.ended = True


# -- actions: it ends


def complete_call(m: ObjectMachine, text: str, name: str) -> None:
    m.call.add(text)
    m.call.deliver(m, m.pos, complete=True)


def complete_headed(m: ObjectMachine, text: str, name: str) -> None:
    bracket(m, text, name)
    m.call.deliver(m, m.pos, complete=True)


def release_headed(m: ObjectMachine, text: str, name: str) -> None:
    """The bracket belongs to the arguments."""
    bracket(m, text, name)
    m.call.release(m)


def complete_empty(m: ObjectMachine, text: str, name: str) -> None:
    m.call.deliver(m, m.pos - len(text), complete=True)


def complete_unended(m: ObjectMachine, text: str, name: str) -> None:
    """The end of its JSON is missing; the token after it cannot be part of that."""
    call = m.call
    end = m.pos - len(text.lstrip())
    m.found("repaired-call", call.start, end, tool=call.name, closing="}")
    call.deliver(m, end, complete=True)


def repair(m: ObjectMachine, text: str, name: str) -> None:
    m.call.repair(m, "}")


def close_cut(m: ObjectMachine, text: str, name: str) -> None:
    """The answer ended inside the arguments: the call is closed as it is."""
    call = m.call
    m.found("truncated-call", call.start, m.pos, tool=call.name, fate="it was closed as it is")
    call.deliver(m, m.pos, complete=False)


def give_up(m: ObjectMachine, text: str, name: str) -> None:
    call = m.call
    if call.name or call.args_start >= 0:
        fate = "it went to the client as text"
        m.found("truncated-call", call.start, m.pos, tool=call.name or "a tool", fate=fate)
    call.release(m)


# -- actions: around it


def bare_text_after(m: ObjectMachine, text: str, name: str) -> None:
    """Whitespace before it was part of the call that has just ended."""
    m.prev = text[-1]
    text_after(m, text.lstrip(), name)


# -- the table

_BEGIN = E.BEGINS | E.HELD
_REPAIRED = E.REPAIRS | E.COMPLETES
_NOT_OFFERED = "only offered tools are called here"
_NO_NAME = "nothing says which tool is meant"
_NO_OBJECT = "no JSON object follows the name"


def _at_markers(*cases: Rule) -> Block:
    """Rules for the markers that end what is open. A case says what becomes of it, and which state a closing
    marker leads to; an opening one begins the next call.
    """
    closing: Mapping[StrEnum, Action] = {S.TEXT: prose, S.AFTER: close_marker}
    return {
        T.CLOSE: [case._replace(action=then(case.action, closing[case.to])) for case in cases],
        T.OPEN: [
            case._replace(to=S.MARKED, effect=case.effect | _BEGIN, action=then(case.action, begin_call))
            for case in cases
        ],
    }


# fmt: off
ENDS = [
    Rule(S.DONE, E.GIVES_UP, give_up, "the answer ended, and this is not a call", is_no_call),
    Rule(S.DONE, E.GIVES_UP, give_up, _NOT_OFFERED, is_rejected),
    Rule(S.DONE, _REPAIRED, complete_unended, "only the end of the object is missing", has_all),
    Rule(S.DONE, _REPAIRED, repair, "what is missing is clear", is_repairable),
    Rule(S.DONE, E.CUTS, close_cut, "the client keeps what it has of it", is_streamed),
    Rule(S.DONE, E.GIVES_UP, give_up, "the answer ended inside the call, so it is text"),
]
_OBJECT_ENDS = [
    Rule(S.REJECTED, E.GIVES_UP, unnamed, _NO_NAME, is_no_call),
    Rule(S.REJECTED, E.GIVES_UP, stay_text, _NOT_OFFERED, is_rejected),
    Rule(S.NEXT, _REPAIRED, complete_call, "complete, with arguments as they were meant", is_mendable),
    Rule(S.NEXT, E.COMPLETES, complete_call, "the call is complete"),
]
_NOT_ENDED = Rule(S.AFTER, _REPAIRED, complete_unended, "it ends the call that is open")
_STAYS_TEXT = (
    Rule(S.TEXT, E.GIVES_UP, release, _NO_NAME, is_no_call),
    Rule(S.TEXT, E.GIVES_UP, release, _NOT_OFFERED, is_rejected),
)
_MARKER_ENDS = _at_markers(*_STAYS_TEXT, _NOT_ENDED)
_HEADED = Rule(S.TEXT, E.GIVES_UP, malformed, _NO_OBJECT, is_headed)

TRANSITIONS = table(
    tuple(Token),
    {
        S.TEXT: (
            {
                T.OPEN: Rule(S.MARKED, _BEGIN, begin_call, "a call, if its JSON follows"),
                T.BRACE: [Rule(S.OBJECT, _BEGIN, begin_bare, "a call, if it names an offered tool", can_be_bare)],
                T.CLOSE: [Rule(S.TEXT, E.DROPPED, drop_token, "a token that means nothing here", is_special)],
                T.END: Rule(S.DONE, E.NONE, ignore, "the answer is over"),
            },
            Rule(S.TEXT, E.PROSE, prose, "text leaves at once"),
        ),
        S.MARKED: (
            {
                T.SPACE: Rule(S.MARKED, E.HELD, hold, "whitespace before the JSON"),
                T.OPEN: Rule(S.MARKED, E.HELD, hold, "several markers may stand before a call"),
                T.BRACKET: Rule(S.MARKED, E.HELD, hold, "a list of calls"),
                T.BRACE: Rule(S.OBJECT, E.HELD, hold, "the call's object"),
                T.HEADER: Rule(S.VALUE, E.NAMES | E.HELD, name_header, "the tool's name, then its arguments"),
                T.CUT: Rule(S.MARKED, E.HELD, hold, "the answer ends here"),
                T.END: Rule(S.DONE, E.GIVES_UP, give_up, "a marker alone is text"),
            },
            Rule(S.TEXT, E.GIVES_UP, not_a_call, "a marker merely named in prose"),
        ),
        S.OBJECT: (
            {
                (T.SPACE, T.COMMA, T.CUT): Rule(S.OBJECT, E.HELD, hold, "between two members"),
                T.KEY: [
                    Rule(S.TEXT, E.GIVES_UP, not_a_call, "JSON of another kind", is_foreign_key),
                    Rule(S.NAME, E.HELD, hold, "the tool's name follows", is_name_key),
                    Rule(S.VALUE, E.HELD, hold, "the arguments follow", is_arguments_key),
                    Rule(S.OTHER, E.HELD, skip_repeated, "only the first arguments count", is_repeated_key),
                    Rule(S.OTHER, E.HELD, begin_member, "a member that means nothing here"),
                ],
                T.END_BRACE: _OBJECT_ENDS,
                **_MARKER_ENDS,
                T.END_BRACKET: [
                    Rule(S.AFTER, _REPAIRED, then(complete_unended, swallow), "it ends the list, and the call in it",
                         is_whole_call),
                ],
                (T.TEXT, T.BRACE): [
                    Rule(S.TEXT, _REPAIRED | E.PROSE, then(complete_unended, bare_text_after),
                         "the call has all it needs, and this is not part of it", is_whole_call),
                ],
                T.END: ENDS,
            },
            Rule(S.TEXT, E.GIVES_UP, malformed, "not JSON, so not a call"),
        ),
        S.NAME: (
            {
                (T.SPACE, T.CUT): Rule(S.NAME, E.HELD, hold, "before the name"),
                T.NAME: [
                    Rule(S.TEXT, E.GIVES_UP, not_a_call, "JSON of another kind", is_foreign_name),
                    Rule(S.TEXT, E.GIVES_UP, not_a_call, _NO_NAME, is_empty),
                    Rule(S.OBJECT, E.NAMES | E.HELD, name_call, "the tool's name"),
                ],
                T.OPEN: Rule(S.MARKED, E.GIVES_UP | _BEGIN, then(release, begin_call), "the one before it was text"),
                T.END: ENDS,
            },
            Rule(S.TEXT, E.GIVES_UP, not_a_call, "a name is a string"),
        ),
        S.VALUE: (
            {
                (T.SPACE, T.CUT): Rule(S.VALUE, E.HELD, hold, "before the arguments"),
                T.BRACE: Rule(S.ARGUMENTS, E.ARGUMENT, begin_arguments, "passed on as written"),
                T.BRACKET: Rule(S.ARGUMENTS, E.ARGUMENT, begin_array, "passed on as written"),
                T.QUOTE: [_HEADED, Rule(S.STRING, E.ARGUMENT, begin_scalar, "passed on as written")],
                T.APOSTROPHE: [_HEADED, Rule(S.QUOTED, E.ARGUMENT, begin_scalar, "passed on as written")],
                T.TEXT: [_HEADED, Rule(S.SCALAR, E.ARGUMENT, begin_scalar, "passed on as written")],
                **_at_markers(
                    *_STAYS_TEXT,
                    Rule(S.AFTER, E.COMPLETES, complete_empty, "a call without arguments", is_headed),
                    _NOT_ENDED,
                ),
                T.END: ENDS,
            },
            Rule(S.TEXT, E.GIVES_UP, malformed, "not JSON, so not a call"),
        ),
        S.ARGUMENTS: (
            {
                (T.TEXT, T.SPACE): Rule(S.ARGUMENTS, E.ARGUMENT, argument, "passed on as written"),
                T.QUOTE: Rule(S.STRING, E.ARGUMENT, argument, "a string begins"),
                T.APOSTROPHE: [
                    Rule(S.QUOTED, E.ARGUMENT, argument, "a string as Python writes it", can_begin_string),
                ],
                (T.BRACE, T.BRACKET): Rule(S.ARGUMENTS, E.ARGUMENT, bracket, "an object or a list begins"),
                (T.END_BRACE, T.END_BRACKET): [
                    Rule(S.REJECTED, E.GIVES_UP, release_headed, _NOT_OFFERED, closes_rejected),
                    Rule(S.NEXT, _REPAIRED, complete_headed, "complete, with arguments as they were meant",
                         closes_mendable),
                    Rule(S.NEXT, E.COMPLETES, complete_headed, "the call is complete", closes_call),
                    Rule(S.OBJECT, E.ARGUMENT, end_arguments, "the arguments are complete", closes_arguments),
                    Rule(S.ARGUMENTS, E.ARGUMENT, bracket, "an object or a list ends"),
                ],
                T.CUT: Rule(S.ARGUMENTS, E.HELD, hold, "part of a marker, which is not JSON"),
                **_MARKER_ENDS,
                T.END: ENDS,
            },
            Rule(S.ARGUMENTS, E.ARGUMENT, argument, "not JSON, but passed on as written"),
        ),
        S.STRING: (
            {
                T.QUOTE: [
                    Rule(S.OBJECT, E.ARGUMENT, end_whole_string, "the arguments were a string", is_whole_value),
                    Rule(S.ARGUMENTS, E.ARGUMENT, end_string, "the string ends"),
                ],
                T.END: ENDS,
            },
            Rule(S.STRING, E.ARGUMENT, string, "inside a string everything is data"),
        ),
        S.QUOTED: (
            {
                T.APOSTROPHE: [
                    Rule(S.OBJECT, E.ARGUMENT, end_whole_string, "the arguments were a string", is_whole_value),
                    Rule(S.ARGUMENTS, E.ARGUMENT, end_string, "the string ends"),
                ],
                T.END: ENDS,
            },
            Rule(S.QUOTED, E.ARGUMENT, string, "inside a string everything is data"),
        ),
        S.SCALAR: (
            {
                T.COMMA: Rule(S.OBJECT, E.HELD, end_scalar, "the arguments are over"),
                T.END_BRACE: _OBJECT_ENDS,
                T.CUT: Rule(S.SCALAR, E.HELD, hold, "part of a marker, which is not JSON"),
                **_MARKER_ENDS,
                T.END: ENDS,
            },
            Rule(S.SCALAR, E.ARGUMENT, argument, "passed on as written"),
        ),
        S.OTHER: (
            {
                T.QUOTE: Rule(S.OTHER_STRING, E.HELD, hold, "a string begins"),
                (T.BRACE, T.BRACKET): Rule(S.OTHER, E.HELD, member_bracket, "an object or a list begins"),
                T.END_BRACKET: Rule(S.OTHER, E.HELD, member_bracket, "a list ends"),
                T.END_BRACE: [
                    Rule(S.OTHER, E.HELD, member_bracket, "an object ends", is_in_member),
                    *_OBJECT_ENDS,
                ],
                T.COMMA: [Rule(S.OBJECT, E.HELD, hold, "the next member", ends_member)],
                **_MARKER_ENDS,
                T.END: ENDS,
            },
            Rule(S.OTHER, E.HELD, hold, "it means nothing here"),
        ),
        S.OTHER_STRING: (
            {
                T.QUOTE: Rule(S.OTHER, E.HELD, hold, "the string ends"),
                T.END: ENDS,
            },
            Rule(S.OTHER_STRING, E.HELD, hold, "inside a string everything is data"),
        ),
        S.NEXT: (
            {
                T.SPACE: Rule(S.NEXT, E.PROSE, prose, "dropped, unless text follows"),
                T.BRACE: Rule(S.OBJECT, _BEGIN, begin_further, "a further call"),
                T.SEPARATOR: Rule(S.NEXT, E.MARKUP, swallow, "a further call follows"),
                T.END_BRACKET: [Rule(S.AFTER, E.MARKUP, swallow, "the list ends", is_marked)],
                T.END_BRACE: [Rule(S.NEXT, E.DROPPED, drop_token, "a brace too many", is_marked)],
                T.OPEN: Rule(S.MARKED, _BEGIN, begin_call, "a further call, if its JSON follows"),
                T.CLOSE: Rule(S.AFTER, E.MARKUP, close_marker, "it ends the call before it"),
                T.CUT: Rule(S.NEXT, E.DROPPED, drop_token, "part of a marker"),
                T.END: Rule(S.DONE, E.NONE, ignore, "the answer is over"),
            },
            Rule(S.TEXT, E.PROSE, text_after, "text after a call"),
        ),
        S.REJECTED: (
            {
                T.SPACE: Rule(S.REJECTED, E.PROSE, prose, "it stays text"),
                (T.SEPARATOR, T.END_BRACKET): Rule(S.REJECTED, E.PROSE, prose, "part of the same text"),
                T.BRACE: Rule(S.OBJECT, _BEGIN, begin_further, "a further call"),
                T.OPEN: Rule(S.MARKED, _BEGIN, begin_call, "a further call, if its JSON follows"),
                T.END: Rule(S.DONE, E.NONE, ignore, "the answer is over"),
            },
            Rule(S.TEXT, E.PROSE, text_after, "text follows, or the marker that ends it"),
        ),
        S.AFTER: (
            {
                T.SPACE: Rule(S.AFTER, E.PROSE, prose, "dropped, unless text follows"),
                T.OPEN: Rule(S.MARKED, _BEGIN, begin_call, "a further call, if its JSON follows"),
                T.BRACE: [Rule(S.OBJECT, _BEGIN, begin_bare, "a call, if it names an offered tool", can_be_bare)],
                T.CLOSE: Rule(S.AFTER, E.MARKUP, close_marker, "several may stand after a call"),
                T.CUT: Rule(S.AFTER, E.DROPPED, drop_token, "part of a marker"),
                T.END: Rule(S.DONE, E.NONE, ignore, "the answer is over"),
            },
            Rule(S.TEXT, E.PROSE, text_after, "text after a call"),
        ),
        S.DONE: ({}, Rule(S.DONE, E.NONE, ignore, "nothing comes after the end")),
    },
)
# fmt: on


def json_grammar(spelling: JsonSpelling) -> dict[str, Any]:
    """What a `Dialect` of this grammar is made of."""
    states, tokens, waits = spelling.words()
    return {
        "states": tuple(State),
        "tokens": tuple(Token),
        "transitions": TRANSITIONS,
        "lexicons": spelling.lexicons(),
        "read": read,
        "leftover": spelling.leftover,
        "states_in_words": states,
        "tokens_in_words": tokens,
        "waits_for": waits,
        "fenced": spelling.bare,
        "spelling": spelling,
        "own_json": True,
    }
