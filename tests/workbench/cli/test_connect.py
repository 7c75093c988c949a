"""`workbench connect`: what a client is told, and what happens to OpenCode's file."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import pytest
import typer
from typer.testing import CliRunner

from tests.support.tiers import each_row
from tests.support.upstream.answers import whole
from tests.support.upstream.server import ScriptedUpstream
from workbench.cli.choices import Client
from workbench.cli.clients import opencode_file
from workbench.cli.connect import connect
from workbench.cli.jsonfile import parse
from workbench.errors import UserError

URL = "http://127.0.0.1:8788/v1"
LIMIT = {"context": 0, "output": 8192}
ENTRY = {
    "npm": "@ai-sdk/openai-compatible",
    "name": "Workbench",
    "options": {"baseURL": URL, "apiKey": "workbench"},
    "models": {"coder": {"name": "coder", "limit": LIMIT}},
}


def configure(folder: Path, text: str) -> None:
    (folder / "workbench.toml").write_text(text)


def told(capfdbinary: pytest.CaptureFixture[bytes], client: Client, *models: str) -> tuple[str, str]:
    assert connect(client, None, models, False, False) == 0
    out, error = capfdbinary.readouterr()
    return out.decode(), error.decode()


def config_file(name: str = "opencode.json") -> Path:
    return Path.home() / ".config" / "opencode" / name


def put(text: str, name: str = "opencode.json") -> Path:
    file = config_file(name)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    return file


# What is printed


def test_opencode_gets_a_provider(folder: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    out, error = told(capfdbinary, "opencode", "coder")
    assert json.loads(out) == {"provider": {"workbench": ENTRY}}
    assert error == f"note --write merges this into {config_file()}\n"


@pytest.mark.parametrize(
    ("text", "url", "expected"),
    [
        ("", None, URL),
        ("port = 99", None, "http://127.0.0.1:99/v1"),
        ("listen = '0.0.0.0'", None, URL),
        ("listen = '::'", None, "http://[::1]:8788/v1"),
        ("listen = '::1'", None, "http://[::1]:8788/v1"),
        ("listen = '10.0.0.1'", None, "http://10.0.0.1:8788/v1"),
        ("port = 0", "http://127.0.0.1:40123", "http://127.0.0.1:40123/v1"),
        ("", "https://box.lan/proxy/v1/", "https://box.lan/proxy/v1"),
    ],
)
def test_the_url_is_that_of_the_settings_or_the_given_one(
    folder: Path, capfdbinary: pytest.CaptureFixture[bytes], text: str, url: str | None, expected: str
) -> None:
    configure(folder, text)
    assert connect("opencode", url, ["m"], False, False) == 0
    found = json.loads(capfdbinary.readouterr().out)
    assert found["provider"]["workbench"]["options"]["baseURL"] == expected


MODELS = """
[upstreams.a]
url = "http://a"
api_key_env = "KEY"
models = { coder = "x", chat = "y" }
serves = ["*any*", "exact", "coder"]
[upstreams.b]
url = "http://b"
"""


@pytest.mark.parametrize(
    ("given", "expected"),
    [((), ["coder", "chat", "exact"]), (("mine", "other", "mine"), ["mine", "other"])],
)
def test_the_models_are_those_of_the_settings_or_the_given_ones(
    folder: Path,
    capfdbinary: pytest.CaptureFixture[bytes],
    given: tuple[str, ...],
    expected: list[str],
) -> None:
    configure(folder, MODELS)
    out, error = told(capfdbinary, "opencode", *given)
    assert list(json.loads(out)["provider"]["workbench"]["models"]) == expected
    assert "note upstreams without api_key_env get the client's API key: b\n" in error


def test_without_models_there_is_a_placeholder_and_a_note(
    folder: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    out, error = told(capfdbinary, "curl")
    assert '"model": "MODEL"' in out
    assert error == (
        "note no model is configured, and no proxy that runs lists any: replace MODEL, or name yours with "
        "--model\n"
    )


@pytest.mark.parametrize("token", [None, "sk-token"])
def test_the_openai_program_runs(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
    token: str | None,
) -> None:
    if token:
        monkeypatch.setenv("WORKBENCH_TOKEN", token)
    out, _ = told(capfdbinary, "openai", 'odd "name"\'')
    asked: dict[str, Any] = {}

    def client(**options: str) -> Any:
        def create(**request: Any) -> Any:
            asked.update(options | request)
            return SimpleNamespace(choices=[SimpleNamespace(message=SimpleNamespace(content="hello"))])

        return SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))

    monkeypatch.setitem(sys.modules, "openai", SimpleNamespace(OpenAI=client))
    exec(compile(out, "program", "exec"), {})
    assert asked["base_url"] == URL and asked["model"] == 'odd "name"\''
    assert asked["api_key"] == (token or "workbench")
    assert "sk-token" not in out and f"OPENAI_BASE_URL={URL}" in out


@pytest.mark.parametrize("token", [False, True])
def test_the_curl_command_can_be_pasted(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes], token: bool
) -> None:
    if token:
        monkeypatch.setenv("WORKBENCH_TOKEN", "sk-token")
    out, error = told(capfdbinary, "curl", "it's")
    shell = f"curl() {{ printf '%s\\n' \"$@\"; }}\n{out}"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=True)
    arguments = done.stdout.splitlines()
    assert arguments[:4] == ["-N", f"{URL}/chat/completions", "-H", "Content-Type: application/json"]
    assert ("Authorization: Bearer sk-token" in arguments) == token
    assert json.loads(arguments[-1])["model"] == "it's"
    assert "sk-token" not in out and ("WORKBENCH_TOKEN" in error) == token


@pytest.mark.parametrize("client", ["roo", "cline"])
def test_forms_say_what_to_fill_in(
    folder: Path, capfdbinary: pytest.CaptureFixture[bytes], client: Client
) -> None:
    out, _ = told(capfdbinary, client, "coder", "chat")
    rows = dict(re.findall(r"^  (\S+(?: \S+)*)  +(.+)$", out, re.MULTILINE))
    assert rows.pop("Model" if client == "roo" else "Model ID") == "coder or chat"
    assert rows == {
        "API Provider": "OpenAI Compatible",
        "Base URL": URL,
        "API Key": "workbench, or any other text",
    }
    assert "pass through" in out


def test_continue_gets_one_entry_a_model(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    out, _ = told(capfdbinary, "continue", "coder", "a: b")
    entries = out.partition("models:\n")[2].split("  - ")[1:]
    found = [dict(re.findall(r"^ *(\w+): (.*)$", entry, re.MULTILINE)) for entry in entries]
    assert [json.loads(entry["model"]) for entry in found] == ["coder", "a: b"]
    assert {entry["apiBase"] for entry in found} == {json.dumps(URL)}
    assert {entry["provider"] for entry in found} == {"openai"}
    monkeypatch.setenv("WORKBENCH_TOKEN", "sk-token")
    out, _ = told(capfdbinary, "continue", "coder")
    assert 'apiKey: "${{ secrets.WORKBENCH_TOKEN }}"' in out and "sk-token" not in out


@pytest.mark.parametrize(
    ("text", "arguments", "said"),
    [
        ("port = 0", ("opencode", None, ["m"], False, False), "the port is 0"),
        ("", ("opencode", "box:1", ["m"], False, False), "--url is a base URL"),
        ("", ("opencode", None, ["a\nb"], False, False), "--model: 'a\\nb' is not the name"),
        ("", ("opencode", None, [" "], False, False), "--model: ' ' is not the name"),
        ("", ("roo", None, ["m"], True, True), "codex; what roo needs is printed"),
        ("", ("opencode", None, [], True, True), "which models?"),
    ],
)
def test_bad_usage_says_what_to_do(folder: Path, text: str, arguments: Any, said: str) -> None:
    configure(folder, text)
    with pytest.raises(UserError, match=re.escape(said)):
        connect(*arguments)
    assert not config_file().exists()


def test_as_a_command(folder: Path) -> None:
    app = typer.Typer()

    @app.command()
    def command(client: Client, model: list[str]) -> None:
        raise typer.Exit(connect(client, None, model, False, False))

    # Literal choices have to survive typer: `continue` is also a word of Python.
    assert CliRunner().invoke(app, ["continue", "coder"]).exit_code == 0
    assert CliRunner().invoke(app, ["vim", "coder"]).exit_code == 2


# OpenCode's file


def write(models: tuple[str, ...] = ("coder",), url: str | None = None, yes: bool = True) -> int:
    return connect("opencode", url, models, True, yes)


def backups() -> list[Path]:
    return sorted(config_file().parent.glob("*.bak-*"))


def test_a_first_file_is_written(folder: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert write() == 0
    assert json.loads(config_file().read_text()) == {
        "$schema": "https://opencode.ai/config.json",
        "provider": {"workbench": ENTRY},
    }
    assert config_file().stat().st_mode & 0o777 == 0o600
    out, error = capfdbinary.readouterr()
    assert f'+        "baseURL": "{URL}",' in out.decode().splitlines()
    assert f"wrote {config_file()}\n" in error.decode()
    assert "opencode run -m workbench/coder" in error.decode()
    assert [file.name for file in config_file().parent.iterdir()] == ["opencode.json"]


COMMENTED = """{
  // my theme
  "theme": "x", /* why not */
  "provider": {
    "mine": { "models": { "m": {} } } // keep
  },
  "zebra": 1.50, "alpha": [1, 2,]
}
"""


def test_everything_else_in_the_file_stays(folder: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    file = put(COMMENTED, "opencode.jsonc")
    file.chmod(0o640)
    assert write() == 0
    new = file.read_text()
    # A comma behind the last value is all that any line has changed.
    assert [line for line in COMMENTED.splitlines() if line not in new.splitlines()] == [
        '    "mine": { "models": { "m": {} } } // keep'
    ]
    assert '    "mine": { "models": { "m": {} } }, // keep\n    "workbench": {\n      "npm"' in new
    value = parse(new).value
    assert list(value) == ["theme", "provider", "zebra", "alpha"]
    assert value["provider"] == {"mine": {"models": {"m": {}}}, "workbench": ENTRY}
    (backup,) = backups()
    assert re.fullmatch(r"opencode\.jsonc\.bak-\d{8}-\d{6}", backup.name)
    assert backup.read_text() == COMMENTED
    assert {path.stat().st_mode & 0o777 for path in (file, backup)} == {0o640}
    assert str(backup) in capfdbinary.readouterr().err.decode()
    assert not config_file().exists()


def test_a_second_time_nothing_is_done(folder: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    write()
    before = config_file().stat()
    capfdbinary.readouterr()
    assert write(yes=False) == 0
    out, error = capfdbinary.readouterr()
    assert out == b"" and b"has it already; nothing was changed" in error
    assert config_file().stat().st_mtime_ns == before.st_mtime_ns and backups() == []


def test_what_we_wrote_is_brought_up_to_date_and_what_the_user_chose_stays(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = {"name": "Mine", "options": {"apiKey": "workbench", "timeout": 5}, "models": {"coder": {"x": 1}}}
    put(json.dumps({"provider": {"workbench": mine}}))
    write(("coder", "chat"), "http://127.0.0.1:1/v1")
    monkeypatch.setenv("WORKBENCH_TOKEN", "sk-token")
    write(("chat",), "http://127.0.0.1:2/v1")
    assert json.loads(config_file().read_text())["provider"]["workbench"] == {
        "name": "Mine",
        "options": {
            "apiKey": "{env:WORKBENCH_TOKEN}",
            "timeout": 5,
            "baseURL": "http://127.0.0.1:2/v1",
        },
        "models": {
            "coder": {"x": 1, "name": "coder", "limit": LIMIT},
            "chat": {"name": "chat", "limit": LIMIT},
        },
        "npm": "@ai-sdk/openai-compatible",
    }
    assert len(backups()) == 2
    own = json.loads(config_file().read_text())
    own["provider"]["workbench"]["options"]["apiKey"] = "sk-own"
    put(json.dumps(own))
    assert write(("chat",), "http://127.0.0.1:2/v1") == 0
    assert json.loads(config_file().read_text()) == own


@pytest.mark.parametrize(
    ("answer", "code"),
    [("y\n", 0), ("n\n", 1), ("\n", 1), (None, 1)],
    ids=["yes", "no", "enter", "no terminal"],
)
def test_the_difference_is_shown_and_the_user_asked(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
    answer: str | None,
    code: int,
) -> None:
    put('{"theme": "x"}')
    terminal = io.StringIO(answer or "")
    monkeypatch.setattr(terminal, "isatty", lambda: answer is not None)
    monkeypatch.setattr(sys, "stdin", terminal)
    assert write(yes=False) == code
    out, error = capfdbinary.readouterr()
    assert out.decode().splitlines()[:2] == [f"--- {config_file()}", f"+++ {config_file()} (new)"]
    assert b'+  "provider": {' in out
    assert (b"nothing was written" in error) == bool(code)
    assert (b"--yes writes without asking" in error) == (answer is None)
    assert ("workbench" in config_file().read_text()) == (code == 0)
    assert len(backups()) == (code == 0)


def test_a_link_is_followed(folder: Path) -> None:
    real = folder / "dotfiles.json"
    real.write_text("{}")
    config_file().parent.mkdir(parents=True)
    config_file().symlink_to(real)
    assert write() == 0
    assert config_file().is_symlink()
    assert json.loads(real.read_text())["provider"]["workbench"] == ENTRY
    assert [backup.read_text() for backup in backups()] == ["{}"]


def test_the_environment_names_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "xdg"))
    assert opencode_file() == folder / "xdg" / "opencode" / "opencode.json"
    monkeypatch.setenv("OPENCODE_CONFIG", "~/mine.json")
    assert opencode_file() == Path.home() / "mine.json"


@each_row(
    ("text", "said"),
    [
        ('{"theme": }', "line 1, column 11: a value is missing or broken"),
        ('{\n  "a": 1\n  "b": 2\n}', "line 3, column 3: a comma or a } is missing"),
        ("{a: 1}", 'line 1, column 2: a key in " or a } is missing'),
        ('{"a" 1}', "line 1, column 6: a : is missing"),
        ("[1, 2", "line 1, column 6: a comma or a ] is missing"),
        ("{} {}", "line 1, column 4: something follows the end"),
        ("{ /* never closed }", "line 1, column 3: a key"),
        ("[]", "the whole of it is not an object"),
        ('{"provider": null}', "provider is not an object"),
        ('{"provider": {"workbench": []}}', "provider.workbench is not an object"),
        ("[" * 100_000, "it is nested too deeply"),
        ("\udcff", "invalid start byte"),
    ],
    ids=lambda text: text[:30],
)
def test_a_broken_file_is_refused(folder: Path, text: str, said: str) -> None:
    file = put("")
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(UserError) as caught:
        write()
    assert f"{file} is broken, so nothing is written into it" in caught.value.message
    assert said in caught.value.message
    assert file.read_bytes() == text.encode("utf-8", "surrogateescape") and backups() == []


def test_a_file_that_changed_meanwhile_is_left_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = put("{}")

    def confirm(*_: object, **__: object) -> bool:
        file.write_text('{"theme": "new"}')
        return True

    monkeypatch.setattr(typer, "confirm", confirm)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))
    with pytest.raises(UserError, match="was changed meanwhile; nothing was written"):
        write(yes=False)
    assert file.read_text() == '{"theme": "new"}' and backups() == []


def test_a_place_that_cannot_be_written_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "file").write_text("")
    monkeypatch.setenv("OPENCODE_CONFIG", str(folder / "file" / "opencode.json"))
    with pytest.raises(UserError, match=r"cannot (read|write) .*opencode\.json"):
        write()
    monkeypatch.setenv("OPENCODE_CONFIG", str(folder))
    with pytest.raises(UserError, match=r"cannot read .*: Is a directory"):
        write()


def test_a_write_that_fails_leaves_the_old_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = put("{}")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", str(file))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError, match="No space left on device"):
        write()
    assert [path.name for path in file.parent.iterdir()] == ["opencode.json"] and file.read_text() == "{}"


# The real one

OPENCODE = shutil.which("opencode")


@pytest.mark.skipif(OPENCODE is None, reason="opencode is not on PATH (npm install opencode-ai)")
@pytest.mark.parametrize(
    "text", [None, COMMENTED.replace('"zebra": 1.50, "alpha": [1, 2,]', '"plugin": [],')]
)
def test_opencode_itself_accepts_what_is_written(folder: Path, text: str | None) -> None:
    if text is not None:
        put(text, "opencode.jsonc")
    assert write(("coder", "a/b")) == 0
    isolated = {f"XDG_{name}_HOME": str(Path.home() / name) for name in ("DATA", "STATE", "CACHE")}
    quiet = {f"OPENCODE_DISABLE_{name}": "1" for name in ("MODELS_FETCH", "AUTOUPDATE", "PROJECT_CONFIG")}
    done = subprocess.run(
        [str(OPENCODE), "models", "workbench"],
        env=os.environ | isolated | quiet | {"HOME": str(Path.home())},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert sorted(done.stdout.split()) == ["workbench/a/b", "workbench/coder"], (
        shlex.join(done.args) + done.stderr
    )


# Every client


@each_row("client", get_args(Client))
@each_row("token", [False, True])
def test_every_client_is_told_the_address_and_the_model_and_never_the_token(
    folder: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch, client: Client, token: bool
) -> None:
    with monkeypatch.context() as given:
        if token:
            given.setenv("WORKBENCH_TOKEN", "secret-0123456789")
        out, error = told(capfdbinary, client, "org/coder x")
    assert (URL if client != "claude-code" else URL.removesuffix("/v1")) in out and "org/coder x" in out
    assert "secret-0123456789" not in out + error
    assert not token or "WORKBENCH_TOKEN" in out + error


def test_a_small_server_is_not_asked_for_more_than_it_gives(
    folder: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    configure(folder, '[upstreams.a]\nurl = "http://127.0.0.1:1/v1"\ndialect = "roo-xml"\nmax_tokens = 2000')
    out, error = told(capfdbinary, "opencode", "coder")
    limit = json.loads(out)["provider"]["workbench"]["models"]["coder"]["limit"]
    assert limit == {"context": 0, "output": 2000}
    assert 'only the first of an answer counts for a, unless its policy says calls = "all"' in error


@pytest.mark.parametrize(
    ("client", "path", "before"),
    [
        ("claude-code", ".claude/settings.json", '{"env": {"A": "1"}, "model": "mine"}'),
        ("pi", ".pi/agent/models.json", '{"providers": {"other": {"models": []}}}'),
        ("kilo", ".config/kilo/kilo.json", '{"theme": "dark"}'),
        ("codex", ".codex/config.toml", 'model = "gpt"  # mine\n[features]\napps = false\n'),
    ],
)
@pytest.mark.parametrize("there", [True, False])
def test_files_are_merged_into_and_a_second_time_nothing_is_done(
    folder: Path,
    capfdbinary: pytest.CaptureFixture[bytes],
    client: Client,
    path: str,
    before: str,
    there: bool,
) -> None:
    file = Path.home() / path
    if there:
        file.parent.mkdir(parents=True)
        file.write_text(before)
    assert connect(client, None, ["coder"], True, True) == 0
    text = file.read_text()
    read: Any = tomllib.loads if client == "codex" else json.loads
    now, old = read(text), read(before) if there else {}
    assert all(now[key] == value or isinstance(value, dict) for key, value in old.items())
    assert URL.removesuffix("/v1") in text and ("# mine" in text or client != "codex" or not there)
    capfdbinary.readouterr()
    assert connect(client, None, ["coder"], True, True) == 0
    assert file.read_text() == text and b"has it already" in capfdbinary.readouterr().err


@pytest.mark.parametrize(
    "text", ["model_providers = {}\n", '[model_providers.workbench]\nname = "mine"\n', "broken ="]
)
def test_a_file_of_codex_that_cannot_be_added_to_stays(folder: Path, text: str) -> None:
    file = Path.home() / ".codex" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    with pytest.raises(UserError, match=re.escape(str(file))):
        connect("codex", None, ["coder"], True, True)
    assert file.read_text() == text


def test_models_are_those_that_a_running_proxy_lists(
    folder: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    with ScriptedUpstream() as upstream:
        upstream.answer_with(
            lambda seen: whole({"data": [{"id": "one"}, {"id": "two\x1b"}, {"id": "three"}]})
        )
        assert connect("opencode", upstream.url, [], False, False) == 0
    models = json.loads(capfdbinary.readouterr().out)["provider"]["workbench"]["models"]
    assert list(models) == ["one", "three"]
