"""`workbench demo --qwen-chat`: the scripted server keeps conversations, the proxy goes on in its chats."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import orjson

from tests.support.commands import RunCommand
from tests.support.tiers import each_row
from workbench.demo.launch import QWEN_CHAT_TIPS, Tips, first_tape, proxy_settings
from workbench.demo.scripts import QWEN_CHAT, Answer, Thought, read_script, said
from workbench.demo.traffic import Client, QwenChatServer, in_phases
from workbench.library.query import Filter, Library
from workbench.proxy.process import ProxyChild
from workbench.replay.player import Player
from workbench.tape.format import Tape, read_tape
from workbench.ui.requestfacts import chain_of

SCRIPT = read_script(QWEN_CHAT)
IDS = {"chat_id": "c", "parent_id": "p", "response_id": "r"}


def bodies(answer: Answer) -> list[Any]:
    data = b"".join(piece.data for piece in answer.pieces)
    return [orjson.loads(event.removeprefix(b"data: ")) for event in data.split(b"\n\n") if event]


def ask(server: QwenChatServer, path: str, **body: Any) -> list[Any]:
    return bodies(server.answer(path, orjson.dumps(body)))


def turn(server: QwenChatServer, chat: str, parent: str | None, text: str, stream: bool = True) -> list[Any]:
    messages = [{"role": "user", "content": text}]
    path = f"/api/v2/chat/completions?chat_id={chat}"
    return ask(server, path, chat_id=chat, parent_id=parent, messages=messages, stream=stream)


def test_a_stream_is_said_in_phases():
    created, thought, over, text, end = bodies(in_phases(said(Thought("hm"), "Yes"), IDS))
    assert created == {"response.created": IDS}
    deltas = [one["choices"][0]["delta"] for one in (thought, over, text, end)]
    assert [(one["phase"], one["status"], one["content"]) for one in deltas] == [
        ("think", "typing", "hm"), ("think", "finished", ""),
        ("answer", "typing", "Yes"), ("answer", "finished", ""),
    ]  # fmt: skip
    assert [one["usage"]["output_tokens"] for one in (thought, text)] == [1, 2]
    assert "usage" not in end and "finish_reason" not in end["choices"][0]


def test_the_server_knows_its_chats_and_their_turns():
    server = QwenChatServer(SCRIPT.conversations)
    conversation = SCRIPT.conversations[0]
    (made,) = ask(server, "/api/v2/chats/new")
    chat = made["data"]["id"]
    first = turn(server, chat, None, conversation.asked)
    parent = first[0]["response.created"]["parent_id"]
    assert first[1:] == bodies(in_phases(conversation.turns[0], IDS))[1:]
    assert turn(server, chat, parent, "a result")[1:] == bodies(in_phases(conversation.turns[1], IDS))[1:]
    assert turn(server, chat, parent, "again")[1:] == bodies(in_phases(conversation.turns[1], IDS))[1:]
    (whole,) = turn(server, chat, None, conversation.asked, stream=False)
    assert "<read_file>" in whole["data"]["choices"][0]["message"]["content"]
    for refused in (turn(server, "other", None, "?"), turn(server, chat, "other", "?")):
        assert refused[0]["success"] is False and "not exist" in refused[0]["data"]["details"]


async def _play(folder: Path) -> list[Tape]:
    """All conversations through the real proxy, at once."""
    library, settings = folder / "library", folder / "demo.toml"
    async with QwenChatServer(SCRIPT.conversations, pace=0.01) as upstream:
        settings.write_text("\n".join(proxy_settings(upstream.url, SCRIPT)))
        child = ProxyChild(library, ("--port", "0"), os.environ | {"WORKBENCH_CONFIG": str(settings)})
        await child.start()
        client = Client(lambda: child.url)
        try:
            await asyncio.gather(*map(client.play, SCRIPT.conversations))
        finally:
            await client.close()
            await child.stop(5)
    with Library(library) as found:
        return [read_tape(library / row.path) for row in reversed(found.rows(Filter()))]


def test_its_conversations_are_turns_of_one_chat_each(tmp_path: Path):
    tapes = asyncio.run(_play(tmp_path))
    chats: dict[str, list[Any]] = {}
    for tape in tapes:
        if tape.header["request"].get("tools"):
            assert tape.end is not None and tape.end.value["end"] == "done"
            asked = tape.header["request"]["messages"][1]["content"]
            chats.setdefault(asked, []).append(tape.end.value["chat"])
    assert {asked: len(turns) for asked, turns in chats.items()} == {
        one.asked: len(one.turns) for one in SCRIPT.conversations
    }
    assert max(map(len, chats.values())) >= 3
    for turns in chats.values():
        assert len({one["id"] for one in turns}) == 1
        assert [one["turn"] for one in turns] == list(range(1, len(turns) + 1))
        parents = [one["parent"] for one in turns]
        assert parents[0] is None and len(set(parents)) == len(parents)
        assert [one["began"] for one in turns] == ["new", *["known"] * (len(turns) - 1)]
    assert len({turns[0]["id"] for turns in chats.values()}) == len(chats), "chats are not shared"


def test_without_a_terminal_it_prints_one_exchange(run: RunCommand, folder: Path):
    done = run("demo", "--qwen-chat")
    assert (done.code, done.err) == (0, "")
    assert b"1 call converted" in done.out and b"Upstream" in done.out and b"read_file" in done.out
    assert list(folder.iterdir()) == []


def test_it_begins_with_the_first_turn_of_a_chat():
    tape = first_tape(0.0, SCRIPT)
    player = Player(tape.header)
    player.add(tape.lines)
    assert player.difference is None, "the sample is what this kind of upstream gives"
    assert chain_of(player) == {
        "id": "c-7", "parent": None, "turn": 1, "began": "new", "response": "937f9c"
    }  # fmt: skip


@each_row("action", QWEN_CHAT_TIPS)
def test_its_tips_begin_with_the_chat(action: str):
    tips = Tips(QWEN_CHAT_TIPS)
    assert "chat" in tips.line and "r shows the request" in tips.line
    assert tips.did(action).startswith(QWEN_CHAT_TIPS[action].seen) and len(tips.line) <= 150
