"""The chain: calls beside their results, whatever the client sent back."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.project import SAMPLES
from tests.support.tiers import each_row
from workbench.analysis.toolresults import Link, Trouble, Turn, chain, looks_like_error, turn_of
from workbench.replay.player import Player
from workbench.tape.format import make_header, read_tape

TOOLS = [{"type": "function", "function": {"name": "bash"}}]


def call(id: str, arguments: str = '{"command":"ls"}', name: str = "bash") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def answer(*calls: dict[str, Any]) -> dict[str, Any]:
    return {"choices": [{"index": 0, "message": {"content": None, "tool_calls": list(calls)}}]}


def result(id: str, content: Any = "a.txt") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": content}


def asked(*messages: dict[str, Any], tools: Any = TOOLS) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": "List."}, *messages], "tools": tools}


def said(*calls: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": "", "tool_calls": list(calls)}


def shown(links: list[Link]) -> list[tuple[str, str, str | None, str | None, tuple[Trouble, ...]]]:
    return [
        (
            link.exchange,
            link.call.id,
            link.result.exchange if link.result else None,
            link.result.text if link.result else None,
            link.troubles,
        )
        for link in links
    ]


A, B, BAD = call("a"), call("b"), call("bad", "{'x'")
FIRST = Turn("1", 1.0, asked(), answer(A))
TITLE = Turn("t", 1.5, {"messages": [{"role": "user", "content": "A title?"}]}, answer())

CASES = {
    "a result in the next request": (
        [FIRST, Turn("2", 2.0, asked(said(A), result("a")), answer())],
        [("1", "a", "2", "a.txt", ())],
    ),
    "whatever the order of the tapes": (
        [Turn("2", 2.0, asked(said(A), result("a")), answer()), FIRST],
        [("1", "a", "2", "a.txt", ())],
    ),
    "nothing was asked since": ([FIRST, TITLE], [("1", "a", None, None, ())]),
    "it came back without a result": (
        [FIRST, Turn("2", 2.0, asked(said(A), {"role": "user", "content": "And?"}), answer())],
        [("1", "a", None, None, (Trouble.MISSING,))],
    ),
    "it never came back": (
        [FIRST, Turn("2", 2.0, asked(), answer(B))],
        [("1", "a", None, None, (Trouble.MISSING,)), ("2", "b", None, None, ())],
    ),
    "one of two has a result": (
        [
            Turn("1", 1.0, asked(), answer(A, B)),
            Turn("2", 2.0, asked(said(A, B), result("b", "done")), answer()),
        ],
        [("1", "a", None, None, (Trouble.MISSING,)), ("1", "b", "2", "done", ())],
    ),
    "two results in one request": (
        [FIRST, Turn("2", 2.0, asked(said(A), result("a", "one"), result("a", "two")), answer())],
        [("1", "a", "2", "one", (Trouble.TWICE,))],
    ),
    "every later request repeats the result": (
        [
            FIRST,
            Turn("2", 2.0, asked(said(A), result("a")), answer(B)),
            Turn("3", 3.0, asked(said(A), result("a", "[cleared]"), said(B), result("b", "b")), answer()),
        ],
        [("1", "a", "2", "a.txt", ()), ("2", "b", "3", "b", ())],
    ),
    "an id that is used again": (
        [
            FIRST,
            Turn("2", 2.0, asked(said(A), result("a", "first")), answer(A)),
            Turn("3", 3.0, asked(said(A), result("a", "first"), said(A), result("a", "second")), answer()),
        ],
        [("1", "a", "2", "first", ()), ("2", "a", "3", "second", ())],
    ),
    "the beginning of the history is gone": (
        [
            FIRST,
            Turn("2", 2.0, asked(said(A), result("a", "first")), answer(A)),
            Turn("3", 3.0, asked(said(A), result("a", "second")), answer()),
        ],
        [("1", "a", "2", "first", ()), ("2", "a", "3", "second", ())],
    ),
    "an error, and parts instead of a text": (
        [
            FIRST,
            Turn("2", 2.0, asked(said(A), result("a", [{"type": "text", "text": "Error: no"}])), answer()),
        ],
        [("1", "a", "2", "Error: no", (Trouble.ERROR,))],
    ),
    "arguments that are no JSON": (
        [Turn("1", 1.0, asked(), answer(BAD))],
        [("1", "bad", None, None, (Trouble.ARGUMENTS,))],
    ),
    "a result whose call was cut out of the history": (
        [FIRST, Turn("2", 2.0, asked(result("a")), answer())],
        [("1", "a", "2", "a.txt", ())],
    ),
    "no session at all": ([], []),
}


@each_row(("turns", "expected"), CASES.values(), ids=CASES)
def test_each_call_stands_beside_its_result(turns, expected):
    assert shown(chain(turns)) == expected


@each_row(
    "text",
    [
        "Error: ENOENT",
        "error",
        "  Error executing tool read: no",
        "<error>no</error>",
        "[ERROR] no",
        "Traceback (most recent call last):\n  File",
        "TypeError: x is not a function",
        "java.lang.IllegalStateException: no",
        "bash: foo: command not found",
        "cat: x: No such file or directory",
        "Permission denied",
        "Failed to read the file",
        "File src/a.py not found",
        '{"error": {"message": "no"}}',
        '{"isError": true, "content": []}',
        "stdout\nmore\nExit code: 1",
        "Exit code 127\nsh: foo",
        "Command failed with exit code 2",
        "Invalid arguments: path is required",
    ],
)
def test_results_that_look_like_errors(text):
    assert looks_like_error(text)


@each_row(
    "text",
    [
        "",
        "a.txt",
        "# Error handling\n\nUse Result.",
        "def error(x):\n    raise ValueError('no')",
        "Errors are values.",
        "no errors found",
        "Exit code: 0",
        "set -e\nexit 1 # exit code 1 means trouble\necho done",
        '{"error": null, "success": true}',
        '{"name": "error"}',
        "0 failed, 12 passed",
        "The file has been updated. Error: is the first word of line 3.",
    ],
)
def test_results_that_do_not(text):
    assert not looks_like_error(text)


def test_a_turn_is_what_a_tape_holds():
    tape = read_tape(SAMPLES / "roo-xml/good-read.jsonl")
    player = Player({**tape.header, "id": "7f", "started": 12.5})
    player.add(tape.lines)
    turn = turn_of(player)
    assert (turn.exchange, turn.started, turn.request) == ("7f", 12.5, tape.header["request"])
    assert [link.call.name for link in chain([turn])] == ["read_file"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["messages", "role", "tool_call_id", "content", "tool_calls", "function", "name", "id"]
            )
            | st.sampled_from(["choices", "message", "arguments", "tools", "text", "index"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=25,
)


@given(JSON, JSON)
def test_odd_requests_and_answers_do_no_harm(request_, answered):
    chain([Turn("1", 1.0, request_, answered), Turn("2", 2.0, request_, answered)])


def test_a_deep_result_and_a_deep_argument_do_no_harm():
    deep = '{"a":' * 100_000
    turns = [
        Turn("1", 1.0, asked(), answer(call("a", deep))),
        Turn("2", 2.0, asked(said(A), result("a", deep)), answer()),
    ]
    assert shown(chain(turns)) == [("1", "a", "2", deep, (Trouble.ARGUMENTS,))]


def test_a_header_of_odd_types_is_a_turn_as_well():
    player = Player(make_header("x", "roo-xml") | {"started": [], "request": 3, "id": {}})
    assert chain([turn_of(player)]) == []
