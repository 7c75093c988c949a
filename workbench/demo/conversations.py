"""The conversations of the demo: every dialect, with what goes well and what goes wrong; answers as bytes,
with the time between them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any

import orjson

from transformer.sse import DONE, encode
from workbench.files import samples_dir
from workbench.tape.format import read_tape

_TOKEN = re.compile(r"<\|\w+\|>|\s*[^\W_]{1,6}|\s*[^\w\s]{1,2}|\s+|.", re.DOTALL)
_PACE = 0.045  # seconds between two tokens, more or less


@dataclass(frozen=True, slots=True)
class Piece:
    """One write, so many seconds after the one before."""

    wait: float
    data: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    pieces: tuple[Piece, ...]
    status: int = 200
    kind: str = "text/event-stream"
    broken: bool = False  # the connection is lost at the end


@dataclass(frozen=True, slots=True)
class Thought:
    """Text in the reasoning channel; plain strings are content."""

    text: str


@dataclass(frozen=True, slots=True)
class Silence:
    """Nothing comes for so long."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Call:
    """A call as a server sends it that has parsed it itself."""

    id: str
    name: str
    arguments: str


Said = str | Thought | Silence | Call


def played(sample: str, pace: float = 1.5) -> Answer:
    """What upstream said on one of the sample tapes, in its very reads, a little slower."""
    tape = read_tape(samples_dir() / f"{sample}.jsonl")
    pieces, last = [], 0.0
    for line in tape.of("read"):
        # A tape may have a long silence; here five seconds are enough for a heartbeat.
        pieces.append(Piece(min((line.t - last) * pace, 5.0), line.data))
        last = line.t
    broken = tape.end is not None and tape.end.value["end"] == "error"
    return Answer(tuple(pieces), broken=broken)


def said(*parts: Said, finish: str = "stop", model: str = "", pace: float = _PACE) -> Answer:
    """A stream of tokens, one event a write."""
    rest = Piece(pace, _chunk(model, {}, finish)), Piece(pace, _usage(model, parts)), Piece(0.0, DONE)
    first = Piece(0.5, _chunk(model, {"role": "assistant", "content": ""}))
    return Answer((first, *_tokens(parts, model, pace), *rest))


def _tokens(parts: Iterable[Said], model: str, pace: float) -> Iterator[Piece]:
    # The same every time: what a person saw once can be found again.
    chance = random.Random(1)
    wait, calls = 0.0, 0
    for part in parts:
        if isinstance(part, Silence):
            wait += part.seconds
            continue
        deltas = _native(part, calls) if isinstance(part, Call) else _texts(part)
        calls += isinstance(part, Call)
        for delta in deltas:
            yield Piece(wait + pace * chance.uniform(0.3, 1.7), _chunk(model, delta))
            wait = 0.0


def _texts(part: str | Thought) -> Iterator[dict[str, Any]]:
    key, text = ("reasoning_content", part.text) if isinstance(part, Thought) else ("content", part)
    for token in _TOKEN.findall(text):
        yield {key: token}


def _native(call: Call, index: int) -> Iterator[dict[str, Any]]:
    function = {"name": call.name, "arguments": ""}
    yield {"tool_calls": [{"index": index, "id": call.id, "type": "function", "function": function}]}
    for token in _TOKEN.findall(call.arguments):
        yield {"tool_calls": [{"index": index, "function": {"arguments": token}}]}


def _chunk(model: str, delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return encode(_envelope(model, "chat.completion.chunk") | {"choices": [choice]})


def _usage(model: str, parts: Iterable[Said]) -> bytes:
    made = sum(1 for _ in _tokens(parts, model, 0))
    usage = {"prompt_tokens": 1840, "completion_tokens": made, "total_tokens": 1840 + made}
    return encode(_envelope(model, "chat.completion.chunk") | {"choices": [], "usage": usage})


def _envelope(model: str, kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-demo", "object": kind, "created": 1785750830, "model": model}


def cut(answer: Answer, *sizes: int) -> Answer:
    """The same bytes in writes of other sizes, wherever that cuts: in an event, an escape, a character."""
    data, total = b"".join(piece.data for piece in answer.pieces), 0.0
    places, at = [0], 0
    while at < len(data):
        at = min(len(data), at + sizes[(len(places) - 1) % len(sizes)])
        places.append(at)
    total = sum(piece.wait for piece in answer.pieces)
    wait = total / (len(places) - 1)
    return replace(answer, pieces=tuple(Piece(wait, data[start:end]) for start, end in pairwise(places)))


def whole(text: str, model: str = "", wait: float = 1.5) -> Answer:
    """An answer to a client that did not ask for a stream."""
    message = {"role": "assistant", "content": text}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    usage = {"prompt_tokens": 1840, "completion_tokens": 30, "total_tokens": 1870}
    body = _envelope(model, "chat.completion") | {"choices": choices, "usage": usage}
    return Answer((Piece(wait, orjson.dumps(body)),), kind="application/json")


def failure(status: int, message: str, kind: str) -> Answer:
    body = {"error": {"message": message, "type": kind, "param": None, "code": None}}
    return Answer((Piece(0.4, orjson.dumps(body)),), status, "application/json")


# Which dialect the models speak: the proxy of the demo is configured with it.
MODELS: Mapping[str, str] = {
    "qwen3-max": "roo-xml",
    "qwen3-coder-30b": "qwen3-coder",
    "kimi-k2.5": "kimi-k2",
    "glm-4.6": "passthrough",
}
TITLE_PROMPT = "You write titles. Reply with the title of this conversation, in at most six words."


@dataclass(frozen=True, slots=True)
class Conversation:
    """`asked` is what the scene is known by, on both sides; no two have the same."""

    model: str
    asked: str
    turns: Sequence[Answer]
    results: Mapping[str, str] = field(default_factory=dict)  # of tools, where they are not the usual
    title: Answer | None = None  # of the side request that runs at the same time
    stream: bool = True
    leaves: float | None = None  # the client goes away after so many seconds


def find_conversation(
    scenes: Sequence[Conversation], messages: Sequence[Mapping[str, Any]]
) -> Conversation | None:
    """The scene that a request belongs to; a side request quotes what was asked."""
    texts = [str(one.get("content")) for one in messages]
    return next((scene for scene in scenes if any(scene.asked in text for text in texts)), None)


def answer_to(scenes: Sequence[Conversation], body: Mapping[str, Any]) -> Answer | None:
    """What the model says next; None when it has no part in this."""
    given = body.get("messages")
    messages = [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
    scene = find_conversation(scenes, messages)
    if scene is None:
        return None
    if any(TITLE_PROMPT in str(one.get("content")) for one in messages):
        return scene.title
    turn: int = sum(one.get("role") == "assistant" for one in messages)
    return scene.turns[min(turn, len(scene.turns) - 1)]


ROO, CODER, KIMI, NATIVE = "qwen3-max", "qwen3-coder-30b", "kimi-k2.5", "glm-4.6"
roo, coder, kimi, native = (partial(said, model=model) for model in (ROO, CODER, KIMI, NATIVE))

_LONG = "\n".join(
    ["import pytest", "", "from src.main import count", ""]
    + [
        f"\n\ndef test_count_of_{number}_lines(tmp_path):\n"
        f'    file = tmp_path / "a.txt"\n    file.write_text("x\\n" * {number})\n'
        f"    assert count(str(file)) == {number}"
        for number in (0, 1, 2, 10, 100)
    ]
)

# Three rows of scenes; the rows are played at the same time, so that sessions overlap.
ROWS: tuple[tuple[Conversation, ...], ...] = (
    (
        Conversation(
            ROO,
            "Why does `tally` crash on an empty file?",
            (
                played("roo-xml/good-read"),
                roo(
                    "The code looks fine. Let me run it on an empty file.\n\n<execute_command>\n"
                    "<command>touch e && python src/main.py e</command>\n<timeout>10</timeout>\n"
                    "</execute_command>"
                ),
                roo("It does not crash: an empty file has 0 lines, and `0 e` is printed."),
            ),
            results={"execute_command": "0 e"},
            title=roo("Empty file in tally"),
        ),
        Conversation(
            ROO,
            "Show me what src/main.py does.",
            (played("roo-xml/unclosed-parameter"),),
            title=roo("What main.py does"),
        ),
        Conversation(
            ROO,
            "Write tests for count(), for files of several sizes.",
            (
                roo(
                    Thought("The user wants tests. I need several sizes: none, one, many. "),
                    Silence(6),
                    Thought("One file with five tests is enough. pytest's tmp_path gives me a folder. "),
                    "I write them in one go.\n\n<write_to_file>\n<path>tests/test_count.py</path>\n"
                    f"<content>\n{_LONG}\n</content>\n</write_to_file>",
                    pace=0.03,
                ),
                roo(
                    "<execute_command>\n<command>pytest -q tests/test_count.py</command>\n</execute_command>"
                ),
                roo("Five tests, all of them pass."),
            ),
            results={"execute_command": "5 passed in 0.06s"},
            title=roo("Tests for count"),
        ),
        Conversation(ROO, "Rewrite the README with a table of options.", (played("roo-xml/cut-by-length"),)),
        Conversation(
            ROO, "Read all the modules at once.", (played("roo-xml/several-calls"), roo("That was one."))
        ),
        Conversation(ROO, "Is there a licence file?", (played("roo-xml/broke-inside-call"),)),
        Conversation(
            ROO,
            "What is in src, without a stream, please?",
            (
                whole("I look.\n\n<list_files>\n<path>src</path>\n</list_files>", ROO),
                whole("One file: `main.py`.", ROO),
            ),
            stream=False,
        ),
        Conversation(ROO, "Think about the name of the project.", (played("roo-xml/call-in-reasoning"),)),
    ),
    (
        Conversation(
            CODER,
            "What is this project, in one sentence?",
            (
                played("qwen3-coder/good-thinks-first"),
                played("qwen3-coder/good-two-calls"),
                coder("A command that counts the lines of files, with three tests."),
            ),
            title=coder("What the project is"),
        ),
        Conversation(
            CODER,
            "Open src/main.py, please.",
            (played("qwen3-coder/missing-opener"), coder("It counts the lines of files.")),
        ),
        Conversation(CODER, "Run the linter.", (played("qwen3-coder/broken-parameter-tag"),)),
        Conversation(CODER, "List the branches.", (played("qwen3-coder/other-dialect"),)),
        Conversation(
            CODER,
            "Say hello in Chinese, from the shell.",
            (
                played("qwen3-coder/good-unicode-escapes"),
                cut(coder("It said 你好 🦀, as it should."), 7, 31, 11),
            ),
            results={"bash": "你好 🦀"},
        ),
        Conversation(
            CODER, "Explain the whole project to me, slowly.", (coder(_LONG, pace=0.08),), leaves=4.0
        ),
        Conversation(CODER, "Write the changelog.", (played("qwen3-coder/cut-by-length"),)),
    ),
    (
        Conversation(
            KIMI,
            "Do the tests pass?",
            (
                played("kimi-k2/good-two-calls"),
                kimi(
                    Thought("One of the two tools failed, so I try another way. "),
                    "<|tool_calls_section_begin|><|tool_call_begin|>functions.bash:9"
                    '<|tool_call_argument_begin|>{"command": "python -m pytest -q"}<|tool_call_end|>'
                    "<|tool_calls_section_end|>",
                ),
                kimi("They pass, all three of them."),
            ),
            results={"read_file": "Error: ENOENT: no such file or directory, open 'README'"},
            title=kimi("Test run"),
        ),
        Conversation(
            NATIVE,
            "Read main.py with the server's own parser.",
            (
                native(
                    "I read it.",
                    Call("call_demo_1", "read_file", '{"path": "src/main.py"}'),
                    finish="tool_calls",
                ),
                native("It counts lines."),
            ),
        ),
        Conversation(
            KIMI, "Where am I?", (played("kimi-k2/call-in-reasoning"), kimi("In the project's folder."))
        ),
        Conversation(
            KIMI,
            "Print a long listing.",
            (played("kimi-k2/truncated-arguments"), kimi("It is too long for me.")),
        ),
        Conversation(
            NATIVE, "Ask the model that has no parser.", (played("passthrough/tools-but-passthrough"),)
        ),
        Conversation(
            NATIVE,
            "Ask once more, quickly.",
            (failure(429, "Too many requests; try again in 20 seconds.", "rate_limit_exceeded"),),
        ),
        Conversation(
            KIMI,
            "Count the files by hand.",
            (cut(played("kimi-k2/tokens-in-pieces"), 23, 61, 9, 140), kimi("There are four.")),
            results={"bash": "bash: line 1: fd: command not found"},
        ),
    ),
)
CONVERSATIONS = tuple(scene for row in ROWS for scene in row)
