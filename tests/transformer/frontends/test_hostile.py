"""Whatever stands in a request, it becomes a chat request; whatever upstream sends, the answer ends."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.apis import messages_result, responses_result
from tests.support.streams import sse
from transformer import StreamTransformer, transform_request
from transformer.answer.stream import rescue
from transformer.frontends import FRONTENDS
from transformer.parser.machine import Machine

EACH = pytest.mark.parametrize("frontend", FRONTENDS)
WORDS = (
    "type role content text name namespace tools tool_choice input output arguments call_id id function "
    "custom message function_call function_call_output reasoning tool_use tool_result thinking system "
    "user assistant additional_tools allowed_tools image source base64 url summary encrypted_content "
    "defer_loading messages functions tool_calls index delta stop_sequences previous_response_id include "
    "format grammar"
).split()
LEAF = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.sampled_from(WORDS)
    | st.text()
)
VALUE = st.recursive(
    LEAF,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=5),
    max_leaves=25,
)
BODY = st.dictionaries(st.sampled_from(WORDS) | st.text(max_size=5), VALUE, max_size=8)


@EACH
@given(body=BODY)
def test_a_request_of_any_shape(frontend: str, body: dict[str, Any]) -> None:
    before = json.dumps(body)
    for dialect in ("passthrough", "roo-xml"):
        new, _ = transform_request(body, dialect, frontend=frontend)
        assert isinstance(new, dict)
        json.dumps(new)
    assert json.dumps(body) == before, "the body that came was changed"


DELTA = st.dictionaries(
    st.sampled_from(["content", "reasoning", "reasoning_content", "role", "tool_calls", "refusal", "odd"]),
    VALUE,
)


@pytest.mark.parametrize(
    ("frontend", "read"), [("responses", responses_result), ("messages", messages_result)]
)
@given(deltas=st.lists(DELTA, max_size=5))
def test_a_stream_of_any_shape(frontend: str, read: Any, deltas: list[Any]) -> None:
    data = sse(*({"choices": [{"index": 0, "delta": delta}]} for delta in deltas))
    request = {"model": "m", "stream": True, "input": "", "messages": []}
    t = StreamTransformer("passthrough", request=request, frontend=frontend)
    read(t.feed(data) + t.finish())


@pytest.mark.parametrize(
    ("frontend", "read"), [("responses", responses_result), ("messages", messages_result)]
)
@pytest.mark.parametrize("fails_at", [3, 9, 14])
def test_a_rescued_answer_goes_on_in_the_same_words(
    frontend: str, read: Any, fails_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bug in a dialect: what the client has stays, the rest comes as text, and nothing comes twice."""
    text = "Let me read it. <read>\n<path>a</path>\n</read> Then we shall see."
    events = [
        sse({"choices": [{"index": 0, "delta": {"content": text[at : at + 4]}}]}, done=False)
        for at in range(0, len(text), 4)
    ]
    tools = [{"type": "function", "name": "read", "input_schema": {}, "parameters": {}}]
    request = {"model": "m", "stream": True, "input": "", "messages": [], "tools": tools}
    policy = {"after_call": "keep"}
    t = StreamTransformer("roo-xml", policy=policy, request=request, frontend=frontend)
    out, number = b"", 0
    feed = Machine.feed

    def failing(machine: Machine, piece: str) -> None:
        nonlocal number
        number += 1
        if number == fails_at:
            raise RuntimeError("a bug")
        feed(machine, piece)

    monkeypatch.setattr(Machine, "feed", failing)
    for at, event in enumerate(events):
        try:
            out += t.feed(event)
        except RuntimeError as error:
            t, rest = rescue(t, events[: at + 1], error)
            out += rest
    out += t.finish()
    got = read(out)
    assert got.error is None
    if fails_at == 14:  # the call was complete
        assert [name for name, _ in got.calls] == ["read"]
        assert got.content.replace(" ", "") == "Letmereadit.Thenweshallsee."
    else:
        assert got.content == text and not got.calls
