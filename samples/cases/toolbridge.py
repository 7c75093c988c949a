"""toolbridge: roo-xml's calls inside one wrapper, as ToolBridge's prompt teaches them."""

from __future__ import annotations

from samples.cases.case import Case, Outcome
from samples.cases.tools import BASH, LIST_FILES, NOW, READ_FILE, WRITE_FILE
from samples.cases.upstream import bursts, letters, lines, plain, slices, vllm

OPEN, CLOSE = "<toolbridge_calls>", "</toolbridge_calls>"


def call(name: str, **values: str) -> str:
    given = [f"<{key}>{value}</{key}>" for key, value in values.items()]
    return lines(f"<{name}>", *given, f"</{name}>")


def wrapped(*calls: str) -> str:
    return lines(OPEN, *calls, CLOSE)


READ_MAIN = call("read_file", path="src/main.py")
CALL_MAIN = ("read_file", {"path": "src/main.py"})
PAGE = f"<b>A &amp; B</b> &lt;i&gt; </content> and {CLOSE}"
LONG = "".join(f"{number:05} all of this belongs to the file\n" for number in range(300))
HALF = f"{OPEN}\n<write_file>\n<path>a.md</path>\n<content># A"
PROSE = f"The `{OPEN}` tag holds the calls, {CLOSE} ends them. Clear?"

CASES = [
    Case(
        "good-read",
        "A well-formed call after a sentence: the client gets the sentence and one tool call.",
        tools=[READ_FILE],
        upstream=vllm("I'll read it.\n" + wrapped(READ_MAIN), cut=bursts),
        gets=Outcome("I'll read it.", [CALL_MAIN]),
    ),
    Case(
        "good-several-calls",
        "Three calls in one wrapper, typed by their schemas: each goes out with its own arguments.",
        tools=[READ_FILE, NOW, LIST_FILES],
        asked="Look around.",
        upstream=plain(
            wrapped(READ_MAIN, call("now"), call("list_files", path="/tmp", recursive="true")), cut=letters
        ),
        gets=Outcome(calls=[CALL_MAIN, ("now", "{}"), ("list_files", {"path": "/tmp", "recursive": True})]),
    ),
    Case(
        "good-text-around",
        "Text before, between and after two wrappers: all of it is kept, in order.",
        tools=[READ_FILE, NOW],
        upstream=plain(lines("One.", wrapped(call("now")), "Two.", wrapped(READ_MAIN), "", "Three.")),
        gets=Outcome("One.\nTwo.\n\nThree.", [("now", "{}"), CALL_MAIN]),
    ),
    Case(
        "good-tags-in-value",
        "A page with entities, its own closing tag and the wrapper's: the value as it is, streamed.",
        failure=[24, 25],
        tools=[WRITE_FILE],
        asked="Write the page.",
        policy={"arguments": "stream"},
        upstream=plain(wrapped(call("write_file", path="a.html", content=PAGE))),
        gets=Outcome(calls=[("write_file", {"path": "a.html", "content": PAGE})]),
    ),
    Case(
        "good-long-value",
        "A file of more than 10 KB: the call is not forgotten while it is open.",
        failure=[26],
        tools=[WRITE_FILE],
        asked="Write it.",
        upstream=plain(wrapped(call("write_file", path="a.txt", content=f"\n{LONG}\n")), cut=bursts),
        gets=Outcome(calls=[("write_file", {"path": "a.txt", "content": LONG})]),
    ),
    Case(
        "missing-wrapper",
        "No wrapper but its closing tag around a call of an offered tool: a call, nothing is left over.",
        tools=[READ_FILE],
        upstream=plain(f"So.\n{READ_MAIN}\n{CLOSE}"),
        gets=Outcome("So.", [CALL_MAIN]),
    ),
    Case(
        "missing-call-closer",
        "`</read_file>` is missing before the wrapper's end: read as if it were there, with a warning.",
        tools=[READ_FILE],
        upstream=plain(wrapped(READ_MAIN.replace("\n</read_file>", ""))),
        gets=Outcome(calls=[CALL_MAIN]),
        findings=["repaired-call"],
    ),
    Case(
        "doubled-tags",
        "The wrapper's tags stand there twice, in reads of 9 and 14 bytes: one call, nothing is left over.",
        tools=[READ_FILE],
        upstream=plain(wrapped(wrapped(READ_MAIN))),
        reads=slices(9, 14),
        gets=Outcome(calls=[CALL_MAIN]),
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
