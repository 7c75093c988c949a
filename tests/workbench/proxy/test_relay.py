"""The stream between upstream and client: at once, whole, on tape, and alive."""

from __future__ import annotations

import gzip
import json
import time
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import brotli
import httpx
import pytest
import zstandard

from tests.support import http
from tests.support.bench import CALL, COMMENT, HEAD, QUICK, TOOLS, Bench, by_transformer, replayed, wait_for
from tests.support.client import message_result, result
from tests.support.proxies import running_proxy
from tests.support.streams import chunk, message, sse, stream_of
from tests.support.tiers import each_row, exhaustive
from tests.support.upstream.answers import Answer, Close, Finish, Flood, Gate, Head, Send, Step, stream, whole
from tests.support.upstream.server import ScriptedUpstream
from workbench.analysis.verdicts import facts_of_player, verdict
from workbench.replay.player import Player
from workbench.tape.format import Tape

EVENTS = [Send(part + b"\n\n") for part in stream_of(CALL).split(b"\n\n")[:-1]]
DATA = stream_of(CALL)


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


def without_comments(data: Iterable[bytes]) -> bytes:
    return b"".join(data).replace(COMMENT, b"")


@each_row("size", [1, 13, 100, 100_000])
def test_any_cut_gives_the_same_call_and_the_tape_explains_every_byte(bench: Bench, size: int):
    response = bench.ask(stream(cut(DATA, size)))
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/event-stream")
    got = result(without_comments([response.content]))
    assert (got.content, got.calls, got.finish_reason) == (
        "Hello",
        [("read_file", '{"path":"a.py"}')],
        "tool_calls",
    )
    tape = bench.tape()
    assert b"".join(tape.reads) == DATA
    assert b"".join(tape.sent) == response.content
    assert replayed(tape) == by_transformer(tape)
    assert tape.end is not None and tape.end.value["end"] == "done" and tape.end.value["calls"] == 1
    assert tape.header["upstream_request"]["messages"][0]["role"] == "system"
    assert tape.header["request"]["tools"] == TOOLS


def test_each_read_is_written_on_at_once(bench: Bench):
    """The next read is not sent before the client has what the one before it became."""
    words = ["one ", "two ", "three "]
    steps: list[Step] = []
    for number, word in enumerate(words):
        steps += [Send(sse(chunk(word), done=False)), Gate(f"word {number}")]
    with bench.asking(Answer([HEAD, *steps, Send(sse()), Finish()])) as response:
        lines = response.iter_lines()
        for number, word in enumerate(words):
            line = next(line for line in lines if line.startswith("data: "))
            # Whitespace waits for what comes next, it may precede a call; all else is there at once.
            said = json.loads(line[6:])["choices"][0]["delta"]["content"]
            assert word.strip() in said
            bench.upstream.open(f"word {number}")
        assert list(lines)[-2] == "data: [DONE]"
    tape = bench.tape()
    assert len(tape.reads) == 4
    times = [line.t for line in tape.lines]
    assert times == sorted(times)


def test_without_tools_the_bytes_are_upstreams_own(bench: Bench):
    event = b'data: {"choices":[{"index":0,"delta":{"content":"<read_file>"}}]}\r\n\r\n'
    odd = b": hello\r\nevent: x\r\nid: 7\r\n" + event + b"data: [DONE]\r\n\r\n"
    for reads in (cut(odd, 1), [odd]):
        response = bench.ask(stream(reads), tools=None)
        assert response.content == odd
        assert bench.tape().reads and b"".join(bench.tape().sent) == odd
    assert "upstream_request" not in bench.tape().header, "nothing was changed on the way up"
    assert (
        bench.upstream.requests[-1].body
        == httpx.Request("POST", "http://x", json=bench.body(True, None)).content
    )


def test_a_whole_message_is_one_read(bench: Bench):
    response = bench.ask(whole(message(CALL)), stream=False)
    got = message_result(response.json())
    assert (got.content, got.calls) == ("Hello", [("read_file", '{"path":"a.py"}')])
    tape = bench.tape()
    assert len(tape.reads) == 1 and json.loads(tape.reads[0]) == message(CALL)
    assert b"".join(tape.sent) == response.content
    assert tape.end is not None and tape.end.value["calls"] == 1


def test_a_whole_message_without_tools_is_untouched(bench: Bench):
    said = b'{"index": 0, "message": {"role":"assistant","content":"<read_file>"}}'
    body = b'{ "choices": [ ' + said + b' ], "x": 1e400 }'
    answer = Answer([Head(200, [("content-type", "application/json")], len(body)), Send(body), Finish()])
    assert bench.ask(answer, stream=False, tools=None).content == body


def test_a_server_that_streams_whatever_it_is_asked(bench: Bench):
    response = bench.ask(stream(DATA), stream=False)
    assert response.headers["content-type"] == "application/json"
    assert message_result(response.json()).calls == [("read_file", '{"path":"a.py"}')]


def test_without_tools_not_even_that_is_touched(bench: Bench):
    response = bench.ask(stream(DATA), stream=False, tools=None)
    assert response.content == DATA and response.headers["content-type"].startswith("text/event-stream")


def test_a_byte_order_mark_is_no_fault(bench: Bench):
    body = BOM_UTF8 + json.dumps(message(CALL)).encode()
    head = Head(200, [("content-type", "application/json")], len(body))
    assert message_result(bench.ask(Answer([head, Send(body), Finish()]), stream=False).json()).calls


# Other endpoints

QWEN = "<tool_call>\n<function=read_file>\n<parameter=path>\na\n</parameter>\n</function>\n</tool_call>"


@each_row(
    ("answer", "kind", "level"),
    [
        (whole({"choices": [{"index": 0, "text": f"Sure.\n{QWEN}"}]}), "leak", "error"),
        (
            stream(sse({"choices": [{"text": QWEN[:20]}]}, {"choices": [{"text": QWEN[20:]}]})),
            "leak",
            "error",
        ),
        (whole({"choices": [{"index": 0, "text": CALL}]}), "leak", "error"),
        (whole({"choices": [{"index": 0, "text": "<b>Sure</b>"}]}), "pass-through", "info"),
        (whole({"data": [{"embedding": [1, 2]}], "model": QWEN}), "pass-through", "info"),
    ],
)
def test_issue_11_14_text_calls_through_an_endpoint_that_is_not_converted(
    bench: Bench, answer: Answer, kind: str, level: str
) -> None:
    bench.upstream.answer(answer)
    body = {"model": "m", "prompt": "hi", "tools": TOOLS}
    bench.client.post("/v1/completions", json=body, **bench.options({}))
    tape = bench.tape()
    player = Player(tape.header)
    player.add(tape.lines)
    said = verdict(facts_of_player(player))
    assert (said.kind, said.level) == (kind, level)
    if kind == "leak":
        assert "/completions is passed on unchanged" in said.long


# Compression


def squeezed(encoding: str) -> list[bytes]:
    """The stream as a compressing server sends it: flushed behind each event."""
    parts = [step.data for step in EVENTS]
    if encoding == "gzip":
        state = zlib.compressobj(wbits=16 + zlib.MAX_WBITS)
        return [*(state.compress(p) + state.flush(zlib.Z_SYNC_FLUSH) for p in parts), state.flush()]
    if encoding == "br":
        squeeze = brotli.Compressor()
        return [*(squeeze.process(p) + squeeze.flush() for p in parts), squeeze.finish()]
    writer = zstandard.ZstdCompressor().compressobj()
    return [
        *(writer.compress(p) + writer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK) for p in parts),
        writer.flush(),
    ]


@each_row("encoding", ["gzip", "br", "zstd"])
@each_row("tools", [TOOLS, None])
def test_compressed_answers_are_decoded_for_the_client_and_the_tape(
    bench: Bench, encoding: str, tools: object
):
    reads = [piece for part in squeezed(encoding) for piece in cut(part, 9)]
    response = bench.ask(stream(reads, headers=[("content-encoding", encoding)]), tools=tools)
    assert "content-encoding" not in response.headers
    assert b"".join(bench.tape().reads) == DATA
    assert b"".join(bench.tape().sent) == response.content
    if tools:
        assert result(without_comments([response.content])).calls
    assert bench.upstream.requests[-1].header("accept-encoding") == "identity"


def test_a_compressed_whole_answer(bench: Bench):
    body = gzip.compress(json.dumps(message(CALL)).encode())
    head = Head(200, [("content-type", "application/json"), ("content-encoding", "gzip")], len(body))
    response = bench.ask(Answer([head, Send(body), Finish()]), stream=False)
    assert message_result(response.json()).calls and json.loads(bench.tape().reads[0]) == message(CALL)


# Headers


def test_headers_of_both_sides(bench: Bench):
    sent = {
        "authorization": "Bearer sk-my-own-secret-key",
        "x-custom": "kept",
        "connection": "keep-alive, x-hop",
        "x-hop": "1",
        "accept-encoding": "gzip, br, zstd",
    }
    response = bench.ask(
        stream(DATA, headers=[("x-request-id", "r1"), ("set-cookie", "a=1"), ("keep-alive", "timeout=9")]),
        headers=sent,
    )
    seen = bench.upstream.requests[-1]
    assert seen.header("authorization") == "Bearer sk-my-own-secret-key"
    assert seen.header("x-custom") == "kept" and seen.header("x-session-id") == bench.session
    assert seen.header("x-hop") is None and seen.header("connection") in (None, "keep-alive")
    assert response.headers["x-request-id"] == "r1" and "keep-alive" not in response.headers
    assert bench.tape().header["session"] == bench.session
    raw = b"".join(path.read_bytes() for path in bench.proxy.library.glob("tapes/*/*.jsonl"))
    assert b"sk-my-own-secret-key" not in raw


# Silence


def test_comments_while_upstream_is_silent_but_never_inside_an_event(hasty: Bench):
    half = EVENTS[0].data
    script: list[Step] = [HEAD, EVENTS[0], Gate("first"), Send(half[:20]), Gate("second"), Send(half[20:])]
    with hasty.asking(Answer([*script, *EVENTS[1:], Finish()]), tools=None) as response:
        got = b""
        pieces = response.iter_raw()
        while got.count(COMMENT) < 3:
            got += next(pieces)
        hasty.upstream.open("first")
        while not got.endswith(half[:20]):
            got += next(pieces)
        # While half an event is out nothing may come; the read would return it at once.
        time.sleep(0.3)  # six heartbeats: nothing to wait for, this is the absence of something
        hasty.upstream.open("second")
        rest = b"".join(pieces)
    assert rest.startswith(half[20:]), "a comment inside an event"
    assert (got + rest).replace(COMMENT, b"") == half + DATA
    assert {line.value.get("by") for line in hasty.tape().of("sent") if COMMENT in line.data} == {"heartbeat"}


def test_the_headers_wait_for_the_first_event_but_not_for_ever(hasty: Bench):
    begun = time.monotonic()
    with hasty.asking(Answer([HEAD, Gate("body"), *EVENTS, Finish()])) as response:
        assert response.status_code == 200 and time.monotonic() - begun > 0.09, "head_wait is 0.1 s"
        hasty.upstream.open("body")
        assert result(without_comments(response.iter_raw())).calls


def test_an_upstream_that_says_nothing_at_all(hasty: Bench):
    begun = time.monotonic()
    with hasty.asking(Answer([Gate("head"), HEAD, *EVENTS, Finish()])) as response:
        assert response.status_code == 200 and time.monotonic() - begun > 0.19, "silence is 0.2 s"
        pieces = response.iter_raw()
        assert next(pieces) == COMMENT == b": the workbench is waiting for upstream\n\n"
        assert next(pieces) == COMMENT
        hasty.upstream.open("head")
        assert result(without_comments(pieces)).calls


# Ends


def test_a_client_that_leaves_takes_upstream_with_it(bench: Bench):
    before = len(bench.upstream.disconnects)
    with bench.asking(Answer([HEAD, EVENTS[0], Gate("never")])) as response:
        pieces = response.iter_raw()
        next(pieces)
    bench.upstream.wait_for_disconnects(before + 1)
    tape = bench.tape()
    assert tape.end is not None and tape.end.value["end"] == "cancelled"
    assert tape.reads == [EVENTS[0].data]


@each_row("steps", [[Gate("never")], [HEAD, Gate("never")]])
def test_a_client_that_leaves_before_anything_came(bench: Bench, steps: list[Step]):
    before = len(bench.upstream.disconnects)
    with pytest.raises(httpx.ReadTimeout):
        bench.ask(Answer(steps), timeout=httpx.Timeout(5, read=0.2))
    bench.upstream.wait_for_disconnects(before + 1, timeout=2)
    assert bench.tape().end is not None


def test_the_answer_ends_when_upstream_says_so_even_if_it_lingers(bench: Bench):
    """[DONE] is the end, whether or not the connection closes; what comes behind it is on the tape."""
    answer = Answer([HEAD, Send(DATA), Send(b": bye\n\n"), Gate("lingers"), Close()])
    with bench.asking(answer) as response:
        assert result(without_comments(response.iter_raw())).calls
    bench.upstream.open("lingers")  # or the tape waits for what may still come
    assert b"".join(bench.tape().reads) == DATA + b": bye\n\n"


def test_backpressure_reaches_upstream(bench: Bench):
    """A client that does not read stops upstream, and nothing is collected in between."""
    size = 200 << 20
    bench.upstream.accepted = 0
    gone = len(bench.upstream.disconnects)
    with bench.asking(Answer([HEAD, Flood(size), Finish()]), tools=None) as response:
        pieces = response.iter_raw()
        next(pieces)
        last = -1
        while last != bench.upstream.accepted:  # until it stands still
            last = bench.upstream.accepted
            time.sleep(0.1)
        assert 0 < last < 40 << 20 and len(bench.upstream.disconnects) == gone
    bench.tape()


def test_many_streams_at_once(bench: Bench):
    count = 200 if exhaustive() else 40
    reads = cut(DATA, 150)
    bench.upstream.answer(*(stream(reads, pause=0.01) for _ in range(count)))

    def one(number: int) -> bytes:
        with http.client(bench.proxy.base, timeout=60) as client:
            headers = {"x-session-id": f"many_{number}"}
            return client.post("/v1/chat/completions", json=bench.body(), headers=headers).content

    with ThreadPoolExecutor(count) as pool:
        answers = list(pool.map(one, range(count)))
    assert {tuple(result(answer.replace(COMMENT, b"")).calls) for answer in answers} == {
        (("read_file", '{"path":"a.py"}'),)
    }

    def all_there() -> list[Tape] | None:
        tapes = [t for t in bench.proxy.tapes() if str(t.header.get("session")).startswith("many_")]
        return tapes if sum(tape.complete for tape in tapes) == count else None

    tapes = wait_for(all_there, f"{count} complete tapes", 30)
    assert all(b"".join(tape.reads) == DATA for tape in tapes)
    assert all(replayed(tape) == by_transformer(tape) for tape in tapes)


# Requests that offer no tools


@pytest.mark.parametrize("convert", ["always", "tools"])
def test_issue_11_4_history_with_calls_and_no_tools(tmp_path: Path, convert: str) -> None:
    made = {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": '{"path":"b"}'}}
    history = [
        {"role": "user", "content": "read"},
        {"role": "assistant", "content": None, "tool_calls": [made]},
        {"role": "tool", "tool_call_id": "c1", "content": "text"},
    ]
    with ScriptedUpstream() as upstream:
        toml = f'{QUICK}[upstreams.x]\nurl = "{upstream.url}"\ndialect = "roo-xml"\nconvert = "{convert}"\n'
        with running_proxy(tmp_path, "x", None, toml=toml) as proxy:
            upstream.answer(stream(DATA))
            body = {"model": "m", "stream": True, "messages": history}
            response = http.post(f"{proxy.url}/chat/completions", json=body)
            (tape,) = proxy.tapes(1)
    if convert == "tools":
        assert response.content == DATA
    else:
        assert result(response.content).calls == [("read_file", '{"path":"a.py"}')]
        assert replayed(tape) == by_transformer(tape)
