"""The kinds of values: how each is read, how it is shown, what is wanted when it does not fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.config import values


@dataclass(frozen=True, slots=True)
class Kind:
    """`wanted` completes the sentence "KEY is …"; `parse` makes of a text what a TOML file would hold."""

    wanted: str
    read: Callable[[Any], Any]
    parse: Callable[[str], Any] = str
    show: Callable[[Any], str] = str


def _number(text: str) -> Any:
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def _commas(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _shown_size(size: int) -> str:
    for unit in "tgmk":
        if size % values.UNITS[unit] == 0:
            return f"{size // values.UNITS[unit]} {unit.upper()}iB"
    return f"{size} bytes"


def _seconds(value: float) -> str:
    return f"{value:g} s"


def _listed(value: tuple[str, ...]) -> str:
    return ", ".join(value)


def _paired(value: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {part}" for name, part in value.items())


TEXT = Kind("a text", values.text)
TOKEN = Kind("a text of ASCII characters without blanks", values.token)
NAME = Kind("the name of an upstream", values.text)
DIALECT = Kind("the name of a dialect", values.dialect)
VARIABLE = Kind("the name of an environment variable", values.variable)
CHOICE = Kind('a tool_choice or "omit"', values.choice)
ADDRESS = Kind("an address without a port", values.address)
URL = Kind("a base URL that begins with http:// or https://", values.base_url)
PATH = Kind("a path", values.path)
PORT = Kind("a whole number from 0 to 65535", values.whole(0, 65535), _number)
COUNT = Kind("a whole number from 1", values.whole(1), _number)
SECONDS = Kind("a number of seconds", values.amount, _number, _seconds)
INTERVAL = Kind("a number of seconds above 0", values.some, _number, _seconds)
DAYS = Kind("a number of days above 0", values.some, _number, lambda value: f"{value:g} days")
SIZE = Kind("a size", values.size, _number, _shown_size)
NAMES = Kind("a list of texts", values.names, _commas, _listed)
# One a line in the environment: a regular expression may well hold a comma.
PATTERNS = Kind("a list of regular expressions", values.patterns, _lines, _listed)
MODELS = Kind("a table of two names each", values.texts, show=_paired)
HEADERS = Kind("a table of names and texts", values.headers, show=_listed)
BODY = Kind("a table", values.body, show=_paired)
POLICY = Kind("a table of switches", values.policy)
PROMPTS = Kind("a table of dialects and files", values.prompts, show=_paired)
