"""The chain screen: calls beside the results of the next request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.streams import chunk, sse
from tests.support.views import HOSTILE, each_size, run, shown, write_tape
from workbench.tape.format import make_header
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
            await app.until(lambda: app.sees("3 calls in 3 exchanges", "1 with trouble"), "the list")
            lines = [line for line in app.seen if "read_file" in line]
            assert ["✔" in line for line in lines] == [True, False, False]
            assert "print(1)" in lines[0] and "✖" in lines[1] and "Error: no such" in lines[1]
            assert "◌" in lines[2] and "no result yet" in lines[2]
            assert app.sees("the result looks like an error"), "it begins with the exchange one came from"
            await app.press("home", "e")
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
            await app.until(lambda: app.sees("there are no calls", "2 tapes could not be read"), "the end")
            await app.press("enter", "e", "escape")
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
