"""Clients that share one proxy do not wait for each other."""

from __future__ import annotations

import itertools
import threading
import time
from typing import Any

from tests.support.bench import CALL, Bench
from tests.support.streams import chunk, sse, stream_of, tool
from tests.support.upstream.answers import stream
from transformer import transform_request

DATA = stream_of(CALL)
PACE = 0.01


def preparing(tools: list[dict[str, Any]]) -> float:
    """The seconds that making a prompt of these tools takes here."""
    body = {"model": "m", "messages": [{"role": "user", "content": "Hello"}], "tools": tools}
    begun = time.thread_time()
    transform_request(body, "roo-xml", {"tools": "inject"})
    return time.thread_time() - begun


def test_a_request_with_300_tools_does_not_hold_up_another_stream(bench: Bench):
    properties = {f"parameter_{n}": {"type": "string", "description": "x " * 20} for n in range(20)}
    words = [sse(chunk(f"word {number} "), done=False) for number in range(6000)]  # longer than it takes
    times: list[float] = []
    first, enough = threading.Event(), threading.Event()

    def follow() -> None:
        with bench.asking(stream([*words, DATA], pause=PACE)) as response:
            for _ in response.iter_raw():
                times.append(time.monotonic())
                first.set()
                if enough.is_set():
                    return

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    assert first.wait(10)
    longest = []
    for request in range(3):  # with tools of its own each, or the second prompt is only looked up
        tools = [tool(f"tool_{request}_{number}", properties) for number in range(300)]
        begun = time.monotonic()
        answer = bench.ask(stream(DATA), tools=tools)
        assert answer.status_code == 200, answer.text
        moments = [begun, *(at for at in list(times) if at > begun), time.monotonic()]
        longest.append(max(after - before for before, after in itertools.pairwise(moments)))
    enough.set()
    thread.join(20)
    assert not thread.is_alive()
    # Prepared on the loop, each of the three makes a gap of what preparing takes, there as here. Prepared
    # beside it the gaps are a tenth of that; a busy machine may make a long one itself, but hardly three.
    assert min(longest) < preparing([tool(f"another_{n}", properties) for n in range(300)]) / 2, longest
