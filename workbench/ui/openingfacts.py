"""What is known about something that can be replayed, as facts."""

from __future__ import annotations

from workbench.sources.opening import Opening
from workbench.ui.appraising import SMALL
from workbench.ui.widgets.factsheet import FactSheet
from workbench.ui.widgets.openinglist import PROBLEMS
from workbench.verdicts.kinds import SIGNS

_LINES = 12  # of the model's text


def sheet_of(opening: Opening) -> FactSheet:
    """The worst first: what is wrong, what is in it, how it was read, how the model's text begins."""
    sheet = FactSheet()
    known, glimpse = opening.appraisal, opening.glimpse
    if opening.problem is not None:
        return sheet.heading(f"{SIGNS['error']} it cannot be opened", "error").paragraph(opening.problem)
    if known is not None:
        look = known.level if known.level in (*PROBLEMS, "good") else "info"
        sheet.heading(f"{SIGNS[known.level]} {known.sentence}", look)
    elif opening.size > SMALL:
        sheet.heading(f"{opening.size / (1 << 20):,.0f} MiB: it is looked into when you open it", "dim")
    sheet.fact("about", glimpse.about or None)
    if known is not None and known.long.casefold() != known.sentence.casefold():
        sheet.fact("in full", known.long)
    switched = "".join(f", {key} = {_words(value)}" for key, value in glimpse.policy.items())
    numbers = f" · {_number(known.reads, 'read')} · {_number(known.calls, 'call')}" if known else ""
    sheet.fact("dialect", f"{glimpse.dialect or '?'}{switched}{numbers}")
    sheet.fact("findings", ", ".join(known.codes) if known is not None and known.codes else None)
    if known is not None and known.excerpt:
        sheet.heading("The model's text begins")
        sheet.paragraph("\n".join(known.excerpt.split("\n")[:_LINES]), "plain")
    return sheet


def _number(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _words(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
