"""A leash: what ends a process of ours when the one that started it is gone.

The child's standard input is a pipe that only its parent holds. However the parent ends, by a signal that
nobody can catch included, the pipe ends with it. That works on every system and from every thread, unlike
Linux's death signal, which comes when the starting *thread* ends.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
import time

# The same import path as here: with `-m` a file `secrets.py` in the user's folder would be ours.
_START = "import sys; sys.path[:] = {path!r}; from workbench.leash import run; run({module!r})"
_AT_LAST = 120.0  # seconds for an orderly end


def command(module: str, *arguments: str) -> list[str]:
    """What to execute so that `main()` of a module runs on a leash; its standard input has to be a pipe."""
    return [sys.executable, "-P", "-c", _START.format(path=sys.path, module=module), *arguments]


def run(module: str) -> None:
    """The child's side."""
    threading.Thread(target=_watch, name="leash", daemon=True).start()
    importlib.import_module(module).main()


def _watch() -> None:
    try:
        while os.read(0, 1024):
            pass
    except OSError:
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_AT_LAST)
    os._exit(1)
