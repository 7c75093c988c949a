"""What a machine has for the client, in order: prose, the beginning of a call, arguments."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple, TypeAlias


class Piece(NamedTuple):
    """Text of a channel; `start` is its first character's place in the channel. The model says it to the
    user, or it is a `thought`, which goes to the client as reasoning.
    """

    start: int
    text: str
    thought: bool = False


class Begin(NamedTuple):
    """A call begins; `start` and `end` say where its name is."""

    call: int
    id: str
    name: str
    start: int
    end: int


class Arguments(NamedTuple):
    """JSON text of a call's arguments, made from the characters `start` to `end`."""

    call: int
    text: str
    start: int
    end: int


class Complete(NamedTuple):
    """The call has all its arguments, which are from `start` to `end`."""

    call: int
    start: int
    end: int


class Refusal(NamedTuple):
    """The policy wants no call to this tool: the answer ends here, with an error."""

    tool: str


Op: TypeAlias = Piece | Begin | Arguments | Complete | Refusal


def merged(ops: list[Op]) -> list[Op]:
    """Neighbours joined: the client gets a text in one piece, however many it came in."""
    runs: list[list[Op]] = []
    end = -1
    for op in ops:
        if runs and _continues(runs[-1][0], end, op):
            runs[-1].append(op)
        else:
            runs.append([op])
        end = (
            op.start + len(op.text) if isinstance(op, Piece) else op.end if isinstance(op, Arguments) else -1
        )
    return [run[0] if len(run) == 1 else _joined(run) for run in runs]


def _continues(first: Op, end: int, op: Op) -> bool:
    if isinstance(op, Piece):
        return isinstance(first, Piece) and (op.start, op.thought) == (end, first.thought)
    # Only adjacent pieces, so that the span of the whole is that of its text.
    return (
        isinstance(op, Arguments)
        and isinstance(first, Arguments)
        and (op.call, op.start) == (first.call, end)
    )


def _joined(run: list[Op]) -> Op:
    first, last = run[0], run[-1]
    if isinstance(first, Piece):
        text = "".join([op.text for op in run if isinstance(op, Piece)])
        return Piece(first.start, text, first.thought)
    assert isinstance(first, Arguments) and isinstance(last, Arguments)
    text = "".join(op.text for op in run if isinstance(op, Arguments))
    return Arguments(first.call, text, first.start, last.end)


class Prose:
    """Passes text on at once, except for whitespace at its end: a call may follow and swallow it.

    After a call, whitespace waits until text follows it; alone it is dropped. If the policy drops what
    follows a call, everything is dropped, and one finding names it.
    """

    __slots__ = ("_dropped", "_found", "_spaces", "_words", "drop", "out", "quiet", "settled")

    def __init__(self, out: list[Op], drop: bool, found: Callable[[int, int], None]) -> None:
        self.out = out
        self.settled = 0
        self.quiet = False  # nothing but whitespace since a call
        self.drop = drop
        self._found = found
        self._spaces: list[Piece] = []
        self._dropped: tuple[int, int] | None = None
        self._words = False  # there is more than whitespace in what was dropped

    def text(self, start: int, text: str, thought: bool = False) -> None:
        if self._dropped is not None:
            self._dropped = (self._dropped[0], start + len(text))
            self._words = self._words or not text.isspace()
            self.settled += len(text)
            return
        body = text.rstrip()
        if not body:
            self._spaces.append(Piece(start, text, thought))
            return
        if self._spaces:
            self.release()
        # As `_emit`, spelled out: it runs for every delta of prose.
        self.settled += len(body)
        self.out.append(Piece(start, body, thought))
        self.quiet = False
        if len(body) < len(text):
            self._spaces.append(Piece(start + len(body), text[len(body) :], thought))

    @property
    def drops(self) -> bool:
        """Text does not reach the client: the policy drops what comes after a call."""
        return self._dropped is not None

    @property
    def flows(self) -> bool:
        """Text goes on at once, with nothing before it."""
        return self._dropped is None and not self._spaces

    def flowed(self, size: int) -> None:
        """Accounts for this much that was passed on, without `text`."""
        self.settled += size
        self.quiet = False

    def call(self, end: int) -> None:
        """A call was recognised that ends at `end`: the whitespace before it goes with it."""
        self.forget()
        self._report()
        self.quiet = True
        if self.drop:
            self._dropped = (end, end)

    def end(self) -> None:
        """The answer is over: whitespace that followed text was text."""
        if self.quiet:
            self.forget()
        else:
            self.release()
        self._report()

    def release(self) -> None:
        """The whitespace that waits was text."""
        for piece in self._spaces:
            self._emit(piece)
        self._spaces = []

    def forget(self) -> None:
        """The whitespace that waits was markup."""
        self.settled += sum(len(piece.text) for piece in self._spaces)
        self._spaces = []

    def _emit(self, piece: Piece) -> None:
        self.settled += len(piece.text)
        self.out.append(piece)

    def _report(self) -> None:
        if self._dropped is not None and self._words:
            self._found(*self._dropped)
        self._dropped = None
        self._words = False

    def clone(self, out: list[Op], found: Callable[[int, int], None]) -> Prose:
        twin = Prose(out, self.drop, found)
        twin.settled, twin.quiet = self.settled, self.quiet
        twin._spaces = self._spaces.copy()
        twin._dropped, twin._words = self._dropped, self._words
        return twin


# -- where in Markdown the prose is

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^\n]*)\Z")
_LEADS = re.compile(r"\s*(?:(?:[-*+>]|\d{1,9}[.)])\s+)*\Z")
_BACKTICKS = re.compile("`+")
# A fence line is short; the beginning of a longer one is enough.
_LINE_KEPT = 256


class Markdown:
    """Follows the prose: whether it is in a fenced block, or in code between backticks.

    Only whole lines open and close a fence, so that a cut line cannot mislead it. Code between backticks ends
    with its line.
    """

    __slots__ = ("_code", "_fence", "_line", "_run")

    def __init__(self) -> None:
        self._line = ""
        self._fence = ""
        self._code = 0  # how many backticks the open code began with
        self._run = 0  # backticks at the end of what came so far, of which there may be more

    @property
    def fenced(self) -> bool:
        return bool(self._fence)

    @property
    def quoted(self) -> bool:
        """What comes now is in code between backticks."""
        code = self._code
        if self._run:
            code = self._run if not code else 0 if code == self._run else code
        return bool(code) and not self._fence

    @property
    def leads(self) -> bool:
        """What comes now is the first on its line, except for blanks and a list marker."""
        return len(self._line) < _LINE_KEPT and _LEADS.match(self._line) is not None

    def feed(self, text: str) -> None:
        if "\n" in text:
            first, *lines = text.split("\n")
            self._end(self._line + first)
            for line in lines[:-1]:
                self._end(line)
            self._line, self._code, self._run = "", 0, 0
            text = lines[-1]
        if len(self._line) < _LINE_KEPT:
            self._line = (self._line + text)[:_LINE_KEPT]
        if "`" in text:
            self._follow_code(text)
        elif text:
            self._end_run()

    def _follow_code(self, text: str) -> None:
        for match in _BACKTICKS.finditer(text):
            if match.start():
                self._end_run()
            self._run += len(match[0])
            if match.end() < len(text):
                self._end_run()

    def _end_run(self) -> None:
        if self._run:
            self._code = self._run if not self._code else 0 if self._code == self._run else self._code
            self._run = 0

    def _end(self, line: str) -> None:
        match = _FENCE.match(line[:_LINE_KEPT])
        if not match:
            return
        fence, info = match.group(1), match.group(2)
        if not self._fence:
            if fence[0] == "~" or "`" not in info:
                self._fence = fence
        elif fence.startswith(self._fence) and not info.strip():
            self._fence = ""

    def clone(self) -> Markdown:
        twin = Markdown()
        twin._line, twin._fence = self._line, self._fence
        twin._code, twin._run = self._code, self._run
        return twin
