"""Leak marks: the shapes by which a dialect's calls are recognised in plain text.

Each dialect has its own, so that calls which reached a client as text can be named, and perhaps read
after all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

# What makes a mark more than a tag that is merely mentioned: its shape alone (tokens that nobody types); the
# name of an offered tool, or a line of its own; the name of an offered tool at the start of a line; and, for
# a shape that any XML has, its name with one of its own parameters in it.
Needs: TypeAlias = Literal["shape", "name or line", "name and line", "name and parameter"]

# Parts of patterns.
NAME = r"[^<>\s]{1,256}"
WORD = r"[A-Za-z_][\w.:-]{0,255}"


@dataclass(frozen=True)
class LeakMark:
    """One shape. `opener` is the part that a person would quote when asking about it.

    The pattern begins with a literal character; its group `name` is the tool's name, `child` the first
    parameter. It is compiled when it is first looked for: there are many, and most programs need none.
    """

    opener: str
    written: str
    needs: Needs

    @property
    def begins_with_opener(self) -> bool:
        """What has this shape begins with the opener, letter by letter: nothing stands before it."""
        return self.written.startswith(re.escape(self.opener))

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(self.written)


def leak_mark(opener: str, pattern: str, needs: Needs = "shape") -> LeakMark:
    return LeakMark(opener, pattern, needs)
