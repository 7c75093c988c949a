"""mistral: the name before its arguments, and the older list of objects."""

from __future__ import annotations

from samples.cases import json_objects
from samples.cases.case import Case, Outcome
from samples.cases.json_objects import ASKED, LS, LS_CALL, Form
from samples.cases.tools import BASH, NOW, offer
from samples.cases.upstream import bursts, every, plain

OPEN = "[TOOL_CALLS]"
FORM = Form(OPEN, "", "arguments", lambda *calls: "".join(calls), lambda name: f"{OPEN}{name}[ARGS]")
LIST = Form(OPEN, "", "arguments", lambda *calls: f"{OPEN} [{', '.join(calls)}]")

CASES = [
    *json_objects.cases(FORM),
    Case(
        "good-no-arguments",
        "A call with `{}`, and one with nothing after `[ARGS]` that a further call ends: both have `{}`.",
        failure=[30],
        tools=[NOW, BASH],
        asked="How late is it?",
        upstream=plain(f"{OPEN}now[ARGS]{{}}{OPEN}now[ARGS]{OPEN}bash[ARGS]{LS}"),
        gets=Outcome(calls=[("now", "{}"), ("now", "{}"), LS_CALL]),
    ),
    Case(
        "good-call-id",
        "The call's id stands between the name and the arguments: it is markup, the client gets one of ours.",
        tools=[BASH],
        asked=ASKED,
        upstream=plain(f"{OPEN}bash[CALL_ID]a1B2c3D4e[ARGS]{LS}", cut=bursts),
        gets=Outcome(calls=[LS_CALL]),
    ),
    Case(
        "missing-args-marker",
        "`[ARGS]` is missing: the brace shows where the name ends.",
        tools=[BASH],
        asked=ASKED,
        upstream=plain(f"{OPEN}bash{LS}"),
        gets=Outcome(calls=[LS_CALL]),
    ),
    Case(
        "args-marker-in-pieces",
        "Deltas of 2 characters cut `[ARGS]` in pieces: no piece is in the name or in the arguments.",
        failure=[47],
        tools=[BASH],
        asked=ASKED,
        upstream=plain(f"Listing.{OPEN}bash[ARGS]{LS}", cut=every(2)),
        gets=Outcome("Listing.", [LS_CALL]),
    ),
    Case(
        "good-integer",
        "An integer as the only argument, in the list and after the name: streamed as any other value.",
        failure=[49],
        tools=[offer("wait", "Wait", seconds={"type": "integer"})],
        asked="Wait.",
        upstream=plain(
            f'{OPEN} [{{"name": "wait", "arguments": {{"seconds": 10}}}}]{OPEN}wait[ARGS]{{"seconds": 10}}',
            cut=every(1),
        ),
        gets=Outcome(calls=[("wait", '{"seconds": 10}')] * 2),
    ),
    Case(
        "brackets-in-prose",
        "Lists, footnotes and other brackets in prose: all of them arrive, however they are cut.",
        failure=[50],
        tools=[BASH],
        asked="Which numbers?",
        upstream=plain("[1, 2], [TOOL] and [TOOL_CALL] [T][^1]: [TOOL_CALLS]", cut=every(1)),
        gets=Outcome("[1, 2], [TOOL] and [TOOL_CALL] [T][^1]: [TOOL_CALLS]"),
    ),
    Case(
        "no-object",
        "A name and `[ARGS]`, but no JSON object after it: text, with an error.",
        tools=[BASH],
        asked=ASKED,
        upstream=plain(f"{OPEN}bash[ARGS]ls -la"),
        gets=Outcome(f"{OPEN}bash[ARGS]ls -la"),
        findings=["malformed-call"],
    ),
    *json_objects.cases(
        LIST,
        (
            *("good-call", "good-two-calls", "good-no-arguments", "good-text-around", "good-all-at-once"),
            *("good-markers-in-string", "good-name-last", "markers-in-pieces", "truncated-arguments"),
        ),
        "list-",
    ),
]
