"""The states and tokens of roo-xml, and how its text becomes tokens."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum, auto

from transformer.calls.tagcall import TagCall
from transformer.dialects.roo_xml.html import HTML_ELEMENTS
from transformer.lexer import Lexicon, upto
from transformer.machine import Machine


class State(StrEnum):
    TEXT = auto()
    THINKING = auto()  # behind <think>: what stands here is thought of, not done
    CALL = auto()  # behind the tag of an offered tool
    UNKNOWN = auto()  # behind a tag that may be a tool nobody offered
    VALUE = auto()
    CLOSED = auto()  # behind a closing tag that ends the value if structure follows
    EXAMPLE = auto()  # inside the value, in an example of this very call
    EXAMPLE_CLOSED = auto()
    BROKEN = auto()  # behind </tool> at the start of a line, the value still open
    AFTER = auto()  # behind a call
    DONE = auto()


class Token(StrEnum):
    TEXT = auto()
    SPACE = auto()
    THINK = auto()  # <think> or <thinking> at the start of a line
    CLOSE_THINK = auto()  # </think> or </thinking>
    TOOL = auto()  # <name> at the start of a line: a tool that was offered
    MAYBE_TOOL = auto()  # <name> at the start of a line, outside a fence: a tool that was not
    PARAMETER = auto()  # <name> of a parameter this call may still have
    ELEMENT = auto()  # <name> the schema doesn't know
    CLOSE = auto()  # </name> of the open parameter, or of an element looked ahead into
    CLOSE_CALL = auto()  # </tool>
    CLOSE_LINE = auto()  # </tool> at the start of a line
    CLOSE_INNER = auto()  # </tool> of an example inside an example
    OWN = auto()  # <tool> of this call at the start of a line
    OWN_UNKNOWN = auto()  # the same, where the tool was not offered
    END = auto()


NAME_LIMIT = 256  # a longer "name" is text: nothing is held back for it without end
TAG = re.compile(rf"<(/?)([^\s<>/]{{1,{NAME_LIMIT}}})>")
_PARTIAL = re.compile(rf"</?[^\s<>/]{{0,{NAME_LIMIT}}}\Z")
LEXICON = Lexicon(upto("<"), TAG, _PARTIAL)
_UNKNOWN_NAME = re.compile(r"[A-Za-z_][\w.:-]*\Z")
_THINK = frozenset({"think", "thinking"})
_NO_TOOL = HTML_ELEMENTS | _THINK


def classify(m: Machine, text: str, match: re.Match[str]) -> tuple[StrEnum, str]:
    """What a tag is depends on the open call and on where it stands."""
    closing, name = match.group(1), match.group(2)
    line = m.line_start(text, match.start())
    call: TagCall | None = m.call
    if call is None:
        return _outside(m, name, bool(closing), line), name
    if closing:
        return _closing(call, name, line), name
    if name == call.name and line and m.examples:
        return (Token.OWN if call.offered else Token.OWN_UNKNOWN), name
    return _inside(m, call, name, line), name


def _outside(m: Machine, name: str, closing: bool, line: bool) -> Token:
    if closing:
        return Token.CLOSE_THINK if name in _THINK else Token.TEXT
    if not line:
        return Token.TEXT
    if m.tool(name) is not None:
        return Token.TOOL
    if name in _THINK:
        return Token.THINK
    return Token.MAYBE_TOOL if _may_be_tool(m, name) and name.lower() not in _NO_TOOL else Token.TEXT


def _may_be_tool(m: Machine, name: str) -> bool:
    if m.choice.policy.unknown_tools == "text" or m.fences.open or m.pos < m.offered_until:
        return False
    return _UNKNOWN_NAME.match(name) is not None


def _closing(call: TagCall, name: str, line: bool) -> Token:
    if name == call.name:
        if call.depth > 1:
            return Token.CLOSE_INNER
        return Token.CLOSE_LINE if line else Token.CLOSE_CALL
    return Token.CLOSE if name == call.key or name in call.ahead else Token.TEXT


def _inside(m: Machine, call: TagCall, name: str, line: bool) -> Token:
    tool = call.tool
    if tool is not None and tool.knows(name):
        fresh = name not in call.given and name != call.key
        return Token.PARAMETER if fresh or tool.repeats(name) else Token.TEXT
    return Token.TOOL if line and m.tool(name) is not None else Token.ELEMENT


def undecided(m: Machine, text: str, start: int) -> bool:
    """Whether the beginning of a tag at the end of the text may still mean something here."""
    closing = text.startswith("</", start)
    name = text[start + 2 if closing else start + 1 :]
    call: TagCall | None = m.call
    line = m.line_start(text, start)
    if call is None:
        return _undecided_outside(m, name, closing, line)
    if m.state not in (State.VALUE, State.EXAMPLE):
        return True
    if not name and not closing:
        return True
    if closing:
        return bool(call.ahead) or _begins(name, (call.name, call.key))
    return line and call.name.startswith(name)


def _undecided_outside(m: Machine, name: str, closing: bool, line: bool) -> bool:
    if m.state is State.THINKING:
        # All of it is text; but what ends the thought, or names a call, must be seen whole.
        ends = (closing or not name) and _begins(name, _THINK)
        return ends or (line and not closing and _begins(name, m.choice.tools))
    if closing or not line:
        return False
    return _may_be_tool(m, name or "_") or _begins(name, m.choice.tools) or _begins(name, _THINK)


def _begins(name: str, names: Iterable[str]) -> bool:
    return any(known.startswith(name) for known in names)
