"""The search for hits, in slices that never take long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from workbench.player.breakpoints.conditions import Breakpoint
from workbench.player.breakpoints.scene import Scene
from workbench.player.panes import Pane

_SLICE = 500  # steps, a few milliseconds


@dataclass(frozen=True, slots=True)
class Hit:
    """Where to stop, because of which breakpoint, and what happens there."""

    step: int
    breakpoint: Breakpoint
    words: str


def hits(
    scene: Scene, breakpoints: Sequence[Breakpoint], step: int, way: int = 1, until: int | None = None
) -> Iterator[Hit | None]:
    """The hits behind a step (`way` 1) or before it (-1), one after the other; None: a slice is over, and
    whoever searches may do something else before the next one. `until` is the last step that counts."""
    indexes = [index for one in breakpoints if (index := one.needs(scene)) is not None]
    for index in indexes:
        while not index.catch_up(_SLICE):
            yield None
    panes = scene.player.panes_of_steps
    watching = [[one for one in breakpoints if pane in one.panes] for pane in Pane]
    looked, at = 0, step + way
    while 0 <= at < scene.player.steps and (until is None or (until - at) * way >= 0):
        if (hit := _hit(scene, watching[panes[at]], at)) is not None:
            yield hit
        looked, at = looked + 1, at + way
        if looked % _SLICE == 0:
            yield None
            for index in indexes:  # the tape may have grown meanwhile
                index.catch_up()


def next_hit(
    scene: Scene, breakpoints: Sequence[Breakpoint], step: int, way: int = 1, until: int | None = None
) -> Hit | None:
    """The first of them, however long that takes."""
    return next((hit for hit in hits(scene, breakpoints, step, way, until) if hit is not None), None)


def _hit(scene: Scene, breakpoints: Sequence[Breakpoint], step: int) -> Hit | None:
    for one in breakpoints:
        if (words := one.hit(scene, step)) is not None:
            return Hit(step, one, f"breakpoint {one}: {words}")
    return None
