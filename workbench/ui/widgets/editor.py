"""A text to be edited, in which nothing steers the terminal."""

from __future__ import annotations

import re

from rich.text import Text
from textual.widgets import TextArea

_ODD = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


class Editor(TextArea):
    """The text stays as it is; what is drawn has a sign of one cell for every odd character."""

    def get_line(self, line_index: int) -> Text:
        return Text(_ODD.sub(_sign, self.document.get_line(line_index)), end="", no_wrap=True)


def _sign(match: re.Match[str]) -> str:
    code = ord(match[0])
    return chr(0x2400 + code) if code < 0x20 else "␡" if code == 0x7F else "�"
