"""Leaks: calls that reached the client as text, with the proof that another dialect would have read them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from transformer import DIALECTS, Policy, transform_message
from transformer.setting import Setting
from workbench.observer.answers import Answered, choices_of
from workbench.observer.marks import Hit, hits
from workbench.observer.observations import Observation, observation
from workbench.observer.prose import Prose

# Names that stand for a name.
_PLACEHOLDERS = frozenset(
    """
    name tool_name toolname function_name functionname example_function_name example_function example_tool
    your_tool your_function some_tool some_function my_tool my_function func function tool n x foo bar ...
    """.split()
)
_ALL = Policy(calls="all", unknown_tools="text", channels=("content",))
# A proof reads on from the mark, but not for ever: the proxy is waiting.
_PROOF = 64 << 10


@dataclass(frozen=True, slots=True)
class Scene:
    """What is known besides the text: the setting, the user's last words, why nothing was converted."""

    setting: Setting
    asked: str
    why: str


def leaks(choice: Answered, scene: Scene) -> Iterator[Observation]:
    """Marks in the content; the first of each dialect speaks for the others."""
    for hit in _first_of_each(_told(choice.content, scene, thought=False)):
        yield from _leak(hit, "content", choice.content, choice.index, scene)


def thoughts(choice: Answered, scene: Scene) -> Iterator[Observation]:
    """Calls in the reasoning. Whoever made a call in the end has only thought of these."""
    if choice.calls:
        return
    for hit in _first_of_each(_told(choice.content, scene, thought=True)):
        yield from _thought(hit, "content", choice.content, choice, scene)
    for field, text in choice.reasoning.items():
        for hit in _first_of_each(_told(text, scene, thought=None)):
            yield from _thought(hit, field, text, choice, scene)


def _leak(hit: Hit, field: str, text: str, choice: int, scene: Scene) -> Iterator[Observation]:
    place, found, dialect = (choice, field, hit.start, hit.end), hit.mark.dialect, scene.setting.dialect.name
    unknown = (
        found == dialect and scene.setting.tools_known and hit.name and hit.name not in scene.setting.tools
    )
    why = f"the tool {hit.name} was not offered" if unknown and not scene.setting.raw else scene.why
    yield observation("leaked-markers", place, found=found, why=why)
    if found != dialect and (tool := _converted(hit, text, scene)):
        yield observation("other-dialect", place, tool=tool, found=found, dialect=dialect)


def _thought(hit: Hit, field: str, text: str, choice: Answered, scene: Scene) -> Iterator[Observation]:
    """A whole call; or half of one, if the answer has nothing else."""
    ours = hit.mark.dialect in DIALECTS
    tool = _converted(hit, text, scene) if ours else hit.name
    offered = hit.name in scene.setting.tools or not scene.setting.tools_known
    place = (choice.index, field, hit.start, hit.end)
    found = hit.mark.dialect
    if tool and (ours or offered):
        yield observation("call-in-reasoning", place, tool=tool[:100], found=found)
    elif choice.silent:
        yield observation("leaked-markers", place, found=found, why="it stands in the reasoning")


def _converted(hit: Hit, text: str, scene: Scene) -> str | None:
    """The tool that is called if the dialect of the mark really reads the text, from the mark on."""
    if hit.mark.dialect not in DIALECTS:
        return None
    message = {"role": "assistant", "content": text[hit.start : hit.start + _PROOF]}
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    tools = [
        {"function": {"name": tool.name, "parameters": tool.parameters}}
        for tool in scene.setting.tools.values()
    ]
    read = transform_message(body, hit.mark.dialect, tools or None, _ALL if tools else None)
    return next((call.name for choice in choices_of(read) for call in choice.calls), None)


def _first_of_each(found: Iterator[Hit]) -> Iterator[Hit]:
    seen: set[str] = set()
    for hit in found:
        if hit.mark.dialect not in seen:
            seen.add(hit.mark.dialect)
            yield hit


def _told(text: str, scene: Scene, thought: bool | None) -> Iterator[Hit]:
    """The marks that mean something. `thought`: only those inside (or outside) of thoughts, None: any."""
    prose = Prose(text)
    for hit in hits(text):
        if _means_it(hit, prose, scene) and thought in (None, prose.thought(hit.start)):
            yield hit


def _means_it(hit: Hit, prose: Prose, scene: Scene) -> bool:
    tools = scene.setting.tools
    if hit.mark.dialect == "roo-xml" and not _is_roo_call(hit, scene):
        return False
    named, line = hit.name in tools, prose.starts_line(hit.start)
    if hit.mark.needs == "name and line":
        means = named and line
    elif hit.mark.needs == "name or line":
        means = named or (line and not _is_example(hit, scene))
    else:
        means = named or not _is_example(hit, scene)
    return means and not prose.quoted(hit.start)


def _is_example(hit: Hit, scene: Scene) -> bool:
    """No tool is called so, or the user has just asked what this is."""
    return (hit.name or "").lower() in _PLACEHOLDERS or hit.mark.opener in scene.asked


def _is_roo_call(hit: Hit, scene: Scene) -> bool:
    """Any XML has this shape: only a tool's own tag with one of its own parameters is more than that."""
    tool = scene.setting.tools.get(hit.name or "")
    if tool is None:
        return False
    return tool.knows(hit.child) if hit.child and tool.has_schema else True
