"""`workbench prompt`, run as a user runs it."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.bench import wait_for
from tests.support.project import ROOT, heed_ctrl_c
from tests.support.streams import JSON, tool
from tests.support.tiers import each_row
from transformer import BUILTIN_TEMPLATES, prompt_for, transform_request
from workbench.analysis.requests import Cost, tool_costs
from workbench.cli.main import main
from workbench.tape.format import Tape, dump_tape, make_header

pytestmark = pytest.mark.usefixtures("templates_in_this_process")
READ = tool("read", {"filePath": {"type": "string", "description": "Which file"}})
BASH = tool("bash", {"command": {"type": "string", "description": "What to run, " * 20}})
REQUEST: JSON = {
    "model": "m",
    "tool_choice": "auto",
    "messages": [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": [{"type": "text", "text": "Look at naïve.py 🙂"}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "c",
                    "type": "function",
                    "function": {"name": "read", "arguments": '{"filePath":"/a"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c", "content": ""},
    ],
    "tools": [READ, BASH],
}


class Run(NamedTuple):
    """What one run of the command left behind."""

    code: object
    out: bytes
    err: str


RunCommand = Callable[..., Run]


@pytest.fixture
def run(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> RunCommand:
    """The command in this process, in a folder with a request in it."""
    monkeypatch.chdir(tmp_path)
    save(REQUEST)

    def run(*args: object, stdin: bytes = b"") -> Run:
        monkeypatch.setattr(sys, "argv", ["workbench", "prompt", *map(str, args)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as exit:
            main()
        out, err = capfdbinary.readouterr()
        return Run(exit.value.code, out, err.decode())

    return run


def save(value: Any, name: str = "request.json") -> None:
    Path(name).write_text(json.dumps(value), encoding="utf-8")


# What goes upstream


@each_row("dialect", ["roo-xml", "qwen3-coder", "kimi-k2", "passthrough"])
@each_row("switches", [[], ["--set", "tools=inject"], ["--set", "tools=pass"]])
def test_the_body_is_what_transform_request_gives(run: RunCommand, dialect: str, switches: list[str]):
    policy = dict([switches[1].split("=")]) if switches else None
    new, _ = transform_request(REQUEST, dialect, policy)
    for args in (("request.json",), ("-",)):
        code, out, _ = run(*args, "--dialect", dialect, *switches, stdin=json.dumps(REQUEST).encode())
        assert code == 0
        assert json.loads(out) == new
        assert "naïve.py 🙂".encode() in out


def test_the_system_message_alone(run: RunCommand):
    code, out, _ = run("request.json", "-d", "roo-xml", "--out", "system")
    assert code == 0
    assert out.decode() == f"Be kind.\n\n{prompt_for([READ, BASH], 'roo-xml')}\n"


def test_no_system_message(run: RunCommand):
    save({"messages": []})
    code, out, err = run("request.json", "-d", "roo-xml", "--out", "system")
    assert (code, out) == (0, b"")
    assert "note no system message goes upstream" in err
    assert "note nothing is changed: the request goes upstream as it is" in err


def test_the_difference(run: RunCommand):
    code, out, _ = run("request.json", "-d", "roo-xml", "--out", "diff")
    assert code == 0
    lines = out.decode().split("\n")
    assert lines[:2] == ["--- client", "+++ upstream"]
    assert '-tool_choice: "auto"' in lines
    assert "     Be kind." in lines
    assert "+    <filePath>/a</filePath>" in lines
    assert "-messages[3] tool" in lines and "+messages[3] user" in lines
    assert "+    (the tool ran and returned no output)" in lines
    assert any(line.startswith('-tools[0]: {"type": "function"') for line in lines)
    code, out, _ = run("request.json", "-d", "passthrough", "--out", "diff")
    assert (code, out) == (0, b"")


def test_a_tape_brings_its_request_and_its_dialect(run: RunCommand):
    header = make_header("a test", dialect="roo-xml", request=REQUEST)
    Path("a.jsonl").write_bytes(dump_tape(Tape(header, ())))
    code, out, _ = run("a.jsonl")
    assert code == 0
    assert json.loads(out) == transform_request(REQUEST, "roo-xml")[0]


@pytest.mark.parametrize(
    ("recorded", "expected"),
    [
        ("{{ tools | length }} tools", "2 tools"),
        ("kimi-k2", prompt_for([READ, BASH], "kimi-k2")),
        (None, prompt_for([READ, BASH], "roo-xml")),
    ],
    ids=["text", "name", "none"],
)
def test_a_tape_brings_its_template(run: RunCommand, recorded: str | None, expected: str):
    header = make_header("a test", dialect="roo-xml", request=REQUEST, template=recorded)
    Path("a.jsonl").write_bytes(dump_tape(Tape(header, ())))
    code, out, _ = run("a.jsonl", "--out", "system")
    assert (code, out.decode()) == (0, f"Be kind.\n\n{expected}\n")
    # One of ours, which needs no process of its own.
    Path("mine.jinja").write_text(BUILTIN_TEMPLATES["glm"])
    mine = prompt_for([READ, BASH], "roo-xml", BUILTIN_TEMPLATES["glm"])
    assert mine != expected
    out = run("a.jsonl", "--out", "system", "--prompt", "mine.jinja").out
    assert out.decode() == f"Be kind.\n\n{mine}\n"


# Sizes


def test_sizes_and_what_each_tool_costs_go_to_standard_error(run: RunCommand):
    _, out, err = run("request.json", "-d", "roo-xml")
    json.loads(out)
    lines = err.split("\n")
    assert lines[0] == "sizes, tokens estimated at 4 characters each"
    total = len(prompt_for([READ, BASH], "roo-xml")) + 2
    assert any(
        line.split() == f"for the tools {total:,} characters ~{-(-total // 4):,} tokens".split()
        for line in lines
    )
    at = lines.index("2 tools, largest first")
    assert [line.split()[0] for line in lines[at + 1 : at + 3]] == ["bash", "read"]


@each_row("dialect", BUILTIN_TEMPLATES)
def test_what_a_tool_costs_is_what_leaving_it_out_saves(dialect: str):
    costs = tool_costs([READ, BASH, READ], dialect, True, None)
    assert [cost.name for cost in costs] == ["bash", "read"]
    both = len(prompt_for([READ, BASH], dialect))
    assert both - costs[0].characters == len(prompt_for([READ], dialect))
    assert both - costs[1].characters == len(prompt_for([BASH], dialect))


@each_row("dialect", BUILTIN_TEMPLATES)
def test_sixty_tools_cost_no_more_than_their_number(dialect: str, monkeypatch: pytest.MonkeyPatch):
    tools = [tool(f"tool_{n:02}", {"a": {"type": "string"}, "b": {"type": "integer"}}) for n in range(60)]
    rendered: list[int] = []

    def counted(listed: list[Any], *more: Any) -> str:
        rendered.append(len(listed))
        return prompt_for(listed, *more)

    monkeypatch.setattr("workbench.rendering.prompt_for", counted)
    found = tool_costs(tools, dialect, True, None)
    assert len({cost.characters for cost in found}) == 1
    assert len(prompt_for(tools, dialect)) - found[0].characters == len(prompt_for(tools[1:], dialect))
    assert sum(rendered) <= 5 * len(tools)


def test_costs_of_odd_requests():
    assert tool_costs(None, "roo-xml", True, None) == []
    assert tool_costs([None, {}], "roo-xml", True, None) == []
    assert tool_costs([READ], "roo-xml", False, None) == [Cost("read", len(json.dumps(READ)))]
    assert tool_costs([READ], "roo-xml", True, "{{ tools[0].name }}!") == [Cost("read", 5)]
    assert tool_costs([READ], "roo-xml", True, "{{ nope }}") == tool_costs([READ], "roo-xml", True, None)
    assert Cost("x", 5).tokens == 2


# Templates


def test_the_template_of_a_tape(run: RunCommand):
    header = {"tape": 1, "dialect": "roo-xml", "request": {"messages": []}}
    for name, template, printed in (
        ("own.jsonl", {"template": "mine: {{ tools }}"}, "mine: {{ tools }}"),
        ("none.jsonl", {}, BUILTIN_TEMPLATES["roo-xml"]),
        ("named.jsonl", {"template": "qwen3-coder"}, BUILTIN_TEMPLATES["qwen3-coder"]),
    ):
        Path(name).write_text(json.dumps(header | template) + "\n")
        code, out, _ = run(name, "--template")
        assert (code, out.decode()) == (0, printed)


@each_row("dialect", BUILTIN_TEMPLATES)
def test_a_template_can_be_printed(run: RunCommand, dialect: str):
    code, out, err = run("--template", dialect)
    assert (code, err) == (0, "")
    assert out.decode() == BUILTIN_TEMPLATES[dialect]
    assert run(f"--template={dialect}") == (code, out, err)


@each_row("dialect", BUILTIN_TEMPLATES)
def test_a_template_can_be_edited_and_used(run: RunCommand, dialect: str):
    _, out, _ = run("--template", dialect)
    Path("mine.jinja").write_bytes(out + b"\nBe brief.\n")
    code, out, _ = run(
        "request.json", "-d", dialect, "--prompt", "mine.jinja", "--set", "tools=inject", "--out", "system"
    )
    assert code == 0
    assert out.endswith(b"\n\nBe brief.\n")


def test_a_template_that_fails_is_named_with_its_line(run: RunCommand):
    Path("mine.jinja").write_text("one\n{{ tols }}\n")
    code, out, err = run("request.json", "-d", "roo-xml", "--prompt", "mine.jinja", "--out", "system")
    assert code == 1
    assert out.decode() == f"Be kind.\n\n{prompt_for([READ, BASH], 'roo-xml')}\n"
    (line,) = [line for line in err.split("\n") if line.startswith("error")]
    assert line.startswith(
        "error template-failed  mine.jinja:2: the prompt template fails at line 2: 'tols' is undefined"
    )


def test_a_template_that_is_not_used_is_said(run: RunCommand):
    Path("mine.jinja").write_text("x")
    _, _, err = run("request.json", "-d", "kimi-k2", "--prompt", "mine.jinja")
    assert "(tools=template), so mine.jinja is not used; --set tools=inject puts them in" in err


# Findings and mistakes


def test_findings_of_level_error_are_the_exit_code(run: RunCommand):
    save(REQUEST | {"tools": [READ, tool("two words", {"a": {"type": "string"}})]})
    code, _, err = run("request.json", "-d", "roo-xml")
    assert code == 1
    assert "error name-not-carried  the tool 'two words' cannot be written in roo-xml" in err
    save(REQUEST | {"tools": [READ, READ]})
    code, _, err = run("request.json", "-d", "roo-xml")
    assert code == 0
    assert "warning duplicate-tool  read is offered" in err


@each_row(
    ("args", "said"),
    [
        ([], "which request?"),
        (["gone.json", "-d", "roo-xml"], "cannot read gone.json: No such file"),
        (["request.json"], "which dialect does the model speak?"),
        (["request.json", "-d", "roo"], "did you mean roo-xml?"),
        (["request.json", "-d", "roo-xml", "--prompt", "gone.jinja"], "cannot read gone.jinja"),
        (
            ["request.json", "-d", "roo-xml", "--prompt", "latin.jinja"],
            "latin.jinja is not a template: it is not valid",
        ),
        (
            ["request.json", "-d", "roo-xml", "--set", "tools=inline"],
            "tools is one of inject, template, pass",
        ),
        (["list.json", "-d", "roo-xml"], "list.json is not a request: a request is a JSON object"),
        (["broken.json", "-d", "roo-xml"], "broken.json is not JSON: line 1, column 2"),
        (["empty.jsonl"], "no request is on this tape"),
        (["odd.jsonl"], "the tape's template is neither a text nor the name of a dialect"),
        (["--template", "roo"], "there is no dialect 'roo'; did you mean roo-xml?"),
        (
            ["--template", "passthrough"],
            "there is no template for 'passthrough'; there is one for roo-xml",
        ),
        (["--template"], "which dialect does the model speak?"),
    ],
)
def test_mistakes_are_said_and_exit_with_2(run: RunCommand, args: list[str], said: str):
    save([1], "list.json")
    Path("broken.json").write_text("{nope")
    Path("latin.jinja").write_bytes("naïve".encode("latin-1"))
    Path("empty.jsonl").write_bytes(dump_tape(Tape(make_header("a test", dialect="roo-xml"), ())))
    odd = make_header("a test", dialect="roo-xml", request=REQUEST, template=5)
    Path("odd.jsonl").write_bytes(dump_tape(Tape(odd, ())))
    code, out, err = run(*args)
    assert (code, out) == (2, b"")
    assert err.startswith("workbench: ") and said in err


@pytest.mark.parametrize("colour", [True, False])
@pytest.mark.parametrize("out", ["body", "system", "diff"])
def test_a_terminal_gets_colours_and_no_escapes_but_ours(
    folder: Path,
    run_on_terminal: Callable[..., tuple[object, str]],
    monkeypatch: pytest.MonkeyPatch,
    out: str,
    colour: bool,
):
    evil = REQUEST | {
        "messages": [{"role": "system", "content": "a\x1b]0;owned\x07\u202e"}],
        "x\x9b": "\x1b[2J",
    }
    (folder / "evil.json").write_text(json.dumps(evil))
    monkeypatch.setenv("NO_COLOR", "" if colour else "1")
    code, text = run_on_terminal("prompt", "evil.json", "-d", "roo-xml", "--out", out)
    assert code == 0
    ours = "\x1b[36m" in text and "\x1b[0m" in text
    assert ours == colour
    for code in (30, 31, 32, 33, 34, 35, 36, 37, 0):
        text = text.replace(f"\x1b[{code}m", "")
    assert "owned" in text
    assert not {"\x1b", "\x07", "\u202e", "\x9b"} & set(text)


def rendering(parent: int) -> bool:
    """Whether it has a child that runs the program of its own, and is not a copy of its parent still."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    own = Path(f"/proc/{parent}/cmdline").read_bytes()
    return any(Path(f"/proc/{child}/cmdline").read_bytes() != own for child in children)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="it looks for the process of the template")
def test_ctrl_c_ends_a_template_that_does_not(folder: Path):
    """One that came with a tape: it runs in a process of its own, for which the command waits."""
    slow = "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}{{ tools }}"
    header = make_header("a test", dialect="qwen3-coder", request=REQUEST, template=slow)
    (folder / "a.jsonl").write_bytes(dump_tape(Tape(header, ())))
    command = [sys.executable, "-m", "workbench", "prompt", "a.jsonl", "--set", "tools=inject"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=folder, env=env, stderr=pipe, preexec_fn=heed_ctrl_c) as process:  # noqa: PLW1509
        wait_for(lambda: rendering(process.pid), "the process of the template")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=10)
    assert process.returncode == 130 and b"Traceback" not in err
