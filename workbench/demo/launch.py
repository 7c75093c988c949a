"""The demo put together: a library of its own with a first tape, the real proxy, traffic through it, and tips
on what to look at.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Self

from transformer.request.conversion import transform_request
from transformer.upstreams.qwen_chat import QwenChat
from workbench.config.reading import VARIABLE
from workbench.config.settings import PREFIX
from workbench.demo.scripts import DEMO, QWEN_CHAT, TEMPORARY, Script, read_script
from workbench.errors import UserError
from workbench.files import samples_dir
from workbench.library.index import rebuild
from workbench.library.tapefiles import make_folder, new_id, tape_path
from workbench.proxy.process import ChildError, ProxyChild, child_command
from workbench.tape.format import Line, Tape, dump_tape, make_header, read_tape

SESSION = "ses_demo_first"


def first_tape(started: float, script: Script) -> Tape:
    """The sample as if the proxy had just recorded it, with the request as it went upstream."""
    tape = read_tape(samples_dir() / f"{script.first}.jsonl")
    told = {key: value for key, value in tape.header.items() if key != "tape"}
    upstream_request, _ = transform_request(told["request"], told["dialect"])
    told |= {
        "started": started, "upstream_request": upstream_request, "session": SESSION, "stream": True,
        "kind": "chat", "upstream": told["model"], "method": "POST", "path": "/chat/completions",
    }  # fmt: skip
    if script.kind != QwenChat.name:
        return replace(tape, header=make_header(**told))
    header = make_header(**told, upstream_kind=script.kind)
    return replace(tape, header=header, lines=_in_a_chat(tape))


def _in_a_chat(tape: Tape) -> tuple[Line, ...]:
    """The lines, with the chat that the sample's first event names: this is its first turn."""
    ids = json.loads(tape.reads[0].removeprefix(b"data: "))["response.created"]
    chat = {"id": ids["chat_id"], "parent": None, "turn": 1, "began": "new", "response": ids["response_id"]}
    return tuple(Line({**line.value, "chat": chat}) if line.kind == "end" else line for line in tape.lines)


def write_first_tape(library: Path, started: float, script: Script) -> Path:
    """Put it into a library, and into its index."""
    path = library / tape_path(started, new_id())
    make_folder(path.parent)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(dump_tape(first_tape(started, script)))
    try:
        rebuild(library)
    except sqlite3.Error as error:  # SQLite takes no path of more than some 500 bytes
        raise UserError(f"cannot keep the demo's tapes in {library}: {error}") from None
    return path


class Tip(NamedTuple):
    """`seen` is said after the action was done, `next` invites to do it."""

    seen: str
    next: str


# By action, in the order in which they are suggested.
TIPS: Mapping[str, Tip] = {
    "start": Tip("The agent stopped without a word. The line above the panes says why.", ""),
    "proof": Tip(
        "Here it is: </read_file> came while <path> was still open.",
        "v jumps to the row that proves it.",
    ),
    "step": Tip("Lit rows belong together: bytes, rules, deltas.", "Step with the arrows, or j and k."),
    "pane": Tip("This pane has the cursor now; the others follow it.", "tab goes to the next pane."),
    "detail": Tip("Everything about this row, the rule's reason included.", "enter opens the row."),
    "why": Tip(
        "In words, and what would have made it a call: a digit tries that.", "w explains the selected row."
    ),
    "replay": Tip(
        "Back in live. In the replay, → and ← step through time, e edits the text.",
        "p steps through this exchange, forwards and backwards.",
    ),
    "exchange": Tip(
        "Another exchange, live if it still runs: rows come in as they arrive.",
        "Choose another exchange in the list: 0 goes there.",
    ),
    "follow": Tip(
        "Each new exchange is shown as it begins; a key that moves stops that.",
        "F follows the newest exchange.",
    ),
    "pause": Tip("The view is frozen; the traffic goes on.", "space pauses and follows."),
    "finding": Tip("A finding: what the parser noticed, and where.", "n and N go from finding to finding."),
    "session": Tip("A session's calls, each beside the result its tool gave.", "s shows the whole session."),
    "request": Tip("Left what the client sent, right what the model got.", "r shows the request."),
    "table": Tip("The dialect's table; the row that fired is lit.", "t shows the dialect as a table."),
    "filter": Tip(
        "Only these exchanges are listed; f with nothing shows all.", "f in the list filters: try has:call"
    ),
    "search": Tip("n and N go on while a search is open.", "/ searches, in any pane."),
    "zoom": Tip("z again brings the other panes back.", "z gives one pane all the room."),
    "help": Tip("Help is about the place where you are.", "? shows all keys."),
}
_LAST = "That was all of it; q leaves. Your own model: workbench init."


QWEN_CHAT_TIPS: Mapping[str, Tip] = {
    "start": Tip("The first turn of a chat that the server keeps. Later turns send only what is new.", ""),
    "request": Tip(
        "Left what the client sent, right what the model got; headers has chat, parent and turn.",
        "r shows the request, its chat and turn.",
    ),
    **{name: tip for name, tip in TIPS.items() if name not in ("start", "proof", "request")},
}


class Tips:
    """Remembers what was done, so that it is not suggested again."""

    def __init__(self, tips: Mapping[str, Tip] = TIPS) -> None:
        self._tips = tips
        self._done = {"start"}
        self.line = self._after("start")

    def did(self, action: str) -> str:
        """The line for a user who just did this; an action that has no tip changes nothing."""
        if action in self._tips:
            self._done.add(action)
            self.line = self._after(action)
        return self.line

    def _after(self, action: str) -> str:
        following = next((tip.next for name, tip in self._tips.items() if name not in self._done), _LAST)
        return f"{self._tips[action].seen} {following}"


SETTINGS = "demo.toml"
_PATIENCE = 1.0  # a scripted answer need not be waited for
_ENDS = 10.0
_START = 30.0


class Demo:
    """`async with Demo() as demo` has a library with one tape; `go_live` starts everything else.

    Started processes end with the context, and with this process, whatever happens to it.
    """

    def __init__(self, keep: Path | None = None, live: bool = True, script: str = DEMO) -> None:
        self.keep = keep
        self.live = live
        self.tips = Tips(QWEN_CHAT_TIPS if script == QWEN_CHAT else TIPS)
        self._script = script
        self.library: Path
        self.first_tape: Path
        self.proxy: ProxyChild | None = None
        self.traffic: asyncio.subprocess.Process | None = None  # the models and their clients

    async def __aenter__(self) -> Self:
        self.library = _library(self.keep)
        self.first_tape = write_first_tape(self.library, time.time() - 60, read_script(self._script))
        return self

    async def __aexit__(self, *_: object) -> None:
        if self.traffic is not None and self.traffic.returncode is None:
            self.traffic.terminate()
        if self.proxy is not None:
            await self.proxy.stop(_PATIENCE)
        if self.traffic is not None:
            await _over(self.traffic)
        if self.keep is None:
            shutil.rmtree(self.library, ignore_errors=True)

    async def go_live(self) -> ProxyChild | None:
        """Start traffic and proxy; None where that is not wanted. Raises ChildError."""
        if not self.live:
            return None
        upstream = await self._start_traffic()
        settings = self.library / SETTINGS
        settings.write_text("\n".join(proxy_settings(upstream, read_script(self._script))), encoding="utf-8")
        self.proxy = ProxyChild(self.library, ("--port", "0"), _environment(settings))
        await self.proxy.start()
        return self.proxy

    async def _start_traffic(self) -> str:
        flags = [] if self.keep is not None else [TEMPORARY]
        self.traffic = await asyncio.create_subprocess_exec(
            *child_command("workbench.demo.traffic", str(self.library), self._script, *flags),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        assert self.traffic.stdout is not None
        try:
            line = await asyncio.wait_for(self.traffic.stdout.readline(), _START)
        except TimeoutError:
            line = b""
        if not line:
            raise ChildError(None)
        return line.decode().strip()


def _library(keep: Path | None) -> Path:
    if keep is None:
        return Path(tempfile.mkdtemp(prefix="workbench-demo-"))  # 0700
    keep = keep.absolute()
    try:
        if keep.exists() and any(keep.iterdir()):
            raise UserError(f"{keep} is not empty; --keep wants a new folder, so that nothing gets mixed up")
        make_folder(keep)
    except OSError as error:
        raise UserError(f"cannot keep the demo's tapes in {keep}: {error.strerror}") from None
    return keep


def proxy_settings(upstream: str, script: Script) -> Iterator[str]:
    """The lines of the proxy's configuration file: every model is an upstream, with its dialect."""
    yield 'keep_bytes = "64 MiB"'
    yield "heartbeat = 2"
    for model, dialect in script.dialects.items():
        yield f'[upstreams."{model}"]'
        yield f"url = {json.dumps(upstream)}"
        yield f'kind = "{script.kind}"'
        yield f'dialect = "{dialect}"'
        yield f'serves = ["{model}"]'


def _environment(settings: Path) -> dict[str, str]:
    """None of the user's own settings: the demo is the same for every user."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(PREFIX)}
    return kept | {VARIABLE: str(settings)}


async def _over(process: asyncio.subprocess.Process) -> None:
    try:
        await asyncio.wait_for(process.wait(), _ENDS)
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
