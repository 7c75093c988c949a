"""The official SDKs, imported when a test first uses one.

They have thousands of models: importing both takes as long as collecting all tests, in every worker, and few
workers have a test that needs them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any


class _Later:
    """A module that is not imported yet."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # pytest looks for marks of its own at all that a test module has
            raise AttributeError(name)
        return getattr(importlib.import_module(self._name), name)


__all__ = ["anthropic", "openai"]
if TYPE_CHECKING:
    import anthropic
    import openai
else:
    anthropic, openai = _Later("anthropic"), _Later("openai")
