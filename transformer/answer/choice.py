"""A choice of an answer: its machines, its calls, and what the client knows of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson

from transformer.answer.recognition import AutoMachine
from transformer.answer.setting import Setting, call_ids
from transformer.answer.thoughts import ThoughtFilter, ThoughtSplitter
from transformer.frontends.frontend import ClientWriter
from transformer.journal import Journal, Text
from transformer.jsonscan import JsonScanner
from transformer.parser.dialect import Dialect, Notices
from transformer.parser.machine import Machine
from transformer.parser.output import Arguments, Begin, Complete, Piece, Refusal, merged
from transformer.records import DeltaKind, Span
from transformer.values.fitting import misfits, parse


class CallIds:
    """Gives each call its id."""

    __slots__ = ("_setting", "_used")

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._used: set[str] = set()

    def use(self, id: str) -> None:
        """An id that upstream gave to a call of its own."""
        self._used.add(id)

    def give(
        self, dialect: Dialect, written: str | None, number: int, index: int, answer: str
    ) -> tuple[str, str | None]:
        """The id of a call, and why it is not the one that was written, if that is worth telling.

        By default ids are made from the answer's id, so no two answers share one.
        """
        why = None
        if dialect.ids == "generated" or self._setting.frontend.own_ids:
            id = (self._setting.ids or call_ids(answer))(number)
        elif written and written not in self._used:
            id = written
        else:
            why = f"the id {written!r} was used before" if written else "the call has no id"
            id = f"call_{index}_{int(self._setting.now)}"
            while id in self._used:
                id += "_"
        self._used.add(id)
        return id, why

    def clone(self) -> CallIds:
        twin = CallIds(self._setting)
        twin._used = set(self._used)
        return twin


CUT = ("length", "content_filter")
_CONTENT = ("content",)
_THOUGHT = ("reasoning_content",)
_NOTHING = (None, "")


def finish_reason(said: str | None, calls: bool, upstream: bool) -> str:
    """`upstream` wants what upstream said, as far as it said something."""
    usual = "tool_calls" if calls else "stop"
    if said in _NOTHING:
        return usual
    if upstream or said in CUT:
        return said or usual
    # A client loops on tool_calls without a call, and stops on stop with one.
    return usual if said in ("stop", "tool_calls") else said or usual


def contradiction(said: str | None, given: str) -> str | None:
    """Why the client gets another reason, where a person should know. Stop becoming tool_calls is usual."""
    if said in (*_NOTHING, given, "stop"):
        return None
    return "there is no call" if said == "tool_calls" else "there is one"


def _nothing(text: str) -> None:
    """There is nothing to notice in a text that is not parsed."""


class MessageCall:
    """One call of the message."""

    __slots__ = ("arguments", "extra", "id", "name")

    def __init__(self, id: str, name: str) -> None:
        self.id = id
        self.name = name
        self.arguments = Text()
        self.extra: dict[str, Any] = {}

    @property
    def is_complete(self) -> bool:
        try:
            return isinstance(orjson.loads(str(self.arguments)), dict)
        except orjson.JSONDecodeError:
            return False

    def build(self) -> dict[str, Any]:
        function = {"name": self.name, "arguments": str(self.arguments)}
        return {"id": self.id, "type": "function", "function": function, **self.extra}

    def clone(self) -> MessageCall:
        twin = MessageCall(self.id, self.name)
        twin.arguments, twin.extra = self.arguments.clone(), self.extra
        return twin


class Message:
    """Grows with the answer."""

    __slots__ = ("calls", "other", "role", "texts")

    def __init__(self) -> None:
        self.role = "assistant"
        self.texts: dict[str, Text] = {}  # content, reasoning, reasoning_content
        self.calls: dict[int, MessageCall] = {}
        self.other: dict[str, Any] = {}

    def say(self, fields: tuple[str, ...], text: str) -> None:
        for field in fields:
            if field not in self.texts:
                self.texts[field] = Text()
            self.texts[field].append(text)

    def add(self, delta: dict[str, Any]) -> None:
        """A delta that went on as upstream sent it."""
        for field, value in delta.items():
            if field == "tool_calls" and isinstance(value, list):
                self._native(value)
            elif field == "content" and isinstance(value, list):
                texts = [part.get("text") for part in value if isinstance(part, dict)]
                self.say(("content",), "".join(text for text in texts if isinstance(text, str)))
            else:
                self.other[field] = value

    def _native(self, calls: list[Any]) -> None:
        for position, call in enumerate(calls):
            if not isinstance(call, dict):
                continue
            index = call.get("index")
            index = index if isinstance(index, int) else position
            function = call.get("function")
            function = function if isinstance(function, dict) else {}
            known = self.calls.get(index)
            if known is None:
                known = self.calls[index] = MessageCall("", "")
            known.id = known.id or str(call.get("id") or "")
            known.name = known.name or str(function.get("name") or "")
            known.arguments.append(str(function.get("arguments") or ""))

    def text(self, field: str) -> str:
        return str(self.texts[field]) if field in self.texts else ""

    def build(self) -> dict[str, Any]:
        message: dict[str, Any] = {"role": self.role, "content": self.text("content") or None}
        for field in self.texts:
            if field != "content" and (text := self.text(field)):
                message[field] = text
        # What is not a text must not take the place of one.
        message.update({field: value for field, value in self.other.items() if not self.text(field)})
        if self.calls:
            message["tool_calls"] = [self.calls[index].build() for index in sorted(self.calls)]
        return message

    def clone(self) -> Message:
        twin = Message()
        twin.role, twin.other = self.role, dict(self.other)
        twin.texts = {field: text.clone() for field, text in self.texts.items()}
        twin.calls = {index: call.clone() for index, call in self.calls.items()}
        return twin


class Choice:
    """Takes the text of its channels and tells the client, in order, what became of it."""

    __slots__ = (
        "_fields",
        "_filters",
        "_ids",
        "_left_out",
        "_machines",
        "_natives",
        "_natives_alone",
        "_offsets",
        "_splitter",
        "_whole",
        "calls",
        "client",
        "complete",
        "decided",
        "dialect",
        "expected",
        "finish_event",
        "finished",
        "index",
        "journal",
        "message",
        "next_index",
        "number",
        "policy",
        "refused",
        "said",
        "setting",
        "spoke",
        "tools",
        "tools_known",
        "upstream_finish",
        "wanted",
    )  # fmt: skip

    def __init__(
        self, index: int, setting: Setting, client: ClientWriter, journal: Journal, number: Callable[[], int]
    ) -> None:
        self.index = index
        self.setting = setting
        self.dialect = setting.dialect  # another one, once the answer has shown which
        self.decided = not setting.dialect.chooses  # the answer has its dialect, and keeps it
        self.expected = setting.expected
        self.policy = setting.policy
        self.wanted = setting.wanted
        self.tools = setting.tools
        self.tools_known = setting.tools_known
        self.client = client
        self.journal = journal
        self.number = number  # of the next call, counted over all choices
        self._machines: dict[str, Machine | None] = {}
        self._fields: dict[str, tuple[str, ...]] = {}
        self._offsets: dict[str, int] = {}
        self._filters: dict[str, ThoughtFilter] = {}  # by channel: what keeps its thoughts from its machine
        self._splitter: ThoughtSplitter | None = None  # where thoughts of the content become reasoning
        self._ids = CallIds(setting)
        self.message = None if journal.keep == "none" else Message()
        self._whole: dict[int, JsonScanner] = {}  # where there is no message: arguments on their way
        self._left_out: set[str] = set()  # fields that the client's API has no place for
        self.said = False  # some text reached the client
        self.spoke = False  # some did since this was last reset
        self.next_index = 0
        self.calls = 0  # that reached the client
        self.complete = 0  # of these, with all their arguments
        self._natives_alone = Message()
        self._natives: dict[int, int] = {}  # upstream's own calls: our index by theirs
        self.refused: str | None = None
        self.finished: str | None = None  # the finish_reason the client got
        self.upstream_finish: str | None = None
        self.finish_event: tuple[dict[str, Any], dict[str, Any]] | None = None

    # -- text in

    def text(self, channel: str, fields: tuple[str, ...], text: str) -> None:
        self._fields[channel] = fields
        try:
            machine = self._machines[channel]
        except KeyError:
            machine = self._machines[channel] = self._machine(channel)
        if machine is None:
            start = self._offsets[channel]
            self._offsets[channel] = start + len(text)
            self._say(channel, fields, start, text)
            return
        if self._filters and channel in self._filters:
            self._filters[channel].feed(machine, text)
        else:
            machine.feed(text)
        if machine.out:
            self._deliver(machine)

    def notices(self, channel: str, fields: tuple[str, ...]) -> Notices | None:
        """The test that says whether a text of this channel must be parsed; None if every text must be."""
        if channel not in self._machines:
            return None
        machine = self._machines[channel]
        if machine is None:
            return _nothing
        moved = self.policy.text_channel == "content" and fields != _CONTENT
        notices = None if moved or self._splitter is not None else machine.notices
        if notices is None or channel not in self._filters:
            return notices
        return self._filters[channel].notices(notices)

    def said_at_once(self, channel: str, text: str) -> None:
        """Text that the client has already, in the fields in which the channel's text last came."""
        machine = self._machines[channel]
        if machine is None:
            self._offsets[channel] += len(text)
        else:
            machine.passed_on(text)
        self.said = True
        if self.message is not None:
            self.message.say(self._fields[channel], text)

    def _machine(self, channel: str) -> Machine | None:
        """A channel that the policy does not parse goes on as it is."""
        parsed = "reasoning" if channel.startswith("reasoning") else channel
        self._offsets[channel] = 0
        policy = self.policy if self.decided else self.setting.policy
        if not self.setting.converts or parsed not in (policy.channels or ()):
            return None
        if channel == "content":
            follows = self.policy.in_think == "text" and not self.dialect.has_thoughts
            if follows or not self.decided:
                self._filters[channel] = ThoughtFilter()
            if self.policy.reasoning == "split":
                self._splitter = ThoughtSplitter()
        if self.decided:
            return Machine(self.dialect, self, channel)
        return AutoMachine(self.setting.dialect, self, channel)

    def fields(self, channel: str) -> tuple[str, ...]:
        """The fields in which the channel's text last came, and in which it goes on."""
        return self._fields.get(channel, (channel,))

    def end(self) -> None:
        """The answer is over: decides what becomes of held-back text."""
        for channel, machine in self._machines.items():
            if machine is not None and not self.refused:
                if channel in self._filters:
                    self._filters[channel].finish(machine)
                machine.finish()
                self._deliver(machine)
                self._end_thought(channel, machine)

    def _end_thought(self, channel: str, machine: Machine) -> None:
        if self._splitter is not None and channel == "content":
            for said in self._splitter.rest(machine.pos):
                self._say(channel, _THOUGHT if said.thought else ("content",), said.start, said.text)

    @property
    def has_complete_call(self) -> bool:
        """A client may have run a tool by now: it does so as soon as the arguments are whole."""
        if self.complete or any(call.whole for call in self._whole.values()):
            return True
        calls = (self.message or self._natives_alone).calls.values()
        return any(call.is_complete for call in calls)

    @property
    def has_half_call(self) -> bool:
        """The client has the beginning of a call whose arguments are not whole."""
        if any(not call.whole for call in self._whole.values()):
            return True
        calls = (self.message or self._natives_alone).calls.values()
        return any(not call.is_complete for call in calls)

    def completed(self) -> dict[str, Any]:
        message = {} if self.message is None else self.message.build()
        return {"index": self.index, "message": message, "finish_reason": self.finished}

    @property
    def unaccounted(self) -> int:
        """Nothing is open after a refusal: its finding says that the answer ended there."""
        if self.refused:
            return 0
        return sum(machine.held for machine in self._machines.values() if machine is not None)

    # -- what machines ask

    @property
    def was_cut(self) -> bool:
        """Upstream says that the answer is not whole: then nothing can be known of its end."""
        return self.upstream_finish in CUT

    def adopt(self, dialect: Dialect) -> None:
        """The answer turned out to be written in this dialect, and keeps it to its end."""
        self.expect(dialect)
        self.decided = True

    def expect(self, dialect: Dialect) -> None:
        """The answer is read in this dialect so far: its defaults apply."""
        self.dialect = dialect
        self.policy = replace(self.setting.wanted.over(dialect.policy), calls=self.setting.calls(dialect))

    def rejects(self, name: str) -> bool:
        """A call to this tool is text."""
        return self.policy.unknown_tools == "text" and self.tools_known and name not in self.tools

    def refuses(self, name: str) -> bool:
        """A call to this tool is an error. A call that is dropped anyway, after the first, is not."""
        if self.policy.calls == "first" and self.calls:
            return False
        return self.policy.unknown_tools == "error" and self.tools_known and name not in self.tools

    def admit(self, m: Machine, name: str, id: str | None, start: int, end: int) -> tuple[int, str] | None:
        """A place and an id for a call; None if the client must not get it."""
        if self.policy.calls == "first" and self.calls:
            return None
        if self.refuses(name):
            m.found("refused-tool", start, end, tool=name)
            m.out.append(Refusal(name))
            return None
        if self.tools_known and name not in self.tools:
            m.found("unknown-tool", start, end, tool=name)
        if not self.decided:
            said = f"the answer has a call of it, and the model is called {self.setting.model}"
            m.found("dialect-chosen", start, start, dialect=m.dialect.name, why=said)
            self.adopt(m.dialect)
        index = self.next_index
        self.next_index += 1
        self.calls += 1
        new, why = self._ids.give(m.dialect, id, self.number(), index, self.client.answer_id)
        if why is not None:
            m.found("generated-id", start, end, reason=why, new=new)
        return index, new

    # -- what the client gets

    def _deliver(self, m: Machine) -> None:
        channel = m.channel
        for op in merged(m.out) if len(m.out) > 1 else m.out:
            if isinstance(op, Piece):
                self._prose(channel, op)
            elif isinstance(op, Arguments):
                self._arguments(channel, op)
            elif isinstance(op, Begin):
                self._begin(channel, op)
            elif isinstance(op, Refusal):
                self.refused = op.tool
                break
            else:
                self._complete(m, op)
        m.out.clear()

    def _prose(self, channel: str, op: Piece) -> None:
        fields = self._fields[channel]
        if self.policy.text_channel == "content":
            fields = _CONTENT
        elif op.thought and channel == "content":
            fields = _THOUGHT
        if self._splitter is None or channel != "content" or op.thought:
            self._say(channel, fields, op.start, op.text)
            return
        for said in self._splitter.parts(op.start, op.text):
            if said.is_tag:
                span = self._span(channel, said.start, said.start + len(said.text))
                self.journal.found("thought-split", span, tag=said.text)
            else:
                self._say(channel, _THOUGHT if said.thought else fields, said.start, said.text)

    def _say(self, channel: str, fields: tuple[str, ...], start: int, text: str) -> None:
        self.said = self.spoke = True
        self.client.text(self.index, fields, text)
        if self.message is not None:
            self.message.say(fields, text)
        if self.journal.all:
            kind: DeltaKind = "content" if fields[0] == "content" else "reasoning"
            self.journal.sent(kind, self.index, text, self._span(channel, start, start + len(text)))

    def _begin(self, channel: str, op: Begin) -> None:
        self.client.begin(self.index, op.call, op.id, op.name)
        if self.message is not None:
            self.message.calls[op.call] = MessageCall(op.id, op.name)
        if self.journal.all:
            span = self._span(channel, op.start, op.end)
            self.journal.sent("call", self.index, "", span, op.call, op.name, op.id)

    def _arguments(self, channel: str, op: Arguments) -> None:
        self.client.arguments(self.index, op.call, op.text)
        if self.message is not None:
            self.message.calls[op.call].arguments.append(op.text)
        else:
            if op.call not in self._whole:
                self._whole[op.call] = JsonScanner()
            self._whole[op.call].feed(op.text)
        if self.journal.all:
            span = self._span(channel, op.start, op.end)
            self.journal.sent("arguments", self.index, op.text, span, op.call)

    def _complete(self, m: Machine, op: Complete) -> None:
        """The client may run the call from here on. JSON written by the model may be invalid."""
        self.complete += 1
        self.client.complete(self.index, op.call)
        if self.message is not None:
            self._check(m, op, self.message.calls[op.call])

    def _check(self, m: Machine, op: Complete, call: MessageCall) -> None:
        """Say what keeps a client from using the call: no JSON, a parameter missing or of another type."""
        if m.dialect.own_json and not call.is_complete:
            m.found("invalid-arguments", op.start, op.end, tool=call.name)
            return
        tool = self.tools.get(call.name)
        value, _ = parse(str(call.arguments))
        for misfit in misfits(tool, value) if tool is not None and isinstance(value, dict) else ():
            place = (op.start, op.end)
            if not misfit.given:
                m.found("missing-parameter", *place, parameter=misfit.parameter, tool=call.name)
            elif m.dialect.own_json:  # otherwise it was reported when the value was read
                m.found("value-not-of-type", *place, parameter=misfit.parameter, wanted=misfit.wanted)

    def role(self) -> None:
        """Upstream's first delta may hold nothing but the role."""
        if self.client.role(self.index):
            self.journal.sent("role", self.index)

    def pass_on(self, delta: dict[str, Any]) -> None:
        """What is not ours to change: native calls, and fields we don't know."""
        calls = delta.get("tool_calls")
        if isinstance(calls, list) and calls:
            delta = {**delta, "tool_calls": self._native(calls)}
        if self.message is not None:
            self.message.add(delta)
        elif calls:
            # Kept even if nothing else is: whether a call is complete decides how a fault ends.
            self._natives_alone.add({"tool_calls": delta["tool_calls"]})
        for field in self.client.passed(self.index, delta):
            self._not_carried(field)
        self.journal.sent("native" if calls else "other", self.index)

    def _not_carried(self, field: str) -> None:
        if field not in self._left_out:
            self._left_out.add(field)
            self.journal.found("field-not-carried", field=field, frontend=self.setting.frontend.name)

    def _native(self, calls: list[Any]) -> list[Any]:
        """Calls that upstream sends itself go on unchanged, except for an index that is already taken."""
        if not self._natives and self.setting.converts:
            self.journal.found("native-calls")
        return [self._native_call(call, place) for place, call in enumerate(calls)]

    def _native_call(self, call: Any, place: int) -> Any:
        if not isinstance(call, dict):
            return call
        given = call.get("index")
        index = given if type(given) is int else place
        if index not in self._natives:
            self._natives[index] = max(index, self.next_index)
            self.next_index = self._natives[index] + 1
            self.calls += 1
            call = self._own_id(call, index)
        elif self.setting.frontend.own_ids:
            call = {key: value for key, value in call.items() if key != "id"}
        ours = self._natives[index]
        return call if ours == index else {**call, "index": ours}

    def _own_id(self, call: dict[str, Any], index: int) -> dict[str, Any]:
        """For a call of upstream's own: some clients must never see an id again."""
        if self.setting.frontend.own_ids:
            return {**call, "id": self._ids.give(self.dialect, None, self.number(), index, "")[0]}
        self._ids.use(str(call.get("id")))
        return call

    def _span(self, channel: str, start: int, end: int) -> Span:
        return Span(self.index, channel, start, end, self.journal.event)

    # -- how it ends

    def _reason(self) -> str:
        upstream = not self.setting.converts or self.policy.finish_reason == "upstream"
        said, given = self.upstream_finish, finish_reason(self.upstream_finish, bool(self.calls), upstream)
        why = contradiction(said, given)
        if why is not None:
            self.journal.found("finish-contradicts", said=said, given=given, why=why)
        if self.was_cut and self.calls and not self.setting.raw:
            self.journal.found("cut-after-call", said=said)
        return given

    def finish(self) -> None:
        if self.finish_event is not None:
            self.client.envelope, self.client.part = self.finish_event
            self.client.shape = None
        reason = self.finished = self._reason()
        self.client.finish(self.index, reason)
        self.journal.sent("finish", self.index, reason)
        if not self.said and not self.calls and self.setting.converts:
            self.journal.found("empty-turn")

    def close(self) -> None:
        for machine in self._machines.values():
            if machine is not None:
                machine.close()
        self._machines.clear()

    def clone(self, client: ClientWriter, journal: Journal, number: Callable[[], int]) -> Choice:
        twin = Choice.__new__(Choice)
        for slot in Choice.__slots__:
            setattr(twin, slot, getattr(self, slot))
        twin.client, twin.journal, twin.number = client, journal, number
        twin._fields, twin._offsets, twin._ids = dict(self._fields), dict(self._offsets), self._ids.clone()
        twin._left_out = set(self._left_out)
        twin._filters = {channel: one.clone() for channel, one in self._filters.items()}
        twin._splitter = None if self._splitter is None else self._splitter.clone()
        twin._whole = {index: whole.clone() for index, whole in self._whole.items()}
        twin._natives, twin._natives_alone = dict(self._natives), self._natives_alone.clone()
        twin._machines = {c: None if m is None else m.clone(twin) for c, m in self._machines.items()}
        if self.finish_event is not None:
            obj, part = self.finish_event
            twin.finish_event = (dict(obj), dict(part))
        twin.message = None if self.message is None else self.message.clone()
        return twin
