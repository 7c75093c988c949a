"""Places: where in a tape a person wants to go, in the words they type."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from transformer import Transition
from workbench.errors import UserError
from workbench.player.clock import Clock
from workbench.player.landmarks import Landmarks
from workbench.player.links import overlap
from workbench.player.panes import Pane
from workbench.player.player import Player

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
class Place:
    """A step, and the byte of upstream that is meant, if one is."""

    step: int
    byte: int | None = None


class Places:
    """Finds the place for a text. Everything but bytes is counted from 1, as the screen shows it."""

    def __init__(self, player: Player, landmarks: Landmarks, clock: Clock) -> None:
        self._player = player
        self._landmarks = landmarks
        self._clock = clock

    def find(self, text: str, here: int) -> Place:
        """`here` is the step to which `+10` is added. A UserError says what is possible."""
        said = text.strip().lower()
        if said in ("start", "end"):
            return Place(-1 if said == "start" else self._player.steps - 1)
        ways: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Place]], ...] = (
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

    def _step(self, number: int) -> Place:
        if number > self._player.steps:
            raise UserError(
                f"there is no step {number}: they go from 0, before everything, to {self._player.steps}"
            )
        return Place(number - 1)

    def _relative(self, here: int, match: re.Match[str]) -> Place:
        step = here + int(match[1] + match[2].replace(",", ""))
        if not -1 <= step < self._player.steps:
            back, on = here + 1, self._player.steps - 1 - here
            raise UserError(f"{match[0]} is too far: from here one can go from -{back} to +{on}")
        return Place(step)

    def _share(self, match: re.Match[str]) -> Place:
        share = float(match[1])
        if share > 100:
            raise UserError(f"{match[0]} is more than the whole tape: it goes from 0% to 100%")
        return Place(round(share / 100 * self._player.steps) - 1)

    def _time(self, seconds: float) -> Place:
        self._clock.catch_up()
        end = self._clock.end
        if seconds > end + _ROUNDED:
            raise UserError(f"{seconds:g} s is behind the end: times go from 0 s to {end:.3f} s")
        return Place(self._clock.at(seconds + _ROUNDED))

    def _byte(self, byte: int) -> Place:
        size = len(self._player.data)
        if byte >= size:
            known = f"they go from 0 to {size - 1}" if size else "nothing has come"
            raise UserError(f"there is no byte {byte} from upstream: {known}")
        return Place(self._taken(byte), byte)

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

    def _counted(self, what: str, number: int) -> Place:
        player = self._player
        if what == "read":
            _check(what, number, player.reads)
            return Place(player.step_of_read(number - 1), player.starts[number - 1])
        if what == "event":
            _check(what, number, _events(player))
            event = player.event(number - 1)
            assert event is not None
            return Place(player.step_of_read(player.read_at(event.end - 1)), event.start)
        self._landmarks.catch_up()
        steps = self._landmarks.calls if what == "call" else self._landmarks.findings
        _check(what, number, len(steps))
        return Place(steps[number - 1])


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
