"""`workbench prompt`: what a request becomes on its way to the model."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from transformer.dialects import BUILTIN_TEMPLATES, DIALECTS, EXAMPLE, find_dialect
from transformer.records import Finding
from transformer.request.conversion import transform_request
from workbench.analysis.requests import CHARACTERS_A_TOKEN, Cost, system_text, tool_costs
from workbench.cli.choices import Show
from workbench.cli.printing import (
    COLOURS,
    Painted,
    difference,
    painted_json,
    painted_text,
    write,
    write_painted,
)
from workbench.config.reading import read_settings
from workbench.errors import UserError
from workbench.files import resolve
from workbench.rendering import converted
from workbench.tape.inputs import is_tape, parse_json, read_bytes, read_file, read_input
from workbench.tape.recipe import Recipe, Wishes, chat_request, known_dialect, make_recipe, read_switches
from workbench.text import json_text, say


def prompt(
    file: str | None,
    dialect: str | None,
    template_file: str | None,
    switches: Sequence[str],
    out: Show,
    template_only: bool,
) -> int:
    """Convert and print; the exit code is 1 when there was a finding of level error."""
    if template_only:
        return _print_template(file)
    if file is None:
        raise UserError(
            "which request? Give a JSON file with a request body, as in\n"
            f"  workbench prompt request.json --dialect {EXAMPLE}"
        )
    body, header = _request(file)
    settings = read_settings()
    # A dialect named by the tape was not asked for by the user: only the latter is imported.
    wanted = dialect or (None if header.get("dialect") else settings.dialect)
    recipe = make_recipe(header, Wishes(dialect=wanted, switches=read_switches(switches)))
    if template_file is None and "template" not in header:
        template_file = settings.prompt_file(recipe.dialect)
    template = _recorded(header) if template_file is None else _template(template_file)
    # A template of the user's own is trusted, one that came with a tape is not.
    convert = converted if template_file is None else transform_request
    new, findings = convert(body, recipe.dialect, recipe.policy, template)
    write_painted(_output(body, new, out))
    for note in _notes(body, new, recipe, out, template_file):
        say(f"note {note}", "cyan")
    _tell_costs(body, new, recipe, template)
    for finding in findings:
        say(_line(finding, template_file), COLOURS[finding.level])
    return int(any(finding.level == "error" for finding in findings))


def _print_template(name: str | None) -> int:
    """Of a tape the one that was used, of a dialect the built-in one."""
    if name is not None and name not in DIALECTS and os.path.isfile(resolve(name)):
        _, header = _request(name)
        recorded = _recorded(header)
        if recorded is not None:
            write(recorded.encode("utf-8"))
            return 0
        name = make_recipe(header, Wishes()).dialect
    template = find_dialect(known_dialect(name)).template
    if template is None:
        raise UserError(f"there is no template for {name!r}; there is one for {', '.join(BUILTIN_TEMPLATES)}")
    write(template.encode("utf-8"))
    return 0


def _template(file: str) -> str:
    try:
        return read_file(file).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{file} is not a template: it is not valid UTF-8 at byte {error.start}") from None


def _recorded(header: Mapping[str, Any]) -> str | None:
    """The template on a tape: its text, or the name of a built-in one."""
    template = header.get("template")
    if template is not None and not isinstance(template, str):
        raise UserError("the tape's template is neither a text nor the name of a dialect")
    return None if template is None else BUILTIN_TEMPLATES.get(template, template)


def _request(file: str) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """The body in a file, or the one on a tape together with the tape's header."""
    data = read_bytes(file)
    tape = read_input(data, None).tape if is_tape(data) else None
    header = tape.header if tape is not None else {}
    body = chat_request(header) if tape is not None else parse_json(data, file)
    if not isinstance(body, dict):
        where = "no request is on this tape" if tape is not None else f"{file} is not a request"
        raise UserError(f'{where}: a request is a JSON object with "messages" and perhaps "tools"')
    return body, header


def _output(body: dict[str, Any], new: dict[str, Any], out: Show) -> Iterable[Sequence[Painted]]:
    if out == "body":
        return painted_json(new)
    if out == "diff":
        return difference(body, new)
    text = system_text(new)
    return painted_text(text) if text is not None else ()


def _notes(
    body: dict[str, Any], new: dict[str, Any], recipe: Recipe, out: Show, template_file: str | None
) -> Iterable[str]:
    tools = recipe.policy.over(find_dialect(recipe.dialect).policy).tools
    if out == "system" and system_text(new) is None:
        yield "no system message goes upstream"
    if new is body:
        yield "nothing is changed: the request goes upstream as it is"
    if tools != "inject" and body.get("tools"):
        unused = f", so {template_file} is not used" if template_file else ""
        yield f"the tools stay out of the prompt (tools={tools}){unused}; --set tools=inject puts them in"


def _tell_costs(body: dict[str, Any], new: dict[str, Any], recipe: Recipe, template: str | None) -> None:
    say(f"sizes, tokens estimated at {CHARACTERS_A_TOKEN} characters each")
    before, after = system_text(body) or "", system_text(new) or ""
    inject = "tools" in body and "tools" not in new
    costs = [
        Cost("whole body", len(json_text(new))),
        Cost("system message", len(after)),
        Cost("  the client's", len(before)),
        Cost("  for the tools", len(after) - len(before)),
    ]
    _tell(costs if inject else costs[:2])
    tools = tool_costs(body.get("tools"), recipe.dialect, inject, template)
    if tools:
        say(f"{len(tools)} tool{'s' if len(tools) > 1 else ''}, largest first")
        _tell([Cost(f"  {cost.name}", cost.characters) for cost in tools])


def _tell(costs: Sequence[Cost]) -> None:
    width = max(len(cost.name) for cost in costs)
    for cost in costs:
        say(f"{cost.name:{width}}  {cost.characters:>9,} characters  ~{cost.tokens:,} tokens")


def _line(finding: Finding, template_file: str | None) -> str:
    place = ""
    if finding.code == "template-failed" and template_file is not None:
        place = f"{template_file}:{finding.span.start}: "
    return f"{finding.level} {finding.code}  {place}{finding.message}"
