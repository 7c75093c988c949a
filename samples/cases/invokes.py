"""minimax-m2 and functions-invoke: the same calls in two wrappers."""

from __future__ import annotations

from samples.cases.case import Case, Outcome
from samples.cases.tools import BASH, EDIT_FILE, NOW, READ_FILE, STRING, WRITE_FILE, offer
from samples.cases.upstream import Thinks, bursts, letters, lines, plain, slices, vllm, whole

FIND = offer(
    "find",
    "Find files",
    ["like"],
    like={"anyOf": [STRING, {"type": "null"}]},
    depth={"type": "integer"},
    kinds={"type": "array", "items": STRING},
)
CALL_MAIN = ("read_file", {"path": "src/main.py"})


def call(name: str, **values: str) -> str:
    """One call as the prompts teach it, without its wrapper."""
    given = [f'<parameter name="{key}">{value}</parameter>' for key, value in values.items()]
    return lines(f'<invoke name="{name}">', *given, "</invoke>")


READ_MAIN = call("read_file", path="src/main.py")
NAMELESS = '<invoke name="read_file">\n<parameter path>src/main.py</parameter>\n</invoke>'
ABOUT = "A value ends with </parameter>, a call with </invoke>."


def wrapped(wrapper: str, *calls: str) -> str:
    return lines(f"<{wrapper}>", *calls, f"</{wrapper}>")


def shared(wrapper: str) -> list[Case]:
    """What both dialects have."""
    half = wrapped(wrapper, call("write_file", path="a.md", content="# A")).partition("# A")[0] + "# A"
    prose = f'The `<{wrapper}>` tag holds calls such as <invoke name="NAME">. Clear?'
    bad, good = wrapped(wrapper, NAMELESS), wrapped(wrapper, READ_MAIN)
    return [
        Case(
            "good-read",
            "A well-formed call after a sentence: the client gets the sentence and one tool call.",
            tools=[READ_FILE],
            upstream=vllm("I'll read it.\n" + good, cut=bursts),
            gets=Outcome("I'll read it.", [CALL_MAIN]),
        ),
        Case(
            "good-several-calls",
            "Three calls in one wrapper, two of the same tool: each has its own arguments and its own id.",
            failure=[45],
            tools=[READ_FILE, NOW],
            upstream=plain(
                wrapped(wrapper, READ_MAIN, call("now"), call("read_file", path="b.py")), cut=letters
            ),
            gets=Outcome(calls=[CALL_MAIN, ("now", "{}"), ("read_file", {"path": "b.py"})]),
        ),
        Case(
            "good-text-around",
            "Text before, between and after two blocks of calls: all of it is kept, in order.",
            tools=[READ_FILE, NOW],
            upstream=plain(lines("One.", wrapped(wrapper, call("now")), "Two.", good, "", "Three.")),
            gets=Outcome("One.\nTwo.\n\nThree.", [("now", "{}"), CALL_MAIN]),
        ),
        Case(
            "good-typed-values",
            "A string or null, an integer and an array: typed by the schema, all in one delta.",
            failure=[10, 44],
            tools=[FIND],
            asked="Where is it?",
            upstream=plain(
                wrapped(wrapper, call("find", like="hi", depth="3", kinds='["a", "b"]')), cut=whole
            ),
            gets=Outcome(calls=[("find", '{"like":"hi","depth":3,"kinds":["a", "b"]}')]),
        ),
        Case(
            "good-values-as-they-are",
            "Indentation and newlines at both ends of a value: kept, because the template adds none.",
            tools=[EDIT_FILE],
            asked="Return y instead.",
            upstream=plain(
                wrapped(wrapper, call("edit_file", path="a.py", old="    return x\n", new="\ny  "))
            ),
            gets=Outcome(calls=[("edit_file", {"path": "a.py", "old": "    return x\n", "new": "\ny  "})]),
        ),
        Case(
            "good-tags-in-value",
            "The file that it writes is about these very tags: all of it is the value, streamed as it comes.",
            tools=[WRITE_FILE],
            asked="Document it.",
            policy={"arguments": "stream"},
            upstream=plain(
                wrapped(wrapper, call("write_file", path="a.md", content=f"{ABOUT} </{wrapper}>?"))
            ),
            gets=Outcome(calls=[("write_file", {"path": "a.md", "content": f"{ABOUT} </{wrapper}>?"})]),
        ),
        Case(
            "good-quotation-marks",
            "Names in single quotation marks, in none, and with blanks around: read as the others are.",
            tools=[WRITE_FILE],
            asked="Write hi.",
            upstream=plain(
                wrapped(
                    wrapper,
                    "<invoke name='write_file'>",
                    "<parameter name=path>hi.txt</parameter>",
                    '<parameter name = "content" >hi</parameter>',
                    "</invoke>",
                )
            ),
            gets=Outcome(calls=[("write_file", {"path": "hi.txt", "content": "hi"})]),
        ),
        Case(
            "good-json-body",
            "One JSON object instead of parameters, a closing tag in it: the arguments as they are written.",
            tools=[BASH],
            asked="Echo it.",
            upstream=plain(
                wrapped(wrapper, '<invoke name="bash">\n{"command": "echo </invoke>"}\n</invoke>')
            ),
            gets=Outcome(calls=[("bash", '{"command": "echo </invoke>"}')]),
        ),
        Case(
            "missing-wrapper",
            "No wrapper but its closing tag around a call of an offered tool: a call, nothing is left over.",
            tools=[READ_FILE],
            upstream=plain(f"So.\n{READ_MAIN}\n</{wrapper}>"),
            gets=Outcome("So.", [CALL_MAIN]),
        ),
        Case(
            "missing-parameter-closer",
            "`</parameter>` is missing before the next parameter, in the middle of a line: two parameters.",
            tools=[WRITE_FILE],
            asked="Write hi.",
            upstream=plain(
                wrapped(
                    wrapper, call("write_file", path="hi.txt", content="hi").replace("</parameter>\n", "", 1)
                )
            ),
            gets=Outcome(calls=[("write_file", {"path": "hi.txt", "content": "hi"})]),
            findings=["repaired-parameter"],
        ),
        Case(
            "missing-call-closer",
            "`</invoke>` is missing before the wrapper's end: read as if it were there, with a warning.",
            tools=[READ_FILE],
            upstream=plain(wrapped(wrapper, READ_MAIN.replace("\n</invoke>", ""))),
            gets=Outcome(calls=[CALL_MAIN]),
            findings=["repaired-call"],
        ),
        Case(
            "doubled-tags",
            "The wrapper's tags and the call's closing tag are there twice: one call, nothing is left over.",
            tools=[READ_FILE],
            upstream=plain(wrapped(wrapper, f"<{wrapper}>", f"{READ_MAIN}</invoke>", f"</{wrapper}>")),
            reads=slices(13, 9),
            gets=Outcome(calls=[CALL_MAIN]),
        ),
        Case(
            "one-bad-one-good",
            "A parameter without a name, then a good call: the bad block is text, the good one a call.",
            failure=[46],
            tools=[READ_FILE],
            upstream=plain(lines(bad, good)),
            gets=Outcome(bad, [CALL_MAIN]),
            findings=["malformed-call"],
        ),
        Case(
            "cut-by-length",
            "max_tokens ends the answer inside a value: all of it is text, and the reason stays `length`.",
            tools=[WRITE_FILE],
            asked="Write a.md.",
            upstream=plain(half, finish="length"),
            gets=Outcome(half, finish="length"),
            findings=["truncated-call"],
        ),
        Case(
            "prose-names-tag",
            "A sentence names the tags: plain text, and the rest of the answer arrives, too.",
            tools=[BASH],
            asked="How do you call tools?",
            upstream=plain(prose),
            gets=Outcome(prose),
        ),
    ]


MINIMAX_M2 = [
    *shared("minimax:tool_call"),
    Case(
        "call-in-reasoning",
        "A call inside the reasoning, which the server parted from the answer: it is found and goes out.",
        tools=[READ_FILE],
        upstream=plain(Thinks("The file will tell. " + wrapped("minimax:tool_call", READ_MAIN))),
        gets=Outcome(reasoning="The file will tell.", calls=[CALL_MAIN]),
    ),
]
FUNCTIONS_INVOKE = [
    *shared("function_calls"),
    Case(
        "good-flags",
        '`string="true"` and `string="false"`, as DeepSeek writes them: they say what is a string.',
        tools=[offer("set", "Set a value", ["key"], key=STRING, value={})],
        asked="Set it.",
        upstream=plain(
            wrapped(
                "function_calls",
                '<invoke name="set">',
                '<parameter name="key" string="true">5</parameter>',
                '<parameter name="value" string="false">5</parameter>',
                "</invoke>",
            )
        ),
        gets=Outcome(calls=[("set", {"key": "5", "value": 5})]),
    ),
]
