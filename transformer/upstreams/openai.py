"""OpenAI's chat completions, as most servers speak it."""

from __future__ import annotations

from typing import ClassVar

from transformer.upstreams.kind import UpstreamKind


class OpenAI(UpstreamKind):
    """Requests and events are a chat's own; the quirks of individual servers are handled where all events are
    read."""

    name: ClassVar[str] = "openai"
