"""Suites: a TOML file of recorded requests and of what their answers should be, to be run again and again.

    times = 10                              # how often each request is asked, with each variant
    [[variant]]                             # none: the prompts as they were recorded
    name = "careful"
    prompt = "careful.jinja"                # a file, "built-in" or "recorded"
    dialect = "NAME"                        # one of `workbench dialects`; each of these may be left out
    model = "qwen3-max"
    set = { temperature = 0.7, malformed = "repair" }
    [[case]]
    name = "reads the file"
    tape = "tapes/good-read.jsonl"
    expect_tool = "read_file"               # default: what the tape's own answer called
    expect_args = { path = "src/main.py" }  # these members, others may be there, too
    expect_call = false                     # instead: the answer should call nothing
    rate = 0.9                              # the part of the answers that must be so; default all

Files are relative to the suite.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import shutil
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench.errors import UserError, parser_says
from workbench.files import resolve
from workbench.lab.plan import (
    BUILT_IN,
    PARAMETERS,
    RECORDED,
    Case,
    Expected,
    Plan,
    Variant,
    check_switches,
    check_variants,
    read_case,
    read_template,
)
from workbench.tape.inputs import read_file
from workbench.tape.recipe import known_dialect

SUFFIX = ".toml"
TIMES = 10
_KEYS: Mapping[str, type | tuple[type, ...]] = {"times": int, "variant": list, "case": list}
_CASE: Mapping[str, type | tuple[type, ...]] = {
    "name": str, "tape": str, "expect_tool": str, "expect_args": dict, "expect_call": bool,
    "rate": (int, float),
}  # fmt: skip
_VARIANT: Mapping[str, type | tuple[type, ...]] = {
    "name": str, "prompt": str, "dialect": str, "model": str, "set": dict,
}  # fmt: skip
_WORDS = {
    str: "a text",
    dict: "a table",
    bool: "true or false",
    int: "a whole number",
    list: "a list of tables",
}


def read_suite(name: str) -> Plan:
    """The plan that a file describes; a UserError says what is wrong with it, and where."""
    file = resolve(name)
    try:
        written = tomllib.loads(read_file(str(file)).decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{file} is not a suite: {parser_says(error)}") from None
    _check(written, _KEYS, str(file))
    tables = written.get("case", [])
    if not tables:
        raise UserError(f'{file} has no case: a case is [[case]] with tape = "…"')
    times = written.get("times", TIMES)
    if times < 1:
        raise UserError(f"{file}: times is at least 1, not {times}")
    cases = [_case(table, file, number) for number, table in enumerate(tables, 1)]
    variants = [_variant(table, file, number) for number, table in enumerate(written.get("variant", []), 1)]
    check_variants(variants)
    return Plan(_distinct(cases), tuple(variants) or (Variant(RECORDED),), times, str(file))


def _case(table: Any, file: Path, number: int) -> Case:
    place = f"{file}, case {number}"
    _check(table, _CASE, place)
    if "tape" not in table:
        raise UserError(f'{place}: tape is missing, such as tape = "exchange.jsonl"')
    case = read_case(file.parent / table["tape"], table.get("name"))
    expected = case.expected
    if table.get("expect_call") is False:
        if "expect_tool" in table or "expect_args" in table:
            raise UserError(
                f"{place}: expect_call = false means that no tool is expected; leave one of them out"
            )
        expected = Expected(call=False)
    elif "expect_tool" in table or "expect_args" in table:
        tool = table.get("expect_tool", expected.tool)
        if tool is None:
            raise UserError(
                f"{place}: expect_args needs expect_tool, since the tape's own answer called nothing"
            )
        expected = Expected(tool, table.get("expect_args"))
    rate = table.get("rate", 1.0)
    if isinstance(rate, bool) or not 0 < rate <= 1:
        raise UserError(f"{place}: rate is a part of the answers, above 0 and at most 1, not {rate!r}")
    return replace(case, expected=expected, rate=float(rate))


def _variant(table: Any, file: Path, number: int) -> Variant:
    place = f"{file}, variant {number}"
    _check(table, _VARIANT, place)
    prompt = table.get("prompt", RECORDED)
    own = prompt not in (RECORDED, BUILT_IN)
    settings = table.get("set", {})
    body = {key: value for key, value in settings.items() if key in PARAMETERS}
    switches = {key: value for key, value in settings.items() if key not in PARAMETERS}
    try:
        check_switches(switches)
        dialect = known_dialect(table["dialect"]) if "dialect" in table else None
    except UserError as error:
        raise UserError(f"{place}: {error.message}") from None
    label = Path(prompt).stem if own else prompt
    return Variant(
        table.get("name", label),
        label,
        read_template(str(file.parent / prompt)) if own else None,
        dialect,
        table.get("model"),
        switches,
        body,
    )


def _check(table: Any, keys: Mapping[str, type | tuple[type, ...]], place: str) -> None:
    if not isinstance(table, dict):
        raise UserError(f"{place} is not a table")
    for key, value in table.items():
        if key not in keys:
            near = difflib.get_close_matches(key, keys, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(keys)}"
            raise UserError(f"{place}: there is no key {key!r}; {hint}")
        kind = keys[key]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            wanted = _WORDS.get(kind, "a number") if isinstance(kind, type) else "a number"
            raise UserError(f"{place}: {key} is {wanted}, not {value!r}")


def _distinct(cases: Sequence[Case]) -> tuple[Case, ...]:
    """Names are for tables and for reports: two cases of the same name get numbers."""
    names = [case.name for case in cases]
    return tuple(
        case if names.count(case.name) == 1 else replace(case, name=f"{case.name} {at}")
        for at, case in enumerate(cases, 1)
    )


def plan_of(cases: Iterable[Case], variants: Sequence[Variant], times: int) -> Plan:
    """A plan without a suite."""
    found = tuple(cases)
    if not found:
        raise UserError("there is no request to send: name tapes, or choose them with --where")
    return Plan(_distinct(found), tuple(variants), times)


# -- a new one

_ODD = re.compile(r"[^A-Za-z0-9.-]+")


def write_suite(file: Path, tapes: Sequence[Path], times: int = TIMES) -> int:
    """A suite of these tapes, which are copied into a folder beside it: it can be moved, kept and shared.
    The result is the number of its cases."""
    folder = file.parent / f"{file.stem}-tapes"
    if os.path.exists(file):  # False for a name that is too long
        raise UserError(f"{file} is there already; a new suite wants a new name")
    if not tapes:
        raise UserError("no exchange is marked: mark some in the screen (m), name tapes, or use --where")
    cases = _distinct([read_case(tape) for tape in tapes])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lines = [f"times = {times}", ""]
        for case, tape in zip(cases, tapes, strict=True):
            copy = folder / f"{_ODD.sub('-', case.name).strip('-.') or 'tape'}.jsonl"
            shutil.copyfile(tape, copy)
            lines += ["[[case]]", f"name = {_quoted(_title(case))}"]
            lines += [f"tape = {_quoted(copy.relative_to(file.parent).as_posix())}"]
            if case.expected.tool is not None:
                lines.append(f"expect_tool = {_quoted(case.expected.tool)}")
            lines.append("")
        file.write_text("\n".join(lines), encoding="utf-8")
    except OSError as error:
        raise UserError(f"{file} cannot be written: {error.strerror}") from None
    return len(cases)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=True)


_TITLE = 60


def _title(case: Case) -> str:
    """What was asked last, as far as it fits; the tape's name where that says nothing."""
    for message in reversed(case.request["messages"]):
        content = message.get("content") if isinstance(message, Mapping) else None
        if message.get("role") == "user" and isinstance(content, str) and content.strip():
            words = " ".join(content.split())
            return words if len(words) <= _TITLE else f"{words[: _TITLE - 1]}…"
    return case.name
