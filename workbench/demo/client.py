"""The scripted client: an agent that asks, runs the tools it is told to run, and asks again."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import httpx
import orjson

from workbench.demo.agent import RESULTS, SYSTEM, TOOLS
from workbench.demo.scene import TITLE_PROMPT, Scene

Message = dict[str, Any]
_TURNS = 8  # more than any scene has: a loop would be a fault, and must end
_LOOK_AGAIN = 0.5


class Client:
    """Plays scenes against the proxy whose URL `find` gives; None means that there is none right now."""

    def __init__(self, find: Callable[[], str | None], name: str = "demo") -> None:
        self._find = find
        self._name = name
        self._numbers = itertools.count(1)
        self._http = httpx.AsyncClient(timeout=60.0, trust_env=False)

    async def close(self) -> None:
        await self._http.aclose()

    async def play_all(self, scenes: Sequence[Scene], pauses: Sequence[float]) -> None:
        """One scene after the other, for ever; the first round has the first pause, and so on."""
        for number in itertools.count():
            for scene in scenes:
                await self.play(scene)
                await asyncio.sleep(pauses[min(number, len(pauses) - 1)])

    async def play(self, scene: Scene) -> None:
        """One conversation. A proxy that goes away in the middle ends it, and nothing else."""
        session = f"ses_{self._name}_{next(self._numbers):04}"
        url = await self._proxy()
        title = asyncio.ensure_future(self._title(url, session, scene)) if scene.title is not None else None
        try:
            with contextlib.suppress(httpx.HTTPError, TimeoutError):
                async with asyncio.timeout(scene.leaves):
                    await self._converse(url, session, scene)
        finally:
            if title is not None:
                await title

    async def _proxy(self) -> str:
        while (url := self._find()) is None:
            await asyncio.sleep(_LOOK_AGAIN)
        return url

    async def _converse(self, url: str, session: str, scene: Scene) -> None:
        messages: list[Message] = [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": scene.asked},
        ]
        for _ in range(_TURNS):
            body = _body(scene, messages, max_tokens=4096) | {"tools": TOOLS, "tool_choice": "auto"}
            answer = await self._ask(url, session, body)
            calls = answer.get("tool_calls")
            if not calls:
                return
            messages += [answer, *(_result(scene, call) for call in calls)]

    async def _title(self, url: str, session: str, scene: Scene) -> None:
        messages = [
            {"role": "system", "content": TITLE_PROMPT},
            {"role": "user", "content": f"Generate a title for this conversation:\n{scene.asked}"},
        ]
        with contextlib.suppress(httpx.HTTPError):
            await self._ask(url, session, _body(scene, messages, max_tokens=64))

    async def _ask(self, url: str, session: str, body: dict[str, Any]) -> Message:
        """The answer's message; an error is one that says nothing."""
        headers = {"x-session-id": session, "authorization": "Bearer demo", "user-agent": "workbench-demo"}
        address = f"{url}/chat/completions"
        async with self._http.stream("POST", address, json=body, headers=headers) as response:
            data = b"".join([part async for part in response.aiter_raw()])
        if response.status_code != httpx.codes.OK:
            return {"role": "assistant", "content": ""}
        return assembled(data) if body["stream"] else message_in(data)


def _body(scene: Scene, messages: list[Message], max_tokens: int) -> dict[str, Any]:
    more = {"stream_options": {"include_usage": True}} if scene.stream else {}
    return {
        "model": scene.model, "messages": messages, "stream": scene.stream, "max_tokens": max_tokens,
        "temperature": 0.6, **more,
    }  # fmt: skip


def _result(scene: Scene, call: dict[str, Any]) -> Message:
    name = call["function"]["name"]
    text = scene.results.get(name) or RESULTS.get(name) or f"Error: there is no tool {name}"
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
