"""The summary of a tape: its row, read from the file itself."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

from transformer.answer.review import observed
from workbench.conversion import convert
from workbench.errors import UserError
from workbench.inputs import Input, load
from workbench.library.folders import TapeEntry, id_of
from workbench.library.processes import is_alive
from workbench.library.retention import RECENT
from workbench.library.rows import columns_of_header, columns_of_summary, text_of, worst_level
from workbench.recipe import Wishes, make_recipe
from workbench.tape import Tape


def summarise(library: Path, entry: TapeEntry) -> dict[str, Any]:
    """The row of a tape. One that cannot be read gets a row as well, which says so."""
    row = {
        "path": entry.path, "id": id_of(entry.path), "started": entry.modified, "size": entry.size,
        "marked": entry.marked,
    }  # fmt: skip
    try:
        given = load(str((library / entry.path).absolute()), "tape")
        assert given.tape is not None
        row |= {key: value for key, value in _columns(given, given.tape, entry.modified).items() if value}
    except UserError as error:
        row |= {"state": "damaged", "problem": error.message}
    except Exception as error:  # one tape, of whatever origin, must not stop the others
        row |= {"state": "damaged", "problem": f"it cannot be summarised: {type(error).__name__}: {error}"}
    return row


def _columns(given: Input, tape: Tape, modified: float) -> dict[str, Any]:
    header = columns_of_header(tape.header)
    columns = header | _counts(tape) | _end(tape, header, modified)
    noticed = [line.value for line in tape.of("finding")]
    levels = {str(value["finding"]): str(value.get("level")) for value in noticed}
    findings = dict(Counter(str(value["finding"]) for value in noticed))
    said = columns_of_summary(tape.end.value) if tape.end is not None else {}
    if not {"calls", "findings"} & said.keys() and columns["kind"] != "relay":
        said |= _converted(given, tape, levels)
    findings |= said.pop("findings", {})
    found = {"findings": findings, "level": worst_level(findings, levels), "problem": tape.problem}
    return columns | said | found


def _counts(tape: Tape) -> dict[str, Any]:
    reads = tape.of("read")
    status = [line.value["status"] for line in tape.of("status") if line.value.get("side") == "client"]
    return {
        "chunks": len(reads),
        "bytes": sum(len(line.data) for line in reads),
        "ttfb": reads[0].t if reads else None,
        "status": next((code for code in status if isinstance(code, int)), None),
    }


def _end(tape: Tape, header: dict[str, Any], modified: float) -> dict[str, Any]:
    if tape.end is not None:
        return {"state": text_of(tape.end.value["end"]), "duration": tape.end.t}
    if is_alive(header["pid"]) and time.time() - modified < RECENT:
        return {"state": "running"}
    return {"state": "cut", "duration": tape.lines[-1].t if tape.lines else 0.0}


def _converted(given: Input, tape: Tape, levels: dict[str, str]) -> dict[str, Any]:
    """What nobody wrote down is found out again: the answer goes through the transformer once more."""
    recipe = make_recipe(tape.header, Wishes())
    result = convert(given, recipe, None, "findings")
    message = result.message or {}
    calls = [choice.get("message", {}).get("tool_calls") or [] for choice in message.get("choices", [])]
    levels |= {finding.code: finding.level for finding in result.findings}
    seen = observed(message, recipe.request, recipe.dialect, recipe.policy)
    counted = Counter([*(found.code for found in result.findings), *(found.code for found in seen)])
    return columns_of_summary(
        {"calls": sum(map(len, calls)), "findings": dict(counted), "usage": message.get("usage")}
    )
