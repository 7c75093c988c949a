"""Interception on the screen: breakpoints for live traffic, and the answers that they hold, to be read,
edited, let go or dropped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import ClassVar, TypeAlias

from textual import work
from textual.binding import Binding, BindingType
from textual.widgets import Static

from transformer.answer.observations import choices_of
from workbench.analysis.variants.texts import Edits, Text, edits_of, retexts, texts_of
from workbench.breakpoints import parse
from workbench.errors import UserError
from workbench.proxy.asking import HeldAnswer, ProxyConnection, find_running
from workbench.replay.lines import Tail
from workbench.replay.player import Player
from workbench.ui.display import content
from workbench.ui.screens.edit import MOST, RewriteScreen
from workbench.ui.screens.view import Choice, ListScreen, Picked, ViewScreen, unseen
from workbench.ui.variants import channel_name
from workbench.ui.widgets.bars import Question
from workbench.ui.widgets.document import FactSheet
from workbench.ui.widgets.textpane import TextPane

_POLL = 0.5  # seconds between questions to the proxy, while something may be held
_SLICE = 0.02
_NOBODY = "no proxy runs for this library, so there is no traffic to hold"
_BREAKPOINTS = (
    "An answer that hits one of these is held before the bytes that hit it reach its client, which gets "
    "comments meanwhile, or waits. One line each, as in a replay: tool:bash (a call of that tool), "
    "finding:unclosed*, state:value, rule:open*, client:REGEX, upstream:REGEX, text:REGEX, held>200ms. They "
    "apply from the next request on, and end with this screen; answers held then are let go."
)
Ask: TypeAlias = Callable[[Question, Callable[[str], None], str], None]  # in the screen's line for that
BREAK = Question(
    "hold answers at ", "tool:bash finding:unclosed* state:value client:REGEX text:REGEX held>2s"
)


def clock(seconds: float) -> str:
    """Minutes and seconds."""
    whole = max(0, round(seconds))
    return f"{whole // 60}:{whole % 60:02}"


class HeldAnswers:
    """What the running proxy of a library holds. Raises UserError where there is none, or it refuses."""

    def __init__(self, library: Path) -> None:
        self.library = library
        self.breakpoints: list[str] = []
        self.held: list[HeldAnswer] = []
        self.asked = 0.0  # when that was asked, on the clock of this process
        self.is_ours = False  # a breakpoint was set here
        self._connection: ProxyConnection | None = None

    async def _proxy(self) -> ProxyConnection:
        if self._connection is None:
            running = await asyncio.to_thread(find_running, self.library)
            if running is None:
                raise UserError(_NOBODY)
            if self._connection is None:  # another look may have found it meanwhile
                self._connection = ProxyConnection(running)
        return self._connection

    async def look(self) -> None:
        """Ask again."""
        try:
            proxy = await self._proxy()
            self.breakpoints, self.held = await proxy.breakpoints(), await proxy.held()
            self.asked = monotonic()
        except UserError:
            self.breakpoints, self.held = [], []
            await self._hang_up()
            raise

    async def stop_at(self, texts: Sequence[str]) -> None:
        self.breakpoints = await (await self._proxy()).set_breakpoints(texts)
        self.is_ours = True

    async def decide(self, id: str, what: str, **more: object) -> None:
        await (await self._proxy()).decide(id, what, **more)

    async def close(self) -> None:
        """The screen closes: no user is left who could decide."""
        with suppress(UserError):  # the proxy may be gone, and with it what it held
            if self.is_ours and self._connection is not None:
                await self._connection.forget_breakpoints()
        await self._hang_up()

    async def _hang_up(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.__aexit__()

    def left(self, one: HeldAnswer) -> float:
        return one.left - (monotonic() - self.asked)


# -- an edit, as the proxy wants it


def rewritten(player: Player, text: Text, new: str) -> tuple[int, list[str]]:
    """How many reads stay, and what replaces the others, once a text is changed."""
    data = Edits(bytes(player.data), edits_of(player, retexts(text, new))).data
    old = player.data
    first = next((at for at, (one, other) in enumerate(zip(old, data, strict=False)) if one != other), None)
    keep = player.read_at(min(len(old), len(data)) - 1 if first is None else first)
    return tail_of(player, data, keep)


def tail_of(player: Player, data: bytes, keep: int) -> tuple[int, list[str]]:
    """The bytes after the first reads as a text: it begins with a whole character."""
    while keep and (keep >= player.reads or data[player.starts[keep]] & 0xC0 == 0x80):
        keep -= 1
    return keep, [data[player.starts[keep] :].decode("utf-8", "replace")]


class HeldEditor(RewriteScreen):
    """Its result is the new text. The remaining time is shown."""

    TITLE = "a held answer"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "play", "Let go", id="rewrite.play", tooltip="Let it go as shown here"),
    ]
    DOES = ("converts it again and lets it go", "sent")
    HELP = (
        "Change what the model wrote; ctrl+s lets the answer go with that. It is converted as if the model "
        "had written it so: the client gets calls and text of the changed answer. What the client has "
        "already cannot be changed. The tape keeps what upstream sent, and the edit beside it."
    )

    def __init__(self, title: str, text: str, left: Callable[[], float]) -> None:
        super().__init__(title, text)
        self._title, self._left = title, left

    def on_mount(self) -> None:
        self._count()
        self.set_interval(_POLL, self._count)

    def _count(self) -> None:
        left = self._left()
        said = f"{clock(left)} left" if left > 0 else "its time is over: it has gone on unchanged"
        self._head.update(content(f" {self._title} · {said}").stylize("bold"))


class HeldScreen(ViewScreen[None]):
    """One held answer at a time, as far as it has come."""

    TITLE = "held answers"
    HELP = (
        "A breakpoint holds this answer: its client has what came before it and gets comments while it "
        "waits. Upstream is read on, so all of the answer can be read here. An edit changes what the model "
        "wrote, and that is converted again. When the time is over the answer goes on unchanged."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("l", "let_go", "Let go", id="held.release", tooltip="The client gets it as it is"),
        Binding("e", "edit", "Edit", id="held.edit",
                tooltip="Change what the model wrote, then let it go; it is converted again"),
        Binding("x", "drop", "Drop", id="held.drop",
                tooltip="The client gets an error instead; press it twice"),
        Binding("right_square_bracket", "turn_to(1)", "Next held", id="held.next", key_display="]",
                tooltip="The next held answer"),
        Binding("left_square_bracket", "turn_to(-1)", "Held before", id="held.previous", show=False,
                key_display="[", tooltip="The previous held answer"),
        Binding("L", "let_all_go", "Let all go", id="held.release-all", show=False,
                tooltip="All clients get their answers as they are"),
        Binding("E", "edit_bytes", "Edit bytes", id="held.edit-bytes", show=False,
                tooltip="Change the bytes that upstream sent since the breakpoint, its own calls included"),
        *unseen(ViewScreen.BINDINGS, "slash", "c", "y", "Y,C"),
    ]  # fmt: skip

    def __init__(self, answers: HeldAnswers, first: str | None = None) -> None:
        super().__init__()
        self.answers = answers
        self.id_shown = first
        self.answer = TextPane("Held answer", id="held-answer")
        self.panes = (self.answer,)
        self._tail: Tail | None = None
        self._drawn: tuple[object, ...] = ()
        self._dropping = ""  # the one that is dropped if the key is pressed again
        self._was_held = False

    def begin(self) -> None:
        self.set_interval(_POLL, self._poll)
        self._show()

    @property
    def shown(self) -> HeldAnswer | None:
        held = self.answers.held
        return next((one for one in held if one.id == self.id_shown), held[0] if held else None)

    @property
    def player(self) -> Player | None:
        return self._tail.player if self._tail is not None else None

    @work(exclusive=True, group="held")
    async def _poll(self) -> None:
        try:
            await self.answers.look()
        except UserError as error:
            self.notify(error.message, severity="warning", timeout=3)
        self._show()

    def _show(self) -> None:
        one = self.shown
        if one is None:
            self.say("nothing is held", "b on the previous screen sets breakpoints; escape goes back")
            if self._was_held and self.is_current:
                self.dismiss(None)  # the last one was decided, or its time was over
            return
        self._was_held = True
        if self.id_shown != one.id or self._tail is None:
            self.id_shown, self._tail, self._drawn = one.id, Tail(Path(one.path)), ()
        self._tail.advance(_SLICE)
        count = len(self.answers.held)
        at = self.answers.held.index(one) + 1
        which = f"{at} of {count}, ] the next · " if count > 1 else ""
        comes = "upstream still sends · " if one.arriving else ""
        left = f"{clock(self.answers.left(one))} left, then it goes on unchanged"
        self.say(f"HELD at {one.breakpoint}: {one.message}", f"{which}{comes}{left}", "warning")
        player = self.player
        state = (one.id, one.arriving, player.steps if player is not None else -1)
        if state != self._drawn and player is not None:
            self._drawn = state
            self._draw(one, player)

    def _draw(self, one: HeldAnswer, player: Player) -> None:
        sheet = FactSheet()
        sheet.heading("What the client will get, as it is")
        for choice in choices_of(player.completion):
            if choice.content:
                sheet.fact("text", choice.content, "bright")
            for call in choice.calls:
                sheet.fact(f"call {call.name}", call.arguments, "good")
        sheet.heading("What the model wrote" + (", so far" if one.arriving else ""))
        for text in texts_of(player):
            if text.text:
                sheet.paragraph(f"{channel_name(text)}:", "dim").paragraph(text.text)
        sheet.heading("What can be done")
        wait = "can be pressed when upstream has sent all of it" if one.arriving else (
            "changes what the model wrote; that is converted again and goes on"
        )  # fmt: skip
        sheet.fact("l", "lets it go as it is").fact("e", wait).fact("x", "drops it: the client gets an error")
        sheet.fact("E", "changes the bytes that upstream sent since the breakpoint, its own calls included")
        top, cursor = self.answer.top, self.answer.cursor
        self.answer.show_document(sheet)
        if cursor > 0:
            self.answer.top = top
            self.answer.go(cursor, tell=False)

    def action_turn_to(self, way: int) -> None:
        one, held = self.shown, self.answers.held
        if one is not None and len(held) > 1:
            self.id_shown = held[(held.index(one) + way) % len(held)].id
            self._tail = None
            self._show()

    # -- deciding

    def action_let_go(self) -> None:
        if (one := self.shown) is not None:
            self._decide(lambda: self.answers.decide(one.id, "release"), "let go; the client has it")

    def action_let_all_go(self) -> None:
        async def all_of_them() -> None:
            for one in self.answers.held:
                await self.answers.decide(one.id, "release")

        self._decide(all_of_them, "all are let go")

    def action_drop(self) -> None:
        one = self.shown
        if one is not None and self._dropping != one.id:
            self._dropping = one.id
            self.notify("press x again to drop it: the client gets an error instead", timeout=3)
        elif one is not None:
            self._decide(lambda: self.answers.decide(one.id, "drop"), "dropped; the client got an error")

    @work(exclusive=True, group="decide")
    async def _decide(self, deed: Callable[[], Awaitable[None]], said: str) -> None:
        try:
            await deed()
            self.notify(said, timeout=3)
        except UserError as error:
            self.notify(error.message, severity="error", timeout=6)
        self._poll()

    # -- editing

    def action_edit(self) -> None:
        one, player = self.shown, self.player
        if one is None or player is None or not self._can_be_edited(one):
            return
        texts = [text for text in texts_of(player) if text.text]
        if not texts:
            self.notify(
                "there is no text of a model in it; E changes the bytes that upstream sent", timeout=4
            )
        elif len(texts) == 1:
            self._edit(one, player, texts[0])
        else:
            choices = [Choice(channel_name(text), text.text[:80]) for text in texts]

            def picked(pick: Picked | None) -> None:
                if pick is not None:
                    self._edit(one, player, texts[pick.number])

            self.app.push_screen(ListScreen("texts", "which one should be changed?", choices), picked)

    def action_edit_bytes(self) -> None:
        one, player = self.shown, self.player
        if one is None or player is None or not self._can_be_edited(one):
            return
        keep, (before,) = tail_of(player, bytes(player.data), min(one.keep, player.reads - 1))
        title = "the bytes that upstream sent since the breakpoint"
        self._open(one, title, before, lambda new: (keep, [new]))

    def _can_be_edited(self, one: HeldAnswer) -> bool:
        if one.arriving:
            self.notify("upstream still sends; it can be edited when all of it is here", timeout=3)
        return not one.arriving

    def _edit(self, one: HeldAnswer, player: Player, text: Text) -> None:
        title = f"{channel_name(text)} of a held answer, as the model wrote it"
        self._open(one, title, text.text, lambda new: rewritten(player, text, new))

    def _open(
        self, one: HeldAnswer, title: str, before: str, made: Callable[[str], tuple[int, list[str]]]
    ) -> None:
        if len(before) > MOST:
            self.notify(f"this has {len(before):,} characters, too many to be edited here", timeout=4)
            return

        def done(new: str | None) -> None:
            if new is not None and new != before:
                self._send(one, title, new, made)

        self.app.push_screen(HeldEditor(title, before, lambda: self.answers.left(one)), done)

    @work(exclusive=True, group="decide")
    async def _send(
        self, one: HeldAnswer, title: str, new: str, made: Callable[[str], tuple[int, list[str]]]
    ) -> None:
        try:
            keep, reads = made(new)
            await self.answers.decide(one.id, "edit", keep=keep, reads=reads)
            self.notify("let go as it was edited", timeout=3)
        except UserError as error:
            self.notify(error.message, severity="error", timeout=8)
            self._open(one, title, new, made)  # the typed text is kept
        self._poll()


class HeldBar(Static):
    """A line of the screen of live traffic: where answers are held, and which one waits now.

    It asks the proxy now and then, as long as there is something to ask; `is_any_held` says whether the index
    knows an answer that is held.
    """

    def __init__(self, library: Path, is_any_held: Callable[[], bool]) -> None:
        super().__init__("", id="held", markup=False)
        self.answers = HeldAnswers(library)
        self._is_any_held = is_any_held
        self.display = False

    def on_mount(self) -> None:
        self.set_interval(_POLL, self._poll)
        self._ask()  # a proxy may have breakpoints from its command line

    async def on_unmount(self) -> None:
        await self.answers.close()

    def _poll(self) -> None:
        """The proxy is asked only if breakpoints were set, or if the index knows of a held answer."""
        if self.answers.breakpoints or self._is_any_held():
            self._ask()
        elif self.display:
            self._tell()

    # Each has a group of its own: a look at what is held, twice a second, must not cancel what a key began.
    @work(exclusive=True, group="held-look")
    async def _ask(self) -> None:
        with suppress(UserError):  # the proxy is gone: the screen says that elsewhere
            await self.answers.look()
        self._tell()

    def _tell(self) -> None:
        answers = self.answers
        if answers.held:
            one = answers.held[0]
            more = f" and {len(answers.held) - 1} more" if len(answers.held) > 1 else ""
            left = clock(answers.left(one))
            said = f"■ HELD{more} at {one.breakpoint}: {one.message} · {left} left · H decides"
        elif answers.breakpoints:
            said = f"□ answers are held at {', '.join(answers.breakpoints)} · b changes that"
        else:
            said = ""
        self.set_class(bool(answers.held), "-now")
        self.update(content(said), layout=False)
        if self.display != bool(said):
            self.display = bool(said)

    @work(exclusive=True, group="held-open")
    async def open(self, tape: Path | None) -> None:
        """The answers that are held; that of a tape first."""
        try:
            await self.answers.look()
        except UserError as error:
            self.screen.notify(error.message, severity="warning", timeout=4)
            return
        held = self.answers.held
        if not held:
            self.screen.notify("nothing is held now; b sets breakpoints", timeout=3)
            return
        here = next((one.id for one in held if tape is not None and Path(one.path) == tape), None)
        self.app.push_screen(HeldScreen(self.answers, here), lambda _: self._tell())

    # -- breakpoints

    def choose_breakpoints(self, ask: Ask) -> None:
        """At once: the next keys are meant for the line that opens. `ask` opens it."""
        known = self.answers.breakpoints
        if not known:
            self._ask_breakpoint(ask, None)
            return

        def chosen(picked: Picked | None) -> None:
            if picked is None:
                return
            if picked.deed == "remove":
                self._set([text for at, text in enumerate(self.answers.breakpoints) if at != picked.number])
            else:
                self._ask_breakpoint(ask, picked.number if picked.deed == "choose" else None)

        said = "enter changes one, a adds one, d removes one"
        choices = [Choice(text) for text in known]
        screen = ListScreen("answers are held at", said, choices, changes=True, help=_BREAKPOINTS)
        self.app.push_screen(screen, chosen)

    def _ask_breakpoint(self, ask: Ask, number: int | None) -> None:
        known = self.answers.breakpoints

        def answered(text: str) -> None:
            if not text.strip():
                return
            one = str(parse(text))  # errors are shown beside it
            others = [each for at, each in enumerate(known) if at != number and each != one]
            self._set([*others, one])

        ask(BREAK, answered, "" if number is None else known[number])

    @work(exclusive=True, group="held-set")
    async def _set(self, texts: Sequence[str]) -> None:
        try:
            await self.answers.stop_at(texts)
        except UserError as error:
            self.screen.notify(error.message, severity="error", timeout=6)
            return
        said = (
            f"answers are held at {', '.join(texts)}, from the next request on"
            if texts
            else "nothing is held"
        )
        self.screen.notify(said, timeout=4)
        self._tell()
