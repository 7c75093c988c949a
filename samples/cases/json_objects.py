"""Calls that are JSON objects with a name and arguments, which several dialects write between own markers."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace

from samples.cases.case import Case, Outcome
from samples.cases.tools import BASH, NOW, READ_FILE, WRITE_FILE, offer
from samples.cases.upstream import JSON, bursts, every, lines, plain, slices, vllm, whole

ASKED = "Which files are there?"
LS = '{"command": "ls -la"}'
LS_CALL: tuple[str, JSON | str] = ("bash", LS)
# The model's own JSON text: blanks, escapes and all.
ANYTHING = '{ "value": [12345678901234567890123, -0.50, 1e3, true, null, "\\u4f60 好 \\"q\\"\\n", {"a":{}}] }'


@dataclass(frozen=True, slots=True)
class Form:
    """How a dialect writes calls: what stands around them, several in one message, and one of them."""

    open: str
    close: str
    key: str
    calls: Callable[..., str]
    header: Callable[[str], str] | None = None  # the name, where it stands before its arguments

    def call(self, name: str, arguments: str) -> str:
        if self.header is not None:
            return f"{self.header(name)}{arguments}"
        return f'{{"name": "{name}", "{self.key}": {arguments}}}'

    def one(self, name: str, arguments: str) -> str:
        return self.calls(self.call(name, arguments))

    @property
    def ls(self) -> str:
        return self.one("bash", LS)


def good(form: Form) -> Iterator[Case]:
    marks = json.dumps(form.open + form.close, ensure_ascii=False)[1:-1]
    yield Case(
        "good-call",
        "A call after a sentence: one tool call, its JSON text as the model wrote it.",
        tools=[BASH],
        asked=ASKED,
        upstream=vllm(f"I'll list them.\n{form.ls}", cut=bursts),
        gets=Outcome("I'll list them.", [LS_CALL]),
    )
    yield Case(
        "good-values",
        "Every kind of JSON value, blanks, escapes and a huge integer: the JSON text goes on byte for byte.",
        failure=[32, 57],
        tools=[offer("save", "Save", value={})],
        asked="Save it.",
        upstream=plain(form.one("save", ANYTHING), cut=every(5)),
        gets=Outcome(calls=[("save", ANYTHING)]),
    )
    yield Case(
        "good-two-calls",
        "Two calls, the same one twice, and nothing else: both go out, each with an id of its own.",
        tools=[BASH, READ_FILE],
        asked="Look around.",
        upstream=plain(form.calls(form.call("bash", LS), form.call("bash", LS))),
        gets=Outcome(calls=[LS_CALL, LS_CALL]),
    )
    yield Case(
        "good-no-arguments",
        f"`{form.key}` that are `{{}}`, null, or not there at all: the arguments are `{{}}` each time.",
        failure=[30],
        tools=[NOW],
        asked="How late is it?",
        upstream=plain(
            form.calls(form.call("now", "{}"), form.call("now", "null"), *_without(form, '{"name": "now"}'))
        ),
        gets=Outcome(calls=[("now", "{}")] * (3 if form.open else 2)),
    )
    yield Case(
        "good-text-around",
        "Text before, between and after two calls: all of it is kept as content.",
        failure=[34],
        tools=[BASH],
        asked=ASKED,
        upstream=plain(lines("First.", form.ls, "Then.", form.ls, "Done."), cut=bursts),
        gets=Outcome("First.\nThen.\nDone.", [LS_CALL, LS_CALL]),
    )
    yield Case(
        "good-all-at-once",
        "Text, two calls and more text in a single delta: taken apart, nothing is lost.",
        failure=[48],
        tools=[BASH],
        asked=ASKED,
        upstream=plain(
            f"Before.\n{form.calls(form.call('bash', LS), form.call('bash', LS))}\nAfter.", cut=whole
        ),
        gets=Outcome("Before.\nAfter.", [LS_CALL, LS_CALL]),
    )
    text = f'{{"path": "a.md", "content": "# {marks}\\n```json\\n{{\\"name\\": 1}}]}}\\n```\\n"}}'
    yield Case(
        "good-markers-in-string",
        "The file it writes shows the markers, brackets and quotes: inside a JSON string all of it is data.",
        failure=[29],
        tools=[WRITE_FILE],
        asked="Write down how you call tools.",
        upstream=plain(form.one("write_file", text), cut=bursts),
        gets=Outcome(calls=[("write_file", text)]),
    )
    yield Case(
        "good-name-last",
        "The arguments come before the name, and speak of a name themselves: the call's own one counts.",
        failure=[31],
        tools=[BASH],
        asked=ASKED,
        upstream=plain(
            form.calls(f'{{"{form.key}": {{"command": "echo \\"name\\": \\"x\\""}}, "name": "bash"}}')
        ),
        gets=Outcome(calls=[("bash", '{"command": "echo \\"name\\": \\"x\\""}')]),
    )


def _without(form: Form, text: str) -> list[str]:
    """Without a marker an object that has no arguments may be anything."""
    return [text] if form.open else []


def trouble(form: Form) -> Iterator[Case]:
    unclosed = form.ls.removesuffix(form.close) if form.close else form.ls
    yield Case(
        "markers-in-pieces",
        "Deltas of 3 characters cut every marker and every escape in pieces: no piece leaks.",
        failure=[32, 57],
        tools=[BASH],
        asked="Say hello.",
        upstream=plain(
            "So: a < b, [1] and {2}.\n" + form.one("bash", '{"command": "echo \\"\\u4f60\\u597d\\""}'),
            cut=every(3),
        ),
        reads=slices(64, 20, 111),
        gets=Outcome(
            "So: a < b, [1] and {2}.",
            [("bash", '{"command": "echo \\"\\u4f60\\u597d\\""}')],
        ),
    )
    yield Case(
        "blanks-and-newlines",
        "JSON laid out over several lines: the arguments keep their blanks and newlines.",
        tools=[BASH],
        asked=ASKED,
        upstream=plain(
            form.calls('{\n  "name" : "bash",\n  "' + form.key + '" :\n  {\n    "command": "ls -la"\n  }\n}')
        ),
        gets=Outcome(calls=[("bash", '{\n    "command": "ls -la"\n  }')]),
    )
    yield Case(
        "arguments-not-json",
        "A line break inside a string, a comma too many: passed on as written, with an error.",
        tools=[BASH],
        asked=ASKED,
        upstream=plain(form.one("bash", '{"command": "ls\n-la",}')),
        gets=Outcome(calls=[("bash", '{"command": "ls\n-la",}')]),
        findings=["invalid-arguments"],
    )
    yield Case(
        "arguments-not-json-repaired",
        "A Python dict with the policy `malformed: repair`: sent as the JSON that was meant, with a warning.",
        tools=[offer("save", "Save", value={}, flag={"type": "boolean"})],
        asked="Save it.",
        policy={"malformed": "repair"},
        upstream=plain(form.one("save", "{'value': 'it\\'s } ok', 'flag': True}")),
        gets=Outcome(calls=[("save", '{"value":"it\'s } ok","flag":true}')]),
        findings=["repaired-arguments"],
    )
    if form.close:
        yield Case(
            "missing-closer",
            "The closing marker is missing at the end: the call's JSON is whole, so it is a call.",
            tools=[BASH],
            asked=ASKED,
            upstream=plain(f"Listing.\n{unclosed}"),
            gets=Outcome("Listing.", [LS_CALL]),
        )
        yield Case(
            "doubled-markers",
            "Every marker stands there twice: one call, and none of the markers is left over.",
            tools=[BASH],
            asked=ASKED,
            upstream=plain(form.open + form.ls + form.close + "\nDone."),
            gets=Outcome("\nDone.", [LS_CALL]),
        )
        yield Case(
            "missing-brace",
            "The last brace of the object is missing: the marker ends it, with a warning.",
            failure=[32],
            tools=[BASH],
            asked=ASKED,
            upstream=plain(form.ls.replace("}}", "}")),
            gets=Outcome(calls=[LS_CALL]),
            findings=["repaired-call"],
        )
        yield Case(
            "brace-too-many",
            "One brace too many after the object: dropped and named, the call is as good as any.",
            failure=[32],
            tools=[BASH],
            asked=ASKED,
            upstream=plain(form.ls.replace("}}", "}}}")),
            gets=Outcome(calls=[LS_CALL]),
            findings=["stray-token"],
        )
        yield Case(
            "marker-cut",
            "The answer ends inside the closing marker: the call is whole, the piece of a marker is named.",
            tools=[BASH],
            asked=ASKED,
            upstream=plain(unclosed + form.close[:5]),
            gets=Outcome(calls=[LS_CALL]),
            findings=["stray-token"],
        )
    if form.open:
        yield Case(
            "prose-names-marker",
            f"A sentence names `{form.open}`: no JSON follows, so it is text and leaves at once.",
            tools=[BASH],
            asked="How do you call tools?",
            upstream=plain(
                f"I write `{form.open}`, then JSON such as {form.open}{{...}}{form.close}. Clear?"
            ),
            gets=Outcome(f"I write `{form.open}`, then JSON such as {form.open}{{...}}{form.close}. Clear?"),
        )
        yield Case(
            "unknown-tool",
            "A tool that was not offered: the call goes out all the same, with a warning.",
            tools=[READ_FILE],
            asked=ASKED,
            upstream=plain(form.ls),
            gets=Outcome(calls=[LS_CALL]),
            findings=["unknown-tool"],
        )
        yield Case(
            "unknown-tool-as-text",
            "One tool that was not offered, one that was, and the policy `unknown_tools: text`: one call.",
            tools=[READ_FILE],
            asked=ASKED,
            policy={"unknown_tools": "text"},
            upstream=plain(lines(form.ls, form.one("read_file", '{"path": "a"}'))),
            gets=Outcome(form.ls, [("read_file", '{"path": "a"}')]),
        )
    yield Case(
        "truncated-arguments",
        "max_tokens ends the answer inside the arguments: closed as it is, and the reason stays `length`.",
        tools=[BASH],
        asked=ASKED,
        upstream=plain(unclosed[: unclosed.index("-la") + 2], finish="length"),
        gets=Outcome(calls=[("bash", '{"command": "ls -l')], finish="length"),
        findings=["truncated-call", "cut-after-call"],
    )
    yield Case(
        "truncated-arguments-whole",
        "The same with the policy `arguments: whole`: nothing of it has left, so all of it is text.",
        tools=[BASH],
        asked=ASKED,
        policy={"arguments": "whole"},
        upstream=plain(unclosed[: unclosed.index("-la") + 2], finish="length"),
        gets=Outcome(unclosed[: unclosed.index("-la") + 2], finish="length"),
        findings=["truncated-call"],
    )
    yield Case(
        "truncated-arguments-repaired",
        "Only the end of the JSON is missing, with the policy `malformed: repair`: closed, with a warning.",
        tools=[BASH],
        asked=ASKED,
        policy={"malformed": "repair"},
        upstream=plain(unclosed[: unclosed.index("-la") + 3]),
        gets=Outcome(calls=[LS_CALL]),
        findings=["repaired-call"],
    )
    yield Case(
        "truncated-name",
        "The answer ends before the arguments begin: no call was begun, so it is text.",
        tools=[BASH],
        asked=ASKED,
        upstream=plain(form.ls[: form.ls.index("bash") + 5]),
        gets=Outcome(form.ls[: form.ls.index("bash") + 5]),
        findings=["truncated-call"],
    )
    yield Case(
        "broke-inside-arguments",
        "The connection breaks while arguments stream: the client has half a call, then gets an error event.",
        tools=[BASH],
        asked=ASKED,
        upstream=lambda meta: vllm(unclosed[: unclosed.index("-la")])(meta)[:-2],
        broke="the connection was reset",
        gets=Outcome(calls=[("bash", '{"command": "ls ')], error="the connection was reset"),
        findings=["truncated-call", "upstream-broke"],
    )


# With the name before the arguments there is no object around both.
_OF_OBJECTS = (
    "good-no-arguments", "good-name-last", "blanks-and-newlines", "missing-brace", "brace-too-many",
    "truncated-name",
)  # fmt: skip


def cases(form: Form, only: Collection[str] = (), prefix: str = "") -> list[Case]:
    """All of them, or those of these names, which get a prefix."""
    found = [*good(form), *trouble(form)]
    if form.header is not None:
        found = [case for case in found if case.name not in _OF_OBJECTS]
    return [replace(case, name=prefix + case.name) for case in found if not only or case.name in only]
