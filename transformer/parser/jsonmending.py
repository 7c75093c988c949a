"""Mending calls that are JSON: what closes them, what names their tool, arguments that are nearly JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from transformer.jsonscan import JsonScanner
from transformer.parser.jsoncall import fitting_tools
from transformer.parser.mending import (
    Broken,
    Edits,
    complete,
    insert,
    insert_after,
    is_object,
    mended_json,
    put,
)
from transformer.values.literals import quote

# Endings that turn a text that ends in the middle of a member into JSON.
_TAILS = ("", '""', ':""', '":""', "null")
_NAME_BEGUN = re.compile(r'"name"\s*:\s*"([^"\\]*)\Z')
_BRACES = 4  # of an object's end that are tried as the end of its arguments


@dataclass(frozen=True, slots=True)
class JsonMending:
    """How the calls of one spelling are mended: `opener` precedes their JSON, `closer` follows it, and
    `keys` are the keys of the arguments.
    """

    opener: str
    closer: str
    keys: tuple[str, ...]

    def ideas(self, broken: Broken) -> Iterator[Edits]:
        by_code = {
            "malformed-call": self._rewrite,
            "truncated-call": self._complete,
            "repaired-call": self._close,
            "invalid-arguments": self._mend_arguments,
            "repaired-arguments": self._mend_arguments,
        }
        mend = by_code.get(broken.finding.code)
        return iter(()) if mend is None else mend(broken)

    def _rewrite(self, broken: Broken) -> Iterator[Edits]:
        """A name for an object that has none, or the object as the JSON that was meant."""
        text, brace = broken.text, broken.text.find("{")
        if brace < 0:
            return
        scanner = JsonScanner(members=True)
        end = brace + scanner.feed(text[brace:])
        keys = {member.key for member in scanner.members}
        if scanner.end >= 0 and "name" not in keys:
            given = next((one for one in scanner.members if one.key in self.keys), None)
            arguments = "" if given is None else text[brace + given.start : brace + given.end]
            for name in fitting_tools(arguments.strip(), broken.tools) or list(broken.tools):
                yield (insert_after(brace + 1, f'"name": {quote(name)}, ', "{"),)
        closed = text.find(self.closer, brace) if self.closer else -1
        end = closed if closed >= 0 else end
        written = text[brace:end].rstrip()
        for better in mended_json(written):
            yield (put(brace, brace + len(written), better, text),)

    def _complete(self, broken: Broken) -> Iterator[Edits]:
        """The rest of the name, of the JSON and of the markers."""
        text, end = broken.text, broken.finding.span.end
        half = re.search(r"<[^<>{}\"\s]*\Z", text[:end])
        begun = half.start() if half is not None and self.closer.startswith(half[0]) else end
        brace = text.find("{", 0, begun)
        if brace < 0:
            return
        written = text[brace:begun]
        name = _NAME_BEGUN.search(written)
        if name is not None:
            fitting = [tool for tool in broken.tools if tool.startswith(name[1])]
            if len(fitting) == 1:
                rest = f'{fitting[0][len(name[1]) :]}", "{self.keys[0]}": {{}}}}{self.closer}'
                yield complete(text, begun, end, rest)
            return
        for tail in _TAILS:
            scanner = JsonScanner()
            scanner.feed(written + tail)
            closing = tail + scanner.closing()
            if is_object(written + closing):
                yield complete(text, begun, end, closing + self.closer)
                if scanner.stack == ["}"]:  # no arguments have come, and without a marker they are needed
                    yield complete(text, begun, end, f'{tail}, "{self.keys[0]}": {{}}}}{self.closer}')
                return

    def _close(self, broken: Broken) -> Iterator[Edits]:
        """Adds the brackets that the parser assumed."""
        text, end = broken.text, broken.finding.span.end
        brace = text.find("{", 0, end)
        if brace < 0:
            return
        scanner = JsonScanner()
        scanner.feed(text[brace:end])
        missing = scanner.closing()
        following = text[end:].lstrip()
        if not missing:
            return
        if self.closer and following.startswith(self.closer):
            yield (insert(end, missing, self.closer),)
        elif following.startswith(self.opener):
            yield (insert(end, missing + self.closer, self.opener),)
        else:
            yield complete(text, end, end, missing + self.closer)

    def _mend_arguments(self, broken: Broken) -> Iterator[Edits]:
        """Arguments as the JSON that was meant. The end of the object may follow them."""
        text, start, end = broken.text, broken.finding.span.start, broken.finding.span.end
        end = end - len(self.closer) if self.closer and text.endswith(self.closer, start, end) else end
        written = text[start:end].rstrip()
        for _ in range(_BRACES):
            for better in mended_json(written):
                yield (put(start, start + len(written), better, text),)
            if not written.endswith("}"):
                return
            written = written[:-1].rstrip()
