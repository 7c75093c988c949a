"""The upstreams: the tables of the file, then the one that a flag or the environment chose."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from transformer import Policy
from workbench.config import credentials
from workbench.config.file import only
from workbench.config.keys import CHOSEN, PLAIN, UPSTREAM, default_of
from workbench.config.names import UnknownName, check_name
from workbench.config.settings import Upstream
from workbench.config.values import Unfit, policy
from workbench.errors import UserError

DEFAULT = "default"
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
                raise UserError(f"{file}: {name!r} is no name for an upstream; use letters, digits and . _ -")
            self._read_table(name, table, file)

    def _read_table(self, name: str, table: dict[str, Any], file: Path) -> None:
        place = f"{file}, [upstreams.{name}]"
        if "api_key" in table:
            raise UserError(
                f"{place}: an API key does not belong into a file; put it into an environment variable"
                f" and name that one here: api_key_env = {UPSTREAM['api_key_env'].example}"
            )
        only(table, list(UPSTREAM), place)
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
            values["dialect"] = self.dialect or default_of(UPSTREAM["dialect"], Upstream)
            self.origins[f"upstreams.{name}.dialect"] = self.dialect_origin
        variable, headers = values.get("api_key_env"), values.get("headers", {})
        values |= {"api_key": credentials.api_key(variable), "headers": credentials.filled(headers)}
        values["secrets"] = credentials.secrets(headers)
        missing = [f"{lost} is not set: upstream {name} gets no header {header}"
                   for header, text in headers.items() for lost in credentials.unset(text)]  # fmt: skip
        if variable and not values["api_key"]:
            missing.append(f"{variable} is not set: upstream {name} gets no API key but the client's")
        self.warnings[name] = missing
        self.found[name] = Upstream(name=name, **values)

    def choose(self, wanted: str, origin: str) -> str:
        """The name of the upstream that was asked for by name, or of one made for a URL."""
        if "://" not in wanted:
            return self.known(wanted, f"{origin}: ", "; a URL begins with http:// or https://")
        # Made anew even if the file has one of that name: its key must not go to another server.
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
            raise UserError(f"{place}{error}{hint}") from None
        return name

    def speak(self, name: str | None, dialect: str, origin: str) -> None:
        """A flag or the environment decides about the dialect of the default upstream, not its table."""
        if name is not None:
            self.found[name] = replace(self.found[name], dialect=dialect)
            self.origins[f"upstreams.{name}.dialect"] = origin

    def switch(self, name: str | None, switches: Mapping[str, str]) -> None:
        """The default upstream's policy, with what `--set` said."""
        if name is None:
            raise UserError(f"--set changes the default upstream, and there is none; {CHOSEN.flag} names one")
        try:
            policy(dict(switches))
        except Unfit as unfit:
            raise UserError(f"--set: {unfit}") from None
        said = {**self.found[name].policy.said(), **switches}
        self.found[name] = replace(self.found[name], policy=Policy.from_mapping(said))
        for switch in switches:
            self.origins[f"upstreams.{name}.policy.{switch}"] = "--set"
