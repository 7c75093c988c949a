"""The demo: every conversation through the real proxy, the whole of it at work, and nothing left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.support.bench import wait_for
from tests.support.commands import RunCommand
from workbench.analysis.verdicts import facts_of_player, verdict
from workbench.demo.launch import SESSION, TIPS, Demo, Tips, proxy_settings
from workbench.demo.scripts import (
    Call,
    Silence,
    Thought,
    answer_to,
    played,
    read_script,
    recut,
    said,
)
from workbench.demo.traffic import Client, Upstream, assembled
from workbench.errors import UserError
from workbench.files import samples_dir
from workbench.library.query import Filter, Library
from workbench.library.summary import Row
from workbench.library.tapefiles import is_alive
from workbench.proxy.process import ProxyChild
from workbench.proxy.registration import registered
from workbench.replay.lines import Tail
from workbench.tape.format import read_tape

SCRIPT = read_script()
CONVERSATIONS = SCRIPT.conversations
# What is asked: how many chat requests that leads to, and the verdict on the last of them.
STORIES = {
    "Why does `tally` crash on an empty file?": (3, "nothing-special"),
    "Show me what src/main.py does.": (1, "malformed-call"),
    "Write tests for count(), for files of several sizes.": (3, "nothing-special"),
    "Rewrite the README with a table of options.": (1, "truncated-call"),
    "Read all the modules at once.": (2, "nothing-special"),
    "Is there a licence file?": (1, "upstream-error"),
    "What is in src, without a stream, please?": (2, "nothing-special"),
    "Think about the name of the project.": (1, "call-in-reasoning"),
    "What is this project, in one sentence?": (3, "nothing-special"),
    "Open src/main.py, please.": (2, "nothing-special"),
    "Run the linter.": (1, "malformed-call"),
    "List the branches.": (1, "other-dialect"),
    "Say hello in Chinese, from the shell.": (2, "nothing-special"),
    "Explain the whole project to me, slowly.": (1, "client-gone"),
    "Write the changelog.": (1, "truncated-call"),
    "Do the tests pass?": (3, "nothing-special"),
    "Read main.py with the server's own parser.": (2, "pass-through"),
    "Where am I?": (2, "nothing-special"),
    "Print a long listing.": (2, "nothing-special"),
    "Ask the model that has no parser.": (1, "other-dialect"),
    "Ask once more, quickly.": (1, "upstream-error"),
    "Count the files by hand.": (2, "nothing-special"),
}


async def until(condition: Callable[[], Any], what: str, timeout: float = 40) -> Any:
    end = time.monotonic() + timeout
    while not (value := condition()):
        assert time.monotonic() < end, f"{what} did not happen within {timeout} s"
        await asyncio.sleep(0.05)
    return value


def rows_of(library: Path, **wanted: Any) -> list[Row]:
    with Library(library) as found:
        return found.rows(Filter(**wanted))


# -- conversations


async def _play_everything(folder: Path) -> Path:
    """All conversations, much faster than life, a few at a time."""
    library = folder / "library"
    conversations = [replace(one, leaves=one.leaves and 0.4) for one in CONVERSATIONS]
    async with Upstream(conversations, pace=0.05) as upstream:
        (folder / "demo.toml").write_text("\n".join(proxy_settings(upstream.url, SCRIPT)))
        child = ProxyChild(
            library, ("--port", "0"), os.environ | {"WORKBENCH_CONFIG": str(folder / "demo.toml")}
        )
        await child.start()
        client = Client(lambda: child.url)
        few = asyncio.Semaphore(4)

        async def play(number: int) -> None:
            async with few:
                await client.play(conversations[number])

        try:
            await asyncio.gather(*(play(number) for number in range(len(conversations))))
            await until(lambda: not rows_of(library, state="running"), "the end of all exchanges")
        finally:
            await client.close()
            await child.stop(1)
    return library


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return asyncio.run(_play_everything(tmp_path_factory.mktemp("demo")))


def _stories(library: Path) -> dict[str, list[Path]]:
    """The tapes of each conversation, in the order in which they began; titles apart."""
    found: dict[str, list[Path]] = {}
    for row in reversed(rows_of(library)):
        request = read_tape(library / row.path).header["request"]
        asked = request["messages"][1]["content"]
        found.setdefault(asked if request.get("tools") else "titles", []).append(library / row.path)
    return found


def test_every_conversation_goes_as_it_is_written(library: Path):
    told = {}
    stories = _stories(library)
    titles = stories.pop("titles")
    for asked, tapes in stories.items():
        tail = Tail(tapes[-1])
        tail.advance(60)
        assert tail.player is not None
        told[asked] = len(tapes), str(verdict(facts_of_player(tail.player)).kind)
    assert told == STORIES
    assert len(titles) == sum(one.title is not None for one in CONVERSATIONS)


def test_the_conversations_show_every_dialect_and_what_the_screen_is_for(library: Path):
    rows = rows_of(library)
    assert {row.dialect for row in rows} == set(SCRIPT.dialects.values())
    assert {row.state for row in rows} == {"done", "error", "cancelled"}
    assert {row.stream for row in rows} == {True, False}
    assert {row.upstream for row in rows} == set(SCRIPT.dialects)
    assert any(row.status == 429 for row in rows)
    sessions = [row.session for row in rows]
    assert max(sessions.count(session) for session in set(sessions)) >= 4, "several turns and a title"


def test_tool_results_come_back_and_one_is_an_error(library: Path):
    for path in _stories(library)["Do the tests pass?"][1:2]:
        messages = read_tape(path).header["request"]["messages"]
        results = [one for one in messages if one["role"] == "tool"]
        assert [one["tool_call_id"] for one in results] == [call["id"] for call in messages[2]["tool_calls"]]
        assert any(one["content"].startswith("Error: ENOENT") for one in results)


def test_a_request_of_no_conversation_is_answered_all_the_same():
    assert answer_to(CONVERSATIONS, {"messages": [{"role": "user", "content": "Who are you?"}]}) is None
    assert answer_to(CONVERSATIONS, {"messages": "?"}) is None


def test_no_two_conversations_can_be_mistaken():
    asked = [one.asked for one in CONVERSATIONS]
    assert not [(one, other) for one in asked for other in asked if one is not other and one in other]
    assert {one.model for one in CONVERSATIONS} == set(SCRIPT.dialects)
    assert len(SCRIPT.rows) == 3 and all(SCRIPT.rows)


# -- answers


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (["Hello 你好\n"], {"role": "assistant", "content": "Hello 你好\n"}),
        ([Thought("hm"), Silence(3), "<read_file>"], {"role": "assistant", "content": "<read_file>"}),
        (
            [Call("c1", "a", '{"p": "a b"}'), Call("c2", "b", "{}")],
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "a", "arguments": '{"p": "a b"}'}},
                    {"id": "c2", "type": "function", "function": {"name": "b", "arguments": "{}"}},
                ],
            },
        ),
    ],
)  # fmt: skip
def test_what_is_said_arrives(parts: list[Any], message: dict[str, Any]):
    assert assembled(b"".join(piece.data for piece in said(*parts).pieces)) == message


def test_silence_is_time_and_no_data():
    silent, loud = said("a", Silence(3), "b"), said("a", "b")
    assert [piece.data for piece in silent.pieces] == [piece.data for piece in loud.pieces]
    assert sum(piece.wait for piece in silent.pieces) == pytest.approx(
        3 + sum(one.wait for one in loud.pieces)
    )


def test_a_sample_is_played_in_its_own_reads():
    answer = played("roo-xml/good-read", pace=2)
    tape = read_tape(samples_dir() / "roo-xml/good-read.jsonl")
    assert [piece.data for piece in answer.pieces] == tape.reads
    assert sum(piece.wait for piece in answer.pieces) == pytest.approx(2 * tape.of("read")[-1].t)
    assert not answer.broken and played("roo-xml/broke-inside-call").broken


def test_odd_cuts_change_no_byte():
    answer = said("Hello 你好")
    odd = recut(answer, 3, 11)
    assert b"".join(piece.data for piece in odd.pieces) == b"".join(piece.data for piece in answer.pieces)
    assert [len(piece.data) for piece in odd.pieces[:4]] == [3, 11, 3, 11]
    assert sum(piece.wait for piece in odd.pieces) == pytest.approx(sum(one.wait for one in answer.pieces))


# -- the whole


def test_it_begins_with_the_broken_exchange_alone(folder: Path):
    async def story() -> Path:
        async with Demo(live=False) as demo:
            assert stat.S_IMODE(demo.library.stat().st_mode) == 0o700
            (row,) = rows_of(demo.library)
            assert demo.library / row.path == demo.first_tape
            assert row.session == SESSION and "unclosed-parameter" in row.findings
            assert time.time() - row.started < 3600, "what was long ago would be thrown away"
            tail = Tail(demo.first_tape)
            tail.advance(10)
            assert tail.player is not None and tail.player.difference is None
            assert tail.player.header["upstream_request"] != tail.player.header["request"]
            assert await demo.go_live() is None
            return demo.library

    assert not asyncio.run(story()).exists()


def test_live_traffic_comes_in_and_everything_ends(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WORKBENCH_UPSTREAM", "nonsense")  # the user's settings are none of the demo's

    async def story() -> tuple[Path, list[int]]:
        async with Demo() as demo:
            child = await demo.go_live()
            assert child is not None and child.pid is not None and demo.traffic is not None
            first = {child.pid, demo.traffic.pid}
            await until(lambda: len({row.session for row in rows_of(demo.library)}) >= 4, "parallel sessions")
            dialects = set(SCRIPT.dialects.values()) - {"passthrough"}
            await until(lambda: {row.dialect for row in rows_of(demo.library)} >= dialects, "all dialects")
            # The clients find a proxy that was started again by themselves.
            os.kill(child.pid, signal.SIGKILL)
            await child.ended()
            count = len(rows_of(demo.library))
            await child.restart()
            await until(lambda: len(rows_of(demo.library)) > count, "new exchanges")
            return demo.library, [*first, child.pid]

    library, pids = asyncio.run(story())
    assert not library.exists()
    assert not [pid for pid in pids if is_alive(pid)]


PARENT = """
import asyncio
from workbench.demo.launch import Demo

async def main():
    async with Demo() as demo:
        child = await demo.go_live()
        print(demo.library, child.pid, demo.traffic.pid, flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


def test_nothing_is_left_when_the_program_is_killed(folder: Path):
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    library, *pids = parent.stdout.readline().split()
    wait_for(lambda: registered(Path(library)), "the proxy's registration", 40)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    wait_for(lambda: not Path(library).exists(), "the removal of the library", 40)
    wait_for(lambda: not [pid for pid in pids if is_alive(int(pid))], "the end of the children", 40)


def test_what_is_to_be_kept_is_kept(folder: Path):
    async def story() -> None:
        async with Demo(keep=Path("kept"), live=False):
            pass

    asyncio.run(story())
    assert len(rows_of(folder / "kept")) == 1
    with pytest.raises(UserError, match="not empty"):
        asyncio.run(story())


def test_without_a_terminal_it_prints_three_columns(run: RunCommand, folder: Path):
    done = run("demo")
    assert (done.code, done.err) == (0, "")
    assert b"Upstream" in done.out and b"\n>" in done.out and b"unclosed-parameter" in done.out
    assert list(folder.iterdir()) == []


# -- tips


def test_tips_lead_through_everything_once():
    tips = Tips()
    assert "v jumps" in tips.line
    seen = [tips.line]
    for action in list(TIPS)[1:]:
        seen.append(tips.did(action))
    assert len(set(seen)) == len(seen)
    assert "q leaves" in seen[-1]
    assert tips.did("proof").startswith(TIPS["proof"].seen)
    assert tips.did("no such action") == tips.line
    assert max(map(len, seen)) <= 150


def test_what_was_done_is_not_suggested_again():
    tips = Tips()
    tips.did("step")
    assert tips.did("proof").endswith(TIPS["pane"].next)


def test_a_streams_message_is_put_together_without_its_comments():
    data = b': ping\n\ndata: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\ndata: [DONE]\n\n'
    assert assembled(data) == {"role": "assistant", "content": "a"}
    assert orjson.dumps(assembled(data))
