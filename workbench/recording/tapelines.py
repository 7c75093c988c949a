"""Tape lines as bytes, cheaply: the recorder's thread shares the interpreter with the relay."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import orjson

from workbench.tape import Line, dump_line
from workbench.visible import is_visible

_LINE_END = orjson.OPT_APPEND_NEWLINE
# A long text is looked through in pieces: one search in C would keep the relay from running meanwhile.
_PIECE = 1 << 15


def data_line(key: str, t: float, data: bytes, by: str | None = None) -> bytes:
    """A `read` or `sent` line: what `workbench.tape` would write, at a tenth of the cost."""
    value: dict[str, Any] = {"t": round(t, 6)}
    try:
        text = value[key] = data.decode()
    except UnicodeDecodeError:
        text = ""
        value[f"{key}64"] = base64.b64encode(data).decode("ascii")
    if by is not None:
        value["by"] = by
    if text.isascii() and "\x7f" not in text:
        return orjson.dumps(value, option=_LINE_END)
    return _checked(value, text)


def line(value: Mapping[str, Any] | Line) -> bytes:
    """Any other line, or the header."""
    value = dict(value.value if isinstance(value, Line) else value)
    try:
        data = orjson.dumps(value, option=_LINE_END)
    except orjson.JSONEncodeError:  # a long integer, half a surrogate pair: the slow way knows them
        return dump_line(value)
    if data.isascii() and b"\x7f" not in data:
        return data
    return data if _visible(data.decode()) else dump_line(value)


def _checked(value: dict[str, Any], text: str) -> bytes:
    return orjson.dumps(value, option=_LINE_END) if _visible(text) else dump_line(value)


def _visible(text: str) -> bool:
    return all(is_visible(text[at : at + _PIECE]) for at in range(0, len(text), _PIECE))
