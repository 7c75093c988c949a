"""The demo put together: a library of its own, the real proxy, and traffic through it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from workbench.child import ChildError, ProxyChild
from workbench.config.file import VARIABLE
from workbench.config.keys import PREFIX
from workbench.demo.first import write_first_tape
from workbench.demo.scene import MODELS
from workbench.demo.tips import Tips
from workbench.demo.traffic import TEMPORARY
from workbench.errors import UserError
from workbench.leash import command
from workbench.library.folders import make_folder

SETTINGS = "demo.toml"
_PATIENCE = 1.0  # nobody waits for the end of a scripted answer
_ENDS = 10.0
_START = 30.0


class Demo:
    """`async with Demo() as demo` has a library with one tape; `go_live` starts everything else.

    What is started ends with the context, and with this process, whatever happens to it.
    """

    def __init__(self, keep: Path | None = None, live: bool = True) -> None:
        self.keep = keep
        self.live = live
        self.tips = Tips()
        self.library: Path
        self.first_tape: Path
        self.proxy: ProxyChild | None = None
        self._traffic: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> Self:
        self.library = _library(self.keep)
        self.first_tape = write_first_tape(self.library, time.time() - 60)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._traffic is not None and self._traffic.returncode is None:
            self._traffic.terminate()
        if self.proxy is not None:
            await self.proxy.stop(_PATIENCE)
        if self._traffic is not None:
            await _over(self._traffic)
        if self.keep is None:
            shutil.rmtree(self.library, ignore_errors=True)

    async def go_live(self) -> ProxyChild | None:
        """Start traffic and proxy; None where that is not wanted. Raises ChildError."""
        if not self.live:
            return None
        upstream = await self._start_traffic()
        settings = self.library / SETTINGS
        settings.write_text("\n".join(_settings(upstream)), encoding="utf-8")
        self.proxy = ProxyChild(self.library, ("--port", "0"), _environment(settings))
        await self.proxy.start()
        return self.proxy

    async def _start_traffic(self) -> str:
        flags = [] if self.keep is not None else [TEMPORARY]
        self._traffic = await asyncio.create_subprocess_exec(
            *command("workbench.demo.traffic", str(self.library), *flags),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        assert self._traffic.stdout is not None
        try:
            line = await asyncio.wait_for(self._traffic.stdout.readline(), _START)
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


def _settings(upstream: str) -> Iterator[str]:
    yield 'keep_bytes = "64 MiB"'
    yield "heartbeat = 2"
    for model, dialect in MODELS.items():
        yield f'[upstreams."{model}"]'
        yield f"url = {json.dumps(upstream)}"
        yield f'dialect = "{dialect}"'
        yield f'serves = ["{model}"]'


def _environment(settings: Path) -> dict[str, str]:
    """None of the user's own settings: the demo is the same for everybody."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(PREFIX)}
    return kept | {VARIABLE: str(settings)}


async def _over(process: asyncio.subprocess.Process) -> None:
    try:
        await asyncio.wait_for(process.wait(), _ENDS)
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
