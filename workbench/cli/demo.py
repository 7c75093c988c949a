"""`workbench demo`: the workbench without a model, to try it."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from workbench.cli.columns import columns
from workbench.cli.printing import write
from workbench.demo.launch import Demo, first_tape
from workbench.demo.scripts import DEMO, QWEN_CHAT, read_script
from workbench.replay.player import Player


def demo(keep: str | None, no_live: bool, qwen_chat: bool = False) -> int:
    """With a terminal the screen; without one the three columns of the first exchange."""
    script = QWEN_CHAT if qwen_chat else DEMO
    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout)):
        write("".join(f"{line}\n" for line in columns(_first(script))).encode("utf-8", "replace"))
        return 0
    from workbench.ui.app import run_demo

    return run_demo(Demo(None if keep is None else Path(keep), live=not no_live, script=script))


def _first(script: str) -> Player:
    tape = first_tape(time.time(), read_script(script))
    player = Player(tape.header)
    player.add(tape.lines)
    return player
