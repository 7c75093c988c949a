"""How a measurement is told: a table for people, JSON for programs, bars and lines as SVG for a page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

_ROW, _LEFT, _WIDTH, _HEAD = 22, 220, 420, 30
_COLOURS = ("#4c78a8", "#f58518", "#54a24b", "#b279a2", "#9d755d")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as they need; the first one to the left, numbers to the right."""
    widths = [max(len(row[at]) for row in (head, *rows)) for at in range(len(head))]
    lines = []
    for row in (head, *rows):
        first, *others = (
            cell.ljust(width) if not at else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join([first, *others]).rstrip())
    return "\n".join(lines)


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


def bars(title: str, groups: Mapping[str, Mapping[str, float]], unit: str) -> str:
    """One group of bars for each measurement, one bar for each relay: an SVG of its own."""
    names = list(dict.fromkeys(name for group in groups.values() for name in group))
    lines: list[str] = []
    y = _HEAD
    for label, group in groups.items():
        most = max(group.values()) or 1.0
        lines.append(_text(8, y + 15, label, "bold"))
        y += _ROW
        for name, value in group.items():
            width = max(1.0, value / most * _WIDTH)
            colour = _COLOURS[names.index(name) % len(_COLOURS)]
            lines.append(_text(20, y + 15, name))
            lines.append(
                f'<rect x="{_LEFT}" y="{y + 3}" width="{width:.1f}" height="{_ROW - 6}" fill="{colour}"/>'
            )
            lines.append(_text(_LEFT + width + 6, y + 15, f"{value:.2f} {unit}"))
            y += _ROW
        y += 8
    height, width = y + 8, _LEFT + _WIDTH + 110
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>'
        f"{_text(8, 18, title, 'bold')}{''.join(lines)}</svg>\n"
    )


_HIGH = 150  # of one chart with lines
_GAP = 70


def lines(series: Mapping[str, Sequence[tuple[float, float, float]]], left: str, right: str) -> str:
    """One chart below the other, each with two lines over the same sizes: (size, on the left, on the right).
    The axes begin at 0, so that what is flat looks flat; the sizes stand at equal distances."""
    parts: list[str] = []
    y = _HEAD
    for what, points in series.items():
        parts.append(_text(8, y, what, "bold"))
        for at, colour, name in ((1, _COLOURS[0], left), (2, _COLOURS[1], right)):
            most = max(point[at] for point in points) * 1.15 or 1.0
            places = [
                (
                    60 + n * (_WIDTH + 60) / max(1, len(points) - 1),
                    y + _HIGH - point[at] / most * (_HIGH - 20),
                )
                for n, point in enumerate(points)
            ]
            path = " ".join(f"{x:.1f},{height:.1f}" for x, height in places)
            parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
            for (x, height), point in zip(places, points, strict=True):
                parts.append(f'<circle cx="{x:.1f}" cy="{height:.1f}" r="3" fill="{colour}"/>')
                parts.append(_text(x - 8, height - 7, f"{point[at]:.3g}", colour=colour))
            parts.append(_text(_WIDTH + 140, y + 10 + 16 * at, name, colour=colour))
        parts.append(f'<path d="M50 {y + _HIGH} H{_WIDTH + 130}" stroke="#888"/>')
        for n, point in enumerate(points):
            parts.append(_text(_place(n, len(points)) - 14, y + _HIGH + 16, f"{point[0]:,.0f}"))
        y += _HIGH + _GAP
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH + 260}" height="{y}" '
        f'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>'
        f"{''.join(parts)}</svg>\n"
    )


def _place(number: int, count: int) -> float:
    return 60 + number * (_WIDTH + 60) / max(1, count - 1)


def _text(x: float, y: float, text: str, weight: str = "normal", colour: str = "black") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-weight="{weight}" fill="{colour}">{escape(text)}</text>'
