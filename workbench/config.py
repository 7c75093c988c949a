"""The configuration file: what holds for every command that is run beside it."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from transformer import BUILTIN_TEMPLATES
from workbench.errors import UserError
from workbench.inputs import read_file
from workbench.recipe import known_dialect

NAME = "workbench.toml"
VARIABLE = "WORKBENCH_CONFIG"
_KEYS = ("dialect", "prompts")


@dataclass(frozen=True, slots=True)
class Settings:
    """What the file says; without one, nothing."""

    file: Path | None = None
    dialect: str | None = None
    prompts: Mapping[str, Path] = field(default_factory=dict)

    def prompt_file(self, dialect: str) -> str | None:
        """The user's template for a dialect. Only its name: whoever needs it reads it anew each time, so
        that a change of the file takes effect with the next request."""
        path = self.prompts.get(dialect)
        return None if path is None else str(path)


def read_settings() -> Settings:
    """From the file that the environment names, or from `workbench.toml` in the current folder."""
    named = os.environ.get(VARIABLE)
    file = Path(named) if named else Path(NAME)
    if not named and not file.exists():
        return Settings()
    try:
        values = tomllib.loads(read_file(str(file)).decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{file} is no configuration: {error}") from None
    _only(values, _KEYS, str(file))
    dialect = values.get("dialect")
    return Settings(file, None if dialect is None else known_dialect(dialect), _prompts(values, file))


def _prompts(values: Mapping[str, Any], file: Path) -> dict[str, Path]:
    """Paths are relative to the file that names them, wherever the command is run."""
    prompts = values.get("prompts", {})
    if not isinstance(prompts, dict) or not all(isinstance(path, str) for path in prompts.values()):
        raise UserError(f'{file}: prompts is a table such as\n  [prompts]\n  roo-xml = "mine.jinja"')
    _only(prompts, BUILTIN_TEMPLATES, f"{file}, [prompts]")
    return {dialect: file.parent / path for dialect, path in prompts.items()}


def _only(values: Iterable[str], known: Iterable[str], where: str) -> None:
    """A key that does not exist would be ignored for ever; better say so, and which one was meant."""
    for key in values:
        if key not in known:
            near = difflib.get_close_matches(key, list(known), n=1, cutoff=0.5)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
            raise UserError(f"{where}: there is no key {key!r}; {hint}")
