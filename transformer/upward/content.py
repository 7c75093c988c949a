"""The content of a message: a text, or a list of parts of which some are texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from transformer.upward.offer import json_of


class Content(NamedTuple):
    """The text of a message, and its other parts (images, files) as they were."""

    text: str
    others: tuple[Any, ...] = ()

    def made(self) -> str | list[Any]:
        """The content of a message again: a plain text wherever that is enough."""
        if not self.others:
            return self.text
        return [*([{"type": "text", "text": self.text}] if self.text else []), *self.others]


def content_of(value: Any) -> Content:
    """What stands in a message's `content`, whatever a client put there."""
    if value is None:
        return Content("")
    if isinstance(value, str):
        return Content(value)
    if not isinstance(value, list | tuple):
        return Content(json_of(value))
    texts, others = [], []
    for part in value:
        text = _text(part)
        if text is None:
            others.append(part)
        else:
            texts.append(text)
    return Content("\n".join(texts), tuple(others))


def joined(value: Any) -> Any:
    """A content array of nothing but texts as one text; any other content as it is."""
    if isinstance(value, list | tuple) and value and all(_text(part) is not None for part in value):
        return content_of(value).text
    return value


def _text(part: Any) -> str | None:
    if isinstance(part, str):
        return part
    if isinstance(part, Mapping) and part.get("type") in ("text", "input_text", "output_text"):
        text = part.get("text")
        return text if isinstance(text, str) else None
    return None
