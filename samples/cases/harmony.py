"""harmony: thoughts, messages to the user and calls, each in a message of its own."""

from __future__ import annotations

from samples.cases import json_objects
from samples.cases.case import Case, Outcome
from samples.cases.json_objects import ASKED, LS, LS_CALL, Form
from samples.cases.tools import BASH, NOW, READ_FILE
from samples.cases.upstream import bursts, every, plain, vllm

START, CHANNEL, MESSAGE = "<|start|>assistant", "<|channel|>", "<|message|>"


def thought(text: str) -> str:
    return f"{CHANNEL}analysis{MESSAGE}{text}<|end|>"


def said(text: str, channel: str = "final", end: str = "<|return|>") -> str:
    return f"{START}{CHANNEL}{channel}{MESSAGE}{text}{end}"


def call(name: str, arguments: str, end: str = "<|call|>") -> str:
    return f"{START}{CHANNEL}commentary to=functions.{name} <|constrain|>json{MESSAGE}{arguments}{end}"


LS_TEXT = call("bash", LS)
FORM = Form(
    f"{START}{CHANNEL}commentary{MESSAGE}",
    "<|call|>",
    "arguments",
    lambda *calls: "".join(f"{one}<|call|>" for one in calls),
    lambda name: call(name, "", ""),
)
_SHARED = (
    *("good-values", "good-two-calls", "good-markers-in-string", "markers-in-pieces", "arguments-not-json"),
    *("arguments-not-json-repaired", "missing-closer", "unknown-tool", "truncated-arguments"),
    *("truncated-arguments-whole", "truncated-arguments-repaired", "broke-inside-arguments"),
)

CASES = [
    Case(
        "good-call",
        "A thought, then a call: the thought is reasoning, the call a tool call, and the content is null.",
        failure=[54],
        tools=[BASH],
        asked=ASKED,
        upstream=vllm(thought("I need the list.\n") + LS_TEXT, cut=bursts),
        gets=Outcome(calls=[LS_CALL], reasoning="I need the list.\n"),
    ),
    Case(
        "good-answer",
        "A thought and an answer, without a call: the thought is reasoning, the answer is the content.",
        tools=[BASH],
        asked="What is two and two?",
        upstream=plain(thought("Easy.") + said("It is **4**.\n")),
        gets=Outcome("It is **4**.\n", reasoning="Easy."),
    ),
    Case(
        "good-preamble",
        "A message in `commentary` without a recipient is said to the user; the call after it is a call.",
        failure=[54],
        tools=[BASH],
        asked=ASKED,
        upstream=plain(
            thought("Look first.") + said("I'll list them.", "commentary", "<|end|>") + LS_TEXT, cut=bursts
        ),
        gets=Outcome("I'll list them.", [LS_CALL], reasoning="Look first."),
    ),
    Case(
        "good-no-arguments",
        "A call with `{}`, and one with nothing in its message: both have the arguments `{}`.",
        tools=[NOW],
        asked="How late is it?",
        upstream=plain(call("now", "{}") + call("now", "")),
        gets=Outcome(calls=[("now", "{}"), ("now", "{}")]),
    ),
    *json_objects.cases(FORM, _SHARED),
    Case(
        "recipient-first",
        "The recipient stands before the channel, as the answer's very first words: a call.",
        tools=[BASH],
        asked=ASKED,
        upstream=plain(f" to=functions.bash{CHANNEL}commentary json{MESSAGE}{LS}<|call|>", cut=every(3)),
        gets=Outcome(calls=[LS_CALL]),
    ),
    Case(
        "recipient-after-start",
        "The recipient stands between `assistant` and the channel, and nothing says json: a call.",
        tools=[BASH],
        asked=ASKED,
        upstream=plain(
            thought("So.") + f"{START} to=functions.bash{CHANNEL}commentary{MESSAGE}{LS}<|end|>", cut=bursts
        ),
        gets=Outcome(calls=[LS_CALL], reasoning="So."),
    ),
    Case(
        "recipient-in-other-channels",
        "A recipient in `analysis` and one in `final`: neither is a call, the texts stay what they are.",
        failure=[55],
        tools=[BASH],
        asked=ASKED,
        upstream=plain(
            f"{CHANNEL}analysis to=functions.bash{MESSAGE}{LS}<|end|>"
            f"{START}{CHANNEL}final to=functions.bash{MESSAGE}Nothing to run.<|return|>"
        ),
        gets=Outcome("Nothing to run.", reasoning=LS),
    ),
    Case(
        "text-without-headers",
        "An answer without any token of harmony: all of it is content.",
        tools=[BASH],
        asked=ASKED,
        upstream=plain("\nto tell the truth, a <|b|> and <|channels|> are not tokens.\n"),
        gets=Outcome("\nto tell the truth, a <|b|> and <|channels|> are not tokens.\n"),
    ),
    Case(
        "prose-names-token",
        "An answer that explains `<|channel|>`: text, and it leaves at once.",
        tools=[BASH],
        asked="What is a channel?",
        upstream=plain(said("The token <|channel|> begins a channel, <|start|> a message.")),
        gets=Outcome("The token <|channel|> begins a channel, <|start|> a message."),
    ),
    Case(
        "header-cut",
        "The answer ends inside a header: the text before it is whole, the piece of a header is named.",
        tools=[BASH],
        asked=ASKED,
        upstream=plain(said("Wait.", end="<|end|>") + f"{START}{CHANNEL}comm", finish="length"),
        gets=Outcome("Wait.", finish="length"),
        findings=["stray-token"],
    ),
    Case(
        "not-json-at-all",
        "A message to a tool that is a plain command: passed on as it is, with an error.",
        tools=[BASH],
        asked=ASKED,
        upstream=plain(f"{START}{CHANNEL}commentary to=functions.bash code{MESSAGE}ls -la<|call|>"),
        gets=Outcome(calls=[("bash", "ls -la")]),
        findings=["invalid-arguments"],
    ),
    Case(
        "unknown-tool-as-text",
        "A tool that was not offered, with the policy `unknown_tools: text`: the message stays text.",
        tools=[READ_FILE],
        asked=ASKED,
        policy={"unknown_tools": "text"},
        upstream=plain(call("bash", LS)),
        gets=Outcome(call("bash", LS, "")),
    ),
    Case(
        "thoughts-as-content",
        "With the policy `text_channel: content` the thoughts become content, too.",
        tools=[BASH],
        asked=ASKED,
        policy={"text_channel": "content"},
        upstream=plain(thought("Easy. ") + said("It is 4.")),
        gets=Outcome("Easy. It is 4."),
    ),
]
