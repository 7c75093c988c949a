"""The tools that the samples' clients offer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from samples.cases.upstream import JSON

STRING: JSON = {"type": "string"}
INTEGER: JSON = {"type": "integer"}
NUMBER: JSON = {"type": "number"}
BOOLEAN: JSON = {"type": "boolean"}
STRINGS: JSON = {"type": "array", "items": STRING}


def offer(name: str, about: str, required: Iterable[str] | None = None, **parameters: Any) -> JSON:
    """A tool as a client offers it; all its parameters are required unless told."""
    schema: JSON = {"type": "object", "properties": parameters}
    if parameters:
        schema["required"] = list(parameters if required is None else required)
    return {"type": "function", "function": {"name": name, "description": about, "parameters": schema}}


def with_defs(tool: JSON, **defs: JSON) -> JSON:
    """The same tool with definitions that its parameters refer to."""
    function = tool["function"]
    return {**tool, "function": {**function, "parameters": {**function["parameters"], "$defs": defs}}}


READ_FILE = offer("read_file", "Read a file", path=STRING)
WRITE_FILE = offer("write_file", "Write a file", path=STRING, content=STRING)
WRITE_TO_FILE = offer("write_to_file", "Write a file", path=STRING, content=STRING)
EDIT_FILE = offer("edit_file", "Replace text in a file", path=STRING, old=STRING, new=STRING)
LIST_FILES = offer("list_files", "List a folder", ["path"], path=STRING, recursive=BOOLEAN)
BASH = offer("bash", "Run a command", command=STRING)
SEARCH = offer("search", "Search the files", pattern=STRING)
EXECUTE = offer("execute_command", "Run a command", ["command"], command=STRING, timeout=NUMBER)
TODOS = offer("update_todo_list", "Keep the list of tasks", todos=STRINGS)
NOW = offer("now", "The time of day")
SKILL = offer("skill", "Load a skill", skill=STRING)
