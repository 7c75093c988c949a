"""Processes: whether the one that writes a tape is still there."""

from __future__ import annotations

import os


def is_alive(pid: int | None) -> bool:
    """Whether there is such a process, whoever owns it."""
    if not pid or pid < 0:
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True
