"""Which part may import which."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for package in ("transformer", "workbench")
    for path in sorted((ROOT / package).rglob("*.py"))
}


def imports_of(module: str) -> Iterator[str]:
    """Everything that a module imports, in functions and for type checkers too: modules of ours, or names."""
    for node in ast.walk(ast.parse(SOURCES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module is not None, f"{module}: a relative import"
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if name in SOURCES else node.module


def test_the_contracts_hold():
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-logo", "--no-cache"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_no_module_comes_back_to_itself():
    """The contracts compare neighbours; this also sees a package whose `__init__` imports from inside it."""
    graph = {
        module: {name for name in imports_of(module) if name in SOURCES} - {module} for module in SOURCES
    }
    for module in ("tapenotes", "whatif"):  # TODO remove with the replay's model: for type checkers only
        graph[f"workbench.ui.screens.{module}"].discard("workbench.ui.screens.replay")
    TopologicalSorter(graph).prepare()


def test_the_transformer_needs_two_libraries():
    """A contract can only forbid what it names; this is about everything else."""
    packages = {
        name.partition(".")[0]
        for module in SOURCES
        if module.startswith("transformer")
        for name in imports_of(module)
    }
    assert packages - sys.stdlib_module_names == {"transformer", "orjson", "jinja2"}
