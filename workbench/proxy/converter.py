"""The transformer of one answer, which a bug of ours cannot make fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from transformer import StreamTransformer
from transformer.answer.chunks import dumps
from transformer.answer.rescue import rescue
from transformer.answer.review import observed
from transformer.sse import DONE
from workbench.recipe import Recipe


class Converter:
    """`feed`, `finish` and `fail` as the transformer has them, and none of them ever raises.

    Should the transformer fail, the rest of the answer goes on as plain text; should even that fail, the
    client is told so and the stream ends.
    """

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self.transformer: StreamTransformer = recipe.stream("findings")
        self.raw = self.transformer.setting.raw
        self._reads: list[bytes] = []
        self._rescued = False
        self._gave_up: dict[str, Any] | None = None  # the error that the client got instead of the rest

    def feed(self, data: bytes) -> bytes:
        if self._gave_up is not None:
            return b""
        if not self.raw:
            # Kept for a rescue; it is no more than what the transformer itself keeps of the answer.
            self._reads.append(data)
        try:
            return self.transformer.feed(data)
        except Exception as error:
            return data if self.raw else self._rescue(error)

    def finish(self) -> bytes:
        return self._close(lambda transformer: transformer.finish())

    def fail(self, error: object) -> bytes:
        return self._close(lambda transformer: transformer.fail(error))

    def _close(self, way: Callable[[StreamTransformer], bytes]) -> bytes:
        if self._gave_up is not None:
            return b""
        try:
            return way(self.transformer)
        except Exception as error:
            return b"" if self.raw else self._rescue(error, way)

    def _rescue(self, error: Exception, way: Callable[[StreamTransformer], bytes] | None = None) -> bytes:
        try:
            if self._rescued:
                raise error
            self._rescued = True
            self.transformer, out = rescue(self.transformer, self._reads, error)
            return out + way(self.transformer) if way is not None else out
        except Exception as again:
            message = f"the workbench itself failed ({type(again).__name__}: {again}); please report it"
            self._gave_up = {"message": message, "type": "workbench_error", "param": None, "code": None}
            return b"data: " + dumps({"error": self._gave_up}) + b"\n\n" + DONE

    # -- what the relay asks

    @property
    def events(self) -> int:
        return self.transformer.events

    @property
    def ended(self) -> bool:
        return self._gave_up is not None or self.transformer.ended

    @property
    def half_sent(self) -> bool:
        return self.transformer.half_sent

    @property
    def error(self) -> dict[str, Any] | None:
        return self._gave_up or self.transformer.error

    @property
    def said_nothing(self) -> bool:
        """Not one choice has come, so an error can still be an HTTP status."""
        whole = self.transformer.completion
        return not whole or not whole["choices"]

    @property
    def stays_empty(self) -> bool:
        """Not one event has come, nor would one at a clean end. A copy is asked: this one may still fail."""
        if self.events:
            return False
        twin = self.transformer.snapshot()
        twin.finish()
        return not twin.events

    @property
    def begun(self) -> bool:
        """What came so far says how this will go on; an event that nobody understands does not."""
        if self.raw:
            return self.events > 0
        return self.ended or (self.events > 0 and not self.said_nothing)

    def summary(self) -> dict[str, Any]:
        """For the tape's last line."""
        t = self.transformer
        recipe = self._recipe
        seen = observed(t.completion, recipe.request, recipe.dialect, recipe.policy)
        findings = Counter([*(found.code for found in t.findings), *(found.code for found in seen)])
        if self._gave_up is not None:
            findings["transformer-failed"] += 1
        return {"calls": t.calls, "findings": dict(findings), "usage": t.usage}
