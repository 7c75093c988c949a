"""The process of the demo's traffic: the server that plays the models, and the agents that ask it through
the proxy.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import signal
import sys
from pathlib import Path
from string import ascii_lowercase

from transformer.upstreams.qwen_chat import QwenChat
from workbench.demo.conversations import Script, read_script
from workbench.demo.qwenchat import QwenChatServer
from workbench.demo.traffic import Client, Upstream
from workbench.proxy.registration import registered
from workbench.system import on_signals

# Seconds between two conversations of a row: lively while somebody looks for the first time, then seldom.
PAUSES = (3.0, 10.0, 30.0)
TEMPORARY = "--temporary"  # the library is to be removed when its proxy is gone
_PROXY_ENDS = 30.0


async def run(library: Path, script: Script) -> None:
    """Go on until SIGTERM. The first line on standard output is the upstream's URL."""
    stop = asyncio.Event()
    on_signals(asyncio.get_running_loop(), stop.set, signal.SIGTERM)

    def proxy() -> str | None:
        return next((one.url for one in registered(library)), None)

    server = QwenChatServer if script.kind == QwenChat.name else Upstream
    async with server(script.conversations) as upstream:
        print(upstream.url, flush=True)
        clients = [Client(proxy, name) for name in ascii_lowercase[: len(script.rows)]]
        playing = [
            asyncio.ensure_future(client.play_all(row, PAUSES))
            for client, row in zip(clients, script.rows, strict=True)
        ]
        await stop.wait()
        for task in playing:
            task.cancel()
        await asyncio.gather(*playing, *(client.close() for client in clients), return_exceptions=True)


async def _remove(library: Path) -> None:
    """Tidy up, for a parent that may not be there any more to do it."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_PROXY_ENDS):
            while registered(library):
                await asyncio.sleep(0.05)
    shutil.rmtree(library, ignore_errors=True)


def main() -> None:
    library, script = Path(sys.argv[1]), read_script(sys.argv[2])
    asyncio.run(run(library, script))
    if TEMPORARY in sys.argv[3:]:
        asyncio.run(_remove(library))
