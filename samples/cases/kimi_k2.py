"""kimi-k2: calls between special tokens, in content and in reasoning, good and bad."""

from __future__ import annotations

from samples.cases.case import Case, Outcome
from samples.cases.tools import BASH, NOW, READ_FILE, STRING, offer
from samples.cases.upstream import (
    JSON,
    Thinks,
    bursts,
    every,
    kimi_host,
    lines,
    plain,
    vllm,
    whole,
)

BEGIN, END = "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"
CALL, ARGUMENTS, CALL_END = "<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>"
GREP = offer("grep", "Search", pattern=STRING, path=STRING)


def call(id: str, arguments: str) -> str:
    return f"{CALL}{id}{ARGUMENTS}{arguments}{CALL_END}"


def section(*calls: str) -> str:
    return f"{BEGIN}{''.join(calls)}{END}"


# The model's own JSON text: blanks, escapes and all.
ANYTHING = '{ "value": [12345678901234567890123, -0.50, 1e3, true, null, "\\u4f60 好 \\"q\\"\\n", {"a":{}}] }'
LS = '{"command": "ls -la"}'
LS_CALL: tuple[str, JSON | str] = ("bash", LS)
USAGE = {"prompt_tokens": 4206, "completion_tokens": 61}

CASES = [
    Case(
        "good-call",
        "A call in the content, after a sentence: one tool call, its id and its JSON text as the model "
        "wrote them.",
        tools=[BASH],
        asked="Which files are there?",
        upstream=vllm("I'll list them." + section(call("functions.bash:0", LS)), cut=bursts),
        gets=Outcome("I'll list them.", [LS_CALL], ids=["functions.bash:0"]),
    ),
    Case(
        "good-values",
        "Every kind of JSON value, blanks, escapes and a huge integer: the JSON text goes on byte for byte.",
        failure=[57],
        tools=[offer("save", "Save", value={})],
        asked="Save it.",
        upstream=plain(
            section(call("functions.save:0", ANYTHING)),
            cut=every(5),
        ),
        gets=Outcome(
            calls=[("save", ANYTHING)],
            ids=["functions.save:0"],
        ),
    ),
    Case(
        "good-two-calls",
        "Two calls late in a conversation, counters 7 and 8: the ids come back unchanged, the indexes "
        "begin at 0.",
        failure=[20],
        tools=[BASH, READ_FILE],
        asked="Look around.",
        upstream=plain(
            section(call("functions.read_file:7", '{"path": "a.py"}'), call("functions.bash:8", LS))
        ),
        gets=Outcome(
            calls=[("read_file", '{"path": "a.py"}'), LS_CALL],
            ids=["functions.read_file:7", "functions.bash:8"],
        ),
    ),
    Case(
        "good-identical-calls",
        "The same call twice with two ids: both go out.",
        failure=[60],
        tools=[BASH],
        asked="Do it twice.",
        upstream=plain(section(call("functions.bash:0", LS), call("functions.bash:1", LS))),
        gets=Outcome(calls=[LS_CALL, LS_CALL], ids=["functions.bash:0", "functions.bash:1"]),
    ),
    Case(
        "good-no-arguments",
        "One call with `{}` and one with nothing between its tokens: both have the arguments `{}`.",
        tools=[NOW],
        asked="How late is it?",
        upstream=plain(section(call("functions.now:0", "{}"), call("functions.now:1", ""))),
        gets=Outcome(calls=[("now", "{}"), ("now", "{}")], ids=["functions.now:0", "functions.now:1"]),
    ),
    Case(
        "good-text-around",
        "Text before, between and after two sections: all of it is kept as content.",
        failure=[18],
        tools=[BASH],
        asked="Which files are there?",
        upstream=plain(
            lines(
                "First.",
                section(call("functions.bash:0", LS)),
                "Then.",
                section(call("functions.bash:1", LS)),
                "Done.",
            ),
            cut=bursts,
        ),
        gets=Outcome(
            "First.\nThen.\nDone.", [LS_CALL, LS_CALL], ids=["functions.bash:0", "functions.bash:1"]
        ),
    ),
    Case(
        "good-token-in-string",
        "The command greps for `<|tool_call_end|>`: inside a JSON string a token is data.",
        failure=[18],
        tools=[BASH],
        asked="Where do the tokens leak?",
        upstream=plain(
            section(call("functions.bash:0", '{"command": "grep \'<|tool_call_end|>\' \\"log\\""}'))
        ),
        gets=Outcome(
            calls=[("bash", '{"command": "grep \'<|tool_call_end|>\' \\"log\\""}')], ids=["functions.bash:0"]
        ),
    ),
    Case(
        "good-tool-with-colon",
        "A tool whose name holds a colon: the name ends at the last `:N`.",
        tools=[offer("mcp:find", "Find", q=STRING)],
        asked="Find it.",
        upstream=plain(section(call("functions.mcp:find:3", '{"q":"x"}'))),
        gets=Outcome(calls=[("mcp:find", '{"q":"x"}')], ids=["functions.mcp:find:3"]),
    ),
    Case(
        "good-all-at-once",
        "Text, a whole section and more text in a single delta: taken apart, nothing is lost.",
        failure=[10],
        tools=[BASH],
        asked="Which files are there?",
        upstream=plain("Before. " + section(call("functions.bash:0", LS)) + " After.", cut=whole),
        gets=Outcome("Before. After.", [LS_CALL], ids=["functions.bash:0"]),
    ),
    Case(
        "call-in-reasoning",
        "Two calls inside the reasoning, blanks around every token: two tool calls, the prose stays "
        "reasoning.",
        failure=[17, 20, 22],
        tools=[BASH],
        asked="Is asm there?",
        request={"stream_options": {"include_usage": True}},
        upstream=kimi_host(
            Thinks(
                f"I need the headers. {BEGIN} {CALL} functions.bash:15 {ARGUMENTS} "
                f'{{"command":  "ls include"}} {CALL_END} {CALL} functions.bash:16 {ARGUMENTS} '
                f'{{"command": "uname"}} {CALL_END} {END}'
            ),
            cut=bursts,
            usage=USAGE,
        ),
        gets=Outcome(
            reasoning="I need the headers.",
            calls=[("bash", '{"command":  "ls include"}'), ("bash", '{"command": "uname"}')],
            ids=["functions.bash:15", "functions.bash:16"],
            usage=USAGE,
        ),
    ),
    Case(
        "call-in-both-channels",
        "One call in the reasoning and one in the content: one answer, so the indexes go on counting.",
        failure=[17, 20],
        tools=[BASH],
        asked="Which files are there?",
        upstream=kimi_host(
            Thinks("Hm." + section(call("functions.bash:0", LS))),
            "And:" + section(call("functions.bash:1", LS)),
            cut=bursts,
        ),
        gets=Outcome(
            "And:", [LS_CALL, LS_CALL], reasoning="Hm.", ids=["functions.bash:0", "functions.bash:1"]
        ),
    ),
    Case(
        "reasoning-as-content",
        "With the policy `text_channel: content` the prose around a call in the reasoning becomes content.",
        failure=[17],
        tools=[BASH],
        asked="Which files are there?",
        policy={"text_channel": "content"},
        upstream=kimi_host(
            Thinks("Listing." + section(call("functions.bash:0", LS)) + "Then more."), cut=bursts
        ),
        gets=Outcome("Listing.Then more.", [LS_CALL], ids=["functions.bash:0"]),
    ),
]
