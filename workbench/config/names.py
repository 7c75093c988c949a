"""Names that have to exist: a wrong one is refused together with the one that was meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UnknownName(ValueError):
    """A name that does not exist, in a sentence with the nearest one that does."""


def nearest(name: str, known: Iterable[str], cutoff: float = 0.5) -> str | None:
    """The known name that was probably meant."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=cutoff)
    return near[0] if near else None


def check_name(names: Iterable[str], known: Iterable[str], noun: str = "key") -> None:
    """A key that does not exist would be ignored for ever; better say so, and which one was meant."""
    known = list(known)
    for name in names:
        if name not in known:
            near = nearest(name, known)
            hint = f"did you mean {near}?" if near else f"there are {', '.join(known)}"
            raise UnknownName(f"there is no {noun} {name!r}; {hint if known else 'there is none at all'}")
