"""The real program, `workbench serve`, as a process of its own that a test can talk to."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, Queue

from tests.support import preloaded
from tests.support.preloaded import Program
from tests.support.project import ROOT
from tests.support.upstream.server import ScriptedUpstream
from workbench.tape.format import Tape, TapeError, read_tape

START_SECONDS = 20
STOP_SECONDS = 20
_URL = re.compile(r"https?://\S+/v1\b")


@dataclass(frozen=True, slots=True)
class Proxy:
    """A running proxy: where it listens, and what it has recorded."""

    url: str  # with /v1, as one pastes it into a client
    library: Path
    process: Program
    log: Path  # its standard error
    _read: dict[Path, tuple[int, Tape]] = field(default_factory=dict, init=False)  # complete ones, by size

    @property
    def base(self) -> str:
        return self.url.removesuffix("/v1")

    def tapes(self, count: int = 0, timeout: float = 10) -> list[Tape]:
        """Its tapes in the order they began, as soon as at least `count` of them are complete."""
        end = time.monotonic() + timeout
        while True:
            tapes = [tape for path in self.library.glob("tapes/*/*.jsonl") if (tape := self._tape(path))]
            if sum(tape.complete for tape in tapes) >= count:
                return sorted(tapes, key=lambda tape: float(tape.header.get("started", 0)))
            if time.monotonic() > end:
                raise AssertionError(f"not {count} complete tapes within {timeout} s: {_summary(tapes)}")
            time.sleep(0.02)

    def _tape(self, path: Path) -> Tape | None:
        """None while its first line is still being written. A complete one is read once."""
        try:
            size = path.stat().st_size
            known = self._read.get(path)
            if known is not None and known[0] == size:
                return known[1]
            tape = read_tape(path)
        except (TapeError, FileNotFoundError):
            return None
        if tape.complete:
            self._read[path] = (size, tape)
        return tape

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(STOP_SECONDS)


@contextmanager
def running_proxy(
    tmp_path: Path,
    upstream: ScriptedUpstream | str | None,
    dialect: str | None = None,
    *flags: str,
    toml: str | None = None,
    env: Mapping[str, str] | None = None,
) -> Iterator[Proxy]:
    """Start it with none of the caller's settings, end it with SIGTERM, show its log when the test fails."""
    home = tmp_path / "proxy"
    home.mkdir(exist_ok=True)
    if toml is not None:
        (home / "workbench.toml").write_text(toml, encoding="utf-8")
    library, log = home / "library", home / "stderr"
    command = ["serve", "--port", "0", "--library", str(library), *flags]
    if upstream is not None:
        command += ["--upstream", upstream if isinstance(upstream, str) else upstream.url]
    if dialect is not None:
        command += ["--dialect", dialect]
    with log.open("w") as errors:
        process = preloaded.start(command, home, _environment(home, env or {}), errors)
    try:
        proxy = Proxy(_first_url(process, log), library, process, log)
        yield proxy
        proxy.stop()
    except BaseException:
        print(f"workbench {' '.join(command)}\n{log.read_text(errors='replace')}", file=sys.stderr)
        raise
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def _environment(home: Path, more: Mapping[str, str]) -> dict[str, str]:
    """Nothing of the caller's that the proxy might take for a setting, proxies of the network included."""
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("WORKBENCH_", "XDG_")) and not key.lower().endswith("_proxy")
    }
    return kept | {"HOME": str(home), "PYTHONPATH": str(ROOT), "WORKBENCH_TRACEBACK": "1", **more}


def _first_url(process: Program, log: Path) -> str:
    """The URL in the line that the program prints when it is ready."""
    lines: Queue[str] = Queue()

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line)
        lines.put("")

    threading.Thread(target=read, daemon=True).start()
    try:
        line = lines.get(timeout=START_SECONDS)
    except Empty:
        raise AssertionError(f"workbench serve said nothing within {START_SECONDS} s") from None
    found = _URL.search(line)
    assert found, f"workbench serve printed {line!r} instead of its URL; {log.read_text(errors='replace')}"
    return found[0]


def _summary(tapes: list[Tape]) -> list[str]:
    return [f"{tape.header.get('path')} {tape.problem or 'complete'}" for tape in tapes]
