"""A library in which every text is an attack on the terminal, the markup or the patience of its reader."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.support.streams import chunk, sse, tool
from tests.support.terminal import Program
from workbench.library.index import rebuild
from workbench.tape.format import Line, dump_line, end_line, finding_line, make_header, read_line, status_line

# What a terminal would obey. The numbers are ones that no honest program writes, so that they can be found.
SEQUENCES = (
    "\x1b]52;c;aG9zdGlsZQ==\x07",  # the clipboard
    "\x1b]0;hostile title\x07",
    "\x1b]2;hostile title\x1b\\",
    "\x1b]8;;http://hostile.example\x1b\\",  # a link
    "\x1b[6;66;66m",
    "\x1b[66;6H",
    "\x1b[2J",
    "\x1b[?1049l",
    "\x1bP+q686f7374\x1b\\",
    "\x1b_hostile\x1b\\",
    "\x1bc",  # a full reset
    "\x9b66;6H",
    "\x9d0;hostile\x9c",
)
CONTROLS = "\x00\x05\x07\x08\x0b\x0c\x0e\x0f\x18\x1a\x7f" + "".join(map(chr, range(0x80, 0xA0)))
BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
INVISIBLE = "\u200b\u2028\u2029\u2060\ufeff\ufff9\U000e0041"
HALF = "\ud800"
MARKUP = "[/x] [/] [@click=app.quit]press[/] [bold] [red on blue] [link=x] $primary $variable {0} %s \\["
HOSTILE = f"{''.join(SEQUENCES)}{CONTROLS}{BIDI}{INVISIBLE}{MARKUP}"
# As the name of a file or folder: no slash, no NUL, at most 255 bytes.
NAME = "".join((*SEQUENCES[:2], *SEQUENCES[5:7], SEQUENCES[10], "\x9b\x7f\u202a[bold][@click=app.quit]"))
_DEEP = 10_000
_OPEN, _CLOSE = b"\x1b[?1049h", b"\x1b[?1049l"
# What Textual itself writes: styles, places, modes, questions about modes, the keyboard protocol.
_OWN = re.compile(
    r"\x1b\[(?:\d+(?:;\d+)*)?m|\x1b\[\d+;\d+H|\x1b\[\?\d+(?:;\d+)*[hl]|\x1b\[\?\d+\$p|\x1b\[>\d+u|\x1b\[<u"
    r"|\x1b\]22;[a-z-]+\x07"  # the shape of the pointer
    r"|\r\x1b\[2K"  # a line of progress that is drawn again
)
_CUT = re.compile(r"\x1b(?:\[[?<>]?[\d;]*\$?)?\Z")
_STEERS = re.compile(f"[\x00-\x09\x0b\x0c\x0e-\x1f{re.escape(CONTROLS + BIDI + INVISIBLE)}\ud800-\udfff]")


def check(terminal: Program) -> None:
    """Every byte that came from the program so far: only what Textual writes controls the terminal."""
    with terminal.changed:
        raw = bytes(terminal.raw)
    if terminal.process.poll() is not None:  # each of its screens was opened and closed
        assert raw.count(_OPEN) == raw.count(_CLOSE)
        raw = raw.replace(_CLOSE, b"")
    for sequence in SEQUENCES:
        assert sequence.encode() not in raw, f"{sequence!r} reached the terminal"
    # Output that is being written right now may be cut anywhere.
    text = raw.decode("utf-8", "ignore") if raw[-1] > 0x7F else raw.decode("utf-8")
    rest = _OWN.sub("", _CUT.sub("", text))
    found = _STEERS.search(rest)
    if found is not None:
        at = found.start()
        raise AssertionError(f"{found[0]!r} reached the terminal: {rest[max(0, at - 60) : at + 60]!r}")


def in_screen(terminal: Program) -> bool:
    """Whether it shows a screen of its own now."""
    return terminal.raw.count(_OPEN) > terminal.raw.count(_CLOSE)


def hostile_library(folder: Path) -> Path:
    """Tapes of several kinds, the newest first by name, and their index."""
    tapes = folder / "library" / "tapes" / "2026-11-16"
    tapes.mkdir(parents=True)
    for number, (name, lines) in enumerate(_tapes().items()):
        path = tapes / f"{99 - number:06}-{name}.jsonl"
        path.write_bytes(b"".join(lines))
    rebuild(folder / "library")
    return folder / "library"


def _tapes() -> dict[str, Iterable[bytes]]:
    good = f"{HOSTILE}\n<read_file>\n<path>src/\n{HOSTILE}</path>\n</read_file>"
    deep = "[" * _DEEP + "]" * _DEEP
    return {
        "good": _streamed([good[at : at + 40] for at in range(0, len(good), 40)], 1),
        "malformed": _streamed([HOSTILE, "<read_file>\n<path>src/\n", HOSTILE, "</read_file>", HALF], 2),
        "long": _streamed(["x" * 500_000 + HOSTILE + "y" * 500_000, "<read_file>\n<path>a"], 3),
        "deep": _streamed(["<read_file>\n<path>src/\n", deep, "</path>\n</read_file>"], 4, [deep.encode()]),
        "refused": _refused(5),
        "named": _streamed(["hello"], 6, upstream=HOSTILE, url=f"http://x/{HOSTILE}", path=HOSTILE),
        # A request so deep that the tape's own first line cannot be read.
        "unreadable": [b'{"tape":1,"request":' + deep.encode() + b"}\n"],
        "damaged": [*_streamed(["hello"], 8), HOSTILE.encode() + b"\n", dump_line(Line({HOSTILE: HOSTILE}))],
        "sent": _sent(9),
    }  # fmt: skip


def _header(number: int, **more: Any) -> bytes:
    messages = [
        {"role": "system", "content": HOSTILE},
        {"role": "user", "content": HOSTILE + HALF},
        {"role": "assistant", "tool_calls": [_call()]},
        {"role": "tool", "tool_call_id": HOSTILE, "content": f"Error: {HOSTILE}"},
    ]
    described = tool("read_file", {"path": {"type": "string", "description": HOSTILE}}, description=HOSTILE)
    request = {"model": HOSTILE, "messages": messages, "tools": [described, tool(HOSTILE)], HOSTILE: HOSTILE}
    named = {"model": HOSTILE + HALF, "session": f"{HOSTILE}{number // 3}", "upstream": "local"}
    header = named | {
        "request": request, "upstream_request": request | {"messages": messages[:2]}, "stream": True,
        "kind": "chat", "started": 1_790_000_000.0 - number, "ids": "x", "now": 0, "method": "POST",
        "client_headers": [[HOSTILE, HOSTILE]], "upstream_headers": [["x-y", HOSTILE]],
    } | more  # fmt: skip
    return dump_line(make_header(HOSTILE, "roo-xml", **header))


def _call() -> Mapping[str, Any]:
    return {"id": HOSTILE, "type": "function", "function": {"name": HOSTILE, "arguments": HOSTILE}}


def _streamed(texts: list[str], number: int, more: Iterable[bytes] = (), **header: Any) -> list[bytes]:
    """An answer of these pieces of text, each in a read of its own; `more` are reads that are not events."""
    reads = [_event(text) for text in texts]
    reads += [HOSTILE.encode(), b"event: " + HOSTILE.encode() + b"\n\n", *more, b"\xff\xfe\x9b\x1b]0;x\x07"]
    reads.append(sse(chunk(finish_reason=HOSTILE)))
    lines = [status_line(0.1, "upstream", 200, [("content-type", HOSTILE)])]
    lines += [read_line(0.2 + at / 100, data) for at, data in enumerate(reads)]
    lines.append(finding_line(0.8, HOSTILE, HOSTILE, HOSTILE, "proxy"))
    end = end_line(0.9, "done", error={"message": HOSTILE}, findings={HOSTILE: 1})
    return [_header(number, **header), *map(dump_line, [*lines, end])]


def _sent(number: int) -> list[bytes]:
    """Recorded output that differs from today's."""
    *lines, end = _streamed(["hello"], number)
    return [*lines, dump_line(Line({"t": 0.85, "sent": f"data: {HOSTILE}\n\n"})), end]


def _event(text: str) -> bytes:
    """Half a character can only be written as an escape, so all that is not ASCII is."""
    return b"data: " + json.dumps(chunk(text)).encode() + b"\n\n"


def _refused(number: int) -> list[bytes]:
    body = json.dumps({"error": {"message": HOSTILE, "type": HOSTILE}}, ensure_ascii=False).encode()
    lines = [
        status_line(0.1, "upstream", 500, [(HOSTILE, HOSTILE)]),
        read_line(0.2, body),
        status_line(0.2, "client", 500, [("content-type", HOSTILE)]),
        Line({"t": 0.2, "sent": body.decode(), "by": HOSTILE}),
        end_line(0.3, "error", error=HOSTILE, status=500),
    ]
    return [_header(number), *map(dump_line, lines)]
