"""The settings read from their sources: flags, then the environment, then the file `workbench.toml`, then the
defaults. Upstreams come from the tables of the file, and one from a flag or the environment.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from transformer.dialects import EXAMPLE
from transformer.policy import Policy
from transformer.upstreams import DEFAULT as OPENAI
from transformer.upstreams import find_kind
from workbench.config.kinds import POLICY, Unfit, UnknownName, check_name, sendable
from workbench.config.settings import (
    CHOSEN,
    PLAIN,
    PROMPTS,
    UPSTREAM,
    Flags,
    Key,
    Settings,
    Upstream,
    default_of,
)
from workbench.errors import UserError, parser_says
from workbench.tape.inputs import read_file

NAME = "workbench.toml"
VARIABLE = "WORKBENCH_CONFIG"


def config_file() -> Path:
    """The file that the environment names, else the one in the current folder; it need not exist."""
    return Path(os.environ.get(VARIABLE) or NAME)


def read_toml() -> tuple[Path | None, dict[str, Any]]:
    """The file and its content; nothing if no file was named and there is none."""
    file = config_file()
    if not os.environ.get(VARIABLE) and not file.exists():
        return None, {}
    try:
        written = tomllib.loads(read_file(str(file)).decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{file} is not a configuration: {parser_says(error)}") from None
    _refuse_unknown(written, [*PLAIN, PROMPTS.name, "upstreams"], str(file))
    return file, written


def _refuse_unknown(names: dict[str, Any], known: list[str], place: str) -> None:
    """A UserError for a key that does not exist."""
    try:
        check_name(names, known)
    except UnknownName as error:
        raise UserError(f"{place}: {error}") from None


# -- the upstreams

DEFAULT = "default"  # the origin of a value that was not set
MADE = "default"  # the name of an upstream that only a flag or the environment knows
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_WANTED = 'upstreams is a table of tables, such as\n  [upstreams.qwen]\n  url = "http://127.0.0.1:8000/v1"'


@dataclass(slots=True)
class Upstreams:
    """The upstreams while the sources are read, one after the other."""

    dialect: str | None = None  # for those that name none
    dialect_origin: str = DEFAULT
    found: dict[str, Upstream] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    warnings: dict[str, list[str]] = field(default_factory=dict)  # by upstream

    def read(self, written: Mapping[str, Any], file: Path) -> None:
        """Every table `[upstreams.NAME]` of the file."""
        if "dialect" in written:
            self.dialect = PLAIN["dialect"].read(written["dialect"], f"{file}: dialect")
            self.dialect_origin = str(file)
        tables = written.get("upstreams", {})
        if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
            raise UserError(f"{file}: {_WANTED}")
        for name, table in tables.items():
            if not _NAME.fullmatch(name):
                raise UserError(
                    f"{file}: {name!r} cannot be the name of an upstream; use letters, digits and . _ -"
                )
            self._read_table(name, table, file)

    def _read_table(self, name: str, table: dict[str, Any], file: Path) -> None:
        place = f"{file}, [upstreams.{name}]"
        if "api_key" in table:
            raise UserError(
                f"{place}: an API key does not belong in a file; put it into an environment variable"
                f" and name that one here: api_key_env = {UPSTREAM['api_key_env'].example}"
            )
        _refuse_unknown(table, list(UPSTREAM), place)
        if "url" not in table:
            raise UserError(f"{place}: url is missing, such as url = {UPSTREAM['url'].example}")
        values = {key: UPSTREAM[key].read(value, f"{place}: {key}") for key, value in table.items()}
        if "prompt" in values:
            values["prompt"] = file.parent / values["prompt"]
        self._note(name, table, str(file))
        self._add(name, values)

    def _note(self, name: str, table: Mapping[str, Any], origin: str) -> None:
        for key in UPSTREAM:
            self.origins[f"upstreams.{name}.{key}"] = origin if key in table else DEFAULT
        for switch in table.get("policy", {}):
            self.origins[f"upstreams.{name}.policy.{switch}"] = origin

    def _add(self, name: str, values: dict[str, Any]) -> None:
        if "dialect" not in values:
            usual = _usual_dialect(values.get("kind", OPENAI))
            values["dialect"] = self.dialect or usual or default_of(UPSTREAM["dialect"], Upstream)
            self.origins[f"upstreams.{name}.dialect"] = self.dialect_origin
        self._settle_convert(name, values)
        variable, headers = values.get("api_key_env"), values.get("headers", {})
        values["api_key"] = _variable(variable) if variable else None
        values["headers"], values["secrets"] = _fill_in(headers), _secrets_in(headers)
        cookie = values.get("cookie_env")
        if cookie and (secret := _variable(cookie)):
            values["headers"]["cookie"] = secret
            values["secrets"] += (secret,)
        warnings = [f"{unset} is not set: upstream {name} gets no header {header}"
                    for header, text in headers.items() for unset in _unset_variables(text)]  # fmt: skip
        if variable and not values["api_key"]:
            warnings.append(f"{variable} is not set: upstream {name} gets no API key but the client's")
        if cookie and not _variable(cookie):
            warnings.append(f"{cookie} is not set: upstream {name} gets no cookies")
        self.warnings[name] = warnings
        self.found[name] = Upstream(name=name, **values)

    def choose(self, wanted: str, origin: str) -> str:
        """The name of the upstream that was asked for by name, or of one made for a URL."""
        # With these characters it is meant as a URL; a refused one is not repeated, as it may contain a
        # password.
        if not set("/@?") & set(wanted):
            return self.known(wanted, f"{origin}: ", "; a URL begins with http:// or https://")
        # Always a new one, even if the file has one of that name: its key must not go to another server.
        self.origins = {
            key: value for key, value in self.origins.items() if not key.startswith(f"upstreams.{MADE}.")
        }
        self._note(MADE, {"url": wanted}, origin)
        self._add(MADE, {"url": UPSTREAM["url"].read(wanted, origin)})
        return MADE

    def known(self, name: str, place: str, hint: str = "") -> str:
        """The name, if there is such an upstream."""
        try:
            check_name([name], self.found, "upstream")
        except UnknownName as error:
            from workbench.recording.redaction import Redaction  # its expressions take a while to compile

            # A key may have been pasted where a name is wanted.
            raise UserError(f"{place}{Redaction().text(str(error))}{hint}") from None
        return name

    def set_dialect(self, name: str | None, dialect: str, origin: str) -> None:
        """The default upstream's dialect: a flag or the environment wins over its table."""
        if name is not None:
            self.found[name] = replace(self.found[name], dialect=dialect)
            self.origins[f"upstreams.{name}.dialect"] = origin

    def set_kind(self, name: str | None, kind: str, origin: str) -> None:
        """The default upstream's kind, from a flag."""
        if name is None:
            raise UserError(
                f"{origin} is about the default upstream, and there is none; {CHOSEN.flag} names one"
            )
        self.found[name] = replace(self.found[name], kind=kind)
        usual = _usual_dialect(kind)
        if usual is not None and self.origins[f"upstreams.{name}.dialect"] == DEFAULT:
            self.found[name] = replace(self.found[name], dialect=usual)
        self.origins[f"upstreams.{name}.kind"] = origin

    def _settle_convert(self, name: str, values: dict[str, Any]) -> None:
        """It is a switch of the policy with a key of its own; if both are given, the switch wins."""
        key, switch = f"upstreams.{name}.convert", f"upstreams.{name}.policy.convert"
        policy = values.get("policy", Policy())
        if policy.convert is not None:
            values["convert"], self.origins[key] = policy.convert, self.origins[switch]
        elif values.get("convert", "tools") != "tools":
            values["policy"], self.origins[switch] = (
                replace(policy, convert=values["convert"]),
                self.origins[key],
            )

    def set_policy(self, name: str | None, switches: Mapping[str, str]) -> None:
        """The default upstream's policy, with what `--set` said."""
        if name is None:
            raise UserError(f"--set changes the default upstream, and there is none; {CHOSEN.flag} names one")
        try:
            POLICY.read(dict(switches))
        except Unfit as unfit:
            raise UserError(f"--set: {unfit}") from None
        said = {**self.found[name].policy.said(), **switches}
        policy = Policy.from_mapping(said)
        convert = policy.convert or self.found[name].convert
        self.found[name] = replace(self.found[name], policy=policy, convert=convert)
        if "convert" in switches:
            self.origins[f"upstreams.{name}.convert"] = "--set"
        for switch in switches:
            self.origins[f"upstreams.{name}.policy.{switch}"] = "--set"


def _usual_dialect(kind: str) -> str | None:
    """A server that keeps conversations has no template for tools: its models get our prompt."""
    return EXAMPLE if find_kind(kind).remembers else None


# -- secrets from the environment

_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def _fill_in(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers with `${NAME}` replaced. One that names an unset variable is left out: sent without its
    secret it would only confuse the server."""
    return {
        name: _REFERENCE.sub(lambda match: _variable(match[1]) or "", text)
        for name, text in headers.items()
        if not _unset_variables(text)
    }


def _secrets_in(headers: Mapping[str, str]) -> tuple[str, ...]:
    """What the headers take from the environment: it must never be recorded, whatever the headers are
    called."""
    names = dict.fromkeys(name for text in headers.values() for name in _REFERENCE.findall(text))
    return tuple(value for name in names if (value := _variable(name)))


def _unset_variables(text: str) -> list[str]:
    """The variables that a header's text names and that are not set."""
    return [name for name in _REFERENCE.findall(text) if _variable(name) is None]


def _variable(name: str) -> str | None:
    """The value of an environment variable that goes into a header; None where it is not set, or empty."""
    # A line break at its end comes from the file that the variable was filled from.
    value = os.environ.get(name, "").strip()
    if not sendable(value):
        raise UserError(f"the value of {name} has characters that cannot be sent in a header")
    return value or None


# -- all settings


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
    """What a flag says, or else the environment. An empty variable counts as unset."""
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
    if flags.kind is not None:
        upstreams.set_kind(default, UPSTREAM["kind"].read(flags.kind, "--kind"), "--kind")
    if dialect.origin not in (DEFAULT, str(file)):
        upstreams.set_dialect(default, dialect.value, dialect.origin)
    if flags.switches:
        upstreams.set_policy(default, flags.switches)
    return upstreams


def _default(upstreams: Upstreams, chosen: _Said | None, named: _Said) -> _Said:
    if chosen is not None:
        return _Said(upstreams.choose(chosen.value, chosen.origin), chosen.origin)
    if named.value is not None:
        return _Said(upstreams.known(named.value, f"{named.origin}: default: "), named.origin)
    # Where there is only one, it is the default.
    only = next(iter(upstreams.found)) if len(upstreams.found) == 1 else None
    return _Said(only, DEFAULT)


def _prompts(written: Mapping[str, Any], file: Path | None) -> dict[str, Path]:
    if file is None or PROMPTS.name not in written:
        return {}
    found: dict[str, Path] = PROMPTS.read(written[PROMPTS.name], f"{file}: {PROMPTS.name}")
    return {dialect: file.parent / path for dialect, path in found.items()}
