"""A prompt that is too long, as servers say it."""

from __future__ import annotations

import json

from tests.support.streams import JSON
from tests.support.tiers import each_row
from transformer.frontends import FRONTENDS
from transformer.frontends.errorobjects import Overflow, context_overflow

LIMIT = "This model's maximum context length is"
SAID: dict[str, tuple[JSON, Overflow | None]] = {
    "vLLM": (
        {
            "message": f"{LIMIT} 4096 tokens. However, you requested 5000 tokens (3900 in the messages, 1100 "
            "in the completion). Please reduce the length of the messages or completion."
        },
        Overflow(3900, 1100, 4096),
    ),
    "a newer vLLM": (
        {
            "message": f"{LIMIT} 4096 tokens. However, your request has 5000 input tokens. Please reduce the "
            "length of the input messages."
        },
        Overflow(5000, 0, 4096),
    ),
    "vLLM, max_tokens": (
        {
            "message": f"'max_tokens' or 'max_completion_tokens' is too large: 32000. {LIMIT} 32768 tokens "
            "and your request has 9000 input tokens (32000 > 32768 - 9000)."
        },
        Overflow(9000, 32000, 32768),
    ),
    "OpenAI": (
        {
            "message": f"{LIMIT} 8,192 tokens. However, your messages resulted in 9,000 tokens.",
            "code": "context_length_exceeded",
        },
        Overflow(9000, 0, 8192),
    ),
    "llama.cpp": (
        {
            "message": "request (5000 tokens) exceeds the available context size (4096 tokens), increase it",
            "type": "exceed_context_size_error",
            "n_prompt_tokens": 5000,
            "n_ctx": 4096,
        },
        Overflow(5000, 0, 4096),
    ),
    "SGLang": (
        {"message": "The input (5000 tokens) is longer than the model's context length (4096 tokens)."},
        Overflow(5000, 0, 4096),
    ),
    "Anthropic": ({"message": "prompt is too long: 5000 tokens > 4096 maximum"}, Overflow(5000, 0, 4096)),
    "no numbers": ({"message": "the prompt is too long"}, Overflow(0, 0, 0)),
    "something else": ({"message": "the model is not loaded"}, None),
    "about contexts": ({"message": "the context size must be a number"}, None),
    "nothing": ({}, None),
}


@each_row("server", SAID)
def test_overflow(server: str) -> None:
    error, wanted = SAID[server]
    assert context_overflow(error) == wanted


def test_claude_code_is_told_which_of_the_two_to_lower() -> None:
    def told(server: str) -> str:
        return str(
            json.loads(FRONTENDS["messages"].error(400, SAID[server][0], True).body)["error"]["message"]
        )

    assert told("vLLM").startswith("input length and `max_tokens` exceed context limit: 3900 + 1100 > 4096, ")
    assert told("vLLM, max_tokens").startswith(
        "input length and `max_tokens` exceed context limit: 9000 + 32000 > 32768, "
    )
    assert told("a newer vLLM").startswith("prompt is too long: 5000 tokens > 4096 maximum")
    assert told("no numbers").startswith("prompt is too long: 2 tokens > 1 maximum")
