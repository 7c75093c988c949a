"""Nothing in a text can steer the terminal or be taken for markup."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.strip import Strip

from tests.support.screens import notifications_of
from workbench.ui.app import WorkbenchApp
from workbench.ui.display import ControlFilter, content, paragraph, segments, strip_of, wrapped

PLAIN = Style()
HOSTILE = "a\x1b[31m\x9b2J\x00\x7f\u202e\u2066\ud800[/x][@click=app.quit]b\x07\n\t"


def shown(text: str) -> str:
    return "".join(segment.text for segment in segments(text, PLAIN))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("a\nb\tc\rd", "a↵b⇥c␍d"),
        ("\x1b[0m", "\\x1b[0m"),
        ("\x9b\x85\x00\x7f", "\\x9b\\x85\\x00\\x7f"),
        ("\u202eabc\u2066", "\\u202eabc\\u2066"),
        ("\ud800", "\\ud800"),
        ("[/bold][@click=x]", "[/bold][@click=x]"),
        ("日本 🎉 é", "日本 🎉 é"),
    ],
)
def test_what_is_shown(text: str, expected: str):
    assert shown(text) == expected


@given(st.text(st.characters()))
def test_only_printable_characters_are_drawn(text: str):
    for character in shown(text):
        assert character.isprintable() or character in "\xa0\u200c\u200d\xad" or ord(character) > 0x2FF, repr(
            character
        )
    assert "\x1b" not in shown(text)


@given(st.lists(st.text(st.characters(), max_size=30), max_size=5), st.integers(1, 40))
def test_a_line_is_as_wide_as_its_widget(texts: list[str], width: int):
    strip = strip_of([(text, PLAIN) for text in texts], width, PLAIN)
    assert cell_len(strip.text) == width == strip.cell_length


@given(st.lists(st.text(st.characters(), max_size=60), max_size=5), st.integers(2, 20), st.integers(1, 5))
def test_wrapped_lines_are_all_as_wide_and_not_too_many(texts: list[str], width: int, most: int):
    strips: list[Strip] = wrapped([(text, PLAIN) for text in texts], width, most, PLAIN)
    assert 1 <= len(strips) <= most
    assert all(cell_len(strip.text) == width for strip in strips)


def test_wrapping_loses_nothing_when_there_is_room():
    text = "some words, 日本語 and \x1b more " * 10
    strips = wrapped([(text, PLAIN)], 17, 100, PLAIN)
    assert "".join(strip.text for strip in strips).replace(" ", "") == shown(text).replace(" ", "")


def test_content_is_no_markup():
    assert content(HOSTILE).plain == content(HOSTILE).plain.replace("\x1b", "")
    assert "[@click=app.quit]" in content(HOSTILE).plain and not content(HOSTILE).spans
    assert paragraph("a\nb\x1b").plain == "a\nb\\x1b"


def test_what_somebody_forgot_is_drawn_as_a_replacement_character():
    forgotten = [Segment("plain "), Segment("a\x1b]0;x\x07b\u202e"), Segment("\x1b[1A", None, [])]
    drawn = ControlFilter().apply(forgotten, Color(0, 0, 0))
    assert [segment.text for segment in drawn] == ["plain ", "a\ufffd]0;x\ufffdb\ufffd", "\ufffd[1A"]
    safe = [Segment("safe \\x1b 🙂")]
    assert ControlFilter().apply(safe, Color(0, 0, 0)) is safe


async def test_a_toast_is_safe_whoever_sends_it(tmp_path: Path):
    """Screens and widgets call their own notify, which ends in the application's."""
    app = WorkbenchApp(tmp_path)
    async with app.run_test() as pilot:
        for sender in (app, app.screen, app.screen.focused or app.screen):
            sender.notify("\x1b]0;x\x07[/x] [@click=app.quit]a", title="\x9b1m\u202e", markup=True)
        await pilot.pause()
        told = [(one.message, one.title, one.markup) for one in notifications_of(app)]
    assert told
    assert set(told) == {("\\x1b]0;x\\x07[/x] [@click=app.quit]a", "\\x9b1m\\u202e", False)}
