"""The problem screen: what is wrong with the proxy or the settings, in plain words, and what can be done
about it now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import Screen
from textual.widgets import Button, Static

from workbench.proxy.process import ProcessExit
from workbench.ui.display import content, paragraph
from workbench.ui.widgets.bars import KeyBar


@dataclass(frozen=True, slots=True)
class Action:
    """An action: `name` is what the screen is dismissed with."""

    name: str
    key: str
    text: str
    tooltip: str


RETRY = Action("retry", "r", "Try again", "Do the same again, now that something may have changed")
RESTART = Action("restart", "r", "Restart the proxy", "Start the proxy again, with the same settings")
OTHER_PORT = Action("port", "p", "Take a free port", "Start the proxy on any port that is free")
READ_ONLY = Action("view", "o", "Only look", "Open the library without a proxy: what is recorded can be read")
QUIT = Action("quit", "q", "Quit", "Leave the workbench")
USE_IT = Action("use", "a", "Look at that one", "Show what the running proxy does")
SECOND = Action("second", "s", "Start a second one", "Start another proxy with these flags, on a free port")
KEEP = Action("keep", "l", "Leave the proxy running", "Leave the screen; the proxy goes on")
CUT = Action("cut", "x", "End the proxy, and cut them", "Leave; clients get an error instead of the rest")
STAY = Action("stay", "escape", "Stay here", "Back to the screen")


_KEYS = {"escape": "esc"}  # as the footer calls them


class ProblemScreen(Screen[str]):
    """Dismissed with the name of the chosen action. Its text is untrusted: no markup."""

    DEFAULT_CSS = """
    ProblemScreen { align: center middle; }
    ProblemScreen #problem {
        width: 76; max-width: 96%; height: auto; max-height: 100%; padding: 1 2; border: round $error;
    }
    ProblemScreen #problem-text { height: auto; }
    ProblemScreen .sentence { margin-bottom: 1; }
    ProblemScreen #problem-actions { height: auto; }
    ProblemScreen #problem-actions Button { width: 100%; margin-top: 1; }
    ProblemScreen.low #problem { padding: 0 1; }
    ProblemScreen.low #problem-actions Button { margin-top: 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "app.focus_next", "Next", show=False, id="problem.next", tooltip="The next action"),
        Binding("up,k", "app.focus_previous", "Previous", show=False, id="problem.previous",
                tooltip="The previous action"),
        Binding("pagedown", "scroll_text(1)", "More", show=False, id="problem.down", tooltip="Read on"),
        Binding("pageup", "scroll_text(-1)", "Back", show=False, id="problem.up", tooltip="Read again"),
    ]  # fmt: skip

    def __init__(
        self, title: str, sentences: Sequence[str], actions: Sequence[Action] = (QUIT,), *, sign: str = "✖"
    ) -> None:
        super().__init__()
        self.title = title
        self._sign = sign
        self.sentences = list(sentences)
        self.actions = {action.name: action for action in actions}
        for action in actions:
            # Textual has no public way to give one screen keys that its class does not have.
            self._bindings.key_to_bindings.setdefault(action.key, []).append(_binding(action))

    def compose(self) -> ComposeResult:
        with Vertical(id="problem") as panel:
            panel.border_title = content(f"{self._sign} {self.title}")
            with VerticalScroll(id="problem-text", can_focus=False):
                for sentence in self.sentences:
                    yield Static(paragraph(sentence), classes="sentence")
            with Vertical(id="problem-actions"):
                for action in self.actions.values():
                    label = content(f"{_KEYS.get(action.key, action.key)}  {action.text}")
                    yield Button(label, id=f"do-{action.name}", tooltip=action.tooltip, compact=True)
        yield KeyBar()

    def on_mount(self) -> None:
        self.query_one("#problem-actions").query(Button).first().focus()

    def on_resize(self) -> None:
        low = self.size.height < 20
        self.set_class(low, "low")
        # However long the text is, the actions stay visible.
        taken = len(self.actions) * (1 if low else 2) + (5 if low else 8)
        self.query_one("#problem-text").styles.max_height = max(2, self.size.height - taken)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.action_choose((event.button.id or "").removeprefix("do-"))

    def action_scroll_text(self, pages: int) -> None:
        """Scroll by a page."""
        text = self.query_one("#problem-text")
        text.scroll_relative(y=pages * max(1, text.size.height - 1), animate=False)

    def action_choose(self, name: str) -> None:
        """Leave with this action."""
        if name in self.actions:
            self.dismiss(name)


def _binding(action: Action) -> Binding:
    return Binding(
        action.key,
        f"screen.choose('{action.name}')",
        action.text,
        id=f"problem.{action.name}",
        tooltip=action.tooltip,
    )


def no_configuration(message: str) -> ProblemScreen:
    """`message` is what reading the settings complained about."""
    return ProblemScreen(
        "No model to talk to",
        [
            _sentence(message),
            "`workbench init --upstream URL --dialect NAME` writes a workbench.toml that explains every "
            "setting. `workbench demo` shows everything without a model.",
        ],
        (RETRY, READ_ONLY, QUIT),
    )


def port_taken(port: int) -> ProblemScreen:
    return ProblemScreen(
        f"Port {port} is taken",
        [
            f"Another program listens on port {port}, perhaps a workbench for another library.",
            "On a free port the proxy works at once, but clients have to be told: `workbench connect` says "
            "where.",
        ],
        (RETRY, OTHER_PORT, READ_ONLY, QUIT),
    )


def other_flags(url: str, without_effect: Sequence[str]) -> ProblemScreen:
    """`without_effect`: each flag, and what the running proxy does instead."""
    return ProblemScreen(
        "A proxy runs already for this library",
        [
            f"It serves {url}, and these flags have no effect on it:",
            "\n".join(without_effect),
            "A second one can run beside it, for the same library; clients have to be told its address.",
        ],
        (USE_IT, SECOND, QUIT),
    )


def running_answers(count: int | None) -> ProblemScreen:
    """Asked before the proxy that gives them is ended; None: it does not say how many there are."""
    many = "Answers may be running" if count is None else f"{count} answers are still running"
    return ProblemScreen(
        "An answer is still running" if count == 1 else many,
        ["The proxy was started with this screen. If it ends now, what has not arrived yet is lost."],
        (KEEP, CUT, STAY),
        sign="▲",
    )


def proxy_died(death: ProcessExit) -> ProblemScreen:
    """It ended unexpectedly. If it could not use its settings, it said what to change."""
    actions = (RESTART, OTHER_PORT, READ_ONLY, QUIT)
    if death.usage:
        told = [_sentence(death.reason), "Change that, then start it again."]
        return ProblemScreen("The proxy cannot start", told, actions)
    meaning = "Clients get no answers until it runs again. What was recorded is safe."
    return ProblemScreen("The proxy is gone", [meaning, death.reason], actions)


def _sentence(text: str) -> str:
    """As a sentence of its own."""
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?", "…")) else ".")
