"""The hostile sample in a real terminal: nothing of it reaches the terminal but as text that is shown."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.support.hostile import HOSTILE, NAME, check, hostile_library
from tests.support.terminal import Program, Terminal
from tests.support.tiers import only_exhaustive, some
from tests.support.tour import screens
from workbench.library.tapefiles import marks_of
from workbench.text import visible_line

_ROOM = 100  # cells: the beginning of a longer text is not in sight
_NEWEST = "the tape cannot be read"  # one that has no time of its own: its file's counts


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hostile_library(tmp_path_factory.mktemp("hostile"))


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


@pytest.mark.parametrize(
    ("size", "numbers"),
    only_exhaustive([((80, 24), (1, 5)), ((200, 50), range(1, 8))], quick=[((80, 24), (1, 5))], arguments=2),
)
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


@pytest.mark.exhaustive  # quick: the hostile tests of test_detail, test_request, test_picker
def test_every_screen(tmp_path: Path, library: Path):
    """Not one is forgotten: a new one needs a line in the tour."""
    seen = tmp_path / "seen"
    command = ("-m", "tests.support.tour")
    with Program(tmp_path, str(library), str(seen), size=(120, 36), command=command) as terminal:
        assert terminal.exit_code(60) == 0, terminal.state()
        check(terminal)
    assert set(seen.read_text().split()) == {screen.__name__ for screen in screens()}


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


@pytest.mark.exhaustive  # quick: widgets/test_search.py
@pytest.mark.parametrize("key", only_exhaustive(["/", "f"], quick=["/"]))
def test_such_text_can_be_searched_for(tmp_path: Path, library: Path, key: str):
    """Pasted, as nobody can type it; what was there before is selected, and replaced."""
    with Terminal(tmp_path, "attach", "--library", str(library), size=(120, 36)) as terminal:
        terminal.wait_for(_NEWEST)
        for number, text in enumerate(some(pieces(HOSTILE), 3)):
            terminal.press(key)
            terminal.wait_for("esc Close")
            terminal.write(f"\x1b[200~@{number}@{text}\x1b[201~")
            _wait_for_bytes(terminal, f"@{number}@".encode())
            terminal.press("enter", "escape")
            terminal.wait_without("esc Close")
        leave(terminal)


def _wait_for_bytes(terminal: Terminal, data: bytes) -> None:
    terminal.until(lambda: data in terminal.raw, f"{data!r} is drawn")


def marked_tape(library: Path, folder: Path) -> Path:
    """A tape in a folder with such a name, and beside it marks: some of their breakpoints hit, others
    cannot be read."""
    folder.mkdir()
    tape = folder / f"{NAME}.jsonl"
    shutil.copy(next(library.glob("tapes/*/*-good.jsonl")), tape)
    mark = {"step": 3, "read": 1, "time": 0.1, "note": HOSTILE}
    breakpoints = [
        r"machine:(?s).\]52;.{20}",
        f"no kind {HOSTILE}",
        f"state:{HOSTILE}",
        f"text:({HOSTILE}",
        "tool:*",
    ]
    marks = {"version": 1, "marks": [mark], "breakpoints": breakpoints, HOSTILE: HOSTILE}
    marks_of(tape).write_text(json.dumps(marks))
    return tape


@pytest.mark.exhaustive  # quick: replay/test_marks.py, test_hits.py
def test_marks_breakpoints_and_names_of_folders(tmp_path: Path, library: Path):
    """What is told in passing quotes them: why running stopped, what is wrong with a breakpoint, where a file
    was written."""
    home = tmp_path / NAME
    tape = marked_tape(library, tmp_path / f"of a stranger{NAME}")
    with Terminal(home, "replay", str(tape), size=(160, 50)) as terminal:
        terminal.wait_for("is not a breakpoint")  # merely opening it says so
        terminal.press("c")
        terminal.wait_for("breakpoint machine:")
        for key, sign in (
            ("M", "Remove"),
            ("b", "Remove"),
            ("\x10", "Search for commands"),
            ("w", "escape goes back"),
        ):
            terminal.press(key)
            terminal.wait_for(sign)
            terminal.press("down", "escape")
            terminal.wait_without(sign)
        terminal.press("!", "S")  # a variant
        terminal.wait_for("written to")
        terminal.press("]", "n")
        settle(terminal)
        leave(terminal)


@pytest.mark.exhaustive  # quick: what reaches the terminal above
def test_a_library_with_such_a_name(tmp_path: Path, library: Path):
    moved = tmp_path / f"library{NAME}"
    shutil.copytree(library, moved)
    with Terminal(tmp_path / NAME, "attach", "--library", str(moved), size=(160, 50)) as terminal:
        terminal.wait_for(_NEWEST)
        terminal.press("down", "C")
        settle(terminal)
        leave(terminal)


@pytest.mark.exhaustive  # quick: test_problem: hostile texts
def test_problems_that_name_such_a_folder(tmp_path: Path):
    """The screen that says what is wrong, before anything runs."""
    home = tmp_path / NAME
    home.mkdir()
    (home / "workbench.toml").write_text('[upstreams.x]\nurl = "http://127.0.0.1:9"\ndialect = "roo"\n')
    with Terminal(home, "--library", str(tmp_path / f"library{NAME}"), size=(120, 40)) as terminal:
        terminal.wait_for("Quit")
        leave(terminal)
