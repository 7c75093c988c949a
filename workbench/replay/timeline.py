"""The timeline of a tape: its landmarks (the steps one wants to go to), the cursor and the ways it can go,
destinations in the words that people type, and the clock of playing.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from math import ceil
from typing import NamedTuple

from transformer.records import Finding, Level, Transition
from workbench.errors import UserError
from workbench.replay.breakpoints import BreakpointContext
from workbench.replay.follower import ALL, Clock, Follower
from workbench.replay.message import Assembly
from workbench.replay.player import Pane, Player
from workbench.replay.rowtext import overlap

_MACHINE = int(Pane.MACHINE)
_LEVELS: tuple[Level, ...] = ("error", "warning", "info")  # the worst first


class Stretch(NamedTuple):
    """What is in a stretch of steps. `level` is that of its worst finding."""

    calls: int
    findings: int
    level: Level | None


class Landmarks(Follower):
    """Calls and findings, by their steps. What the proxy found is a line of the tape itself."""

    def __init__(self, player: Player, assembly: Assembly | None = None) -> None:
        super().__init__(player)
        self.assembly = assembly or Assembly(player)
        self.findings = array("q")
        self._by_level: dict[object, array[int]] = {level: array("q") for level in _LEVELS}

    @property
    def calls(self) -> array[int]:
        """The step with which each call began for the client."""
        return self.assembly.calls

    def steps_of(self, level: Level) -> array[int]:
        """The findings of a level."""
        return self._by_level[level]

    def within(self, first: int, last: int) -> Stretch:
        """What lies between two steps, both of them included; asked for every cell of a position bar."""
        calls, findings = (_count(steps, first, last) for steps in (self.calls, self.findings))
        found = (level for level in _LEVELS if _count(self._by_level[level], first, last))
        return Stretch(calls, findings, next(found, None))

    def catch_up(self, most: int = ALL) -> bool:
        has_calls = self.assembly.catch_up(most)
        return super().catch_up(most) and has_calls

    def _look(self, step: int, pane: int, ref: int) -> None:
        if pane != _MACHINE:
            return
        if ref < 0:
            self._found(step, self.player.lines[~ref].value.get("level"))
        elif isinstance(record := self.player.records[ref], Finding):
            self._found(step, record.level)

    def _found(self, step: int, level: object) -> None:
        self.findings.append(step)
        known = isinstance(level, str) and level in self._by_level
        self._by_level[level if known else "info"].append(step)


def _count(steps: array[int], first: int, last: int) -> int:
    return bisect_right(steps, last) - bisect_left(steps, first)


# How many transitions are looked at for the one that took a byte, before its read has to do.
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


@dataclass(frozen=True, slots=True)
class Destination:
    """A step, and the byte of upstream that is meant, if one is."""

    step: int
    byte: int | None = None


class Destinations:
    """Finds the place for a text. Everything but bytes is counted from 1, as the screen shows it."""

    def __init__(self, player: Player, landmarks: Landmarks, clock: Clock) -> None:
        self._player = player
        self._landmarks = landmarks
        self._clock = clock

    def find(self, text: str, here: int) -> Destination:
        """`here` is the step to which `+10` is added. A UserError says what is possible."""
        said = text.strip().lower()
        if said in ("start", "end"):
            return Destination(-1 if said == "start" else self._player.steps - 1)
        ways: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Destination]], ...] = (
            (_STEP, lambda match: self._step(_number(match[1]))),
            (_RELATIVE, lambda match: self._relative(here, match)),
            (_SHARE, self._share),
            (_SECONDS, lambda match: self._time(float(match[1]) / (1000 if match[2] == "ms" else 1))),
            (_CLOCK, lambda match: self._time(_seconds(match))),
            (_BYTE, lambda match: self._byte(int(match[1], 16) if match[1] else _number(match[2]))),
            (_COUNTED, lambda match: self._counted(match[1], _number(match[2]))),
        )
        for pattern, place in ways:
            if match := pattern.fullmatch(said):
                return place(match)
        raise UserError(f"{text[:_SHOWN]!r} is no place in a tape; a place is {_POSSIBLE}")

    def _step(self, number: int) -> Destination:
        if number > self._player.steps:
            raise UserError(
                f"there is no step {number}: they go from 0, before everything, to {self._player.steps}"
            )
        return Destination(number - 1)

    def _relative(self, here: int, match: re.Match[str]) -> Destination:
        step = here + int(match[1] + match[2].replace(",", ""))
        if not -1 <= step < self._player.steps:
            back, on = here + 1, self._player.steps - 1 - here
            raise UserError(f"{match[0]} is too far: from here one can go from -{back} to +{on}")
        return Destination(step)

    def _share(self, match: re.Match[str]) -> Destination:
        share = float(match[1])
        if share > 100:
            raise UserError(f"{match[0]} is more than the whole tape: it goes from 0% to 100%")
        return Destination(round(share / 100 * self._player.steps) - 1)

    def _time(self, seconds: float) -> Destination:
        self._clock.catch_up()
        end = self._clock.end
        if seconds > end + _ROUNDED:
            raise UserError(f"{seconds:g} s is behind the end: times go from 0 s to {end:.3f} s")
        return Destination(self._clock.at(seconds + _ROUNDED))

    def _byte(self, byte: int) -> Destination:
        size = len(self._player.data)
        if byte >= size:
            known = f"they go from 0 to {size - 1}" if size else "nothing has come"
            raise UserError(f"there is no byte {byte} from upstream: {known}")
        return Destination(self._taken(byte), byte)

    def _taken(self, byte: int) -> int:
        """The step with which the parser took a byte; where it took none, that of its read."""
        player = self._player
        read = player.read_at(byte)
        event = next((one for one in player.events_in(read) if one.start <= byte < one.end), None)
        arrived = player.step_of_read(read)
        if event is None:
            return arrived
        rows, looked = player.rows(Pane.MACHINE), 0
        for row in range(rows.known_at(arrived), len(rows)):
            item = player.item(Pane.MACHINE, row)
            if isinstance(item, Transition) and item.event >= event.number:
                if overlap(player.bytes_of(item), ((byte, byte + 1),)):
                    return rows.steps[row]
                looked += 1
                if looked == _REACH:
                    break
        return arrived

    def _counted(self, what: str, number: int) -> Destination:
        player = self._player
        if what == "read":
            _check(what, number, player.reads)
            return Destination(player.step_of_read(number - 1), player.starts[number - 1])
        if what == "event":
            _check(what, number, _events(player))
            event = player.event(number - 1)
            assert event is not None
            return Destination(player.step_of_read(player.read_at(event.end - 1)), event.start)
        self._landmarks.catch_up()
        steps = self._landmarks.calls if what == "call" else self._landmarks.findings
        _check(what, number, len(steps))
        return Destination(steps[number - 1])


def _check(what: str, number: int, count: int) -> None:
    if not 1 <= number <= count:
        few = "there is only one" if count else "there is none"
        known = f"they go from 1 to {count}" if count > 1 else few
        raise UserError(f"there is no {what} {number}: {known}")


def _events(player: Player) -> int:
    """How many events have come; the last reads may have none, or a part of one that is not whole."""
    for read in range(player.reads - 1, -1, -1):
        if events := player.events_in(read):
            return events[-1].number + 1
    return 0


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def _seconds(match: re.Match[str]) -> float:
    return 3600 * int(match[1] or 0) + 60 * int(match[2]) + float(match[3])


class Unit(StrEnum):
    """What one goes by. A delta is everything that the client got: its status, heartbeats, whole messages."""

    STEP = "step"
    TRANSITION = "transition"
    READ = "read"
    DELTA = "delta"
    CALL = "call"
    FINDING = "finding"


class Cursor:
    """Stands at a step; -1 is before everything. The tape may still grow."""

    def __init__(
        self, player: Player, landmarks: Landmarks | None = None, clock: Clock | None = None
    ) -> None:
        self.player = player
        self.step = -1
        self.landmarks = landmarks or Landmarks(player)
        self._places = Destinations(player, self.landmarks, clock or Clock(player))

    def seek(self, unit: Unit, way: int) -> int | None:
        """The next step of its kind (`way` 1), or the one before (-1); None: there is none."""
        self.landmarks.catch_up()
        if unit is Unit.STEP:
            step = self.step + way
            return step if -1 <= step < self.player.steps else None
        upstream, machine, client = (rows.steps for rows in self.player.panes)
        if unit is Unit.TRANSITION:
            return _nearest(self.player.rows_of_moves, self.step, way, machine.__getitem__)
        if unit is Unit.READ:
            return _nearest(self.player.rows_of_reads, self.step, way, upstream.__getitem__)
        if unit is Unit.DELTA:
            return _nearest(client, self.step, way)
        steps = self.landmarks.calls if unit is Unit.CALL else self.landmarks.findings
        return _nearest(steps, self.step, way)

    def goto(self, text: str) -> Destination:
        """The place that a person means; see `Places`."""
        return self._places.find(text, self.step)


def _nearest(
    numbers: array[int], step: int, way: int, step_of: Callable[[int], int] = lambda number: number
) -> int | None:
    if way > 0:
        at = bisect_right(numbers, step, key=step_of)
        return step_of(numbers[at]) if at < len(numbers) else None
    at = bisect_left(numbers, step, key=step_of) - 1
    return step_of(numbers[at]) if at >= 0 else None


# As many times as fast as it was recorded; None: as fast as possible.
SPEEDS: tuple[float | None, ...] = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, None)
_RECORDED = SPEEDS.index(1)
# Nobody waits for longer, whatever times a tape has: they are somebody else's data.
_LONGEST_PAUSE = 600.0
_CALLS = 60  # in which a tape is through when it is played as fast as possible


class Playback:
    """Knows no time of its own: whoever asks says what time it is, in seconds of any clock."""

    def __init__(self) -> None:
        self.playing = False
        self._speed = _RECORDED  # as one of SPEEDS
        self._clock: Clock | None = None
        self._asked = 0.0  # when it was asked last
        self._step = -1  # and what it said
        self._time = 0.0  # of the tape, up to which it has played

    @property
    def speed(self) -> float | None:
        return SPEEDS[self._speed]

    @property
    def changed(self) -> bool:
        """Whether somebody has chosen another speed than that of the recording."""
        return self._speed != _RECORDED

    @property
    def words(self) -> str:
        speed = "as fast as possible" if self.speed is None else f"at {self.speed:g}×"
        return f"{'playing' if self.playing else 'paused'} {speed}"

    def play(self, player: Player, step: int, now: float, clock: Clock | None = None) -> None:
        """Play a tape, which may still grow, from a step on. Who has its clock already may share it."""
        if clock is not None:
            self._clock = clock
        elif self._clock is None or self._clock.player is not player:
            self._clock = Clock(player)
        self._clock.catch_up()
        self.playing, self._asked = True, now
        self._step, self._time = step, self._clock.of(step)

    def pause(self) -> None:
        self.playing = False

    def faster(self, now: float) -> None:
        self._choose(now, self._speed + 1)

    def slower(self, now: float) -> None:
        self._choose(now, self._speed - 1)

    def _choose(self, now: float, speed: int) -> None:
        self._pass(now)
        self._speed = max(0, min(speed, len(SPEEDS) - 1))

    def advance(self, now: float, step: int, *, grows: bool = True) -> int:
        """The step up to which the tape has played. `step` is where one is: it may have been moved meanwhile.

        The tape's end stops it. `grows`: a tape without an end may still get one, so its last step doesn't.
        """
        clock = self._clock
        if not self.playing or clock is None:
            return step
        clock.catch_up()
        self._pass(now)
        if step != self._step:
            self._time = clock.of(step)
        self._step = self._leap(clock, step) if self.speed is None else self._played(clock, step)
        if self._step >= clock.player.steps - 1 and (clock.player.complete or not grows):
            self.playing = False
        return self._step

    def _pass(self, now: float) -> None:
        """The time since the last question has passed, at the speed of that time."""
        if self.playing and self.speed is not None:
            self._time += max(0.0, now - self._asked) * self.speed
        self._asked = now

    def _played(self, clock: Clock, step: int) -> int:
        following = step + 1
        if following < clock.player.steps and self._time < clock.of(following):
            if self._time - clock.of(step) < _LONGEST_PAUSE:
                return step
            self._time = clock.of(following)
        return max(step, clock.at(self._time))

    def _leap(self, clock: Clock, step: int) -> int:
        """On to the next read at least, and through any tape in no time."""
        player = clock.player
        last, following = player.steps - 1, player.last_read(step) + 1
        read = player.step_of_read(following) if following < player.reads else last
        reached = max(step, min(last, max(read, step + ceil(player.steps / _CALLS))))
        self._time = clock.of(reached)
        return reached


class Timeline:
    """One look at every row serves all who ask; in slices, for a long tape has hundreds of thousands."""

    def __init__(self, player: Player) -> None:
        self.player = player
        self.clock = Clock(player)
        self.assembly = Assembly(player)
        self.landmarks = Landmarks(player, self.assembly)
        self.cursor = Cursor(player, self.landmarks, self.clock)
        self.scene = BreakpointContext(player, self.clock, self.assembly)

    def catch_up(self, most: int) -> bool:
        """Look at so many of the rows that came since; True: all that there are have been looked at."""
        landmarks = self.landmarks.catch_up(most)
        return self.clock.catch_up(most) and landmarks
