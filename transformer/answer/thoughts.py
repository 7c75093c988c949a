"""Thoughts in the content: `<think>…</think>`, where models write down what they only think of.

Two things may be wanted: that no call in them counts (`in_think: text`), and that the client gets
them as reasoning (`reasoning: split`), for servers that do not separate the two themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from transformer.parser.dialect import Notices, beginnings
from transformer.parser.machine import Machine

_OPEN = re.compile("<think(?:ing)?>")
_CLOSE = re.compile("</think(?:ing)?>")
_OPENS = re.compile(rf"(?:{beginnings('<think>', '<thinking>')})\Z")
_CLOSES = re.compile(rf"(?:{beginnings('</think>', '</thinking>')})\Z")


class _Tags:
    """Finds the tags in a text that comes in pieces; what may become one is kept back."""

    __slots__ = ("inside", "rest")

    def __init__(self) -> None:
        self.inside = False
        self.rest = ""

    def parts(self, text: str) -> Iterator[tuple[str, bool]]:
        """The pieces of a text, and whether each is a tag; the caller says what a tag does to `inside`."""
        text, self.rest = self.rest + text, ""
        while text:
            found = (_CLOSE if self.inside else _OPEN).search(text)
            if found is None:
                at = text.rfind("<")
                begun = at >= 0 and (_CLOSES if self.inside else _OPENS).match(text, at) is not None
                text, self.rest = (text[:at], text[at:]) if begun else (text, "")
                if text:
                    yield text, False
                return
            if found.start():
                yield text[: found.start()], False
            text = text[found.end() :]
            yield found[0], True

    def copied(self) -> _Tags:
        twin = _Tags()
        twin.inside, twin.rest = self.inside, self.rest
        return twin


class ThoughtFilter:
    """Keeps a channel's thoughts away from its machine, for which a tag inside a call is only data; or only
    marks them, while the machine does not know its dialect yet.
    """

    __slots__ = ("_tags",)

    def __init__(self) -> None:
        self._tags = _Tags()

    def feed(self, machine: Machine, text: str) -> None:
        tags = self._tags
        if "<" not in text and not tags.inside and not tags.rest:
            machine.feed(text)  # as it is with most deltas
            return
        machine.arrived(text)
        for part, is_tag in tags.parts(text):
            self._pass_on(machine, part, is_tag)

    def notices(self, own: Notices) -> Notices | None:
        """Like `own`, the machine's test; a thought may begin as well."""
        if self._tags.inside or self._tags.rest:
            return None

        def notices(text: str) -> object:
            return True if "<" in text else own(text)

        return notices

    def finish(self, machine: Machine) -> None:
        if self._tags.rest:
            rest, self._tags.rest = self._tags.rest, ""
            self._pass_on(machine, rest, False)

    def _pass_on(self, machine: Machine, part: str, is_tag: bool) -> None:
        if self._tags.inside and not is_tag and machine.skips_thoughts:
            machine.pass_by(part)
            return
        machine.feed_arrived(part)
        if is_tag:
            self._tags.inside = machine.in_thought = not self._tags.inside and not machine.is_busy

    def clone(self) -> ThoughtFilter:
        twin = ThoughtFilter()
        twin._tags = self._tags.copied()
        return twin


class Said(NamedTuple):
    """A piece of the content, a thought in it, or the tag of a thought."""

    start: int
    text: str
    thought: bool
    is_tag: bool = False


class ThoughtSplitter:
    """Splits the prose of the content into what is said and what is thought; the tags are markup."""

    __slots__ = ("_tags",)

    def __init__(self) -> None:
        self._tags = _Tags()

    def parts(self, start: int, text: str) -> Iterator[Said]:
        start -= len(self._tags.rest)
        for part, is_tag in self._tags.parts(text):
            if is_tag:
                self._tags.inside = not self._tags.inside
            yield Said(start, part, self._tags.inside, is_tag)
            start += len(part)

    def rest(self, end: int) -> Iterator[Said]:
        """At the end of the answer: what was only the beginning of a tag."""
        rest, self._tags.rest = self._tags.rest, ""
        if rest:
            yield Said(end - len(rest), rest, self._tags.inside)

    def clone(self) -> ThoughtSplitter:
        twin = ThoughtSplitter()
        twin._tags = self._tags.copied()
        return twin
