"""The settings in effect for one run, a frozen record that knows where each value came from, and the table
of everything that can be configured; checks, help and the file of `workbench init` are made from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from platformdirs import user_data_path

from transformer.dialects import DEFAULT, DIALECTS, EXAMPLE
from transformer.policy import Policy
from transformer.upstreams import DEFAULT as OPENAI
from workbench.config import kinds
from workbench.config.kinds import Kind, Unfit
from workbench.errors import UserError


@dataclass(frozen=True, slots=True)
class Flags:
    """The options of the command line; None and empty mean: not given."""

    upstream: str | None = None  # a URL, or the name of a configured upstream
    dialect: str | None = None
    port: int | None = None
    library: str | None = None
    listen: str | None = None
    token: str | None = field(default=None, repr=False)
    switches: Mapping[str, str] = field(default_factory=dict)
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class Upstream:
    """A server that has models, and how to talk with them."""

    name: str
    url: str
    dialect: str = DEFAULT
    policy: Policy = field(default_factory=Policy)
    convert: str = "tools"  # in effect by the policy's switch of the same name
    api_key_env: str | None = None
    api_key: str | None = field(default=None, repr=False)
    serves: tuple[str, ...] = ()
    models: Mapping[str, str] = field(default_factory=dict)
    dialects: Mapping[str, str] = field(default_factory=dict)  # dialects by beginnings of models' names
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # their values may be secrets
    secrets: tuple[str, ...] = field(default=(), repr=False)  # what these take from the environment
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    template_tool_choice: str | None = "none"
    response_format: str = "keep"
    speaks: tuple[str, ...] | None = None  # None: all with a dialect that converts nothing, else none
    max_tokens: int | None = None
    prompt: Path | None = None
    kind: str = OPENAI
    cookie_env: str | None = None
    parent_from: str = "parent_id"
    account: bool = False
    thinking: bool = False
    session_hours: float = 24 * 7
    retries: int | None = None  # None: as usual for the kind


def client_url(listen: str, port: int) -> str:
    """The base URL for clients of a proxy that listens there; of all addresses, it is the loopback one."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(listen, listen)
    return f"http://{f'[{host}]' if ':' in host and not host.startswith('[') else host}:{port}/v1"


def default_library() -> Path:
    """Where tapes are kept by default."""
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
    answer_timeout: float = 3600
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
        """The user's template for a dialect. Only its name: it is read again each time it is needed, so
        that a change of the file takes effect with the next request."""
        path = self.prompts.get(dialect)
        return None if path is None else str(path)


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
        """The equivalent environment variable."""
        return PREFIX + self.name.upper()

    def read(self, value: Any, subject: str) -> Any:
        """The value as it is used, or a UserError about its place."""
        try:
            return self.kind.read(value)
        except Unfit as unfit:
            if str(unfit):
                raise UserError(f"{subject}: {unfit}") from None
            found = "" if self.secret or self.kind is kinds.URL else f", not {value!r}"
            raise UserError(f"{subject} is {self.kind.wanted}, such as {self.example}{found}") from None


# The upstream of the examples below is one whose model is known to speak a certain dialect.
_OF_A_MODEL = next(dialect.name for dialect in DIALECTS.values() if dialect.models)


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
        f'"{EXAMPLE}"', "--dialect"),
    Key("default", kinds.NAME, "The upstream for models that no other one serves.", '"qwen"'),
    Key("library", kinds.PATH, "The folder of the tapes, relative to this file.", '"tapes"', "--library"),
    Key("keep_days", kinds.DAYS, "Tapes older than this are deleted, unless they are marked.", "30"),
    Key("keep_bytes", kinds.SIZE, "The oldest tapes are deleted when all together are larger.", '"2 GiB"'),
    Key("redact", kinds.PATTERNS, "Regular expressions of what else must not get onto a tape.",
        "['sk-[0-9a-f]+']"),
    Key("queue_bytes", kinds.SIZE, "How much may wait for the disk; more is not recorded, only counted.",
        '"64 MiB"'),
    Key("max_body_bytes", kinds.SIZE, "Larger requests are refused.", '"64 MiB"'),
    Key("max_header_bytes", kinds.SIZE, "Requests with larger headers are refused.", '"64 KiB"'),
    Key("connect_timeout", kinds.INTERVAL, "How long to wait for a connection to upstream.", "10"),
    Key("idle_timeout", kinds.INTERVAL, "How long upstream may be silent before it is given up.", "600"),
    Key("answer_timeout", kinds.INTERVAL, "How long an answer may take in all.", "3600"),
    Key("heartbeat", kinds.INTERVAL, "How often a waiting client gets a comment.", "5"),
    Key("head_wait", kinds.SECONDS,
        "How long an answer's head waits for its first event, so that an error can have its status.", "2"),
    Key("silence", kinds.SECONDS, "After this long without a byte from upstream the client gets 200.", "15"),
    Key("grace", kinds.SECONDS, "How long running streams may go on after the proxy is told to stop.", "10"),
)  # fmt: skip

PROMPTS = Key(
    "prompts", kinds.PROMPTS, "Edited prompt templates by dialect, relative to this file.",
    f'{{ {EXAMPLE} = "mine.jinja" }}',
)  # fmt: skip

UPSTREAM = _table(
    Key("url", kinds.URL, "The base URL of the server's API, with or without /v1.",
        '"http://127.0.0.1:8000/v1"'),
    Key("kind", kinds.KIND, 'The API that the server speaks: "openai", or "qwen-chat" (Qwen\'s web chat).',
        '"qwen-chat"', "--kind"),
    Key("dialect", kinds.DIALECT, "How its models write calls: see `workbench dialects`.",
        f'"{_OF_A_MODEL}"'),
    Key("policy", kinds.POLICY, "Switches of the dialect: see `workbench dialects NAME`.",
        '{ malformed = "repair" }'),
    Key("convert", kinds.CONVERT,
        'Which answers are converted: of requests with "tools", or "always" (its models speak the dialect).',
        '"tools"'),
    Key("api_key_env", kinds.VARIABLE, "The environment variable that holds the server's API key.",
        '"QWEN_API_KEY"'),
    Key("serves", kinds.NAMES, "Patterns of the model names that are routed here.", '["qwen*", "*/qwen*"]'),
    Key("models", kinds.MODELS, "Names that clients may use, and what the server calls these models.",
        '{ coder = "example-org/coder-30b-instruct" }'),
    Key("dialects", kinds.SPOKEN,
        f"Beginnings of model names, and what these speak; for {DEFAULT}, besides the names that it knows.",
        f'{{ my-finetune = "{_OF_A_MODEL}" }}'),
    Key("headers", kinds.HEADERS, "Further headers for the server; ${NAME} is taken from the environment.",
        '{ X-Team = "${TEAM_TOKEN}" }', secret=True),
    Key("extra_body", kinds.BODY, "What is added to the body of every chat request.",
        "{ skip_special_tokens = false }"),
    Key("template_tool_choice", kinds.CHOICE,
        'The tool_choice for a server that renders the tools: "none", "auto" (SGLang) or "omit".', '"none"'),
    Key("response_format", kinds.FORMAT,
        'A response_format beside tools: "keep" it, or "drop" it, so that the model can write calls.',
        '"keep"'),
    Key("speaks", kinds.APIS,
        "APIs other than chat that the server speaks itself: its own answers go on unchanged.",
        '["responses", "messages"]'),
    Key("max_tokens", kinds.COUNT, "The most a client may ask for, and what is asked for if it does not.",
        "32768"),
    Key("prompt", kinds.PATH, "An edited prompt template for this server alone, relative to this file.",
        '"qwen.jinja"'),
    Key("cookie_env", kinds.VARIABLE, "The environment variable that holds the cookies for the server.",
        '"QWEN_COOKIE"'),
    Key("parent_from", kinds.PARENT,
        'qwen-chat: which id of an answer the next turn follows, "parent_id" or "response_id".',
        '"parent_id"'),
    Key("account", kinds.SWITCH, "qwen-chat: use the account of the credentials, not a guest's.", "false"),
    Key("thinking", kinds.SWITCH, "qwen-chat: let the model think before it answers.", "false"),
    Key("session_hours", kinds.HOURS, "qwen-chat: how long a chat is remembered after an answer.", "168"),
    Key("retries", kinds.RETRIES,
        "How often a request is sent again after 429, 5xx or a network fault, if no answer has begun.", "2"),
)  # fmt: skip

# Only for flags and the environment: in the file the tables below [upstreams] have it.
CHOSEN = Key("upstream", kinds.TEXT, "A base URL, or the name of a configured upstream.",
             '"http://127.0.0.1:8000/v1"', "--upstream")  # fmt: skip


def default_of(key: Key, record: type[Settings | Upstream]) -> Any:
    """The default; defined in the dataclass."""
    (field,) = (one for one in fields(record) if one.name == key.name)
    if field.default_factory is not MISSING:
        return field.default_factory()
    return field.default
