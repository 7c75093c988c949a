"""Brackets counted as they come say the same as a parser that has everything."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.jsonscan import Wholeness

VALUES = st.recursive(
    st.text() | st.integers() | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=8), VALUES, max_size=4), st.integers(1, 7))
def test_it_is_whole_at_its_end_and_not_before(value: dict[str, object], size: int):
    text = json.dumps(value, ensure_ascii=False)
    seen = Wholeness()
    assert not seen.whole
    for at in range(0, len(text), size):
        seen.feed(text[at : at + size])
        assert seen.whole is (at + size >= len(text))
        assert seen.clone().whole is seen.whole


@pytest.mark.parametrize("text", ["", "  ", '{"a": "}', '{"a": "\\"}', '{"a": [1, {}', '{"a\\\\": "\\\\'])
def test_what_is_not_whole(text: str):
    seen = Wholeness()
    for character in text:
        seen.feed(character)
    assert not seen.whole
