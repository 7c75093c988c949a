"""The format of a tape: one exchange with a model as JSON Lines, chunk-exact, so that it can be replayed.

The first line is the header: an object with the key `tape`, whose value is the version, and with all that a
replay needs (`_HEADER_ORDER`). Every other line is an object with the time `t`, in seconds since the exchange
began, and with the keys of its kind:

    read     a piece from upstream; as `read64`, in Base64, where the piece alone is not valid UTF-8
    sent     a piece to the client, likewise `sent64`; `by` names who made it where the transformer did not
    status   an HTTP status, with `headers` (pairs) and `side`: "upstream" or "client"
    finding  a code, with `level`, `message` and `where`: noticed by the proxy; a replay cannot find it again
    hold     a breakpoint that the next read hits, with `message`: from here on the client has to wait
    release  the end of that: "unchanged", "edited", "dropped", "limit", "left" or "stopped", with `seconds`.
             Where the client gets something else, `keep` is how many of upstream's reads stay and `reads` is
             what comes instead of the others; those are still on the tape, as they came
    lost     {"lines", "bytes"}: how much before this line could not be recorded
    end      the last line: "done", "eof", "error" or "cancelled", and a summary of the exchange

Lines of other kinds and unknown keys are kept. Lines are written and read here and nowhere else: `dump_line`
writes them readably, `encode_line` and `data_line` are compact and fast.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import orjson

from transformer.jsontext import parse_leniently
from workbench.text import is_visible, json_object, json_text

VERSION = 1
BOM = b"\xef\xbb\xbf"
# How a tape begins, even one whose first line was cut off.
HEADER = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"tape"\s*:')
_LATEST = 1 << 62
_UNREADABLE = {
    "number-too-long": "has a number with too many digits",
    "nested-too-deep": "is nested too deeply",
    "invalid-utf8": "has bytes that are not UTF-8",
}

Kind: TypeAlias = Literal[
    "read", "sent", "status", "finding", "hold", "release", "lost", "end", "other", "damaged"
]
DataKind: TypeAlias = Literal["read", "sent"]
Side: TypeAlias = Literal["upstream", "client"]
End: TypeAlias = Literal["done", "eof", "error", "cancelled"]
Release: TypeAlias = Literal["unchanged", "edited", "dropped", "limit", "left", "stopped"]

_KINDS: Mapping[str, Kind] = {
    "read": "read", "read64": "read", "sent": "sent", "sent64": "sent", "end": "end", "status": "status",
    "finding": "finding", "hold": "hold", "release": "release", "lost": "lost",
}  # fmt: skip
_DATA_KEYS = frozenset(("read", "read64", "sent", "sent64"))
_HEADER_ORDER = (
    "about", "dialect", "policy", "model", "started", "ids", "now", "request", "upstream_request", "template",
)  # fmt: skip


class TapeError(ValueError):
    """This is not a tape at all. A tape that is merely damaged opens, and says so in `Tape.problem`."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line after the header, with every key it came with. A line that cannot be read keeps its bytes."""

    value: Mapping[str, Any]
    raw: bytes | None = None

    @property
    def kind(self) -> Kind:
        if self.raw is not None:
            return "damaged"
        value = self.value
        if "read" in value:  # nearly all lines are of these two kinds
            return "read"
        if "sent" in value and "read64" not in value:
            return "sent"
        return next((kind for key, kind in _KINDS.items() if key in value), "other")

    @property
    def t(self) -> float:
        """Seconds since the exchange began; 0 where the line doesn't say."""
        t = self.value.get("t")
        # It may be infinite, or not a number, or too long for a float: a tape is untrusted data.
        return float(t) if isinstance(t, int | float) and abs(t) < _LATEST else 0.0

    @property
    def data(self) -> bytes:
        """The bytes of a `read` or `sent` line, exactly; nothing for the other kinds."""
        kind = self.kind
        return _payload(self.value, kind) if kind in ("read", "sent") else b""

    # The keys of some kinds, for those who show or judge a line. A tape is data from anywhere: what ought to
    # be text is made text, and all else is as it stands there.

    @property
    def by(self) -> str | None:
        """Who made a `sent` piece; None: the transformer."""
        return str(self.value["by"]) if "by" in self.value else None

    @property
    def side(self) -> str:
        """Whose `status` it is."""
        return self._text("side")

    @property
    def status(self) -> object:
        return self.value.get("status")

    @property
    def finding(self) -> str | None:
        """The code of a `finding`; None: this is not one."""
        return str(self.value["finding"]) if "finding" in self.value else None

    @property
    def level(self) -> str:
        """Of a `finding`."""
        return self._text("level")

    @property
    def message(self) -> str:
        """Of a `finding`, or of a `hold`."""
        return self._text("message")

    @property
    def where(self) -> str:
        """What a `finding` is about: "request" or "proxy"."""
        return self._text("where")

    @property
    def ended(self) -> str:
        """How the exchange ended, of an `end` line."""
        return self._text("end")

    @property
    def error(self) -> Any:
        """Why, where it failed: a sentence, or an object with one."""
        return self.value.get("error")

    @property
    def error_message(self) -> Any:
        """The sentence alone."""
        error = self.error
        return error.get("message") if isinstance(error, dict) else error

    @property
    def hold(self) -> str:
        """The breakpoint that a `hold` line names."""
        return self._text("hold")

    @property
    def released(self) -> str:
        """What became of a held answer, of a `release` line."""
        return self._text("release")

    def _text(self, key: str) -> str:
        value = self.value.get(key)
        return "" if value is None else str(value)

    @property
    def replacement(self) -> tuple[int, list[bytes]] | None:
        """Of a `release` line: how many reads stay, and what came instead of the others; None: all stay."""
        keep, reads = self.value.get("keep"), self.value.get("reads")
        if self.kind != "release" or type(keep) is not int or keep < 0 or not isinstance(reads, list):
            return None
        return keep, [read.encode("utf-8", "replace") for read in reads if isinstance(read, str)]


@dataclass(frozen=True, slots=True)
class Tape:
    """A tape in memory. `complete`: its end line is there. `problem`: what is wrong with it, if anything."""

    header: Mapping[str, Any]
    lines: tuple[Line, ...] = ()
    complete: bool = True
    problem: str | None = None

    def of(self, kind: Kind) -> list[Line]:
        return [line for line in self.lines if line.kind == kind]

    @property
    def reads(self) -> list[bytes]:
        """The pieces as they came from upstream; `of("read")` has them with their times."""
        return [line.data for line in self.of("read")]

    @property
    def sent(self) -> list[bytes]:
        """The pieces as they went to the client; `of("sent")` has their times and who caused them."""
        return [line.data for line in self.of("sent")]

    @property
    def end(self) -> Line | None:
        return next((line for line in self.lines if line.kind == "end"), None)


class TapeReader:
    """Reads a tape while it grows: give it the new bytes, get the lines that are whole by now."""

    def __init__(self) -> None:
        self.header: dict[str, Any] | None = None
        self.problems: list[str] = []
        self.rest = bytearray()  # of a line that is not whole yet; it may be long, and come in many pieces
        self._number = 0

    def feed(self, data: bytes) -> list[Line]:
        """The new whole lines. Raises TapeError when the first line is not a tape's header."""
        head, newline, tail = data.rpartition(b"\n")
        if not newline:
            self.rest += data
            return []
        whole, self.rest = bytes(self.rest) + head, bytearray(tail)
        # Only a line feed ends a line: splitlines() would cut inside a JSON string at U+2028.
        lines = [self._line(text) for text in whole.split(b"\n")]
        return [line for line in lines if line is not None]

    def settle(self) -> list[Line]:
        """Nothing more for now: a last line without line feed counts if it is whole, else it may grow."""
        rest = bytes(self.rest)
        whole = rest.rstrip().endswith(b"}") and json_object(rest) is not None
        return self.close() if whole else []

    def close(self) -> list[Line]:
        """At the end of the file: a last line without line feed counts if it is whole, else it is named."""
        rest = bytes(self.rest)
        if rest.strip() and self.header is not None and json_object(rest) is None:
            self.problems.append(f"line {self._number + 1}, the last one, is only half written")
            return []
        self.rest.clear()
        line = self._line(rest)
        return [] if line is None else [line]

    def _line(self, text: bytes) -> Line | None:
        self._number += 1
        if not text or text.isspace():
            return None
        if self.header is None:
            self.header = self._read_header(text)
            return None
        value = json_object(text)
        why = "is not a JSON object" if value is None else _fault(value)
        if value is None or why:
            self.problems.append(f"line {self._number} {why}")
            return Line({}, raw=text)
        return Line(value)

    def _read_header(self, text: bytes) -> dict[str, Any]:
        value = json_object(text)
        if value is None and HEADER.match(text):
            raise TapeError(f"this is not a tape that can be read: its first line {_why_unreadable(text)}")
        if value is None or "tape" not in value:
            raise TapeError('this is not a tape: its first line is not a JSON object with the key "tape"')
        if value["tape"] != VERSION:
            self.problems.append(
                f"this is a tape of version {value['tape']!r}, read as one of version {VERSION}"
            )
        return value


def read_tape(source: str | Path | bytes) -> Tape:
    """A tape from a file, or from its bytes."""
    reader = TapeReader()
    lines = reader.feed(source if isinstance(source, bytes) else Path(source).read_bytes())
    lines += reader.close()
    if reader.header is None:
        raise TapeError("this is not a tape: it is empty")
    complete = not reader.rest and any(line.kind == "end" for line in lines)
    problems = list(reader.problems)
    late = len(lines) - 1 - next((at for at, line in enumerate(lines) if line.kind == "end"), len(lines))
    if late > 0:
        problems.append(f"{late} line{'s come' if late > 1 else ' comes'} after its end line")
    if not complete:
        problems.append("its end line is missing, the recording was cut off")
    return Tape(reader.header, tuple(lines), complete, "; ".join(problems) or None)


def is_end_line(text: bytes) -> bool:
    """Whether a tape's last line says how the exchange ended: without it, somebody may still be writing."""
    value = json_object(text)
    return value is not None and Line(value).kind == "end"


# -- the lines


def make_header(about: str, dialect: str, **more: Any) -> dict[str, Any]:
    """The first line: the keys of a replay in their usual order, then any other; None leaves one out."""
    given = {"about": about, "dialect": dialect, **more}
    known = {key: given.pop(key) for key in _HEADER_ORDER if key in given}
    return {"tape": VERSION} | {key: value for key, value in (known | given).items() if value is not None}


def read_line(t: float, data: bytes) -> Line:
    """A piece from upstream."""
    return Line(_data("read", t, data))


def sent_line(t: float, data: bytes, by: str | None = None) -> Line:
    """A piece to the client; `by` names who sent it when the transformer did not (a heartbeat, an error)."""
    return Line(_data("sent", t, data, by))


def status_line(
    t: float,
    side: Side,
    status: int,
    headers: Iterable[tuple[str, str]] = (),
    chat: Mapping[str, Any] | None = None,
) -> Line:
    """One side's status and headers; pairs, because a header may come twice. `chat` is which turn of which
    chat this answers, where upstream keeps the conversation: it must be known before the end."""
    told = {"side": side, "status": status, "headers": [list(pair) for pair in headers]}
    return Line(_at(t) | told | ({} if chat is None else {"chat": dict(chat)}))


def finding_line(t: float, code: str, level: str, message: str, where: str) -> Line:
    """What was noticed outside the answer; `where` is "request" or "proxy"."""
    return Line(_at(t) | {"finding": code, "level": level, "message": message, "where": where})


def hold_line(t: float, breakpoint: str, message: str) -> Line:
    """From here on the client has to wait; `message` is what happens with the next read."""
    return Line(_at(t) | {"hold": breakpoint, "message": message})


def release_line(
    t: float, how: Release, seconds: float, keep: int | None = None, reads: Iterable[str] = ()
) -> Line:
    """It waits no longer. `keep` and `reads` if it gets something other than upstream sent."""
    changed = {} if keep is None else {"keep": keep, "reads": list(reads)}
    return Line(_at(t) | {"release": how, "seconds": round(seconds, 3)} | changed)


def lost_line(t: float, lines: int, payload: int) -> Line:
    """A gap: this many lines, with this many bytes, were not recorded before this one."""
    return Line(_at(t) | {"lost": {"lines": lines, "bytes": payload}})


def end_line(t: float, end: End, **extra: Any) -> Line:
    """The last line: how the exchange ended."""
    return Line(_at(t) | {"end": end} | extra)


def _at(t: float) -> dict[str, Any]:
    return {"t": round(t, 6)}


def _data(kind: DataKind, t: float, data: bytes, by: str | None = None) -> dict[str, Any]:
    value: dict[str, Any] = {"t": round(t, 6)}  # not _at(): this is the frequent line
    try:
        value[kind] = data.decode()
    except UnicodeDecodeError:
        value[f"{kind}64"] = base64.b64encode(data).decode("ascii")
    if by is not None:
        value["by"] = by
    return value


def _payload(value: Mapping[str, Any], kind: str) -> bytes:
    if kind in value:
        return str(value[kind]).encode("utf-8")
    return base64.b64decode(value[f"{kind}64"], validate=True)


def _why_unreadable(text: bytes) -> str:
    """What is wrong with a header that is not a JSON object."""
    parsed = parse_leniently(text.removeprefix(BOM))
    whole = isinstance(parsed.value, dict)
    return _UNREADABLE.get(parsed.repaired or "", "is half written") if whole else "is half written"


def _fault(value: Mapping[str, Any]) -> str:
    """Why a JSON line cannot be used, or nothing: then its `data` can be read safely."""
    for key in _DATA_KEYS.intersection(value):
        text = value[key]
        if not isinstance(text, str):
            return f"has a {key!r} that is not text"
        if len(value) == 2 and text.isascii() and not key.endswith("64"):
            return ""  # nearly all lines are like that
    try:
        Line(value).data  # noqa: B018
    except ValueError:
        return "has bytes that cannot be decoded"
    return ""


# -- lines -> bytes

_LINE_END = orjson.OPT_APPEND_NEWLINE
# A long text is searched in pieces: one search in C would block the relay meanwhile.
_PIECE = 1 << 15


def dump_tape(tape: Tape) -> bytes:
    """The whole tape as a file holds it. A half-written line is not written again."""
    return dump_line(tape.header) + b"".join(dump_line(line) for line in tape.lines)


def dump_line(line: Line | Mapping[str, Any]) -> bytes:
    """One line, or the header, ready to be appended to a file."""
    if isinstance(line, Line) and line.raw is not None:
        return line.raw + b"\n"
    return json_text(_plain(line)).encode("utf-8") + b"\n"


def encode_line(line: Line | Mapping[str, Any]) -> bytes:
    """The same line, or header, written compactly and fast."""
    value = _plain(line)
    try:
        data = orjson.dumps(value, option=_LINE_END)
    except orjson.JSONEncodeError:  # a long integer, half a surrogate pair: the slow way knows them
        return dump_line(value)
    safe = b"\x7f" not in data if data.isascii() else _is_safe(data.decode())
    return data if safe else dump_line(value)


def data_line(kind: DataKind, t: float, data: bytes, by: str | None = None) -> bytes:
    """A `read` or `sent` line as `encode_line` writes it; only the piece itself has to be searched."""
    value = _data(kind, t, data, by)
    return orjson.dumps(value, option=_LINE_END) if _is_safe(value.get(kind, "")) else dump_line(value)


def carried_lines(t: float, read: bytes, sent_at: float, sent: bytes) -> bytes:
    """A `read` line and the `sent` line that follows it. Prose goes to the client as it came: its text is
    written as JSON once."""
    if read == sent and read.isascii() and b"\x7f" not in read:
        text = orjson.dumps(read.decode())
        times = orjson.dumps(round(t, 6)), orjson.dumps(round(sent_at, 6))
        return b'{"t":%b,"read":%b}\n{"t":%b,"sent":%b}\n' % (times[0], text, times[1], text)
    return data_line("read", t, read) + data_line("sent", sent_at, sent)


def _plain(line: Line | Mapping[str, Any]) -> dict[str, Any]:
    return dict(line.value if isinstance(line, Line) else line)


def _is_safe(text: str) -> bool:
    """Whether nothing in it controls a terminal, or would be written differently by `dump_line`."""
    if text.isascii():
        return "\x7f" not in text
    return all(is_visible(text[at : at + _PIECE]) for at in range(0, len(text), _PIECE))
