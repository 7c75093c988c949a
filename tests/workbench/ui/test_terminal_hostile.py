"""The hostile sample in a real terminal: nothing of it reaches the terminal but as text that is shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.support.hostile import BIDI, CONTROLS, HOSTILE, INVISIBLE, SEQUENCES, hostile_library
from tests.support.terminal import Terminal
from workbench.text import visible_line

# What Textual itself writes: styles, places, modes, questions about modes, the keyboard protocol.
_OWN = re.compile(
    r"\x1b\[(?:\d+(?:;\d+)*)?m|\x1b\[\d+;\d+H|\x1b\[\?\d+(?:;\d+)*[hl]|\x1b\[\?\d+\$p|\x1b\[>\d+u|\x1b\[<u"
    r"|\x1b\]22;[a-z-]+\x07"  # the shape of the pointer
)
_CUT = re.compile(r"\x1b(?:\[[?<>]?[\d;]*\$?)?\Z")
_STEERS = re.compile(f"[\x00-\x09\x0b\x0c\x0e-\x1f{re.escape(CONTROLS + BIDI + INVISIBLE)}\ud800-\udfff]")
_VIEWS = {
    "enter": "To file",  # the detail
    "r": "Edit and resend",
    "re": "Client's body",  # the request, and there the editor
    "t": "Hits / all",
    "s": "Calls and their results",
}
_ROOM = 100  # cells: the beginning of a longer text is not in sight
_NEWEST = "the tape cannot be read"  # one that has no time of its own: its file's counts


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hostile_library(tmp_path_factory.mktemp("hostile"))


def check(terminal: Terminal) -> None:
    """Every byte that came from the program so far."""
    with terminal.changed:
        raw = bytes(terminal.raw)
    for sequence in SEQUENCES:
        assert sequence.encode() not in raw, f"{sequence!r} reached the terminal"
    # What is being written at this moment may be cut anywhere.
    text = raw.decode("utf-8", "ignore") if raw[-1] > 0x7F else raw.decode("utf-8")
    rest = _OWN.sub("", _CUT.sub("", text))
    found = _STEERS.search(rest)
    if found is not None:
        at = found.start()
        raise AssertionError(f"{found[0]!r} reached the terminal: {rest[max(0, at - 60) : at + 60]!r}")


def settle(terminal: Terminal) -> None:
    """Keys are taken in turn: when help is there, all before it are done."""
    terminal.press("?")
    terminal.wait_for("escape goes back")
    terminal.press("escape")
    terminal.wait_without("escape goes back")


def focus(terminal: Terminal, key: str) -> None:
    terminal.press(key)
    terminal.until(lambda: _focused(terminal, key), "the focus")


def leave(terminal: Terminal) -> None:
    check(terminal)
    terminal.press("q")
    assert terminal.exit_code() == 0


def _focused(terminal: Terminal, key: str) -> bool:
    name = {"0": "─ Exchanges", "1": "─ Upstream", "2": "─ Machine", "3": "─ Client"}[key]
    return any(bold for _, bold in terminal.looks(name[2:]))


@pytest.mark.parametrize(("size", "numbers"), [((80, 24), (1, 2, 5)), ((200, 50), range(1, 8))])
def test_nothing_of_it_reaches_the_terminal(
    tmp_path: Path, library: Path, size: tuple[int, int], numbers: Iterable[int]
):
    """Some rows of each pane, in short, in full and with framing."""
    with Terminal(tmp_path, "attach", "--library", str(library), size=size) as terminal:
        terminal.wait_for(_NEWEST)
        for number in numbers:
            focus(terminal, "0")
            terminal.press("home", *["down"] * number)
            for key in "123":
                focus(terminal, key)
                terminal.press("home", "down", "down", "end", "up", "x", "x")
        settle(terminal)
        leave(terminal)


@pytest.mark.parametrize(("number", "panes"), [(1, "32"), (4, "1"), (5, "1")])
def test_every_view_of_it(tmp_path: Path, library: Path, number: int, panes: str):
    """The last of these panes is where the other views are opened from."""
    with Terminal(tmp_path, "attach", "--library", str(library), size=(120, 36)) as terminal:
        terminal.wait_for(_NEWEST)
        terminal.press(*["down"] * number)
        settle(terminal)
        for pane in panes:
            focus(terminal, pane)
            terminal.press("home", "down")
            for key, sign in _VIEWS.items():
                if pane == panes[-1] or key == "enter":
                    _visit(terminal, key, sign)
        leave(terminal)


def _visit(terminal: Terminal, key: str, sign: str) -> None:
    """Open a view, look at all its parts, go back."""
    if key == "re":
        terminal.press("r")
        terminal.wait_for(_VIEWS["r"])
        terminal.press("e")
        terminal.wait_for(sign)
        terminal.press("pagedown", "\x1bOQ", "pagedown", "\x1bOR", "pagedown", "\x1bOS", "pagedown")
        terminal.press("escape")
        terminal.wait_for(_VIEWS["r"])
    else:
        terminal.press(key)
        terminal.wait_for(sign)
        for part in "1234567":
            terminal.press(part, "end")
        settle(terminal)
    terminal.press("escape")
    terminal.wait_for("─ Machine ─", "Next finding")


def pieces(text: str) -> Iterator[str]:
    """All of a text as it can be pasted: a paste ends with its first line, and with an ESC."""
    for line in text.replace("\x1b", "").splitlines():
        piece = ""
        for character in line:
            if len(visible_line(piece + character)) > _ROOM:
                yield piece
                piece = ""
            piece += character
        yield piece


@pytest.mark.parametrize("key", ["/", "f"])
def test_such_text_can_be_searched_for(tmp_path: Path, library: Path, key: str):
    """Pasted, as nobody can type it; what was there before is selected, and replaced."""
    with Terminal(tmp_path, "attach", "--library", str(library), size=(120, 36)) as terminal:
        terminal.wait_for(_NEWEST)
        for number, text in enumerate(pieces(HOSTILE)):
            terminal.press(key)
            terminal.wait_for("esc Close")
            terminal.write(f"\x1b[200~@{number}@{text}\x1b[201~")
            _wait_for_bytes(terminal, f"@{number}@".encode())
            terminal.press("enter", "escape")
            terminal.wait_without("esc Close")
        leave(terminal)


def _wait_for_bytes(terminal: Terminal, data: bytes) -> None:
    terminal.until(lambda: data in terminal.raw, f"{data!r} is drawn")
