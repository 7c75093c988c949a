"""OpenAI's chat completions, as most servers speak it."""

from __future__ import annotations

from typing import ClassVar

from transformer.upstreams.kind import UpstreamKind


class OpenAI(UpstreamKind):
    """Requests and events are a chat's own; the habits of single servers are read where all events are."""

    name: ClassVar[str] = "openai"
