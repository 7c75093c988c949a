"""Ids of generated calls: a seed and a number give the same id on every machine."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2s


def call_ids(seed: str = "") -> Callable[[int], str]:
    """A function of the call's number; a tape keeps the seed, so that a replay gives the same ids."""
    return lambda number: f"call_{blake2s(f'{seed}/{number}'.encode(), digest_size=12).hexdigest()}"
