"""Screens with an editor: a request changed by hand and sent again, the model's text changed or pasted."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Static, TextArea

from transformer import TemplateFailed
from workbench.errors import UserError
from workbench.proxy.asking import Resend, Sent, resend
from workbench.rendering import check
from workbench.tape.recipe import dialect_in
from workbench.text import counted
from workbench.ui.background import in_background
from workbench.ui.display import content
from workbench.ui.requestfacts import RequestFacts, template_of
from workbench.ui.screens.view import HelpScreen
from workbench.ui.widgets.bars import KeyBar
from workbench.ui.widgets.payload import pretty

_ODD = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


class Editor(TextArea):
    """The text stays as it is; every odd character is drawn as a one-cell sign."""

    def get_line(self, line_index: int) -> Text:
        return Text(_ODD.sub(_sign, self.document.get_line(line_index)), end="", no_wrap=True)


def _sign(match: re.Match[str]) -> str:
    code = ord(match[0])
    return chr(0x2400 + code) if code < 0x20 else "␡" if code == 0x7F else "�"


_WAIT = 0.15  # seconds without a key before the text is checked
_MOST = 400_000  # characters that can be edited without the screen becoming slow
_KINDS = {
    "client": "the client's body: the proxy converts it as usual",
    "upstream": "the body for upstream: it goes up exactly as shown here",
    "template": "the prompt template: the client's request is converted with it",
}


_NAMES = {"client": "the client's body", "upstream": "the body for upstream", "template": "the template"}


class EditScreen(Screen[Sent]):
    """Its result is the new exchange, None when nothing was sent."""

    CSS_PATH = "../views.tcss"
    TITLE = "edit and resend"
    HELP = (
        "Change the text, then send it with ctrl+s. The line at the bottom says whether it can be sent, and "
        "where the first mistake is. f2, f3 and f4 choose what is edited; each keeps its own changes, and "
        "what was changed is sent together: the client's body is converted with the template. The body for "
        "upstream goes up exactly as it is."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "send", "Send", id="edit.send", tooltip="Send it through the running proxy"),
        Binding("f2", "kind('client')", "Client's body", id="edit.client",
                tooltip="Edit what the client sent"),
        Binding("f3", "kind('upstream')", "Upstream body", id="edit.upstream",
                tooltip="Edit what goes upstream"),
        Binding("f4", "kind('template')", "Template", id="edit.template",
                tooltip="Edit the prompt template for the tools"),
        Binding("f1", "help", "Help", id="edit.help", tooltip="What the keys do here"),
        Binding("escape", "back", "Back", id="edit.back", tooltip="Back, without sending"),
    ]  # fmt: skip

    def __init__(
        self, header: Mapping[str, Any], facts: RequestFacts, library: Path | None, kind: str = "client"
    ) -> None:
        super().__init__()
        self.header = header
        self.facts = facts
        self.library = library
        self.kind = kind
        self.problems: dict[str, str | None] = {}  # by kind: why it cannot be sent as it is
        self.originals = {
            "client": pretty(facts.client_json),
            "upstream": pretty(facts.upstream_json),
            "template": template_of(header),
        }
        self.texts = dict(self.originals)
        self.editor = Editor("", id="editor", show_line_numbers=True, highlight_cursor_line=True)
        self._head = Static("", id="view-head", markup=False)
        self._said = Static("", id="edit-said", markup=False)
        self._timer: Timer | None = None
        self._leaving = False
        self._seen = ""

    def compose(self) -> ComposeResult:
        yield self._head
        yield self.editor
        yield self._said
        yield KeyBar()

    def on_mount(self) -> None:
        self.editor.focus()
        self._load(self.kind)

    # -- what is edited

    def action_kind(self, kind: str) -> None:
        self.texts[self.kind] = self.editor.text if self.texts[self.kind] is not None else None
        self._load(kind)

    def _load(self, kind: str) -> None:
        text = self.texts[kind]
        if text is None or len(text) > _MOST:
            why = (
                f"there is no prompt template for {self.header.get('dialect')}"
                if text is None
                else f"this text has {len(text):,} characters, too many to be edited here"
            )
            if kind == self.kind:
                self.texts[kind], text = None, ""
                self.editor.read_only = True
            self._say(why, good=False)
            if text != "":
                return
        else:
            self.editor.read_only = False
        self.kind = kind
        self._head.update(content(f" editing {_KINDS[kind]}").stylize("bold"))
        self._seen = text
        self.editor.load_text(text)
        self._check()

    # -- checking

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        if self.editor.text == self._seen:
            return  # loaded, not typed
        self._seen, self._leaving = self.editor.text, False
        self.problems.pop(self.kind, None)
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(_WAIT, self._check)

    def _check(self) -> None:
        text, kind = self.editor.text, self.kind

        def done(found: tuple[str | None, str]) -> None:
            if (self.editor.text, self.kind) == (text, kind):
                self.problems[kind] = found[0]
                if not self._leaving:
                    problem = found[0] or self._why_not()
                    self._say(problem or f"{found[1]}; {self._what_is_sent()}", good=not problem)

        dialect, tools = dialect_in(self.header), self.facts.client.get("tools")
        if kind == "template":
            in_background(self, lambda: check_template(text, dialect, tools), done)
        else:
            in_background(self, lambda: check_body(text), done)

    def _say(self, sentence: str, *, good: bool) -> None:
        look = "$text-success" if good else "bold $text-error"
        self._said.update(content(f" {'✔' if good else '✖'} {sentence}").stylize(look))

    # -- sending

    def _changes(self) -> dict[str, str]:
        """The texts that are not as they were, by kind."""
        texts = {**self.texts, self.kind: self.editor.text}
        return {
            kind: text
            for kind, original in self.originals.items()
            if original is not None and (text := texts[kind]) is not None and text != original
        }

    def _sent_kinds(self) -> list[str]:
        """What is sent: everything that was changed; if nothing was, what is shown."""
        return [*self._changes()] or [self.kind]

    def _what_is_sent(self) -> str:
        others = [_NAMES[kind] for kind in self._changes() if kind != self.kind]
        return f"ctrl+s sends it, with {' and '.join(others)} as changed" if others else "ctrl+s sends it"

    def _why_not(self) -> str | None:
        """Why it cannot be sent; checks every text that would be sent, not only the one shown."""
        changes, sent = self._changes(), self._sent_kinds()
        if {"upstream", "template"} <= {*sent}:
            return (
                "the body for upstream goes up as it is, so the changed template would have no effect: "
                "take one of the two changes back"
            )
        for kind in sent:
            text = changes.get(kind, self.editor.text)
            found = self.problems.get(kind) if kind == "template" else check_body(text)[0]
            if found:
                return found if kind == self.kind else f"in {_NAMES[kind]}: {found}"
        return None

    def action_send(self) -> None:
        problem = self._why_not()
        if problem:
            self._say(problem, good=False)
            return
        if self.library is None:
            self._say("this tape is not in a library, so there is no proxy to send it through", good=False)
            return
        self._say("sending …", good=True)
        self._send(self.library, self._wish())

    def _wish(self) -> Resend:
        header = self.header
        keys = ("session", "upstream", "dialect", "frontend")
        said = {key: header[key] for key in keys if isinstance(header.get(key), str)}
        policy = header.get("policy")
        common = {**said, "of": header.get("id"), "policy": policy if isinstance(policy, Mapping) else None}
        texts = {kind: self._changes().get(kind, self.editor.text) for kind in self._sent_kinds()}
        client = json.loads(texts["client"]) if "client" in texts else self.facts.client
        if "upstream" in texts:
            return Resend(json.loads(texts["upstream"]), "upstream", client, **common)
        return Resend(client, template=texts.get("template"), **common)

    @work(exclusive=True)
    async def _send(self, library: Path, wish: Resend) -> None:
        try:
            sent = await resend(library, wish)
        except UserError as error:
            self._say(error.message, good=False)
            return
        self.dismiss(sent)

    # -- leaving

    @property
    def changed(self) -> bool:
        return bool(self._changes())

    def action_back(self) -> None:
        if self.changed and not self._leaving:
            self._leaving = True
            self._say("the changes were not sent: press escape again to discard them", good=False)
            return
        self.dismiss(None)

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen(self))


def check_body(text: str) -> tuple[str | None, str]:
    """What is wrong with a body, or None; and what to say when nothing is."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        return f"line {error.lineno}, column {error.colno}: {error.msg}", ""
    except (ValueError, RecursionError) as error:
        return f"this cannot be read: {error}", ""
    if not isinstance(value, dict):
        return "a body is a JSON object: it begins with { and ends with }", ""
    return None, f"valid JSON, {counted(len(text), 'character')}"


def check_template(text: str, dialect: str, tools: Any) -> tuple[str | None, str]:
    """The same for a prompt template."""
    try:
        size = check(tools if isinstance(tools, list) else [], dialect, text)
    except TemplateFailed as failure:
        return f"line {failure.line}: {failure.reason}", ""
    except Exception as error:
        return f"this cannot be filled: {error}", ""
    return None, f"makes a prompt of {counted(size, 'character')}"


MOST = 400_000  # characters that can be edited without the screen becoming slow
# The editor ends a line at each of these, while in a model's text only a line feed does. So each is replaced
# by a private-use character while the text is edited.
_BREAKS = "\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
_PRIVATE = range(0xF0000, 0xFFFFE)


class RewriteScreen(Screen[str]):
    """Its result is the new text, None when it is to stay as it is."""

    CSS_PATH = "../views.tcss"
    TITLE = "the model's text"
    DOES = ("plays it", "played")  # what ctrl+s does, and the participle for "the changes were not …"
    HELP = (
        "Change what the model wrote; ctrl+s plays it. Everything around the text (events, reads, times) "
        "stays as it was recorded, and so does the tape itself: this is a variant of it."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "play", "Play it", id="rewrite.play", tooltip="See what becomes of this text"),
        Binding("f1", "help", "Help", id="rewrite.help", tooltip="What the keys do here"),
        Binding("escape", "back", "Back", id="rewrite.back", tooltip="Back, without any change"),
    ]

    def __init__(self, title: str, text: str = "", at: int = 0) -> None:
        super().__init__()
        self._hide, self._show = disguise(text)
        self._text, self._at = self._hide(text), at
        self._leaving = False
        self.editor = Editor("", id="editor", show_line_numbers=True, highlight_cursor_line=True)
        self._head = Static(content(f" {title}").stylize("bold"), id="view-head", markup=False)
        self._said = Static("", id="edit-said", markup=False)

    def compose(self) -> ComposeResult:
        yield self._head
        yield self.editor
        yield self._said
        yield KeyBar()

    def on_mount(self) -> None:
        self.editor.load_text(self._text)
        self.editor.move_cursor(place_of(self._text, self._at), center=True)
        self.editor.focus()
        self._tell()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        self._leaving = False
        self._tell()

    @property
    def changed(self) -> bool:
        return self.editor.text != self._text

    def _tell(self) -> None:
        state = "changed" if self.changed else "as it was recorded" if self._text else "paste or type it"
        self._said.update(
            content(f" {counted(len(self.editor.text), 'character')}, {state}; ctrl+s {self.DOES[0]}")
        )

    def action_play(self) -> None:
        if not self.editor.text and not self._text:
            self._said.update(content(" ✖ there is no text yet: paste what the model wrote").stylize("bold"))
            return
        self.dismiss(self._show(self.editor.text))

    def action_back(self) -> None:
        if self.changed and not self._leaving:
            self._leaving = True
            said = f" ✖ the changes were not {self.DOES[1]}: press escape again to discard them"
            self._said.update(content(said).stylize("bold $text-error"))
            return
        self.dismiss(None)

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen(self))


def disguise(text: str) -> tuple[Callable[[str], str], Callable[[str], str]]:
    """How to hide line ends from the editor, and how to bring them back."""
    # The editor turns a typed carriage return into a line feed, so these only come from the text.
    used = set(text)
    free = (chr(code) for code in _PRIVATE if chr(code) not in used)
    pairs = dict(zip(_BREAKS, free, strict=False))
    there, back = str.maketrans(pairs), str.maketrans({hidden: real for real, hidden in pairs.items()})
    return lambda shown: shown.translate(there), lambda hidden: hidden.translate(back)


def place_of(text: str, at: int) -> tuple[int, int]:
    """The line and the column of a character."""
    before = text[:at]
    return before.count("\n"), len(before) - (before.rfind("\n") + 1)
