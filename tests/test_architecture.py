"""The map of docs/architecture.md: which part may import which, and that the page names what is there."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

from tests.support.project import ROOT
from tests.support.tiers import each_row
from transformer.dialects import DIALECTS

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
SOURCES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for package in ("transformer", "workbench")
    for path in sorted((ROOT / package).rglob("*.py"))
}


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All of them, without the expressions inside, which are most of a tree."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield child
            yield from statements(child)


class Imports(NamedTuple):
    """Modules of ours, or names."""

    everywhere: frozenset[str]  # in functions and for type checkers too
    at_the_top: frozenset[str]


@cache
def imports_of(module: str) -> Imports:
    """What a module imports. Its tree is not kept: all of them are a million objects."""
    tree = ast.parse(SOURCES[module].read_text(encoding="utf-8"))
    return Imports(
        frozenset(_imported(module, statements(tree))), frozenset(_imported(module, iter(tree.body)))
    )


def _imported(module: str, nodes: Iterator[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module is not None, f"{module}: a relative import"
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if name in SOURCES else node.module


ONLY_POSIX = {"fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "termios", "tty", "uvloop"}


def test_modules_that_windows_lacks_are_imported_where_they_are_used():
    """A screen that cannot be imported there is of no use, whatever it does not need."""
    found = {
        module: names
        for module in SOURCES
        if (names := {name.partition(".")[0] for name in imports_of(module).at_the_top} & ONLY_POSIX)
    }
    assert not found


def test_the_contracts_hold():
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-logo", "--no-cache"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_no_module_comes_back_to_itself():
    """The contracts compare neighbours; this also sees a package whose `__init__` imports from inside it."""
    graph = {
        module: {name for name in imports_of(module).everywhere if name in SOURCES} - {module}
        for module in SOURCES
    }
    TopologicalSorter(graph).prepare()


def test_the_transformer_needs_two_libraries():
    """A contract can only forbid what it names; this is about everything else."""
    packages = {
        name.partition(".")[0]
        for module in SOURCES
        if module.startswith("transformer")
        for name in imports_of(module).everywhere
    }
    assert packages - sys.stdlib_module_names == {"transformer", "orjson", "jinja2"}


@each_row("module", SOURCES)
def test_the_page_names_every_module_or_its_package(module: str):
    path = SOURCES[module].relative_to(ROOT)
    # At the top of a package each module is a layer of its own.
    is_layer = len(path.parts) == 2 and not path.name.startswith("__")
    name = path.as_posix() if is_layer else f"{path.parent.as_posix()}/"
    assert f"`{name}`" in PAGE


def test_the_page_names_no_file_that_is_not_there():
    named = set(
        re.findall(r"`((?:transformer|workbench|samples|tests|docs|benchmarks|\.ci)/[\w./-]*)`", PAGE)
    )
    assert len(named) > 40
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_the_page_names_no_class_that_is_not_there():
    named = set(re.findall(r"`([A-Z][a-z]\w*)(?:\.\w+)?`", PAGE))
    sources = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES.values())
    classes = set(re.findall(r"^class (\w+)", sources, re.MULTILINE))
    assert len(named) > 20
    assert sorted(named - classes) == []


def test_a_dialect_is_named_only_where_it_is_written_down():
    """Whoever needs to know something of a dialect asks it. The word auto means other things, too."""
    names = "|".join(map(re.escape, set(DIALECTS) - {"auto"}))
    outside = [path for module, path in SOURCES.items() if not module.startswith("transformer.dialects")]
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in outside
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(rf"(?<![\w-])(?:{names})(?![\w-])", line)
    ]
    assert found == []
