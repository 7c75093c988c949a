"""One exchange, from the client's request to the end of its answer: what all the parts that work on it share,
and how it is ended from outside.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from starlette.types import Send

from transformer.findings import note
from transformer.frontends.frontend import ErrorAnswer
from transformer.upstreams import find_kind
from transformer.upstreams.kind import Place
from workbench.config.settings import Settings
from workbench.proxy.chats import ChatTurn, as_bytes
from workbench.proxy.client import Client
from workbench.proxy.faults import Fault, Faulted, of_answer, refused
from workbench.proxy.incoming import first, headers_for_client
from workbench.proxy.outgoing import Outgoing, address
from workbench.proxy.upstream import Reply, UpstreamClient
from workbench.recording.recording import Recording
from workbench.tape.format import End
from workbench.text import json_object, status_text

LONGEST_ERROR = 1 << 20
_BACKOFF = 0.5  # seconds before the first repetition, twice as many before each further one
_LONGEST_WAIT = 20.0
_PASSING = frozenset({429, 500, 502, 503, 504})
_NOT_OF_A_FAULT = ("content-type", "location", "x-should-retry")


def _first_event(head: bytes) -> bool:
    """First event seen, or known not to be a stream."""
    return b"\n\n" in head or b"\r\n\r\n" in head or len(head) > LONGEST_ERROR


def _whole(head: bytes) -> bool:
    return len(head) > LONGEST_ERROR


def _wait(reply: Reply, usual: float) -> float:
    """As long as upstream says, within reason."""
    said = first(reply.headers, "retry-after") or ""
    return min(float(said), _LONGEST_WAIT) if said.isdigit() else usual


def clock_from(begun: float) -> Callable[[], float]:
    """Seconds since then."""

    def clock() -> float:
        return time.perf_counter() - begun

    return clock


class Exchange:
    """`begun` is when it began, as `time.perf_counter` counts: uvloop's own clock has whole milliseconds."""

    def __init__(
        self,
        settings: Settings,
        upstream_client: UpstreamClient,
        outgoing: Outgoing,
        recording: Recording,
        send: Send,
        begun: float,
    ) -> None:
        self.clock = clock_from(begun)
        self._upstream_client = upstream_client
        self._reply: Reply | None = None
        self._interrupted: Fault | None = None  # we have to stop
        self._ended = False
        self._findings: Counter[str] = Counter()
        self.settings = settings
        self.outgoing = outgoing
        self.recipe = outgoing.recipe  # None: the answer is relayed unchanged
        self.recording = recording
        self.client = Client(send, recording, self.clock)
        self.chat = outgoing.chat  # the turn of a chat that this is, where upstream keeps the conversation
        self.sent_place: Place | None = None  # where in the chat it was sent
        self.place: Place | None = None  # where the chat goes on after the answer
        self.client_left = False
        self.task: asyncio.Task[None] | None = None  # the task that works on it
        self.held_back: Callable[[], int] | None = None  # characters that the client does not have yet
        self.answer: Mapping[str, Any] | None = None  # as the client got it, where its API is not upstream's
        self.on_end: Callable[[Exchange, Mapping[str, Any]], None] | None = None  # gets the tape's last line

    # -- upstream's side

    async def ask(self) -> Reply:
        """Send the request up; the answer is on the tape from its head on."""
        outgoing = self.outgoing
        if outgoing.body.problem is not None:
            raise Faulted(outgoing.body.problem)
        if self.chat is not None:
            self._reply = await self._ask_in_chat(self.chat)
        else:
            self._reply = await self._send(outgoing.incoming.method, outgoing.url, outgoing.body.data)
        reply = self._reply
        self.recording.status(self.clock(), "upstream", reply.status, reply.headers, self._chain())
        return reply

    async def _ask_in_chat(self, chat: ChatTurn) -> Reply:
        """One turn of a chat. If upstream has lost the chat, it starts over with the whole conversation."""
        if chat.found is not None:
            reply = await self._turn(chat, chat.place)
            head = await reply.peek(_first_event if reply.status == 200 else _whole)
            if not chat.kind.lost(reply.status, head):
                return reply
            reply.close()
            lost = note("session-lost")
            self.note(lost.code, lost.level, lost.message)
            chat = self.chat = chat.anew()
        return await self._turn(chat, Place(await self._begin_chat(chat)))

    async def _turn(self, chat: ChatTurn, place: Place) -> Reply:
        call = chat.call(place)
        self.sent_place = place
        return await self._send("POST", address(chat.upstream, call.path, call.query), as_bytes(call))

    async def _begin_chat(self, chat: ChatTurn) -> str:
        """The id of a new chat. Raises Faulted where upstream gives none."""
        call = chat.begin()
        reply = await self._send("POST", address(chat.upstream, call.path, call.query), as_bytes(call))
        self._reply = reply
        body = await reply.peek(_whole)
        id = chat.kind.chat_in(json_object(body)) if 200 <= reply.status < 300 else None
        if id is None:
            self.recording.status(self.clock(), "upstream", reply.status, reply.headers)
            status = reply.status if 400 <= reply.status < 600 else 502
            why = "did not begin a chat"
            fault = of_answer(status, body, chat.upstream.name, why=why)
            raise Faulted(fault if status != reply.status else refused(status, body, chat.upstream.name))
        reply.close()
        self._reply = None
        return id

    async def _send(self, method: str, url: str, body: bytes) -> Reply:
        """Send it, with retries where they may help, as often as the settings say. No byte of an answer has
        been read by then."""
        upstream = self.outgoing.upstream
        tries = find_kind(upstream.kind).retries if upstream.retries is None else upstream.retries
        for again in range(tries, -1, -1):
            wait = _BACKOFF * 2 ** (tries - again)
            try:
                reply = await self._upstream_client.send(upstream, method, url, self.outgoing.headers, body)
            except Faulted as broken:
                if not again or broken.fault.permanent:
                    raise
                reason = broken.fault.message
            else:
                if not again or reply.status not in _PASSING:
                    return reply
                reason, wait = status_text(reply.status), _wait(reply, wait)
                reply.close()
            found = note("upstream-retried", reason=reason)
            self.note(found.code, found.level, found.message)
            await asyncio.sleep(wait)
        raise AssertionError("the last try returns or raises")

    async def read_whole(self, reply: Reply, limit: int) -> bytes:
        """The whole body, one read on the tape however it came; the part beyond the limit is not read."""
        parts: list[bytes] = []
        size = 0
        try:
            async for data in reply.reads():
                parts.append(data)
                size += len(data)
                if size > limit:
                    break
        finally:
            body = b"".join(parts)
            if body:
                self.recording.read(self.clock(), body)
        return body

    async def refusal(self, reply: Reply) -> Fault:
        """What an unsuccessful answer says: its status, and its body."""
        body = await self.read_whole(reply, LONGEST_ERROR)
        name = self.outgoing.upstream.name
        where = first(reply.headers, "location")
        if 300 <= reply.status < 400 and where is not None:
            message = f"the upstream {name} redirects to {where}. Put that address into its url."
            return Fault(502, message, code="redirect", permanent=True)
        if not 400 <= reply.status < 600:  # a status that does not tell a client what to do
            return of_answer(502, body, name, why=f"answered with status {reply.status}")
        return refused(reply.status, body, name)

    def close(self) -> None:
        """Give upstream's connection back."""
        if self._reply is not None:
            self._reply.close()

    # -- the client's side

    async def answer_fault(self, fault: Fault) -> None:
        """An HTTP answer that says what went wrong: upstream's own where it gave one that clients read, with
        its own headers (Retry-After) either way."""
        kept = [] if self._reply is None else headers_for_client(self._reply.headers)
        headers = [pair for pair in kept if pair[0] not in _NOT_OF_A_FAULT]
        if fault.permanent:
            headers.append(("x-should-retry", "false"))
        said = self._error(fault)
        headers += [pair for pair in said.headers if first(headers, pair[0]) is None]
        headers.append(("content-type", said.type))
        await self.client.answer(said.status, headers, said.body, "proxy")

    def _error(self, fault: Fault) -> ErrorAnswer:
        """In the words of the client's API."""
        incoming, recipe = self.outgoing.incoming, self.recipe
        frontend = incoming.frontend
        if frontend is None or frontend.relays or (recipe is None and fault.original is not None):
            return ErrorAnswer(fault.status, fault.body if fault.original is None else fault.original)
        if recipe is None:
            return frontend.error(fault.status, fault.error, fault.permanent)
        setting = recipe.stream("none").setting
        return setting.error(fault.status, fault.error, fault.permanent, incoming.wants_stream)

    # -- the tape

    def note(self, code: str, level: str, message: str, where: str = "proxy") -> None:
        """A finding of the proxy's own; the transformer's are in its summary."""
        self._findings[code] += 1
        self.recording.finding(self.clock(), code, level, message, where)

    def note_fault(self, fault: Fault) -> None:
        if fault.is_noted:
            return
        if fault.answered is None:
            self.note("upstream-fault", "error", fault.message)
        else:
            self.note("upstream-status", "error", f"{status_text(fault.answered)}: {fault.message}")
        for code, level, message in fault.findings:
            self.note(code, level, message)

    def end(self, how: End, summary: dict[str, Any] | None = None, error: object = None) -> None:
        """The tape's last line; only the first one counts."""
        if self._ended:
            return
        self._ended = True
        told = dict(summary or {})
        told["findings"] = dict(self._findings + Counter(told.get("findings") or {}))
        if error is not None:
            told["error"] = error
        if (chain := self._chain()) is not None:
            told["chat"] = chain
        self.recording.end(self.clock(), how, **told)
        if self.on_end is not None:
            self.on_end(self, told)

    def _chain(self) -> dict[str, Any] | None:
        """Which turn of which chat this is, as far as known; None if upstream keeps no chats."""
        chat, sent = self.chat, self.sent_place
        if chat is None or sent is None:
            return None
        begun = "lost" if chat.lost else "new" if chat.found is None else "known"
        chain = {"id": sent.chat, "parent": sent.parent, "turn": chat.number, "began": begun}
        return chain | ({"response": self.place.response} if self.place is not None else {})

    # -- from outside

    def leave(self) -> None:
        """The client went away: the rest is not needed."""
        if not self.client.over:
            self.client_left = True
            self._cancel()

    def interrupt(self, fault: Fault) -> None:
        """End it now, with an error for the client."""
        if not self.client.over and self._interrupted is None:
            self._interrupted = fault
            self._cancel()

    def _cancel(self) -> None:
        if self.task is not None:
            self.task.cancel()

    @property
    def why_cancelled(self) -> str:
        return "the client went away" if self.client_left else "the proxy was stopped"

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """While it runs: an interruption is reported as a fault; if the client left, the task is
        cancelled."""
        try:
            yield
        except asyncio.CancelledError:
            if self._interrupted is None or self.client_left:
                raise
            if self.task is not None:
                self.task.uncancel()
            raise Faulted(self._interrupted) from None
