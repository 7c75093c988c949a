"""The calls of a session, each beside what came back for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from workbench.chain import Link, Trouble
from workbench.ui.widgets.document import Pieces, Sheet

_LONGEST = 4000  # characters of one text that are shown when a row is opened
_WIDE = 100
_SAID = {
    Trouble.ERROR: "the result looks like an error",
    Trouble.MISSING: "no result came back",
    Trouble.TWICE: "more than one result came back",
    Trouble.ARGUMENTS: "the arguments are no JSON object",
}


class ChainList(Sheet):
    """`names` says what an exchange is called. A row of the screen is a call or the name of an exchange."""

    def __init__(self, links: Sequence[Link], names: Mapping[str, str], chosen: str) -> None:
        super().__init__()
        self.links = list(links)
        self.names = names
        self.chosen = chosen
        self.rows: list[Link | None] = []
        self.exchanges: list[str] = []

    @property
    def goal(self) -> int:
        """The first call of the exchange one came from."""
        here = (at for at, link in enumerate(self.rows) if link is not None and link.exchange == self.chosen)
        return next(here, 1 if len(self.rows) > 1 else 0)

    def _clear(self) -> None:
        super()._clear()
        self.rows, self.exchanges = [], []

    def _rows(self, width: int) -> Iterator[None]:
        before = None
        for link in self.links:
            if link.exchange != before:
                before = link.exchange
                here = "  (where you came from)" if before == self.chosen else ""
                self._add([(self.names.get(before, before) + here, "heading")], None, before)
            self._add(_call(link), link, link.exchange)
            yield

    def _add(self, pieces: Pieces, link: Link | None, exchange: str) -> None:
        self._made.append(pieces)
        self.rows.append(link)
        self.exchanges.append(exchange)

    def columns(self, row: int, width: int) -> list[tuple[Pieces, int]]:
        link = self.rows[row]
        if link is None:
            return [(self._made[row], width)]
        half = width * 9 // 20 if width >= _WIDE else width // 2
        return [(self._made[row], half - 1), ([("│", "dim")], 1), (_result(link), width - half)]

    def text(self, row: int) -> str:
        link = self.rows[row]
        if link is None:
            return super().text(row)
        return super().text(row) + "  ->  " + "".join(text for text, _ in _result(link))

    def opened(self, row: int) -> Pieces:
        link = self.rows[row]
        if link is None:
            return []
        trouble = "; ".join(_SAID[trouble] for trouble in link.troubles)
        pieces: Pieces = [(f"✖ {trouble}. ", "error")] if trouble else []
        pieces += [("arguments ", "dim"), (link.call.arguments[:_LONGEST], "bright")]
        if link.result is not None:
            look = "error" if Trouble.ERROR in link.troubles else "plain"
            pieces += [("  result ", "dim"), (link.result.text[:_LONGEST], look)]
        return pieces


def _call(link: Link) -> Pieces:
    sign, look = _sign(link)
    return [
        (f" {sign} ", look),
        (f"{link.call.name} ", "strong"),
        (link.call.arguments, "plain"),
    ]


def _sign(link: Link) -> tuple[str, str]:
    if link.troubles:
        return "✖", "error"
    return ("✔", "good") if link.result is not None else ("◌", "info")


def _result(link: Link) -> Pieces:
    if link.result is None:
        missing = Trouble.MISSING in link.troubles
        return [(" no result came back", "error") if missing else (" no result yet", "dim")]
    if Trouble.ARGUMENTS in link.troubles or Trouble.TWICE in link.troubles:
        said = "; ".join(_SAID[trouble] for trouble in link.troubles)
        return [(f" {said}: ", "error"), (link.result.text, "plain")]
    return [(" " + link.result.text, "error" if Trouble.ERROR in link.troubles else "plain")]
