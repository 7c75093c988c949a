"""Where the tested checkout is."""

from __future__ import annotations

import signal
from pathlib import Path

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "samples"


def heed_ctrl_c() -> None:
    """For a child: SIGINT is ignored in what a shell runs in the background, which its children inherit."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
