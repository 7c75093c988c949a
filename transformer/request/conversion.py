"""A request on its way up: tools as prompt and history as text, as far as the policy wants that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from transformer.dialects import find_dialect
from transformer.findings import note, numbered
from transformer.frontends import find_frontend
from transformer.frontends.frontend import Earlier, Frontend, listed, mapping
from transformer.parser.dialect import Dialect
from transformer.policy import Policy
from transformer.records import Finding
from transformer.request.checks import system_findings, tool_findings
from transformer.request.history import SYSTEM_ROLES, History, has_calls, lost_results, names_calls
from transformer.request.offer import Content, Offer, content_of, json_of, offer_of
from transformer.request.prompt import Wording, rendered

_REMOVED = ("tools", "tool_choice", "parallel_tool_calls")
_AS_TEXT = "they went up as text, without a prompt for tools"
_FREE = (None, "text")
_KEPT = 'the upstream\'s setting response_format = "drop" would leave it out'
_DROPPED = "it was left out, as the upstream's settings want"
_AS_IT_IS = "nothing was changed, and a server that knows no tools may refuse it"


class System(NamedTuple):
    """The client's system messages: the first one's other fields, and what they say together."""

    fields: Mapping[str, Any]
    content: Content


def transform_request(
    body: dict[str, Any],
    dialect: str | Dialect,
    policy: Policy | Mapping[str, Any] | None = None,
    template: str | None = None,
    template_tool_choice: str | None = "none",
    extra_body: Mapping[str, Any] | None = None,
    response_format: str = "keep",
    frontend: str | Frontend = "chat",
    earlier: Earlier | None = None,
) -> tuple[dict[str, Any], list[Finding]]:
    """The body for upstream, and what there is to say about it.

    The body that came is never changed. Where nothing is to be changed it is returned itself, so
    that `new is body` says: the client's own bytes may go on. A request of another API than upstream's always
    becomes a chat request.
    """
    chosen = dialect if isinstance(dialect, Dialect) else find_dialect(dialect)
    api = find_frontend(frontend)
    if not isinstance(body, Mapping) or (api.relays and not chosen.converts):
        return body, []
    asked = api.to_chat(body, earlier)
    if not chosen.converts:
        return asked.body, numbered(asked.findings)
    wanted = policy if isinstance(policy, Policy) else Policy.from_mapping(policy or {})
    full = wanted.over(chosen.policy)
    chat, findings = asked.body, list(asked.findings)
    if full.tools != "pass":
        chat = _allowed(chat, findings)
    offer = offer_of(chat.get("tools"))
    new = chat
    if full.tools == "inject":
        new = _inject(chat, chosen, full, offer, template, findings)
    elif full.tools == "template" and _may_call(chat, offer):
        new = _for_template(chat, template_tool_choice, findings)
    if new is chat or full.tools == "template":
        findings += _about_messages(chat, chosen, offer)
    if new is not chat:
        new = _formatted(new, response_format, findings) if _may_call(chat, offer) else new
        new = merged(new, extra_body) if extra_body else new
    elif api.relays:
        new = body  # the client's own, whatever was read from it
    return new, numbered([*tool_findings(chosen, offer, "tools" in new), *findings])


def _allowed(body: dict[str, Any], findings: list[Finding]) -> dict[str, Any]:
    """Where the client allows only some of its tools, these are all that is offered."""
    choice = body.get("tool_choice")
    if not isinstance(choice, Mapping) or choice.get("type") != "allowed_tools":
        return body
    allowed = mapping(choice.get("allowed_tools")) or choice
    names = {_chosen(tool) for tool in listed(allowed.get("tools"))} - {None}
    kept = [tool for tool in listed(body.get("tools")) if _chosen(tool) in names]
    if not kept:
        reason = "it allows none of the tools that are offered"
        findings.append(note("tool-choice-not-understood", given=json_of(choice), reason=reason))
        return {**body, "tool_choice": "auto"}
    mode = "required" if allowed.get("mode") == "required" else "auto"
    return {**body, "tools": kept, "tool_choice": mode}


def _formatted(body: dict[str, Any], wanted: str, findings: list[Finding]) -> dict[str, Any]:
    """A server that lets its model write nothing but JSON lets it write no call either."""
    kind = mapping(body.get("response_format")).get("type")
    if kind in _FREE:
        return body
    drop = wanted == "drop"
    findings.append(note("format-with-tools", kind=kind, fate=_DROPPED if drop else _KEPT))
    return {key: value for key, value in body.items() if key != "response_format"} if drop else body


def _may_call(body: Mapping[str, Any], offer: Offer) -> bool:
    return bool(offer.tools) and body.get("tool_choice") != "none"


def merged(body: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """The body with what the upstream's settings add. An object in both is joined, else `extra` wins."""
    new = dict(body)
    for key, value in extra.items():
        old = new.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        new[key] = merged(old, value) if both else value  # type: ignore[arg-type]
    return new


def _about_messages(body: Mapping[str, Any], dialect: Dialect, offer: Offer) -> list[Finding]:
    """About a history that goes up as it came."""
    messages = _messages(body)
    findings = lost_results(messages)
    if not offer.tools and has_calls(messages):
        findings.insert(0, note("calls-without-tools", fate=_AS_IT_IS))
    if _may_call(body, offer):
        texts = [content_of(m.get("content")).text for m in messages if _is_system(m)]
        findings = [*system_findings(dialect, "\n".join(texts)), *findings]
    return findings


def _for_template(
    body: Mapping[str, Any], tool_choice: str | None, findings: list[Finding]
) -> dict[str, Any]:
    """The server's chat template renders the tools; its parser is not used, since no calls are requested from
    it."""
    if body.get("tool_choice") not in (None, "auto", "none", tool_choice):
        findings.append(note("tool-choice-not-sent", sent=tool_choice))
    new = {key: value for key, value in body.items() if key != "tool_choice"}
    return new if tool_choice is None else {**new, "tool_choice": tool_choice}


def _inject(
    body: dict[str, Any],
    dialect: Dialect,
    policy: Policy,
    offer: Offer,
    template: str | None,
    findings: list[Finding],
) -> dict[str, Any]:
    """For a model of text. Without tools there is no prompt, but calls in the history become text."""
    given = body.get("messages", [])
    called, may_call = has_calls(_messages(body)), _may_call(body, offer)
    if not offer.tools and not called:
        return body
    if not isinstance(given, list | tuple):
        findings.append(note("messages-not-understood"))
        return body
    new = {key: value for key, value in body.items() if key not in _REMOVED}
    if not offer.tools:
        findings.append(note("calls-without-tools", fate=_AS_TEXT))
    if may_call or called or names_calls(_messages(body)):
        prompt = _prompt(body, dialect, policy, offer, template, findings) if may_call else ""
        new["messages"] = _texts(given, dialect, offer, prompt, findings)
    return new


def _prompt(
    body: Mapping[str, Any],
    dialect: Dialect,
    policy: Policy,
    offer: Offer,
    template: str | None,
    findings: list[Finding],
) -> str:
    wording = _wording(body, policy, offer, findings)
    prompt, failure = rendered(dialect, offer, template, wording)
    if failure is not None:
        findings.append(note("template-failed", failure.line, line=failure.line, reason=failure.reason))
    elif not prompt.strip():
        findings.append(note("template-empty"))
    return prompt


def _texts(
    given: Sequence[Any], dialect: Dialect, offer: Offer, prompt: str, findings: list[Finding]
) -> list[Any]:
    """All messages as a model of text gets them, after the one system message."""
    history = History(dialect, offer)
    messages = [history.rewritten(index, m) for index, m in enumerate(given) if not _is_system(m)]
    system = _system(given, findings)
    if prompt:
        findings += system_findings(dialect, system.content.text)
    findings += history.findings
    said = system.content.text
    text = f"{said}\n\n{prompt}" if said.strip() and prompt else prompt or said
    if not text and not system.content.others:
        return messages
    first = {**system.fields, "role": "system", "content": Content(text, system.content.others).made()}
    return [first, *messages]


def _system(messages: Sequence[Any], findings: list[Finding]) -> System:
    """All system messages as one: many servers take only one, and only at the front."""
    texts: list[str] = []
    others: list[Any] = []
    fields: Mapping[str, Any] | None = None
    talking = False
    for index, message in enumerate(messages):
        if not _is_system(message):
            talking = True
            continue
        if talking:
            findings.append(note("system-message-moved", index, number=index))
        content = content_of(message.get("content"))
        fields = message if fields is None else fields
        others += content.others
        if content.text:
            texts.append(content.text)
    return System(fields or {}, Content("\n\n".join(texts), tuple(others)))


def _wording(body: Mapping[str, Any], policy: Policy, offer: Offer, findings: list[Finding]) -> Wording:
    several = policy.calls == "all" and body.get("parallel_tool_calls") is not False
    choice = body.get("tool_choice")
    if choice in (None, "auto"):
        return Wording("auto", "", several)
    if choice in ("required", "any"):
        return Wording("required", "", several)
    name = _chosen(choice)
    if name in offer.tools:
        return Wording("named", str(name), several)
    reason = "it names no function" if name is None else "that tool is not offered"
    findings.append(note("tool-choice-not-understood", given=json_of(choice), reason=reason))
    return Wording("auto", "", several)


def _chosen(choice: Any) -> str | None:
    if not isinstance(choice, Mapping):
        return None
    function = choice.get("function", choice)
    name = function.get("name") if isinstance(function, Mapping) else None
    return name if isinstance(name, str) else None


def _is_system(message: Any) -> bool:
    return isinstance(message, Mapping) and message.get("role") in SYSTEM_ROLES


def _messages(body: Mapping[str, Any]) -> Sequence[Any]:
    messages = body.get("messages")
    return messages if isinstance(messages, list | tuple) else ()
