"""Clients that share one proxy do not wait for each other."""

from __future__ import annotations

import itertools
import threading
import time

from tests.support.bench import CALL, Bench
from tests.support.streams import chunk, sse, stream_of, tool
from tests.support.upstream.answers import stream

DATA = stream_of(CALL)
PACE = 0.01
LONG_GAP = 0.2  # seconds; prepared beside the loop, the gaps are of 0.02 to 0.04


def test_a_request_with_300_tools_does_not_hold_up_another_stream(bench: Bench):
    properties = {f"parameter_{n}": {"type": "string", "description": "x " * 20} for n in range(20)}
    words = [sse(chunk(f"word {number} "), done=False) for number in range(300)]
    times: list[float] = []
    first, done = threading.Event(), threading.Event()

    def follow() -> None:
        with bench.asking(stream([*words, DATA], pause=PACE)) as response:
            for _ in response.iter_raw():
                times.append(time.monotonic())
                first.set()
        done.set()

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    assert first.wait(10)
    for request in range(3):  # with tools of its own each, or the second prompt is only looked up
        assert not done.is_set(), "the stream was over before"
        tools = [tool(f"tool_{request}_{number}", properties) for number in range(300)]
        answer = bench.ask(stream(DATA), tools=tools)
        assert answer.status_code == 200, answer.text
    assert done.wait(20)
    gaps = [after - before for before, after in itertools.pairwise(times)]
    # A busy machine may make one itself; prepared on the loop, each of the three requests makes one.
    assert len([gap for gap in gaps if gap > LONG_GAP]) < 2, sorted(gaps)[-5:]
