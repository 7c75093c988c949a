"""`workbench detect`: which dialect an answer is written in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from workbench.analysis.detection import Candidate, detect
from workbench.cli.output import write
from workbench.cli.transform import wishes_of
from workbench.tape.inputs import Kind, load
from workbench.text import json_text, visible_line

_MOST_AGAINST = 3


def detect_files(files: Sequence[str], tools: str | None, kind: Kind | None, as_json: bool) -> int:
    """Say it of each file; the exit code is 1 where one of them has no call that any dialect reads."""
    wishes = wishes_of(None, tools, ())
    found = {name: detect(load(None if name == "-" else name, kind), wishes) for name in files or ["-"]}
    if as_json:
        rows = {
            name: [{**asdict(one), "certainty": one.certainty.word} for one in candidates]
            for name, candidates in found.items()
        }
        write(json_text(rows, indent=2).encode() + b"\n")
    else:
        write("".join(f"{line}\n" for name in found for line in _lines(name, found[name])).encode())
    return 0 if all(found.values()) else 1


def _lines(name: str, candidates: list[Candidate]) -> list[str]:
    if not candidates:
        return [f"{visible_line(name)}: no call that any dialect reads"]
    lines = []
    for one in candidates:
        said = "; ".join(one.reasons) or "nothing that it reads as a call"
        lines.append(visible_line(f"{name}: {one.dialect}, {one.certainty.word} ({said})"))
        lines += [visible_line(f"    against: {reason}") for reason in one.against[:_MOST_AGAINST]]
    return lines
