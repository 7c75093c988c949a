"""Untrusted regular expressions, with a time limit: `(a+)+$` on a tape must not freeze us."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any

from workbench.errors import UserError

LIMIT = 0.2  # seconds for one text; ordinary expressions need less than a millisecond
_LONGEST = 1000  # an expression that is longer can take long to compile already


_PART = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{(\d+)\}|.", re.DOTALL)
_MOST_PARTS = 100_000


def _written_out(source: str) -> int:
    """How many parts it has when each fixed repetition is written out, as the library does: compiling takes
    minutes if such repetitions are nested."""
    sums, last = [0], 0
    for part in _PART.finditer(source):
        if part[1] is not None:
            count = int(part[1])
            sums[-1] += last * (count - 1)
            last *= count
        elif part[0] == "(":
            sums.append(0)
        elif part[0] == ")" and len(sums) > 1:
            last = sums.pop()
            sums[-1] += last
        else:
            last = 1
            sums[-1] += 1
    return sum(sums)


class TooSlow(Exception):
    """The expression did not come to an end in time."""


class Pattern:
    """One expression. Once it was too slow, it finds nothing any more."""

    __slots__ = ("_compiled", "given_up", "source")

    def __init__(self, source: str) -> None:
        import regex  # importing it takes as long as half of our own modules, and few users need it

        self.source = source
        self.given_up = False
        if len(source) > _LONGEST:
            raise UserError(f"{source[:40]!r}… is too large for a regular expression")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about what a later Python may read differently
                re.compile(
                    source, re.MULTILINE
                )  # Python's syntax applies, and Python gives the best error messages
            if _written_out(source) > _MOST_PARTS:
                raise OverflowError
            self._compiled: Any = regex.compile(source, regex.MULTILINE)
        except (re.error, regex.error) as error:
            place = f" at character {error.pos + 1}" if error.pos is not None else ""
            raise UserError(f"{source!r} is not a regular expression{place}: {error.msg}") from None
        except (RecursionError, OverflowError, MemoryError):
            raise UserError(f"{source[:40]!r} is too large for a regular expression") from None

    def finditer(self, text: str, start: int = 0, end: int | None = None) -> Iterator[Any]:
        """The matches; raises TooSlow, once."""
        if self.given_up:
            return
        try:
            yield from self._compiled.finditer(text, start, len(text) if end is None else end, timeout=LIMIT)
        except TimeoutError:
            self.given_up = True
            raise TooSlow from None
