"""How a stream is cut into reads: the first law says that it must not matter."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import AnyStr, Literal

from workbench.errors import UserError

# The line ends of SSE, and no others: str.splitlines() would also cut at U+2028, which JSON may hold raw.
_LINE = r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+"
_TEXT_LINE = re.compile(_LINE)
_BYTES_LINE = re.compile(_LINE.encode())

_LONGEST_RANDOM = 64


@dataclass(frozen=True, slots=True)
class Chunking:
    """One way to cut bytes, or the text of a model, into pieces that join to the same whole."""

    how: Literal["size", "lines", "random"]
    size: int = 0
    seed: str = ""

    @classmethod
    def parse(cls, text: str) -> Chunking:
        """From the command line: `N`, `bytes`, `lines` or `random:SEED`."""
        how, colon, seed = text.partition(":")
        if how == "random" and colon and seed:
            return cls("random", seed=seed)
        if text == "lines":
            return cls("lines")
        if text == "bytes":
            return cls("size", size=1)
        if text.isascii() and text.isdecimal() and len(text) < 19 and int(text) > 0:
            return cls("size", size=int(text))
        raise UserError(f"--chunk is a number of bytes from 1, bytes, lines or random:SEED, not {text!r}")

    def cut(self, data: AnyStr) -> Iterator[AnyStr]:
        """The pieces, none of them empty."""
        if self.how == "lines":
            pattern = _TEXT_LINE if isinstance(data, str) else _BYTES_LINE
            yield from (match[0] for match in pattern.finditer(data))
            return
        # The seed is text on purpose: Python promises the same sequence for it in every version.
        dice = random.Random(self.seed)
        start = 0
        while start < len(data):
            size = self.size if self.how == "size" else dice.randint(1, _LONGEST_RANDOM)
            yield data[start : start + size]
            start += size
