"""A script: the causes of an exchange, without anything that became of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.player.panes import Pane
from workbench.player.player import Player
from workbench.player.tailing import was_sent
from workbench.tape import Line, read_line
from workbench.variants.changes import Change, Retext
from workbench.variants.recutting import recut
from workbench.variants.retexting import edits_of
from workbench.variants.switching import switched

# An end line also sums up what was found and called then, which says nothing about a variant.
_CAUSES = ("t", "end", "error", "message", "lost")


@dataclass(frozen=True, slots=True)
class Script:
    """A tape that was never sent: its header, then what upstream and the proxy did, each at its time."""

    header: Mapping[str, Any]
    lines: tuple[Line, ...]


def script_of(player: Player) -> Script:
    """The causes of what a player shows, as far as it has come.

    Upstream's reads and statuses, what the proxy did by itself (heartbeats, findings), gaps and damaged
    lines stay, in their order. What the transformer sent does not.
    """
    return Script(player.header, tuple(_lines(player)))


def _lines(player: Player) -> Iterator[Line]:
    rows = [iter(pane.refs) for pane in player.panes]
    for pane in player.panes_of_steps:
        ref = next(rows[pane])
        if ref >= 0:
            if pane == Pane.UPSTREAM:
                yield read_line(player.times[ref], player.read(ref))
        elif not was_sent(line := player.lines[~ref]):
            yield _cause(line) if line.kind == "end" else line


def _cause(end: Line) -> Line:
    return Line({key: end.value[key] for key in _CAUSES if key in end.value})


def apply(script: Script, player: Player, changes: Sequence[Change]) -> Script:
    """The script with these changes, all of which count in it as it is now; their order does not matter.

    `player` has played the script and so knows where each character stands. UserError: one cannot be made.
    """
    edits = edits_of(player, [change for change in changes if isinstance(change, Retext)])
    return Script(switched(script.header, changes), tuple(recut(script.lines, edits, changes)))
