"""The real openai SDK through the real proxy: each of its ways to ask gets the same calls."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.e2e.dialogues import Call, written
from tests.e2e.replays import check_replay
from tests.support.http import NO_CERTIFICATES
from tests.support.proxies import Proxy, running_proxy
from tests.support.sdks import openai
from tests.support.streams import JSON, META, message, stream_of, tool
from tests.support.tiers import each_row, only_exhaustive
from tests.support.upstream.answers import Answer, Close, failure, stream, whole
from tests.support.upstream.connection import Seen
from tests.support.upstream.server import ScriptedUpstream, free_port
from workbench.tape.format import Tape
from workbench.tape.inputs import Chunking

STRING = {"type": "string"}
# The SDK's stream() takes only strict tools.
TOOLS = [
    {"type": "function", "function": {**one["function"], "strict": True}}
    for one in (
        tool("write", {"filePath": STRING, "content": STRING}, additionalProperties=False),
        tool("bash", {"command": STRING}, additionalProperties=False),
    )
]
ASK: JSON = {"model": "m", "messages": [{"role": "user", "content": "Go on."}], "tools": TOOLS}
CALLS = [
    Call("write", {"filePath": "/tmp/a b.txt", "content": "1 < 2 & 'x'\n\"日本\" \\n <b>\n</content>!\n"}),
    Call("bash", {"command": "true && echo '<ok>'"}),
]
SENTENCE = "the upstream's own words: 1 < 2"


@dataclass(frozen=True, slots=True)
class Got:
    """What a way of asking gave."""

    content: str
    calls: list[tuple[str, Any]]
    finish: str | None


def of_chunks(chunks: Iterable[Any]) -> Got:
    """What most people's code does with the chunks of create(stream=True)."""
    content, finish = "", None
    calls: dict[int, list[str]] = {}
    for choice in (choice for chunk in chunks for choice in chunk.choices):
        content += choice.delta.content or ""
        finish = choice.finish_reason or finish
        for call in choice.delta.tool_calls or []:
            if call.function.name:
                calls[call.index] = [call.function.name, ""]
            calls[call.index][1] += call.function.arguments or ""
    return Got(content, [(name, json.loads(text)) for name, text in calls.values()], finish)


def of_completion(completion: Any) -> Got:
    (choice,) = completion.choices
    calls = choice.message.tool_calls or []
    ids = [call.id for call in calls]
    assert len(set(ids)) == len(ids)
    made = [(call.function.name, json.loads(call.function.arguments)) for call in calls]
    return Got(choice.message.content or "", made, choice.finish_reason)


def created(client: openai.OpenAI) -> Got:
    return of_completion(client.chat.completions.create(**ASK))


def streamed(client: openai.OpenAI) -> Got:
    return of_chunks(client.chat.completions.create(**ASK, stream=True))


def helped(client: openai.OpenAI) -> Got:
    with client.chat.completions.stream(**ASK) as events:
        return of_completion(events.get_final_completion())


async def created_async(client: openai.AsyncOpenAI) -> Got:
    return of_completion(await client.chat.completions.create(**ASK))


async def streamed_async(client: openai.AsyncOpenAI) -> Got:
    chunks = await client.chat.completions.create(**ASK, stream=True)
    return of_chunks([chunk async for chunk in chunks])


async def helped_async(client: openai.AsyncOpenAI) -> Got:
    async with client.chat.completions.stream(**ASK) as events:
        return of_completion(await events.get_final_completion())


WAYS: list[Callable[[Any], Any]] = [created, streamed, helped, created_async, streamed_async, helped_async]
STREAMING = [streamed, helped, streamed_async, helped_async]


OPTIONS: dict[str, Any] = {"api_key": "sk-sdk", "max_retries": 0, "timeout": 30}


def openai_client(url: str) -> openai.OpenAI:
    """As the SDK makes its own, but for the certificates that it would read."""
    http_client = openai.DefaultHttpxClient(verify=NO_CERTIFICATES)
    return openai.OpenAI(base_url=url, http_client=http_client, **OPTIONS)


def ask(way: Callable[[Any], Any], url: str) -> Got:
    """One request, never repeated by the SDK."""
    if not asyncio.iscoroutinefunction(way):
        with openai_client(url) as client:
            return way(client)  # type: ignore[no-any-return]

    async def once() -> Got:
        http_client = openai.DefaultAsyncHttpxClient(verify=NO_CERTIFICATES)
        async with openai.AsyncOpenAI(base_url=url, http_client=http_client, **OPTIONS) as client:
            return await way(client)  # type: ignore[no-any-return]

    return asyncio.run(once())


@dataclass(frozen=True, slots=True)
class Setting:
    """A proxy of one dialect, and the upstream behind it."""

    dialect: str
    upstream: ScriptedUpstream
    proxy: Proxy

    @property
    def calls(self) -> list[Call]:
        return CALLS[:1] if self.dialect == "roo-xml" else CALLS

    def last_tape(self) -> Tape:
        """That of the last request; every POST has one."""
        return self.proxy.tapes(sum(seen.method == "POST" for seen in self.upstream.requests))[-1]


@pytest.fixture(scope="module", params=["roo-xml", "qwen3-coder", "kimi-k2"])
def setting(request, tmp_path_factory) -> Iterator[Setting]:
    folder = tmp_path_factory.mktemp(request.param)
    with ScriptedUpstream() as upstream, running_proxy(folder, upstream, request.param) as proxy:
        yield Setting(request.param, upstream, proxy)


@pytest.mark.parametrize(
    "chunking", only_exhaustive(["bytes", "random:sdk", "1000000"], quick=["random:sdk"])
)
@pytest.mark.parametrize("way", WAYS)
def test_each_way_gets_the_same_calls(setting: Setting, way, chunking: str):
    said = "I do it.\n\n" + written(setting.dialect, setting.calls)

    def answer(seen: Seen) -> Answer:
        if not seen.json.get("stream"):
            return whole(message(said))
        return stream(Chunking.parse(chunking).cut(stream_of(said, 9, meta=META)))

    setting.upstream.answer_with(answer)
    wanted = [(call.name, dict(call.arguments)) for call in setting.calls]
    assert ask(way, setting.proxy.url) == Got("I do it.", wanted, "tool_calls")


def test_its_tapes_replay_to_what_was_sent(setting: Setting):
    setting.upstream.answer_with(lambda seen: stream(stream_of(written(setting.dialect, setting.calls))))
    ask(streamed, setting.proxy.url)
    check_replay(setting.last_tape())


@each_row(
    ("status", "kind"),
    [
        (400, "BadRequestError"),
        (401, "AuthenticationError"),
        (403, "PermissionDeniedError"),
        (404, "NotFoundError"),
        (422, "UnprocessableEntityError"),
        (429, "RateLimitError"),
        (500, "InternalServerError"),
        (503, "InternalServerError"),
    ],
)
@each_row("way", only_exhaustive([created, streamed, helped_async], quick=[streamed]))
def test_an_error_of_upstream_is_the_right_exception(setting: Setting, way, status: int, kind: str):
    error = {"message": SENTENCE, "type": "invalid_request_error", "param": None, "code": "c"}
    setting.upstream.answer_with(lambda seen: failure(status, {"error": error}))
    with pytest.raises(openai.APIStatusError, match=SENTENCE) as caught:
        ask(way, setting.proxy.url)
    assert (type(caught.value), caught.value.status_code) == (getattr(openai, kind), status)
    assert caught.value.code == "c"


@each_row("way", WAYS)
def test_a_page_instead_of_an_answer_is_an_exception_with_its_status(setting: Setting, way):
    page = f"<html><title>502 Bad Gateway</title><p>{SENTENCE}</p></html>"
    setting.upstream.answer_with(lambda seen: failure(502, page, "text/html"))
    with pytest.raises(openai.InternalServerError) as caught:
        ask(way, setting.proxy.url)
    assert caught.value.status_code == 502
    assert isinstance(caught.value.body, dict) and caught.value.body["message"]


def test_no_upstream_is_a_502_that_says_what_to_do(tmp_path):
    port = free_port()
    with running_proxy(tmp_path, f"http://127.0.0.1:{port}/v1", "roo-xml") as proxy:
        for way in WAYS:
            with pytest.raises(openai.InternalServerError, match=str(port)) as caught:
                ask(way, proxy.url)
            assert caught.value.status_code == 502


@each_row("way", STREAMING)
def test_a_stream_that_breaks_off_is_an_exception(setting: Setting, way):
    text = "I do it.\n\n" + written(setting.dialect, setting.calls)[:60]
    cut = stream_of(text, 4, meta=META, finish=None, done=False)
    setting.upstream.answer_with(lambda seen: stream(cut, end=Close()))
    with pytest.raises(openai.APIError) as caught:
        ask(way, setting.proxy.url)
    assert type(caught.value) is openai.APIError
    assert len(caught.value.message.split()) > 3


def leave(client: openai.OpenAI) -> None:
    chunks = client.chat.completions.create(**ASK, stream=True)
    next(iter(chunks))
    chunks.close()


async def leave_async(client: openai.AsyncOpenAI) -> None:
    chunks = await client.chat.completions.create(**ASK, stream=True)
    await anext(aiter(chunks))
    await chunks.close()


@pytest.mark.parametrize("way", [leave, leave_async])
def test_a_client_that_leaves_ends_the_request_to_upstream(setting: Setting, way):
    setting.upstream.answer_with(lambda seen: stream(stream_of("I begin", finish=None, done=False), end=None))
    before = len(setting.upstream.disconnects)
    ask(way, setting.proxy.url)
    setting.upstream.wait_for_disconnects(before + 1)
    end = setting.last_tape().end
    assert end is not None and end.value["end"] == "cancelled"


def test_other_endpoints_are_relayed(setting: Setting):
    listed = {"object": "list", "data": [{"id": "m", "object": "model", "created": 1, "owned_by": "x"}]}
    embedded = {
        "object": "list",
        "model": "e",
        "data": [{"object": "embedding", "index": 0, "embedding": [0.5]}],
        "usage": {"prompt_tokens": 1, "total_tokens": 1},
    }
    setting.upstream.answer_with(lambda seen: whole(listed if seen.method == "GET" else embedded))
    with openai_client(setting.proxy.url) as client:
        assert [model.id for model in client.models.list()] == ["m"]
        assert client.embeddings.create(model="e", input="x", encoding_format="float").data[0].embedding == [
            0.5
        ]
    assert [seen.path for seen in setting.upstream.requests[-2:]] == ["/v1/models", "/v1/embeddings"]
