"""What a user hands in (a tape, an SSE stream, a whole completion or plain text of a model): how it is
recognised, how it is cut into reads, and its conversion from beginning to end.
"""

from __future__ import annotations

import errno
import json
import os
import random
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, AnyStr, Literal, TypeAlias

from transformer.answer.stream import StreamTransformer
from transformer.dialects import EXAMPLE
from transformer.journal import Keep
from transformer.records import Finding, Record
from transformer.sse import DONE, encode
from workbench.errors import UserError, parser_says
from workbench.files import resolve
from workbench.tape.format import BOM, HEADER, Tape, TapeError, read_tape
from workbench.tape.recipe import Recipe
from workbench.text import json_object, json_text, visible_line

Kind: TypeAlias = Literal["sse", "text", "tape", "json"]

# The lines that may come before the first `data:` of a stream; anything else there means: not a stream.
_BEFORE_DATA = re.compile(rb"(?:(?::|event\b|id\b|retry\b)[^\r\n]*)?(?:\r\n|\r|\n)")

# Keys that a model's calls never have, but answers or requests of some API do.
_OTHER_APIS = frozenset("choices object messages output candidates message delta done usage created".split())


@dataclass(frozen=True, slots=True)
class Input:
    """The bytes of one file and what they are.

    `body` is there for an answer that did not stream; `notes` is what the user should know about the reading.
    """

    kind: Kind
    data: bytes
    tape: Tape | None = None
    body: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()

    @property
    def body_bytes(self) -> bytes:
        """The JSON text that `body` was read from."""
        data = self.data if self.tape is None else b"".join(self.tape.reads)
        return data.removeprefix(BOM)

    @property
    def text(self) -> str:
        """The text of a model, for an input of kind text. A BOM comes from an editor, not from the model."""
        return self.data.removeprefix(BOM).decode("utf-8", "replace")


def load(name: str | None, kind: Kind | None) -> Input:
    """Read the file (or standard input) and say what it is; `kind` overrides the recognition."""
    return read_input(read_bytes(name), kind)


def read_bytes(name: str | None) -> bytes:
    """What is in the file, or what comes from standard input."""
    return _standard_input() if name in (None, "-") else read_file(str(name))


def read_input(data: bytes, kind: Kind | None) -> Input:
    """Say what the bytes are; `kind` overrides the recognition."""
    kind = kind or recognise(data)
    if kind == "tape":
        return _tape(data)
    if kind == "json":
        return _completion(data)
    if kind == "sse" and (events := _events_without_data(data)) is not None:
        stream = b"".join(encode(event) for event in events) + DONE
        return Input(
            kind, stream, notes=("the chunks have no `data:` before them; each was read as an event",)
        )
    if kind == "text" and not _is_utf8(data):
        return Input(kind, data, notes=("the text is not valid UTF-8; what cannot be read became U+FFFD",))
    return Input(kind, data)


def recognise(data: bytes) -> Kind:
    """The kind that the bytes look like; text by default. No bytes are an empty stream."""
    if is_tape(data):
        return "tape"
    if not data.strip() or _is_stream(data.removeprefix(BOM)):
        return "sse"
    value = json_object(data) or {}
    if isinstance(value.get("error"), dict) or _events_without_data(data) is not None:
        return "sse"  # an error instead of a stream: the transformer knows what to make of it
    if _is_completion(value) or _is_message(value):
        return "json"
    _refuse_other_json(data)
    return "text"


def _events_without_data(data: bytes) -> list[Any] | None:
    """Chunks as JSON, one a line, in a list, or a single one, as programs log them; None: it is not that."""
    text = data.removeprefix(BOM).strip()
    if text[:1] == b"[":
        found = _json(text)
        chunks = found if isinstance(found, list) else []
    elif text[:1] == b"{":
        lines = [line for line in text.splitlines() if line.strip() and line.strip() != b"[DONE]"]
        chunks = [_json(line) for line in lines]
        if None in chunks:
            chunks = [_json(text)]
    else:
        return None
    return chunks if chunks and all(map(_is_chunk, chunks)) else None


def _is_chunk(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("choices"), list):
        return False
    choices = value["choices"]
    return value.get("object") == "chat.completion.chunk" or any(
        isinstance(choice, dict) and "delta" in choice for choice in choices
    )


def _refuse_other_json(data: bytes) -> None:
    """JSON of another API would wrongly be replayed as "text and no call". A call that a
    model writes as JSON is a text."""
    value = json_object(data) or json_object(data.removeprefix(BOM).lstrip().partition(b"\n")[0])
    if value is None or _OTHER_APIS.isdisjoint(value):
        return
    if isinstance(value.get("messages"), list):
        raise UserError(
            "this is a request, not an answer; `workbench prompt` shows what becomes of it on its way up"
        )
    keys = visible_line(", ".join(list(value)[:6])[:200])
    raise UserError(
        f"this is JSON, but neither a chat completion nor chunks of one (its keys: {keys}); "
        "--as text reads it as the text of a model"
    )


def _json(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def read_file(name: str, most: int = -1) -> bytes:
    """The bytes of a file, or its first ones, or a UserError that says why not."""
    try:
        with resolve(name).open("rb") as file:
            return file.read(most)
    except ValueError as error:  # a NUL in the name
        raise UserError(f"cannot read {name}: {error}") from None
    except OSError as error:
        raise UserError(f"cannot read {name}: {_reason(error, name)}") from None


def read_json(name: str) -> Any:
    """The JSON value in a file, or a UserError that says where it is wrong."""
    return parse_json(read_file(name), name)


def parse_json(data: bytes, name: str) -> Any:
    """The JSON value that these bytes are; `name` is where they came from."""
    try:
        return json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise UserError(f"{name} is not JSON: it is not valid UTF-8") from None
    except json.JSONDecodeError as error:
        raise UserError(
            f"{name} is not JSON: line {error.lineno}, column {error.colno}: {error.msg}"
        ) from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{name} is not JSON that can be read: {parser_says(error)}") from None


def _standard_input() -> bytes:
    if sys.stdin is None or sys.stdin.isatty():
        raise UserError(
            "nothing to read: give a FILE, or pipe a stream in, as in\n"
            f"  curl -N … | workbench transform --dialect {EXAMPLE}"
        )
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        raise UserError(f"cannot read standard input: {_reason(error, '-')}") from None


def _reason(error: OSError, name: str) -> str:
    reason = error.strerror or str(error)
    if error.errno == errno.EISDIR or os.path.isdir(name):
        return f"{reason}; name one of the files in it"
    if error.errno == errno.ENOENT and name == os.path.basename(name):
        return f"{reason} in {os.getcwd()}"
    return reason


def _tape(data: bytes) -> Input:
    try:
        tape = read_tape(data)
    except TapeError as error:
        raise UserError(str(error)) from None
    notes = (f"the tape is damaged: {tape.problem}",) if tape.problem else ()
    return Input("tape", data, tape=tape, body=_body(tape), notes=notes)


def _body(tape: Tape) -> dict[str, Any] | None:
    """The answer of an exchange that did not stream: one JSON body, in whatever reads it came."""
    request = tape.header.get("request")
    if not isinstance(request, dict) or request.get("stream"):
        return None
    body = json_object(b"".join(tape.reads)) or {}
    return body if _is_completion(body) else None


def _completion(data: bytes) -> Input:
    body = json_object(data)
    if body is not None and _is_message(body):
        body = _wrapped(body)
        note = "a message alone; it was read as the only choice of a completion"
        return Input("json", json_text(body).encode(), body=body, notes=(note,))
    if body is None or not _is_completion(body):
        raise UserError('this is not a completion: it is not a JSON object with a list of "choices"')
    return Input("json", data, body=body)


def is_tape(data: bytes) -> bool:
    # Its first line may be half written; then it is still a tape, but a damaged one.
    first = data.removeprefix(BOM).lstrip().partition(b"\n")[0]
    value = json_object(first)
    return bool(HEADER.match(first)) if value is None else "tape" in value


def _is_stream(data: bytes) -> bool:
    at = 0
    while match := _BEFORE_DATA.match(data, at):
        at = match.end()
    return data[at : at + 5] == b"data:"


def _is_completion(value: dict[str, Any]) -> bool:
    return isinstance(value.get("choices"), list)


def _is_message(value: dict[str, Any]) -> bool:
    return value.get("role") == "assistant" and ("content" in value or "tool_calls" in value)


def _wrapped(message: dict[str, Any]) -> dict[str, Any]:
    finish = "tool_calls" if message.get("tool_calls") else "stop"
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return {"id": "chatcmpl-message", "object": "chat.completion", "created": 0, "model": "message",
            "choices": [choice]}  # fmt: skip


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


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
        # The seed is bytes on purpose: Python promises the same sequence for them in every version. An
        # argument that is not UTF-8 comes with halves of characters in it.
        dice = random.Random(self.seed.encode("utf-8", "surrogatepass"))
        start = 0
        while start < len(data):
            size = self.size if self.how == "size" else dice.randint(1, _LONGEST_RANDOM)
            yield data[start : start + size]
            start += size


@dataclass(frozen=True, slots=True)
class Result:
    """What became of an input: the bytes for the client, the whole answer, and what there is to say."""

    out: bytes
    message: dict[str, Any] | None
    records: Sequence[Record]
    findings: Sequence[Finding]


def convert(given: Input, recipe: Recipe, chunking: Chunking | None, records: Keep) -> Result:
    """Run it. `chunking` None means the reads as they were: a tape's own, otherwise everything at once."""
    if given.body is not None:
        whole = recipe.message(records)
        out = json_text(whole.convert(given.body, given.body_bytes)).encode() + b"\n"
        return Result(out, whole.completion, whole.records, whole.findings)
    t = recipe.stream(records)
    out = b"".join([t.feed(read) for read in _reads(given, chunking)]) + _finish(t, given.tape)
    return Result(out, t.completion, t.records, t.findings)


def _reads(given: Input, chunking: Chunking | None) -> Iterable[bytes]:
    if given.kind == "text":
        return text_reads(chunking.cut(given.text) if chunking else iter([given.text]))
    if given.tape is not None:
        return chunking.cut(b"".join(given.tape.reads)) if chunking else given.tape.reads
    return chunking.cut(given.data) if chunking else [given.data]


def text_reads(pieces: Iterable[str]) -> Iterator[bytes]:
    """The stream an upstream would have sent for this text: one event a piece, one read an event."""
    for piece in pieces:
        if piece:
            yield _chunk([{"index": 0, "delta": {"content": piece}, "finish_reason": None}])
    yield _chunk([{"index": 0, "delta": {}, "finish_reason": "stop"}])
    yield DONE


def _chunk(choices: list[dict[str, Any]]) -> bytes:
    return encode(
        {
            "id": "chatcmpl-text",
            "object": "chat.completion.chunk",
            "created": 0,
            "model": "text",
            "choices": choices,
        }
    )


def _finish(t: StreamTransformer, tape: Tape | None) -> bytes:
    """The end as the tape says it was. One that breaks off is read as far as it goes, as at a clean EOF."""
    end = tape.end if tape is not None else None
    if end is None or end.ended != "error":
        return t.finish()
    return t.fail(end.error or end.message or "no reason is on the tape")
