"""The parsers of vLLM and SGLang for the same dialects, where these packages are installed.

They are given the text of the deltas alone. vLLM's also want tokens: a vocabulary of letters stands in for
the model's, in which the dialect's markers are tokens of their own, as they are for the model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from time import process_time
from typing import Any

PACKAGES = {
    "vLLM": ("vllm", "pip install vllm"),
    "SGLang": ("sglang", "pip install sglang"),
}
# Our dialect, and the name of the parser there.
VLLM = {
    "qwen3-coder": "qwen3_coder",
    "kimi-k2": "kimi_k2",
    "glm": "glm45",
    "minimax-m2": "minimax_m2",
    "seed-oss": "seed_oss",
    "hermes": "hermes",
    "longcat": "longcat",
    "mistral": "mistral",
    "llama3-json": "llama3_json",
    "deepseek-v3": "deepseek_v3",
    "deepseek-v31": "deepseek_v31",
    "deepseek-dsml": "deepseek_v4",
    "pythonic": "pythonic",
}
SGLANG = {
    "qwen3-coder": "qwen3_coder",
    "kimi-k2": "kimi_k2",
    "glm": "glm45",
    "minimax-m2": "minimax-m2",
    "hermes": "hermes",
    "mistral": "mistral",
    "llama3-json": "llama3",
    "deepseek-v3": "deepseekv3",
    "deepseek-v31": "deepseekv31",
    "deepseek-dsml": "deepseekv4",
    "harmony": "gpt-oss",
    "pythonic": "pythonic",
}
MOST_SECONDS = 10.0  # a parser that rereads the whole text for each delta would take hours for 1 MB
Feed = Callable[[str], object]


@dataclass(frozen=True)
class Peer:
    name: str
    start: Callable[[], Feed]

    def micros(self, deltas: list[str]) -> str:
        """Microseconds for a delta, or why there is no such number."""
        try:
            feed = self.start()
            begun = process_time()
            for number, delta in enumerate(deltas, 1):
                feed(delta)
                if number % 256 == 0 and process_time() - begun > MOST_SECONDS:
                    return f">{(process_time() - begun) / number * 1e6:.0f}"
            return f"{(process_time() - begun) / len(deltas) * 1e6:.2f}"
        except Exception as error:  # another package's, of any version
            return type(error).__name__


def missing() -> dict[str, str]:
    return {name: hint for name, (package, hint) in PACKAGES.items() if find_spec(package) is None}


def of(dialect: str, tool: dict[str, Any]) -> Iterator[Peer]:
    there = PACKAGES.keys() - missing().keys()
    if "vLLM" in there and dialect in VLLM:
        yield Peer("vLLM", lambda: _vllm(VLLM[dialect], tool))
    if "SGLang" in there and dialect in SGLANG:
        yield Peer("SGLang", lambda: _sglang(SGLANG[dialect], tool))


def _sglang(parser: str, tool: dict[str, Any]) -> Feed:
    from sglang.srt.entrypoints.openai.protocol import Tool
    from sglang.srt.function_call.function_call_parser import FunctionCallParser

    feed: Feed = FunctionCallParser([Tool(**tool)], parser).parse_stream_chunk
    return feed


def _vllm(parser: str, tool: dict[str, Any]) -> Feed:
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
    from vllm.tool_parsers import ToolParserManager

    request = ChatCompletionRequest(messages=[], model="benchmark", tools=[tool])
    made = ToolParserManager.get_tool_parser(parser)(Vocabulary(), request.tools)
    text, tokens = "", list[int]()

    def feed(delta: str) -> None:
        nonlocal text
        new = made.model_tokenizer.encode(delta)
        before, seen = text, tokens[:]
        text += delta
        tokens.extend(new)
        made.extract_tool_calls_streaming(before, text, delta, seen, tokens, new, request)

    return feed


class Vocabulary:
    """Letters are tokens, and so are all markers that a parser asks for."""

    _FIRST_MARKER = 0x110000  # after the last letter

    def __init__(self) -> None:
        self._markers = _Markers(self._FIRST_MARKER)

    def get_vocab(self) -> dict[str, int]:
        return self._markers

    def encode(self, text: str, **options: object) -> list[int]:
        known = "|".join(re.escape(marker) for marker in sorted(self._markers, key=len, reverse=True))
        parts = re.split(f"({known})", text) if known else [text]
        return [
            token
            for part in parts
            for token in ([self._markers[part]] if part in self._markers else map(ord, part))
        ]

    def decode(self, tokens: list[int], **options: object) -> str:
        names = {number: marker for marker, number in self._markers.items()}
        return "".join(names.get(token) or chr(token) for token in tokens)


class _Markers(dict[str, int]):
    def __init__(self, first: int) -> None:
        super().__init__()
        self._first = first

    def __missing__(self, marker: str) -> int:
        self[marker] = self._first + len(self)
        return self[marker]

    def get(self, marker: str, default: Any = None) -> Any:
        return self[marker]
