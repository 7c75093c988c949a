"""The traffic of the demo, in a process of its own: servers on loopback that play the models, and agents that
ask them through the proxy, run their tools, and ask again.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
import re
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from string import ascii_lowercase
from typing import Any, ClassVar, Self

import httpx
import orjson

from transformer.answer.observations import text_in
from transformer.sse import encode
from transformer.upstreams.qwen_chat import QwenChat
from workbench.analysis.requests import system_text
from workbench.analysis.variants.texts import texts_of
from workbench.demo.scripts import (
    TEMPORARY,
    TITLE_PROMPT,
    Answer,
    Conversation,
    Piece,
    Script,
    answer_to,
    read_script,
    said,
)
from workbench.proxy.registration import registered
from workbench.replay.player import Player
from workbench.system import on_signals
from workbench.tape.format import Tape

_SECONDS = 30.0  # for a request to arrive
UNKNOWN = said("I am only the demo: I know its conversations, and this is not one of them.")


class Upstream:
    """Answers each request on a connection of its own; `pace` 0.5 is twice as fast."""

    path: ClassVar[str] = "/v1"  # after the address

    def __init__(self, conversations: Sequence[Conversation], pace: float = 1.0) -> None:
        self._conversations = conversations
        self._pace = pace
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}{self.path}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._handle, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            with contextlib.suppress(OSError, EOFError, ValueError, TimeoutError, asyncio.CancelledError):
                async with asyncio.timeout(_SECONDS):
                    path, body = await _request(reader)
                await _play(self.answer(path, body), writer, self._pace)
        finally:
            self._open.discard(task)
            writer.close()

    def answer(self, path: str, body: bytes) -> Answer:
        if not path.endswith("/chat/completions"):
            names = {one.model: None for one in self._conversations}
            models = [{"id": name, "object": "model"} for name in names]
            data = orjson.dumps({"object": "list", "data": models})
            return Answer((Piece(0.0, data),), kind="application/json")
        value = orjson.loads(body)
        return (answer_to(self._conversations, value) if isinstance(value, dict) else None) or UNKNOWN


async def _request(reader: asyncio.StreamReader) -> tuple[str, bytes]:
    """The path and the body. Only our own proxy calls, and it always says how long the body is."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return first.split(" ")[1], body


async def _play(answer: Answer, writer: asyncio.StreamWriter, pace: float) -> None:
    head = (
        f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}\r\ncontent-type: {answer.kind}\r\n"
        "transfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    )
    writer.write(head.encode())
    for piece in answer.pieces:
        await asyncio.sleep(piece.wait * pace)
        writer.write(b"%x\r\n%b\r\n" % (len(piece.data), piece.data))
        await writer.drain()
    if answer.broken:
        return  # without the last chunk: the connection is lost
    writer.write(b"0\r\n\r\n")
    await writer.drain()


# -- a server for `workbench demo --qwen-chat`, which keeps conversations as Qwen's web chat does, and says in
# phases what the script has as OpenAI's streams

_ASKED = 1840  # tokens of a request
_PHASES = {"reasoning_content": "think", "content": "answer"}


@dataclass(slots=True)
class _Chat:
    """`places` has the number of the turn that can follow an answer, by the id that the answer gave."""

    places: dict[str | None, int] = field(default_factory=lambda: {None: 0})
    answers: tuple[Answer, ...] = ()


class QwenChatServer(Upstream):
    """A turn of an unknown chat, or after an unknown parent, is refused."""

    path: ClassVar[str] = ""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._chats: dict[str, _Chat] = {}
        self._numbers = itertools.count(1)

    def answer(self, path: str, body: bytes) -> Answer:
        path = path.partition("?")[0]
        if path == "/api/models":
            return super().answer(path, body)
        asked = orjson.loads(body)
        if path == "/api/v2/chats/new":
            id = f"chat-{next(self._numbers):04}"
            self._chats[id] = _Chat()
            return _json({"success": True, "data": {"id": id}})
        chat = self._chats.get(asked.get("chat_id"))
        if chat is None:
            return _refused("chat not exist")
        parent = asked.get("parent_id")
        if parent not in chat.places:
            return _refused("parent not exist")
        return self._turn(chat, parent, asked)

    def _turn(self, chat: _Chat, parent: str | None, asked: Mapping[str, Any]) -> Answer:
        if parent is None:
            chat.answers = _answers(self._conversations, [str(one["content"]) for one in asked["messages"]])
        turn = chat.places[parent]
        number = next(self._numbers)
        ids = {
            "chat_id": asked["chat_id"],
            "parent_id": f"turn-{number:04}",
            "response_id": f"answer-{number:04}",
        }
        chat.places[ids["parent_id"]] = turn + 1
        answer = chat.answers[min(turn, len(chat.answers) - 1)]
        return in_phases(answer, ids) if asked.get("stream") else _whole(answer, ids)


def _answers(conversations: Iterable[Conversation], texts: list[str]) -> tuple[Answer, ...]:
    """What is said in a chat that begins with these texts, turn by turn."""
    found = next((one for one in conversations if any(one.asked in text for text in texts)), None)
    if found is None:
        return (UNKNOWN,)
    if any(TITLE_PROMPT in text for text in texts):
        return (found.title or UNKNOWN,)
    return tuple(found.turns)


def in_phases(answer: Answer, ids: Mapping[str, str]) -> Answer:
    """An OpenAI stream as this chat would say it: no index, no reason at the end, no [DONE]."""
    pieces = [Piece(0.3, encode({"response.created": ids}))]
    phase = "answer"
    for number, (wait, next_phase, text) in enumerate(_phases(answer), 1):
        if phase not in (next_phase, "answer"):
            pieces.append(Piece(0.0, encode(_delta("", phase, "finished"))))
        phase = next_phase
        usage = {"input_tokens": _ASKED, "output_tokens": number, "total_tokens": _ASKED + number}
        pieces.append(Piece(wait, encode(_delta(text, phase, "typing") | {"usage": usage})))
    pieces.append(Piece(0.05, encode(_delta("", phase, "finished"))))
    return Answer(tuple(pieces))


def _phases(answer: Answer) -> Iterator[tuple[float, str, str]]:
    """The texts of an OpenAI stream: seconds before it, phase, text."""
    for piece in answer.pieces:
        chunk = orjson.loads(piece.data[6:]) if piece.data.startswith(b"data: {") else {}
        for choice in chunk.get("choices") or ():
            for key, phase in _PHASES.items():
                if text := choice["delta"].get(key):
                    yield piece.wait, phase, text


def _delta(text: str, phase: str, status: str) -> dict[str, Any]:
    delta = {"role": "assistant", "content": text, "phase": phase, "status": status}
    return {"choices": [{"delta": delta}]}


def _whole(answer: Answer, ids: Mapping[str, str]) -> Answer:
    text = "".join(text for _, phase, text in _phases(answer) if phase == "answer")
    told = {"chat_id": ids["chat_id"], "parent_id": ids["parent_id"], "message_id": ids["response_id"]}
    choices = [{"message": {"role": "assistant", "content": text}}]
    return _json({"success": True, "data": told | {"choices": choices}})


def _refused(details: str) -> Answer:
    return _json({"success": False, "data": {"code": "Not_Found", "details": details}})


def _json(value: Mapping[str, Any]) -> Answer:
    return Answer((Piece(0.1, orjson.dumps(value)),), kind="application/json")


USUAL, CAREFUL = 0.4, 0.1
CARE = "every tag that you opened"  # a prompt that asks for this gets better answers
_CLOSER = re.compile(r"</\w+>")


class UnreliableModel(Upstream):
    """For `workbench try --demo`: it answers recorded requests as on their tapes, and every now and then
    writes the call wrong. How often depends on the prompt, so that there is a difference to be found.

    `answers` are texts by what was asked last; the same requests, in order, get the same answers.
    """

    def __init__(self, answers: Mapping[str, str], seed: int = 3) -> None:
        super().__init__((), pace=0.0)
        self._answers = answers
        self._seed = seed
        self._asked: Counter[tuple[str, bool]] = Counter()

    def answer(self, path: str, body: bytes) -> Answer:
        request = orjson.loads(body) if body else {}
        if not path.endswith("/chat/completions") or not isinstance(request, dict):
            return super().answer(path, body)
        question, careful = asked_last(request), CARE in (system_text(request) or "")
        self._asked[question, careful] += 1
        chance = random.Random(f"{self._seed} {question} {careful} {self._asked[question, careful]}")
        text = self._answers.get(question, "I know nothing about that.")
        if chance.random() < (CAREFUL if careful else USUAL):
            text = chance.choice((_without_closer, _cut, _only_prose))(text)
        return said(text, model=str(request.get("model") or ""), pace=0.0)


def asked_last(request: Mapping[str, Any]) -> str:
    messages = request.get("messages")
    for message in reversed(messages if isinstance(messages, list) else []):
        if isinstance(message, dict) and message.get("role") == "user":
            return text_in(message.get("content"))
    return ""


def answer_on(tape: Tape) -> str:
    """What the model wrote on a tape."""
    player = Player(tape.header)
    player.add(tape.lines)
    return next((text.text for text in texts_of(player) if text.channel == "content"), "")


def _without_closer(text: str) -> str:
    return _CLOSER.sub("", text, count=1)


def _cut(text: str) -> str:
    return text[: len(text) * 2 // 3]


def _only_prose(text: str) -> str:
    return "I will do that now."


# -- the agent

SYSTEM = """\
You are a coding agent in a user's terminal. You work in the folder /home/dev/tally, a small Python project.

- Read before you write. Never guess what a file holds.
- Make the smallest change that does what was asked, in the style of the code around it.
- Run the tests after a change. If they fail, say so; do not hide it.
- Be brief: the user reads your answers in a terminal. No headings, no lists of what you did.
- Never commit, never push, never touch files outside the folder.

Platform: linux. Today is the day it is. The folder is a git repository on the branch main.
"""

_MAIN = '''\
"""Count the lines of files."""

import sys
from pathlib import Path
from string import ascii_lowercase


def count(path: str) -> int:
    return Path(path).read_text().count("\\n")


def main() -> None:
    for name in sys.argv[1:]:
        print(count(name), name)


if __name__ == "__main__":
    main()
'''

# What a tool gives when a conversation does not say otherwise.
RESULTS: Mapping[str, str] = {
    "read_file": _MAIN,
    "write_to_file": "Written.",
    "write_file": "Written.",
    "edit_file": "1 replacement.",
    "list_files": "README.md\nsrc/\nsrc/main.py\ntests/\ntests/test_main.py",
    "search_files": "src/main.py:8:    return Path(path).read_text().count(chr(10))",
    "bash": "3 passed in 0.04s",
    "execute_command": "3 passed in 0.04s",
}


def _tool(name: str, about: str, required: str, **parameters: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": parameters, "required": required.split()}
    return {"type": "function", "function": {"name": name, "description": about, "parameters": schema}}


def _text(about: str) -> dict[str, str]:
    return {"type": "string", "description": about}


_PATH = _text("The file, relative to the project's folder")
TOOLS = [
    _tool("read_file", "Read a text file.", "path", path=_PATH),
    _tool("write_to_file", "Create a file or replace it.", "path content", path=_PATH,
          content=_text("All of the file's new text")),
    _tool("write_file", "Create a file or replace it.", "path content", path=_PATH,
          content=_text("All of the file's new text")),
    _tool("edit_file", "Replace text in a file; it must occur exactly once.", "path old new", path=_PATH,
          old=_text("The text to replace, with its indentation"), new=_text("What to put there")),
    _tool("list_files", "List a folder.", "path", path=_PATH, recursive={"type": "boolean"}),
    _tool("search_files", "Search the files with a regular expression.", "pattern",
          pattern=_text("The expression"), limit={"type": "integer", "minimum": 1, "maximum": 500}),
    _tool("bash", "Run a command in the project's folder.", "command", command=_text("The command")),
    _tool("execute_command", "Run a command, with a time limit.", "command", command=_text("The command"),
          timeout={"type": "number", "description": "Seconds"}),
]  # fmt: skip


Message = dict[str, Any]
_TURNS = 8  # more than any conversation has: an agent that calls for ever must end
_LOOK_AGAIN = 0.5


class Client:
    """An agent that uses the proxy whose URL `find` gives; None means that there is none right now."""

    def __init__(self, find: Callable[[], str | None], name: str = "demo") -> None:
        self._find = find
        self._name = name
        self._numbers = itertools.count(1)
        self._http = httpx.AsyncClient(timeout=60.0, trust_env=False)

    async def close(self) -> None:
        await self._http.aclose()

    async def play_all(self, conversations: Sequence[Conversation], pauses: Sequence[float]) -> None:
        """One after the other, for ever; the first round has the first pause, and so on."""
        for number in itertools.count():
            for conversation in conversations:
                await self.play(conversation)
                await asyncio.sleep(pauses[min(number, len(pauses) - 1)])

    async def play(self, conversation: Conversation) -> None:
        """One conversation. A proxy that goes away in the middle ends it, and nothing else."""
        session = f"ses_{self._name}_{next(self._numbers):04}"
        url = await self._proxy()
        title = (
            asyncio.ensure_future(self._title(url, session, conversation))
            if conversation.title is not None
            else None
        )
        try:
            with contextlib.suppress(httpx.HTTPError, TimeoutError):
                async with asyncio.timeout(conversation.leaves):
                    await self._converse(url, session, conversation)
        finally:
            if title is not None:
                await title

    async def _proxy(self) -> str:
        while (url := self._find()) is None:
            await asyncio.sleep(_LOOK_AGAIN)
        return url

    async def _converse(self, url: str, session: str, conversation: Conversation) -> None:
        messages: list[Message] = [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": conversation.asked},
        ]
        for _ in range(_TURNS):
            body = _body(conversation, messages, max_tokens=4096) | {"tools": TOOLS, "tool_choice": "auto"}
            answer = await self._ask(url, session, body)
            calls = answer.get("tool_calls")
            if not calls:
                return
            messages += [answer, *(_result(conversation, call) for call in calls)]

    async def _title(self, url: str, session: str, conversation: Conversation) -> None:
        messages = [
            {"role": "system", "content": TITLE_PROMPT},
            {"role": "user", "content": f"Generate a title for this conversation:\n{conversation.asked}"},
        ]
        with contextlib.suppress(httpx.HTTPError):
            await self._ask(url, session, _body(conversation, messages, max_tokens=64))

    async def _ask(self, url: str, session: str, body: dict[str, Any]) -> Message:
        """The answer's message; for an error, an empty one."""
        headers = {"x-session-id": session, "authorization": "Bearer demo", "user-agent": "workbench-demo"}
        address = f"{url}/chat/completions"
        async with self._http.stream("POST", address, json=body, headers=headers) as response:
            data = b"".join([part async for part in response.aiter_raw()])
        if response.status_code != httpx.codes.OK:
            return {"role": "assistant", "content": ""}
        return assembled(data) if body["stream"] else message_in(data)


def _body(conversation: Conversation, messages: list[Message], max_tokens: int) -> dict[str, Any]:
    more = {"stream_options": {"include_usage": True}} if conversation.stream else {}
    return {
        "model": conversation.model,
        "messages": messages,
        "stream": conversation.stream,
        "max_tokens": max_tokens,
        "temperature": 0.6,
        **more,
    }


def _result(conversation: Conversation, call: dict[str, Any]) -> Message:
    name = call["function"]["name"]
    text = conversation.results.get(name) or RESULTS.get(name) or f"Error: there is no tool {name}"
    try:
        orjson.loads(call["function"]["arguments"])
    except ValueError as error:
        text = f"Error: the arguments are not valid JSON: {error}"
    return {"role": "tool", "tool_call_id": call["id"], "content": text}


def message_in(data: bytes) -> Message:
    """The message of an answer that came whole."""
    message: Message = orjson.loads(data)["choices"][0]["message"]
    return message


def assembled(data: bytes) -> Message:
    """The message of a streamed answer."""
    content, calls = "", list[dict[str, Any]]()
    for event in data.split(b"\n\n"):
        if not event.startswith(b"data: {"):
            continue
        for choice in orjson.loads(event[6:]).get("choices") or ():
            delta = choice.get("delta") or {}
            content += delta.get("content") or ""
            for part in delta.get("tool_calls") or ():
                _add(calls, part)
    return {"role": "assistant", "content": content} | ({"tool_calls": calls} if calls else {})


def _add(calls: list[dict[str, Any]], part: dict[str, Any]) -> None:
    function = part.get("function") or {}
    if part["index"] == len(calls):
        made = {"name": function.get("name"), "arguments": ""}
        calls.append({"id": part.get("id"), "type": "function", "function": made})
    calls[part["index"]]["function"]["arguments"] += function.get("arguments") or ""


# -- the process

# Seconds between two conversations of a row: frequent while a user looks for the first time, then rare.
PAUSES = (3.0, 10.0, 30.0)
_PROXY_ENDS = 30.0


async def run(library: Path, script: Script) -> None:
    """Go on until SIGTERM. The first line on standard output is the upstream's URL."""
    stop = asyncio.Event()
    on_signals(asyncio.get_running_loop(), stop.set, signal.SIGTERM)

    def proxy() -> str | None:
        return next((one.url for one in registered(library)), None)

    server = QwenChatServer if script.kind == QwenChat.name else Upstream
    async with server(script.conversations) as upstream:
        print(upstream.url, flush=True)
        clients = [Client(proxy, name) for name in ascii_lowercase[: len(script.rows)]]
        playing = [
            asyncio.ensure_future(client.play_all(row, PAUSES))
            for client, row in zip(clients, script.rows, strict=True)
        ]
        await stop.wait()
        for task in playing:
            task.cancel()
        await asyncio.gather(*playing, *(client.close() for client in clients), return_exceptions=True)


async def _remove(library: Path) -> None:
    """Tidy up, for a parent that may not be there any more to do it."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_PROXY_ENDS):
            while registered(library):
                await asyncio.sleep(0.05)
    shutil.rmtree(library, ignore_errors=True)


def main() -> None:
    library, script = Path(sys.argv[1]), read_script(sys.argv[2])
    asyncio.run(run(library, script))
    if TEMPORARY in sys.argv[3:]:
        asyncio.run(_remove(library))
