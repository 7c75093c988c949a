"""`workbench dialects`: the dialects, and the table of one of them as text or as a diagram."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum

from transformer.dialects import DIALECTS, find_dialect
from transformer.parser.dialect import EVERYWHERE, Dialect, Everywhere, Rule
from workbench.cli.printing import write
from workbench.errors import UserError
from workbench.tape.recipe import known_dialect

_HEADINGS = ("state", "token", "if", "next", "rule", "effect", "why")
# Words that Mermaid reserves and that therefore cannot be a state's name.
_RESERVED = {"state", "note", "end", "class", "direction", "default", "style", "hide", "scale", "as"}
_LOOKALIKES = str.maketrans("<>:;", "‹›∶,")


def dialects(name: str | None, mermaid: bool) -> int:
    """List them all, or show one."""
    if name is None:
        if mermaid:
            raise UserError("--mermaid draws one dialect: workbench dialects NAME --mermaid")
        lines = _columns([(dialect.name, dialect.summary) for dialect in DIALECTS.values()])
    else:
        dialect = find_dialect(known_dialect(name))
        lines = diagram(dialect) if mermaid else table(dialect)
    write("".join(f"{line}\n" for line in lines).encode("utf-8"))
    return 0


def table(dialect: Dialect) -> list[str]:
    """The rules for every pair of state and token, a blank line between states; each row is complete, for
    grep.

    Where a pair has several rules, the first one whose condition holds is the one that fires.
    """
    policy = "  ".join(f"{key}={_shown(value)}" for key, value in dialect.policy.said().items())
    rows: list[Sequence[str]] = [_HEADINGS]
    for state in dialect.states:
        rows.append(())
        for token in dialect.tokens:
            rows += [_row(state, token, rule) for rule in dialect.transitions[state, token]]
    rows += [(), *(_row("any", "any", one) for one in EVERYWHERE)]
    return [f"{dialect.name}: {dialect.summary}", f"policy: {policy}", "", *_columns(rows)]


def _row(state: str, token: str, rule: Rule | Everywhere) -> Sequence[str]:
    effect = ", ".join(rule.effect.words)
    return (state, token, rule.condition or "-", rule.to, rule.name or "-", effect or "-", rule.why)


def diagram(dialect: Dialect) -> list[str]:
    """The same table for Mermaid: an arrow for each rule between two states, with tokens and condition."""
    lines = ["stateDiagram-v2"]
    for state in dialect.states:
        if identifier(state) != state:
            lines.append(f'    state "{label(state)}" as {identifier(state)}')
    lines.append(f"    [*] --> {identifier(dialect.initial)}")
    for state in dialect.states:
        lines += [f"    {arrow}" for arrow in _arrows(dialect, state)]
    return lines


def _arrows(dialect: Dialect, state: StrEnum) -> Iterator[str]:
    tokens_by_rule: dict[tuple[str, str, str], list[str]] = {}
    for token in dialect.tokens:
        for rule in dialect.transitions[state, token]:
            tokens_by_rule.setdefault((rule.to, rule.condition, rule.name), []).append(token)
    for (to, condition, name), tokens in tokens_by_rule.items():
        guard = f" [{condition}]" if condition else ""
        said = label(f"{', '.join(tokens)}{guard} / {name}")
        yield f"{identifier(state)} --> {identifier(to)} : {said}"


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows with their cells below each other; an empty row is a blank line."""
    full = [row for row in rows if row]
    widths = [max(map(len, column)) for column in zip(*full, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def _shown(value: object) -> str:
    return (",".join(map(str, value)) or "none") if isinstance(value, list) else str(value)


def identifier(state: str) -> str:
    name = re.sub(r"\W", "_", state)
    return f"{name}_" if name in _RESERVED else name


def label(text: str) -> str:
    """Text at an arrow or in a state. Mermaid's escapes come out garbled in a label that it wraps, so
    characters that it would take for markup, or for the end of the label, are replaced by similar ones.
    """
    return text.translate(_LOOKALIKES)
