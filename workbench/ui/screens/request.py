"""The request screen: what the client sent, and what went upstream."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.message import Message

from workbench.analysis.requests import CHARACTERS_A_TOKEN
from workbench.errors import UserError
from workbench.proxy.asking import Sent
from workbench.replay.player import Player
from workbench.text import counted
from workbench.ui.background import in_background
from workbench.ui.requestfacts import (
    RequestFacts,
    chain_of,
    facts_of,
    findings_sheet,
    headers_sheet,
    request_findings,
    tools_sheet,
)
from workbench.ui.screens.compare import open_comparison, origin_sides, origin_title
from workbench.ui.screens.edit import EditScreen
from workbench.ui.screens.promptlab import PromptLab
from workbench.ui.screens.view import ViewScreen, pane_bindings
from workbench.ui.widgets.diffview import Difference, folded
from workbench.ui.widgets.document import FactSheet, Prose
from workbench.ui.widgets.payload import JsonText
from workbench.ui.widgets.textpane import TextPane

_NAMES = ("Difference", "Prompt", "Tools", "Findings", "Headers", "Client", "Upstream")


@dataclass
class Resent(Message):
    """A request was sent again: the new exchange's id, and where its tape is."""

    id: str
    path: str


class RequestScreen(ViewScreen[Resent]):
    """Its result is the exchange that a resend made; the message `Resent` tells the application as well."""

    TITLE = "the request"
    HELP = (
        "What the client sent and what went upstream: − is gone, + was added on the way. The prompt is what "
        "the workbench wrote for the tools. e edits the client's body, the upstream body or the prompt "
        "template, and sends it again through the running proxy as a new exchange."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "edit", "Edit and resend", id="request.edit",
                tooltip="Change the body or the prompt template and send it again"),
        Binding("p", "prompt", "Prompt lab", id="request.prompt",
                tooltip="Edit the prompt template and see what it renders to while you type"),
        Binding("equals_sign", "compare", "Compare", id="request.compare", key_display="=",
                tooltip="Compare it with the exchange that it was sent again from"),
        Binding("d", "fold", "Fold equal", id="request.fold",
                tooltip="Show only what differs, or all lines"),
        *pane_bindings(*_NAMES),
    ]  # fmt: skip

    def __init__(self, player: Player, library: Path | None) -> None:
        super().__init__()
        self.player = player
        self.library = library
        self.facts: RequestFacts | None = None
        self.ready = False
        self.folds = True
        self.panes = tuple(TextPane(name, id=f"request-{name.lower()}") for name in _NAMES)

    def compose_body(self) -> ComposeResult:
        with Container(id="view-body"):
            yield from self.panes

    def begin(self) -> None:
        self.say("reading the request …")
        header = self.player.header
        in_background(self, lambda: facts_of(header), self._fill)

    def _fill(self, facts: RequestFacts | None) -> None:
        self.ready, self.facts = True, facts
        _, prompt, tools, findings, headers, client, upstream = self.panes
        findings.show_document(findings_sheet(self.player))
        headers.show_document(headers_sheet(self.player))
        if facts is None:
            self.say("no request is on this tape", "", "warning")
            return
        self._tell(facts)
        self._show_difference()
        tools.show_document(tools_sheet(facts))
        client.show_document(JsonText(facts.client_json))
        upstream.show_document(JsonText(facts.upstream_json))
        prompt.show_document(
            Prose(facts.prompt)
            if facts.prompt is not None
            else FactSheet().paragraph(
                "No prompt was written for tools: there are none, or they stay as they are."
            )
        )

    def _tell(self, facts: RequestFacts) -> None:
        before, after = len(facts.client_json), len(facts.upstream_json)
        found = request_findings(self.player)
        levels = [line.level for line in found]
        said = f" · {counted(len(found), 'finding')}: press 4" if found else ""
        way = "went upstream unchanged" if facts.same else f"→ {after:,} upstream"
        tokens = -(-after // CHARACTERS_A_TOKEN)
        chain = chain_of(self.player)
        chat = f" · turn {chain.get('turn')} of chat {chain.get('id')}: press 5" if chain else ""
        origin = origin_title(self.player.header)
        again = f" · sent again from {origin}: press =" if origin is not None else ""
        self.say(
            f"{self.player.header.get('model') or facts.client.get('model') or '?'}",
            f"{before:,} characters {way}, ~{tokens:,} tokens{said}{chat}{again}",
            next((level for level in ("error", "warning") if level in levels), ""),
        )

    def _show_difference(self) -> None:
        if self.facts is None:
            return
        lines = self.facts.lines
        pane = self.panes[0]
        same = self.facts.same
        pane.show_document(Difference(folded(lines) if self.folds and not same else lines))
        pane.border_title = "the client's request, sent as it is" if same else "client − │ + upstream"

    def action_fold(self) -> None:
        self.folds = not self.folds
        self._show_difference()
        self.action_pane(0)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return origin_title(self.player.header) is not None if action == "compare" else True

    def action_compare(self) -> None:
        try:
            open_comparison(self, origin_sides(self.library, self.player))
        except UserError as error:
            self.notify(error.message, severity="warning", timeout=5)

    def action_prompt(self) -> None:
        if self.facts is None:
            self.notify("no request is on this tape, so there is nothing to render", severity="warning")
        else:
            self.app.push_screen(PromptLab(self.player.header))

    def action_edit(self) -> None:
        if self.facts is None:
            self.notify("no request is on this tape, so there is nothing to edit", severity="warning")
            return
        start = {5: "client", 6: "upstream", 1: "template"}.get(self.tabs.current, "client")
        self.app.push_screen(EditScreen(self.player.header, self.facts, self.library, start), self._sent)

    def _sent(self, sent: Sent | None) -> None:
        if sent is not None:
            told = Resent(sent.id, sent.path)
            self.post_message(told)
            self.dismiss(Resent(sent.id, sent.path))
