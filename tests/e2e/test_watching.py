"""A whole session of real OpenCode, watched in a real terminal: each exchange is seen, no key is touched."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.dialogues import Call, Dialogue, Turn
from tests.e2e.errands import FINAL
from tests.e2e.opencode import Ran, run_opencode
from tests.support.streams import META, stream_of
from tests.support.terminal import Terminal
from tests.support.upstream.answers import Answer, Finish, Gate, Head, Send
from tests.support.upstream.server import ScriptedUpstream

WORDS = ("Alpha", "Bravo", "Charlie", "Delta", "Echo", "Foxtrot")
HEAD = Head(200, [("content-type", "text/event-stream")])


def waiting_in_the_middle(word: str) -> Callable[[str], Answer]:
    """The word, then nothing until the test has seen it on the screen, then the rest of the answer."""

    def answer(said: str) -> Answer:
        begun, rest = said[: len(word)], said[len(word) :]
        first = stream_of(begun, 100, meta=META, finish=None, done=False)
        usage = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
        return Answer(
            [HEAD, Send(first), Gate(word), Send(stream_of(rest, 30, meta=META, usage=usage)), Finish()]
        )

    return answer


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
def test_each_exchange_of_a_session_is_seen_without_a_key(
    opencode: str, tmp_path: Path, work: Path, size: tuple[int, int]
):
    calls = [Call("bash", {"command": f"echo {word} >> log.txt"}) for word in WORDS]
    turns = [Turn(word, [call]) for word, call in zip(WORDS, calls, strict=True)]
    gates = {number: waiting_in_the_middle(word) for number, word in enumerate(WORDS)}
    dialogue = Dialogue("roo-xml", [*turns, Turn(FINAL, size=1000)], gates)
    flags = ("--dialect", "roo-xml", "--port", "0", "--library", str(tmp_path / "library"))
    ran: list[Ran] = []
    with (
        ScriptedUpstream() as upstream,
        Terminal(tmp_path / "screen", "--upstream", upstream.url, *flags, size=size) as terminal,
    ):
        upstream.answer_with(dialogue)
        terminal.wait_for("waiting for the first exchange", "▶")
        url = terminal.find(r"127\.0\.0\.1:\d+")[0]
        agent = threading.Thread(
            target=lambda: ran.append(
                run_opencode(opencode, tmp_path / "home", work, f"http://{url}/v1", "Do it step by step.")
            )
        )
        agent.start()
        try:
            for number, word in enumerate(WORDS):
                # In the panes, while the answer still comes: the list knows nothing of it yet.
                terminal.wait_for(f"content {word}", "so far", timeout=60)
                assert terminal.shows("▶"), "it follows"
                if number:
                    assert terminal.shows("bash →"), "with which result it was asked"
                upstream.open(word)
            # The last answer comes at once, and is seen all the same.
            terminal.wait_for(f"content {FINAL[:12]}", "duration", timeout=60)
        finally:
            for word in WORDS:
                upstream.open(word)
            agent.join()
        assert (ran[0].code, FINAL in ran[0].out) == (0, True), ran[0]
        assert (work / "log.txt").read_text().split() == list(WORDS)
        assert dialogue.asked == list(range(len(WORDS) + 1))
        terminal.press("q")
        assert terminal.exit_code() == 0
