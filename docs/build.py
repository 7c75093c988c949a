"""Writes docs/dialects.md from the dialects' tables: `python docs/build.py`."""

from __future__ import annotations

from pathlib import Path

from transformer import DIALECTS
from workbench.cli.dialects import diagram, table

HERE = Path(__file__).resolve().parent


def page() -> str:
    """One section a dialect: its diagram, then its table. Made from the tables that run, so it cannot lie."""
    parts = [
        "# The dialects' tables\n",
        "Made by `python docs/build.py` from the tables that run; `workbench dialects NAME` prints them.\n",
    ]
    for dialect in DIALECTS.values():
        parts.append(f"## {dialect.name}\n")
        parts.append("```mermaid\n" + "\n".join(diagram(dialect)) + "\n```\n")
        parts.append("```text\n" + "\n".join(line.rstrip() for line in table(dialect)) + "\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    (HERE / "dialects.md").write_text(page(), encoding="utf-8")
