"""A run of prose: event after event of one shape, with nothing in it but text that goes on as it came.

Nearly all events of nearly all streams are such. The client gets each of them at once; the choice is told of
many together what was said. Nothing depends on it but speed: an event that does not belong to the run ends
it, and takes the long way, which would have given the same for all before it.
"""

from __future__ import annotations

from orjson import JSONDecodeError, dumps, loads

from transformer.answer.choice import Choice
from transformer.frontends.frontend import ClientWriter
from transformer.frontends.shape import Shape
from transformer.parser.machine import Notices

_TOGETHER = 512  # texts after which the choice is told at the latest


class ProseRun:
    """Takes the events of a run."""

    __slots__ = (
        "_after",
        "_before",
        "_channel",
        "_choice",
        "_client",
        "_end",
        "_head",
        "_notices",
        "_start",
        "_tail",
        "_texts",
    )

    def __init__(
        self,
        choice: Choice,
        channel: str,
        notices: Notices,
        client: ClientWriter,
        shape: Shape,
        around: tuple[bytes, bytes],
    ) -> None:
        self._choice, self._channel, self._notices = choice, channel, notices
        self._client = client
        self._before, self._after = shape.before, shape.after
        self._start, self._end = len(self._before) - 1, 1 - len(self._after)
        self._head, self._tail = around
        self._texts: list[str] = []

    def take(self, data: bytes) -> bool:
        """Whether this event belongs to the run; then the client has it."""
        if not (data.startswith(self._before) and data.endswith(self._after)):
            return False
        string = data[self._start : self._end]
        try:
            text = loads(string)  # with its quotes it is one string, or the event is not what it seems
        except JSONDecodeError:
            return False
        # Whitespace at the end waits for what follows it: a call may swallow it.
        if not text or text[-1].isspace() or self._notices(text) is not None:
            return False
        # A string without an escape is written as it came.
        self._client.out.append(self._head + (dumps(text) if b"\\" in string else string) + self._tail)
        self._texts.append(text)
        if len(self._texts) == _TOGETHER:
            self.settle()
        return True

    def settle(self) -> None:
        """Tell the choice."""
        if self._texts:
            self._choice.said_at_once(self._channel, "".join(self._texts))
            self._texts = []


def begin(choice: Choice, channel: str, client: ClientWriter, shape: Shape) -> ProseRun | None:
    """A run from the next event on; None where one is not possible now."""
    around = client.around(shape)
    if around is None or b"\n" in shape.before or b"\n" in shape.after:  # such an event has several lines
        return None
    notices = choice.notices(channel, shape.fields)
    return None if notices is None else ProseRun(choice, channel, notices, client, shape, around)
