"""The file `workbench.toml`: where it is, and the TOML in it."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

from workbench.config.keys import PLAIN, PROMPTS
from workbench.config.names import UnknownName, check_name
from workbench.errors import UserError
from workbench.inputs import read_file

NAME = "workbench.toml"
VARIABLE = "WORKBENCH_CONFIG"


def config_file() -> Path:
    """The file that the environment names, else the one in the current folder; it need not exist."""
    return Path(os.environ.get(VARIABLE) or NAME)


def read_toml() -> tuple[Path | None, dict[str, Any]]:
    """The file and what is written in it; nothing, where no file was named and none is there."""
    file = config_file()
    if not os.environ.get(VARIABLE) and not file.exists():
        return None, {}
    try:
        written = tomllib.loads(read_file(str(file)).decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"{file} is no configuration: {error}") from None
    only(written, [*PLAIN, PROMPTS.name, "upstreams"], str(file))
    return file, written


def only(names: dict[str, Any], known: list[str], place: str) -> None:
    """Refuse what is not among the known names."""
    try:
        check_name(names, known)
    except UnknownName as error:
        raise UserError(f"{place}: {error}") from None
