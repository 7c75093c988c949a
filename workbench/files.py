"""Files of ours and of the user: replaced in one step, saved under a free name, and where the samples are."""

from __future__ import annotations

import os
import re
import tempfile
from contextlib import suppress
from itertools import count
from pathlib import Path

PRIVATE = 0o600


def replace_file(path: Path, data: bytes, mode: int) -> None:
    """A concurrent reader gets all of the old version or all of the new one."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, mode)
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


_HERE = Path(__file__).resolve().parent


def samples_dir() -> Path:
    """The sample tapes: inside the package when it was installed from a wheel, beside it in a checkout."""
    packaged = _HERE / "samples"
    return packaged if packaged.is_dir() else _HERE.parent / "samples"


def resolve(name: str) -> Path:
    """The file a user means. `samples/…` also works outside a checkout, where there is no such folder."""
    path = Path(name)
    if path.parts[:1] == ("samples",) and not path.exists():
        packaged = samples_dir().joinpath(*path.parts[1:])
        return packaged if packaged.exists() else path
    return path


_ODD = re.compile(r"[^A-Za-z0-9.-]+")


def save(text: str | bytes, name: str, folder: Path, ending: str = ".txt") -> Path:
    """Into a new file in a folder, which is created if necessary; OSError if that does not work.

    For its owner only: what was on the screen may be private source code.
    """
    data = text if isinstance(text, bytes) else text.encode("utf-8", "backslashreplace")
    stem = _ODD.sub("-", name).strip("-.")[:60] or "text"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return _written(folder, stem, ending, data)


def _written(folder: Path, stem: str, ending: str, data: bytes) -> Path:
    for number in count(1):
        again = "" if number == 1 else f"-{number}"
        path = folder / f"workbench-{stem}{again}{ending}"
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            continue
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        return path
    raise AssertionError("numbers do not end")
