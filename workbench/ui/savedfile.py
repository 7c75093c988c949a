"""A file into which something on the screen is written down."""

from __future__ import annotations

import os
import re
import tempfile
from itertools import count
from pathlib import Path

_ODD = re.compile(r"[^A-Za-z0-9.-]+")


def save(text: str, name: str) -> Path:
    """Into a new file in the current folder, or in the one for temporary files; OSError if neither works.

    For its owner only: what was on the screen may be anybody's source code.
    """
    data = text.encode("utf-8", "backslashreplace")
    stem = _ODD.sub("-", name).strip("-.")[:60] or "text"
    try:
        return _written(Path.cwd(), stem, data)
    except OSError:
        return _written(Path(tempfile.gettempdir()), stem, data)


def _written(folder: Path, stem: str, data: bytes) -> Path:
    for number in count(1):
        path = folder / (f"workbench-{stem}.txt" if number == 1 else f"workbench-{stem}-{number}.txt")
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            continue
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        return path
    raise AssertionError("numbers do not end")
