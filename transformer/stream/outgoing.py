"""What a machine has for the client, in order: prose, the beginning of a call, arguments."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias


class Piece(NamedTuple):
    """Text of a channel; `start` is its first character's place in the channel."""

    start: int
    text: str


class Begin(NamedTuple):
    """A call begins; `start` and `end` say where its name stands."""

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
    """The call has all its arguments, which stand from `start` to `end`."""

    call: int
    start: int
    end: int


class Refusal(NamedTuple):
    """The policy wants no call to this tool: the answer ends here, with an error."""

    tool: str


Op: TypeAlias = Piece | Begin | Arguments | Complete | Refusal


def merged(ops: list[Op]) -> list[Op]:
    """Neighbours joined: however many pieces a text fell into, the client gets it in one."""
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
        return isinstance(first, Piece) and op.start == end
    # Only what stands side by side, so that the span of the whole is that of its text.
    return (
        isinstance(op, Arguments)
        and isinstance(first, Arguments)
        and (op.call, op.start) == (first.call, end)
    )


def _joined(run: list[Op]) -> Op:
    first, last = run[0], run[-1]
    if isinstance(first, Piece):
        return Piece(first.start, "".join(op.text for op in run if isinstance(op, Piece)))
    assert isinstance(first, Arguments) and isinstance(last, Arguments)
    text = "".join(op.text for op in run if isinstance(op, Arguments))
    return Arguments(first.call, text, first.start, last.end)
