"""The states and tokens of qwen3-coder, and how its text becomes tokens."""

from __future__ import annotations

import re
from enum import StrEnum, auto

from transformer.calls.tagcall import TagCall
from transformer.calls.tags import may_repair
from transformer.lexer import Lexicon, beginnings, upto
from transformer.machine import Machine


class State(StrEnum):
    TEXT = auto()
    WRAPPER = auto()  # behind <tool_call>, waiting for <function=
    FUNCTION = auto()  # behind <function=name>
    VALUE = auto()
    CLOSED = auto()  # behind </parameter>, which ends the value if structure follows
    UNCLOSED = auto()  # behind </function> in an open value: the end, or data
    EXAMPLE = auto()  # inside the value, in an example of a call
    EXAMPLE_CLOSED = auto()
    AFTER = auto()  # behind a call
    DONE = auto()


class Token(StrEnum):
    TEXT = auto()
    SPACE = auto()
    TOOL_CALL = auto()  # <tool_call>
    FUNCTION = auto()  # <function=name> that can start a call here
    FOREIGN = auto()  # <function=name> of a tool nobody offered, without <tool_call>
    EXAMPLE = auto()  # <function=name> at the start of a line inside a call
    PARAMETER = auto()  # <parameter=key>
    NEW_PARAMETER = auto()  # <parameter=key> at the start of a line, in the schema, not given yet
    INLINE = auto()  # <parameter=key=value</parameter>, where repairs are wanted
    CLOSE_PARAMETER = auto()
    CLOSE_FUNCTION = auto()
    CLOSE_INNER = auto()  # </function> of an example inside an example
    CLOSE_TOOL_CALL = auto()
    END = auto()


_NAME = r"[^<>\n]{1,256}"
_INLINE = r"<parameter=([^<>\n=]{1,256})=([^<>\n]{0,1024})"
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
    "<tool_call>": Token.TOOL_CALL,
    "</parameter>": Token.CLOSE_PARAMETER,
    "</function>": Token.CLOSE_FUNCTION,
    "</tool_call>": Token.CLOSE_TOOL_CALL,
}


def classify(m: Machine, text: str, match: re.Match[str]) -> tuple[StrEnum, str]:
    call: TagCall | None = m.call
    kind, name = match.group(1), match.group(2)
    if kind == "function":
        return _function(m, name.strip(), m.line_start(text, match.start())), name.strip()
    if kind == "parameter":
        return _parameter(call, name.strip(), m.line_start(text, match.start())), name.strip()
    if match.group(3) is not None:
        return (Token.INLINE if _may_inline(m, match.group(3)) else Token.TEXT), match.group(3)
    token = _FIXED[match.group()]
    if token is Token.CLOSE_FUNCTION and call is not None and call.depth > 1:
        token = Token.CLOSE_INNER
    return token, ""


def _function(m: Machine, name: str, line: bool) -> Token:
    if not name:
        return Token.TEXT
    call = m.call
    if call is not None and call.key:
        return Token.EXAMPLE if line and m.examples and m.state is not State.UNCLOSED else _starter(m, name)
    return _starter(m, name)


def _starter(m: Machine, name: str) -> Token:
    wrapped = m.wrapped and m.choice.policy.unknown_tools != "text"
    return Token.FUNCTION if wrapped or m.tool(name) is not None else Token.FOREIGN


def _parameter(call: TagCall | None, key: str, line: bool) -> Token:
    if call is None or not key:
        return Token.TEXT
    tool = call.tool
    fresh = key != call.key and key not in call.given
    known = tool is not None and tool.knows(key)
    return Token.NEW_PARAMETER if line and fresh and known else Token.PARAMETER


def _may_inline(m: Machine, key: str) -> bool:
    call: TagCall | None = m.call
    return call is not None and may_repair(m, key)


def undecided(m: Machine, text: str, start: int) -> bool:
    """Outside a call only what may begin one is held back, and behind one its </tool_call>."""
    if m.call is not None:
        return True
    part = text[start:]
    if part.startswith("<function=") and not m.wrapped:
        return any(known.startswith(part[10:]) for known in m.choice.tools)
    if m.state is State.AFTER and "</tool_call>".startswith(part):
        return True
    return part.startswith("<function=") or "<function=".startswith(part) or "<tool_call>".startswith(part)
