"""The settings: which source wins, which upstream is meant, and what is said about a wrong value."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from tests.support.tiers import each_row
from transformer import Policy
from workbench.cli.config import rows
from workbench.config.reading import read_settings
from workbench.config.settings import PLAIN, PROMPTS, UPSTREAM, Flags, Settings, Upstream
from workbench.errors import UserError

TWO = """
[upstreams.qwen]
url = "http://127.0.0.1:8000/v1/"
dialect = "qwen3-coder"
policy.malformed = "repair"
serves = ["qwen*", "*coder*"]

[upstreams.kimi]
url = "https://kimi.example"
models = { coder = "moonshotai/Kimi-K2" }
"""


def configure(folder: Path, text: str) -> None:
    (folder / "workbench.toml").write_text(text, encoding="utf-8")


def complaint(flags: Flags | None = None) -> str:
    with pytest.raises(UserError) as caught:
        read_settings(flags)
    return caught.value.message


def test_nothing_said_means_the_defaults(folder: Path) -> None:
    settings = read_settings()
    assert settings == Settings(origins=settings.origins)
    assert set(settings.origins.values()) == {"default"}
    assert settings.library.name == "toolcall-workbench"
    assert settings.route("any") is None and settings.route(None) is None


def test_the_key_table_and_the_records_have_the_same_keys() -> None:
    made = {"file", "upstreams", "origins", "warnings"}
    assert {field.name for field in fields(Settings)} - made == {*PLAIN, PROMPTS.name}
    assert {field.name for field in fields(Upstream)} - {"name", "api_key", "secrets"} == set(UPSTREAM)


# Source: what is in the file, the environment and the flags -> the value, and its origin
SOURCES: list[tuple[str, dict[str, str], Flags, str, Any, str]] = [
    ("port = 1", {"WORKBENCH_PORT": "2"}, Flags(port=3), "port", 3, "--port"),
    ("port = 1", {"WORKBENCH_PORT": "2"}, Flags(), "port", 2, "WORKBENCH_PORT"),
    ("port = 1", {"WORKBENCH_PORT": ""}, Flags(), "port", 1, "workbench.toml"),
    ("", {}, Flags(port=0), "port", 0, "--port"),
    ("", {}, Flags(listen="[::1]"), "listen", "::1", "--listen"),
    ("", {}, Flags(token="abc"), "token", "abc", "--token"),
    ("", {"WORKBENCH_TOKEN": "abc\n"}, Flags(), "token", "abc", "WORKBENCH_TOKEN"),
    ("library = 'tapes'", {}, Flags(), "library", Path("tapes"), "workbench.toml"),
    ("library = 'a'", {"WORKBENCH_LIBRARY": "b"}, Flags(), "library", Path("b"), "WORKBENCH_LIBRARY"),
    ("library = 'a'", {}, Flags(library="/c"), "library", Path("/c"), "--library"),
    ("keep_bytes = '1.5 GiB'", {}, Flags(), "keep_bytes", 3 << 29, "workbench.toml"),
    ("keep_bytes = 77", {}, Flags(), "keep_bytes", 77, "workbench.toml"),
    ("", {"WORKBENCH_KEEP_BYTES": "10m"}, Flags(), "keep_bytes", 10 << 20, "WORKBENCH_KEEP_BYTES"),
    ("", {"WORKBENCH_IDLE_TIMEOUT": "0.5"}, Flags(), "idle_timeout", 0.5, "WORKBENCH_IDLE_TIMEOUT"),
    ("", {"WORKBENCH_ALLOW_HOSTS": "a, b"}, Flags(), "allow_hosts", ("a", "b"), "WORKBENCH_ALLOW_HOSTS"),
    ("", {"WORKBENCH_REDACT": "a{1,2}\nb"}, Flags(), "redact", ("a{1,2}", "b"), "WORKBENCH_REDACT"),
    ("dialect = 'roo-xml'", {}, Flags(dialect="kimi-k2"), "dialect", "kimi-k2", "--dialect"),
    ("\ufeffport = 5", {}, Flags(), "port", 5, "workbench.toml"),
]


@each_row(("text", "variables", "flags", "name", "value", "origin"), SOURCES)
def test_flags_win_over_the_environment_and_that_over_the_file(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    variables: dict[str, str],
    flags: Flags,
    name: str,
    value: Any,
    origin: str,
) -> None:
    configure(folder, text)
    with monkeypatch.context() as given:
        for variable, said in variables.items():
            given.setenv(variable, said)
        settings = read_settings(flags)
    assert (getattr(settings, name), settings.origins[name]) == (value, origin)


@each_row("key", PLAIN.values(), ids=list(PLAIN))
def test_every_plain_key_has_its_variable(folder: Path, monkeypatch: pytest.MonkeyPatch, key: Any) -> None:
    said = {"port": "1", "dialect": "kimi-k2", "default": "qwen", "listen": "10.0.0.1"}
    configure(folder, TWO)
    with monkeypatch.context() as given:
        given.setenv(f"WORKBENCH_{key.name.upper()}", said.get(key.name, "7"))
        settings = read_settings()
    assert settings.origins[key.name] == f"WORKBENCH_{key.name.upper()}"
    assert getattr(settings, key.name) != getattr(Settings(), key.name)


def test_paths_are_relative_to_the_file_that_names_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "etc").mkdir()
    (folder / "etc" / "my.toml").write_text(
        'library = "tapes"\n[prompts]\nroo-xml = "a.jinja"\n'
        '[upstreams.x]\nurl = "http://x"\nprompt = "~/b.jinja"'
    )
    monkeypatch.setenv("WORKBENCH_CONFIG", "etc/my.toml")
    settings = read_settings()
    assert settings.library == Path("etc/tapes")
    assert settings.prompts == {"roo-xml": Path("etc/a.jinja")}
    assert settings.upstreams["x"].prompt == Path.home() / "b.jinja"
    assert settings.origins["upstreams.x.prompt"] == "etc/my.toml"


def test_an_upstream_has_its_own_template_or_that_of_its_dialect(folder: Path) -> None:
    configure(
        folder,
        'dialect = "roo-xml"\n[prompts]\nroo-xml = "all.jinja"\n[upstreams.a]\nurl = "http://a"\n'
        '[upstreams.b]\nurl = "http://b"\nprompt = "b.jinja"\n'
        '[upstreams.c]\nurl = "http://c"\ndialect = "kimi-k2"',
    )
    settings = read_settings()
    found = {name: settings.template_of(upstream) for name, upstream in settings.upstreams.items()}
    assert found == {"a": Path("all.jinja"), "b": Path("b.jinja"), "c": None}


def test_everything_an_upstream_can_have(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QWEN_KEY", " sk-1\n")
    monkeypatch.setenv("TEAM", "blue")
    configure(
        folder,
        """
[upstreams.qwen]
url = "http://127.0.0.1:8000/"
dialect = "qwen3-coder"
policy = { malformed = "repair", channels = ["content"], max_call_bytes = "1 MiB" }
api_key_env = "QWEN_KEY"
serves = ["qwen*"]
models = { coder = "Qwen/Coder" }
dialects = { My-Finetune = "hermes" }
headers = { X-Team = "${TEAM}-${TEAM}", X-Plain = "$TEAM", X-Lost = "${NOWHERE}" }
extra_body = { skip_special_tokens = false, nested = { a = [1, 2.5, "x"] } }
template_tool_choice = "omit"
max_tokens = 1000
""",
    )
    settings = read_settings()
    assert settings.upstreams["qwen"] == Upstream(
        name="qwen",
        url="http://127.0.0.1:8000",
        dialect="qwen3-coder",
        policy=Policy(malformed="repair", channels=("content",), max_call_bytes=1 << 20),
        api_key_env="QWEN_KEY",
        api_key="sk-1",
        serves=("qwen*",),
        models={"coder": "Qwen/Coder"},
        dialects={"my-finetune": "hermes"},
        headers={"X-Team": "blue-blue", "X-Plain": "$TEAM"},
        secrets=("blue",),
        extra_body={"skip_special_tokens": False, "nested": {"a": [1, 2.5, "x"]}},
        template_tool_choice=None,
        max_tokens=1000,
    )
    assert settings.default == "qwen" and settings.origins["default"] == "default"
    assert settings.warnings == ("NOWHERE is not set: upstream qwen gets no header X-Lost",)
    assert "sk-1" not in repr(settings) and "blue" not in repr(settings)


def test_a_key_that_is_not_set_is_no_error(folder: Path) -> None:
    configure(folder, '[upstreams.a]\nurl = "http://a"\napi_key_env = "NOWHERE"')
    settings = read_settings()
    assert settings.upstreams["a"].api_key is None
    assert settings.warnings == ("NOWHERE is not set: upstream a gets no API key but the client's",)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("coder", "kimi"),  # an exact name in `models` wins over a pattern of an earlier upstream
        ("qwen3", "qwen"),
        ("my-coder-2", "qwen"),
        ("QWEN3", "kimi"),  # patterns respect case
        ("other", "kimi"),
        (None, "kimi"),
    ],
)
def test_routing(folder: Path, model: str | None, name: str) -> None:
    configure(folder, f'default = "kimi"\n{TWO}')
    upstream = read_settings().route(model)
    assert upstream is not None and upstream.name == name


def test_without_a_default_an_unknown_model_has_no_upstream(folder: Path) -> None:
    configure(folder, TWO)
    settings = read_settings()
    assert settings.default is None and settings.route("other") is None
    assert settings.route("qwen3") is settings.upstreams["qwen"]


def test_the_dialect_at_the_top_is_for_those_that_name_none(folder: Path) -> None:
    configure(
        folder, f'dialect = "roo-xml"\n{TWO}[upstreams.plain]\nurl = "http://p"\ndialect = "passthrough"'
    )
    settings = read_settings()
    assert {name: upstream.dialect for name, upstream in settings.upstreams.items()} == {
        "qwen": "qwen3-coder",
        "kimi": "roo-xml",
        "plain": "passthrough",
    }


def test_a_url_as_flag_is_an_upstream_of_its_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(folder, 'default = "kimi"\n' + TWO)
    monkeypatch.setenv("WORKBENCH_UPSTREAM", "http://environment")
    flags = Flags(upstream="http://flag/", dialect="roo-xml", switches={"calls": "all"})
    settings = read_settings(flags)
    assert settings.default == "default" and settings.origins["default"] == "--upstream"
    assert settings.route("other") == Upstream(
        "default", "http://flag", dialect="roo-xml", policy=Policy(calls="all")
    )
    assert settings.route("qwen3") is settings.upstreams["qwen"]
    said = {key: origin for key, origin in settings.origins.items() if key.startswith("upstreams.default.")}
    assert {key.removeprefix("upstreams.default."): said[key] for key in said if said[key] != "default"} == {
        "url": "--upstream",
        "dialect": "--dialect",
        "policy.calls": "--set",
    }
    from_environment = read_settings().route("other")
    assert from_environment is not None and from_environment.url == "http://environment"


def test_a_url_as_flag_gets_nothing_of_a_table_with_the_same_name(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY", "sk-1")
    table = 'url = "http://file"\napi_key_env = "KEY"\npolicy.calls = "all"\nheaders = { a = "${NOWHERE}" }'
    configure(folder, f"[upstreams.default]\n{table}")
    settings = read_settings(Flags(upstream="http://flag"))
    assert settings.upstreams == {"default": Upstream("default", "http://flag")}
    assert "upstreams.default.policy.calls" not in settings.origins
    assert settings.warnings == ()


def test_a_name_as_flag_chooses_an_upstream(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(folder, 'default = "kimi"\n' + TWO)
    settings = read_settings(Flags(upstream="qwen", dialect="kimi-k2", switches={"calls": "first"}))
    assert settings.default == "qwen"
    assert settings.upstreams["qwen"].dialect == "kimi-k2"
    assert settings.upstreams["qwen"].policy == Policy(malformed="repair", calls="first")
    assert settings.upstreams["kimi"].dialect == "auto"
    monkeypatch.setenv("WORKBENCH_DIALECT", "roo-xml")
    assert read_settings(Flags(upstream="qwen")).upstreams["qwen"].dialect == "roo-xml"


UPSTREAM_X = '[upstreams.x]\nurl = "http://x"\n'
WRONG = [
    ("prot = 1", "workbench.toml: there is no key 'prot'; did you mean port?"),
    ("port = 'a'", "workbench.toml: port is a whole number from 0 to 65535, such as 8788, not 'a'"),
    ("port = true", "workbench.toml: port is a whole number from 0 to 65535"),
    ("port = 65536", "workbench.toml: port is a whole number from 0 to 65535"),
    ("port = 1.0", "not 1.0"),
    ("heartbeat = 0", "heartbeat is a number of seconds above 0, such as 5, not 0"),
    ("grace = -1", "grace is a number of seconds, such as 10, not -1"),
    ("grace = inf", "grace is a number of seconds"),
    ("grace = nan", "grace is a number of seconds"),
    ("grace = '10'", "grace is a number of seconds, such as 10, not '10'"),
    ("keep_bytes = '2 parsecs'", "keep_bytes is a size, such as \"2 GiB\", not '2 parsecs'"),
    ("keep_bytes = 0", "keep_bytes is a size"),
    ("token = ''", 'token is a text of ASCII characters without blanks, such as "choose-a-long-one"'),
    ("listen = '127.0.0.1:80'", "listen: '127.0.0.1:80' holds a port"),
    ("listen = 'http://a'", "listen is an address without a port"),
    ("allow_hosts = 'a'", "allow_hosts is a list of texts, such as [\"workstation.lan\"], not 'a'"),
    ("redact = ['(']", "redact: '(' is not a regular expression: missing )"),
    ("default = 'qwen'", "default: there is no upstream 'qwen'; there is none at all"),
    (f"default = 'y'\n{UPSTREAM_X}", "workbench.toml: default: there is no upstream 'y'; there are x"),
    ("upstreams = 5", "upstreams is a table of tables"),
    ("[[upstreams]]\nurl = 'http://x'", "upstreams is a table of tables"),
    ("[upstreams]\nurl = 'http://x'", "upstreams is a table of tables"),
    ("[upstreams.'a b']\nurl = 'http://x'", "'a b' cannot be the name of an upstream"),
    ("[upstreams.x]\ndialect = 'kimi-k2'", "workbench.toml, [upstreams.x]: url is missing"),
    (
        f"{UPSTREAM_X}dialekt = 'kimi-k2'",
        "workbench.toml, [upstreams.x]: there is no key 'dialekt'; did you mean dialect?",
    ),
    (
        f"{UPSTREAM_X}dialect = 'kimi'",
        "[upstreams.x]: dialect: there is no dialect 'kimi'; did you mean kimi-k2?",
    ),
    (f"{UPSTREAM_X}api_key = 'sk-secret'", "name that one here: api_key_env"),
    (
        f"{UPSTREAM_X}api_key_env = 'sk-secret'",
        "api_key_env: this is not the name of an environment variable",
    ),
    (
        f"{UPSTREAM_X}policy.malformd = 'repair'",
        "policy: there is no switch 'malformd'; did you mean malformed?",
    ),
    (f"{UPSTREAM_X}policy.malformed = 'drop'", "policy: malformed is one of text, repair, not 'drop'"),
    (f"{UPSTREAM_X}policy = 'repair'", "policy is a table of switches"),
    (f"{UPSTREAM_X}serves = 'qwen'", "serves is a list of texts"),
    (f"{UPSTREAM_X}models = ['a']", "models is a table of two names each"),
    (f"{UPSTREAM_X}dialects = {{ a = 'herms' }}", "speak 'herms'; did you mean hermes?"),
    (f"{UPSTREAM_X}dialects = {{ a = 'auto' }}", "no model can be expected to speak 'auto'"),
    (f"{UPSTREAM_X}headers = {{ 'a b' = 'sk-secret' }}", "headers: 'a b' cannot be sent as a header"),
    (f"{UPSTREAM_X}headers = {{ Content-Length = '5' }}", "'Content-Length' cannot be sent as a header"),
    (f'{UPSTREAM_X}headers = {{ a = "sk-secret\\n" }}', "the value of a has characters"),
    (f"{UPSTREAM_X}headers = {{ a = 5, b = 'sk-secret' }}", "headers is a table of names and texts"),
    (f"{UPSTREAM_X}extra_body = {{ a = [1979-05-27] }}", "extra_body: a has a value that JSON does not know"),
    (
        f"{UPSTREAM_X}extra_body = {{ a = {{ b = inf }} }}",
        "extra_body: a has a value that JSON does not know",
    ),
    (f"{UPSTREAM_X}max_tokens = 0", "max_tokens is a whole number from 1"),
    ("[upstreams.x]\nurl = 'x:8000'", "url is a base URL that begins with http:// or https://"),
    ("[upstreams.x]\nurl = 'http://'", "url is a base URL"),
    ("[upstreams.x]\nurl = 'http://a:b'", "url: this is not a URL"),
    ("[upstreams.x]\nurl = 'http://a b'", "url is a base URL"),
    ("[upstreams.x]\nurl = 'http://me:sk-secret@x'", "url: a URL with a user or a password is refused"),
    ("[upstreams.x]\nurl = 'http://x/v1?a=b'", "has a query"),
    ("[upstreams.x]\nurl = 'http://x/v1/chat/completions'", "before /chat/completions"),
    ("port = ", "workbench.toml is not a configuration: "),
    ("port = 1\nport = 2", "workbench.toml is not a configuration: "),
]


@each_row(("text", "said"), WRONG, ids=[text for text, _ in WRONG])
def test_a_wrong_value_is_said_with_its_place_and_the_remedy(folder: Path, text: str, said: str) -> None:
    configure(folder, text)
    message = complaint()
    assert said in message
    assert "secret" not in message


@each_row(
    ("variables", "flags", "said"),
    [
        ({"WORKBENCH_PORT": "x"}, Flags(), "WORKBENCH_PORT is a whole number from 0 to 65535, such as 8788"),
        ({"WORKBENCH_TOKEN": "sk secret"}, Flags(), "WORKBENCH_TOKEN is a text of ASCII"),
        ({"WORKBENCH_UPSTREAM": "qwen"}, Flags(), "WORKBENCH_UPSTREAM: there is no upstream 'qwen'"),
        ({"WORKBENCH_CONFIG": "gone.toml"}, Flags(), "cannot read gone.toml"),
        ({}, Flags(upstream="localhost:8000"), "; a URL begins with http:// or https://"),
        ({}, Flags(upstream="ftp://x"), "--upstream is a base URL that begins with http://"),
        ({}, Flags(upstream="http://x", dialect="roo"), "--dialect: there is no dialect 'roo'; did you mean"),
        (
            {},
            Flags(upstream="http://x", switches={"malformd": "a"}),
            "--set: there is no switch 'malformd'; did",
        ),
        (
            {},
            Flags(upstream="http://x", switches={"calls": "a"}),
            "--set: calls is one of first, all, not 'a'",
        ),
        ({}, Flags(switches={"calls": "all"}), "--set changes the default upstream, and there is none"),
        ({}, Flags(port=-1), "--port is a whole number from 0 to 65535"),
        ({}, Flags(token=""), "--token is a text of ASCII"),
    ],
)
def test_wrong_flags_and_variables_are_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], flags: Flags, said: str
) -> None:
    with monkeypatch.context() as given:
        for variable, text in variables.items():
            given.setenv(variable, text)
        message = complaint(flags)
    assert said in message
    assert "secret" not in message


def test_a_key_that_cannot_be_sent_is_named_but_not_shown(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(folder, f"{UPSTREAM_X}api_key_env = 'KEY'")
    monkeypatch.setenv("KEY", "sk\nsecret")
    message = complaint()
    assert "the value of KEY has characters that cannot be sent" in message and "secret" not in message


@pytest.mark.parametrize(
    ("lines", "switches", "convert", "origin"),
    [
        ("", {}, None, "default"),
        ('convert = "always"', {}, "always", "workbench.toml"),
        ('policy = { convert = "always" }', {}, "always", "workbench.toml"),
        ('convert = "always"\npolicy = { convert = "tools" }', {}, "tools", "workbench.toml"),
        ('convert = "always"', {"convert": "tools"}, "tools", "--set"),
        ("", {"convert": "always"}, "always", "--set"),
    ],
)
def test_issue_11_4_convert_is_a_key_and_a_switch(
    folder: Path, lines: str, switches: dict[str, str], convert: str | None, origin: str
) -> None:
    configure(folder, f'[upstreams.a]\nurl = "http://a"\n{lines}')
    settings = read_settings(Flags(switches=switches))
    upstream = settings.upstreams["a"]
    assert (upstream.policy.convert, upstream.convert) == (convert, convert or "tools")
    assert settings.origins["upstreams.a.convert"].endswith(origin)
    shown = {row.name: row.shown for row in rows(settings)}
    assert shown["upstreams.a.convert"] == (convert or "tools")


def test_issue_11_4_a_word_that_convert_does_not_know(folder: Path) -> None:
    configure(folder, '[upstreams.a]\nurl = "http://a"\nconvert = "never"')
    with pytest.raises(UserError, match=r'convert is "tools" or "always", such as "tools", not \'never\''):
        read_settings()


@each_row(
    "url",
    [
        "ftp://h/?api_key=hunter2",
        "http://u:hunter2@h/v1",
        "http://h/v1?api_key=hunter2",
        "http://h/v1#hunter2",
        "http://h/hunter2/chat/completions",
        "http://h/hunter2 x",
        "https://h:hunter2/v1",
        "http://[hunter2]/v1",
        "//u:hunter2@h",
    ],
)
def test_a_refused_url_is_not_repeated(url: str):
    """It may hold a secret, and the message ends up on screens and in logs."""
    with pytest.raises(UserError) as error:
        read_settings(Flags(upstream=url))
    assert "hunter2" not in error.value.message


def test_a_key_where_a_name_is_wanted_is_not_repeated():
    with pytest.raises(UserError, match="there is no upstream") as error:
        read_settings(Flags(upstream="sk-proj-" + "aB3x" * 12))
    assert "aB3x" not in error.value.message
