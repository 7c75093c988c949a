"""The traffic of the demo: upstream and clients, in a process of their own on a leash."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import signal
import sys
from pathlib import Path

from workbench.demo.client import Client
from workbench.demo.scenes import ROWS, SCENES
from workbench.demo.upstream import Upstream
from workbench.proxy.registration import registered

# Seconds between two scenes of a row: lively while somebody looks for the first time, then seldom.
PAUSES = (3.0, 10.0, 30.0)
TEMPORARY = "--temporary"  # the library is to be removed when its proxy is gone
_PROXY_ENDS = 30.0


async def run(library: Path) -> None:
    """Go on until SIGTERM. The first line on standard output is the upstream's URL."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)

    def proxy() -> str | None:
        return next((one.url for one in registered(library)), None)

    async with Upstream(SCENES) as upstream:
        print(upstream.url, flush=True)
        clients = [Client(proxy, name) for name in "abc"[: len(ROWS)]]
        playing = [
            asyncio.ensure_future(client.play_all(row, PAUSES))
            for client, row in zip(clients, ROWS, strict=True)
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
    library = Path(sys.argv[1])
    asyncio.run(run(library))
    if TEMPORARY in sys.argv[2:]:
        asyncio.run(_remove(library))
