"""What is in effect for one run: a frozen record that knows where each of its values came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from platformdirs import user_data_path

from transformer import Policy


@dataclass(frozen=True, slots=True)
class Flags:
    """What the command line said; None and empty mean: nothing."""

    upstream: str | None = None  # a URL, or the name of a configured upstream
    dialect: str | None = None
    port: int | None = None
    library: str | None = None
    listen: str | None = None
    token: str | None = field(default=None, repr=False)
    switches: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Upstream:
    """A server that has models, and how to talk with them."""

    name: str
    url: str
    dialect: str = "passthrough"
    policy: Policy = field(default_factory=Policy)
    api_key_env: str | None = None
    api_key: str | None = field(default=None, repr=False)
    serves: tuple[str, ...] = ()
    models: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # their values may be secrets
    secrets: tuple[str, ...] = field(default=(), repr=False)  # what these take from the environment
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    template_tool_choice: str | None = "none"
    max_tokens: int | None = None
    prompt: Path | None = None


def default_library() -> Path:
    """Where tapes are kept when nobody says otherwise."""
    return user_data_path("toolcall-workbench", appauthor=False)


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be configured. Sizes are bytes, durations seconds."""

    file: Path | None = None
    dialect: str | None = None
    prompts: Mapping[str, Path] = field(default_factory=dict)
    upstreams: Mapping[str, Upstream] = field(default_factory=dict)
    default: str | None = None
    listen: str = "127.0.0.1"
    port: int = 8788
    token: str | None = field(default=None, repr=False)
    library: Path = field(default_factory=default_library)
    allow_hosts: tuple[str, ...] = ()
    allow_origins: tuple[str, ...] = ()
    max_body_bytes: int = 64 << 20
    max_header_bytes: int = 64 << 10
    connect_timeout: float = 10
    idle_timeout: float = 600
    heartbeat: float = 5
    head_wait: float = 2
    silence: float = 15
    grace: float = 10
    keep_days: float = 30
    keep_bytes: int = 2 << 30
    redact: tuple[str, ...] = ()
    queue_bytes: int = 64 << 20
    origins: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def route(self, model: str | None) -> Upstream | None:
        """The upstream for a model: one that lists it, else one whose pattern fits, else the default."""
        if model is not None:
            for upstream in self.upstreams.values():
                if model in upstream.models:
                    return upstream
            for upstream in self.upstreams.values():
                if any(fnmatchcase(model, pattern) for pattern in upstream.serves):
                    return upstream
        return None if self.default is None else self.upstreams[self.default]

    def template_of(self, upstream: Upstream) -> Path | None:
        """The edited prompt template for an upstream: its own, else the one of its dialect."""
        return upstream.prompt or self.prompts.get(upstream.dialect)

    def prompt_file(self, dialect: str) -> str | None:
        """The user's template for a dialect. Only its name: whoever needs it reads it anew each time, so
        that a change of the file takes effect with the next request."""
        path = self.prompts.get(dialect)
        return None if path is None else str(path)
