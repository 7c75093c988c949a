"""What a broken call of kimi-k2 should have looked like."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from transformer.dialects.kimi_k2.kimispelling import (
    ARGUMENT_BEGIN,
    CALL_BEGIN,
    CALL_END,
    NO_ID,
    SECTION_BEGIN,
    own_id,
)
from transformer.jsonscan import missing_end
from transformer.parser.jsoncall import fitting_tools
from transformer.parser.mending import (
    Broken,
    Edit,
    Edits,
    Mender,
    complete,
    insert,
    insert_after,
    is_object,
    mended_json,
    put,
)

_HALF_TOKEN = re.compile(r"<\|?[a-z_]*\|?\Z")
_NEXT_TOKEN = re.compile(r"\s*(<\|[a-z_]+\|>)")
_NOTHING_MORE = re.compile(r"\s*(?:<\|tool_calls?_section_end\|>|\Z)")
# What makes JSON of arguments that end in the middle of a member.
_TAILS = ("", '""', ':""', '":""', "null")


def ideas(broken: Broken) -> Iterator[Edits]:
    by_code = {
        "malformed-call": _mend_header,
        "truncated-call": _complete_end,
        "unnamed-call": _name_a_tool,
        "repaired-call": _write_end,
        "invalid-arguments": _mend_json,
    }
    mend = by_code.get(broken.finding.code)
    return iter(()) if mend is None else mend(broken)


def _header_end(text: str) -> int:
    place = text.find("<|", len(CALL_BEGIN))
    return len(text) if place < 0 else place


def _mend_header(broken: Broken) -> Iterator[Edits]:
    """The token before the arguments is missing, or the arguments are."""
    text, end = broken.text, _header_end(broken.text)
    brace = text.find("{", len(CALL_BEGIN))
    written = text[len(CALL_BEGIN) : end].strip()
    if 0 <= brace < end and text[len(CALL_BEGIN) : brace].strip():
        yield (insert_after(brace, ARGUMENT_BEGIN, text[len(CALL_BEGIN) : brace].strip()),)
    elif written and not NO_ID.search(written):
        yield (insert_after(end, CALL_END, written),)


def _complete_end(broken: Broken) -> Iterator[Edits]:
    """The rest of the id, of the JSON and of the tokens."""
    text, end = broken.text, broken.finding.span.end
    half = _HALF_TOKEN.search(text, 0, end)
    begun = half.start() if half is not None else end
    at = text.find(ARGUMENT_BEGIN, 0, begun)
    if at < 0:
        yield from _complete_header(broken, begun)
        return
    arguments = text[at + len(ARGUMENT_BEGIN) : begun]
    for tail in _TAILS:
        closing = missing_end(arguments + tail) if arguments.strip() else "{}"
        if closing is not None and is_object(arguments + tail + closing):
            yield complete(text, begun, end, tail + closing + CALL_END)
            return


def _complete_header(broken: Broken, begun: int) -> Iterator[Edits]:
    """An id that was cut off names the only tool that begins so."""
    text, end = broken.text, broken.finding.span.end
    written = text[len(CALL_BEGIN) : begun].strip()
    rest = f"{ARGUMENT_BEGIN}{{}}{CALL_END}"
    name = written.removeprefix("functions.")
    if re.fullmatch(r"functions\..+:\d+", written):
        yield complete(text, begun, end, rest)
        return
    fitting = [tool for tool in broken.tools if tool.startswith(name)] if name != written else []
    if len(fitting) == 1:
        yield complete(text, begun, end, f"{fitting[0][len(name) :]}:0{rest}")


def _name_a_tool(broken: Broken) -> Iterator[Edits]:
    """An id that names one of the tools: those that the arguments fit, else all of them."""
    text = broken.text
    at = text.find(ARGUMENT_BEGIN)
    end = text.find("<|tool_call", at + len(ARGUMENT_BEGIN)) if at >= 0 else -1
    arguments = text[at + len(ARGUMENT_BEGIN) : end] if end >= 0 else ""
    for name in fitting_tools(arguments.strip(), broken.tools) or list(broken.tools):
        yield (_put_id(text, own_id(name, 0)),)


def _put_id(text: str, new: str) -> Edit:
    written = text[len(CALL_BEGIN) : _header_end(text)]
    if not written.strip():
        return insert_after(len(CALL_BEGIN), new, CALL_BEGIN)
    start = len(CALL_BEGIN) + len(written) - len(written.lstrip())
    return put(start, start + len(written.strip()), new, text)


def _write_end(broken: Broken) -> Iterator[Edits]:
    """Adds the token that ends the call, which the parser assumed."""
    text, end = broken.text, broken.finding.span.end
    following = _NEXT_TOKEN.match(text, end)
    if following is None:
        yield from _complete_end(replace(broken, tools={}))
        return
    if following[1] == CALL_BEGIN and _NOTHING_MORE.match(text, following.end()):
        # A model that takes the one token for the other.
        yield (put(following.start(1), following.end(1), CALL_END, text),)
    yield (insert(end, CALL_END, following[1]),)


def _mend_json(broken: Broken) -> Iterator[Edits]:
    """Arguments as the JSON that was meant."""
    text, end = broken.text, broken.finding.span.end
    at = text.find(ARGUMENT_BEGIN) + len(ARGUMENT_BEGIN)
    end = end - len(CALL_END) if text.endswith(CALL_END, at, end) else end
    arguments = text[at:end].strip()
    start = text.find(arguments, at)
    for better in mended_json(arguments):
        yield (put(start, start + len(arguments), better, text),)


def other_id(broken: Broken, number: int) -> Iterator[Edits]:
    if broken.name:
        yield (_put_id(broken.text, own_id(broken.name, number)),)


MENDER = Mender(ideas, other_id=other_id, leads=(SECTION_BEGIN,))
