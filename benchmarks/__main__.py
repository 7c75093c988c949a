"""One command for all measurements, run in the checkout:

python -m benchmarks                      what there is
python -m benchmarks proxy --rounds 5     one of them; all have --rounds, --quick, --json, --svg, --help
python -m benchmarks all --out DIR        all of them, with their JSON and charts, and one table
python -m benchmarks page                 rebuild docs/performance.md from the JSON in docs/performance/
"""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from pathlib import Path

NAMES = (
    "transformer",
    "request",
    "proxy",
    "growth",
    "workers",
    "check",
    "replay",
    "ui",
    "opening",
    "start",
    "soak",
    "fuzz",
    "counts",
)
OTHERS = ("all", "page")  # they measure nothing themselves


def main() -> int:
    arguments = sys.argv[1:]
    if arguments and arguments[0] in (*NAMES, *OTHERS):
        module = import_module(f"benchmarks.{arguments[0]}")
        run = module.run if arguments[0] in OTHERS else module.PROGRAM.run
        return int(run(arguments[1:]))
    print("python -m benchmarks NAME [OPTIONS]\n")
    for name in (*NAMES, *OTHERS):
        print(f"  {name:12} {_first_line(name)}")
    return 0 if not arguments or arguments[0] in ("-h", "--help") else 2


def _first_line(name: str) -> str:
    source = (Path(__file__).parent / f"{name}.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(source)) or "").splitlines()[0]


if __name__ == "__main__":
    sys.exit(main())
