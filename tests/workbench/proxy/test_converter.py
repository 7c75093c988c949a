"""A transformer that fails, again and again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.bench import CALL, TOOLS
from tests.support.client import result
from tests.support.streams import stream_of
from workbench.proxy.relay import Converter
from workbench.tape.recipe import Recipe


def fails(*args: Any) -> Any:
    raise RuntimeError("ours \ud800")


@pytest.mark.parametrize("at", ["feed", "finish"])
def test_when_the_rescue_fails_as_well_the_client_is_told(monkeypatch: pytest.MonkeyPatch, at: str):
    converter = Converter(Recipe("roo-xml", tools=TOOLS))
    monkeypatch.setattr("workbench.proxy.relay.rescue", fails)
    monkeypatch.setattr(converter.transformer, at, fails)
    out = converter.feed(stream_of(CALL, done=False)) + converter.finish()
    got = result(out)
    assert got.error is not None and got.error["type"] == "workbench_error" and converter.ended
    assert converter.error is not None and "RuntimeError: ours" in converter.error["message"]
    assert converter.summary()["findings"]["transformer-failed"] == 1
    assert converter.feed(b"data: more\n\n") == converter.fail("x") == b""
