"""The words that options and arguments of the command line take.

They stand apart from what the commands do with them, since `--help` lists them and needs nothing else.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

# What the lower layers mean by "nothing said" and by the kinds of a file; a test compares them.
DEFAULT_DIALECT = "auto"
Kind: TypeAlias = Literal["sse", "text", "tape", "json"]

Client: TypeAlias = Literal[
    "opencode", "codex", "claude-code", "qwen-code", "cline", "kilo", "pi", "aider", "continue", "roo",
    "openai", "ai-sdk", "langchain", "litellm", "curl",
]  # fmt: skip
Out: TypeAlias = Literal["sse", "message", "trace"]  # of `transform`
Show: TypeAlias = Literal["body", "system", "diff"]  # of `prompt`
State: TypeAlias = Literal["running", "done", "eof", "error", "cancelled", "cut", "damaged"]  # of a tape
