"""Relays beside which the proxy is measured, each on loopback in front of the benchmark's upstream: one that
only copies bytes, and what people would use instead, where it is installed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import psutil

from tests.support.proxies import running_proxy

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / ".peers"
HOW_TO_INSTALL = """\
nginx      apt install nginx-light, or brew install nginx
mitmdump   python -m venv .peers/mitmproxy && .peers/mitmproxy/bin/pip install mitmproxy
litellm    python -m venv .peers/litellm && .peers/litellm/bin/pip install 'litellm[proxy]'
They are looked for on PATH and in .peers/*/bin of this checkout, each in an environment of its own: they want
other versions of the same libraries. The benchmark starts each on loopback, with a configuration of its own,
and ends it."""
_START = 60.0  # seconds
_RESTS = 0.002  # CPU seconds in 0.2 s below which it is idle

Started: TypeAlias = tuple[int, psutil.Process]
Start: TypeAlias = Callable[[Path, int], Iterator[Started]]


def copying(folder: Path, upstream: int) -> Iterator[Started]:
    """The least that any proxy costs: bytes from one socket to another."""
    command = [sys.executable, str(ROOT / "benchmarks" / "relays.py"), "tcp", str(upstream)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline()), psutil.Process(process.pid)
        finally:
            process.kill()


def workbench(folder: Path, upstream: int) -> Iterator[Started]:
    """`workbench serve`: converts and records."""
    with running_proxy(folder, f"http://127.0.0.1:{upstream}/v1", "roo-xml") as proxy:
        yield int(proxy.base.rsplit(":", 1)[1]), psutil.Process(proxy.process.pid)


def workers(folder: Path, upstream: int) -> Iterator[Started]:
    """`workbench serve --workers 2`."""
    home = folder / "workers"
    home.mkdir()
    with running_proxy(home, f"http://127.0.0.1:{upstream}/v1", "roo-xml", "--workers", "2") as proxy:
        yield int(proxy.base.rsplit(":", 1)[1]), psutil.Process(proxy.process.pid)


def nginx(folder: Path, upstream: int) -> Iterator[Started]:
    port = _free_port()
    home = folder / "nginx"
    home.mkdir()
    (home / "nginx.conf").write_text(
        f"""daemon off; pid {home}/pid; error_log {home}/error.log; worker_processes 1;
        events {{ worker_connections 1024; }}
        http {{
          access_log off; client_body_temp_path {home}/body; proxy_temp_path {home}/proxy;
          fastcgi_temp_path {home}/f; uwsgi_temp_path {home}/u; scgi_temp_path {home}/s;
          server {{ listen 127.0.0.1:{port}; location / {{
            proxy_pass http://127.0.0.1:{upstream}; proxy_http_version 1.1; proxy_buffering off;
            proxy_set_header Connection ""; }} }}
        }}"""
    )
    yield from _listening([_program("nginx"), "-p", str(home), "-c", str(home / "nginx.conf")], port)


def mitmdump(folder: Path, upstream: int) -> Iterator[Started]:
    port = _free_port()
    home = folder / "mitmproxy"
    command = [
        _program("mitmdump"),
        "-q",
        "--mode",
        f"reverse:http://127.0.0.1:{upstream}",
        "--listen-host",
        "127.0.0.1",
    ]
    command += ["-p", str(port), "--set", "stream_large_bodies=1", "--set", f"confdir={home}"]
    yield from _listening(command, port)


def litellm(folder: Path, upstream: int) -> Iterator[Started]:
    port = _free_port()
    config = folder / "litellm.yaml"
    config.write_text(
        "model_list:\n- model_name: m\n  litellm_params:\n    model: openai/m\n    api_key: none\n"
        f"    api_base: http://127.0.0.1:{upstream}/v1\n"
    )
    yield from _listening(
        [_program("litellm"), "--config", str(config), "--host", "127.0.0.1", "--port", str(port)],
        port,
        LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY="true",  # on loopback, for a minute
    )


RELAYS: dict[str, Start] = {
    "relay": copying,
    "workbench": workbench,
    "workers": workers,
    "nginx": nginx,
    "mitmdump": mitmdump,
    "litellm": litellm,
}


OURS = ("relay", "workbench", "workers")


def installed() -> list[str]:
    """The relays that can be started here."""
    return [name for name in RELAYS if name in OURS or _found(name)]


def _found(name: str) -> str | None:
    folders = [str(folder) for folder in sorted(PEERS.glob("*/bin"))]
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join(folders))


def _program(name: str) -> str:
    found = _found(name)
    assert found is not None
    return found


@contextmanager
def running(name: str, folder: Path, upstream: int) -> Iterator[Started]:
    """Its port and its process."""
    steps = RELAYS[name](folder, upstream)
    try:
        yield next(steps)
    finally:
        for _ in steps:
            pass


def cpu_seconds(process: psutil.Process) -> float:
    """Of the process and its children so far."""
    return sum(map(_cpu_of, (process, *process.children(recursive=True))))


async def settled_cpu(process: psutil.Process) -> float:
    """As soon as it is idle. Writing after a load belongs to that load: counted too early, it would be
    charged to the next one."""
    before = -1.0
    while (now := cpu_seconds(process)) - before > _RESTS:
        before = now
        await asyncio.sleep(0.2)
    return now


def _cpu_of(process: psutil.Process) -> float:
    """In nanoseconds where the system counts them: other clocks tick a hundred times a second, which is too
    coarse for a few thousand chunks."""
    try:
        counts = [path.read_text() for path in Path(f"/proc/{process.pid}/task").glob("*/schedstat")]
    except OSError:
        counts = []
    if counts:
        return sum(int(count.split()[0]) for count in counts) / 1e9
    times = process.cpu_times()
    return float(times.user + times.system)


def resident_bytes(process: psutil.Process) -> int:
    return sum(one.memory_info().rss for one in (process, *process.children(recursive=True)))


def _listening(command: list[str], port: int, **environment: str) -> Iterator[Started]:
    quiet = subprocess.DEVNULL
    more = {**os.environ, **environment}
    with subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, env=more) as process:
        try:
            _wait_for(port, process)
            yield port, psutil.Process(process.pid)
        finally:
            with contextlib.suppress(psutil.NoSuchProcess):
                for child in psutil.Process(process.pid).children(recursive=True):
                    child.kill()
            process.kill()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + _START
    while time.monotonic() < until:
        if process.poll() is not None:
            raise SystemExit(f"{process.args!r} ended with {process.returncode} before it listened")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise SystemExit(f"{process.args!r} does not listen after {_START:.0f} s")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
