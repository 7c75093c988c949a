"""The table of everything that can be configured; checks, help and the file of `init` are made from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any

from workbench.config import kinds
from workbench.config.kinds import Kind
from workbench.config.settings import Settings, Upstream
from workbench.config.values import Unfit
from workbench.errors import UserError

PREFIX = "WORKBENCH_"


@dataclass(frozen=True, slots=True)
class Key:
    """One key; `example` is written as in a TOML file."""

    name: str
    kind: Kind
    about: str
    example: str
    flag: str | None = None
    secret: bool = False

    @property
    def variable(self) -> str:
        """The environment variable that says the same."""
        return PREFIX + self.name.upper()

    def read(self, value: Any, subject: str) -> Any:
        """The value as it is used, or a UserError about its place."""
        try:
            return self.kind.read(value)
        except Unfit as unfit:
            if str(unfit):
                raise UserError(f"{subject}: {unfit}") from None
            found = "" if self.secret else f", not {value!r}"
            raise UserError(f"{subject} is {self.kind.wanted}, such as {self.example}{found}") from None


def _table(*keys: Key) -> Mapping[str, Key]:
    return {key.name: key for key in keys}


PLAIN = _table(
    Key("listen", kinds.ADDRESS, "The address to listen at; one that others reach needs a token.",
        '"127.0.0.1"', "--listen"),
    Key("port", kinds.PORT, "The port to listen at; 0 is any that is free.", "8788", "--port"),
    Key("token", kinds.TOKEN, "What clients must send as their API key; better kept in the environment.",
        '"choose-a-long-one"', "--token", secret=True),
    Key("allow_hosts", kinds.NAMES, "Names other than localhost by which clients may call the proxy.",
        '["workstation.lan"]'),
    Key("allow_origins", kinds.NAMES, "Web pages that may call the proxy.", '["http://localhost:3000"]'),
    Key("dialect", kinds.DIALECT, "How models write calls, for upstreams that do not say it.",
        '"roo-xml"', "--dialect"),
    Key("default", kinds.NAME, "The upstream for models that no other one serves.", '"qwen"'),
    Key("library", kinds.PATH, "The folder of the tapes, relative to this file.", '"tapes"', "--library"),
    Key("keep_days", kinds.DAYS, "Tapes older than this are deleted, unless they are marked.", "30"),
    Key("keep_bytes", kinds.SIZE, "The oldest tapes go when all together are larger than this.", '"2 GiB"'),
    Key("redact", kinds.PATTERNS, "Regular expressions of what else must not get onto a tape.",
        "['sk-[0-9a-f]+']"),
    Key("queue_bytes", kinds.SIZE, "What may wait for the disk; beyond it is lost to the tape, and counted.",
        '"64 MiB"'),
    Key("max_body_bytes", kinds.SIZE, "Larger requests are refused.", '"64 MiB"'),
    Key("max_header_bytes", kinds.SIZE, "Requests with larger headers are refused.", '"64 KiB"'),
    Key("connect_timeout", kinds.INTERVAL, "How long to wait for a connection to upstream.", "10"),
    Key("idle_timeout", kinds.INTERVAL, "How long upstream may be silent before it is given up.", "600"),
    Key("heartbeat", kinds.INTERVAL, "How often a waiting client gets a comment.", "5"),
    Key("head_wait", kinds.SECONDS,
        "How long an answer's head waits for its first event, so that an error can have its status.", "2"),
    Key("silence", kinds.SECONDS, "After this long without a byte from upstream the client gets 200.", "15"),
    Key("grace", kinds.SECONDS, "How long running streams may go on after the proxy is told to stop.", "10"),
)  # fmt: skip

PROMPTS = Key(
    "prompts", kinds.PROMPTS, "Edited prompt templates by dialect, relative to this file.",
    '{ roo-xml = "mine.jinja" }',
)  # fmt: skip

UPSTREAM = _table(
    Key("url", kinds.URL, "The base URL of the server's API, with or without /v1.",
        '"http://127.0.0.1:8000/v1"'),
    Key("dialect", kinds.DIALECT, "How its models write calls: see `workbench dialects`.", '"qwen3-coder"'),
    Key("policy", kinds.POLICY, "Switches of the dialect: see `workbench dialects NAME`.",
        '{ malformed = "repair" }'),
    Key("api_key_env", kinds.VARIABLE, "The environment variable that holds the server's API key.",
        '"QWEN_API_KEY"'),
    Key("serves", kinds.NAMES, "Patterns of the model names that are routed here.", '["qwen*", "*/qwen*"]'),
    Key("models", kinds.MODELS, "Names that clients may use, and what the server calls these models.",
        '{ coder = "Qwen/Qwen3-Coder-30B-A3B-Instruct" }'),
    Key("headers", kinds.HEADERS, "Further headers for the server; ${NAME} is taken from the environment.",
        '{ X-Team = "${TEAM_TOKEN}" }', secret=True),
    Key("extra_body", kinds.BODY, "What is added to the body of every chat request.",
        "{ skip_special_tokens = false }"),
    Key("template_tool_choice", kinds.CHOICE,
        'The tool_choice for a server that renders the tools: "none", "auto" (SGLang) or "omit".', '"none"'),
    Key("max_tokens", kinds.COUNT, "The most a client may ask for, and what is asked for if it does not.",
        "32768"),
    Key("prompt", kinds.PATH, "An edited prompt template for this server alone, relative to this file.",
        '"qwen.jinja"'),
)  # fmt: skip

# Said by a flag or the environment only: in the file the tables below [upstreams] say it.
CHOSEN = Key("upstream", kinds.TEXT, "A base URL, or the name of a configured upstream.",
             '"http://127.0.0.1:8000/v1"', "--upstream")  # fmt: skip


def default_of(key: Key, record: type[Settings | Upstream]) -> Any:
    """What holds when nobody says anything; the dataclass that holds the value is where it is written."""
    (field,) = (one for one in fields(record) if one.name == key.name)
    if field.default_factory is not MISSING:
        return field.default_factory()
    return field.default
