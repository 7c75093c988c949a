"""What work costs, counted in a way that does not depend on the machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import thread_time


def calls_made(work: Callable[[], object]) -> int:
    """How many functions are called for some work: the same on every machine, however busy it is."""
    count = 0

    def seen(frame: object, event: str, arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def lines_run(work: Callable[[], object]) -> int:
    """How many lines of Python are run for some work, for loops that call nothing."""
    count = 0

    def seen(frame: object, event: str, arg: object) -> object:
        nonlocal count
        count += event == "line"
        return seen

    before = sys.gettrace()
    sys.settrace(seen)  # type: ignore[arg-type]
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def grows_evenly(work: Callable[[int], object], size: int, times: int = 16) -> bool:
    """Whether work of n times the size takes about n times as long, not n squared times.

    For the work of regular expressions, which cannot be counted. The work is compared with itself, so a slow
    machine does not matter; and other work of a busy one does not affect all of the attempts.
    """
    return any(_seconds(work, size * times) < times**1.5 * _seconds(work, size) for _ in range(10))


def _seconds(work: Callable[[int], object], size: int) -> float:
    before = thread_time()
    work(size)
    return thread_time() - before
