"""Tips: what to look at now, and which key to press next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Tip(NamedTuple):
    """`seen` is said after the action was done, `next` invites to do it."""

    seen: str
    next: str


# By what can be done, in the order in which it is suggested.
TIPS: Mapping[str, Tip] = {
    "start": Tip("The agent stopped without a word. The line above the panes says why.", ""),
    "proof": Tip(
        "Here it is: </read_file> came while <path> was still open.",
        "v jumps to the row that proves it.",
    ),
    "step": Tip("Lit rows belong together: bytes, rules, deltas.", "Step with the arrows, or j and k."),
    "pane": Tip("This pane has the cursor now; the others follow it.", "tab goes to the next pane."),
    "detail": Tip("Everything about this row, the rule's reason included.", "enter opens the row."),
    "why": Tip(
        "In words, and what would have made it a call: a digit tries that.", "w explains the selected row."
    ),
    "replay": Tip(
        "Back in live. In the replay, → and ← step through time, e edits the text.",
        "p steps through this exchange, forwards and backwards.",
    ),
    "exchange": Tip(
        "Another exchange, live if it still runs: rows come in as they arrive.",
        "Choose another exchange in the list: 0 goes there.",
    ),
    "pause": Tip("The view stands still; the traffic goes on.", "space pauses and follows."),
    "finding": Tip("A finding: what the parser noticed, and where.", "n and N go from finding to finding."),
    "session": Tip("A session's calls, each beside the result its tool gave.", "s shows the whole session."),
    "request": Tip("Left what the client sent, right what the model got.", "r shows the request."),
    "table": Tip("The dialect's table; the row that fired is lit.", "t shows the dialect as a table."),
    "filter": Tip("Only these exchanges are listed; f with nothing shows all.", "f filters: try has:call"),
    "search": Tip("n and N go on while a search is open.", "/ searches, in any pane."),
    "zoom": Tip("z again brings the other panes back.", "z gives one pane all the room."),
    "help": Tip("Help is about the place where you are.", "? shows all keys."),
}
_LAST = "That was all of it; q leaves. Your own model: workbench init."


class Tips:
    """Remembers what was done, so that it is not suggested again."""

    def __init__(self) -> None:
        self._done = {"start"}
        self.line = self._after("start")

    def did(self, action: str) -> str:
        """The line for somebody who just did this; an action that has no tip changes nothing."""
        if action in TIPS:
            self._done.add(action)
            self.line = self._after(action)
        return self.line

    def _after(self, action: str) -> str:
        following = next((tip.next for name, tip in TIPS.items() if name not in self._done), _LAST)
        return f"{TIPS[action].seen} {following}"
