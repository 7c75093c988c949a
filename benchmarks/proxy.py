"""What the proxy costs a stream: throughput, and how much later a chunk arrives.

    python benchmarks/proxy.py [rounds]

The same load goes straight to upstream, through a relay that only copies bytes, through one made of the
proxy's own parts without transformer and recorder, and through `workbench serve`, which converts and records.
All of them take turns in each round, and the median of the rounds counts: a busy machine slows all alike.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

import uvloop

# This file's own folder would hide the package of the same name.
ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)

from benchmarks.load import Load, Measured, measure, upstream  # noqa: E402
from tests.support.proxies import running_proxy  # noqa: E402

PACED = (Load(1, 400, 0.005), Load(20, 80, 0.02), Load(200, 50, 0.1))
FAST = (Load(1, 40_000), Load(20, 2_000), Load(200, 200))
WAYS = ("direct", "tcp", "http", "proxy")
# Of the relay made of the same parts: so much of its throughput, and so many times its delay.
LEAST_RATE, MOST_DELAY = 0.25, 4.0


@contextmanager
def relay(kind: str, port: int) -> Iterator[int]:
    """A relay of benchmarks/relays.py in a process of its own; its port."""
    command = [sys.executable, str(ROOT / "benchmarks" / "relays.py"), kind, str(port)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()


async def main(rounds: int) -> int:
    server, port = await upstream()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="workbench-bench.")))
        url = f"http://127.0.0.1:{port}/v1"
        # The event loop must go on while the proxy starts: it asks upstream whether it is there.
        proxy = await asyncio.to_thread(stack.enter_context, running_proxy(folder, url, "roo-xml"))
        ports = {
            "direct": port,
            "tcp": stack.enter_context(relay("tcp", port)),
            "http": stack.enter_context(relay("http", port)),
            "proxy": int(proxy.base.rsplit(":", 1)[1]),
        }
        for way in WAYS:
            await measure(ports[way], Load(10, 50))  # caches and connections are warm from here on
        good = [await compare(ports, load, rounds) for load in (*PACED, *FAST)]
    server.close()
    print(
        f"wanted, compared with http: at least {LEAST_RATE} of its rate, at most {MOST_DELAY} times its delay"
    )
    print("reached" if all(good) else "NOT REACHED")
    return int(not all(good))


async def compare(ports: dict[str, int], load: Load, rounds: int) -> bool:
    """One load through every way, as lines of a table; whether the proxy is good enough."""
    results: dict[str, list[Measured]] = {way: [] for way in WAYS}
    for _ in range(rounds):
        for way in WAYS:
            results[way].append(await measure(ports[way], load))
    pace = f"one every {load.gap * 1000:.0f} ms" if load.gap else "as fast as they are taken"
    print(f"{load.streams} streams, {load.chunks} chunks each, {pace}")
    return (compare_delays if load.gap else compare_rates)(results)


def compare_delays(results: dict[str, list[Measured]]) -> bool:
    p50 = {way: median(one.percentile(50) for one in results[way]) for way in WAYS}
    p99 = {way: median(one.percentile(99) for one in results[way]) for way in WAYS}
    begun = {way: median(one.begun for one in results[way]) for way in WAYS}
    for way in WAYS:
        print(
            f"  {way:7} p50 {p50[way]:6.2f} ms, {p50[way] / p50['tcp']:5.2f}x tcp"
            f"   p99 {p99[way]:6.2f} ms, {p99[way] / p99['tcp']:5.2f}x tcp"
            f"   added {p50[way] - p50['direct']:5.2f}, {p99[way] - p99['direct']:6.2f} ms"
            f"   all begun in {begun[way]:.2f} s",
            flush=True,
        )
    return max(p50["proxy"] / p50["http"], p99["proxy"] / p99["http"]) <= MOST_DELAY


def compare_rates(results: dict[str, list[Measured]]) -> bool:
    rates = {way: median(one.rate for one in results[way]) for way in WAYS}
    for way in WAYS:
        print(f"  {way:7} {rates[way]:7.0f} chunks/s, {rates[way] / rates['tcp']:5.2f}x tcp", flush=True)
    return rates["proxy"] / rates["http"] >= LEAST_RATE


if __name__ == "__main__":
    sys.exit(uvloop.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)))
