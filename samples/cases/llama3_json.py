"""llama3-json: objects without any marker, or after <|python_tag|>."""

from __future__ import annotations

from samples.cases import json_objects
from samples.cases.case import Case, Outcome
from samples.cases.json_objects import ASKED, LS, LS_CALL, Form
from samples.cases.tools import BASH, READ_FILE
from samples.cases.upstream import every, lines, plain

FORM = Form("", "", "parameters", lambda *calls: "; ".join(calls))
TAG = "<|python_tag|>"
ALICE = lines(
    "Such as",
    '{"name": "Alice", "age": 30}',
    "or",
    '{"name": "bash"}',
    'or {"name": "bash", "parameters": {}}.',
)

CASES = [
    *json_objects.cases(FORM),
    Case(
        "python-tag",
        "`<|python_tag|>` before the object: markup, and a tool that was not offered is a call all the same.",
        tools=[READ_FILE],
        asked=ASKED,
        upstream=plain(TAG + FORM.ls),
        gets=Outcome(calls=[LS_CALL]),
        findings=["unknown-tool"],
    ),
    *(
        Case(
            f"separated-by-{name}",
            f"Two calls with {words} between them: both go out, whole.",
            failure=[51],
            tools=[BASH],
            asked=ASKED,
            upstream=plain(f"{FORM.ls}{between}{FORM.ls}", cut=every(5)),
            gets=Outcome(calls=[LS_CALL, LS_CALL]),
        )
        for name, between, words in (
            ("semicolon", ";", "a semicolon and no blank"),
            ("newline", "\n", "a newline"),
            ("tag", f"; {TAG}", "a semicolon and a tag"),
        )
    ),
    Case(
        "json-in-prose",
        "JSON that is not a call: another name, no parameters, the middle of a line. All of it is text.",
        failure=[52],
        tools=[BASH],
        asked="What is JSON?",
        upstream=plain(ALICE),
        gets=Outcome(ALICE),
    ),
    Case(
        "fenced-example",
        "A whole call inside a code fence: an example, so it is text. The same call after the fence is one.",
        failure=[58],
        tools=[BASH],
        asked=ASKED,
        upstream=plain(lines("```json", FORM.ls, "```", FORM.ls)),
        gets=Outcome(lines("```json", FORM.ls, "```"), [LS_CALL]),
    ),
    Case(
        "arguments-key-and-type",
        "`type` first, and `arguments` instead of `parameters`: a call like any other.",
        tools=[BASH],
        asked=ASKED,
        upstream=plain(f'{{"type": "function", "name": "bash", "arguments": {LS}}}'),
        gets=Outcome(calls=[LS_CALL]),
    ),
    Case(
        "unknown-tool",
        "An object without a marker that names a tool which was not offered: nothing says it is a call.",
        tools=[READ_FILE],
        asked=ASKED,
        upstream=plain(FORM.ls),
        gets=Outcome(FORM.ls),
    ),
]
