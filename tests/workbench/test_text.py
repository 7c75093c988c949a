"""Untrusted text on a terminal."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from tests.support.tiers import each_row
from workbench.text import json_text, visible_line, visible_text


@each_row(
    ("text", "line"),
    [
        ("plain <tag> [/x] {y}", "plain <tag> [/x] {y}"),
        ("\x1b[2J", r"\x1b[2J"),
        ("\x00\x07\x7f", r"\x00\x07\x7f"),
        ("\u009b31m\u0085", r"\x9b31m\x85"),
        ("a\r\nb\tc", r"a\r\nb\tc"),
        ("\u202eevil\u2066\ufeff\u200b", r"\u202eevil\u2066\ufeff\u200b"),
        ("\ud800", r"\ud800"),
        ("\U000e0041", r"\U000e0041"),
        ("日本 👩\u200d💻 ناقص", "日本 👩\u200d💻 ناقص"),
    ],
)
def test_what_would_steer_a_terminal_is_shown(text: str, line: str):
    assert visible_line(text) == line


def test_a_text_keeps_its_lines():
    assert visible_text("a\nb\rc\x1b\n") == "a\nb\\rc\\x1b\n"


@given(st.text(st.characters(codec=None)))
def test_json_reads_back_the_same_and_holds_nothing_dangerous(text: str):
    shown = json_text({"text": text, "n": 10**40})
    assert json.loads(shown) == {"text": text, "n": 10**40}
    assert visible_line(shown) == shown
    assert shown.encode("utf-8")
