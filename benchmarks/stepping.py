"""Steps through a tape in the real application: what each of them costs, from the key to the last frame."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from textual import events
from textual.keys import _character_to_key

from workbench.replay.sources import replayables_of
from workbench.tape.recipe import Wishes
from workbench.ui.app import ReplayApp

SIZE = (200, 50)
QUIET = 0.04  # seconds without a frame, after which none is expected any more


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one key: seconds until the last frame, seconds of the processor."""

    wall: float
    cpu: float


class Frames:
    """Notes when an application draws."""

    def __init__(self, app: ReplayApp) -> None:
        self.count = 0
        self.last = (0.0, 0.0)
        self.one = asyncio.Event()
        self._display = app._display
        app._display = self._noted  # type: ignore[method-assign]

    def _noted(self, screen: Any, renderable: Any) -> None:
        self._display(screen, renderable)
        self.count += 1
        self.last = perf_counter(), process_time()
        self.one.set()


class Stepper:
    """Presses keys in an application that has read all of its tape."""

    def __init__(self, app: ReplayApp) -> None:
        self._app = app
        self._frames = Frames(app)

    @property
    def model(self) -> Any:
        return self._app.screen.model  # type: ignore[attr-defined]

    @property
    def last(self) -> int:
        return int(self.model.player.steps) - 1

    async def until(self, condition: Callable[[], Any], what: str) -> None:
        end = perf_counter() + 300
        while not condition():
            assert perf_counter() < end, f"{what} did not happen"
            await asyncio.sleep(0.02)

    async def quiet(self) -> None:
        """Until nothing is left to be drawn."""
        while True:
            frames = self._frames.count
            await asyncio.sleep(QUIET)
            if self._frames.count == frames:
                return

    async def press(self, key: str) -> Cost:
        """From a key to the last frame of the step that it leads to."""
        pressed = events.Key(key if len(key) > 1 else _character_to_key(key), key if len(key) == 1 else None)
        pressed.set_sender(self._app)
        driver = self._app._driver
        assert driver is not None
        return await self._cost(lambda: driver.send_message(pressed))

    async def jump(self, step: int) -> Cost:
        """The same for a click on the bar, or a line that was entered: the line itself costs extra."""
        return await self._cost(lambda: self.model.move_to(step))

    async def _cost(self, act: Callable[[], object]) -> Cost:
        before, frames = self.model.step, self._frames.count
        begin = perf_counter(), process_time()
        act()
        # Nothing is asked again and again meanwhile: that would be the most expensive part.
        while self.model.step == before or self._frames.count == frames:
            await asyncio.wait_for(self._next_frame(), 10)
        await self.quiet()
        wall, cpu = self._frames.last
        return Cost(wall - begin[0], cpu - begin[1])

    async def _next_frame(self) -> None:
        self._frames.one.clear()
        await self._frames.one.wait()

    async def walk(self, start: int, key: str, steps: int) -> list[Cost]:
        self.model.move_to(start)
        await self.quiet()
        return [await self.press(key) for _ in range(steps)]

    async def wander(self, steps: int) -> list[Cost]:
        dice = random.Random("replay")
        places = [dice.randrange(1, self.last) for _ in range(steps)]
        return [await self.jump(step) for step in places if step != self.model.step]


async def step_through(tape: Path, steps: int) -> dict[str, list[Cost]]:
    app = ReplayApp(replayables_of([str(tape)], Wishes()), pick=False)
    async with app.run_test(size=SIZE):
        stepper = Stepper(app)
        await stepper.until(lambda: hasattr(app.screen, "model"), "the replay screen")
        await stepper.until(lambda: stepper.model.player is not None, "the header")
        await stepper.until(lambda: stepper.model.player.complete and not stepper.model.busy, "all of it")
        await stepper.quiet()
        await stepper.walk(0, "right", 3)  # the first ones cost more, wherever they are
        middle, last = stepper.last // 2, stepper.last
        return {
            "on, at the start": await stepper.walk(0, "right", steps),
            "on, in the middle": await stepper.walk(middle, "right", steps),
            "back, in the middle": await stepper.walk(middle, "left", steps),
            "back, at the end": await stepper.walk(last, "left", steps),
            "back by reads, at the end": await stepper.walk(last, "[", steps),
            "back by deltas, at the end": await stepper.walk(last, "{", steps),
            "end and start": [await stepper.press("<>"[number % 2]) for number in range(min(steps, 10))],
            "to random steps": await stepper.wander(steps),
        }
