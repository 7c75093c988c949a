"""The words that options and arguments of the command line take.

They are separate from the commands' code, since `--help` lists them and needs nothing else.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

# As the lower layers define defaults and the kinds of a file; a test compares them.
DEFAULT_DIALECT = "auto"
Kind: TypeAlias = Literal["sse", "text", "tape", "json"]

Client: TypeAlias = Literal[
    "opencode", "codex", "claude-code", "qwen-code", "cline", "kilo", "pi", "aider", "continue", "roo",
    "openai", "ai-sdk", "langchain", "litellm", "curl",
]  # fmt: skip
Out: TypeAlias = Literal["sse", "message", "trace"]  # of `transform`
Show: TypeAlias = Literal["body", "system", "diff"]  # of `prompt`
State: TypeAlias = Literal["running", "done", "eof", "error", "cancelled", "cut", "damaged"]  # of a tape
