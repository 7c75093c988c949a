"""deepseek-dsml: tags that say what is a string, the names of two generations, and other bars."""

from __future__ import annotations

from samples.cases.case import Case, Outcome
from samples.cases.tools import BASH, INTEGER, NOW, READ_FILE, STRING, WRITE_FILE, offer
from samples.cases.upstream import Thinks, letters, lines, plain, vllm, whole

WAIT = offer("wait", "Wait", seconds=INTEGER, note=STRING)


def call(name: str, **values: object) -> str:
    """One call without its wrapper; a string says that it is one."""
    given = [
        f'<｜DSML｜parameter name="{key}" string="{_is_string(value)}">{value}</｜DSML｜parameter>'
        for key, value in values.items()
    ]
    return lines(f'<｜DSML｜invoke name="{name}">', *given, "</｜DSML｜invoke>")


def _is_string(value: object) -> str:
    return "true" if isinstance(value, str) else "false"


def block(*calls: str, name: str = "tool_calls") -> str:
    return lines(f"<｜DSML｜{name}>", *calls, f"</｜DSML｜{name}>")


READ_MAIN = call("read_file", path="src/main.py")
CALL_MAIN = ("read_file", {"path": "src/main.py"})
OTHER_BARS = block(READ_MAIN).replace("｜DSML｜", "||DSML||")
BLANKS = block(READ_MAIN, name="tool_use").replace("｜DSML｜", " | DSML | ")
ABOUT = "A value ends with </｜DSML｜parameter>, always."
HALF = block(call("write_file", path="a.md", content="# A")).partition("# A")[0] + "# A"

CASES = [
    Case(
        "good-read",
        "A well-formed call of V4 after a sentence: the client gets the sentence and one tool call.",
        tools=[READ_FILE],
        upstream=vllm("I'll read it.\n\n" + block(READ_MAIN)),
        gets=Outcome("I'll read it.", [CALL_MAIN]),
    ),
    Case(
        "good-v32",
        "V3.2 calls the wrapper `function_calls`; two calls in one block and one delta: both go out.",
        failure=[36],
        tools=[READ_FILE, NOW],
        upstream=plain(block(call("now"), READ_MAIN, name="function_calls"), cut=whole),
        gets=Outcome(calls=[("now", "{}"), CALL_MAIN]),
    ),
    Case(
        "good-flags",
        '`string="true"` makes 5 a string, `string="false"` a number at the very end: nothing is cut off.',
        failure=[35],
        tools=[WAIT],
        asked="Wait a bit.",
        policy={"arguments": "stream"},
        upstream=plain(block(call("wait", note="5", seconds=123))),
        gets=Outcome(calls=[("wait", {"note": "5", "seconds": 123})]),
    ),
    Case(
        "good-tags-in-value",
        "The file that it writes is about these very tags, letter by letter: all of it is the value.",
        failure=[37],
        tools=[WRITE_FILE],
        asked="Document it.",
        upstream=plain(block(call("write_file", path="a.md", content=ABOUT)), cut=letters),
        gets=Outcome(calls=[("write_file", {"path": "a.md", "content": ABOUT})]),
    ),
    Case(
        "good-other-bars",
        "`<||DSML||tool_calls>`, as some servers write the bars: the same call.",
        failure=[37],
        tools=[READ_FILE],
        upstream=plain(OTHER_BARS),
        gets=Outcome(calls=[CALL_MAIN]),
    ),
    Case(
        "good-blanks",
        "`< | DSML | tool_use>`, with blanks and another name: the same call.",
        failure=[37],
        tools=[READ_FILE],
        upstream=plain(BLANKS),
        gets=Outcome(calls=[CALL_MAIN]),
    ),
    Case(
        "good-json-body",
        "One JSON object inside `arguments` instead of parameters: the object that is meant goes out.",
        tools=[BASH],
        asked="List the files.",
        upstream=plain(
            block('<｜DSML｜invoke name="bash">{"arguments": {"command": "ls"}}</｜DSML｜invoke>')
        ),
        gets=Outcome(calls=[("bash", '{"command": "ls"}')]),
    ),
    Case(
        "call-in-reasoning",
        "A call that begins before the reasoning is over: it is found and goes out.",
        tools=[READ_FILE],
        upstream=plain(Thinks("The file will tell. " + block(READ_MAIN))),
        gets=Outcome(reasoning="The file will tell.", calls=[CALL_MAIN]),
    ),
    Case(
        "missing-wrapper",
        "No wrapper around a call of an offered tool: still a call.",
        tools=[READ_FILE],
        upstream=plain(f"So.\n{READ_MAIN}"),
        gets=Outcome("So.", [CALL_MAIN]),
    ),
    Case(
        "missing-call-closer",
        "The call's closing tag is missing before the wrapper's: read as if it were there, with a warning.",
        tools=[READ_FILE],
        upstream=plain(block(READ_MAIN.replace("\n</｜DSML｜invoke>", ""))),
        gets=Outcome(calls=[CALL_MAIN]),
        findings=["repaired-call"],
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
        "prose-with-bars",
        "Comparisons and bars in a sentence: plain text, held back no longer than needed.",
        tools=[BASH],
        asked="How do you call tools?",
        upstream=plain("If 1 < 2, write <｜DSML｜ and a name. a <| b |> c <"),
        gets=Outcome("If 1 < 2, write <｜DSML｜ and a name. a <| b |> c <"),
    ),
]
