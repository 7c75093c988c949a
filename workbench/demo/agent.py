"""The agent that the scripted client plays: its instructions, its tools, what they give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SYSTEM = """\
You are a coding agent in a user's terminal. You work in the folder /home/dev/tally, a small Python project.

- Read before you write. Never guess what a file holds.
- Make the smallest change that does what was asked, in the style of the code around it.
- Run the tests after a change. If they fail, say so; do not hide it.
- Be brief: the user reads your answers in a terminal. No headings, no lists of what you did.
- Never commit, never push, never touch files outside the folder.

Platform: linux. Today is the day it is. The folder is a git repository on the branch main.
"""

_MAIN = '''\
"""Count the lines of files."""

import sys
from pathlib import Path


def count(path: str) -> int:
    return Path(path).read_text().count("\\n")


def main() -> None:
    for name in sys.argv[1:]:
        print(count(name), name)


if __name__ == "__main__":
    main()
'''

# What a tool gives when a scene does not say otherwise.
RESULTS: Mapping[str, str] = {
    "read_file": _MAIN,
    "write_to_file": "Written.",
    "write_file": "Written.",
    "edit_file": "1 replacement.",
    "list_files": "README.md\nsrc/\nsrc/main.py\ntests/\ntests/test_main.py",
    "search_files": "src/main.py:8:    return Path(path).read_text().count(chr(10))",
    "bash": "3 passed in 0.04s",
    "execute_command": "3 passed in 0.04s",
}


def _tool(name: str, about: str, required: str, **parameters: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": parameters, "required": required.split()}
    return {"type": "function", "function": {"name": name, "description": about, "parameters": schema}}


def _text(about: str) -> dict[str, str]:
    return {"type": "string", "description": about}


_PATH = _text("The file, relative to the project's folder")
TOOLS = [
    _tool("read_file", "Read a text file.", "path", path=_PATH),
    _tool("write_to_file", "Create a file or replace it.", "path content", path=_PATH,
          content=_text("All of the file's new text")),
    _tool("write_file", "Create a file or replace it.", "path content", path=_PATH,
          content=_text("All of the file's new text")),
    _tool("edit_file", "Replace text in a file; it must occur exactly once.", "path old new", path=_PATH,
          old=_text("The text to replace, with its indentation"), new=_text("What to put there")),
    _tool("list_files", "List a folder.", "path", path=_PATH, recursive={"type": "boolean"}),
    _tool("search_files", "Search the files with a regular expression.", "pattern",
          pattern=_text("The expression"), limit={"type": "integer", "minimum": 1, "maximum": 500}),
    _tool("bash", "Run a command in the project's folder.", "command", command=_text("The command")),
    _tool("execute_command", "Run a command, with a time limit.", "command", command=_text("The command"),
          timeout={"type": "number", "description": "Seconds"}),
]  # fmt: skip
