"""pythonic: lists of calls as Python writes them, in the markers of Llama 4, LFM2 and Olmo, or in none."""

from __future__ import annotations

from samples.cases.case import Case, Outcome
from samples.cases.tools import BASH, NOW, READ_FILE, WRITE_FILE, offer
from samples.cases.upstream import JSON, bursts, every, lines, plain, vllm, whole

ASKED = "Which files are there?"
LS = "bash(command='ls -la')"
LS_CALL: tuple[str, JSON | str] = ("bash", '{"command":"ls -la"}')
SAVE = offer("save", "Save", ["value"], value={}, other={}, more={}, flag={}, note={})

CASES = [
    Case(
        "good-call",
        "A list with one call on a line of its own: one tool call, its arguments as JSON.",
        tools=[BASH],
        asked=ASKED,
        upstream=vllm(f"I'll list them.\n\n[{LS}]", cut=bursts),
        gets=Outcome("I'll list them.", [LS_CALL]),
    ),
    Case(
        "good-two-calls",
        "A list with two calls, one of them without arguments: both go out.",
        tools=[BASH, NOW],
        asked="Look around.",
        upstream=plain(f"[{LS}, now()]"),
        gets=Outcome(calls=[LS_CALL, ("now", "{}")]),
    ),
    Case(
        "good-values",
        "Negative numbers, a tuple, None, True, a dict, JSON's words and a keyword as a name: all are JSON.",
        failure=[53],
        tools=[offer("save", "Save", **{key: {} for key in ("value", "other", "more", "flag", "from")})],
        asked="Save it.",
        upstream=plain(
            "[save(value=(-1, 2.5, 'x'), other={'a': None}, more=[true, null], flag=True, from='b')]"
        ),
        gets=Outcome(
            calls=[
                (
                    "save",
                    '{"value":[-1,2.5,"x"],"other":{"a":null},"more":[true, null],"flag":true,"from":"b"}',
                )
            ]
        ),
    ),
    Case(
        "good-brackets-in-string",
        "Brackets, parentheses, quotes and a raw line break inside a string: all of it is the value.",
        failure=[53],
        tools=[WRITE_FILE],
        asked="Write it down.",
        upstream=plain("[write_file(path='a.md', content='x] y) \\'q\\' \"z\"\nnext')]", cut=every(4)),
        gets=Outcome(calls=[("write_file", {"path": "a.md", "content": "x] y) 'q' \"z\"\nnext"})]),
    ),
    Case(
        "good-long-string",
        "A string between three quotation marks: its line breaks and quotes are data.",
        tools=[WRITE_FILE],
        asked="Write it down.",
        upstream=plain('[write_file(path="a.py", content="""def f():\n    return "a"\n""")]', cut=bursts),
        gets=Outcome(calls=[("write_file", {"path": "a.py", "content": 'def f():\n    return "a"\n'})]),
    ),
    Case(
        "good-text-around",
        "Text before, between and after two lists: all of it is kept as content.",
        tools=[BASH],
        asked=ASKED,
        upstream=plain(lines("First.", f"[{LS}]", "Then.", f"[{LS}]", "Done."), cut=bursts),
        gets=Outcome("First.\nThen.\nDone.", [LS_CALL, LS_CALL]),
    ),
    Case(
        "good-llama4",
        "The list between the markers of Llama 4: they vanish.",
        tools=[BASH],
        asked=ASKED,
        upstream=plain(f"<|python_start|>[{LS}]<|python_end|>"),
        gets=Outcome(calls=[LS_CALL]),
    ),
    Case(
        "good-lfm2",
        "The list between the markers of LFM2, and text after it: the text is kept.",
        tools=[BASH],
        asked=ASKED,
        upstream=plain(f"<|tool_call_start|>[{LS}]<|tool_call_end|>Listing them.", cut=whole),
        gets=Outcome("Listing them.", [LS_CALL]),
    ),
    Case(
        "good-olmo",
        "One call a line between `<function_calls>` and its closing tag, without a list: each is a call.",
        tools=[BASH, NOW],
        asked=ASKED,
        upstream=plain(lines("<function_calls>", LS, "now()", "</function_calls>")),
        gets=Outcome(calls=[LS_CALL, ("now", "{}")]),
    ),
    Case(
        "markers-in-pieces",
        "Deltas of 3 characters cut every marker and every name in pieces: no piece leaks.",
        tools=[BASH],
        asked=ASKED,
        upstream=plain(f"See [1] and a < b.\n<|tool_call_start|>[{LS}]<|tool_call_end|>", cut=every(3)),
        gets=Outcome("See [1] and a < b.", [LS_CALL]),
    ),
    Case(
        "doubled-markers",
        "Every marker stands there twice: one call, and none of the markers is left over.",
        tools=[BASH],
        asked=ASKED,
        upstream=plain(f"<|python_start|><|python_start|>[{LS}]<|python_end|><|python_end|>"),
        gets=Outcome(calls=[LS_CALL]),
    ),
    Case(
        "code-in-prose",
        "Lists and calls that are a program or an example: text, all of it.",
        failure=[58],
        tools=[READ_FILE],
        asked="How do I read files?",
        upstream=plain(
            lines("[read_file(path=p) for p in x] and [read_file] or", "```", "[read_file(path='a')]", "```")
        ),
        gets=Outcome(
            lines("[read_file(path=p) for p in x] and [read_file] or", "```", "[read_file(path='a')]", "```")
        ),
    ),
    Case(
        "not-a-literal",
        "A value that is the name of a variable: sent as a string, with an error.",
        tools=[SAVE],
        asked="Save it.",
        upstream=plain("[save(value=result)]"),
        gets=Outcome(calls=[("save", '{"value":"result"}')]),
        findings=["value-not-of-type"],
    ),
    Case(
        "argument-twice",
        "One argument is given twice: the first value counts, with a warning.",
        tools=[SAVE],
        asked="Save it.",
        upstream=plain("[save(value=1, value=2)]"),
        gets=Outcome(calls=[("save", '{"value":1}')]),
        findings=["duplicate-parameter"],
    ),
    Case(
        "missing-bracket",
        "The answer ends after the parenthesis: the call is whole, the bracket is read as if it were there.",
        tools=[BASH],
        asked=ASKED,
        upstream=plain(f"[{LS}"),
        gets=Outcome(calls=[LS_CALL]),
        findings=["repaired-call"],
    ),
    Case(
        "truncated-arguments",
        "max_tokens ends the answer inside a string: all of it is text, and the reason stays `length`.",
        tools=[BASH],
        asked=ASKED,
        upstream=plain("[bash(command='ls -l", finish="length"),
        gets=Outcome("[bash(command='ls -l", finish="length"),
        findings=["truncated-call"],
    ),
    Case(
        "unknown-tool",
        "A tool that was not offered, between markers: the call goes out all the same, with a warning.",
        tools=[READ_FILE],
        asked=ASKED,
        upstream=plain(f"<|python_start|>[{LS}]<|python_end|>"),
        gets=Outcome(calls=[LS_CALL]),
        findings=["unknown-tool"],
    ),
]
