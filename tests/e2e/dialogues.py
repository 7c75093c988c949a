"""A scripted model that writes its calls as text: what it says in each turn, and how that is cut."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support.streams import JSON, META, stream_of
from tests.support.upstream.answers import Answer, Send, failure, stream
from tests.support.upstream.connection import Seen
from workbench.tape.inputs import Chunking

TITLE = "You are a title generator"


@dataclass(frozen=True, slots=True)
class Call:
    """A call the model wants made."""

    name: str
    arguments: Mapping[str, Any]


def written(dialect: str, calls: Sequence[Call], number: int = 0) -> str:
    """Calls in the words of a model of this dialect; `number` is that of the first one in the session."""
    if dialect != "kimi-k2":
        return "\n".join(_tagged(dialect, call) for call in calls)
    spelled = [
        f"<|tool_call_begin|>functions.{call.name}:{number + at}<|tool_call_argument_begin|>"
        f"{json.dumps(call.arguments, ensure_ascii=False)}<|tool_call_end|>"
        for at, call in enumerate(calls)
    ]
    return f"<|tool_calls_section_begin|>{''.join(spelled)}<|tool_calls_section_end|>"


def _tagged(dialect: str, call: Call) -> str:
    texts = {
        key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for key, value in call.arguments.items()
    }
    if dialect == "roo-xml":
        values = "".join(f"<{key}>\n{text}\n</{key}>\n" for key, text in texts.items())
        return f"<{call.name}>\n{values}</{call.name}>"
    values = "".join(f"<parameter={key}>\n{text}\n</parameter>\n" for key, text in texts.items())
    return f"<tool_call>\n<function={call.name}>\n{values}</function>\n</tool_call>"


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer: text, then perhaps calls; in deltas of `size` characters, cut as `chunking` says."""

    text: str
    calls: Sequence[Call] = ()
    size: int = 5
    chunking: str | None = None  # None: all in one read

    def said(self, dialect: str, number: int) -> str:
        calls = written(dialect, self.calls, number) if self.calls else ""
        return "\n\n".join(part for part in (self.text, calls) if part)

    def answer(self, said: str) -> Answer:
        usage = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
        data = stream_of(said, self.size, meta=META, usage=usage)
        return stream(Chunking.parse(self.chunking).cut(data) if self.chunking else data)


@dataclass(slots=True)
class Dialogue:
    """Answers a client's requests turn by turn. Which one a request asks for, its history says.

    So a client that asks for the same turn twice is given the same answer, and `asked` shows it.
    """

    dialect: str
    turns: Sequence[Turn]
    # The turns whose answer goes wrong, and how: a function of what the model meant to say.
    faults: Mapping[int, Callable[[str], Answer]] = field(default_factory=dict)
    spoken: int = 0  # messages of the assistant that the client invents before the first turn
    asked: list[int] = field(default_factory=list)
    bodies: list[JSON] = field(default_factory=list)
    sent: list[bytes] = field(default_factory=list)  # the body of each answer, titles included

    def __call__(self, seen: Seen) -> Answer:
        if seen.method != "POST":  # Claude Code looks whether anybody is there
            return failure(404)
        answer = self._answer(seen.json)
        self.sent.append(b"".join(step.data for step in answer.steps if isinstance(step, Send)))
        return answer

    def _answer(self, body: JSON) -> Answer:
        if text_of(body["messages"][0]).startswith(TITLE):
            return stream(stream_of("A title", meta=META))
        turn = sum(message["role"] == "assistant" for message in body["messages"]) - self.spoken
        self.asked.append(turn)
        self.bodies.append(body)
        number = sum(len(one.calls) for one in self.turns[:turn])
        answer: Callable[[str], Answer] = self.faults.get(turn, self.turns[turn].answer)
        return answer(self.turns[turn].said(self.dialect, number))

    def results(self, turn: int) -> list[str]:
        """What the request for this turn said about the calls of the turn before, in their order."""
        messages = self.bodies[self.asked.index(turn)]["messages"]
        last = max(at for at, message in enumerate(messages) if message["role"] == "assistant")
        return [text_of(message) for message in messages[last + 1 :]]


def text_of(message: Mapping[str, Any]) -> str:
    """A message's text, whether it is a string or an array of parts."""
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
