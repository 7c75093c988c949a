"""The exchanges of a library as the list shows them: judged, by session, side requests folded."""

from __future__ import annotations

from collections.abc import Iterable

from workbench.library import Row
from workbench.ui.widgets.exchanges import Entry, Judged, Session
from workbench.verdicts import facts_of_row, verdict


def judged(row: Row) -> Judged:
    """What the index alone can say of an exchange."""
    said = verdict(facts_of_row(row))
    return Judged(row, said.level, said.sentence, said.kind)


def grouped(rows: Iterable[Row], unfolded: frozenset[str] = frozenset()) -> list[Entry]:
    """Newest first; a session stands where its newest exchange does."""
    sessions: dict[str, list[Row]] = {}
    for row in rows:
        sessions.setdefault(row.session or "", []).append(row)
    entries: list[Entry] = []
    for name, group in sessions.items():
        main = [row for row in group if not is_side(row)] or group
        shown = group if name in unfolded else main
        title = name or "without a session"
        entries.append(Session(title, len(shown), len(group) - len(shown)))
        entries += [judged(row) for row in shown]
    return entries


def is_side(row: Row) -> bool:
    """A request beside the conversation: a title, an embedding."""
    return row.kind == "relay" or "nothing-offered" in row.findings
