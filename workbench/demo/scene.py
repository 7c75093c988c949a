"""A scene: one conversation between the scripted client and the scripted model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.demo.answer import Answer

# Which dialect the models speak: the proxy of the demo is configured with it.
MODELS: Mapping[str, str] = {
    "qwen3-max": "roo-xml",
    "qwen3-coder-30b": "qwen3-coder",
    "kimi-k2.5": "kimi-k2",
    "glm-4.6": "passthrough",
}
TITLE_PROMPT = "You write titles. Reply with the title of this conversation, in at most six words."


@dataclass(frozen=True, slots=True)
class Scene:
    """`asked` is what the scene is known by, on both sides; no two have the same."""

    model: str
    asked: str
    turns: Sequence[Answer]
    results: Mapping[str, str] = field(default_factory=dict)  # of tools, where they are not the usual
    title: Answer | None = None  # of the side request that runs at the same time
    stream: bool = True
    leaves: float | None = None  # the client goes away after so many seconds


def find_scene(scenes: Sequence[Scene], messages: Sequence[Mapping[str, Any]]) -> Scene | None:
    """The scene that a request belongs to; a side request quotes what was asked."""
    texts = [str(one.get("content")) for one in messages]
    return next((scene for scene in scenes if any(scene.asked in text for text in texts)), None)


def answer_to(scenes: Sequence[Scene], body: Mapping[str, Any]) -> Answer | None:
    """What the model says next; None when it has no part in this."""
    given = body.get("messages")
    messages = [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
    scene = find_scene(scenes, messages)
    if scene is None:
        return None
    if any(TITLE_PROMPT in str(one.get("content")) for one in messages):
        return scene.title
    turn: int = sum(one.get("role") == "assistant" for one in messages)
    return scene.turns[min(turn, len(scene.turns) - 1)]
