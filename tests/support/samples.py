"""The samples: a test of one of them becomes one test for each dialect, which checks all of its samples."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.project import SAMPLES
from tests.support.tiers import each, exhaustive, some

ALL = sorted(SAMPLES.glob("*/*.jsonl"))
DIALECTS = sorted({path.parent.name for path in ALL})
_QUICK_DIALECTS = 7


def name_of(path: Path) -> str:
    """Such as `roo-xml/good-read`."""
    return f"{path.parent.name}/{path.stem}"


def every_sample(check: Callable[[Path], None]) -> Callable[[str], None]:
    """Decorates a test of one sample. A failure names the samples that failed."""
    return some_samples(len(ALL))(check)


def some_samples(count: int) -> Callable[[Callable[[Path], None]], Callable[[str], None]]:
    """The same; the quick tier takes this many of each dialect, and not all dialects if those are few."""
    dialects = DIALECTS if count >= len(ALL) or exhaustive() else some(DIALECTS, _QUICK_DIALECTS)

    def decorate(check: Callable[[Path], None]) -> Callable[[str], None]:
        @pytest.mark.parametrize("dialect", dialects)
        def checked(dialect: str) -> None:
            each(some((path for path in ALL if path.parent.name == dialect), count), check)

        checked.__name__, checked.__qualname__ = check.__name__, check.__qualname__
        checked.__module__, checked.__doc__ = check.__module__, check.__doc__
        return checked

    return decorate
