"""seed-oss: calls of functions in Seed's own wrapper, with values directly between their tags."""

from __future__ import annotations

from samples.cases.case import Case, Outcome
from samples.cases.tools import BASH, LIST_FILES, NOW, READ_FILE, WRITE_FILE
from samples.cases.upstream import bursts, letters, lines, plain, slices, vllm


def call(name: str, **values: str) -> str:
    """A call as the chat template teaches it."""
    given = [f"<parameter={key}>{value}</parameter>" for key, value in values.items()]
    return lines("<seed:tool_call>", f"<function={name}>", *given, "</function>", "</seed:tool_call>")


READ_MAIN = call("read_file", path="src/main.py")
CALL_MAIN = ("read_file", {"path": "src/main.py"})
POEM = "Roses are red,\n  violets blue.\n"
NO_NAME = READ_MAIN.replace("<parameter=path>", "<parameter=")
HALF = call("write_file", path="a.md", content="# A").partition("# A")[0] + "# A"
PROSE = "The `<seed:tool_call>` tag opens a call, <function=NAME> names it. Clear?"

CASES = [
    Case(
        "good-read",
        "A well-formed call after a sentence: the client gets the sentence and one tool call.",
        tools=[READ_FILE],
        upstream=vllm("I'll read it.\n" + READ_MAIN, cut=bursts),
        gets=Outcome("I'll read it.", [CALL_MAIN]),
    ),
    Case(
        "good-two-calls",
        "Text before, between and after two calls: all of it is kept, and both calls go out.",
        tools=[NOW, LIST_FILES],
        asked="Look around.",
        upstream=plain(
            lines("First.", call("now"), "Then.", call("list_files", path="/tmp", recursive="true"), "Done.")
        ),
        gets=Outcome(
            "First.\nThen.\nDone.", [("now", "{}"), ("list_files", {"path": "/tmp", "recursive": True})]
        ),
    ),
    Case(
        "good-multi-line",
        "A value of several lines between its tags: only one newline next to each tag is not part of it.",
        tools=[WRITE_FILE],
        asked="Write a poem.",
        policy={"arguments": "stream"},
        upstream=plain(call("write_file", path="poem.txt", content=f"\n{POEM}\n")),
        gets=Outcome(calls=[("write_file", {"path": "poem.txt", "content": POEM})]),
    ),
    Case(
        "good-tags-in-value",
        "The command is about these very tags: all of it is the value.",
        tools=[BASH],
        asked="Search for it.",
        upstream=plain(call("bash", command="grep -n '</parameter>' or '</function>' *.md"), cut=letters),
        gets=Outcome(calls=[("bash", {"command": "grep -n '</parameter>' or '</function>' *.md"})]),
    ),
    Case(
        "missing-opener",
        "`<seed:tool_call>` is missing, its closing tag is there: still a call, the orphan tag vanishes.",
        tools=[READ_FILE],
        upstream=plain(READ_MAIN.removeprefix("<seed:tool_call>\n")),
        gets=Outcome(calls=[CALL_MAIN]),
    ),
    Case(
        "missing-parameter-closer",
        "`</parameter>` is missing before the next parameter's line: two parameters, with a warning.",
        tools=[WRITE_FILE],
        asked="Write hi.",
        upstream=plain(call("write_file", path="hi.txt", content="hi").replace("</parameter>", "", 1)),
        gets=Outcome(calls=[("write_file", {"path": "hi.txt", "content": "hi"})]),
        findings=["repaired-parameter"],
    ),
    Case(
        "doubled-tags",
        "The wrapper's tags stand there twice, in reads of 9 and 14 bytes: one call, nothing is left over.",
        tools=[READ_FILE],
        upstream=plain(lines("<seed:tool_call>", READ_MAIN, "</seed:tool_call>")),
        reads=slices(9, 14),
        gets=Outcome(calls=[CALL_MAIN]),
    ),
    Case(
        "broken-parameter-tag",
        "`<parameter=` without a name or `>`: no junk key is made up, the whole block stays text.",
        tools=[READ_FILE],
        upstream=plain(NO_NAME),
        gets=Outcome(NO_NAME),
        findings=["malformed-call"],
    ),
    Case(
        "cut-by-length",
        "max_tokens ends the answer inside a value: all of it is text, and the reason stays `length`.",
        tools=[WRITE_FILE],
        asked="Write a.md.",
        upstream=plain(HALF, finish="length"),
        gets=Outcome(HALF, finish="length"),
        findings=["truncated-call"],
    ),
    Case(
        "prose-names-tag",
        "A sentence names the tags: plain text, and the rest of the answer arrives, too.",
        tools=[BASH],
        asked="How do you call tools?",
        upstream=plain(PROSE),
        gets=Outcome(PROSE),
    ),
]
