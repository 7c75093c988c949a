"""qwen3-coder, good calls: every kind of value, several calls, and text around them."""

from __future__ import annotations

from samples.cases.case import Case, Outcome
from samples.cases.tools import (
    BASH,
    BOOLEAN,
    EDIT_FILE,
    INTEGER,
    LIST_FILES,
    NOW,
    NUMBER,
    READ_FILE,
    STRING,
    WRITE_FILE,
    offer,
    with_defs,
)
from samples.cases.upstream import JSON, Thinks, bursts, every, lines, plain, slices, vllm, whole

SEARCH = with_defs(
    offer(
        "search",
        "Search",
        pattern=STRING,
        limit={"anyOf": [INTEGER, {"type": "null"}]},
        weight={"oneOf": [NUMBER, BOOLEAN]},
        deep={"type": ["boolean", "null"]},
        depth={"$ref": "#/$defs/depth"},
        after={"allOf": [{"$ref": "#/$defs/depth"}]},
    ),
    depth=INTEGER,
)
PAGE = offer(
    "page",
    "One page",
    limit={"type": ["integer", "null"]},
    sort={"type": ["string", "null"]},
    text=STRING,
    code=STRING,
)
ROWS: JSON = {"type": "array", "items": {"type": "object"}}
SAVE_ROWS = offer("save_rows", "Save rows", rows=ROWS, more=ROWS)


def call(name: str, **values: str) -> str:
    """A call as the chat template teaches it."""
    given = [f"<parameter={key}>\n{value}\n</parameter>" for key, value in values.items()]
    return lines("<tool_call>", f"<function={name}>", *given, "</function>", "</tool_call>")


READ_MAIN = call("read_file", path="src/main.py")
CALL_MAIN = ("read_file", {"path": "src/main.py"})

CASES = [
    Case(
        "good-write",
        "An indented call between two sentences: one tool call, and both sentences are kept.",
        tools=[WRITE_FILE],
        asked="Create hello.txt.",
        upstream=vllm(
            lines(
                "I'll create it.",
                "<tool_call>",
                "  <function=write_file>",
                "    <parameter=path>hello.txt</parameter>",
                "    <parameter=content>Hello!</parameter>",
                "  </function>",
                "</tool_call>",
                "Done!",
            ),
            cut=bursts,
        ),
        gets=Outcome("I'll create it.\nDone!", [("write_file", {"path": "hello.txt", "content": "Hello!"})]),
    ),
    Case(
        "good-two-calls",
        "Two calls, nothing else: both go out, and the content is null.",
        failure=[14],
        tools=[READ_FILE, LIST_FILES],
        asked="Look around.",
        upstream=plain(lines(call("list_files", path="/tmp", recursive="false"), READ_MAIN)),
        gets=Outcome(calls=[("list_files", {"path": "/tmp", "recursive": False}), CALL_MAIN]),
    ),
    Case(
        "good-two-functions-in-one-block",
        "Two functions inside one `<tool_call>`: two calls.",
        failure=[14],
        tools=[READ_FILE, NOW],
        upstream=plain(
            lines(
                "<tool_call>",
                "<function=now>",
                "</function>",
                "<function=read_file>",
                "<parameter=path>",
                "src/main.py",
                "</parameter>",
                "</function>",
                "</tool_call>",
            )
        ),
        gets=Outcome(calls=[("now", "{}"), CALL_MAIN]),
    ),
    Case(
        "good-text-between-calls",
        "Sentences before, between and after two calls: all of them are kept, in order.",
        failure=[14],
        tools=[READ_FILE, NOW],
        upstream=plain(lines("First the time.", call("now"), "Now the file.", READ_MAIN, "", "That's all.")),
        gets=Outcome("First the time.\nNow the file.\n\nThat's all.", [("now", "{}"), CALL_MAIN]),
    ),
    Case(
        "good-thinks-first",
        "Reasoning, then a call, then a usage chunk: reasoning and usage go on, the call is converted.",
        tools=[READ_FILE],
        request={"stream_options": {"include_usage": True}},
        upstream=plain(
            Thinks("The file will tell.\n"),
            "\n\n" + READ_MAIN,
            usage={"prompt_tokens": 310, "completion_tokens": 33, "total_tokens": 343},
        ),
        gets=Outcome(
            reasoning="The file will tell.\n",
            calls=[CALL_MAIN],
            usage={"prompt_tokens": 310, "completion_tokens": 33, "total_tokens": 343},
        ),
    ),
    Case(
        "good-no-parameters",
        "A function without parameters: a complete call with the arguments `{}`.",
        tools=[NOW],
        asked="How late is it?",
        upstream=plain("<tool_call>\n<function=now>\n</function>\n</tool_call>"),
        gets=Outcome(calls=[("now", "{}")]),
    ),
    Case(
        "good-indentation",
        "Indentation and a final newline in an edit: kept, only one newline next to each tag goes.",
        failure=[5],
        tools=[EDIT_FILE],
        asked="Return y instead.",
        upstream=plain(call("edit_file", path="a.py", old="    return x\n", new="\n\t return y  \n")),
        gets=Outcome(
            calls=[("edit_file", {"path": "a.py", "old": "    return x\n", "new": "\n\t return y  \n"})]
        ),
    ),
    Case(
        "good-union-types",
        "anyOf, oneOf, allOf, a type list and `$ref`: every value gets the type its schema allows.",
        failure=[6],
        tools=[SEARCH],
        asked="Search for TODO.",
        upstream=plain(
            call("search", pattern="TODO", limit="5", weight="0.5", deep="TRUE", depth="2", after="-1"),
            cut=bursts,
        ),
        gets=Outcome(
            calls=[
                (
                    "search",
                    '{"pattern":"TODO","limit":5,"weight":0.5,"deep":true,"depth":2,"after":-1}',
                )
            ]
        ),
    ),
    Case(
        "good-none-and-null",
        "`None` for a nullable integer is null, `null` for a nullable string too; in plain strings both "
        "are text.",
        failure=[7, 8],
        tools=[PAGE],
        asked="Show the page.",
        upstream=plain(call("page", limit="None", sort="null", text="null", code="007"), cut=bursts),
        gets=Outcome(calls=[("page", '{"limit":null,"sort":null,"text":"null","code":"007"}')]),
    ),
    Case(
        "good-array-of-objects",
        "A list with `false` and `null` as JSON, and one with `False` and `None` as Python has it: both "
        "are arrays.",
        failure=[9],
        tools=[SAVE_ROWS],
        asked="Save the rows.",
        upstream=plain(
            call("save_rows", rows='[{"a": false, "b": null}]', more="[{'a': False, 'b': None}]"),
        ),
        gets=Outcome(
            calls=[("save_rows", {"rows": [{"a": False, "b": None}], "more": [{"a": False, "b": None}]})]
        ),
    ),
    Case(
        "good-all-at-once",
        "Text and two calls with all their parameters in a single delta: nothing is lost.",
        failure=[10],
        tools=[EDIT_FILE, READ_FILE],
        upstream=vllm(
            lines("Both at once.", call("edit_file", path="a", old="b", new="c"), READ_MAIN), cut=whole
        ),
        gets=Outcome("Both at once.", [("edit_file", {"path": "a", "old": "b", "new": "c"}), CALL_MAIN]),
    ),
    Case(
        "good-streamed-arguments",
        "With the policy `arguments: stream` a long value reaches the client while it is written.",
        failure=[15],
        tools=[WRITE_FILE],
        asked="Write a poem.",
        policy={"arguments": "stream"},
        upstream=plain(call("write_file", path="poem.txt", content="Roses are red,\nviolets are blue.\n")),
        gets=Outcome(
            calls=[
                ("write_file", {"path": "poem.txt", "content": "Roses are red,\nviolets are blue.\n"}),
            ]
        ),
    ),
    Case(
        "good-closing-parameter-in-value",
        "`</parameter>` in the middle of a value: data, because no structure follows it.",
        failure=[1],
        tools=[WRITE_FILE],
        asked="Note it down.",
        upstream=plain(call("write_file", path="n.md", content="ends with </parameter> here.")),
        gets=Outcome(
            calls=[("write_file", {"path": "n.md", "content": "ends with </parameter> here."})],
        ),
    ),
    Case(
        "good-closing-tags-in-value",
        "`</function>`, `</tool_call>` and `<parameter=path>` inside a value: data, the value arrives whole.",
        failure=[2],
        tools=[WRITE_FILE],
        asked="Note it down.",
        upstream=plain(
            call("write_file", path="n.md", content="A </function> and a </tool_call>, see <parameter=path>.")
        ),
        gets=Outcome(
            calls=[
                (
                    "write_file",
                    {"path": "n.md", "content": "A </function> and a </tool_call>, see <parameter=path>."},
                )
            ]
        ),
    ),
    Case(
        "good-example-in-value",
        "The file it writes shows a whole call of the same function: that example is data, one call comes "
        "out.",
        failure=[1, 2],
        tools=[WRITE_FILE],
        asked="Document the format.",
        upstream=plain(
            call(
                "write_file",
                path="format.md",
                content=lines("So:", call("write_file", path="x"), "That's it."),
            )
        ),
        gets=Outcome(
            calls=[
                (
                    "write_file",
                    {
                        "path": "format.md",
                        "content": "So:\n<tool_call>\n<function=write_file>\n<parameter=path>\nx\n"
                        "</parameter>\n</function>\n</tool_call>\nThat's it.",
                    },
                )
            ]
        ),
    ),
    Case(
        "good-unicode-escapes",
        "The server writes `\\uXXXX` for Chinese and emoji, and reads are cut inside the escapes: real "
        "characters.",
        failure=[57],
        tools=[BASH],
        asked="Say hello.",
        upstream=vllm(call("bash", command="echo 你好 👋"), cut=every(12), ascii=True),
        reads=slices(61, 150, 33),
        gets=Outcome(calls=[("bash", '{"command":"echo 你好 👋"}')]),
    ),
    Case(
        "good-identical-calls",
        "The same call twice: both go out, each with an id of its own.",
        failure=[60],
        tools=[BASH],
        asked="Toggle it twice.",
        upstream=plain(lines(call("bash", command="toggle"), call("bash", command="toggle"))),
        gets=Outcome(calls=[("bash", {"command": "toggle"}), ("bash", {"command": "toggle"})]),
    ),
    Case(
        "good-said-and-called",
        "The sentence before the call repeats its argument: the sentence is content, the argument only "
        "argument.",
        failure=[60],
        tools=[BASH],
        asked="Which files are there?",
        upstream=plain(lines("I run `ls -la` now.", call("bash", command="ls -la"))),
        gets=Outcome("I run `ls -la` now.", [("bash", {"command": "ls -la"})]),
    ),
    Case(
        "first-call-only",
        "The client sent `parallel_tool_calls: false`: the first call goes out, the second is dropped and "
        "named.",
        tools=[READ_FILE, NOW],
        request={"parallel_tool_calls": False},
        upstream=plain(lines(READ_MAIN, call("now"))),
        gets=Outcome(calls=[CALL_MAIN]),
        findings=["call-after-first"],
    ),
]
