"""hermes, longcat and nemotron-toolcall: JSON between tags."""

from __future__ import annotations

from samples.cases import json_objects
from samples.cases.case import Case, Outcome
from samples.cases.json_objects import ASKED, LS, LS_CALL, Form
from samples.cases.tools import BASH, READ_FILE
from samples.cases.upstream import lines, plain


def _block(open: str, close: str, call: str) -> str:
    return f"{open}\n{call}\n{close}"


FORM = Form(
    "<tool_call>",
    "</tool_call>",
    "arguments",
    lambda *calls: "\n".join(_block("<tool_call>", "</tool_call>", call) for call in calls),
)
LONGCAT = Form(
    "<longcat_tool_call>",
    "</longcat_tool_call>",
    "arguments",
    lambda *calls: "\n".join(_block("<longcat_tool_call>", "</longcat_tool_call>", call) for call in calls),
)
NEMOTRON = Form(
    "<TOOLCALL>", "</TOOLCALL>", "arguments", lambda *calls: f"<TOOLCALL>[{', '.join(calls)}]</TOOLCALL>"
)

CASES = [
    *json_objects.cases(FORM),
    Case(
        "two-objects-in-one-block",
        "Two objects between one pair of markers, one below the other: two calls.",
        tools=[BASH],
        asked=ASKED,
        upstream=plain(lines("<tool_call>", FORM.call("bash", LS), FORM.call("bash", LS), "</tool_call>")),
        gets=Outcome(calls=[LS_CALL, LS_CALL]),
    ),
    Case(
        "list-in-block",
        "A list of calls between the markers: each of them is a call.",
        tools=[BASH],
        asked=ASKED,
        upstream=plain(f"<tool_call>[{FORM.call('bash', LS)}, {FORM.call('bash', LS)}]</tool_call>"),
        gets=Outcome(calls=[LS_CALL, LS_CALL]),
    ),
    Case(
        "more-members",
        "An object with an id, a type and a thought besides: the name and the arguments count.",
        tools=[BASH],
        asked=ASKED,
        upstream=plain(
            '<tool_call>{"id": "1", "type": "function", "thought": {"why": "name: \\"x\\"}"}, '
            '"name": "bash", '
            f'"arguments": {LS}}}</tool_call>'
        ),
        gets=Outcome(calls=[LS_CALL]),
    ),
    Case(
        "arguments-as-string",
        "The arguments are a string that holds JSON: passed on as written, with an error.",
        tools=[BASH],
        asked=ASKED,
        upstream=plain(FORM.one("bash", '"{\\"command\\": \\"ls\\"}"')),
        gets=Outcome(calls=[("bash", '"{\\"command\\": \\"ls\\"}"')]),
        findings=["invalid-arguments"],
    ),
    Case(
        "no-name",
        "An object with arguments and no name: nobody can tell which tool is meant, so it stays text.",
        tools=[BASH, READ_FILE],
        asked=ASKED,
        upstream=plain(f'<tool_call>{{"arguments": {LS}}}</tool_call>'),
        gets=Outcome(f'<tool_call>{{"arguments": {LS}}}</tool_call>'),
        findings=["malformed-call"],
    ),
    Case(
        "not-json",
        "A name and then no JSON: the whole block stays text, and the good call after it is one.",
        tools=[BASH],
        asked=ASKED,
        upstream=plain(lines('<tool_call>{"name": "bash" with ls}</tool_call>', FORM.ls)),
        gets=Outcome('<tool_call>{"name": "bash" with ls}</tool_call>', [LS_CALL]),
        findings=["malformed-call"],
    ),
]
_SOME = (
    "good-call", "good-values", "good-two-calls", "good-no-arguments", "good-text-around",
    "good-markers-in-string", "good-name-last", "markers-in-pieces", "missing-closer", "doubled-markers",
    "missing-brace", "prose-names-marker", "truncated-arguments",
)  # fmt: skip
LONGCAT_CASES = json_objects.cases(LONGCAT, _SOME)
NEMOTRON_CASES = json_objects.cases(NEMOTRON, _SOME)
