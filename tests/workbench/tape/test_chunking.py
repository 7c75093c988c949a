"""Cutting a stream into reads."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.tiers import each_row
from workbench.errors import UserError
from workbench.tape.inputs import Chunking

WAYS = ["1", "3", "bytes", "lines", "random:7", "random:x"]


@each_row(
    ("way", "pieces"),
    [
        ("bytes", [b"a", b"\r", b"\n", b"b", b"\n", b"\r", b"c"]),
        ("3", [b"a\r\n", b"b\n\r", b"c"]),
        ("lines", [b"a\r\n", b"b\n", b"\r", b"c"]),
        ("100", [b"a\r\nb\n\rc"]),
    ],
)
def test_the_pieces(way: str, pieces: list[bytes]):
    assert list(Chunking.parse(way).cut(b"a\r\nb\n\rc")) == pieces


def test_lines_end_where_sse_lines_end():
    text = "a\u2028b\u0085c\x0bd\x0ce\n\nf"
    assert list(Chunking.parse("lines").cut(text)) == ["a\u2028b\u0085c\x0bd\x0ce\n", "\n", "f"]


@pytest.mark.parametrize("way", WAYS)
@given(data=st.binary(), text=st.text())
def test_the_pieces_join_to_the_whole_and_none_is_empty(way: str, data: bytes, text: str):
    chunking = Chunking.parse(way)
    assert b"".join(chunking.cut(data)) == data
    assert "".join(chunking.cut(text)) == text
    assert all(chunking.cut(data)) and all(chunking.cut(text))


def test_a_seed_is_one_way_to_cut():
    data = bytes(1000)
    one, again, other = (list(Chunking.parse(f"random:{seed}").cut(data)) for seed in "112")
    assert one == again != other


@each_row("way", ["", "0", "-1", "1.5", "٣", "x", "random", "random:", "Lines", "9" * 30])
def test_what_is_no_way_to_cut(way: str):
    with pytest.raises(UserError, match="--chunk is"):
        Chunking.parse(way)
