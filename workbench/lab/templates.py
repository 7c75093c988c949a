"""A prompt template while it is edited: what it renders to for one request, what each part costs, and where
it is kept.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformer.dialects import find_dialect
from transformer.request.prompt import TemplateFailed, prompt_for
from workbench.analysis.requests import Cost, system_text, tool_costs
from workbench.errors import UserError, parser_says
from workbench.files import replace_file
from workbench.rendering import check

_MODE = 0o644


@dataclass(frozen=True, slots=True)
class Rendering:
    """What a template makes of a request's tools. Where it fails, `problem` says why and `line` where."""

    prompt: str
    parts: tuple[Cost, ...] = ()
    problem: str | None = None
    line: int | None = None


def render(template: str, dialect: str, request: Mapping[str, Any]) -> Rendering:
    """It may take a while: call it in a thread."""
    tools = request.get("tools")
    offered = tools if isinstance(tools, list) else []
    try:
        check(offered, dialect, template)  # it may be untrusted: first where it can do no harm
        prompt = prompt_for(offered, dialect, template)
    except TemplateFailed as failure:
        return Rendering("", (), failure.reason, failure.line)
    except Exception as error:  # malformed tools; the request's findings say so
        return Rendering("", (), f"this cannot be filled: {error}")
    costs = tool_costs(offered, dialect, True, template)
    own = len(prompt) - sum(cost.characters for cost in costs)
    system = Cost("the client's system text", len(system_text(request) or ""))
    return Rendering(prompt, (system, Cost("the template itself", own), *costs))


def builtin_template(dialect: str) -> str | None:
    """The dialect's own; None where it has none."""
    return find_dialect(dialect).template


def save_template(file: Path, text: str) -> None:
    """In one step: a proxy that reads it meanwhile gets the old one or the new one."""
    try:
        replace_file(file.absolute(), text.encode("utf-8"), _MODE)
    except (OSError, UnicodeEncodeError) as error:
        raise UserError(f"{file} cannot be written: {error}") from None


_PROMPTS = re.compile(r"^\[prompts\][^\n]*\n", re.MULTILINE)
_FIRST_TABLE = re.compile(r"^\[", re.MULTILINE)


def name_in_settings(settings: Path, dialect: str, file: Path) -> None:
    """Write into a workbench.toml that a dialect's template is this file. All else in it stays as it is."""
    try:
        text = settings.read_text(encoding="utf-8") if settings.exists() else ""
        before = tomllib.loads(text)
    except (OSError, ValueError) as error:
        raise UserError(f"{settings} cannot be read: {parser_says(error)}") from None
    named = _relative(file, settings.parent)
    prompts = before.get("prompts")
    if isinstance(prompts, dict) and prompts.get(dialect) == named:
        return
    new = _with_prompt(text, dialect, named, isinstance(prompts, dict) and dialect in prompts)
    wanted = {**before, "prompts": {**(prompts if isinstance(prompts, dict) else {}), dialect: named}}
    try:
        done = tomllib.loads(new) == wanted
    except tomllib.TOMLDecodeError:
        done = False
    if not done:
        entry = _entry(dialect, named)
        raise UserError(f"{settings} cannot be edited automatically; add {entry} by hand")
    save_template(settings, new)


def _with_prompt(text: str, dialect: str, named: str, replaced: bool) -> str:
    entry = f"{_entry(dialect, named)}\n"
    table = _PROMPTS.search(text)
    if table is None:
        gap = "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
        return f"{text}{gap}[prompts]\n{entry}"
    if replaced:
        rest = text[table.end() :]
        end = _FIRST_TABLE.search(rest)
        inside = rest[: end.start()] if end else rest
        old = re.compile(rf'^(?:{re.escape(dialect)}|"{re.escape(dialect)}")\s*=[^\n]*\n?', re.MULTILINE)
        return text[: table.end()] + old.sub(lambda _: entry, inside, count=1) + rest[len(inside) :]
    return text[: table.end()] + entry + text[table.end() :]


def _entry(dialect: str, named: str) -> str:
    key = dialect if re.fullmatch(r"[A-Za-z0-9_-]+", dialect) else json.dumps(dialect)
    return f"{key} = {json.dumps(named)}"


def _relative(file: Path, folder: Path) -> str:
    try:
        return file.absolute().relative_to(folder.absolute()).as_posix()
    except ValueError:
        return str(file.absolute())
