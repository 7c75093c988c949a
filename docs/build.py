"""Writes docs/dialects.md from the dialects' tables: `python docs/build.py`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path

from transformer import DIALECTS
from transformer.parser.dialect import EVERYWHERE, Dialect, Rule
from workbench.cli.dialects import identifier, label

HERE = Path(__file__).resolve().parent
HEAD = """\
# The dialects' tables

Made by `python docs/build.py` from the tables that run. `workbench dialects NAME` prints the same table with
the names of the rules, `workbench dialects NAME --mermaid` a diagram with every rule.

How to read them: in a state the machine meets a token. The rules for that pair are asked from top to bottom;
the first one whose condition holds fires. A rule without a condition always fires. *Effect* is what it does
with its text and with the call, as data; *why* is the reason that the screen shows. The diagrams leave out
what does not change the state, and the end of the answer. What the conditions mean for a model's text is in
[spec.md](spec.md), sections 4 and 5.
"""


def page() -> str:
    """One section a dialect. Made from the tables that run, so it cannot lie."""
    sections = (line for dialect in DIALECTS.values() for line in section(dialect))
    return "\n".join([HEAD, *everywhere(), *sections])


def everywhere() -> Iterator[str]:
    """What no table has to say, for it is the same in all of them."""
    yield "## In every state of every dialect\n"
    yield "What has a rule's name is a step of its own. The others change what a rule of the table does.\n"
    yield from _table(
        ("rule", "if", "next", "effect", "why"),
        ((one.name, one.condition, one.to, ", ".join(one.effect.words), one.why) for one in EVERYWHERE),
    )


def section(dialect: Dialect) -> Iterator[str]:
    policy = [f"`{key}` {_shown(value)}" for key, value in dialect.policy.said().items()]
    yield f"## {dialect.name}\n"
    yield f"`{dialect.summary}`\n" if dialect.summary.startswith("<") else f"{dialect.summary}\n"
    if policy:
        yield f"Policy: {', '.join(policy)}.\n"
    if dialect.models:
        yield f"Known from names of models that begin with {_listed(dialect.models)}.\n"
    yield "```mermaid\n" + "\n".join(overview(dialect)) + "\n```\n"
    yield from _table(("token", "the machine meets"), _words(dialect.tokens, dialect))
    for state in dialect.states:
        yield f"### {dialect.name}: {state}\n"
        yield f"The machine is {_cell(dialect.states_in_words[state])}.\n"
        yield from _table(("token", "if", "next", "effect", "why"), _rows(dialect, state))


def overview(dialect: Dialect) -> Iterator[str]:
    """One arrow between two states, with all that leads from the one to the other before the answer ends."""
    yield "stateDiagram-v2"
    for state in dialect.states:
        if identifier(state) != state:
            yield f'    state "{label(state)}" as {identifier(state)}'
    yield f"    [*] --> {identifier(dialect.initial)}"
    for state in dialect.states:
        along: dict[StrEnum, dict[Rule, list[str]]] = {}
        for token in dialect.tokens:
            for rule in dialect.transitions[state, token]:
                if rule.to != state and token != dialect.end:
                    along.setdefault(rule.to, {}).setdefault(rule, []).append(token)
        for to, rules in along.items():
            said = [label(_at_arrow(rule, tokens)) for rule, tokens in rules.items()]
            yield f"    {identifier(state)} --> {identifier(to)} : {'<br/>'.join(said)}"


def _at_arrow(rule: Rule, tokens: list[str]) -> str:
    guard = f" [{rule.condition}]" if rule.condition else ""
    effect = f" / {', '.join(rule.effect.words)}" if rule.effect else ""
    return f"{', '.join(tokens)}{guard}{effect}"


def _rows(dialect: Dialect, state: StrEnum) -> Iterator[tuple[str, ...]]:
    """Tokens with the same rules in one row each."""
    groups: dict[tuple[Rule, ...], list[str]] = {}
    for token in dialect.tokens:
        groups.setdefault(dialect.transitions[state, token], []).append(token)
    for rules, tokens in groups.items():
        for number, rule in enumerate(rules):
            effect = ", ".join(rule.effect.words)
            condition = rule.condition or ("otherwise" if number else "")
            yield "" if number else _listed(tokens), condition, rule.to, effect, rule.why


def _words(tokens: Iterable[StrEnum], dialect: Dialect) -> Iterator[tuple[str, str]]:
    return ((f"`{token}`", dialect.tokens_in_words[token]) for token in tokens)


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield "|" + "---|" * len(heads)
    for row in rows:
        yield f"| {' | '.join(map(_cell, row))} |"
    yield ""


def _cell(text: str) -> str:
    """Tags and tokens must not become markup of the page, nor bars the end of a cell."""
    if "`" not in text:
        text = text.replace("<", "&lt;").replace(">", "&gt;")
    return text.replace("|", "\\|")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _shown(value: object) -> str:
    return (" and ".join(map(str, value)) or "none") if isinstance(value, list) else str(value)


if __name__ == "__main__":
    (HERE / "dialects.md").write_text(page(), encoding="utf-8")
