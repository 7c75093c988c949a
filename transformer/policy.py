"""The switches of a conversion: what a dialect does by default, and what the user wants instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

CHOICES: Mapping[str, tuple[str, ...]] = {
    "tools": ("inject", "template", "pass"),
    "calls": ("first", "all"),
    "unknown_tools": ("call", "text", "error"),
    "malformed": ("text", "repair"),
    "arguments": ("whole", "stream"),
    "after_call": ("keep", "drop"),
    "finish_reason": ("rewrite", "upstream"),
    "text_channel": ("same", "content"),
    "convert": ("tools", "always"),
    "in_think": ("call", "text"),
    "reasoning": ("keep", "split"),
}
CHANNELS = ("content", "reasoning")


class PolicyError(ValueError):
    """A switch that does not exist, or a value it does not take."""


@dataclass(frozen=True, slots=True)
class Policy:
    """Every switch; None means: as the dialect does it."""

    tools: str | None = None
    calls: str | None = None
    unknown_tools: str | None = None
    malformed: str | None = None
    arguments: str | None = None
    after_call: str | None = None
    finish_reason: str | None = None
    channels: tuple[str, ...] | None = None
    text_channel: str | None = None
    convert: str | None = None  # whether a request must offer tools
    in_think: str | None = None  # what a call inside <think> is
    reasoning: str | None = None  # whether <think> of the content becomes reasoning_content
    max_call_bytes: int | None = None
    expect: str | None = None  # the dialect of the model, for a dialect that chooses

    def __post_init__(self) -> None:
        for key, allowed in CHOICES.items():
            value = getattr(self, key)
            if value is not None and value not in allowed:
                raise PolicyError(f"{key} is one of {', '.join(allowed)}, not {value!r}")
        if self.channels is not None:
            object.__setattr__(self, "channels", _channels(self.channels))
        if self.expect is not None and not isinstance(self.expect, str):
            raise PolicyError(f"expect is the name of a dialect, not {self.expect!r}")
        size = self.max_call_bytes
        if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < 1):
            raise PolicyError(f"max_call_bytes is a number of bytes from 1, not {size!r}")

    def over(self, defaults: Policy) -> Policy:
        """This policy where it says something, `defaults` where it doesn't."""
        said = {f.name: v for f in fields(self) if (v := getattr(self, f.name)) is not None}
        return replace(defaults, **said)

    def said(self) -> dict[str, Any]:
        """Only what differs from the dialect's defaults, as JSON can hold it."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items() if v is not None}

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Policy:
        """A policy from a configuration or a tape; texts are read as the switch needs them."""
        known = {f.name for f in fields(cls)}
        read: dict[str, Any] = {}
        for key, value in values.items():
            if key not in known:
                raise PolicyError(f"there is no switch {key!r}; there are {', '.join(sorted(known))}")
            read[key] = _read(key, value)
        return cls(**read)


def _read(key: str, value: Any) -> Any:
    if key == "channels" and isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if key == "channels" and isinstance(value, list):
        return tuple(value)
    if key == "max_call_bytes" and isinstance(value, str):
        return _size(value)
    return value


_MOST_DIGITS = 18  # more than there are bytes; Python refuses to read 5 000
_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def _size(text: str) -> int:
    digits = text.strip().lower().removesuffix("ib")
    unit = _UNITS.get(digits[-1:], 1)
    number = digits[:-1] if unit > 1 else digits
    if not number.strip().isdecimal() or len(number) > _MOST_DIGITS:
        raise PolicyError(f"max_call_bytes is a number of bytes such as 65536 or 16MiB, not {text[:40]!r}")
    return int(number) * unit


def _channels(value: object) -> tuple[str, ...]:
    if not isinstance(value, tuple | list | set | frozenset) or not all(name in CHANNELS for name in value):
        raise PolicyError(f"channels are some of {', '.join(CHANNELS)}, not {value!r}")
    return tuple(name for name in CHANNELS if name in value)


# What the dialects have in common; each says only where it differs.
USUAL = Policy(
    tools="template",
    calls="all",
    arguments="whole",
    after_call="keep",
    channels=("content",),
    unknown_tools="call",
    malformed="text",
    finish_reason="rewrite",
    text_channel="same",
    convert="tools",
    in_think="text",
    reasoning="keep",
    max_call_bytes=16 << 20,
)
