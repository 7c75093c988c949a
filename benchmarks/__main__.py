"""One command for all measurements:

    python -m benchmarks                      what there is
    python -m benchmarks proxy --rounds 5     one of them, with its own options (--help)

Each is also a script of its own.
"""

from __future__ import annotations

import ast
import runpy
import sys
from pathlib import Path

NAMES = (
    "transformer",
    "request",
    "proxy",
    "growth",
    "ui",
    "opening",
    "replay",
    "start",
    "soak",
    "fuzz",
    "counts",
)


def main() -> int:
    arguments = sys.argv[1:]
    if not arguments or arguments[0] not in NAMES:
        print("python -m benchmarks NAME [OPTIONS]\n")
        for name in NAMES:
            print(f"  {name:12} {_first_line(name)}")
        return 0 if not arguments or arguments[0] in ("-h", "--help") else 2
    name, sys.argv = arguments[0], [f"python -m benchmarks {arguments[0]}", *arguments[1:]]
    runpy.run_module(f"benchmarks.{name}", run_name="__main__", alter_sys=False)
    return 0


def _first_line(name: str) -> str:
    source = (Path(__file__).parent / f"{name}.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(source)) or "").splitlines()[0]


if __name__ == "__main__":
    sys.exit(main())
