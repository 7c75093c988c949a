"""The project around the code: the README's commands, the checks of CI, and what a wheel holds."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import workbench
from tests.support.project import ROOT
from tests.support.tiers import each_row
from workbench.cli.main import main

README = (ROOT / "README.md").read_text(encoding="utf-8")
CI = ROOT / ".ci" / "run"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def block_below(heading: str) -> str:
    """The first fenced block below a heading of the README."""
    match = re.search(rf"^## {heading}\n.*?^```\w*\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    assert match is not None
    return match[1].strip()


@each_row("heading", ["Run it", "Run the tests"])
def test_each_command_is_one_line_that_makes_its_own_environment(heading: str):
    command = block_below(heading)
    assert "\n" not in command
    # Debian's pip refuses to install anywhere else.
    assert command.startswith("python3 -m venv .venv && .venv/bin/pip install ")


def test_the_readme_begins_with_the_two_commands():
    assert re.findall(r"^## (.*)", README, re.MULTILINE)[:2] == ["Run it", "Run the tests"]


def test_the_first_command_shows_something_without_a_model_and_without_a_terminal(tmp_path: Path):
    command = block_below("Run it").rpartition("&& .venv/bin/")[2].split()
    assert command[0] == "workbench"
    done = subprocess.run(
        [sys.executable, "-m", *command], check=False, cwd=tmp_path, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for word in ("Upstream", "Machine", "Client", "unclosed-parameter"):
        assert word in done.stdout


def test_the_samples_the_readme_names_are_there():
    named = set(re.findall(r"samples/[\w/.-]+\.(?:jsonl|md)", README))
    assert named
    assert [name for name in sorted(named) if not (ROOT / name).is_file()] == []


def shown_commands() -> list[str]:
    shown = [
        line for heading in ("On the command line", "Prompts") for line in block_below(heading).split("\n")
    ]
    assert len(shown) > 10 and all(line.startswith("workbench ") for line in shown)
    return shown


def test_the_commands_the_readme_shows_work(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
):
    """All of them in one go, as they stand there, in the process of the test."""
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    monkeypatch.chdir(tmp_path)
    for line in shown_commands():
        words = shlex.split(line, comments=True)
        with open(words.pop(words.index("<") + 1) if "<" in words else os.devnull) as stdin:
            into = words.pop(words.index(">") + 1) if ">" in words else ""
            monkeypatch.setattr(sys, "argv", [word for word in words if word not in "<>"])
            monkeypatch.setattr(sys, "stdin", stdin)
            with pytest.raises(SystemExit) as exit:
                main()
        out, err = capfdbinary.readouterr()
        # A sample that goes wrong on purpose exits with 1.
        assert exit.value.code == int("unclosed" in line), (line, err)
        assert out
        if into:
            Path(into).write_bytes(out)


@pytest.mark.exhaustive  # quick: the same lines in the process of the test, above
def test_the_commands_the_readme_shows_work_in_a_shell(tmp_path: Path):
    """Only the place of `workbench` is this environment's."""
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    (tmp_path / "workbench").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m workbench "$@"\n')
    (tmp_path / "workbench").chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    for line in shown_commands():
        done = subprocess.run(
            ["bash", "-c", line], check=False, cwd=tmp_path, env=environment, capture_output=True
        )
        # A sample that goes wrong on purpose exits with 1.
        assert done.returncode == int("unclosed" in line), (line, done.stderr)
        assert done.stdout or ">" in line


def test_every_dependency_is_imported():
    names = [re.split(r"[<>=]", one)[0].replace("-", "_") for one in PROJECT["project"]["dependencies"]]
    sources = [
        path.read_text() for folder in ("transformer", "workbench") for path in (ROOT / folder).rglob("*.py")
    ]
    imported = set(re.findall(r"^\s*(?:from|import) (\w+)", "\n".join(sources), re.MULTILINE))
    assert [name for name in names if name not in imported] == []


def test_the_samples_readme_names_no_file_that_is_not_there():
    text = (ROOT / "samples" / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"[\w./-]+\.md", text))
    assert [name for name in sorted(named) if not (ROOT / name).is_file()] == []


def test_ci_runs_the_readmes_test_command_and_no_other(tmp_path: Path):
    assert os.access(CI, os.X_OK)
    awk = re.search(r"\$\((awk .*?README\.md)\)", CI.read_text(), re.DOTALL)
    assert awk is not None
    found = subprocess.run(["bash", "-c", awk[1]], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == block_below("Run the tests")
    # pytest and its companions come from the project, so that a fresh machine has them too.
    assert "-e '.[dev]'" in found.stdout
    assert "-n auto" in found.stdout and any(
        "xdist" in one for one in PROJECT["project"]["optional-dependencies"]["dev"]
    )
    assert '"${test_command//.venv/$tmp/venv}"' in CI.read_text()
    # Besides it tries every cut of every sample, and runs what needs more than the README installs.
    others = [
        line for line in CI.read_text().splitlines() if "pytest" in line and ".venv/bin/pytest" not in line
    ]
    assert others == [
        'step "$tmp/venv/bin/pytest" -n auto --exhaustive',
        'step "$tmp/venv/bin/pytest" -n auto tests/e2e/test_opencode.py tests/e2e/test_opencode_qwen_chat.py'
        " tests/e2e/test_watching.py",
        'step "$tmp/venv/bin/pytest" -n auto tests/e2e/test_codex_and_claude_code.py',
    ]


def test_the_project_says_what_it_is():
    project = PROJECT["project"]
    assert project["name"] == "toolcall-workbench"
    assert project["scripts"] == {"workbench": "workbench.cli.main:main"}
    assert project["requires-python"] == ">=3.11"
    assert project["license"] == "MIT"
    assert (ROOT / "LICENSE").read_text().startswith("MIT License")
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "workbench/__init__.py"
    assert re.fullmatch(r"\d+\.\d+\.\d+", workbench.__version__)


def test_the_wheel_is_told_to_carry_the_samples():
    wheel = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["packages"] == ["transformer", "workbench"]
    assert wheel["force-include"] == {"samples": "workbench/samples"}


@pytest.mark.skipif(importlib.util.find_spec("hatchling") is None, reason="hatchling is not installed")
def test_the_wheel_holds_samples_and_templates(tmp_path: Path):
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    samples = {f"workbench/{path.relative_to(ROOT)}" for path in (ROOT / "samples").rglob("*.jsonl")}
    templates = {str(path.relative_to(ROOT)) for path in (ROOT / "transformer").rglob("*.jinja")}
    templates |= {str(path.relative_to(ROOT)) for path in (ROOT / "workbench").rglob("*.tcss")}
    assert samples | templates | {"transformer/py.typed", "workbench/py.typed"} <= names
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"transformer", "workbench"}


def test_the_hooks_run_what_ci_runs():
    text = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    tools = {tool for tool in re.findall(r"entry: \.venv/bin/([\w-]+)", text) if tool != "python"}
    assert tools == {"ruff", "mypy", "lint-imports"}
    assert [tool for tool in tools if f'"$tmp/venv/bin/{tool}"' not in CI.read_text()] == []
    assert "repo: local" in text and "https://" not in text  # one version of each tool: this project's
