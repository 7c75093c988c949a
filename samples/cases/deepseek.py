"""deepseek-v3 and deepseek-v31: special tokens, and the name before its arguments."""

from __future__ import annotations

from dataclasses import replace

from samples.cases import json_objects
from samples.cases.case import Case, Outcome
from samples.cases.json_objects import ASKED, LS, LS_CALL, Form
from samples.cases.tools import BASH, NOW, READ_FILE, offer
from samples.cases.upstream import Thinks, bursts, plain, vllm, whole

BEGIN, END = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"
CALL, SEP, CALL_END = "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"


def v31(*calls: str) -> str:
    return f"{BEGIN}{CALL}{(CALL_END + CALL).join(calls)}{CALL_END}{END}"


def v3(*calls: str) -> str:
    return BEGIN + "\n".join(f"{CALL}function{SEP}{call}\n```{CALL_END}" for call in calls) + END


V31 = Form(f"{BEGIN}{CALL}", f"{CALL_END}{END}", "arguments", v31, lambda name: f"{name}{SEP}")
V3 = Form(f"{BEGIN}{CALL}", f"\n```{CALL_END}{END}", "arguments", v3, lambda name: f"{name}\n```json\n")
ONE = '{"code": 123}'
# These markers are tokens that nobody types, so one that means nothing is dropped.
_NOT_SPECIAL = ("prose-names-marker", "unknown-tool-as-text", "doubled-markers", "marker-cut")

V31_CASES = [
    *(case for case in json_objects.cases(V31) if case.name not in _NOT_SPECIAL),
    Case(
        "good-no-arguments",
        "A call with `{}`, and one with nothing between its tokens: both have the arguments `{}`.",
        failure=[30],
        tools=[NOW],
        asked="How late is it?",
        upstream=plain(v31(f"now{SEP}{{}}", f"now{SEP}")),
        gets=Outcome(calls=[("now", "{}"), ("now", "{}")]),
    ),
    Case(
        "good-thinks-first",
        "Reasoning in its own field, then two calls: the reasoning goes on, the calls are converted.",
        tools=[BASH, READ_FILE],
        asked="Look around.",
        upstream=vllm(
            Thinks("I need both."), v31(f"bash{SEP}{LS}", f'read_file{SEP}{{"path": "a.py"}}'), cut=bursts
        ),
        gets=Outcome(calls=[LS_CALL, ("read_file", '{"path": "a.py"}')], reasoning="I need both."),
    ),
    Case(
        "good-number-last",
        "The arguments end in a number: the last digits and the brace are there.",
        failure=[35],
        tools=[offer("save", "Save", code={"type": "integer"})],
        asked="Save it.",
        upstream=plain(v31(f"save{SEP}{ONE}"), cut=bursts),
        gets=Outcome(calls=[("save", ONE)]),
    ),
    Case(
        "in-two-deltas",
        "All of the answer in two deltas, cut inside the second name: both calls go out.",
        failure=[36],
        tools=[BASH],
        asked=ASKED,
        upstream=plain(
            v31(f"bash{SEP}{LS}", f"bash{SEP}{LS}")[:90],
            v31(f"bash{SEP}{LS}", f"bash{SEP}{LS}")[90:],
            cut=whole,
        ),
        gets=Outcome(calls=[LS_CALL, LS_CALL]),
    ),
    Case(
        "form-of-v3",
        "R1 writes `function`, the name and a fence of JSON: the tool is the name, not `function`.",
        failure=[38],
        tools=[BASH],
        asked=ASKED,
        upstream=plain(v3(f"bash\n```json\n{LS}")),
        gets=Outcome(calls=[LS_CALL]),
    ),
    Case(
        "repeated-markers",
        "The opening token is there three times, closing ones twice: one call, and no token is left over.",
        failure=[39],
        tools=[BASH],
        asked=ASKED,
        upstream=plain(f"{BEGIN}{BEGIN}\n{v31(f'bash{SEP}{LS}')}{CALL_END}{END}\nDone."),
        gets=Outcome("\nDone.", [LS_CALL]),
    ),
    Case(
        "stray-token",
        "A closing token in the middle of a sentence: dropped and named, the text around it stays.",
        tools=[BASH],
        asked=ASKED,
        upstream=plain(f"That is all.{END} Really."),
        gets=Outcome("That is all. Really."),
        findings=["stray-token"],
    ),
]
V3_CASES = [
    *(
        case
        for case in json_objects.cases(V3)
        if case.name.startswith(("good-", "truncated-arguments", "markers-in"))
        and case.name not in _NOT_SPECIAL
    ),
    Case(
        "good-no-arguments",
        "A call with `{}` in its fence: the arguments are `{}`.",
        failure=[30],
        tools=[NOW],
        asked="How late is it?",
        upstream=plain(v3("now\n```json\n{}")),
        gets=Outcome(calls=[("now", "{}")]),
    ),
    replace(
        V31_CASES[-3],
        name="form-of-v31",
        about="The form of V3.1, without `function` and without a fence: read as well.",
        upstream=plain(v31(f"bash{SEP}{LS}")),
        failure=(),
    ),
    Case(
        "missing-fence",
        "The fence is not closed before the token that ends the call: the braces end the arguments.",
        tools=[BASH],
        asked=ASKED,
        upstream=plain(v3(f"bash\n```json\n{LS}").replace("\n```<", "\n<")),
        gets=Outcome(calls=[LS_CALL]),
    ),
]
