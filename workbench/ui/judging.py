"""The exchanges of a library as the list shows them: judged, by session, side requests folded."""

from __future__ import annotations

from collections.abc import Iterable

from workbench.library import Row
from workbench.ui.widgets.exchanges import Entry, Judged, Session

_LEVELS = {"error": "error", "warning": "warning"}


def judged(row: Row) -> Judged:
    """What the index alone can say of an exchange."""
    if row.state == "running":
        return Judged(row, "running", "running")
    if row.error or row.state in ("error", "damaged"):
        return Judged(row, "error", row.error or row.problem or "upstream error")
    if row.level in _LEVELS:
        worst = next(iter(row.findings), "")
        return Judged(row, _LEVELS[row.level], worst.replace("-", " "))
    if row.state == "cancelled":
        return Judged(row, "warning", "the client went away")
    if row.calls:
        return Judged(row, "good", f"{row.calls} call{'s' if row.calls > 1 else ''} converted")
    return Judged(row, "info", "nothing special")


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
    return row.kind == "relay"
