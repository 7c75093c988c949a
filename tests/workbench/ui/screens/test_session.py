"""The chain screen: calls beside the results of the next request."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.streams import chunk, sse, tool
from tests.support.views import HOSTILE, each_size, run, shown, write_tape
from workbench.tape.format import dump_line, end_line, make_header, read_line
from workbench.ui.screens.session import SessionScreen


def call(number: int, arguments: str = '{"path":"a"}', name: str = "read_file") -> bytes:
    function = {"name": name, "arguments": arguments}
    entry = {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
    return sse(chunk(tool_calls=[entry]), chunk(finish_reason="tool_calls"))


def asked(*results: tuple[int, str]) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    for number, text in results:
        function = {"name": "read_file", "arguments": '{"path":"a"}'}
        made = {"id": f"call_{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": "", "tool_calls": [made]})
        messages.append({"role": "tool", "tool_call_id": f"call_{number}", "content": text})
    return messages


def session(folder: Path, *turns: tuple[list[dict[str, Any]], bytes]) -> list[Path]:
    return [
        write_tape(
            folder / f"{number}.jsonl",
            make_header("", "passthrough", started=1000.0 + number, id=f"x{number}", session="s",
                        request={"model": "m", "messages": messages}),
            [data],
        )
        for number, (messages, data) in enumerate(turns)
    ]  # fmt: skip


@each_size
def test_calls_beside_their_results(tmp_path: Path, size: tuple[int, int]):
    good, bad = (1, "print(1)"), (2, "Error: no such file")
    tapes = session(
        tmp_path, (asked(), call(1)), (asked(good), call(2)), (asked(good, bad), call(3, '{"path":"zzz"}'))
    )

    async def look() -> None:
        async with shown(SessionScreen(tapes, tapes[1]), size) as app:
            await app.until(
                lambda: app.sees("no result of read_file", "3 calls in 3 exchanges · 1 with"), "the list"
            )
            lines = [line for line in app.seen if "read_file" in line]
            lines = [line for line in lines if "│" in line]
            assert ["✔" in line for line in lines] == [True, False, False]
            assert app.sees("user   go"), "what the user said, once"
            assert "print(1)" in lines[0] and "✖" in lines[1] and "Error: no such" in lines[1]
            assert "◌" in lines[2] and "no result yet" in lines[2]
            assert app.sees("the result looks like an error"), "it begins with the exchange one came from"
            await app.press("home", "n")
            assert app.sees("the result looks like an error")
            await app.press("end", "enter")
            assert app.results == [tapes[2]]

    run(look())


def test_tapes_that_are_none_and_a_session_without_calls(tmp_path: Path):
    (tmp_path / "broken.jsonl").write_bytes(b"\x00\x1b[2J")
    tapes = [
        tmp_path / "broken.jsonl",
        tmp_path / "missing.jsonl",
        *session(tmp_path, (asked(), sse(chunk("hi")))),
    ]

    async def look() -> None:
        async with shown(SessionScreen(tapes)) as app:
            await app.until(
                lambda: app.sees("the model has answered", "0 calls in 1 exchange", "2 tapes could not"),
                "the end",
            )
            await app.press("e", "escape")
            assert app.results == [None]

    run(look())


@each_size
def test_a_hostile_session(tmp_path: Path, size: tuple[int, int]):
    tapes = session(
        tmp_path, (asked(), call(1, HOSTILE, HOSTILE)), (asked((1, f"Error: {HOSTILE}")), sse(chunk("x")))
    )

    async def look() -> None:
        async with shown(SessionScreen(tapes), size) as app:
            await app.until(lambda: app.sees("1 call in 2 exchanges"), "the list")
            await app.press("down", "end", "c", "y")
            assert app.seen and app.is_running

    run(look())


def test_what_the_agent_does_right_now(tmp_path: Path):
    """The conversation grows while one looks: waiting, writing, held back, the tool that runs, the answer."""
    first, second = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    tools = [tool("read_file", {"path": {"type": "string"}})]
    known: list[tuple[Path, bool]] = [(first, True)]

    def header(number: int, messages: list[dict[str, Any]]) -> Mapping[str, Any]:
        request = {"model": "m", "stream": True, "messages": messages, "tools": tools}
        started = time.time() + number - 2
        return make_header(
            "", "roo-xml", started=started, id=f"x{number}", session="s", ids="i", request=request
        )

    def add(path: Path, *lines: Any) -> None:
        with path.open("ab") as file:
            file.write(b"".join(map(dump_line, lines)))

    add(first, header(1, asked()))

    async def look() -> None:
        async with shown(SessionScreen([], first, lambda: known), (160, 30)) as app:
            await app.until(lambda: app.sees("user   go", "waiting for the model's first byte"), "it waits")
            add(first, read_line(0.5, sse(chunk("I read it."), done=False)))
            await app.until(
                lambda: app.sees("model  I read it.", "the model writes text, 10 characters"), "text"
            )
            add(first, read_line(0.6, sse(chunk("\n<read_file>\n<path>a"), done=False)))
            await app.until(lambda: app.sees("HELD BACK"), "what is held back is said")
            add(first, read_line(0.7, sse(chunk("</path>\n</read_file>"), chunk(finish_reason="stop"))))
            add(first, end_line(0.8, "done"))
            known[0] = first, False
            await app.until(
                lambda: app.sees("the client works on read_file", "no result yet"), "its tool runs"
            )
            (call,) = app.view.links
            result = {"role": "tool", "tool_call_id": call.call.id, "content": "Error: no such file"}
            made = {"id": call.call.id, "function": {"name": "read_file", "arguments": call.call.arguments}}
            add(second, header(2, [*asked(), {"role": "assistant", "tool_calls": [made]}, result]))
            known.append((second, True))
            await app.until(
                lambda: app.sees("exchange 2", "│ Error: no such file"), "the result beside its call"
            )
            add(second, read_line(0.1, sse(chunk("It is not there."))), end_line(0.2, "done"))
            known[1] = second, False
            await app.until(lambda: app.sees("the model has answered", "1 with trouble"), "the end")
            assert app.view.list.follow and app.sees("▶ following")
            await app.press("home")
            assert app.sees("F follows")
            await app.press("e")
            assert app.sees("the result looks like an error")
            await app.press("enter")
            assert app.results == [first], "enter leads to the exchange of the call"

    run(look())
