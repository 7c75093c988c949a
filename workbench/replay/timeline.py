"""The steps of a tape as a user moves among them: by a unit, or to a typed destination."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from workbench.errors import UserError
from workbench.replay.channels import Channels, ToolNames
from workbench.replay.links import overlap
from workbench.replay.message import Assembly
from workbench.replay.player import Pane, Player

_SLICE = 2000  # rows: about ten milliseconds


class Unit(StrEnum):
    """A unit of movement. A delta is everything that the client got: its status, heartbeats, whole
    messages."""

    STEP = "step"
    TRANSITION = "transition"
    READ = "read"
    DELTA = "delta"
    CALL = "call"
    FINDING = "finding"


@dataclass(frozen=True, slots=True)
class Destination:
    """A step, and the byte of upstream that is meant, if one is."""

    step: int
    byte: int | None = None


class Timeline:
    """A player with what is derived from its rows. The tape may still grow.

    What a client has put together (`assembly`), the texts of the panes (`channels`) and the tools that are
    called (`tools`) are indexes that have to look at every row once. They are built in slices: the first by
    `catch_up`, the other two by their users. Everything else the player knows at once.
    """

    def __init__(self, player: Player) -> None:
        self.player = player
        self.assembly = Assembly(player)

    @cached_property
    def channels(self) -> Channels:
        return Channels(self.player)

    @cached_property
    def tools(self) -> ToolNames:
        return ToolNames(self.player, self.assembly)

    @property
    def calls(self) -> array[int]:
        """The step with which each call began for the client, as far as the assembly has come."""
        return self.assembly.calls

    def catch_up(self, most: int) -> bool:
        """Look at up to this many of the rows that came since; True: none are left."""
        return self.assembly.catch_up(most)

    def seek(self, step: int, unit: Unit, way: int) -> int | None:
        """The next step of its kind (`way` 1), or the one before (-1); None: there is none."""
        return next((found for found in self.search(step, unit, way) if found is not None), None)

    def search(self, step: int, unit: Unit, way: int) -> Iterator[int | None]:
        """The same in slices: None means that a slice is over, and that the caller may do something else
        before the next one. The step comes last, if there is one."""
        if unit is Unit.CALL:
            while not self._knows_call(step, way) and not self.assembly.catch_up(_SLICE):
                yield None
        found = self._nearest(step, unit, way)
        if found is not None:
            yield found

    def _knows_call(self, step: int, way: int) -> bool:
        if way < 0:
            return self.assembly.known >= step
        return bool(self.calls) and self.calls[-1] > step

    def _nearest(self, step: int, unit: Unit, way: int) -> int | None:
        player = self.player
        upstream, machine, client = (rows.steps for rows in player.panes)
        match unit:
            case Unit.STEP:
                return step + way if -1 <= step + way < player.steps else None
            case Unit.TRANSITION:
                return _nearest(player.rows_of_transitions, step, way, machine.__getitem__)
            case Unit.READ:
                return _nearest(player.rows_of_reads, step, way, upstream.__getitem__)
            case Unit.DELTA:
                return _nearest(client, step, way)
            case Unit.CALL:
                return _nearest(self.calls, step, way)
            case Unit.FINDING:
                return _nearest(player.finding_steps.all, step, way)

    def goto(self, text: str, here: int) -> Destination:
        """The place that a user means; `here` is the step to which `+10` is added.

        Everything but bytes is counted from 1, as the screen shows it. A UserError says what is possible.
        """
        return next(place for place in self.find(text, here) if place is not None)

    def find(self, text: str, here: int) -> Iterator[Destination | None]:
        """The same in slices, as `search`."""
        counted = _COUNTED.fullmatch(text.strip().lower())
        if counted is not None and counted[1] == "call":
            while len(self.calls) < _number(counted[2]) and not self.assembly.catch_up(_SLICE):
                yield None
        yield _Destinations(self, here).find(text)


def _nearest(
    numbers: array[int], step: int, way: int, step_of: Callable[[int], int] = lambda number: number
) -> int | None:
    if way > 0:
        at = bisect_right(numbers, step, key=step_of)
        return step_of(numbers[at]) if at < len(numbers) else None
    at = bisect_left(numbers, step, key=step_of) - 1
    return step_of(numbers[at]) if at >= 0 else None


# How many transitions are searched for the one that took a byte, before its read is taken instead.
_REACH = 400
_SHOWN = 60  # characters of what cannot be understood
_ROUNDED = 0.0005  # a person types what the screen shows, and it shows milliseconds
_NUMBER = r"[0-9]{1,15}|[0-9]{1,3}(?:,[0-9]{3}){1,4}"
_STEP = re.compile(rf"#?\s*({_NUMBER})")
_RELATIVE = re.compile(rf"([+-])\s*({_NUMBER})")
_SHARE = re.compile(r"([0-9]{1,3}(?:\.[0-9]{0,9})?)\s*%")
_SECONDS = re.compile(r"([0-9]{1,12}(?:\.[0-9]{0,9})?)\s*(ms|s)")
_CLOCK = re.compile(r"(?:([0-9]{1,6}):)?([0-9]{1,6}):([0-9]{1,2}(?:\.[0-9]{0,9})?)")
_BYTE = re.compile(rf"(?:@|bytes?\b)\s*(?:0x([0-9a-f]{{1,12}})|({_NUMBER}))")
_COUNTED = re.compile(rf"(read|event|call|finding)s?\s*#?\s*({_NUMBER})")
_POSSIBLE = (
    "a step (120, +10, -10, start, end, 50%), a time (12.5s, 800ms, 1:02.5), a byte (@512, @0x1f0), "
    "read 12, event 5, call 2 or finding 3"
)


class _Destinations:
    """Finds the place that a text means."""

    def __init__(self, timeline: Timeline, here: int) -> None:
        self._timeline = timeline
        self._player = timeline.player
        self._here = here

    def find(self, text: str) -> Destination:
        said = text.strip().lower()
        if said in ("start", "end"):
            return Destination(-1 if said == "start" else self._player.steps - 1)
        forms: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Destination]], ...] = (
            (_STEP, self._step),
            (_RELATIVE, self._relative),
            (_SHARE, self._share),
            (_SECONDS, lambda match: self._time(float(match[1]) / (1000 if match[2] == "ms" else 1))),
            (_CLOCK, lambda match: self._time(_seconds(match))),
            (_BYTE, lambda match: self._byte(int(match[1], 16) if match[1] else _number(match[2]))),
            (_COUNTED, lambda match: self._counted(match[1], _number(match[2]))),
        )
        for pattern, find in forms:
            if match := pattern.fullmatch(said):
                return find(match)
        raise UserError(f"{text[:_SHOWN]!r} is not a place in a tape; a place is {_POSSIBLE}")

    def _step(self, match: re.Match[str]) -> Destination:
        number, steps = _number(match[1]), self._player.steps
        if number > steps:
            raise UserError(f"there is no step {number}: they go from 0, before everything, to {steps}")
        return Destination(number - 1)

    def _relative(self, match: re.Match[str]) -> Destination:
        step = self._here + int(match[1] + match[2].replace(",", ""))
        if not -1 <= step < self._player.steps:
            back, on = self._here + 1, self._player.steps - 1 - self._here
            raise UserError(f"{match[0]} is too far: from here one can go from -{back} to +{on}")
        return Destination(step)

    def _share(self, match: re.Match[str]) -> Destination:
        share = float(match[1])
        if share > 100:
            raise UserError(f"{match[0]} is more than the whole tape: it goes from 0% to 100%")
        return Destination(round(share / 100 * self._player.steps) - 1)

    def _time(self, seconds: float) -> Destination:
        end = self._player.seconds(self._player.steps - 1)
        if seconds > end + _ROUNDED:
            raise UserError(f"{seconds:g} s is after the end: times go from 0 s to {end:.3f} s")
        return Destination(self._player.step_at(seconds + _ROUNDED))

    def _byte(self, byte: int) -> Destination:
        size = len(self._player.data)
        if byte >= size:
            known = f"they go from 0 to {size - 1}" if size else "nothing has come"
            raise UserError(f"there is no byte {byte} from upstream: {known}")
        return Destination(self._step_of_byte(byte), byte)

    def _step_of_byte(self, byte: int) -> int:
        """The step with which the parser took a byte; where it took none, that of its read."""
        player = self._player
        read = player.read_at(byte)
        event = next((one for one in player.events_in(read) if one.start <= byte < one.end), None)
        arrived = player.step_of_read(read)
        if event is None:
            return arrived
        machine, rows = player.rows(Pane.MACHINE), player.rows_of_transitions
        first = bisect_left(rows, machine.known_at(arrived))
        numbers = range(len(rows))
        first = bisect_left(numbers, event.number, first, key=lambda number: player.transition(number).event)
        for number in numbers[first : first + _REACH]:
            if overlap(player.bytes_of(player.transition(number)), ((byte, byte + 1),)):
                return machine.steps[rows[number]]
        return arrived

    def _counted(self, what: str, number: int) -> Destination:
        player = self._player
        if what == "read":
            _check(what, number, player.reads)
            return Destination(player.step_of_read(number - 1), player.starts[number - 1])
        if what == "event":
            _check(what, number, player.events)
            event = player.event(number - 1)
            assert event is not None
            return Destination(player.step_of_read(player.read_at(event.end - 1)), event.start)
        steps = self._timeline.calls if what == "call" else player.finding_steps.all
        _check(what, number, len(steps))
        return Destination(steps[number - 1])


def _check(what: str, number: int, count: int) -> None:
    if not 1 <= number <= count:
        few = "there is only one" if count else "there is none"
        known = f"they go from 1 to {count}" if count > 1 else few
        raise UserError(f"there is no {what} {number}: {known}")


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def _seconds(match: re.Match[str]) -> float:
    return 3600 * int(match[1] or 0) + 60 * int(match[2]) + float(match[3])
