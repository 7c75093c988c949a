"""Composing: from a text that somebody pastes to something that can be replayed."""

from __future__ import annotations

from dataclasses import dataclass, replace

from workbench.chunks import Chunking
from workbench.errors import UserError
from workbench.inputs import Kind, read_input
from workbench.recipe import Wishes, make_recipe
from workbench.sources.opening import Opening
from workbench.sources.places import opening_of


@dataclass(frozen=True, slots=True)
class Compose:
    """What is known before the text is: how the model writes calls, and which tools it was offered."""

    wishes: Wishes
    kind: Kind | None = None
    chunking: Chunking | None = None

    def __post_init__(self) -> None:
        make_recipe({}, self.wishes)  # a UserError names the dialects

    @property
    def dialect(self) -> str:
        return str(self.wishes.dialect)

    def make(self, text: str, title: str = "pasted text") -> Opening:
        """A capture or a tape may be pasted as well. A UserError says what is wrong with the text."""
        if not text.strip():
            raise UserError("there is no text yet: paste what the model wrote")
        # Half a character (a lone surrogate) is not to be had in UTF-8.
        given = read_input(text.encode("utf-8", "replace"), self.kind)
        wishes = self.wishes
        if given.tape is not None and "dialect" in given.tape.header:
            wishes = replace(wishes, dialect=None)  # a tape knows its own
        return opening_of(title, given, wishes, self.chunking)
