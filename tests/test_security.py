"""What SECURITY.md promises: each promise is listed there with its tests, and these are there."""

from __future__ import annotations

import ast
import json
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.project import ROOT
from tests.support.streams import chunk, sse, tool
from tests.support.tiers import each_row
from transformer import Policy, transform_request
from workbench.config.settings import Settings
from workbench.tape import format as tape_format
from workbench.tape.format import dump_line, end_line, make_header, read_line

PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
PROMISED, _, LISTED = PAGE.partition("## Where each promise is tested")
ROW = re.compile(r"^\| (?!promise)([^|]+) \| (`[^|]+`) \|$", re.MULTILINE)
# What leads to promises, or says where they end.
OTHER = ("What the workbench promises", "Opening one", "What it can do: be wrong")


def rows() -> dict[str, list[str]]:
    return {row[1]: re.findall(r"`([^`]+)`", row[2]) for row in ROW.finditer(LISTED)}


def paragraphs() -> list[str]:
    """Bullets and paragraphs, each in one line."""
    parts = re.split(r"\n\s*\n|\n(?=- )", PROMISED)
    texts = [" ".join(part.split()).removeprefix("- ") for part in parts]
    return [text for text in texts if text and not text.startswith(("#", *OTHER))]


def test_every_promise_is_listed_with_its_words():
    assert len(rows()) > 20
    every = paragraphs()
    assert [words for words in rows() if not any(words in text for text in every)] == []
    assert [text for text in every if not any(words in text for words in rows())] == []


def test_the_tests_of_the_promises_are_there():
    for tests in rows().values():
        for test in tests:
            file, _, name = test.partition("::")
            assert re.search(rf"^(async )?def {name}\(", (ROOT / file).read_text(), re.MULTILINE), test


def test_the_defaults():
    settings = Settings()
    assert (settings.listen, settings.keep_days) == ("127.0.0.1", 30)


# Ourselves, the process that a template runs in, and the user's own editor.
STARTS = {
    "workbench/demo/launch.py",
    "workbench/proxy/process.py",
    "workbench/proxy/workers.py",
    "workbench/rendering.py",
    "workbench/ui/screens/promptlab.py",
}
_STARTING = re.compile(
    r"\b(subprocess\.(run|Popen|call|check)|create_subprocess|os\.(system|popen|exec|spawn|fork))"
)


def test_who_starts_processes():
    """What a model calls can be run by nobody here: the modules that can start something are these."""
    sources = [*(ROOT / "workbench").rglob("*.py"), *(ROOT / "transformer").rglob("*.py")]
    found = {file.relative_to(ROOT).as_posix() for file in sources if _starts(file)}
    assert found == STARTS


def _starts(file: Path) -> bool:
    text = file.read_text(encoding="utf-8")
    if not re.search(
        r"subprocess|\bos\b", text
    ):  # what it is called by stands in the text, however it is cut
        return False
    tree = ast.parse(text)
    calls = [ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return any(_STARTING.search(call) for call in calls)


# Runs commands on tapes, and says which files and addresses were asked for that they name.
_WATCHED = """
import sys
named = sys.argv[1:]
found = []
def note(event, arguments):
    if event.startswith(("open", "socket.", "subprocess.", "os.")):
        shown = repr(arguments)
        if any(name in shown for name in named):
            found.append((event, shown[:200]))
sys.addaudithook(note)
import typer.main
from workbench.cli.main import app
from workbench.replay.lines import Tail
from workbench.tape.format import read_tape
from workbench.ui.requestfacts import facts_of
from pathlib import Path
command = typer.main.get_command(app)  # calling `app` makes all commands anew
for tape in ("file.jsonl", "address.jsonl"):
    for words in ("transform {}", "transform {} --out trace", "prompt {}", "detect {}", "compare {} {}"):
        try:
            command(words.replace("{}", tape).split(), prog_name="workbench")
        except SystemExit:
            pass
    facts_of(read_tape(tape).header)
    Tail(Path(tape)).advance(10)
open("found", "w").write("\\n".join(map(str, found)))
"""


def tape_that_names(named: str) -> bytes:
    """Every key of its header, and everything in its request, is this name."""
    names = dict.fromkeys([*tape_format._HEADER_ORDER, "template", "prompt", "url"], named)
    given = {"about": named, "dialect": "roo-xml", "started": 1.0, "stream": True, "kind": "chat", "now": 0}
    request = {"model": named, "messages": [{"role": "user", "content": named}], "tools": [tool(named)]}
    given |= {"request": request, "upstream_request": request, "ids": "x"}
    names.pop("tape", None)
    everything: dict[str, Any] = names | given
    call = sse(chunk(f"<read_file>\n<path>{named}</path>\n</read_file>"))
    lines: list[Any] = [make_header(**everything), read_line(0.1, call), end_line(1, "done")]
    return b"".join(map(dump_line, lines))


def test_what_a_tape_names_is_neither_opened_nor_called(tmp_path: Path):
    """A file that is there, or an address."""
    canary = tmp_path / "canary"
    canary.write_text("{{ tools }}")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        (tmp_path / "file.jsonl").write_bytes(tape_that_names(str(canary)))
        (tmp_path / "address.jsonl").write_bytes(tape_that_names(f"http://127.0.0.1:{port}/canary"))
        command = [sys.executable, "-c", _WATCHED, str(canary), str(port)]
        run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
        assert run.returncode == 0, run.stderr
    assert (tmp_path / "found").read_text() == ""


REACHING = [
    "{% include 'canary' %}",
    "{% import 'canary' as x %}",
    "{% extends 'canary' %}",
    "{{ ''.__class__.__mro__ }}",
    "{{ ().__class__.__base__.__subclasses__() }}",
    "{{ cycler.__init__.__globals__.os.popen('touch pwned').read() }}",
    "{{ lipsum.__globals__['os'].system('touch pwned') }}",
    "{{ ''|attr('__class__') }}",
    "{{ self.__init__.__globals__ }}",
    "{{ '{0.__class__.__init__.__globals__}'.format(tools) }}",
    "{{ '%s'.__mod__.__self__.__class__ }}",
    "{{ tools.append(1) }}",
    "{{ tools[0].clear() }}",
]


@each_row("template", REACHING)
def test_a_template_reaches_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, template: str):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "canary").write_text("from the file")
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "tools": [tool("read")]}
    new, findings = transform_request(
        body, dialect="roo-xml", policy=Policy(tools="inject"), template=f"{template} {{{{ tools }}}}"
    )
    assert [one.code for one in findings if one.code == "template-failed"], json.dumps(new)
    assert not (tmp_path / "pwned").exists() and "from the file" not in json.dumps(new)
    assert len(body["tools"]) == 1 and body["tools"][0]
