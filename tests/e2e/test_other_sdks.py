"""The real SDKs of the other APIs through the real proxy: openai's Responses and anthropic's Messages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.e2e.dialogues import Call, written
from tests.e2e.errands import DIALECTS
from tests.e2e.replays import check_replay
from tests.support import http
from tests.support.bench import wait_for
from tests.support.proxies import Proxy, running_proxy
from tests.support.sdks import anthropic, openai
from tests.support.streams import JSON, META, message, stream_of
from tests.support.tiers import each_row, only_exhaustive
from tests.support.upstream.answers import Answer, Close, failure, stream, whole
from tests.support.upstream.connection import Seen
from tests.support.upstream.server import ScriptedUpstream
from workbench.tape.format import Tape
from workbench.tape.inputs import Chunking

SCHEMA = {
    "type": "object",
    "properties": {"filePath": {"type": "string"}, "content": {"type": "string"}},
    "required": ["filePath", "content"],
    "additionalProperties": False,
}
CALLS = [
    Call("write", {"filePath": "/tmp/a b.txt", "content": "1 < 2 & 'x'\n\"日本\" \\n <b>\n</content>!\n"}),
    Call("write", {"filePath": "/tmp/c.txt", "content": "true && echo '<ok>'"}),
]
SENTENCE = "the upstream's own words: 1 < 2"
USAGE = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}


@dataclass(frozen=True, slots=True)
class Got:
    """What a way of asking gave."""

    content: str
    calls: list[tuple[str, Any]]
    end: str | None
    tokens: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Setting:
    """A dialect, which is the name of a model too, and the proxy and upstream that all dialects share."""

    dialect: str
    upstream: ScriptedUpstream
    proxy: Proxy

    @property
    def calls(self) -> list[Call]:
        return CALLS[:1] if self.dialect == "roo-xml" else CALLS

    def last_tape(self) -> Tape:
        """That of the last request; every one that upstream has seen has one."""
        asked = sum(
            seen.method == "POST" and seen.json["model"] == self.dialect for seen in self.upstream.requests
        )

        def last() -> Tape | None:
            tapes = [tape for tape in self.proxy.tapes() if tape.header["request"]["model"] == self.dialect]
            return tapes[-1] if sum(tape.complete for tape in tapes) >= asked else None

        tape: Tape = wait_for(last, f"tape {asked} of {self.dialect}")
        return tape


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ScriptedUpstream, Proxy]]:
    with ScriptedUpstream() as upstream:
        toml = "".join(
            f'[upstreams.{name}]\nurl = "{upstream.url}"\nserves = ["{name}"]\ndialect = "{name}"\n'
            for name in DIALECTS
        )
        with running_proxy(tmp_path_factory.mktemp("served"), None, toml=toml) as proxy:
            yield upstream, proxy


@pytest.fixture(scope="module", params=DIALECTS)
def setting(request: pytest.FixtureRequest, served: tuple[ScriptedUpstream, Proxy]) -> Setting:
    return Setting(request.param, *served)


# -- the openai SDK


def openai_client(to: Setting) -> Any:
    """Untyped: what is asked and answered are plain dictionaries here."""
    http_client = openai.DefaultHttpxClient(verify=http.NO_CERTIFICATES)
    return openai.OpenAI(
        base_url=to.proxy.url, api_key="sk-sdk", max_retries=0, timeout=30, http_client=http_client
    )


def ask_response(to: Setting, **more: Any) -> JSON:
    tool = {"type": "function", "name": "write", "parameters": SCHEMA, "strict": True}
    return {"model": to.dialect, "input": "Go on.", "tools": [tool], **more}


def of_response(response: Any) -> Got:
    calls = [item for item in response.output if item.type == "function_call"]
    assert len({item.id for item in response.output}) == len(response.output)
    made = [(call.name, json.loads(call.arguments)) for call in calls]
    usage = response.usage
    return Got(response.output_text, made, response.status, (usage.input_tokens, usage.output_tokens))


def response_created(to: Setting) -> Got:
    with openai_client(to) as client:
        return of_response(client.responses.create(**ask_response(to)))


def response_streamed(to: Setting) -> Got:
    with openai_client(to) as client:
        *_, last = client.responses.create(**ask_response(to), stream=True)
    assert last.type == "response.completed"
    return of_response(last.response)


def response_helped(to: Setting) -> Got:
    with openai_client(to) as client, client.responses.stream(**ask_response(to)) as events:
        texts = [event.delta for event in events if event.type == "response.output_text.delta"]
        final = events.get_final_response()
    assert "".join(texts) == final.output_text
    return of_response(final)


# -- the anthropic SDK


def anthropic_client(to: Setting) -> Any:
    http_client = anthropic.DefaultHttpxClient(verify=http.NO_CERTIFICATES)
    return anthropic.Anthropic(
        base_url=to.proxy.base, api_key="sk-sdk", max_retries=0, timeout=30, http_client=http_client
    )


def ask_message(to: Setting, **more: Any) -> JSON:
    messages = [{"role": "user", "content": "Go on."}]
    tool = {"name": "write", "input_schema": SCHEMA}
    return {"model": to.dialect, "max_tokens": 100, "messages": messages, "tools": [tool], **more}


def of_message(message: Any) -> Got:
    text = "".join(block.text for block in message.content if block.type == "text")
    made = [(block.name, block.input) for block in message.content if block.type == "tool_use"]
    return Got(text, made, message.stop_reason, (message.usage.input_tokens, message.usage.output_tokens))


def message_created(to: Setting) -> Got:
    with anthropic_client(to) as client:
        return of_message(client.messages.create(**ask_message(to)))


def message_beta(to: Setting) -> Got:
    """The path that Claude Code uses too: `?beta=true`."""
    with anthropic_client(to) as client:
        return of_message(client.beta.messages.create(**ask_message(to)))


def message_helped(to: Setting) -> Got:
    with anthropic_client(to) as client, client.messages.stream(**ask_message(to)) as events:
        texts = [event.text for event in events if event.type == "text"]
        final = events.get_final_message()
    got = of_message(final)
    assert "".join(texts) == got.content
    return got


WAYS: list[Callable[[Setting], Got]] = [
    response_created,
    response_streamed,
    response_helped,
    message_created,
    message_beta,
    message_helped,
]
STREAMING = [response_streamed, response_helped, message_helped]


@pytest.mark.parametrize(
    "chunking", only_exhaustive(["bytes", "random:sdk", "1000000"], quick=["random:sdk"])
)
@pytest.mark.parametrize("way", WAYS)
def test_each_way_gets_the_same_calls(setting: Setting, way, chunking: str):
    said = "I do it.\n\n" + written(setting.dialect, setting.calls)

    def answer(seen: Seen) -> Answer:
        assert (seen.path, seen.header("authorization")) == ("/v1/chat/completions", "Bearer sk-sdk")
        assert seen.header("x-api-key") is None and seen.header("anthropic-version") is None
        if not seen.json.get("stream"):
            return whole({**message(said), "usage": USAGE})
        return stream(Chunking.parse(chunking).cut(stream_of(said, 9, meta=META, usage=USAGE)))

    setting.upstream.answer_with(answer)
    got = way(setting)
    assert (got.content, got.tokens) == ("I do it.", (3, 4))
    assert got.calls == [(call.name, dict(call.arguments)) for call in setting.calls]
    assert got.end == ("completed" if "response" in way.__name__ else "tool_use")


@each_row("way", STREAMING)
def test_their_tapes_replay_to_what_was_sent(setting: Setting, way):
    said = written(setting.dialect, setting.calls)
    setting.upstream.answer_with(lambda seen: stream(stream_of(said, usage=USAGE)))
    way(setting)
    tape = setting.last_tape()
    assert tape.header["frontend"] == ("responses" if "response" in way.__name__ else "messages")
    check_replay(tape)


@each_row(
    ("status", "kind", "error"),
    [
        (400, "BadRequestError", "invalid_request_error"),
        (401, "AuthenticationError", "authentication_error"),
        (403, "PermissionDeniedError", "permission_error"),
        (404, "NotFoundError", "not_found_error"),
        (429, "RateLimitError", "rate_limit_error"),
        (500, "InternalServerError", "api_error"),
    ],
)
@each_row("way", only_exhaustive(WAYS, quick=[response_streamed, message_helped]))
def test_an_error_of_upstream_is_the_right_exception(
    setting: Setting, way, status: int, kind: str, error: str
):
    said = {"message": SENTENCE, "type": "x", "param": None, "code": "c"}
    setting.upstream.answer_with(lambda seen: failure(status, {"error": said}))
    sdk = openai if "response" in way.__name__ else anthropic
    with pytest.raises(getattr(sdk, kind), match=SENTENCE) as caught:
        way(setting)
    assert caught.value.status_code == status
    if sdk is anthropic:
        assert caught.value.body["type"] == "error" and caught.value.body["error"]["type"] == error
    else:
        assert caught.value.code == "c"


@each_row("way", STREAMING)
def test_a_stream_that_breaks_off_is_told(setting: Setting, way):
    text = "I do it.\n\n" + written(setting.dialect, setting.calls)[:60]
    cut = stream_of(text, 4, meta=META, finish=None, done=False)
    setting.upstream.answer_with(lambda seen: stream(cut, end=Close()))
    if way is message_helped:
        with pytest.raises(anthropic.APIStatusError, match="upstream"):
            way(setting)
    else:
        with openai_client(setting) as client:
            *_, last = client.responses.create(**ask_response(setting), stream=True)
        assert last.type == "response.failed" and "upstream" in last.response.error.message
    check_replay(setting.last_tape())


def leave_response(to: Setting) -> None:
    with openai_client(to) as client:
        events = client.responses.create(**ask_response(to), stream=True)
        next(iter(events))
        events.close()


def leave_message(to: Setting) -> None:
    with anthropic_client(to) as client:
        events = client.messages.create(**ask_message(to), stream=True)
        next(iter(events))
        events.close()


@pytest.mark.parametrize("way", [leave_response, leave_message])
def test_a_client_that_leaves_ends_the_request_to_upstream(setting: Setting, way):
    setting.upstream.answer_with(lambda seen: stream(stream_of("I begin", finish=None, done=False), end=None))
    before = len(setting.upstream.disconnects)
    way(setting)
    setting.upstream.wait_for_disconnects(before + 1)
    end = setting.last_tape().end
    assert end is not None and end.value["end"] == "cancelled"


def results(seen: Seen) -> str:
    """Everything that was said to the model, as one text."""
    return json.dumps(seen.json["messages"], ensure_ascii=False)


def test_a_loop_with_responses_by_id(setting: Setting):
    """Only what is new is sent; the proxy knows the rest, call and result alike."""
    said = written(setting.dialect, setting.calls[:1])
    setting.upstream.answer_with(lambda seen: stream(stream_of(said, usage=USAGE)))
    with openai_client(setting) as client:
        *_, last = client.responses.create(**ask_response(setting, instructions="Be short."), stream=True)
        (call,) = [item for item in last.response.output if item.type == "function_call"]
        setting.upstream.answer_with(lambda seen: whole({**message("Done."), "usage": USAGE}))
        result = {"type": "function_call_output", "call_id": call.call_id, "output": "written: 7 bytes"}
        then = client.responses.create(
            **ask_response(
                setting, input=[result], previous_response_id=last.response.id, instructions="Be long."
            )
        )
        assert then.output_text == "Done." and then.previous_response_id == last.response.id
        told = results(setting.upstream.requests[-1])
        assert told.index("Go on.") < told.index("/tmp/a b.txt") < told.index("written: 7 bytes")
        assert "Be long." in told and "Be short." not in told
        with pytest.raises(openai.BadRequestError, match="resp_unknown") as caught:
            client.responses.create(**ask_response(setting, previous_response_id="resp_unknown"))
        assert caught.value.code == "previous_response_not_found"


def test_a_loop_with_messages_and_ids_that_never_come_again(setting: Setting):
    said = written(setting.dialect, setting.calls[:1])
    setting.upstream.answer_with(lambda seen: stream(stream_of(said, usage=USAGE)))
    ids: list[str] = []
    messages: list[Any] = [{"role": "user", "content": "Go on."}]
    with anthropic_client(setting) as client:
        for number in range(3):
            with client.messages.stream(**ask_message(setting, messages=messages)) as events:
                final = events.get_final_message()
            (call,) = [block for block in final.content if block.type == "tool_use"]
            ids += [final.id, call.id]
            result = {"type": "tool_result", "tool_use_id": call.id, "content": f"result {number}"}
            messages += [
                {"role": "assistant", "content": final.content},
                {"role": "user", "content": [result]},
            ]
    assert len(set(ids)) == 6 and ids[1].startswith("toolu_") and ids[0].startswith("msg_")
    told = results(setting.upstream.requests[-1])
    assert told.index("result 0") < told.index("result 1")


def test_tokens_are_counted_about_where_upstream_has_no_messages(setting: Setting):
    before = len(setting.upstream.requests)
    ask = ask_message(setting)
    ask.pop("max_tokens")
    with anthropic_client(setting) as client:
        short = client.messages.count_tokens(**ask).input_tokens
        ask["messages"] = [{"role": "user", "content": "word " * 1000}]
        long = client.messages.count_tokens(**ask).input_tokens
    assert 20 < short < 200 and 1000 < long - short < 1500
    assert len(setting.upstream.requests) == before


def test_both_find_the_models(setting: Setting):
    """Each upstream lists all three, and serves the one that is routed to it."""
    data = [{"id": name, "object": "model", "created": 1, "owned_by": "x"} for name in DIALECTS]
    setting.upstream.answer_with(lambda seen: whole({"object": "list", "data": data}))
    with openai_client(setting) as client:
        assert sorted(model.id for model in client.models.list()) == sorted(DIALECTS)
    answer = http.get(f"{setting.proxy.base}/v1/models", headers={"x-api-key": "sk"})
    listed = answer.json()
    assert listed["object"] == "list"
    assert sorted(listed["data"], key=lambda model: DIALECTS.index(model["id"])) == data
