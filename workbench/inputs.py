"""What a user hands in: a tape, an SSE stream, a whole completion or plain model text."""

from __future__ import annotations

import errno
import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from workbench.errors import UserError
from workbench.paths import resolve
from workbench.tape import BOM, HEADER, Tape, TapeError, read_tape

Kind: TypeAlias = Literal["sse", "text", "tape", "json"]

# The lines that may come before the first `data:` of a stream; anything else there means: not a stream.
_BEFORE_DATA = re.compile(rb"(?:(?::|event\b|id\b|retry\b)[^\r\n]*)?(?:\r\n|\r|\n)")


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
        """The text of a model, for an input of kind text. A BOM is the editor's, not the model's."""
        return self.data.removeprefix(BOM).decode("utf-8", "replace")


def load(name: str | None, kind: Kind | None) -> Input:
    """Read the file (or standard input) and say what it is; `kind` overrides the recognition."""
    return read_input(_standard_input() if name in (None, "-") else read_file(str(name)), kind)


def read_input(data: bytes, kind: Kind | None) -> Input:
    """Say what the bytes are; `kind` overrides the recognition."""
    kind = kind or recognise(data)
    if kind == "tape":
        return _tape(data)
    if kind == "json":
        return _completion(data)
    if kind == "text" and not _is_utf8(data):
        return Input(kind, data, notes=("the text is not valid UTF-8; what cannot be read became U+FFFD",))
    return Input(kind, data)


def recognise(data: bytes) -> Kind:
    """The kind that the bytes look like; text, when like nothing else. No bytes are an empty stream."""
    if _is_tape(data):
        return "tape"
    if not data.strip() or _is_stream(data.removeprefix(BOM)):
        return "sse"
    value = _object(data) or {}
    if isinstance(value.get("error"), dict):
        return "sse"  # what a server says instead of a stream: the transformer knows what to make of it
    return "json" if _is_completion(value) else "text"


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
        raise UserError(f"{name} is not JSON that can be read: {error}") from None


def _standard_input() -> bytes:
    if sys.stdin is None or sys.stdin.isatty():
        raise UserError(
            "nothing to read: give a FILE, or pipe a stream in, as in\n"
            "  curl -N … | workbench transform --dialect roo-xml"
        )
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        raise UserError(f"cannot read standard input: {_reason(error, '-')}") from None


def _reason(error: OSError, name: str) -> str:
    reason = error.strerror or str(error)
    if error.errno == errno.EISDIR or Path(name).is_dir():
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
    body = _object(b"".join(tape.reads)) or {}
    return body if _is_completion(body) else None


def _completion(data: bytes) -> Input:
    body = _object(data)
    if body is None or not _is_completion(body):
        raise UserError('this is not a completion: it is no JSON object with a list of "choices"')
    return Input("json", data, body=body)


def _is_tape(data: bytes) -> bool:
    # Its first line may be half written, then it is still a tape to the reader's eye: a damaged one.
    first = data.removeprefix(BOM).lstrip().partition(b"\n")[0]
    value = _object(first)
    return bool(HEADER.match(first)) if value is None else "tape" in value


def _is_stream(data: bytes) -> bool:
    at = 0
    while match := _BEFORE_DATA.match(data, at):
        at = match.end()
    return data[at : at + 5] == b"data:"


def _is_completion(value: dict[str, Any]) -> bool:
    return isinstance(value.get("choices"), list)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _object(data: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
