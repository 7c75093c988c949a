"""The table of faults: what an upstream does on the wire, what the client must get, what the tape must say.

A fault has two scripts, for a client that asked for a stream and for one that asked for a whole message, and
for each of them an outcome. `Refused` is an HTTP status with an error; `Broken` a stream that began and ends
with an error event; `Answered` a success, however odd upstream was.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tests.support.bench import CALL
from tests.support.streams import chunk, message, sse, stream_of
from tests.support.upstream.answers import Close, Finish, Gate, Pause, Raw, Reset, Step

ARGUMENTS = '{"path":"a.py"}'


@dataclass(frozen=True, slots=True)
class Refused:
    """An HTTP answer that says what went wrong."""

    status: int
    code: str | int | None
    type: str = "upstream_error"
    said: str = ""


@dataclass(frozen=True, slots=True)
class Broken:
    """200, a part of the answer, an error event, [DONE]."""

    code: str | int | None
    content: str = "Hello"
    type: str = "upstream_broke"
    end: str = "error"


@dataclass(frozen=True, slots=True)
class Answered:
    """A success. `findings` is what the tape must have noticed."""

    content: str = "Hello"
    calls: int = 1
    finish: str = "tool_calls"
    end: str = "done"
    findings: tuple[str, ...] = ()


Outcome: TypeAlias = Refused | Broken | Answered


@dataclass(frozen=True, slots=True)
class Case:
    """One fault, for one kind of request."""

    name: str
    streamed: bool
    steps: tuple[Step, ...]
    outcome: Outcome

    @property
    def size(self) -> int:
        return sum(len(step.data) for step in self.steps if isinstance(step, Raw))

    def __str__(self) -> str:
        return f"{self.name} ({'stream' if self.streamed else 'whole'})"


# -- what upstream writes

SSE = b"content-type: text/event-stream\r\n"
JSON = b"content-type: application/json\r\n"
CHUNKED = b"transfer-encoding: chunked\r\n"
TEXT = sse(chunk("Hello"), done=False)
WHOLE_CALL = stream_of(CALL, finish=None, done=False)
HALF_CALL = stream_of("Hello\n<read_file>\n<path>a.p", finish=None, done=False)
DATA = stream_of(CALL)
MESSAGE = json.dumps(message(CALL)).encode()
BREATH = Gate("begun")  # until the client has what came before: the rest is not the same read


def head(kind: bytes = SSE, status: bytes = b"200 OK", more: bytes = CHUNKED) -> bytes:
    return b"HTTP/1.1 " + status + b"\r\n" + kind + more + b"\r\n"


def piece(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data) if data else b""


END = b"0\r\n\r\n"


def sized(body: bytes, kind: bytes = JSON, status: bytes = b"200 OK", length: int | None = None) -> bytes:
    return head(kind, status, b"content-length: %d\r\n" % (len(body) if length is None else length)) + body


def chunked(body: bytes, kind: bytes = SSE) -> bytes:
    return head(kind) + piece(body) + END


NO_MORE = Gate("never")  # the connection stays open, and silent


def both(name: str, steps: list[Step], stream: Outcome, whole: Outcome) -> Iterator[Case]:
    """The same on the wire, whatever was asked."""
    yield Case(name, True, tuple(steps), stream)
    yield Case(name, False, tuple(steps), whole)


def same(name: str, steps: list[Step], outcome: Outcome) -> Iterator[Case]:
    return both(name, steps, outcome, outcome)


def after(name: str, fault: Sequence[Step], code: str, type: str = "upstream_broke") -> Iterator[Case]:
    """After the body has begun: a stream breaks off with an error event, a whole answer has a status."""
    status = 504 if type == "upstream_timeout" else 502
    yield Case(name, True, (Raw(head() + piece(TEXT)), BREATH, *fault), Broken(code, type=type))
    begun = Raw(head(JSON) + piece(MESSAGE[:40]))
    yield Case(name, False, (begun, BREATH, *fault), Refused(status, code, type))


def event_in_stream(name: str, event: bytes, *findings: str, content: str = "Hello") -> Iterator[Case]:
    """An odd event before a good answer, which it must not cost; for a whole answer, the same as its body."""
    answered = Answered(content, findings=findings)
    yield Case(name, True, (Raw(chunked(event + DATA)), Finish()), answered)
    yield Case(name, False, (Raw(chunked(event + DATA)), Finish()), answered)


def odd_body(name: str, stream: bytes, whole: bytes, expected: Outcome) -> Iterator[Case]:
    yield Case(name, True, (Raw(chunked(stream)), Finish()), expected)
    yield Case(name, False, (Raw(sized(whole)), Finish()), expected)


def cases() -> list[Case]:
    parts = (framing, connection, heads, statuses, bodies, events, silence, endless, encodings)
    return [case for part in parts for case in part()]


# -- the body has begun, and what comes is not HTTP any more

GATEWAY = b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 4\r\n\r\noops"


def framing() -> Iterator[Case]:
    for name, data in {
        "a chunk size that is not a number": b"zz\r\nhello\r\n",
        "a negative chunk size": b"-5\r\nhello\r\n",
        "a chunk size with a sign": b"+5\r\nhello\r\n",
        "a chunk size of seventeen digits": b"1" * 17 + b"\r\nhello\r\n",
        "a chunk without its line end": b"5\r\nhelloX5\r\n",
        "a chunk that is longer than it says": b"3\r\nhello\r\n",
        "a trailer that is not a header": b"0\r\nno colon here\r\n\r\n",
        "a trailer with a NUL": b"0\r\nx\x00y: 1\r\n\r\n",
        "a gateway's answer among the chunks": GATEWAY,
        "a page among the chunks": b"<html><title>502</title></html>\r\n",
        "an event without a chunk": b'data: {"choices": []}\n\n',
        "a size with a space before it": b"  5 x\r\nhello\r\n",
    }.items():
        yield from after(f"{name}, then silence", [Raw(data), NO_MORE], "framing")
    yield from after("a bad chunk, then the end", [Raw(b"zz\r\n"), Close()], "framing")
    yield from after("a bad chunk, then a reset", [Raw(b"zz\r\n"), BREATH, Reset()], "framing")


# -- the connection ends too early


def connection() -> Iterator[Case]:
    broke = Refused(502, "broken", "upstream_broke")
    yield from same("closed at once", [Close()], broke)
    yield from same("reset at once", [Reset()], broke)
    yield from same("closed in the status line", [Raw(b"HTTP/1.1 20"), Close()], broke)
    yield from same("closed in the headers", [Raw(b"HTTP/1.1 200 OK\r\ncontent-type: te"), Close()], broke)
    yield from same("reset in the headers", [Raw(b"HTTP/1.1 200 OK\r\nx: "), BREATH, Reset()], broke)
    yield from same("closed after the headers", [Raw(head()), BREATH, Close()], broke)
    yield from same("reset after the headers", [Raw(head()), BREATH, Reset()], broke)
    yield from after("closed after a chunk", [Close()], "broken")
    yield from after("reset after a chunk", [Reset()], "broken")
    yield from after("closed in a chunk", [Raw(b"ff\r\ndata: {"), BREATH, Close()], "broken")
    yield from after("reset in a chunk", [Raw(b"ff\r\ndata: {"), BREATH, Reset()], "broken")
    yield from after("closed in a chunk's size", [Raw(b"f"), BREATH, Close()], "broken")
    yield from after("closed before the last line end", [Raw(b"0\r\n"), BREATH, Close()], "broken")
    short = Raw(sized(TEXT, SSE, length=len(TEXT) + 10))
    yield Case("a body shorter than it says", True, (short, BREATH, Close()), Broken("broken"))
    short = Raw(sized(MESSAGE, length=len(MESSAGE) + 10))
    yield Case("a body shorter than it says", False, (short, BREATH, Close()), broke)
    for how, last in (("closed", Close()), ("reset", Reset())):
        steps = (Raw(head() + piece(WHOLE_CALL)), BREATH, last)
        # A client that asked again would run the tool twice.
        yield Case(f"{how} after a call", True, steps, Answered(end="error", findings=("broke-after-call",)))
        steps = (Raw(head() + piece(HALF_CALL)), BREATH, last)
        yield Case(f"{how} in a call", True, steps, Broken("broken", "Hello\n<read_file>\n<path>a.p"))


# -- the head is not one of HTTP


def heads() -> Iterator[Case]:
    bad = Refused(502, "framing", "upstream_broke")
    for name, data in {
        "another protocol": b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
        "HTTP/0.9": b"<html>hello</html>\r\n\r\n",
        "a status that is not a number": b"HTTP/1.1 abc OK\r\ncontent-length: 0\r\n\r\n",
        "a header without a colon": b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "a header with a NUL": b"HTTP/1.1 200 OK\r\nx: a\x00b\r\ncontent-length: 0\r\n\r\n",
        "two lengths": b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 5\r\n\r\nhello",
        "a length that is not a number": b"HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\nhello",
        "a negative length": b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\nhello",
        "a header of a hundred KiB": b"HTTP/1.1 200 OK\r\nx: " + b"a" * 100_000 + b"\r\n\r\n",
        "HTTP/2's preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    }.items():
        yield from same(name, [Raw(data), NO_MORE], bad)
    two = head(SSE, more=CHUNKED + b"content-length: 5\r\n") + piece(TEXT) + END
    yield from same("length and chunks at once", [Raw(two), NO_MORE], bad)


# -- an answer without success


def statuses() -> Iterator[Case]:
    told = b'{"error": {"message": "no", "type": "t", "code": "c"}}'
    for status in (400, 401, 403, 404, 413, 422, 429, 500, 502, 503, 504):
        steps: list[Step] = [Raw(sized(told, status=b"%d X" % status)), Finish()]
        yield from same(f"status {status}", steps, Refused(status, "c", "t", "no"))
    yield from same("a status that does not exist", [Raw(sized(b"", status=b"999 Odd")), Finish()],
                    Refused(502, None, said="999"))  # fmt: skip
    yield from same("no content", [Raw(b"HTTP/1.1 204 No Content\r\n\r\n"), Finish()], Refused(502, "empty"))
    redirect = head(b"location: https://elsewhere/v1\r\n", b"307 X", b"content-length: 0\r\n")
    yield from same("a redirect", [Raw(redirect), Finish()], Refused(502, "redirect", said="elsewhere"))
    page = b"<html><head><title>504 Gateway Time-out</title></head></html>"
    yield from same("a gateway's page", [
        Raw(sized(page, b"content-type: text/html\r\n", b"504 X")), Finish()],
        Refused(504, None, said="Gateway Time-out"))  # fmt: skip
    half = sized(told, status=b"500 X", length=500)
    yield from same("an error that breaks off", [Raw(half), BREATH, Close()],
                    Refused(502, "broken", "upstream_broke"))  # fmt: skip
    hints = b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n"
    yield Case("early hints", True, (Raw(hints + chunked(DATA)), Finish()), Answered())
    yield Case("early hints", False, (Raw(hints + sized(MESSAGE)), Finish()), Answered())


# -- a success that is not an answer


def bodies() -> Iterator[Case]:
    yield from odd_body("an empty body", b"", b"", Refused(502, "empty"))
    yield from odd_body("blank lines", b"\n\n\n", b"\n \n", Refused(502, "empty"))
    no_choices = json.dumps(message("x") | {"choices": []}).encode()
    yield from odd_body("no choices", sse({"choices": []}), no_choices, Refused(502, None))
    yield from odd_body(
        "choices that are null", sse({"choices": None}), b'{"choices": null}', Refused(502, None)
    )
    yield from odd_body(
        "choices that are text", sse({"choices": "x"}), b'{"choices": "x"}', Refused(502, None)
    )
    told = b'{"error": {"message": "no", "code": "c"}}'
    yield from odd_body(
        "an error with success", b"data: " + told + b"\n\n", told, Refused(502, "c", said="no")
    )
    page = b"<html>oops</html>"
    yield from odd_body("a page with success", page, page, Refused(502, None, said="oops"))
    yield from odd_body("a list", b"[1, 2]", b"[1, 2]", Refused(502, None))
    yield from odd_body(
        "half a JSON", b'data: {"choices": [{"delta": {"con', MESSAGE[:-20], Refused(502, None)
    )
    yield from odd_body("only the end", sse(), b"[DONE]", Refused(502, None))
    yield Case("a whole message for a stream", True, (Raw(sized(MESSAGE)), Finish()), Refused(502, None))
    yield Case("a stream for a whole message", False, (Raw(chunked(DATA)), Finish()), Answered())
    told = sse({"error": {"message": "no", "code": "c", "type": "t"}}, done=False)
    yield Case(
        "an error in the middle",
        True,
        (Raw(chunked(TEXT + told)), Finish()),
        Broken("c", type="t", end="done"),
    )
    yield Case("no end", True, (Raw(chunked(WHOLE_CALL)), Finish()), Answered())
    until_close = head(SSE, more=b"connection: close\r\n") + DATA
    yield Case("a body until the close", True, (Raw(until_close), Close()), Answered())
    more = Raw(chunked(DATA) + b"HTTP/1.1 200 OK\r\n\r\nmore")
    yield Case("an answer nobody asked for", True, (more, Finish()), Answered())
    marked = (Raw(sized(b"\xef\xbb\xbf" + MESSAGE)), Finish())
    yield Case("a byte order mark", False, marked, Answered())
    yield Case("a byte order mark", True, (Raw(chunked(b"\xef\xbb\xbf" + DATA)), Finish()), Answered())


# -- odd events in a good answer


def delta(text: bytes) -> bytes:
    return b'data: {"choices":[{"index":0,"delta":{"content":"' + text + b'"}}]}\n\n'


def events() -> Iterator[Case]:
    yield from event_in_stream("an event that is not JSON", b"data: {not json\n\n", "bad-json-event")
    yield from event_in_stream("an event that is a number", b"data: 7\n\n")
    yield from event_in_stream("an event that is null", b"data: null\n\n")
    yield from event_in_stream("an event without choices", b'data: {"id": "x"}\n\n')
    yield from event_in_stream("a choice that is null", b'data: {"choices": [null]}\n\n')
    yield from event_in_stream(
        "a delta that is null", b'data: {"choices": [{"index": 0, "delta": null}]}\n\n'
    )
    yield from event_in_stream("comments", b": ping\n\n" * 50)
    yield from event_in_stream("an unknown field", b"nonsense\nevent: x\nid: 7\nretry: 5\n\n")
    yield from event_in_stream("an empty event", b"data:\n\n")
    yield from event_in_stream("carriage returns", delta(b"A").replace(b"\n", b"\r"), content="AHello")
    yield from event_in_stream(
        "invalid UTF-8", delta(b"\xff\xfe"), "invalid-utf8", content="\ufffd\ufffdHello"
    )
    yield from event_in_stream("a raw NUL", delta(b"A\x00B"), content="A\x00BHello")
    yield from event_in_stream("a lone surrogate", delta(b"A\\ud800"), content="A\ufffdHello")
    long = delta(b"A").replace(b'{"choices"', b'{"n": ' + b"9" * 5000 + b', "choices"')
    yield from event_in_stream("a number of 5 000 digits", long, content="AHello")
    deep = delta(b"A").replace(b'{"choices"', b'{"n": ' + b"[" * 3000 + b"]" * 3000 + b', "choices"')
    yield from event_in_stream("3 000 levels", deep, content="AHello")
    yield from event_in_stream(
        "an event of a megabyte", delta(b"A" * (1 << 20)), content="A" * (1 << 20) + "Hello"
    )


# -- nothing comes, or nothing of use


def silence() -> Iterator[Case]:
    stuck = Refused(504, "idle_timeout", "upstream_timeout")
    late = Broken("idle_timeout", "", "upstream_timeout")
    yield from both("no head", [NO_MORE], late, stuck)
    yield from both("half a head", [Raw(b"HTTP/1.1 200 OK\r\nx"), NO_MORE], late, stuck)
    yield from both("no body", [Raw(head()), NO_MORE], late, stuck)
    yield from after("silence in the middle", [NO_MORE], "idle_timeout", "upstream_timeout")
    yield from after("silence in a chunk", [Raw(b"ff\r\n"), NO_MORE], "idle_timeout", "upstream_timeout")
    digits = [step for _ in range(30) for step in (Raw(b"0"), Pause(0.1))]
    yield from after("a chunk's size without an end", digits, "idle_timeout", "upstream_timeout")


def endless() -> Iterator[Case]:
    pings = [step for _ in range(60) for step in (Raw(piece(b": ping\n\n")), Pause(0.1))]
    begun = Broken("answer_timeout", "", "upstream_timeout")
    too_long = Refused(504, "answer_timeout", "upstream_timeout")
    yield from both("comments for ever", [Raw(head()), *pings], begun, too_long)


# -- compression


def packed(data: bytes, kind: bytes, name: bytes = b"gzip") -> tuple[Step, ...]:
    return (Raw(sized(data, kind + b"content-encoding: " + name + b"\r\n")), Finish())


def encodings() -> Iterator[Case]:
    cannot = Refused(502, "encoding")
    for streamed, body, kind in ((True, DATA, SSE), (False, MESSAGE, JSON)):
        zipped = gzip.compress(body)
        yield Case("an unknown encoding", streamed, packed(body, kind, b"snappy"), cannot)
        yield Case("gzip that is not gzip", streamed, packed(body, kind), cannot)
        yield Case("gzip that breaks off", streamed, packed(zipped[:30], kind), cannot)
        yield Case("gzip that nobody asked for", streamed, packed(zipped, kind), Answered())
