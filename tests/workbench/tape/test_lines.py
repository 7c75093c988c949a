"""The cheap way to write a line says the same as the careful one."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.tiers import each_row
from workbench.tape.format import Line, data_line, dump_line, encode_line, read_line, sent_line

HIDDEN = {"\x1b", "\x7f", "\u009b", "\u202e", "\u2028", "\ufeff", "\U000e0041"}


@given(st.binary() | st.text().map(str.encode), st.floats(0, 1e6), st.sampled_from([None, "proxy"]))
def test_reads_and_writes(data: bytes, t: float, by: str | None):
    assert json.loads(data_line("read", t, data)) == json.loads(dump_line(read_line(t, data)))
    sent = data_line("sent", t, data, by)
    assert json.loads(sent) == json.loads(dump_line(sent_line(t, data, by)))
    assert Line(json.loads(sent)).data == data
    assert sent.count(b"\n") == 1
    assert not HIDDEN & set(sent.decode())


@each_row("character", sorted(HIDDEN))
def test_nothing_that_steers_a_terminal(character: str):
    for text in (f"x{character}", "é" * 40_000 + character, character + "é" * 40_000):
        for written in (data_line("read", 1, text.encode()), encode_line({"tape": 1, "about": text})):
            assert character not in written.decode()
            assert text in json.loads(written).values()


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), VALUES.filter(lambda value: "inf" not in repr(value)), max_size=4))
def test_headers(value: dict[str, Any]):
    written = encode_line(value)
    assert json.loads(written) == json.loads(dump_line(value)) == value
    assert written.count(b"\n") == 1
