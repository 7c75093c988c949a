"""The charts of a report as one SVG: a grid of small charts, two in a row.

It has a background of its own, so that it can be read on white and on dark pages, and no colour carries a
meaning alone: bars have their names beside them, lines are dashed differently.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import ceil, floor, log10

from benchmarks.report import Bars, Chart, Lines, Report

_PANEL, _GAP, _MARGIN, _HEAD = 430, 28, 20, 46
_WIDTH = 2 * _PANEL + _GAP + 2 * _MARGIN
_LETTER = 6.6  # pixels, of a font of 12: no program here knows the real width
_INK, _SOFT, _GRID, _PAPER, _EDGE = "#1f2328", "#59636e", "#e4e8ec", "#ffffff", "#d1d9e0"
_OURS, _OTHERS, _GOAL = "#0a66c2", "#a9b4bf", "#c2410c"
_COLOURS = ("#0a66c2", "#1a7f37", "#8250df", "#9a6700", "#bf3989", "#59636e")  # none is that of goals
_DASHES = ("", "6 3", "2 3", "8 3 2 3", "4 2", "1 2")
_BAR, _SPACE = 15, 6
_PLOT = 150  # height of a chart with lines
_CLIP = 2.5  # times the goal: a much longer bar would leave no space for the others


def draw(report: Report) -> str:
    charts = report.drawn()
    rows = [charts[at : at + 2] for at in range(0, len(charts), 2)]
    parts, y = [], _HEAD
    for row in rows:
        for at, chart in enumerate(row):
            parts += _chart(chart, _MARGIN + at * (_PANEL + _GAP), y)
        y += max(map(_height, row)) + _GAP
    height = y - _GAP + _MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" '
        f'height="{height}" font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, DejaVu Sans, '
        f'sans-serif" font-size="12" role="img">\n'
        f"<title>{escape(report.title)}</title>\n"
        f'<rect x="0.5" y="0.5" width="{_WIDTH - 1}" height="{height - 1}" rx="8" fill="{_PAPER}" '
        f'stroke="{_EDGE}"/>\n'
        f"{_text(_MARGIN, 27, _cut(report.title, _WIDTH - 2 * _MARGIN, 15), size=15, bold=True)}\n"
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _height(chart: Chart) -> int:
    if isinstance(chart, Bars):
        return 26 + len(chart.values) * (_BAR + _SPACE) + (20 if chart.goal is not None else 4)
    return 26 + 18 * _legend_rows(chart.series) + 24 + _PLOT + 38


def _chart(chart: Chart, x: int, y: int) -> list[str]:
    return _bars(chart, x, y) if isinstance(chart, Bars) else _lines(chart, x, y)


# -- bars


def _bars(chart: Bars, x: int, y: int) -> list[str]:
    names = list(chart.values)
    left = x + min(170.0, max(len(name) for name in names) * _LETTER + 20)
    room = x + _PANEL - left - 64  # the rest is for the values
    scale = room / (_longest(chart) or 1.0)
    better = f"{'more' if chart.more else 'less'} is better" if chart.goal is not None else ""
    said = f"{chart.unit}{', ' if chart.unit and better else ''}{better}"
    title = _cut(chart.title, _PANEL - len(said) * _LETTER, 13)
    parts = [_text(x, y + 13, title, size=13, bold=True)]
    parts.append(_text(x + _PANEL, y + 13, said, anchor="end", colour=_SOFT, size=11))
    top = y + 26
    bottom = top + len(names) * (_BAR + _SPACE) - _SPACE
    values = []  # over everything else: the mark of the goal must not cross them out
    for at, name in enumerate(names):
        value, row = chart.values[name], top + at * (_BAR + _SPACE)
        clipped = value * scale > room + 0.5
        width = min(room, max(1.5, value * scale))
        colour = _OURS if chart.marked in (name, "") else _OTHERS
        bold = name == chart.marked
        parts.append(_text(left - 8, row + 12, _cut(name, left - x - 8, 12), anchor="end", bold=bold))
        parts.append(
            f'<rect x="{left:.1f}" y="{row}" width="{width:.1f}" height="{_BAR}" rx="2" fill="{colour}"/>'
        )
        if clipped:
            parts.append(_break(left + room - 16, row))
        values.append(_text(left + width + 6, row + 12, _number(value), bold=bold))
    if chart.goal is not None:
        parts += _goal(left, left + chart.goal * scale, top, bottom, chart)
    parts.append(f'<path d="M{left:.1f} {top - 2} V{bottom + 2}" stroke="{_SOFT}"/>')
    return parts + values


def _longest(chart: Bars) -> float:
    """Where the axis ends. A bar much longer than the goal and than the bar in question is cut off."""
    values = list(chart.values.values())
    if chart.goal is None or not chart.marked:
        return max(*values, (chart.goal or 0.0) * 1.05)
    most = max(chart.goal, chart.values.get(chart.marked, 0.0)) * _CLIP
    longest = max(values) if max(values) < most * 1.3 else most
    return max(longest, chart.goal * 1.05)


def _break(x: float, y: float) -> str:
    """Two slashes through a bar: it goes on."""
    path = " ".join(f"M{x + at:.1f} {y + _BAR + 1} l5 -{_BAR + 2}" for at in (0, 4))
    return f'<path d="{path}" stroke="{_PAPER}" stroke-width="2"/>'


def _goal(left: float, at: float, top: int, bottom: int, chart: Bars) -> list[str]:
    words = f"goal {'≥' if chart.more else '≤'} {chart.goal:g}"
    anchor = "start" if at - left < 40 else "middle"
    return [
        f'<path d="M{at:.1f} {top - 4} V{bottom + 4}" stroke="{_GOAL}" stroke-width="1.5" '
        f'stroke-dasharray="4 2"/>',
        _text(at, bottom + 16, words, anchor=anchor, colour=_GOAL, size=11),
    ]


# -- lines


def _lines(chart: Lines, x: int, y: int) -> list[str]:
    parts = [_text(x, y + 13, _cut(chart.title, _PANEL, 13), size=13, bold=True)]
    parts += _legend(chart.series, x, y + 30)
    top = y + 26 + 18 * _legend_rows(chart.series) + 24
    bottom, left, right = top + _PLOT, x + 46, x + _PANEL - 22
    sizes = sorted({point[0] for points in chart.series.values() for point in points})
    most = max(point[1] for points in chart.series.values() for point in points)
    ticks = _ticks(max(most, chart.limit or 0.0) * 1.08)
    parts.append(_text(x, top - 10, chart.y, colour=_SOFT, size=11))

    def across(size: float) -> float:
        """At equal distances: each size is a multiple of the one before."""
        return left + 14 + sizes.index(size) * (right - left - 28) / max(1, len(sizes) - 1)

    def up(value: float) -> float:
        return bottom - value / ticks[-1] * _PLOT

    for tick in ticks:
        parts.append(f'<path d="M{left} {up(tick):.1f} H{right}" stroke="{_GRID}"/>')
        parts.append(_text(left - 6, up(tick) + 4, _tick(tick), anchor="end", colour=_SOFT, size=11))
    for size in sizes:
        parts.append(f'<path d="M{across(size):.1f} {bottom} v4" stroke="{_SOFT}"/>')
        parts.append(_text(across(size), bottom + 16, _size(size), anchor="middle", colour=_SOFT, size=11))
    parts.append(f'<path d="M{left} {bottom} H{right}" stroke="{_SOFT}"/>')
    parts.append(_text((left + right) / 2, bottom + 33, chart.x, anchor="middle", colour=_SOFT, size=11))
    goal = ""  # its text is above the lines
    if chart.limit is not None:
        parts.append(
            f'<path d="M{left} {up(chart.limit):.1f} H{right}" stroke="{_GOAL}" stroke-width="1.5" '
            f'stroke-dasharray="4 2"/>'
        )
        said = f"goal ≤ {_number(chart.limit)}"
        near = any(abs(up(points[-1][1]) - up(chart.limit)) < 24 for points in chart.series.values())
        at, anchor = (left + 4, "start") if near else (right, "end")
        goal = _text(at, up(chart.limit) - 5, said, anchor=anchor, colour=_GOAL, size=11)
    for at, points in enumerate(chart.series.values()):
        places = [(across(size), up(value)) for size, value in points]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{_colour(at)}" stroke-width="2" '
            f'stroke-dasharray="{_DASHES[at % len(_DASHES)]}"/>'
        )
        for (a, b), (_, value) in zip(places, points, strict=True):
            parts.append(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{_colour(at)}"/>')
            if len(chart.series) == 1:
                # Below the point where it would meet the mark of the goal, if there is room.
                below = chart.limit is not None and 0 <= b - up(chart.limit) < 24 and b + 18 < bottom
                parts.append(_text(a, b + (16 if below else -8), _number(value), anchor="middle"))
    return [*parts, goal]


def _legend_places(series: Mapping[str, object]) -> list[tuple[float, int]]:
    """Where each name is: from the left, and in which row."""
    places, at, row = list[tuple[float, int]](), 0.0, 0
    for name in series:
        width = len(name) * _LETTER + 40
        if at and at + width > _PANEL:
            at, row = 0.0, row + 1
        places.append((at, row))
        at += width
    return places


def _legend_rows(series: Mapping[str, object]) -> int:
    return _legend_places(series)[-1][1] + 1 if len(series) > 1 else 0


def _legend(series: Mapping[str, object], x: int, y: int) -> list[str]:
    if len(series) < 2:
        return []
    parts = []
    for at, (name, (a, row)) in enumerate(zip(series, _legend_places(series), strict=True)):
        down = y + 18 * row
        parts.append(
            f'<path d="M{x + a:.1f} {down - 4} h22" stroke="{_colour(at)}" stroke-width="2" '
            f'stroke-dasharray="{_DASHES[at % len(_DASHES)]}"/>'
        )
        parts.append(_text(x + a + 27, down, name))
    return parts


def _colour(at: int) -> str:
    return _COLOURS[at % len(_COLOURS)]


def _ticks(most: float) -> Sequence[float]:
    """From 0, so that flat lines look flat; four or five round numbers."""
    rough = (most or 1.0) / 4
    power = 10.0 ** floor(log10(rough))
    step = next(one * power for one in (1, 2, 2.5, 5, 10) if one * power >= rough)
    return [step * at for at in range(ceil((most or 1.0) / step) + 1)]


def _tick(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"


def _size(value: float) -> str:
    """1 000 as 1k: the names of sizes must fit beside each other."""
    for factor, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:.3g}{letter}"
    return f"{value:g}"


def _number(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value >= 0.1 else f"{value:.2g}"


def _cut(text: str, width: float, size: int) -> str:
    most = int(width / (_LETTER * size / 12))
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def _text(
    x: float,
    y: float,
    text: str,
    *,
    anchor: str = "start",
    colour: str = _INK,
    size: int = 12,
    bold: bool = False,
) -> str:
    """With an edge of paper around the letters, so that a line behind them does not cross them out."""
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}" '
        f'stroke="{_PAPER}" stroke-width="3" stroke-linejoin="round" paint-order="stroke"{weight}>'
        f"{escape(text)}</text>"
    )
