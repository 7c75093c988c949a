"""The tags of roo-xml: their shape, names that mean something else already, and how they become tokens."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum, auto

from transformer.parser.dialect import USUAL_STATES, USUAL_TOKENS, Lexicon, upto
from transformer.parser.tagcall import NAME_LIMIT, TagCall, TagMachine

TAG_NAME = rf"[^\s<>/]{{1,{NAME_LIMIT}}}"
_MOST_ATTRIBUTES = 512  # characters of a tag after its name
TAG = re.compile(rf"<(/?)({TAG_NAME})(?:>|([ \t]{{1,16}})>|(\s[^<>]{{1,{_MOST_ATTRIBUTES}}})>)")
_TAG_BEGUN = re.compile(rf"</?[^\s<>/]{{0,{NAME_LIMIT}}}\Z|<{TAG_NAME}\s[^<>]{{0,{_MOST_ATTRIBUTES}}}\Z")
LEXICON = Lexicon(upto("<"), TAG, _TAG_BEGUN)

# A model that writes one of these at the start of a line writes HTML.
HTML_ELEMENTS = frozenset(
    """
    a abbr acronym address applet area article aside audio b base basefont bdi bdo big blockquote body br
    button canvas caption center cite code col colgroup data datalist dd del details dfn dialog dir div dl dt
    em embed fieldset figcaption figure font footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup
    hr html i iframe img input ins kbd label legend li link main map mark marquee menu meta meter nav nobr
    noframes noscript object ol optgroup option output p param picture plaintext portal pre progress q rp rt
    ruby s samp script search section select slot small source span strike strong style sub summary sup svg
    table tbody td template textarea tfoot th thead time title tr track tt u ul var video wbr xmp
    """.split()
)
THINK = frozenset({"think", "thinking"})
NO_TOOL = HTML_ELEMENTS | THINK


# -- states and tokens


class State(StrEnum):
    TEXT = auto()
    THINKING = auto()
    CALL = auto()
    UNKNOWN = auto()
    VALUE = auto()
    CLOSED = auto()
    EXAMPLE = auto()
    EXAMPLE_CLOSED = auto()
    BROKEN = auto()
    AFTER = auto()
    DONE = auto()


class Token(StrEnum):
    TEXT = auto()
    SPACE = auto()
    OPEN = auto()
    SPACED = auto()
    ATTRIBUTES = auto()
    CLOSE = auto()
    END = auto()


S, T = State, Token

STATES: dict[str, str] = {
    **USUAL_STATES,
    S.THINKING: "after <think>, where calls are only thought of",
    S.CALL: "after the tag of an offered tool, before its first parameter",
    S.UNKNOWN: "after a tag that may be a tool nobody offered",
    S.CLOSED: "after a closing tag that ends the value if a parameter or the call's end follows",
    S.EXAMPLE: "inside a value, in an example of this very call",
    S.EXAMPLE_CLOSED: "in such an example, after the closing tag of the parameter",
    S.BROKEN: "after the call's closing tag at the start of a line, its parameter still open",
}
TOKENS: dict[str, str] = {
    **USUAL_TOKENS,
    T.OPEN: "an opening tag",
    T.SPACED: "an opening tag with blanks before its end",
    T.ATTRIBUTES: "an opening tag with attributes",
    T.CLOSE: "a closing tag",
}
WAITS_FOR = {
    S.CALL: "a parameter or the call's closing tag",
    S.UNKNOWN: "a child, which would make it a call",
    S.VALUE: "the tag that closes the parameter",
    S.CLOSED: "what follows the closing tag: a parameter, or the call's end",
    S.EXAMPLE: "the end of the example",
    S.EXAMPLE_CLOSED: "the end of the example",
    S.BROKEN: "what follows: another call would show that this one is broken",
}

_BLANK = re.compile(r"\s")
_UNKNOWN_NAME = re.compile(r"[A-Za-z_][\w.:-]*\Z")


def read(match: re.Match[str]) -> tuple[StrEnum, str]:
    if match[1]:
        return (T.TEXT if match[3] or match[4] else T.CLOSE), match[2]
    return (T.SPACED if match[3] else T.ATTRIBUTES if match[4] else T.OPEN), match[2]


class Named:
    """Remembers tags that stayed text, and how far an answer was read again."""

    __slots__ = ("offered_until", "tags")

    def __init__(self) -> None:
        self.tags: dict[str, tuple[int, bool]] = {}  # of offered tools: where, and alone on its line
        self.offered_until = 0  # up to here only offered tools count

    def clone(self) -> Named:
        twin = Named()
        twin.tags, twin.offered_until = self.tags.copy(), self.offered_until
        return twin


class NamingMachine(TagMachine):
    """A machine that reads tags which are names."""

    __slots__ = ()
    memory: Named


def holds(m: NamingMachine, text: str, start: int) -> bool:
    """Whether the beginning of a tag at the end of the text may still mean something here."""
    closing = text.startswith("</", start)
    name_start = start + 2 if closing else start + 1
    blank = _BLANK.search(text, name_start)
    name = text[name_start:] if blank is None else text[name_start : blank.start()]
    call: TagCall | None = m.call
    line = m.starts_line(text, start)
    if blank is not None:
        # Blanks or attributes, which count only in the tag of an offered tool that may begin a call.
        begins = m.state is S.CALL if call is not None else m.state is not S.THINKING
        return begins and m.tool(name) is not None
    if call is None:
        return _holds_outside(m, name, closing, line)
    if m.state not in (S.VALUE, S.EXAMPLE):
        return True
    if not name and not closing:
        return True
    if closing:
        return bool(call.ahead) or _begins(name, (call.name, call.key))
    return line and call.name.startswith(name)


def _holds_outside(m: NamingMachine, name: str, closing: bool, line: bool) -> bool:
    if m.state is S.THINKING:
        # All of it is text; but tokens that end the thought, or name a call, must be seen whole.
        ends = (closing or not name) and _begins(name, THINK)
        return ends or (line and not closing and _begins(name, m.choice.tools))
    if closing or _begins(name, m.choice.tools):
        return _begins(name, m.memory.tags if closing else m.choice.tools)
    return line and (may_be_tool(m, name or "_") or _begins(name, THINK))


def _begins(name: str, names: Iterable[str]) -> bool:
    return any(known.startswith(name) for known in names)


def may_be_tool(m: NamingMachine, name: str) -> bool:
    if m.choice.policy.unknown_tools == "text" or m.markdown.fenced or m.pos < m.memory.offered_until:
        return False
    return _UNKNOWN_NAME.match(name) is not None
