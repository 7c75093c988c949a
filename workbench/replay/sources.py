"""What `workbench replay` opens, whatever it is: files, folders, standard input, a pasted text.

A tape is read from its file, which may still grow. Anything else (a capture of a stream, a whole completion,
the plain text of a model) becomes a tape in memory. A `Replayable` represents either of them, and costs next
to nothing until it is opened.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

from transformer.dialects import DIALECTS, EXAMPLE
from transformer.policy import Policy
from transformer.sse import SSEDecoder
from workbench.errors import UserError
from workbench.files import resolve
from workbench.library.retention import RECENT
from workbench.library.summary import Level
from workbench.library.tapefiles import SUFFIX, is_alive
from workbench.replay.lines import LineSource, MemoryTape, Tail, Unreadable, was_sent
from workbench.tape.format import (
    HEADER,
    End,
    Line,
    Tape,
    TapeError,
    TapeReader,
    end_line,
    make_header,
    read_line,
)
from workbench.tape.inputs import Chunking, Input, Kind, load, read_file, read_input, recognise, text_reads
from workbench.tape.recipe import Wishes, chat_request, make_recipe, wished

# -- other inputs as the tape that they would have been

GAP = 0.02  # seconds between two reads that have no times
# About as long as a model's tokens: a word with the blank before it, a few signs; a tag is cut anywhere.
_TOKEN = re.compile(r" ?\w{1,5}|\s+|[^\w\s]{1,2}")
_ABOUT: Mapping[Kind, str] = {
    "sse": "a capture of a stream: it has neither times nor the cuts of its reads; ",
    "text": "the text of a model, as a server would have streamed it; ",
    "json": "a whole completion, which came in one piece",
}
_USUAL = {"sse": "one read an event", "text": "one event a token", "json": ""}


def tokens(text: str) -> Iterator[str]:
    """Pieces like a model's, the same ones every time; they join to the text."""
    return (match[0] for match in _TOKEN.finditer(text))


def event_reads(data: bytes) -> Iterator[bytes]:
    """One read an event, the last one with whatever follows; they join to the data."""
    ends = [end for _, _, _, end, _ in SSEDecoder().feed(data)]
    places = sorted({0, *ends, len(data)})
    return (data[start:end] for start, end in pairwise(places))


def header_of(kind: Kind, wishes: Wishes, chunking: Chunking | None) -> dict[str, Any]:
    """The first line of the tape that it would have been; a UserError if the wishes do not suffice."""
    recipe = make_recipe({}, wishes)
    cut = _USUAL[kind] if chunking is None or kind == "json" else "cut as --chunk says"
    about = _ABOUT[kind] + (f"{cut}, {GAP * 1000:.0f} ms apart" if cut else "")
    header = make_header(about, recipe.dialect, ids="replay", now=0, stream=kind != "json", kind="chat")
    said = Policy.from_mapping(wishes.switches).said()
    return wished(header | ({"policy": said} if said else {}), Wishes(None, wishes.tools, wishes.request))


def memory_tape_of(name: str, given: Input, wishes: Wishes, chunking: Chunking | None) -> MemoryTape:
    """A complete input, ready to be played."""
    if given.tape is not None:
        return _recut_tape(name, given.tape, wishes, chunking)
    header = header_of(given.kind, wishes, chunking)
    header["about"] = "; ".join((header["about"], *given.notes))
    how: End = "eof" if given.kind == "sse" and b"[DONE]" not in given.data[-100:] else "done"
    return MemoryTape(name, header, _timed(_reads(given, chunking), how))


def _reads(given: Input, chunking: Chunking | None) -> Iterable[bytes]:
    if given.kind == "json":
        return [given.data]
    if given.kind == "text":
        return text_reads(chunking.cut(given.text) if chunking else tokens(given.text))
    return chunking.cut(given.data) if chunking else event_reads(given.data)


def _timed(reads: Iterable[bytes], how: End) -> Iterator[Line]:
    t = 0.0
    for number, data in enumerate(reads):
        t = number * GAP
        yield read_line(t, data)
    yield end_line(t, how)


def _recut_tape(name: str, tape: Tape, wishes: Wishes, chunking: Chunking | None) -> MemoryTape:
    if chunking is None and wishes == Wishes():
        return MemoryTape(name, tape.header, tape.lines)
    header = wished(tape.header, wishes) | {"variant_of": name}
    lines = [line for line in tape.lines if not was_sent(line)]
    return MemoryTape(name, header, lines if chunking is None else rechunked(lines, chunking))


def rechunked(lines: Iterable[Line], chunking: Chunking) -> Iterator[Line]:
    """The same bytes in other reads; each comes when the last of its bytes came."""
    lines = list(lines)
    pieces = chunking.cut(b"".join(line.data for line in lines if line.kind == "read"))
    piece = next(pieces, None)
    arrived = 0
    for line in lines:
        if line.kind != "read":
            yield line
            continue
        arrived += len(line.data)
        while piece is not None and len(piece) <= arrived:
            arrived -= len(piece)
            yield read_line(line.t, piece)
            piece = next(pieces, None)


# -- what can be opened

STANDARD_INPUT = "-"
_LONGEST_HEADER = 4 << 20  # a header has the whole request in it
_HEAD = 64 << 10  # bytes that tell what a file is

_OF_ANSWERS = (b"data:", b'"choices"', b'"messages"', b'"role"')
_TEXT = ".txt"
_CAPTURES = (".sse", _TEXT, ".json", ".log")  # suffixes of captures and texts, besides SUFFIX

# Findings that say: the model meant a call, and did not write it as it should.
MALFORMED = frozenset(
    """
    malformed-call unclosed-parameter truncated-call unnamed-call repaired-call repaired-parameter
    repaired-tag repaired-arguments ambiguous-end invalid-arguments bad-arguments other-dialect
    """.split()
)


@dataclass(frozen=True, slots=True)
class HeaderFacts:
    """What can be said without playing it; `policy` has the switches that differ from the dialect's
    defaults."""

    about: str = ""
    dialect: str = ""
    policy: Mapping[str, Any] = field(default_factory=dict)
    pid: int | None = None


@dataclass(frozen=True, slots=True)
class Appraisal:
    """What playing it has shown. `codes` are of all findings; `size` is the file's when it was read: a tape
    may have grown since."""

    level: Level
    sentence: str
    long: str
    codes: tuple[str, ...] = ()
    calls: int = 0
    reads: int = 0
    excerpt: str = ""
    failed: bool = False
    size: int = 0

    @property
    def malformed(self) -> bool:
        return not MALFORMED.isdisjoint(self.codes)


class Replayable:
    """`path` is None for an input that is not a file; `folder` is empty for one that was named itself.

    `appraisal` is what playing it has shown; None until then.
    """

    def __init__(
        self,
        title: str,
        make: Callable[[], LineSource],
        head: Callable[[], Mapping[str, Any]],
        *,
        path: Path | None = None,
        folder: str = "",
        problem: str | None = None,
    ) -> None:
        self.title = title
        self.path = path
        self.folder = folder
        self.problem = problem  # why it cannot be opened
        self.start: str | None = None  # where to begin, in the words of `goto`
        self.appraisal: Appraisal | None = None
        self._make = make
        self._head = head

    def open(self) -> LineSource:
        """A new source, from the beginning. One that cannot be read says so in its `problem`."""
        return self._make()

    @cached_property
    def facts(self) -> HeaderFacts:
        """What the first line says. Kept, but not the line: it may have a whole conversation in it."""
        header = self._head()
        return HeaderFacts(_about(header), str(header.get("dialect") or ""), _policy(header), _pid(header))

    @property
    def facts_known(self) -> bool:
        """Whether `facts` are cached."""
        return "facts" in self.__dict__

    @property
    def about(self) -> str:
        """One line about what is in it."""
        return self.problem if self.problem is not None else self.facts.about

    @property
    def size(self) -> int:
        """Bytes of the file; 0 if it is not a file."""
        try:
            return os.stat(self.path).st_size if self.path is not None else 0
        except OSError:
            return 0

    @property
    def running(self) -> bool:
        """Whether it seems to be still being written, if it has no end."""
        if self.path is None or not is_alive(self.facts.pid):
            return False
        try:
            return time.time() - os.stat(self.path).st_mtime < RECENT
        except OSError:
            return False


def tape_replayable(path: Path, title: str, folder: str, wishes: Wishes) -> Replayable:
    """A tape that is read from its file."""
    return Replayable(
        title,
        lambda: Tail(path, wishes, follow=True),
        lambda: header_in(path, wishes),
        path=path,
        folder=folder,
    )


def replayable_of(title: str, given: Input, wishes: Wishes, chunking: Chunking | None) -> Replayable:
    """Something that is in memory already."""
    tape = memory_tape_of(title, given, wishes, chunking)
    assert tape.player is not None
    header = tape.player.header
    return Replayable(title, lambda: memory_tape_of(title, given, wishes, chunking), lambda: header)


def unreadable(title: str, problem: str, path: Path | None = None) -> Replayable:
    return Replayable(title, lambda: Unreadable(title, problem), dict, path=path, problem=problem)


# -- the header of a tape


def header_in(path: Path, wishes: Wishes) -> Mapping[str, Any]:
    """The first line of a tape, as the wishes change it; nothing where it cannot be read."""
    try:
        return wished(read_header(path), wishes)
    except UserError:
        return {}


def read_header(path: Path) -> Mapping[str, Any]:
    """The first line of a tape, or a UserError that says what is wrong with it."""
    reader = TapeReader()
    try:
        with path.open("rb") as file:
            reader.feed(file.readline(_LONGEST_HEADER))
        reader.close()
    except (OSError, TapeError) as error:
        raise UserError(f"{path} cannot be shown: {error}") from None
    if reader.header is None:
        raise UserError(f"{path} cannot be shown: it is empty")
    return reader.header


def _about(header: Mapping[str, Any]) -> str:
    """For a recorded tape, only the question is known."""
    told = header.get("about")
    asked = _question(header) if isinstance(header.get("method"), str) else ""
    return asked or (told if isinstance(told, str) else "")


def _policy(header: Mapping[str, Any]) -> Mapping[str, Any]:
    said = header.get("policy")
    return said if isinstance(said, Mapping) else {}


def _pid(header: Mapping[str, Any]) -> int | None:
    pid = header.get("pid")
    return pid if isinstance(pid, int) else None


def _question(header: Mapping[str, Any]) -> str:
    """What was last asked of which model."""
    messages = (chat_request(header) or {}).get("messages")
    asked = ""
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, Mapping) and message.get("role") == "user":
            asked = _text(message.get("content")) or asked
    model = str(header.get("model") or "")
    return f"{model}: {asked}" if model and asked else model or asked


def _text(content: object) -> str:
    if isinstance(content, list):
        content = next((part.get("text") for part in content if isinstance(part, Mapping)), None)
    return " ".join(content[:400].split()) if isinstance(content, str) else ""


# -- folders


def replayables_in(
    folder: Path, name: str, wishes: Wishes, chunking: Chunking | None = None
) -> list[Replayable]:
    """All tapes, captures and texts in it and below: dialects in their usual order, in each the failures
    before the rest."""
    found = [
        _in_folder(path, _label(folder, below), wishes, chunking)
        for below, paths in sorted(_files_by_folder(folder, name), key=lambda group: _rank(group[0]))
        for path in paths
    ]
    if not found:
        others = ", ".join(_CAPTURES)
        raise UserError(
            f"there is nothing to replay in {name}: tapes are files whose names end in {SUFFIX}, captures of "
            f"answers and texts of models such as end in {others}"
        )
    return found


def _in_folder(path: Path, folder: str, wishes: Wishes, chunking: Chunking | None) -> Replayable:
    if path.suffix == SUFFIX and _begins_like_a_tape(path):
        return tape_replayable(path, path.name.removesuffix(SUFFIX), folder, wishes)
    try:
        found = _of_file(path, path.name, wishes, None, chunking)
    except UserError as error:
        found = unreadable(path.name, _naming(path.name, error), path)
    found.folder = folder
    return found


def _files_by_folder(folder: Path, name: str) -> Iterator[tuple[str, list[Path]]]:
    """Each folder that has something to replay, by its path below the one that was named."""

    def tell(error: OSError) -> None:
        if error.filename == str(folder):
            raise UserError(f"cannot read {name}: {error.strerror}")

    for parent, _, files in os.walk(folder, onerror=tell):
        names = sorted((file for file in files if file.endswith((SUFFIX, *_CAPTURES))), key=_good_ones_last)
        paths = [path for path in map(Path(parent).joinpath, names) if _is_replayable(path)]
        if paths:
            yield os.path.relpath(parent, folder), paths


def _label(folder: Path, below: str) -> str:
    return folder.resolve().name if below == os.curdir else below


def _is_replayable(path: Path) -> bool:
    """Whether it is worth a row: a file that is not a tape must be an answer, or a text by its suffix."""
    if path.suffix == SUFFIX and _begins_like_a_tape(path):
        return True
    try:
        head = read_file(str(path), _HEAD)
        # A project has thousands of other JSON files: they are not even read.
        if path.suffix != _TEXT and not any(sign in head for sign in _OF_ANSWERS):
            return False
        return path.suffix == _TEXT or _kind_of(path) != "text"
    except UserError:
        # Opening it reports what is wrong; but JSON lines are often something else, such as examples.
        return path.suffix != SUFFIX


def _begins_like_a_tape(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            head = file.read(100)
    except OSError:
        return True  # opening it reports what is wrong
    return not head.strip() or bool(HEADER.match(head)) or bool(header_in(path, Wishes()))


def _rank(below: str) -> tuple[int, str]:
    names, last = list(DIALECTS), os.path.basename(below)
    return (names.index(last) if last in names else len(names)), below


def _good_ones_last(name: str) -> tuple[bool, str]:
    return name.startswith("good"), name.removesuffix(SUFFIX)


# -- what a person names


def replayables_of(
    names: Sequence[str], wishes: Wishes, kind: Kind | None = None, chunking: Chunking | None = None
) -> list[Replayable]:
    """The inputs with these names; one that cannot be opened says why. A UserError if none of them can."""
    make_recipe({"dialect": EXAMPLE}, wishes)  # wrong wishes are wrong for every input
    found: list[Replayable] = []
    for name in names:
        try:
            found += _of_name(name, wishes, kind, chunking)
        except UserError as error:
            found.append(unreadable(name, _naming(name, error)))
    if all(replayable.problem is not None for replayable in found):
        raise UserError("\n".join(str(replayable.problem) for replayable in found))
    return found


def _of_name(name: str, wishes: Wishes, kind: Kind | None, chunking: Chunking | None) -> list[Replayable]:
    if name == STANDARD_INPUT:
        return [replayable_of("standard input", _standard_input(kind), wishes, chunking)]
    if not name:
        raise UserError("a file without a name: perhaps a variable of the shell is not set")
    path = resolve(name)
    try:
        if path.is_dir():
            return replayables_in(path, name, wishes, chunking)
        if path.exists() and not path.is_file():  # a pipe gives its bytes only once
            return [replayable_of(name, load(name, kind), wishes, chunking)]
    except ValueError as error:  # a NUL in the name
        raise UserError(f"cannot read {name}: {error}") from None
    return [_of_file(path, name, wishes, kind, chunking)]


def _of_file(
    path: Path, title: str, wishes: Wishes, kind: Kind | None, chunking: Chunking | None
) -> Replayable:
    """Recognised, but not read: a tape may be large."""
    if kind == "tape":
        read_header(path)  # the given kind may be wrong
    kind = kind or _kind_of(path)
    if kind == "tape" and chunking is None:
        return tape_replayable(path, title, "", wishes)
    known = kind

    def make() -> LineSource:
        try:
            return memory_tape_of(title, load(str(path), known), wishes, chunking)
        except UserError as error:
            return Unreadable(title, _naming(title, error))

    if kind == "tape":
        return Replayable(title, make, lambda: header_in(path, wishes), path=path)
    header = header_of(kind, wishes, chunking)
    return Replayable(title, make, lambda: header, path=path)


def _kind_of(path: Path) -> Kind:
    head = read_file(str(path), _HEAD)
    if HEADER.match(head):
        if b"\n" not in head:
            read_header(path)  # it may be half written
        return "tape"
    # A file that begins like JSON must be read as a whole to be recognised.
    return recognise(read_file(str(path)) if head.lstrip()[:1] in b"{\xef" and len(head) == _HEAD else head)


def _standard_input(kind: Kind | None) -> Input:
    if sys.stdin is None or sys.stdin.isatty():
        raise UserError(
            "nothing is piped in, and `-` means what is, as in\n"
            f"  curl -N … | workbench replay - --dialect {EXAMPLE}"
        )
    return load(STANDARD_INPUT, kind)


def _naming(name: str, error: UserError) -> str:
    return error.message if name in error.message else f"{name}: {error.message}"


# -- a pasted text


@dataclass(frozen=True, slots=True)
class Compose:
    """What is known before the text: how the model writes calls, and which tools it was offered."""

    wishes: Wishes
    kind: Kind | None = None
    chunking: Chunking | None = None

    def __post_init__(self) -> None:
        make_recipe({}, self.wishes)  # a UserError names the dialects

    @property
    def dialect(self) -> str:
        return str(self.wishes.dialect)

    def make(self, text: str, title: str = "pasted text") -> Replayable:
        """A capture or a tape may be pasted as well. A UserError says what is wrong with the text."""
        if not text.strip():
            raise UserError("there is no text yet: paste what the model wrote")
        # Half a character (a lone surrogate) cannot be encoded in UTF-8.
        given = read_input(text.encode("utf-8", "replace"), self.kind)
        wishes = self.wishes
        if given.tape is not None and "dialect" in given.tape.header:
            wishes = replace(wishes, dialect=None)  # a tape knows its own
        return replayable_of(title, given, wishes, self.chunking)
