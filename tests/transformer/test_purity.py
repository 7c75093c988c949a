"""The transformer is pure: no clock, no chance, no I/O. Read from its sources, so that nothing is missed."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import re
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from tests.support.project import ROOT
from tests.support.tiers import each, each_row

SOURCES = sorted((ROOT / "transformer").rglob("*.py"))
NAMES = [str(path.relative_to(ROOT)) for path in SOURCES]

# Clocks, chance, the outside world, other threads, and whatever depends on the machine.
FORBIDDEN = set(
    """
    asyncio atexit builtins calendar code codeop concurrent contextvars ctypes curses datetime dbm email
    faulthandler
    fcntl fileinput ftplib gc getpass gettext glob http imaplib importlib inspect io linecache locale logging
    mmap msvcrt multiprocessing nt ntpath os pathlib pdb pickle platform poplib posix posixpath pprint
    pwd queue random
    readline resource sched secrets select selectors shelve shutil signal site smtplib socket socketserver
    sqlite3 ssl subprocess sys syslog tempfile termios threading time timeit tkinter traceback tracemalloc
    tty urllib.request urllib.error uuid wave weakref webbrowser winreg zoneinfo _thread _io _random
    """.split()
)
# What one file may have and no other.
ALLOWED = {
    "transformer/request/prompt.py": {"jinja2"},
    "transformer/dialects/__init__.py": {"importlib"},  # dialects of other packages, found once
}
FORBIDDEN_CALLS = {
    "open", "print", "input", "exec", "eval", "compile", "breakpoint", "__import__", "globals", "hash",
}  # fmt: skip
FORBIDDEN_WORDS = re.compile(r"utils?|helpers?|managers?|misc|common|base")


def imported(tree: ast.AST) -> Iterator[str]:
    """The full name of every module that is imported, wherever the import stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide where a name comes from"
            assert node.module is not None
            yield node.module
            # `from importlib import resources` imports a module too.
            yield from (f"{node.module}.{alias.name}" for alias in node.names if node.module == "importlib")


def problems(tree: ast.AST, name: str) -> list[str]:
    """What a pure module must not do; the checks below must find each of them."""
    found = []
    allowed = ALLOWED.get(name, set())
    for module in imported(tree):
        top = module.partition(".")[0]
        prefixes = {module, top}
        if module in allowed or top in allowed:
            continue
        if prefixes & FORBIDDEN or (
            top not in sys.stdlib_module_names | {"orjson", "transformer", "__future__"}
        ):
            found.append(f"imports {module}")
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FORBIDDEN_CALLS:
            found.append(f"calls {node.func.id}")
        if isinstance(node, ast.Global):
            found.append("changes a global")
    return found


def modules() -> list[ModuleType]:
    return [
        importlib.import_module(name.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
        for name in NAMES
    ]


def test_there_is_something_to_check() -> None:
    assert {
        "transformer/sse.py",
        "transformer/dialects/passthrough.py",
        "transformer/request/prompt.py",
    } <= set(NAMES)


def test_a_module_is_pure() -> None:
    found = {name: problems(ast.parse((ROOT / name).read_text()), name) for name in NAMES}
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


@each_row(
    ("source", "expected"),
    [
        ("import time", ["imports time"]),
        ("from datetime import datetime", ["imports datetime"]),
        ("def f():\n    import random as r", ["imports random"]),
        ("import urllib.request", ["imports urllib.request"]),
        ("from urllib.parse import unquote", []),
        ("import os.path", ["imports os.path"]),
        ("import json, httpx", ["imports httpx"]),
        ("import jinja2", ["imports jinja2"]),
        ("import workbench.tape", ["imports workbench.tape"]),
        ("from importlib import resources", ["imports importlib", "imports importlib.resources"]),
        ("import orjson, re, transformer.sse", []),
        ("print(1)", ["calls print"]),
        ("x = open('f')", ["calls open"]),
        ("x = hash('text')", ["calls hash"]),
        ("def f():\n    global x\n    x = 1", ["changes a global"]),
    ],
)
def test_what_the_check_finds(source: str, expected: list[str]) -> None:
    assert problems(ast.parse(source), "transformer/x.py") == expected


def test_what_one_module_may_have_and_no_other() -> None:
    templates = ast.parse("import jinja2, time\nfrom jinja2.sandbox import X")
    assert problems(templates, "transformer/request/prompt.py") == ["imports time"]
    finding = ast.parse("from importlib import import_module\nfrom importlib.metadata import entry_points")
    assert problems(finding, "transformer/dialects/__init__.py") == []
    assert problems(finding, "transformer/sse.py")


def test_a_module_says_in_one_line_what_it_is() -> None:
    def check(name: str) -> None:
        docstring = ast.get_docstring(ast.parse((ROOT / name).read_text()))
        assert docstring, "no docstring"
        head, *rest = docstring.split("\n")
        assert head and (not rest or rest[0] == ""), "the first line stands alone"
        assert head[-1] in ".:"

    each(NAMES, check)


def test_a_module_is_named_after_a_noun() -> None:
    words = {word for name in NAMES for word in re.split(r"[/_.]", name.removesuffix(".py"))}
    assert [word for word in words if FORBIDDEN_WORDS.fullmatch(word)] == []


EMOJI = re.compile("[\u2600-\u27bf\u2b00-\u2bff\ufe0f\U0001f000-\U0001faff]")


def test_a_module_has_no_emoji() -> None:
    assert [name for name in NAMES if EMOJI.search((ROOT / name).read_text())] == []


def test_records_are_frozen_and_slotted() -> None:
    from transformer import records

    found = [cls for cls in vars(records).values() if isinstance(cls, type) and dataclasses.is_dataclass(cls)]
    assert {cls.__name__ for cls in found} == {"Span", "Read", "Event", "Transition", "Delta", "Finding"}
    for cls in found:
        assert cls.__dataclass_params__.frozen, cls  # type: ignore[attr-defined]
        assert "__slots__" in vars(cls) and "__dict__" not in dir(cls), cls


def test_every_dataclass_that_others_see_is_frozen() -> None:
    found = {
        cls
        for module in modules()
        for name, cls in vars(module).items()
        if isinstance(cls, type) and dataclasses.is_dataclass(cls) and name[0] != "_"
    }
    assert len(found) > 6
    assert [cls for cls in found if not cls.__dataclass_params__.frozen] == []  # type: ignore[attr-defined]


def test_a_record_cannot_be_changed() -> None:
    from transformer.records import Span

    span = Span(0, "content", 1, 2, 3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        span.start = 5  # type: ignore[misc]
    assert {span: 1}[Span(0, "content", 1, 2, 3)] == 1
