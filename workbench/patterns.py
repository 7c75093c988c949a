"""Regular expressions that others wrote, with a limit on time: `(a+)+$` on a tape must not freeze us."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any

import regex

from workbench.errors import UserError

LIMIT = 0.2  # seconds for one text; ordinary expressions need less than a millisecond
_LONGEST = 1000  # an expression that is longer can take long to compile already


class TooSlow(Exception):
    """The expression did not come to an end in time."""


class Pattern:
    """One expression. After it was too slow once it finds nothing any more."""

    __slots__ = ("_compiled", "given_up", "source")

    def __init__(self, source: str) -> None:
        self.source = source
        self.given_up = False
        if len(source) > _LONGEST:
            raise UserError(f"{source[:40]!r}… is too large for a regular expression")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about what a later Python may read otherwise
                re.compile(
                    source, re.MULTILINE
                )  # what counts is Python's syntax, and it says best what is wrong
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
