"""qwen3-coder, trouble: missing tags, broken tags, calls that are none."""

from __future__ import annotations

from samples.cases.case import Case, Outcome
from samples.cases.qwen3_coder import CALL_MAIN, READ_MAIN, call
from samples.cases.tools import BASH, EDIT_FILE, INTEGER, LIST_FILES, READ_FILE, WRITE_FILE, offer
from samples.cases.upstream import bursts, lines, plain, vllm, whole

SUM = offer("sum", "Add numbers", numbers={"type": "array", "items": INTEGER})

NO_OPENER = lines("<function=read_file>", "<parameter=path>", "src/main.py", "</parameter>", "</function>")
NO_NAME = lines(
    "<tool_call>", "<function=bash>", "<parameter=", "ls", "</parameter>", "</function>", "</tool_call>"
)
INLINE = lines(
    "<tool_call>", "<function=bash>", "<parameter=command=ls</parameter>", "</function>", "</tool_call>"
)
HERMES = lines("<tool_call>", '{"name": "bash", "arguments": {"command": "ls"}}', "</tool_call>")
UNOFFERED = lines(
    "<function=deploy>", "<parameter=to>", "prod", "</parameter>", "</function>", "</tool_call>"
)
INDENTED = lines(
    "Let me read it.", "", " <function=read_file>", " <parameter=path>", " src/main.py", " </parameter>", ""
)

CASES = [
    Case(
        "missing-opener",
        "`<tool_call>` is missing, its closing tag is there: still a call, the orphan tag vanishes.",
        failure=[3],
        tools=[READ_FILE],
        upstream=vllm(NO_OPENER + "\n</tool_call>"),
        gets=Outcome(calls=[CALL_MAIN]),
    ),
    Case(
        "missing-opener-one-line",
        "`<tool_call>` is missing, all in one line and one delta: a call, and nothing is left over.",
        failure=[3, 10],
        tools=[LIST_FILES],
        asked="What is in /tmp?",
        upstream=plain(
            "<function=list_files><parameter=path>/tmp</parameter></function></tool_call>", cut=whole
        ),
        gets=Outcome(calls=[("list_files", {"path": "/tmp"})]),
    ),
    Case(
        "missing-opener-unknown-tool",
        "No `<tool_call>`, and a function that was not offered: nothing says it is a call, so it is text.",
        failure=[3],
        tools=[READ_FILE],
        asked="Ship it.",
        upstream=plain(UNOFFERED),
        gets=Outcome(UNOFFERED),
    ),
    Case(
        "missing-closer",
        "The answer ends after `</function>`: the call is complete there, `</tool_call>` is not missed.",
        tools=[READ_FILE],
        upstream=plain("<tool_call>\n" + NO_OPENER),
        gets=Outcome(calls=[CALL_MAIN]),
    ),
    Case(
        "missing-function-closer",
        "`</function>` is missing before `</tool_call>`: read as if it were there, with a warning.",
        tools=[READ_FILE],
        upstream=plain(READ_MAIN.replace("</function>\n", "")),
        gets=Outcome(calls=[CALL_MAIN]),
        findings=["repaired-call"],
    ),
    Case(
        "missing-parameter-closer",
        "`</parameter>` is missing before the next parameter's line: two parameters, with a warning.",
        failure=[4],
        tools=[WRITE_FILE],
        asked="Write hi.",
        upstream=plain(call("write_file", path="hi.txt", content="hi").replace("</parameter>\n", "", 1)),
        gets=Outcome(calls=[("write_file", {"path": "hi.txt", "content": "hi"})]),
        findings=["repaired-parameter"],
    ),
    Case(
        "missing-last-parameter-closer",
        "`</parameter>` is missing before `</function></tool_call>`: the value ends there, with a warning.",
        failure=[4],
        tools=[BASH],
        asked="List the files.",
        upstream=plain(call("bash", command="ls -la").replace("</parameter>\n", "")),
        gets=Outcome(calls=[("bash", {"command": "ls -la"})]),
        findings=["repaired-parameter"],
    ),
    Case(
        "broken-parameter-tag",
        "`<parameter=` without a name or `>`: no junk key is made up, the whole block stays text.",
        failure=[11],
        tools=[BASH],
        asked="List the files.",
        upstream=plain(NO_NAME),
        gets=Outcome(NO_NAME),
        findings=["malformed-call"],
    ),
    Case(
        "inline-parameter",
        "`<parameter=command=ls</parameter>`, value inside the tag: malformed, so the whole block stays "
        "text.",
        failure=[12],
        tools=[BASH],
        asked="List the files.",
        upstream=plain(INLINE),
        gets=Outcome(INLINE),
        findings=["malformed-call"],
    ),
    Case(
        "inline-parameter-repaired",
        "`<parameter=command=ls</parameter>` with the policy `malformed: repair`: the value is taken out "
        "of the tag.",
        failure=[12],
        tools=[BASH],
        asked="List the files.",
        policy={"malformed": "repair"},
        upstream=plain(INLINE),
        gets=Outcome(calls=[("bash", {"command": "ls"})]),
        findings=["repaired-parameter"],
    ),
    Case(
        "prose-names-tag",
        "A sentence names `<tool_call>` and `</tool_call>`: plain text, and the rest of the answer "
        "arrives, too.",
        failure=[13],
        tools=[BASH],
        asked="How do you call tools?",
        upstream=plain(
            "The `<tool_call>` tag opens a call, <function=NAME> names it and </tool_call> ends it. Clear?"
        ),
        gets=Outcome(
            "The `<tool_call>` tag opens a call, <function=NAME> names it and </tool_call> ends it. Clear?"
        ),
    ),
    Case(
        "other-dialect",
        "A call as JSON inside `<tool_call>`, which is another dialect: not guessed, it stays text.",
        tools=[BASH],
        asked="List the files.",
        upstream=plain(HERMES),
        gets=Outcome(HERMES),
    ),
    Case(
        "fenced-call",
        "A call with its explicit markers inside a code fence: it is taken for real, the fence stays text.",
        failure=[58],
        tools=[READ_FILE],
        upstream=plain(lines("Here:", "```xml", READ_MAIN, "```")),
        gets=Outcome("Here:\n```xml\n```", [CALL_MAIN]),
    ),
    Case(
        "wrong-type",
        "A list that is neither JSON nor Python: sent as a string with a warning, and the call is not lost.",
        failure=[16],
        tools=[SUM],
        asked="Add them.",
        upstream=plain(call("sum", numbers="[1, 2, and 3")),
        gets=Outcome(calls=[("sum", {"numbers": "[1, 2, and 3"})]),
        findings=["value-not-of-type"],
    ),
    Case(
        "same-parameter-twice",
        "One parameter given twice: the first value counts, with a warning.",
        tools=[BASH],
        asked="List the files.",
        upstream=plain(
            lines(
                "<tool_call>",
                "<function=bash>",
                "<parameter=command>",
                "ls",
                "</parameter>",
                "<parameter=command>",
                "pwd",
                "</parameter>",
                "</function>",
                "</tool_call>",
            ),
            cut=bursts,
        ),
        gets=Outcome(calls=[("bash", {"command": "ls"})]),
        findings=["duplicate-parameter"],
    ),
    Case(
        "example-never-closed",
        "The value opens an example of its own call and never ends it: the first possible end is taken.",
        tools=[WRITE_FILE],
        asked="Document the format.",
        upstream=plain(
            call("write_file", path="f.md", content="It begins with\n<function=write_file>\nand so on.")
        ),
        gets=Outcome(
            calls=[
                (
                    "write_file",
                    {"path": "f.md", "content": "It begins with\n<function=write_file>\nand so on."},
                )
            ]
        ),
        findings=["ambiguous-end"],
    ),
    Case(
        "cut-by-length",
        "max_tokens ends the answer inside the call: all of it is text, and the reason stays `length`.",
        failure=[56],
        tools=[WRITE_FILE],
        asked="Write the story.",
        upstream=plain(
            lines(
                "Here it comes.",
                "<tool_call>",
                "<function=write_file>",
                "<parameter=path>",
                "story.md",
                "</parameter>",
                "<parameter=content>",
                "Once upon",
            ),
            finish="length",
        ),
        gets=Outcome(
            "Here it comes.\n<tool_call>\n<function=write_file>\n<parameter=path>\nstory.md\n</parameter>\n"
            "<parameter=content>\nOnce upon",
            finish="length",
        ),
        findings=["truncated-call"],
    ),
    Case(
        "unclosed-call",
        "Indented, without `<tool_call>`, `</function>` or `</tool_call>`: unfinished, so all of it is text.",
        failure=[3],
        tools=[READ_FILE],
        upstream=plain(INDENTED),
        gets=Outcome(INDENTED),
        findings=["truncated-call"],
    ),
    Case(
        "unclosed-call-repaired",
        "A call that lacks only its end, with the policy `malformed: repair`: closed, with a warning.",
        tools=[READ_FILE],
        policy={"malformed": "repair"},
        upstream=plain("<tool_call>\n" + NO_OPENER.removesuffix("</function>")),
        gets=Outcome(calls=[CALL_MAIN]),
        findings=["repaired-call"],
    ),
    Case(
        "unknown-tool",
        "A tool that was not offered: the call goes out all the same, its values as strings, with a warning.",
        tools=[READ_FILE],
        asked="Ship it.",
        upstream=plain("<tool_call>\n" + UNOFFERED),
        gets=Outcome(calls=[("deploy", {"to": "prod"})]),
        findings=["unknown-tool"],
    ),
    Case(
        "unknown-tool-as-text",
        "A tool that was not offered, with the policy `unknown_tools: text`: the block stays text.",
        tools=[READ_FILE],
        asked="Ship it.",
        policy={"unknown_tools": "text"},
        upstream=plain("<tool_call>\n" + UNOFFERED),
        gets=Outcome("<tool_call>\n" + UNOFFERED),
    ),
    Case(
        "unknown-tool-refused",
        "A tool that was not offered, with the policy `unknown_tools: error`: an error event, and that is "
        "the end.",
        tools=[READ_FILE],
        asked="Ship it.",
        policy={"unknown_tools": "error"},
        upstream=plain("On it.\n<tool_call>\n" + UNOFFERED),
        gets=Outcome("On it.", error="the model called 'deploy', which is not one of the tools offered"),
        findings=["refused-tool", "event-after-end", "event-after-end"],
    ),
    Case(
        "one-bad-one-good",
        "A call with a broken parameter tag, then a good one: the bad block is text, the good one a call.",
        failure=[11],
        tools=[BASH, EDIT_FILE],
        asked="List the files.",
        upstream=plain(lines(NO_NAME, call("bash", command="ls"))),
        gets=Outcome(NO_NAME, [("bash", {"command": "ls"})]),
        findings=["malformed-call"],
    ),
]
