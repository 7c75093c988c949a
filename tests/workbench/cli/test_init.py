"""`workbench init`: the file it writes says nothing, and each of its examples is right."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from workbench.cli.config import init
from workbench.config.reading import read_settings
from workbench.config.settings import PLAIN, UPSTREAM, Settings, Upstream, default_of
from workbench.errors import UserError

FILE = Path("workbench.toml")
# A setting that is commented out has no blank behind its "#"; prose has one.
EXAMPLE = re.compile(r"^#(?=[\w\[])", re.MULTILINE)


def test_the_written_file_equals_the_defaults(folder: Path) -> None:
    assert init(None, None, False) == 0
    assert tomllib.loads(FILE.read_text()) == {}
    settings = read_settings()
    assert settings == Settings(file=FILE, origins=settings.origins)
    assert set(settings.origins.values()) == {"default"}


def test_every_key_is_explained_and_every_example_can_be_read(folder: Path) -> None:
    init(None, None, False)
    text = EXAMPLE.sub("", FILE.read_text())
    FILE.write_text(text)
    written = tomllib.loads(text)
    assert set(written) == {*PLAIN, "prompts", "upstreams"}
    assert set(written["upstreams"]["qwen"]) == set(UPSTREAM)
    settings = read_settings()
    assert settings.default == "qwen" and settings.route("coder") == settings.upstreams["qwen"]
    for key in [*PLAIN.values(), *UPSTREAM.values()]:
        assert f"# {key.about}" in text
    for key in PLAIN.values():
        assert key.variable in text and (key.flag is None or key.flag in text)


def test_the_example_of_a_key_with_a_default_is_that_default() -> None:
    # The place of the library is this machine's, an example for it cannot be.
    for record, keys in ((Settings, PLAIN), (Upstream, UPSTREAM)):
        for key in keys.values():
            default = default_of(key, record)
            if isinstance(default, int | float) or key.name in ("listen", "template_tool_choice"):
                assert key.read(tomllib.loads(f"x = {key.example}")["x"], key.name) == default, key.name


def test_an_upstream_can_be_filled_in(folder: Path) -> None:
    init("http://127.0.0.1:8000/v1/", "kimi-k2", False)
    settings = read_settings()
    assert settings.upstreams == {"main": Upstream("main", "http://127.0.0.1:8000/v1", dialect="kimi-k2")}
    assert settings.default == "main" and settings.dialect is None
    FILE.write_text(EXAMPLE.sub("", FILE.read_text()).replace('default = "qwen"', ""))
    assert set(tomllib.loads(FILE.read_text())["upstreams"]["main"]) == set(UPSTREAM)


def test_a_dialect_alone_is_the_dialect_at_the_top(folder: Path) -> None:
    init(None, "roo-xml", False)
    settings = read_settings()
    assert settings.dialect == "roo-xml" and settings.upstreams == {}


def test_a_file_that_is_there_is_kept_unless_forced(folder: Path) -> None:
    FILE.write_text("port = 1")
    with pytest.raises(UserError, match=r"workbench\.toml is already there; --force replaces it"):
        init(None, None, False)
    assert FILE.read_text() == "port = 1"
    assert init(None, None, True) == 0
    assert read_settings().port == 8788


def test_the_file_that_the_environment_names_is_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_CONFIG", "other.toml")
    init(None, None, False)
    assert not FILE.exists() and read_settings().file == Path("other.toml")
    monkeypatch.setenv("WORKBENCH_CONFIG", "gone/other.toml")
    with pytest.raises(UserError, match=r"cannot write gone/other\.toml: No such file"):
        init(None, None, False)


@pytest.mark.parametrize(
    ("url", "dialect", "said"),
    [
        ("localhost:8000", None, "--upstream is a base URL"),
        ("http://x", "kimi", "--dialect: there is no dialect 'kimi'; did you mean kimi-k2?"),
    ],
)
def test_wrong_flags_write_nothing(folder: Path, url: str, dialect: str | None, said: str) -> None:
    with pytest.raises(UserError, match=re.escape(said)):
        init(url, dialect, False)
    assert not FILE.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="no limits on files there")
def test_where_there_is_no_room_the_old_file_stays(folder: Path):
    script = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "import os, sys\n"
        "from workbench.cli.config import init\n"
        "from workbench.errors import UserError\n"
        "for folder in sys.argv[1:]:\n"
        "    os.chdir(folder)\n"
        "    try:\n"
        "        init(None, None, True)\n"
        "    except UserError as error:\n"
        "        print(error)\n"
    )
    empty, full = folder / "empty", folder / "full"
    for one in (empty, full):
        one.mkdir()
    (full / "workbench.toml").write_bytes(b"port = 1\n")
    command = [sys.executable, "-c", script, str(empty), str(full)]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=True)
    assert done.stdout.count(b"cannot write") == 2
    assert list(empty.iterdir()) == []
    assert {file.name: file.read_bytes() for file in full.iterdir()} == {"workbench.toml": b"port = 1\n"}
