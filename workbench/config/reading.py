"""The order of the sources: flags, then the environment, then the file, then the defaults."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from workbench.config.file import read_toml
from workbench.config.keys import CHOSEN, PLAIN, PROMPTS, Key, default_of
from workbench.config.settings import Flags, Settings
from workbench.config.upstreams import DEFAULT, Upstreams


class _Said(NamedTuple):
    value: Any
    origin: str


def read_settings(flags: Flags | None = None) -> Settings:
    """What is in effect, from the flags of the command and everything around it."""
    flags = flags or Flags()
    file, written = read_toml()
    plain = {key.name: _effective(key, flags, written, file) for key in PLAIN.values()}
    upstreams = _upstreams(flags, plain, written, file)
    values = {name: said.value for name, said in plain.items()}
    origins = {name: said.origin for name, said in plain.items()}
    return Settings(
        **values,
        file=file,
        prompts=_prompts(written, file),
        upstreams=upstreams.found,
        origins=origins | upstreams.origins | {PROMPTS.name: str(file) if "prompts" in written else DEFAULT},
        warnings=tuple(warning for some in upstreams.warnings.values() for warning in some),
    )


def _effective(key: Key, flags: Flags, written: Mapping[str, Any], file: Path | None) -> _Said:
    said = _outside(key, flags)
    if said is not None:
        return said
    if file is None or key.name not in written:
        return _Said(default_of(key, Settings), DEFAULT)
    value = key.read(written[key.name], f"{file}: {key.name}")
    # Paths are relative to the file that names them, wherever the command is run.
    return _Said(file.parent / value if isinstance(value, Path) else value, str(file))


def _outside(key: Key, flags: Flags) -> _Said | None:
    """What a flag says, or else the environment. A variable that is set to nothing says nothing."""
    if key.flag is not None and (value := getattr(flags, key.name)) is not None:
        return _Said(key.read(value, key.flag), key.flag)
    text = os.environ.get(key.variable, "").strip()
    return _Said(key.read(key.kind.parse(text), key.variable), key.variable) if text else None


def _upstreams(
    flags: Flags, plain: dict[str, _Said], written: Mapping[str, Any], file: Path | None
) -> Upstreams:
    """The upstreams; `plain` learns which one is the default."""
    upstreams = Upstreams()
    if file is not None:
        upstreams.read(written, file)
    plain["default"] = _default(upstreams, _outside(CHOSEN, flags), plain["default"])
    default, dialect = plain["default"].value, plain["dialect"]
    if dialect.origin not in (DEFAULT, str(file)):
        upstreams.speak(default, dialect.value, dialect.origin)
    if flags.switches:
        upstreams.switch(default, flags.switches)
    return upstreams


def _default(upstreams: Upstreams, chosen: _Said | None, named: _Said) -> _Said:
    if chosen is not None:
        return _Said(upstreams.choose(chosen.value, chosen.origin), chosen.origin)
    if named.value is not None:
        return _Said(upstreams.known(named.value, f"{named.origin}: default: "), named.origin)
    # An only one needs no choosing.
    only = next(iter(upstreams.found)) if len(upstreams.found) == 1 else None
    return _Said(only, DEFAULT)


def _prompts(written: Mapping[str, Any], file: Path | None) -> dict[str, Path]:
    if file is None or PROMPTS.name not in written:
        return {}
    found: dict[str, Path] = PROMPTS.read(written[PROMPTS.name], f"{file}: {PROMPTS.name}")
    return {dialect: file.parent / path for dialect, path in found.items()}
