"""roo-xml, trouble: what models really write, and what becomes of it."""

from __future__ import annotations

from samples.cases.case import Case, Outcome
from samples.cases.tools import EXECUTE, LIST_FILES, READ_FILE, SKILL, WRITE_TO_FILE
from samples.cases.upstream import Thinks, bursts, letters, lines, plain, together, vllm

UNCLOSED = lines("I'll read the file.", "", "<read_file>", "<path>src/main.py", "</read_file>")
READ_MAIN = lines("<read_file>", "<path>src/main.py</path>", "</read_file>")
CALL_MAIN = ("read_file", {"path": "src/main.py"})
TOO_LONG = lines(
    "<write_to_file>",
    "<path>loop.txt</path>",
    "<content>",
    "again and again and again and again",
    "</content>",
    "</write_to_file>",
)

CASES = [
    Case(
        "unclosed-parameter",
        "`</path>` is missing: the whole block stays text, the answer ends with `stop`, and a finding says "
        "where.",
        tools=[READ_FILE],
        upstream=vllm(UNCLOSED),
        gets=Outcome(UNCLOSED),
        findings=["unclosed-parameter"],
    ),
    Case(
        "unclosed-parameter-repaired",
        "`</path>` is missing, with the policy `malformed: repair`: it is put in, and the call goes out.",
        tools=[READ_FILE],
        policy={"malformed": "repair"},
        upstream=plain(UNCLOSED),
        gets=Outcome("I'll read the file.", [CALL_MAIN]),
        findings=["repaired-parameter"],
    ),
    Case(
        "unclosed-parameter-then-good",
        "A call without `</path>`, then a good one: the first block stays text, the second becomes a call.",
        tools=[READ_FILE],
        upstream=plain(lines("<read_file>", "<path>a.py", "</read_file>", "", READ_MAIN)),
        gets=Outcome("<read_file>\n<path>a.py\n</read_file>", [CALL_MAIN]),
        findings=["unclosed-parameter"],
    ),
    Case(
        "unclosed-call",
        "The answer stalls, then ends before `</read_file>`: all is text, and the proxy sent a heartbeat.",
        tools=[READ_FILE],
        upstream=plain("Let me look.\n\n<read_file>\n<path>src/main.py</path>\n"),
        gets=Outcome("Let me look.\n\n<read_file>\n<path>src/main.py</path>\n"),
        findings=["truncated-call"],
        stalls=7,
    ),
    Case(
        "cut-by-length",
        "max_tokens ends the answer inside a value: all of it is text, and the reason stays `length`.",
        failure=[56],
        tools=[WRITE_TO_FILE],
        asked="Write the story.",
        upstream=plain("<write_to_file>\n<path>story.md</path>\n<content>\nOnce upon", finish="length"),
        gets=Outcome("<write_to_file>\n<path>story.md</path>\n<content>\nOnce upon", finish="length"),
        findings=["truncated-call"],
    ),
    Case(
        "cut-by-length-after-call",
        "A complete call, then text until max_tokens: the call goes out, and the reason is still `length`.",
        failure=[56],
        tools=[READ_FILE],
        upstream=plain(f"{READ_MAIN}\n\nThe file will", finish="length"),
        gets=Outcome(calls=[CALL_MAIN], finish="length"),
        findings=["text-after-call", "cut-after-call"],
    ),
    Case(
        "several-calls",
        "Three calls although the rule is one: the first goes out, the others are dropped and named.",
        tools=[READ_FILE, LIST_FILES],
        asked="Look around.",
        upstream=plain(
            lines(
                READ_MAIN,
                "",
                "<list_files>",
                "<path>src</path>",
                "<recursive>true</recursive>",
                "</list_files>",
                "<read_file>",
                "<path>b.py</path>",
                "</read_file>",
            )
        ),
        gets=Outcome(calls=[CALL_MAIN]),
        findings=["call-after-first", "call-after-first"],
    ),
    Case(
        "several-calls-wanted",
        "Two calls with the policy `calls: all`: both go out, with a number and an id of their own.",
        failure=[60],
        tools=[READ_FILE],
        policy={"calls": "all"},
        upstream=plain(lines(READ_MAIN, "", READ_MAIN)),
        gets=Outcome(calls=[CALL_MAIN, CALL_MAIN]),
    ),
    Case(
        "invented-result",
        "The model goes on and invents the result of its call: the call goes out, the invention is dropped.",
        tools=[READ_FILE],
        upstream=plain(
            lines("Reading it.", READ_MAIN, "", "[read_file] Result:", "print('hi')", "", "It prints hi.")
        ),
        gets=Outcome("Reading it.", [CALL_MAIN]),
        findings=["text-after-call"],
    ),
    Case(
        "text-after-call-kept",
        "Text behind a call with the policy `after_call: keep`: it reaches the client as content.",
        tools=[READ_FILE],
        policy={"after_call": "keep"},
        upstream=plain(lines("Reading it.", READ_MAIN, "Back soon.")),
        gets=Outcome("Reading it.\nBack soon.", [CALL_MAIN]),
    ),
    Case(
        "unknown-tool",
        "A tool that was not offered: the call goes out all the same, its values as strings, with a warning.",
        tools=[READ_FILE],
        asked="Run the unit tests.",
        upstream=plain(
            lines(
                "<run_tests>",
                "<suite>unit</suite>",
                "<jobs>4</jobs>",
                "</run_tests>",
            )
        ),
        gets=Outcome(calls=[("run_tests", {"suite": "unit", "jobs": "4"})]),
        findings=["unknown-tool"],
    ),
    Case(
        "html-is-no-call",
        "An HTML list in the prose looks like a call of an unknown tool: it is HTML, so it stays text.",
        tools=[READ_FILE],
        asked="Show me the list in HTML.",
        upstream=plain(lines("Here:", "<ul>", "<li>one</li>", "</ul>", "Enough?")),
        gets=Outcome("Here:\n<ul>\n<li>one</li>\n</ul>\nEnough?"),
    ),
    Case(
        "xml-is-no-call",
        "XML in the prose with text between its elements: no call of any tool, so it stays text.",
        tools=[READ_FILE],
        asked="Show me the config.",
        upstream=plain(lines("Here:", "<config>", "<name>demo</name>", "and so on", "</config>", "Enough?")),
        gets=Outcome("Here:\n<config>\n<name>demo</name>\nand so on\n</config>\nEnough?"),
    ),
    Case(
        "prose-names-tag",
        "Tags named in a sentence, once even at the start of a line: text, and nothing is held back for "
        "long.",
        failure=[13],
        tools=[READ_FILE],
        asked="How do you read files?",
        upstream=plain(
            lines("I use the <read_file> tag with a <path>:", "<read_file> is all it takes, if a<b.", "<read")
        ),
        gets=Outcome("I use the <read_file> tag with a <path>:\n<read_file> is all it takes, if a<b.\n<read"),
    ),
    Case(
        "fenced-example",
        "A code fence shows a call of a tool nobody offered: an example, so all of it stays text.",
        failure=[58],
        tools=[READ_FILE],
        asked="What do calls look like?",
        upstream=plain(
            lines("So:", "```xml", "<my_tool>", "<arg>1</arg>", "</my_tool>", "```", "Anything else?")
        ),
        gets=Outcome("So:\n```xml\n<my_tool>\n<arg>1</arg>\n</my_tool>\n```\nAnything else?"),
    ),
    Case(
        "fenced-call",
        "The model puts its real call of an offered tool into a code fence: it is a call, the fence stays "
        "text.",
        failure=[58],
        tools=[READ_FILE],
        upstream=plain(lines("Reading it:", "", "```xml", READ_MAIN, "```")),
        gets=Outcome("Reading it:\n\n```xml", [CALL_MAIN]),
        findings=["text-after-call"],
    ),
    Case(
        "call-in-reasoning",
        "A call inside the reasoning only: by default roo-xml does not look there, so it stays reasoning.",
        failure=[27],
        tools=[READ_FILE],
        upstream=plain(Thinks(f"I could do this:\n{READ_MAIN}\n"), "It starts the server.", cut=bursts),
        gets=Outcome("It starts the server.", reasoning=f"I could do this:\n{READ_MAIN}\n"),
    ),
    Case(
        "call-in-reasoning-parsed",
        "A call inside the reasoning, with the policy `channels: content, reasoning`: it is found and goes "
        "out.",
        failure=[27],
        tools=[READ_FILE],
        policy={"channels": ["content", "reasoning"]},
        upstream=plain(Thinks(f"I'll do this:\n{READ_MAIN}\n")),
        gets=Outcome(reasoning="I'll do this:", calls=[CALL_MAIN]),
    ),
    Case(
        "call-in-think-block",
        "A call inside a `<think>` block of the content is only thought of and stays text; "
        "the one behind it is made.",
        failure=[27],
        tools=[READ_FILE],
        upstream=plain(f"<think>\nI could write\n{READ_MAIN}\n</think>\n{READ_MAIN}"),
        gets=Outcome(f"<think>\nI could write\n{READ_MAIN}\n</think>", [CALL_MAIN]),
        findings=["call-in-thought"],
    ),
    Case(
        "example-never-closed",
        "The value opens an example of its own call and never ends it: the first possible end is taken.",
        tools=[WRITE_TO_FILE],
        asked="Document the tag.",
        upstream=plain(
            lines(
                "<write_to_file>",
                "<path>tag.md</path>",
                "<content>",
                "A call begins with",
                "<write_to_file>",
                "and so on.",
                "</content>",
                "</write_to_file>",
            )
        ),
        gets=Outcome(
            calls=[
                (
                    "write_to_file",
                    {"path": "tag.md", "content": "A call begins with\n<write_to_file>\nand so on."},
                )
            ]
        ),
        findings=["ambiguous-end"],
    ),
    Case(
        "same-parameter-twice",
        "`<path>` given twice: the first value counts, with a warning.",
        tools=[READ_FILE],
        upstream=plain(lines("<read_file>", "<path>a.py</path>", "<path>b.py</path>", "</read_file>")),
        gets=Outcome(calls=[("read_file", {"path": "a.py"})]),
        findings=["duplicate-parameter"],
    ),
    Case(
        "own-tag-in-value",
        "A value that has its own tags in the middle of text: data, as it stands.",
        tools=[READ_FILE],
        upstream=plain(
            lines("<read_file>", "<path>a</path>", "<path>b</path> and more</path>", "</read_file>")
        ),
        gets=Outcome(calls=[("read_file", {"path": "a</path>\n<path>b</path> and more"})]),
    ),
    Case(
        "call-in-a-sentence",
        "A call after words on the same line: an offered tool's tag counts wherever it stands.",
        tools=[READ_FILE],
        upstream=plain("Let me read it. <read_file><path>src/main.py</path></read_file>"),
        gets=Outcome("Let me read it.", calls=[CALL_MAIN]),
    ),
    Case(
        "call-indented-in-a-list",
        "A call after the mark of a list, its children indented, with blanks before the end of its tag.",
        tools=[READ_FILE],
        upstream=plain(
            lines("First:", "1. <read_file >", "     <path>src/main.py</path>", "   </read_file>")
        ),
        gets=Outcome("First:\n1.", calls=[CALL_MAIN]),
    ),
    Case(
        "call-in-backticks",
        "A call between backticks is quoted, not made: text, and nobody is told.",
        tools=[READ_FILE],
        upstream=plain("Write `<read_file><path>src/main.py</path></read_file>` to read a file."),
        gets=Outcome("Write `<read_file><path>src/main.py</path></read_file>` to read a file."),
    ),
    Case(
        "no-parameter-tag",
        "The value stands in the call without a tag of its own: text, with the reason.",
        tools=[READ_FILE],
        upstream=plain(lines("<read_file>", "src/main.py", "</read_file>")),
        gets=Outcome("<read_file>\nsrc/main.py\n</read_file>"),
        findings=["malformed-call"],
    ),
    Case(
        "comment-before-parameter",
        "A comment stands where the first parameter should: text, with the reason.",
        tools=[READ_FILE],
        upstream=plain(
            lines("<read_file>", "<!-- the main one -->", "<path>src/main.py</path>", "</read_file>")
        ),
        gets=Outcome("<read_file>\n<!-- the main one -->\n<path>src/main.py</path>\n</read_file>"),
        findings=["malformed-call"],
    ),
    Case(
        "attributes",
        "The parameter is an attribute of the tool's tag: text, with the reason.",
        tools=[READ_FILE],
        upstream=plain('<read_file path="src/main.py"/>'),
        gets=Outcome('<read_file path="src/main.py"/>'),
        findings=["malformed-call"],
    ),
    Case(
        "needs-a-parameter",
        "A call without the parameter that it needs is text, with the reason.",
        tools=[READ_FILE],
        upstream=plain("<read_file></read_file>"),
        gets=Outcome("<read_file></read_file>"),
        findings=["malformed-call"],
    ),
    Case(
        "missing-parameter",
        "A call that lacks one of the parameters it needs goes out as it is, and is not a good one.",
        tools=[WRITE_TO_FILE],
        asked="Write the file.",
        upstream=plain(lines("<write_to_file>", "<path>a.py</path>", "</write_to_file>")),
        gets=Outcome(calls=[("write_to_file", {"path": "a.py"})]),
        findings=["missing-parameter"],
    ),
    Case(
        "parameter-named-like-its-tool",
        "A parameter that has its tool's own name: a call like any other.",
        tools=[SKILL],
        asked="Load the skill for PDFs.",
        upstream=plain(lines("<skill>", "<skill>pdf</skill>", "</skill>")),
        gets=Outcome(calls=[("skill", {"skill": "pdf"})]),
    ),
    Case(
        "value-of-wrong-type",
        "The timeout should be a number and is the word `soon`: sent as a string, with a warning.",
        failure=[16],
        tools=[EXECUTE],
        asked="Run make.",
        upstream=plain(
            lines(
                "<execute_command>",
                "<command>make</command>",
                "<timeout>soon</timeout>",
                "</execute_command>",
            )
        ),
        gets=Outcome(calls=[("execute_command", {"command": "make", "timeout": "soon"})]),
        findings=["value-not-of-type"],
    ),
    Case(
        "call-too-long",
        "A call beyond the policy's 80 bytes (`max_call_bytes`): it is turned back into text.",
        failure=[26],
        tools=[WRITE_TO_FILE],
        asked="Fill the file.",
        policy={"max_call_bytes": 80},
        upstream=plain(TOO_LONG),
        gets=Outcome(TOO_LONG),
        findings=["call-too-long"],
    ),
    Case(
        "letter-by-letter",
        "Every delta is one character, four events a read: tags cut everywhere, and still one call.",
        failure=[23, 59],
        tools=[READ_FILE],
        upstream=plain(f"A <b or\n{READ_MAIN}", cut=letters),
        reads=together(4),
        gets=Outcome("A <b or", [CALL_MAIN]),
    ),
]
