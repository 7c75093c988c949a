"""A library of sample tapes."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from workbench.files import samples_dir
from workbench.library.index import rebuild


def make_library(folder: Path, samples: Iterable[str]) -> Path:
    """Tapes of these samples (`roo-xml/unclosed-call`), the first one the newest, with an index."""
    tapes = folder / "library" / "tapes" / "2026-11-16"
    tapes.mkdir(parents=True)
    for number, name in enumerate(samples):
        source = samples_dir() / f"{name}.jsonl"
        shutil.copy(source, tapes / f"{99 - number:06}-{name.replace('/', '-')}.jsonl")
    rebuild(folder / "library")
    return folder / "library"
