"""Requests: as lines a person reads, and what each tool costs in characters and estimated tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from transformer.values.schema import offered
from workbench.rendering import sizes as prompt_sizes
from workbench.text import json_text

# English and code have about four characters a token. Every model counts in its own way, so this is only
# an order of magnitude, and the output says so.
CHARACTERS_A_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Cost:
    """A thing and its characters."""

    name: str
    characters: int

    @property
    def tokens(self) -> int:
        return -(-self.characters // CHARACTERS_A_TOKEN)


def tool_costs(tools: Any, dialect: str, inject: bool, template: str | None) -> list[Cost]:
    """What each tool adds to the prompt (or, where the server renders them, to the body), largest first."""
    entries = tools if isinstance(tools, list) else []
    own: dict[str, list[Any]] = {}
    for entry in entries:
        for name in offered([entry]):
            own.setdefault(name, []).append(entry)
    if not inject:
        sizes = {name: sum(len(json_text(entry)) for entry in found) for name, found in own.items()}
    else:
        # Where the template fails the request falls back to the built-in one, and so do its sizes.
        used = template if prompt_sizes([entries], dialect, template)[0] is not None else None
        sizes = _added({name: found[0] for name, found in own.items()}, dialect, used)
    costs = [Cost(name, size) for name, size in sizes.items()]
    return sorted(costs, key=lambda cost: (-cost.characters, cost.name))


def _added(tools: Mapping[str, Any], dialect: str, template: str | None) -> dict[str, int]:
    """How much longer each tool makes the prompt. Measured beside another tool: a list has its commas."""
    entries = list(tools.values())
    lists: list[list[Any]] = []
    for at, entry in enumerate(entries):
        near = [entries[at - 1]] if len(entries) > 1 else []
        lists += [[*near, entry] if at else [entry, *near], near]
    found = [size or 0 for size in prompt_sizes(lists, dialect, template)]
    return {name: found[2 * at] - found[2 * at + 1] for at, name in enumerate(tools)}


def system_text(body: Mapping[str, Any]) -> str | None:
    """What the system messages of a body say; None if there is none."""
    messages = body.get("messages")
    found = [
        message.get("content")
        for message in (messages if isinstance(messages, list) else [])
        if isinstance(message, Mapping) and message.get("role") in ("system", "developer")
    ]
    return "\n\n".join(map(_plain, found)) if found else None


def _plain(content: Any) -> str:
    if isinstance(content, list):
        texts = [part.get("text") if isinstance(part, Mapping) else part for part in content]
        return "\n".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def readable(body: Mapping[str, Any]) -> list[str]:
    """Lines for comparing two bodies: in JSON a long text is one line, and nothing can be seen in it."""
    lines: list[str] = []
    for key, value in body.items():
        if key == "messages" and isinstance(value, list):
            for index, message in enumerate(value):
                lines += _message(index, message)
        elif key == "tools" and isinstance(value, list):
            lines += [f"tools[{index}]: {json_text(tool)}" for index, tool in enumerate(value)]
        else:
            lines.append(f"{key}: {json_text(value)}")
    return lines


def _message(index: int, message: Any) -> Iterator[str]:
    if not isinstance(message, Mapping):
        yield f"messages[{index}]: {json_text(message)}"
        return
    yield f"messages[{index}] {message.get('role')}"
    for key, value in message.items():
        if key == "content" and isinstance(value, str):
            yield from (f"    {line}" if line else "" for line in value.split("\n"))
        elif isinstance(value, list):
            yield from (f"  {key}: {json_text(part)}" for part in value)
        elif key != "role":
            yield f"  {key}: {json_text(value)}"
