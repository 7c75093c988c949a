"""The table of a try as one self-contained HTML page: no script, no file beside it, nothing fetched.

Whatever comes from requests, answers and file names is redacted as on tapes, and escaped.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from html import escape

from workbench.lab.plan import Variant
from workbench.lab.report import conclusions, p_text, sign, value_text
from workbench.lab.statistics import MEASURES, METHOD, MISSING, Mean, Measure, Rate, Table, has_scipy
from workbench.lab.store import Try
from workbench.recording.redaction import Redaction
from workbench.text import json_text, visible_text

_LONGEST_TEMPLATE = 20_000
_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #59636e; --line: #d1d9e0; --back: #ffffff;
  --good: #1a7f37; --bad: #cf222e; --plain: #3d6fb6; --shade: #f3f5f7; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9198a1; --line: #3d444d;
  --back: #0d1117; --good: #3fb950; --bad: #f85149; --plain: #6ea1e4; --shade: #161b22; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 2rem 1.25rem 4rem; background: var(--back);
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; } h2 { font-size: 1.1rem; margin: 2.25rem 0 .5rem; }
p { margin: .25rem 0; } .soft { color: var(--soft); }
ul { padding-left: 1.2rem; }
section.measure { margin: 1.25rem 0; }
section.measure h3 { font-size: .95rem; margin: 0 0 .35rem; } h3 .soft { font-weight: normal; }
.bar { display: grid; grid-template-columns: 11rem 1fr 17rem; gap: .75rem; align-items: center;
  margin: .2rem 0; }
.bar .name { overflow-wrap: anywhere; }
.track { position: relative; height: 1.1rem; background: var(--shade); border: 1px solid var(--line);
  border-radius: 3px; }
.fill { position: absolute; inset: 0 auto 0 0; border-radius: 2px; background: var(--plain); }
.fill.good { background: var(--good); } .fill.bad { background: var(--bad); }
.span { position: absolute; top: 50%; height: 0; border-top: 2px solid var(--ink); }
.span::before, .span::after { content: ""; position: absolute; top: -6px; height: 10px;
  border-left: 2px solid var(--ink); }
.span::before { left: 0; } .span::after { right: 0; }
.figure { font-variant-numeric: tabular-nums; } .called { font-weight: 600; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .3rem .75rem .3rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; overflow-wrap: anywhere; }
details { margin: .5rem 0; } summary { cursor: pointer; }
pre { background: var(--shade); border: 1px solid var(--line); border-radius: 4px; padding: .75rem;
  overflow-x: auto; font-size: 13px; white-space: pre-wrap; overflow-wrap: anywhere; }
@media (max-width: 44rem) { .bar { grid-template-columns: 1fr; gap: .15rem; } }
"""


class Page:
    """Makes the page of one table."""

    def __init__(self, made: Try, table: Table, redaction: Redaction) -> None:
        self._try = made
        self._table = table
        self._redaction = redaction

    def html(self, now: float | None = None) -> str:
        return "\n".join(self._parts(time.time() if now is None else now)) + "\n"

    def _text(self, text: str) -> str:
        return escape(visible_text(self._redaction.text(text)))

    def _parts(self, now: float) -> Iterator[str]:
        table, plan = self._table, self._table.plan
        title = self._text(f"{self._try.id}: {' against '.join(one.name for one in plan.variants)}")
        yield "<!doctype html>"
        yield '<html lang="en"><head><meta charset="utf-8">'
        # If anything slips through after all, the browser neither runs nor fetches it.
        policy = "default-src 'none'; style-src 'unsafe-inline'"
        yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
        yield f"<title>{title}</title><style>{_STYLE}</style></head><body>"
        yield f"<h1>{title}</h1>"
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(now))
        cases = f"{len(plan.cases)} request{'s' if len(plan.cases) != 1 else ''}"
        yield (
            f'<p class="soft">{cases}, {plan.times} times each with each variant; {table.done:,} of '
            f"{table.planned:,} trials done; written {when} by toolcall-workbench</p>"
        )
        yield "<ul>"
        for line in conclusions(table):
            yield f"<li>{self._text(line)}</li>"
        yield "</ul>"
        for measure in MEASURES:
            yield from self._measure(measure)
        yield from self._codes()
        yield from self._cases()
        yield from self._variants()
        yield f'<h2>Method</h2><p class="soft">{escape(METHOD if has_scipy() else MISSING)}</p>'
        yield "</body></html>"

    # -- bars

    def _measure(self, measure: Measure) -> Iterator[str]:
        values = [row.values[measure.key] for row in self._table.rows]
        if all(value.value is None for value in values):
            return
        most = _most(values)
        yield f'<section class="measure"><h3>{escape(measure.title)} '
        yield f'<span class="soft">{escape(measure.about)}</span></h3>'
        for at, value in enumerate(values):
            yield self._bar(measure, at, value, most)
        yield "</section>"

    def _bar(self, measure: Measure, variant: int, value: Rate | Mean, most: float) -> str:
        difference = self._table.differences[variant].get(measure.key)
        first = self._table.rows[0].values[measure.key]
        mark = sign(measure, first, value, difference)
        better = mark and measure.good is not None and (mark == "↑") == measure.good
        look = "" if not mark or measure.good is None else " good" if better else " bad"
        told = f"{value_text(measure, value)} {mark}".rstrip()
        if difference is not None:
            told += f", {p_text(difference.p)}"
        drawn = ""
        if value.value is not None:
            drawn = f'<div class="fill{look}" style="width:{_share(value.value, most)}"></div>'
        if value.interval is not None and value.interval.high > value.interval.low:
            low, high = value.interval.low, value.interval.high
            place = f"left:{_share(low, most)};width:{_share(high - max(low, 0), most)}"
            drawn += f'<div class="span" style="{place}"></div>'
        figure = "figure called" if mark else "figure"
        return (
            f'<div class="bar"><div class="name">{self._text(self._table.plan.variants[variant].name)}</div>'
            f'<div class="track">{drawn}</div><div class="{figure}">{escape(told)}</div></div>'
        )

    # -- tables

    def _codes(self) -> Iterator[str]:
        codes = self._table.rows[0].codes
        if not codes:
            return
        yield "<h2>Malformed, by code</h2>"
        cells = {code: [value_text(None, row.codes[code]) for row in self._table.rows] for code in codes}
        yield from self._rows(["code"], [[code, *found] for code, found in cells.items()])

    def _cases(self) -> Iterator[str]:
        yield "<h2>Cases</h2>"
        rows = [
            [case.name, case.expected.sentence, *(f"{cell.good.hits} of {cell.good.of}" for cell in cells)]
            for case, cells in zip(self._table.plan.cases, self._table.cells, strict=True)
        ]
        yield '<p class="soft">Answers as wanted: what is expected, and of use to the client.</p>'
        yield from self._rows(["case", "expected"], rows)

    def _rows(self, first: list[str], rows: list[list[str]]) -> Iterator[str]:
        yield '<div class="scroll"><table><thead><tr>'
        for name in [*first, *(variant.name for variant in self._table.plan.variants)]:
            yield f"<th>{self._text(name)}</th>"
        yield "</tr></thead><tbody>"
        for row in rows:
            yield f"<tr>{''.join(f'<td>{self._text(cell)}</td>' for cell in row)}</tr>"
        yield "</tbody></table></div>"

    def _variants(self) -> Iterator[str]:
        yield "<h2>Variants</h2>"
        for variant in self._table.plan.variants:
            yield f"<details><summary>{self._text(variant.name)}: {self._text(_about(variant))}</summary>"
            if variant.template is not None:
                yield f"<pre>{self._text(variant.template[:_LONGEST_TEMPLATE])}</pre>"
            yield "</details>"


def _about(variant: Variant) -> str:
    parts = [f"prompt {variant.prompt}"]
    parts += [f"dialect {variant.dialect}"] if variant.dialect else []
    parts += [f"model {variant.model}"] if variant.model else []
    parts += [f"{key} = {json_text(value)}" for key, value in {**variant.switches, **variant.body}.items()]
    return ", ".join(parts)


def _most(values: list[Rate | Mean]) -> float:
    """The end of the scale: all of it for rates, the largest value for means."""
    if all(isinstance(value, Rate) for value in values):
        return 1.0
    ends = [value.interval.high if value.interval else value.value or 0.0 for value in values]
    return max(ends) or 1.0


def _share(value: float, most: float) -> str:
    return f"{max(0.0, min(1.0, value / most)) * 100:.2f}%"
