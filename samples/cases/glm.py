"""glm: calls as the chat template has them, with and without newlines, and the tags that the model loses."""

from __future__ import annotations

from samples.cases.case import Case, Outcome
from samples.cases.tools import (
    BASH,
    BOOLEAN,
    EDIT_FILE,
    INTEGER,
    LIST_FILES,
    NOW,
    READ_FILE,
    STRING,
    STRINGS,
    WRITE_FILE,
    offer,
)
from samples.cases.upstream import Thinks, bursts, letters, lines, plain, slices, vllm, whole

SEARCH = offer(
    "search",
    "Search",
    ["pattern"],
    pattern=STRING,
    author={"anyOf": [STRING, {"type": "null"}]},
    limit=INTEGER,
    deep=BOOLEAN,
    paths=STRINGS,
)
ANYTHING = {"type": "function", "function": {"name": "anything", "description": "Takes what it is given"}}


def call(name: str, **values: str) -> str:
    """A call as GLM 4.5 and 4.6 write it."""
    given = [
        part
        for key, value in values.items()
        for part in (f"<arg_key>{key}</arg_key>", f"<arg_value>{value}</arg_value>")
    ]
    return lines(f"<tool_call>{name}", *given, "</tool_call>")


def short(name: str, **values: str) -> str:
    """The same as GLM 4.7 and 5 write it, without newlines."""
    return call(name, **values).replace(">\n<", "><").replace(f"{name}\n", name)


READ_MAIN = call("read_file", path="src/main.py")
CALL_MAIN = ("read_file", {"path": "src/main.py"})
LOST_VALUE = short("read_file", path="src/main.py").replace("<arg_value>", "")
TOUCHING = short("read_file", path="src/main.py").replace("<arg_key>", "")
HALF = call("write_file", path="a.md", content="# A").partition("# A")[0] + "# A"

CASES = [
    Case(
        "good-read",
        "A well-formed call after a sentence: the client gets the sentence and one tool call.",
        tools=[READ_FILE],
        upstream=vllm("I'll read it.\n" + READ_MAIN, cut=bursts),
        gets=Outcome("I'll read it.", [CALL_MAIN]),
    ),
    Case(
        "good-no-newlines",
        "GLM 4.7 and later write no newlines between the tags: the same call.",
        tools=[WRITE_FILE],
        asked="Write hi.",
        upstream=plain(short("write_file", path="hi.txt", content="hi")),
        gets=Outcome(calls=[("write_file", {"path": "hi.txt", "content": "hi"})]),
    ),
    Case(
        "good-no-arguments",
        "`<tool_call>now</tool_call>`: a complete call with the arguments `{}`, also in a stream.",
        failure=[40],
        tools=[NOW],
        asked="How late is it?",
        upstream=plain("<tool_call>now</tool_call>"),
        gets=Outcome(calls=[("now", "{}")]),
    ),
    Case(
        "good-two-calls",
        "Text before, between and after two calls: all of it is kept, and both calls go out.",
        tools=[READ_FILE, NOW],
        upstream=plain(lines("First the time.", call("now"), "Now the file.", READ_MAIN, "", "That's all.")),
        gets=Outcome("First the time.\nNow the file.\n\nThat's all.", [("now", "{}"), CALL_MAIN]),
    ),
    Case(
        "good-values-as-they-are",
        "Indentation and newlines at both ends of a value: kept, because the template adds none.",
        tools=[EDIT_FILE],
        asked="Return y instead.",
        upstream=plain(call("edit_file", path="a.py", old="    return x\n", new="\n\treturn y  ")),
        gets=Outcome(
            calls=[("edit_file", {"path": "a.py", "old": "    return x\n", "new": "\n\treturn y  "})]
        ),
    ),
    Case(
        "good-typed-values",
        "An optional string, an integer, a boolean and an array: typed by the schema, each written once.",
        failure=[41],
        tools=[SEARCH],
        asked="Where is it?",
        policy={"arguments": "stream"},
        upstream=plain(
            short("search", pattern="5", author="Smith", limit="10", deep="true", paths='["src", "lib"]')
        ),
        gets=Outcome(
            calls=[
                (
                    "search",
                    {"pattern": "5", "author": "Smith", "limit": 10, "deep": True, "paths": ["src", "lib"]},
                )
            ]
        ),
    ),
    Case(
        "good-no-schema",
        "A tool without a schema: what looks like JSON is JSON, all else is a string.",
        failure=[42],
        tools=[ANYTHING],
        asked="Try it.",
        upstream=plain(short("anything", count="5", on="true", rows="[[1], []]", text="5 rows")),
        gets=Outcome(calls=[("anything", '{"count":5,"on":true,"rows":[[1], []],"text":"5 rows"}')]),
    ),
    Case(
        "good-tags-in-value",
        "The file that it writes is about these very tags: all of it is the value.",
        tools=[WRITE_FILE],
        asked="Document it.",
        upstream=plain(
            call(
                "write_file", path="a.md", content="A value ends with </arg_value>, a call with </tool_call>."
            )
        ),
        gets=Outcome(
            calls=[
                (
                    "write_file",
                    {"path": "a.md", "content": "A value ends with </arg_value>, a call with </tool_call>."},
                )
            ]
        ),
    ),
    Case(
        "good-example-in-value",
        "The file that it writes shows a whole call: an example, one call comes out.",
        tools=[WRITE_FILE, READ_FILE],
        asked="Document it.",
        upstream=plain(call("write_file", path="a.md", content=f"Like so:\n{READ_MAIN}\nClear?")),
        gets=Outcome(calls=[("write_file", {"path": "a.md", "content": f"Like so:\n{READ_MAIN}\nClear?"})]),
    ),
    Case(
        "good-letter-by-letter",
        "Every delta is one character, reads of 9 and 17 bytes: tags cut everywhere, and still one call.",
        tools=[READ_FILE],
        upstream=plain("So.\n" + READ_MAIN, cut=letters),
        reads=slices(9, 17),
        gets=Outcome("So.", [CALL_MAIN]),
    ),
    Case(
        "call-in-reasoning",
        "A call inside the reasoning, which the server parted from the answer: it is found and goes out.",
        tools=[READ_FILE],
        upstream=plain(Thinks("The file will tell. " + READ_MAIN)),
        gets=Outcome(reasoning="The file will tell.", calls=[CALL_MAIN]),
    ),
    Case(
        "lost-value-tag",
        "`<arg_value>` is lost, its closing tag is there: the value begins at once, with a warning.",
        failure=[43],
        tools=[READ_FILE],
        upstream=plain(LOST_VALUE),
        gets=Outcome(calls=[CALL_MAIN]),
        findings=["repaired-tag"],
    ),
    Case(
        "lost-key-tag",
        "`<arg_key>` is lost and the two names touch: parted by the offered tool's name, with a warning.",
        failure=[43],
        tools=[READ_FILE, LIST_FILES],
        upstream=plain(TOUCHING),
        gets=Outcome(calls=[CALL_MAIN]),
        findings=["repaired-tag"],
    ),
    Case(
        "stray-key-tag",
        "`</arg_key>` stands there twice: it does not become part of the key, and a warning names it.",
        failure=[43],
        tools=[READ_FILE],
        upstream=plain(READ_MAIN.replace("</arg_key>", "</arg_key></arg_key>"), cut=whole),
        gets=Outcome(calls=[CALL_MAIN]),
        findings=["repaired-tag"],
    ),
    Case(
        "lost-closing-tag",
        "`</arg_value>` is lost before the next key, all on one line: two parameters, with a warning.",
        tools=[WRITE_FILE],
        asked="Write hi.",
        upstream=plain(short("write_file", path="hi.txt", content="hi").replace("</arg_value>", "", 1)),
        gets=Outcome(calls=[("write_file", {"path": "hi.txt", "content": "hi"})]),
        findings=["repaired-parameter"],
    ),
    Case(
        "doubled-tags",
        "`<tool_call>` twice and `</tool_call>` three times: one call, and nothing is left over.",
        tools=[READ_FILE],
        upstream=plain(f"<tool_call>{READ_MAIN}</tool_call>\n</tool_call>"),
        gets=Outcome(calls=[CALL_MAIN]),
    ),
    Case(
        "unknown-tool",
        "A tool that was not offered: the call goes out all the same, with a warning.",
        tools=[READ_FILE],
        asked="Ship it.",
        upstream=plain(call("deploy", to="prod")),
        gets=Outcome(calls=[("deploy", {"to": "prod"})]),
        findings=["unknown-tool"],
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
        "A sentence names `<tool_call>` and shows how it is used: plain text, all of it arrives.",
        tools=[BASH],
        asked="How do you call tools?",
        upstream=plain("The `<tool_call>` tag, as in <tool_call>name</tool_call>, calls a tool. Clear?"),
        gets=Outcome("The `<tool_call>` tag, as in <tool_call>name</tool_call>, calls a tool. Clear?"),
    ),
    Case(
        "other-dialect",
        "A call as JSON inside `<tool_call>`, which is another dialect: not guessed, it stays text.",
        tools=[BASH],
        asked="List the files.",
        upstream=plain('<tool_call>\n{"name": "bash", "arguments": {"command": "ls"}}\n</tool_call>'),
        gets=Outcome('<tool_call>\n{"name": "bash", "arguments": {"command": "ls"}}\n</tool_call>'),
    ),
]
