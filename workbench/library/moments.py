"""Moments as people say them: `2h`, `today`, `2026-11-01`."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from workbench.errors import UserError

_AGO = re.compile(r"(\d{1,6}(?:\.\d+)?)\s*(s|m|min|h|d|w)")
_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_CLOCK = re.compile(r"(\d{1,2}):(\d\d)(?::(\d\d))?")


def parse_moment(text: str, now: float) -> float:
    """Seconds since 1970, in local time where nothing else is said; a UserError shows how to say it."""
    said = text.strip().lower()
    today = datetime.fromtimestamp(now).replace(hour=0, minute=0, second=0, microsecond=0)
    if said in ("today", "yesterday"):
        return (today - timedelta(days=said == "yesterday")).timestamp()
    if ago := _AGO.fullmatch(said):
        return now - float(ago[1]) * _UNITS[ago[2]]
    try:
        if clock := _CLOCK.fullmatch(said):
            return today.replace(
                hour=int(clock[1]), minute=int(clock[2]), second=int(clock[3] or 0)
            ).timestamp()
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError, OSError):
        raise UserError(
            f"{text!r} is no moment that can be understood: say 90s, 30m, 2h, 3d, today, yesterday, 14:30, "
            "2026-11-01 or 2026-11-01T14:30"
        ) from None
