"""Facts under headings: a label, and what there is to say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from workbench.ui.widgets.document import Pieces, Sheet, cuts

_LABEL = 12
# What is longer is shown elsewhere, as JSON or as bytes.
_LONGEST = 4000


@dataclass(frozen=True, slots=True)
class Fact:
    """Without a label it is a paragraph; without a text it is a heading."""

    label: str
    text: str
    look: str


class FactSheet(Sheet):
    """Filled before it is shown."""

    def __init__(self) -> None:
        super().__init__()
        self.facts: list[Fact] = []

    def heading(self, text: str, look: str = "heading") -> FactSheet:
        self.facts.append(Fact(text, "", look))
        return self

    def fact(self, label: str, value: object, look: str = "plain") -> FactSheet:
        """Nothing is said of what is None."""
        if value is not None:
            self.facts.append(Fact(label, str(value) or "(empty)", look))
        return self

    def paragraph(self, text: str, look: str = "plain") -> FactSheet:
        self.facts += [Fact("", line, look) for line in text.split("\n")]
        return self

    def _rows(self, width: int) -> Iterator[None]:
        for fact in self.facts:
            if not fact.text:
                self._made += [[]] if self._made else []
                self._made.append([(fact.label, fact.look)])
            elif fact.label:
                self._made += self._labelled(fact, width)
            else:
                self._made += [[(line, fact.look)] for line in _lines(fact.text, width)]
            yield

    def _labelled(self, fact: Fact, width: int) -> Iterator[Pieces]:
        column = min(_LABEL, width // 3)
        # A long label has the line for itself.
        if len(fact.label) >= column:
            yield [(fact.label, "dim")]
        for number, line in enumerate(_lines(fact.text, width - column)):
            label = fact.label if number == 0 and len(fact.label) < column else ""
            yield [(f"{label:{column}}", "dim"), (line, fact.look)]


def _lines(text: str, width: int) -> Iterator[str]:
    shown = text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
    for start, end in cuts(shown, 0, len(shown), max(4, width)):
        yield shown[start:end]
