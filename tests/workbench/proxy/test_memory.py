"""An exchange that has ended leaves nothing behind: the proxy looks for garbage so seldom that memory would
grow with each."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.support.bench import CALL, TOOLS, wait_for
from tests.support.project import ROOT
from tests.support.streams import stream_of
from tests.support.upstream.answers import stream
from tests.support.upstream.server import ScriptedUpstream

EXCHANGES = 20
# The proxy as it is; at a signal it says what a look for garbage would find.
COUNTING = """
import gc, signal, sys

def count(*_):
    print("garbage:", gc.collect(), file=sys.stderr, flush=True)

signal.signal(signal.SIGUSR1, count)
from workbench.cli.main import main
main()
"""


@pytest.mark.exhaustive  # quick: a closed transformer leaves nothing (transformer/answer/test_snapshot.py)
def test_an_exchange_leaves_no_garbage(tmp_path: Path):
    log = tmp_path / "log"
    with ScriptedUpstream() as upstream, log.open("w") as errors:
        answer = stream([part + b"\n\n" for part in stream_of(CALL).split(b"\n\n")[:-1]])
        upstream.answer_with(lambda seen: answer)
        command = [sys.executable, "-c", COUNTING, "serve", "--port", "0", "--library", str(tmp_path / "l")]
        command += ["--upstream", upstream.url, "--dialect", "roo-xml"]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=errors, text=True)
        assert process.stdout is not None
        try:
            found = re.search(r"http://\S+/v1", process.stdout.readline())
            assert found is not None
            ask(found[0], 3)  # what is made once, and stays
            garbage(process, log, 1)
            ask(found[0], EXCHANGES)
            assert garbage(process, log, 2) == 0
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


def ask(url: str, times: int) -> None:
    body = {"model": "m", "stream": True, "tools": TOOLS, "messages": [{"role": "user", "content": "Go."}]}
    for _ in range(times):
        assert httpx.post(f"{url}/chat/completions", json=body).status_code == 200


def garbage(process: subprocess.Popen[str], log: Path, times: int) -> int:
    """How many objects only a look for garbage could free; this is the `times`-th look."""
    process.send_signal(signal.SIGUSR1)
    wait_for(lambda: log.read_text().count("garbage:") == times, "a look for garbage")
    return int(re.findall(r"garbage: (\d+)", log.read_text())[-1])
