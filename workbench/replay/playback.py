"""Playing a tape: which step is shown at which time, at a speed that a person chooses."""

from __future__ import annotations

from math import ceil

from workbench.replay.player import Player

# Factors of the recorded speed; None: as fast as possible.
SPEEDS: tuple[float | None, ...] = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, None)
_RECORDED = SPEEDS.index(1)
# A longer pause is never made, whatever times a tape has: they are untrusted data.
_LONGEST_PAUSE = 600.0
_QUESTIONS = 60  # calls of `advance` in which a tape played as fast as possible ends


class Playback:
    """Has no clock of its own: the caller says what time it is, in seconds of any clock."""

    def __init__(self) -> None:
        self.playing = False
        self._player: Player | None = None
        self._speed = _RECORDED  # as one of SPEEDS
        self._asked = 0.0  # when it was asked last
        self._step = -1  # and what it said
        self._time = 0.0  # of the tape, up to which it has played

    @property
    def speed(self) -> float | None:
        return SPEEDS[self._speed]

    @property
    def changed(self) -> bool:
        """Whether another speed than that of the recording was chosen."""
        return self._speed != _RECORDED

    @property
    def words(self) -> str:
        speed = "as fast as possible" if self.speed is None else f"at {self.speed:g}×"
        return f"{'playing' if self.playing else 'paused'} {speed}"

    def play(self, player: Player, step: int, now: float) -> None:
        """Play a tape, which may still grow, from a step on."""
        self._player = player
        self.playing, self._asked = True, now
        self._step, self._time = step, player.seconds(step)

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
        """The step up to which the tape has played. `step` is the current step: it may have been moved
        meanwhile.

        The tape's end stops it. `grows`: a tape without an end may still get one, so its last step doesn't.
        """
        player = self._player
        if not self.playing or player is None:
            return step
        self._pass(now)
        if step != self._step:
            self._time = player.seconds(step)
        self._step = self._jump(player, step) if self.speed is None else self._played(player, step)
        if self._step >= player.steps - 1 and (player.complete or not grows):
            self.playing = False
        return self._step

    def _pass(self, now: float) -> None:
        """Adds the time since the last call, at the speed of that time."""
        if self.playing and self.speed is not None:
            self._time += max(0.0, now - self._asked) * self.speed
        self._asked = now

    def _played(self, player: Player, step: int) -> int:
        following = step + 1
        if following < player.steps and self._time < player.seconds(following):
            if self._time - player.seconds(step) < _LONGEST_PAUSE:
                return step
            self._time = player.seconds(following)
        return max(step, player.step_at(self._time))

    def _jump(self, player: Player, step: int) -> int:
        """On to the next read at least, and to the end of any tape in a moment."""
        last, following = player.steps - 1, player.last_read(step) + 1
        read = player.step_of_read(following) if following < player.reads else last
        reached = max(step, min(last, max(read, step + ceil(player.steps / _QUESTIONS))))
        self._time = player.seconds(reached)
        return reached
