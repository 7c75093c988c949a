"""A line of the tape in words: what the proxy said or did."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from workbench.player.player import Player
from workbench.tape import Line
from workbench.verdicts.advice import advice
from workbench.why.quotes import capital, quote
from workbench.why.why import Why

_ENDS = {
    "done": "The exchange is over: upstream said that it was done.",
    "eof": "The exchange is over: upstream closed the connection without saying that it was done.",
    "error": "The exchange ended with an error",
    "cancelled": "The client went away before the answer was over, so nothing more was converted.",
}
_BY = {
    "heartbeat": "Upstream was silent, so the proxy sent a sign of life; a client ignores it.",
    "error": "The proxy told the client of an error itself.",
}


def why_line(player: Player, line: Line) -> Why:
    """Something that is on the tape itself and was not recomputed."""
    if "finding" in line.value:
        return _why_told(line)
    title, sentences = _OF_KIND.get(line.kind, _other)(line)
    return Why(title, tuple(filter(None, sentences)))


def _why_told(line: Line) -> Why:
    code, level = str(line.value["finding"]), str(line.value.get("level") or "info")
    message = str(line.value.get("message") or code)
    where = line.value.get("where")
    by = (
        "It is about the request, before the model saw it"
        if where == "request"
        else "The proxy noticed it by itself"
    )
    told = f"{by}; a replay cannot find it again, so it is read from the tape."
    return Why(f"{level}: {code}", (f"{capital(message)}.", told, advice(code)))


def _status(line: Line) -> tuple[str, list[str]]:
    side, status = str(line.value.get("side")), line.value.get("status")
    who = "Upstream answered" if side == "upstream" else "The client was answered"
    fine = isinstance(status, int) and 200 <= status < 300
    then = "" if fine else "That is no success, so nothing in it was converted."
    return f"status {status}", [f"{who} with status {status}.", then]


def _sent(line: Line) -> tuple[str, list[str]]:
    by = line.value.get("by")
    text = quote(line.data.decode("utf-8", "backslashreplace"))
    if by is None:
        return "sent", [f"The client got these bytes in one piece, as the message it had asked for: {text}."]
    return f"sent by {by}", [_BY.get(str(by), f"Sent by {by}, not by the transformer."), f"It is {text}."]


def _end(line: Line) -> tuple[str, list[str]]:
    how = str(line.value.get("end"))
    said = _ENDS.get(how, f"The exchange ended: {how}.")
    error = line.value.get("error")
    message = error.get("message", error) if isinstance(error, Mapping) else error
    if how == "error":
        said += f": {quote(str(message))}." if message else "."
    return f"end: {how}", [said]


def _lost(line: Line) -> tuple[str, list[str]]:
    lost = line.value.get("lost")
    counts = lost if isinstance(lost, Mapping) else {}
    lines, size = counts.get("lines", "Some"), counts.get("bytes", "some")
    said = f"{lines} lines with {size} bytes were not recorded before this."
    return "a gap", [
        said,
        "The exchange itself lacks nothing; what is shown behind it may begin in the middle.",
    ]


def _damaged(line: Line) -> tuple[str, list[str]]:
    return "a damaged line", ["This line of the tape cannot be read; it is kept as it is."]


def _other(line: Line) -> tuple[str, list[str]]:
    return "a line of the tape", [
        "This line is of a kind that this workbench does not know; it is kept as it is."
    ]


_OF_KIND: dict[str, Callable[[Line], tuple[str, list[str]]]] = {
    "status": _status,
    "sent": _sent,
    "end": _end,
    "lost": _lost,
    "damaged": _damaged,
}
