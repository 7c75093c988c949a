"""Real OpenCode with a qwen-chat upstream: two at once, six tool turns each, a restart meanwhile."""

from __future__ import annotations

import re
import threading
from pathlib import Path

from tests.e2e.opencode import Ran, run_opencode
from tests.support.bench import wait_for
from tests.support.proxies import running_proxy
from tests.support.qwenchat import QwenChatServer
from tests.support.upstream.server import ScriptedUpstream, free_port

STEPS = 6


def model(text: str) -> str:
    """The next step, known from the result of the last one alone: it has seen nothing else of the chat."""
    if "Generate a title" in text:
        return "A short title"
    done = max((int(step) for step in re.findall(r"step-done-(\d)", text)), default=0)
    if done == STEPS:
        return "All steps are done."
    command = f"echo step-done-{done + 1} >> log.txt; cat log.txt"
    call = f"<bash>\n<command>{command}</command>\n<description>a step</description>\n</bash>"
    return f"Step {done + 1}.\n\n{call}"


def test_two_at_once_and_a_restart(opencode: str, tmp_path: Path) -> None:
    ran: dict[str, Ran] = {}

    def work(name: str, url: str) -> None:
        folder = tmp_path / f"work-{name}"
        folder.mkdir()
        ran[name] = run_opencode(opencode, tmp_path / f"home-{name}", folder, url, f"Do task {name}.")

    with ScriptedUpstream() as upstream:
        server = QwenChatServer(upstream, model)
        toml = f'[upstreams.qwen]\nurl = "{upstream.base}"\nkind = "qwen-chat"\n'
        port = ("--port", str(free_port()))
        with running_proxy(tmp_path, None, None, *port, toml=toml) as proxy:
            working = [threading.Thread(target=work, args=(name, proxy.url)) for name in ("one", "two")]
            for thread in working:
                thread.start()
            wait_for(lambda: len(server.turns) >= 7, "some turns of both", 120)
        with running_proxy(tmp_path, None, None, *port, toml=toml):
            for thread in working:
                thread.join()
    server.check()
    wanted = "".join(f"step-done-{step}\n" for step in range(1, STEPS + 1))
    for name in ("one", "two"):
        assert ran[name].code == 0, ran[name].err
        assert (tmp_path / f"work-{name}" / "log.txt").read_text() == wanted
    chats = [turn for turn in server.turns if "Generate a title" not in turn.text]
    assert len({turn.chat for turn in chats}) == 2 and len(chats) == 2 * (STEPS + 1)
    assert all((turn.parent is None) == ("Do task" in turn.text) for turn in chats)
