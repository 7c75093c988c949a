"""The conversation of a session, live: what the user said, what the model answered, its calls beside the
results that came back, the place where it went wrong; and what the agent does right now.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType

from transformer.answer.observations import Answered, choices_of
from workbench.analysis.toolresults import Link, Trouble, Turn, chain, turn_of, words_before
from workbench.analysis.verdicts import Verdict
from workbench.replay.lines import Tail
from workbench.replay.player import Player
from workbench.text import counted
from workbench.ui.display import Pieces, look_of, sign_of
from workbench.ui.opentape import OpenTape
from workbench.ui.screens.view import ViewScreen
from workbench.ui.widgets.document import Sheet, cuts
from workbench.ui.widgets.panes import alarm
from workbench.ui.widgets.rowpane import RowPane
from workbench.ui.widgets.textpane import TextPane

_LONGEST = 4000  # characters of one text that are shown when a row is opened
_LINES = 12  # of one text; the rest is shown when a row of it is opened
_WIDE = 100
_SAID = {
    Trouble.ERROR: "the result looks like an error",
    Trouble.MISSING: "no result came back",
    Trouble.TWICE: "more than one result came back",
    Trouble.ARGUMENTS: "the arguments are not a JSON object",
}


@dataclass(frozen=True, slots=True)
class Told:
    """One exchange of the conversation. `now`: what it is doing while it runs; empty when it has ended."""

    turn: Turn
    verdict: Verdict
    seconds: float
    now: str = ""

    @property
    def is_bad(self) -> bool:
        return self.verdict.level in ("error", "warning")


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of the screen; `full` is all of a text that was cut."""

    pieces: Pieces
    exchange: str
    link: Link | None = None
    bad: bool = False
    full: str = ""


class Conversation(Sheet):
    """`chosen` is the exchange from which it was opened."""

    def __init__(self, told: Sequence[Told], chosen: str) -> None:
        super().__init__()
        self.told = list(told)
        self.links = chain(one.turn for one in told)
        self.chosen = chosen
        self.rows: list[_Row] = []

    @property
    def goal(self) -> int | None:
        """The first call of the chosen exchange, else its beginning; if it is the last one, its end."""
        if self.told and self.told[-1].turn.exchange == self.chosen:
            return len(self.rows) - 1 if self.complete else None
        if not self.complete:
            return None
        here = [at for at, row in enumerate(self.rows) if row.exchange == self.chosen]
        return next((at for at in here if self.rows[at].link is not None), here[0] if here else 0)

    def _clear(self) -> None:
        super()._clear()
        self.rows = []

    def _rows(self, width: int) -> Iterator[None]:
        made: dict[str, list[Link]] = {}
        for link in self.links:
            made.setdefault(link.exchange, []).append(link)
        for number, one in enumerate(self.told, 1):
            exchange = one.turn.exchange
            self._heading(number, one)
            for words in words_before(one.turn):
                self._words("user ", "key", words, exchange, width)
            for choice in choices_of(one.turn.answer):
                for thought in choice.reasoning.values():
                    self._words("thinks ", "dim", thought, exchange, width, "dim")
                self._words("model ", "good", choice.content, exchange, width)
            for link in made.get(exchange, ()):
                self._add(_Row(_call(link), exchange, link, bool(link.troubles)))
            if one.now:
                self._add(_Row([(f"  ◌ {one.now}", "warning")], exchange))
            elif one.is_bad:
                self._wrong(one.verdict, exchange, width)
            yield

    def _heading(self, number: int, one: Told) -> None:
        seconds = f"so far {one.seconds:.1f} s" if one.now else f"{one.seconds:.1f} s"
        here = "  (where you came from)" if one.turn.exchange == self.chosen else ""
        sign = (sign_of(one.verdict.level), look_of(one.verdict.level))
        self._add(
            _Row(
                [
                    sign,
                    (f" exchange {number} at {_moment(one.turn.started)}", "heading"),
                    (f"  {seconds}{here}", "dim"),
                ],
                one.turn.exchange,
            )
        )

    def _words(self, who: str, look: str, text: str, exchange: str, width: int, plain: str = "plain") -> None:
        text = text.strip()
        room = max(8, width - 2 - len(_WHO))
        lines = 0
        for part in text[: _LINES * 4 * room].splitlines():
            if not part.strip():
                continue
            for start, end in cuts(part, 0, len(part), room):
                if lines == _LINES:
                    self._add(_Row([(f"  {_WHO}…", "dim")], exchange, full=text))
                    return
                head = f"  {who:{len(_WHO)}}" if not lines else f"  {_WHO}"
                self._add(_Row([(head, look), (part[start:end], plain)], exchange, full=text))
                lines += 1

    def _wrong(self, verdict: Verdict, exchange: str, width: int) -> None:
        """Everything that went wrong."""
        look, sign = look_of(verdict.level), sign_of(verdict.level)
        said = verdict.long
        for start, end in cuts(said, 0, len(said), max(8, width - 4)):
            head = "    " if start else f"  {sign} "
            self._add(_Row([(head, look), (said[start:end], look)], exchange, bad=not start))

    def _add(self, row: _Row) -> None:
        self._made.append(row.pieces)
        self.rows.append(row)

    def columns(self, row: int, width: int) -> list[tuple[Pieces, int]]:
        link = self.rows[row].link
        if link is None:
            return [(self._made[row], width)]
        half = width * 9 // 20 if width >= _WIDE else width // 2
        return [(self._made[row], half - 1), ([("│", "dim")], 1), (_result(link), width - half)]

    def text(self, row: int) -> str:
        link = self.rows[row].link
        if link is None:
            return super().text(row)
        return super().text(row) + "  ->  " + "".join(text for text, _ in _result(link))

    def opened(self, row: int) -> Pieces:
        """The whole of a call and its result, or of a text that does not fit its line."""
        link, full = self.rows[row].link, self.rows[row].full
        if link is None:
            return [(full[:_LONGEST], "plain")] if self.rows[row].pieces[-1][0].endswith("…") else []
        trouble = "; ".join(_SAID[trouble] for trouble in link.troubles)
        pieces: Pieces = [(f"✖ {trouble}. ", "error")] if trouble else []
        pieces += [("arguments ", "dim"), (link.call.arguments[:_LONGEST], "bright")]
        if link.result is not None:
            look = "error" if Trouble.ERROR in link.troubles else "plain"
            pieces += [("  result ", "dim"), (link.result.text[:_LONGEST], look)]
        return pieces


_WHO = " " * 7  # the column for the speaker


def _call(link: Link) -> Pieces:
    sign, look = _sign(link)
    return [
        (f"  {sign} ", look),
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


def _moment(started: float) -> str:
    try:
        return datetime.fromtimestamp(started).strftime("%H:%M:%S") if started else "?"
    except (ValueError, OverflowError, OSError):
        return "?"


# -- what happens right now


def doing(player: Player, idle: float) -> str:
    """What the model does in an exchange that runs, and for how long."""
    held = alarm(player, None, True, idle)
    seconds = f"{player.now + idle:.1f} s"
    choices = list(choices_of(player.completion))
    if not player.reads:
        return f"waiting for the model's first byte, {seconds}"
    parts = [_writes(choices[0]) if choices else "the model has begun", seconds, held]
    return " · ".join(part for part in parts if part)


def _writes(choice: Answered) -> str:
    if choice.calls:
        call = choice.calls[-1]
        size = f", {counted(len(call.arguments), 'character')} of arguments" if call.arguments else ""
        return f"the model writes a call to {call.name}{size}"
    if choice.content.strip():
        return f"the model writes text, {counted(len(choice.content), 'character')}"
    thought = sum(map(len, choice.reasoning.values()))
    return f"the model thinks, {counted(thought, 'character')}" if thought else "the model has begun"


_WORKS = 600  # seconds after which a tool is assumed not to run any more


def agent_now(told: Sequence[Told], links: Sequence[Link], now: float) -> tuple[str, str]:
    """What the agent does right now, in a sentence, and its look."""
    if not told:
        return "nothing has been said yet", ""
    running = [one for one in told if one.now]
    if running:
        more = f" (and {len(running) - 1} more)" if len(running) > 1 else ""
        return f"{running[-1].now}{more}", "warning"
    last = told[-1]
    since = max(0.0, now - last.turn.started - last.seconds)
    ago = _roughly(since)
    open_calls = [link for link in links if link.exchange == last.turn.exchange and link.result is None]
    if open_calls:
        names = ", ".join(dict.fromkeys(link.call.name for link in open_calls))
        if since > _WORKS:
            return f"no result of {names} came for {ago}", ""
        return f"the client works on {names}, for {ago}", "good"
    if last.verdict.level == "error":
        return f"it went wrong {ago} ago: {last.verdict.sentence}", "error"
    return f"the model has answered, {ago} ago", ""


def _roughly(seconds: float) -> str:
    for unit, size in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


_SLICE, _PAUSE, _LOOK = 0.012, 0.02, 0.3
Listing = Callable[[], Sequence[tuple[Path, bool]]]


class _Reading:
    """One tape of the session, read on while it grows."""

    def __init__(self, path: Path, running: bool) -> None:
        self.path = path
        self.tape = OpenTape()
        self.tape.show_source(Tail(path), running=running)
        self.told: Told | None = None
        self._known: tuple[object, ...] = ()

    @property
    def over(self) -> bool:
        """Nothing more comes, and all is known."""
        return self.told is not None and not self.told.now

    @property
    def unreadable(self) -> bool:
        return self.tape.player is None and not self.tape.busy

    def read_on(self, seconds: float) -> None:
        self.tape.read_on(seconds)
        player = self.tape.player
        if player is None or self.tape.busy:
            return
        now = doing(player, self.tape.idle) if self.tape.growing else ""
        if now or self._known != (self.tape.progress, self.tape.running):
            self._known = self.tape.progress, self.tape.running
            seconds = player.now + (self.tape.idle if now else 0.0)
            self.told = Told(turn_of(player, str(self.path)), self.tape.judge(player), seconds, now)
        if self.over:
            self.tape = OpenTape()  # its rows are not needed any more


class ConversationPane(TextPane):
    """Follows its end until the user moves."""

    def renew(self, document: Conversation) -> None:
        """The same conversation, with more in it: the selected row stays selected, the last one follows."""
        before, follows, top = self.document, self.follow, self.top
        self.document = document
        document.fit(max(8, self.size.width - 1))
        document.advance(60)
        at = len(document.rows) - 1
        if not follows and isinstance(before, Conversation) and 0 <= self.cursor < len(before.rows):
            at = _same_row(before, self.cursor, document)
        self.top = top
        self.set_reactive(RowPane.cursor, at)
        self.show()


def _same_row(before: Conversation, row: int, after: Conversation) -> int:
    """Where a row is now: as far below the beginning of its exchange as it was."""
    exchange = before.rows[row].exchange
    first = next(at for at, one in enumerate(before.rows) if one.exchange == exchange)
    begun = next((at for at, one in enumerate(after.rows) if one.exchange == exchange), 0)
    return min(begun + row - first, len(after.rows) - 1)


class SessionScreen(ViewScreen[Path]):
    """`tapes` are those of a session, `more` says which they are now, each with whether it still runs. Its
    result is the tape of the chosen exchange, None when none was."""

    TITLE = "the conversation"
    HELP = (
        "The conversation of this session as a person reads it: what the user said, what the model answered, "
        "its calls, and beside each the result that the client sent back with its next request. It goes on "
        "while you watch; the line at the top says what the agent does right now. ✖ marks the places where "
        "it went wrong: results that look like errors, results that never came, arguments that are not JSON, "
        "answers that no client could use. Enter opens the exchange."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open exchange", id="session.open",
                tooltip="Show the exchange to which this line belongs"),
        Binding("n", "search_on(1)", "Next error", id="session.next",
                tooltip="Next place where it went wrong, or next search match"),
        Binding("N", "search_on(-1)", "Previous error", id="session.previous", show=False,
                tooltip="Previous place where it went wrong, or previous search match"),
        Binding("e", "search_on(1)", "Next error", id="session.error", show=False,
                tooltip="As n: to the next place where it went wrong"),
        Binding("E", "search_on(-1)", "Previous error", id="session.error-back", show=False,
                tooltip="As N: to the previous place where it went wrong"),
        Binding("F", "follow", "Follow", id="session.follow",
                tooltip="To the end, and follow it as it grows"),
    ]  # fmt: skip

    def __init__(self, tapes: Sequence[Path], here: Path | None = None, more: Listing | None = None) -> None:
        super().__init__()
        self.here = here
        self._more = more if more is not None else lambda: [(tape, False) for tape in tapes]
        self.links: list[Link] = []
        self.list = ConversationPane("Conversation", id="session-calls")
        self.panes = (self.list,)
        self._readings: dict[Path, _Reading] = {}
        self._begun = False  # all that was there at first is shown
        self._drawn: object = None
        self._looked_at = 0.0

    def begin(self) -> None:
        self.set_interval(_PAUSE, self._read)
        self._read()

    # -- reading

    def _read(self) -> None:
        """The next slice of the tapes; the conversation is shown once all of them are known, and again
        whenever there is more."""
        now = time.monotonic()
        if self._begun and now - self._looked_at < _LOOK:
            return
        self._looked_at = now
        for path, running in self._more():
            reading = self._readings.get(path)
            if reading is None:
                reading = self._readings[path] = _Reading(path, running)
            reading.tape.set_running(running)
        until = now + _SLICE
        for reading in self._readings.values():
            if not reading.over and not (self._begun and reading.unreadable):
                reading.read_on(_SLICE)
                if time.monotonic() > until:
                    break
        if not self._begun:
            done = sum(reading.told is not None or reading.unreadable for reading in self._readings.values())
            if done < len(self._readings):
                self.say("reading the tapes of this session", f"{done} of {len(self._readings)}")
                return
        self._show()

    def _show(self) -> None:
        told = [reading.told for reading in self._readings.values() if reading.told is not None]
        told.sort(key=lambda one: one.turn.started)
        drawn = [id(one) for one in told]
        if drawn != self._drawn:
            self._drawn = drawn
            document = Conversation(told, str(self.here))
            self.links = document.links
            if self._begun:
                self.list.renew(document)
            else:
                self.list.show_document(document)
                self.list.follow = bool(told) and told[-1].turn.exchange == document.chosen
            self._begun = True
        self._tell(told)

    def _tell(self, told: Sequence[Told]) -> None:
        bad = sum(bool(link.troubles) for link in self.links) + sum(one.is_bad for one in told if not one.now)
        unread = sum(reading.unreadable and not reading.over for reading in self._readings.values())
        facts = [f"{counted(len(self.links), 'call')} in {counted(len(told), 'exchange')}"]
        facts.append(f"{bad} with trouble" if bad else "no trouble")
        facts += [f"{counted(unread, 'tape')} could not be read"] * bool(unread)
        sentence, look = agent_now(told, self.links, time.time())
        self.say(sentence, " · ".join(facts), look)
        self._say_following()

    def _say_following(self) -> None:
        self.list.say_below("▶ following" if self.list.follow else "F follows")

    def on_row_pane_moved(self) -> None:
        self._say_following()

    # -- keys

    @property
    def document(self) -> Conversation | None:
        document = self.list.document
        return document if isinstance(document, Conversation) else None

    def on_row_pane_opened(self, event: RowPane.Opened) -> None:
        event.stop()
        self.action_open()

    def action_open(self) -> None:
        document = self.document
        if document is not None and 0 <= self.list.cursor < len(document.rows):
            self.dismiss(Path(document.rows[self.list.cursor].exchange))

    def action_follow(self) -> None:
        self.list.action_last()

    def action_search_on(self, way: int) -> None:
        """The next match while there is a search, else the next place where it went wrong."""
        if self.list.pattern is not None:
            super().action_search_on(way)
            return
        document = self.document
        rows = document.rows if document is not None else []
        order = range(self.list.cursor + 1, len(rows)) if way > 0 else range(self.list.cursor - 1, -1, -1)
        for at in order:
            if rows[at].bad:
                self.list.go(at)
                return
        self.notify("no further trouble", timeout=2)
