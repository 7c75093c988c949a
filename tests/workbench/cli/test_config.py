"""`workbench config`: every setting with its origin, and no secret."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from workbench.cli.config import config
from workbench.cli.main import app
from workbench.config.settings import PLAIN, UPSTREAM, Flags
from workbench.errors import UserError

TEXT = """
port = 9000
token = "sk-token"
redact = ["a", "b"]

[prompts]
roo-xml = "mine.jinja"

[upstreams.qwen]
url = "http://127.0.0.1:8000/v1"
policy = { malformed = "repair", channels = ["content", "reasoning"] }
api_key_env = "QWEN_KEY"
headers = { X-Team = "sk-header", X-Other = "${OTHER}" }
extra_body = { api_key = "sk-body", top_k = 5 }
template_tool_choice = "omit"
serves = ["qwen*"]

[upstreams.kimi]
url = "http://kimi"
api_key_env = "KIMI_KEY"
"""


@pytest.fixture
def configured(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (folder / "workbench.toml").write_text(TEXT)
    monkeypatch.setenv("QWEN_KEY", "sk-qwen")
    monkeypatch.setenv("OTHER", "sk-other")
    return folder


def shown(capfdbinary: pytest.CaptureFixture[bytes], *arguments: object) -> tuple[str, str]:
    assert config(*arguments) == 0  # type: ignore[arg-type]
    out, error = capfdbinary.readouterr()
    return out.decode(), error.decode()


def test_the_table_is_aligned_and_says_where_each_value_came_from(
    configured: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setenv("WORKBENCH_GRACE", "2.5")
    monkeypatch.setenv("WORKBENCH_LIBRARY", "tapes")
    flags = Flags(upstream="qwen", dialect="roo-xml", switches={"calls": "all"})
    out, error = shown(capfdbinary, flags, False)
    columns = out.index("127.0.0.1"), out.split("\n")[0].index("default")
    rows = {}
    for line in out.splitlines():
        name, value = line[: columns[0]].rstrip(), line[columns[0] : columns[1]].rstrip()
        rows[name] = (value, line[columns[1] :])
    for name, expected in {
        "port": ("9000", "workbench.toml"),
        "listen": ("127.0.0.1", "default"),
        "grace": ("2.5 s", "WORKBENCH_GRACE"),
        "library": ("tapes", "WORKBENCH_LIBRARY"),
        "keep_bytes": ("2 GiB", "default"),
        "token": ("set", "workbench.toml"),
        "redact": ("a, b", "workbench.toml"),
        "allow_hosts": ("(none)", "default"),
        "default": ("qwen", "--upstream"),
        "dialect": ("roo-xml", "--dialect"),
        "prompts": ("roo-xml = mine.jinja", "workbench.toml"),
        "upstreams.qwen.dialect": ("roo-xml", "--dialect"),
        "upstreams.qwen.policy.calls": ("all", "--set"),
        "upstreams.qwen.policy.malformed": ("repair", "workbench.toml"),
        "upstreams.qwen.policy.channels": ("content, reasoning", "workbench.toml"),
        "upstreams.qwen.api_key_env": ("QWEN_KEY (set)", "workbench.toml"),
        "upstreams.qwen.headers": ("X-Team, X-Other (set)", "workbench.toml"),
        "upstreams.qwen.template_tool_choice": ("omit", "workbench.toml"),
        "upstreams.kimi.api_key_env": ("KIMI_KEY (not set)", "workbench.toml"),
        "upstreams.kimi.policy": ("as the dialect", "default"),
        "upstreams.kimi.dialect": ("auto", "default"),
    }.items():
        assert rows[name] == expected, name
    assert {name.split(".")[0] for name in rows} == {*PLAIN, "prompts", "upstreams"}
    assert {name.split(".")[2] for name in rows if name.startswith("upstreams.kimi.")} == set(UPSTREAM)
    assert error == "warning KIMI_KEY is not set: upstream kimi gets no API key but the client's\n"


@pytest.mark.parametrize("as_json", [False, True])
def test_no_secret_is_shown(
    configured: Path, capfdbinary: pytest.CaptureFixture[bytes], as_json: bool
) -> None:
    out, error = shown(capfdbinary, Flags(token="sk-flag"), as_json)
    assert "sk-" not in out + error
    assert "top_k" in out


def test_json_has_plain_values(configured: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    out, error = shown(capfdbinary, Flags(port=1), True)
    found = json.loads(out)
    assert found["file"] == "workbench.toml" and error == ""
    assert found["warnings"] == ["KIMI_KEY is not set: upstream kimi gets no API key but the client's"]
    settings = found["settings"]
    assert settings["port"] == {"value": 1, "from": "--port"}
    assert settings["keep_bytes"] == {"value": 2 << 30, "from": "default"}
    assert settings["redact"] == {"value": ["a", "b"], "from": "workbench.toml"}
    assert settings["prompts"]["value"] == {"roo-xml": "mine.jinja"}
    assert settings["token"]["value"] == "set"
    assert settings["dialect"]["value"] is None
    assert settings["upstreams.qwen.headers"]["value"] == {"X-Team": "set", "X-Other": "set"}
    assert settings["upstreams.qwen.policy.channels"]["value"] == ["content", "reasoning"]
    assert settings["upstreams.kimi.api_key_env"]["value"] == {"variable": "KIMI_KEY", "state": "not set"}


def test_without_a_file_the_table_says_how_to_get_one(
    folder: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    _, error = shown(capfdbinary, Flags(), False)
    assert error == "note there is no workbench.toml here; `workbench init` writes one\n"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("WORKBENCH_PROT", ["WORKBENCH_PROT is not read; did you mean WORKBENCH_PORT?"]),
        ("WORKBENCH_UPSTREAMS", ["WORKBENCH_UPSTREAMS is not read; did you mean WORKBENCH_UPSTREAM?"]),
        ("WORKBENCH_TRACEBACK", []),
        ("WORKBENCH_PORT", []),
        ("WORKBENCH_OF_SOMEBODY_ELSE", []),
    ],
)
def test_a_variable_that_is_probably_a_slip_is_named(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
    name: str,
    said: list[str],
) -> None:
    monkeypatch.setenv(name, "1")
    out, _ = shown(capfdbinary, Flags(), True)
    assert json.loads(out)["warnings"] == said


def test_a_wrong_file_is_bad_usage(folder: Path) -> None:
    (folder / "workbench.toml").write_text("[upstreams.x]\nurl = 5")
    with pytest.raises(UserError, match=r"workbench\.toml, \[upstreams\.x\]: url is a base URL"):
        config(Flags(), False)
    done = CliRunner().invoke(app, ["config"])
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("workbench: ")
