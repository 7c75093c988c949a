"""Where the files that come with the workbench are."""

from __future__ import annotations

from pathlib import Path

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
