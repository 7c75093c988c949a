"""What there is to know about an exchange's request: bodies, prompt, tools, findings, headers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from transformer.dialects import BUILTIN_TEMPLATES
from workbench.analysis.advice import advice
from workbench.analysis.requests import CHARACTERS_A_TOKEN, Cost, readable, system_text, tool_costs
from workbench.replay.player import Player
from workbench.tape.format import Line
from workbench.tape.recipe import chat_request, dialect_in
from workbench.ui.display import look_of, sign_of
from workbench.ui.rowfacts import json_of
from workbench.ui.widgets.diffview import Pair, pairs
from workbench.ui.widgets.document import Document, FactSheet, Stack

_BAR = 24
Headers = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """Made once, in a thread: long requests take time."""

    client: Mapping[str, Any]
    upstream: Mapping[str, Any]
    client_json: str
    upstream_json: str
    lines: list[Pair]
    prompt: str | None  # what was added for the tools
    costs: list[Cost]

    @property
    def same(self) -> bool:
        return all(pair.kind == "same" for pair in self.lines)


def body(header: Mapping[str, Any], key: str) -> Mapping[str, Any] | None:
    value = header.get(key)
    return value if isinstance(value, Mapping) else None


def facts_of(header: Mapping[str, Any]) -> RequestFacts | None:
    """None where no request is on the tape."""
    client = body(header, "request")
    if client is None:
        return None
    sent = body(header, "upstream_request")
    upstream = client if sent is None else sent
    chat = chat_request(header) or client
    inject = "tools" in chat and "tools" not in upstream
    dialect = dialect_in(header)
    return RequestFacts(
        client=client,
        upstream=upstream,
        client_json=json_of(client),
        upstream_json=json_of(upstream),
        lines=pairs(_lines(client), _lines(upstream)),
        prompt=_added(chat, upstream) if inject else None,
        costs=_costs(chat.get("tools"), dialect, inject, template_of(header)),
    )


def template_of(header: Mapping[str, Any]) -> str | None:
    """The prompt template that was used: the recorded one, or the built-in one of the dialect."""
    template = header.get("template")
    if isinstance(template, str):
        return BUILTIN_TEMPLATES.get(template, template)
    return BUILTIN_TEMPLATES.get(str(header.get("dialect")))


def _lines(given: Mapping[str, Any]) -> list[str]:
    try:
        return readable(given)
    except RecursionError:
        return ["(nested too deep to be compared)"]


def _added(client: Mapping[str, Any], upstream: Mapping[str, Any]) -> str | None:
    before, after = system_text(client) or "", system_text(upstream)
    if after is None:
        return None
    return (after.replace(before, "", 1) if before else after).strip("\n")


def _costs(tools: Any, dialect: str, inject: bool, template: str | None) -> list[Cost]:
    try:
        return tool_costs(tools, dialect, inject and template is not None, template)
    except (ValueError, RecursionError, TypeError, AttributeError):
        return []  # malformed tools; the findings say so


# -- as documents


def tools_sheet(facts: RequestFacts) -> Document:
    sheet = FactSheet()
    if not facts.costs:
        return sheet.paragraph("The request offers no tools.")
    where = "the prompt" if facts.prompt is not None else "the body"
    total = sum(cost.characters for cost in facts.costs)
    many = f"{len(facts.costs)} tools add" if len(facts.costs) > 1 else "one tool adds"
    sheet.heading(f"{many} {total:,} characters, ~{_tokens(total):,} tokens, to {where}")
    sheet.paragraph(f"Tokens are estimated at {CHARACTERS_A_TOKEN} characters each.", "dim")
    width = max(len(cost.name) for cost in facts.costs)
    most = max(1, facts.costs[0].characters)
    for cost in facts.costs:
        bar = "█" * max(1, cost.characters * _BAR // most)
        share = 100 * cost.characters // max(1, total)
        size = f"{cost.characters:>8,} {f'~{cost.tokens:,}':>7} tokens {share:>3} %"
        sheet.paragraph(f"{cost.name:{min(width, 30)}} {size} {bar}")
    return sheet


def _tokens(characters: int) -> int:
    return -(-characters // CHARACTERS_A_TOKEN)


def request_findings(player: Player) -> list[Line]:
    return [line for line in player.lines if line.finding is not None and line.where == "request"]


def findings_sheet(player: Player) -> Document:
    sheet = FactSheet()
    found = request_findings(player)
    if not found:
        return sheet.paragraph("There is nothing to report about this request.", "good")
    for line in found:
        level, code = line.level, str(line.finding)
        sheet.heading(f"{sign_of(level)} {level}: {code}", look_of(level))
        sheet.paragraph(line.message, "bright")
        if said := advice(code):
            sheet.paragraph(f"What to do: {said}")
    return sheet


def chain_of(player: Player) -> Mapping[str, Any]:
    """Which turn of which chat an exchange is; empty where upstream keeps no conversations. It is on the tape
    from upstream's status on, and with the answer's id at the end."""
    status = [line for line in reversed(player.lines) if line.kind == "status"]
    told = (line.value.get("chat") for line in (player.end, *status) if line is not None)
    return next((chat for chat in told if isinstance(chat, Mapping)), {})


def headers_sheet(player: Player) -> Document:
    header = player.header
    parts = [
        ("client → proxy", _pairs(header.get("client_headers"))),
        ("proxy → upstream", _pairs(header.get("upstream_headers"))),
        *_answers(player),
    ]
    address = FactSheet().fact("method", header.get("method")).fact("path", header.get("path"))
    address.fact("upstream", header.get("upstream")).fact("url", header.get("url"))
    address.fact("session", header.get("session")).fact("id", header.get("id"))
    address.fact("sent again from", header.get("resend_of")).fact("try", header.get("try_id"))
    address.fact("case", header.get("case")).fact("prompt", header.get("prompt"))
    if chain := chain_of(player):
        address.fact("chat", chain.get("id")).fact("turn", chain.get("turn"))
        address.fact("parent", chain.get("parent") or "none: the chat begins here")
        address.fact("answer", chain.get("response"))
    return Stack([("the exchange", address), *((name, _facts(found)) for name, found in parts)])


def _answers(player: Player) -> Iterator[tuple[str, Headers]]:
    names = {"upstream": "upstream → proxy", "client": "proxy → client"}
    for line in player.lines:
        if line.kind == "status":
            name = names.get(line.side, "status")
            yield f"{name}: HTTP {line.status}", _pairs(line.value.get("headers"))


def _pairs(value: object) -> Headers:
    entries = value if isinstance(value, list) else []
    return [(str(pair[0]), str(pair[1])) for pair in entries if isinstance(pair, list) and len(pair) == 2]


def _facts(found: Headers) -> FactSheet:
    sheet = FactSheet()
    for name, value in found:
        sheet.fact(name, value)
    return sheet if found else sheet.paragraph("not on this tape", "dim")
