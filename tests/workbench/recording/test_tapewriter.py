"""Lines on their way to a tape: in order, none waits longer than it must."""

from __future__ import annotations

import json

import pytest

from workbench.recording.redaction import Redaction
from workbench.recording.tapewriter import HOLD, LineQueue

KEY = "sk-live-0123456789"


def taken(queue: LineQueue, now: float) -> list[object]:
    """What each line that may be written by now holds."""
    ready = queue.take(now)
    lines = [json.loads(line) for line in ready.data.splitlines()]
    assert len(lines) == len(ready.weights)
    return [line.get("read", line.get("sent", line.get("note"))) for line in lines]


@pytest.fixture
def queue() -> LineQueue:
    return LineQueue(Redaction((), [KEY]))


def test_what_has_nothing_to_do_with_a_secret_goes_at_once(queue: LineQueue):
    queue.data(0, "read", 0, b"one\n", None)
    queue.data(0, "sent", 0, b"two\n", None)
    queue.line(0, 0, b'{"note": "three"}\n')
    assert taken(queue, 0) == ["one\n", "two\n", "three"]
    assert queue.deadline is None


def test_the_beginning_of_a_secret_waits_and_the_rest_behind_it(queue: LineQueue):
    queue.data(0, "read", 0, b"a sk-live-0", None)
    queue.data(0.001, "sent", 0, b"b\n", None)
    queue.line(0.002, 0, b'{"note": "c"}\n')
    assert taken(queue, HOLD - 0.001) == []
    assert queue.deadline == HOLD
    queue.data(0.01, "read", 0, b"123456789 d\n", None)
    assert taken(queue, 0.01) == ["a *********", "b\n", "c", "********* d\n"]
    assert queue.deadline is None


def test_what_turns_out_to_be_none_goes_as_it_is(queue: LineQueue):
    queue.data(0, "read", 0, b"a sk-live-0", None)
    queue.data(0.01, "read", 0, b" not\n", None)
    assert taken(queue, 0.01) == ["a sk-live-0", " not\n"]


@pytest.mark.parametrize(("half", "kept"), [(b"x sk-liv", "x sk-liv"), (b"x sk-live-", "x ********")])
def test_nobody_waits_for_ever(queue: LineQueue, half: bytes, kept: str):
    queue.data(0, "read", 0, half, None)
    queue.data(0.03, "sent", 0, b"y sk", None)
    assert taken(queue, HOLD) == [kept]
    assert queue.deadline == 0.03 + HOLD
    assert taken(queue, 0.03 + HOLD) == ["y sk"]
    queue.data(1, "read", 0, KEY.encode()[len(half) - 2 :], None)
    assert taken(queue, 1) == ["*" * (len(KEY) - len(half) + 2)]


def test_the_two_directions_have_nothing_to_do_with_each_other(queue: LineQueue):
    queue.data(0, "read", 0, KEY[:9].encode(), None)
    queue.data(0, "sent", 0, KEY[9:].encode(), None)
    assert taken(queue, HOLD) == ["*" * 9, KEY[9:]]  # read: more than eight bytes; sent: nothing of it


def test_weights_say_what_would_be_missing(queue: LineQueue):
    queue.data(0, "read", 0, b"abc\n", None)
    queue.line(0, 0, b'{"note": 1}\n')
    queue.line(0, 0, b'{"lost": {}}\n', (7, 70, True))
    assert queue.take(0).weights == [(1, 4, False), (1, 0, False), (7, 70, True)]
