"""Earlier responses: a client of Responses may send only what is new, and name the response before it.

The latest are remembered, the others are read from their tapes: a response's id is that of its tape.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from transformer.frontends.responses import input_items
from workbench.errors import UserError
from workbench.library.tapefiles import tape_with_id
from workbench.tape.format import Tape, TapeError, read_tape
from workbench.tape.recipe import Wishes, make_recipe
from workbench.text import json_object

RESPONSES = "responses"
_PREFIX = "resp_"
_MOST = 64  # responses that are remembered
_LONGEST = 1000  # of a chain, in responses


class EarlierResponses:
    """What was asked and answered in the responses of this library."""

    def __init__(self, library: Path) -> None:
        self._library = library
        self._known: OrderedDict[str, tuple[Mapping[str, Any], Sequence[Any]]] = OrderedDict()

    def remember(self, request: Mapping[str, Any], response: Mapping[str, Any]) -> None:
        """A response that has just been given, to be known before its tape is written."""
        self._known[str(response.get("id"))] = (request, response.get("output") or ())
        if len(self._known) > _MOST:
            self._known.popitem(last=False)

    def reads(self, request: Any) -> bool:
        """Whether a tape must be read for this request, which takes time."""
        id = request.get("previous_response_id") if isinstance(request, Mapping) else None
        return isinstance(id, str) and id not in self._known

    def known(self, id: object) -> tuple[Mapping[str, Any], Sequence[Any]] | None:
        """A request and the items of its response, where it is remembered."""
        return self._known.get(str(id))

    def items(self, id: str) -> Sequence[Any] | None:
        """Everything up to this response, the oldest first; None where it is not known."""
        parts: list[Sequence[Any]] = []
        before: Any = id
        while isinstance(before, str) and len(parts) < _LONGEST:
            found = self._known.get(before) or self._on_tape(before)
            if found is None:
                return None
            request, output = found
            parts.append([*input_items(request.get("input")), *output])
            before = request.get("previous_response_id")
        return [item for part in reversed(parts) for item in part]

    def _on_tape(self, id: str) -> tuple[Mapping[str, Any], Sequence[Any]] | None:
        path = tape_with_id(self._library, id.removeprefix(_PREFIX)) if id.startswith(_PREFIX) else None
        if path is None:
            return None
        try:
            tape = read_tape(path)
            request = tape.header.get("request")
            if tape.header.get("frontend") != RESPONSES or not isinstance(request, dict):
                return None
            return request, _answer(tape).get("output") or ()
        except (OSError, TapeError, UserError):
            return None


def _answer(tape: Tape) -> Mapping[str, Any]:
    """What the client got, made again from what upstream sent."""
    recipe = make_recipe(tape.header, Wishes())
    whole = None if tape.header.get("stream") else json_object(b"".join(tape.reads))
    if whole is not None:
        return recipe.message("findings").convert(whole)
    stream = recipe.stream("findings")
    for read in tape.reads:
        stream.feed(read)
    stream.finish()
    return stream.message or {}
