"""A model for `workbench try --demo`: it answers recorded requests as on their tapes, and every now
and then writes the call wrong. How often depends on the prompt, so that there is a difference to be found.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import orjson

from transformer.answer.observations import text_in
from workbench.analysis.requests import system_text
from workbench.analysis.variants.texts import texts_of
from workbench.demo.scripts import Answer, said
from workbench.demo.traffic import Upstream
from workbench.replay.player import Player
from workbench.tape.format import Tape

USUAL, CAREFUL = 0.4, 0.1
CARE = "every tag that you opened"  # a prompt that asks for this gets better answers
_CLOSER = re.compile(r"</\w+>")


class UnreliableModel(Upstream):
    """`answers` are texts by what was asked last; the same requests, in order, get the same answers."""

    def __init__(self, answers: Mapping[str, str], seed: int = 3) -> None:
        super().__init__((), pace=0.0)
        self._answers = answers
        self._seed = seed
        self._asked: Counter[tuple[str, bool]] = Counter()

    def answer(self, path: str, body: bytes) -> Answer:
        request = orjson.loads(body) if body else {}
        if not path.endswith("/chat/completions") or not isinstance(request, dict):
            return super().answer(path, body)
        question, careful = asked_last(request), CARE in (system_text(request) or "")
        self._asked[question, careful] += 1
        chance = random.Random(f"{self._seed} {question} {careful} {self._asked[question, careful]}")
        text = self._answers.get(question, "I know nothing about that.")
        if chance.random() < (CAREFUL if careful else USUAL):
            text = chance.choice((_without_closer, _cut, _only_prose))(text)
        return said(text, model=str(request.get("model") or ""), pace=0.0)


def asked_last(request: Mapping[str, Any]) -> str:
    messages = request.get("messages")
    for message in reversed(messages if isinstance(messages, list) else []):
        if isinstance(message, dict) and message.get("role") == "user":
            return text_in(message.get("content"))
    return ""


def answer_on(tape: Tape) -> str:
    """What the model wrote on a tape."""
    player = Player(tape.header)
    player.add(tape.lines)
    return next((text.text for text in texts_of(player) if text.channel == "content"), "")


def _without_closer(text: str) -> str:
    return _CLOSER.sub("", text, count=1)


def _cut(text: str) -> str:
    return text[: len(text) * 2 // 3]


def _only_prose(text: str) -> str:
    return "I will do that now."
