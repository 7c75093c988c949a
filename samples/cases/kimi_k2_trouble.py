"""kimi-k2, trouble: missing tokens, odd ids, answers that end too early."""

from __future__ import annotations

from samples.cases.case import Case, Outcome
from samples.cases.kimi_k2 import ARGUMENTS, BEGIN, CALL, CALL_END, END, GREP, LS, LS_CALL, call, section
from samples.cases.tools import BASH, READ_FILE
from samples.cases.upstream import Thinks, bursts, every, kimi_host, plain, slices

ASKED = "Which files are there?"

CASES = [
    Case(
        "tokens-in-pieces",
        "Deltas of 4 characters cut every token in pieces: no piece leaks into content or arguments.",
        failure=[18, 23],
        tools=[BASH],
        asked=ASKED,
        upstream=plain("So: a <| b " + section(call("functions.bash:0", LS)), cut=every(4)),
        gets=Outcome("So: a <| b", [LS_CALL], ids=["functions.bash:0"]),
    ),
    Case(
        "escape-in-pieces",
        'Deltas and reads cut inside `\\u4f60` and `\\"` of the arguments: the JSON text goes on byte for '
        "byte.",
        failure=[57],
        tools=[BASH],
        asked="Say hello.",
        upstream=plain(
            section(call("functions.bash:0", '{"command": "echo \\"\\u4f60\\u597d\\""}')), cut=every(3)
        ),
        reads=slices(64, 20, 111),
        gets=Outcome(calls=[("bash", '{"command": "echo \\"\\u4f60\\u597d\\""}')], ids=["functions.bash:0"]),
    ),
    Case(
        "blanks-and-newlines",
        "Newlines and blanks around the id and the JSON: stripped, the call is as good as any.",
        failure=[22],
        tools=[BASH],
        asked=ASKED,
        upstream=plain(
            f"Sure.\n\n{BEGIN}\n{CALL}\n  functions.bash:6 \n{ARGUMENTS}\n {LS} \n{CALL_END}\n{END}\n"
        ),
        gets=Outcome("Sure.", [LS_CALL], ids=["functions.bash:6"]),
    ),
    Case(
        "singular-section",
        "`<|tool_call_section_begin|>` instead of `…calls…`: accepted, one call.",
        failure=[19],
        tools=[BASH],
        asked=ASKED,
        upstream=plain(
            section(call("functions.bash:0", LS)).replace("tool_calls_section", "tool_call_section")
        ),
        gets=Outcome(calls=[LS_CALL], ids=["functions.bash:0"]),
    ),
    Case(
        "missing-section",
        "No section tokens at all: accepted, one call, and the text after it is kept.",
        failure=[19],
        tools=[BASH],
        asked=ASKED,
        upstream=plain("Listing. " + call("functions.bash:0", LS) + " There."),
        gets=Outcome("Listing. There.", [LS_CALL], ids=["functions.bash:0"]),
    ),
    Case(
        "missing-call-end",
        "`<|tool_call_end|>` is missing twice: the next call and the section's end close them, with a "
        "warning each.",
        failure=[19],
        tools=[BASH],
        asked=ASKED,
        upstream=plain(
            section(call("functions.bash:0", LS), call("functions.bash:1", LS)).replace(CALL_END, "")
        ),
        gets=Outcome(calls=[LS_CALL, LS_CALL], ids=["functions.bash:0", "functions.bash:1"]),
        findings=["repaired-call", "repaired-call"],
    ),
    Case(
        "begin-as-end",
        "The model ends its call with a second `<|tool_call_begin|>`: one call, the token is dropped and "
        "named.",
        failure=[19],
        tools=[BASH],
        asked=ASKED,
        upstream=plain(f"Let me see.   {CALL}  functions.bash:42 {ARGUMENTS}  {LS}  {CALL}  "),
        gets=Outcome("Let me see.", [LS_CALL], ids=["functions.bash:42"]),
        findings=["repaired-call", "stray-token"],
    ),
    Case(
        "section-end-cut",
        "The answer ends inside `<|tool_calls_section_end|>`: the call is whole, the piece of a token is "
        "named.",
        failure=[18],
        tools=[BASH],
        asked=ASKED,
        upstream=kimi_host(
            Thinks("Right. " + section(call("functions.bash:0", LS)).removesuffix(">")), cut=bursts
        ),
        gets=Outcome(reasoning="Right.", calls=[LS_CALL], ids=["functions.bash:0"]),
        findings=["stray-token"],
    ),
    Case(
        "name-without-prefix",
        "The id is `bash:0`, without `functions.`: the name is the part before the colon.",
        tools=[BASH, READ_FILE],
        asked=ASKED,
        upstream=plain(section(call("bash:0", LS))),
        gets=Outcome(calls=[LS_CALL], ids=["bash:0"]),
    ),
    Case(
        "id-without-name",
        "The id is `call_ab12` and one tool was offered: it is that tool's call, the id stays.",
        failure=[21],
        tools=[BASH],
        asked=ASKED,
        upstream=plain(section(call("call_ab12", LS))),
        gets=Outcome(calls=[LS_CALL], ids=["call_ab12"]),
    ),
    Case(
        "id-without-name-by-keys",
        "The id is `call_ab12` and three tools were offered: only one has exactly these parameters, so it "
        "is meant.",
        failure=[21],
        tools=[BASH, READ_FILE, GREP],
        asked="Where is main?",
        upstream=plain(section(call("call_ab12", '{"pattern": "main", "path": "src"}'))),
        gets=Outcome(calls=[("grep", '{"pattern": "main", "path": "src"}')], ids=["call_ab12"]),
    ),
    Case(
        "id-without-name-ambiguous",
        "The id is `call_ab12` and its argument fits none of the tools: the block stays text, with an error.",
        failure=[21],
        tools=[BASH, READ_FILE],
        asked="Where is main?",
        upstream=plain(section(call("call_ab12", '{"query": "main"}'))),
        gets=Outcome(call("call_ab12", '{"query": "main"}')),
        findings=["unnamed-call", "empty-section"],
    ),
    Case(
        "bare-counter",
        "The id is nothing but `3`: the parameters tell which tool is meant.",
        failure=[21],
        tools=[BASH, READ_FILE],
        upstream=plain(section(call("3", '{"path": "src/main.py"}'))),
        gets=Outcome(calls=[("read_file", '{"path": "src/main.py"}')], ids=["3"]),
    ),
    Case(
        "repeated-id",
        "Both calls have the id `functions.bash:0`: the second gets an id of its own, with a warning.",
        failure=[20],
        tools=[BASH],
        asked=ASKED,
        upstream=plain(section(call("functions.bash:0", LS), call("functions.bash:0", LS))),
        gets=Outcome(calls=[LS_CALL, LS_CALL], ids=["functions.bash:0", "call_1_{now}"]),
        findings=["generated-id"],
    ),
    Case(
        "missing-id",
        "No id at all, one tool offered: a call to it with an id made up here, with a warning.",
        failure=[21],
        tools=[BASH],
        asked=ASKED,
        upstream=plain(section(call("", LS))),
        gets=Outcome(calls=[LS_CALL], ids=["call_0_{now}"]),
        findings=["generated-id"],
    ),
    Case(
        "truncated-arguments",
        "max_tokens ends the answer inside the arguments: the call is closed as it is, the reason stays "
        "`length`.",
        failure=[56],
        tools=[BASH],
        asked=ASKED,
        upstream=plain(f'{BEGIN}{CALL}functions.bash:0{ARGUMENTS}{{"command": "ls -', finish="length"),
        gets=Outcome(calls=[("bash", '{"command": "ls -')], finish="length", ids=["functions.bash:0"]),
        findings=["truncated-call", "cut-after-call"],
    ),
    Case(
        "truncated-arguments-repaired",
        "The arguments lack only their last brace, with the policy `malformed: repair`: closed, with a "
        "warning.",
        tools=[BASH],
        asked=ASKED,
        policy={"malformed": "repair"},
        upstream=plain(f"{BEGIN}{CALL}functions.bash:0{ARGUMENTS}{LS.removesuffix('}')}"),
        gets=Outcome(calls=[LS_CALL], ids=["functions.bash:0"]),
        findings=["repaired-call"],
    ),
    Case(
        "truncated-header",
        "The answer ends inside the id: no call was begun, so it is text, and the section token is gone.",
        tools=[BASH],
        asked=ASKED,
        upstream=plain(f"Listing. {BEGIN}{CALL}functions.ba"),
        gets=Outcome(f"Listing. {CALL}functions.ba"),
        findings=["truncated-call", "empty-section"],
    ),
    Case(
        "call-without-arguments",
        "A good call, then an id with neither arguments nor an end: the first goes out, the second is text.",
        tools=[BASH],
        asked=ASKED,
        upstream=plain(section(call("functions.bash:0", LS), f"{CALL}functions.bash:1")),
        gets=Outcome(f"{CALL}functions.bash:1", [LS_CALL], ids=["functions.bash:0"]),
        findings=["malformed-call"],
    ),
    Case(
        "call-too-long",
        "A call beyond the policy's 100 bytes whose arguments stream already: closed as it is, the rest is "
        "text.",
        failure=[26],
        tools=[BASH],
        asked="Count to ten, often.",
        policy={"max_call_bytes": 100},
        upstream=plain(section(call("functions.bash:0", '{"command": "echo 0123456789 0123456789"}'))),
        gets=Outcome(
            f'89"}}{CALL_END}', [("bash", '{"command": "echo 0123456789 01234567')], ids=["functions.bash:0"]
        ),
        findings=["call-too-long", "stray-token"],
    ),
    Case(
        "prose-names-token",
        "A sentence names `<|tool_call_begin|>`: what follows is no id, so it is text and leaves at once.",
        failure=[13],
        tools=[BASH],
        asked="How do you call tools?",
        upstream=plain(f"The token {CALL} opens a call.\nThen comes its id, and so on."),
        gets=Outcome(f"The token {CALL} opens a call.\nThen comes its id, and so on."),
    ),
    Case(
        "empty-section",
        "A section token in the middle of a sentence, and no call: the token goes and is named, the text "
        "stays.",
        failure=[18],
        tools=[BASH],
        asked=ASKED,
        upstream=kimi_host(Thinks(f"Hello {BEGIN}world")),
        gets=Outcome(reasoning="Hello world"),
        findings=["empty-section"],
    ),
    Case(
        "arguments-not-json",
        "The arguments are a Python dict, no JSON: passed on as written, it is the client's to refuse them.",
        tools=[BASH],
        asked=ASKED,
        upstream=plain(section(call("functions.bash:0", "{'command': 'ls'}"))),
        gets=Outcome(calls=[("bash", "{'command': 'ls'}")], ids=["functions.bash:0"]),
        findings=["invalid-arguments"],
    ),
    Case(
        "unknown-tool",
        "A tool that was not offered: the call goes out all the same, with a warning.",
        tools=[BASH],
        asked="Ship it.",
        upstream=plain(section(call("functions.deploy:0", '{"to": "prod"}'))),
        gets=Outcome(calls=[("deploy", '{"to": "prod"}')], ids=["functions.deploy:0"]),
        findings=["unknown-tool"],
    ),
    Case(
        "broke-inside-arguments",
        "The connection breaks while arguments stream: the client has half a call, then gets an error event.",
        tools=[BASH],
        asked=ASKED,
        upstream=lambda meta: plain(f'{BEGIN}{CALL}functions.bash:0{ARGUMENTS}{{"command": "l', finish=None)(
            meta
        )[:-1],
        broke="the connection was reset",
        gets=Outcome(
            calls=[("bash", '{"command": "l')], error="the connection was reset", ids=["functions.bash:0"]
        ),
        findings=["truncated-call", "upstream-broke"],
    ),
]
