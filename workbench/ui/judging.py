"""The exchanges of a library as the list shows them: judged, by session, side requests folded."""

from __future__ import annotations

from collections.abc import Iterable

from workbench.library.rows import Row
from workbench.ui.widgets.exchanges import Entry, Judged, Session
from workbench.verdicts.facts import facts_of_row
from workbench.verdicts.judging import verdict


def judged(row: Row) -> Judged:
    """What the index alone can say of an exchange."""
    return Judged(row, verdict(facts_of_row(row)))


def grouped(judged_rows: Iterable[Judged], folds: bool = True) -> list[Entry]:
    """Newest first; a session stands where its newest exchange does. Folded ones are counted only."""
    sessions: dict[str, list[Judged]] = {}
    for entry in judged_rows:
        sessions.setdefault(entry.row.session or "", []).append(entry)
    entries: list[Entry] = []
    for name, group in sessions.items():
        shown = [entry for entry in group if not (folds and is_side(entry.row))] or group
        entries.append(Session(name or "without a session", len(shown), len(group) - len(shown)))
        entries += shown
    return entries


def is_side(row: Row) -> bool:
    """A request beside the conversation: a title, an embedding."""
    return row.kind == "relay" or "nothing-offered" in row.findings
