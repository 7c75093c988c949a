"""A call whose parameters are tags, `<name>value</name>` or `<parameter=name>value</parameter>`.

The hard question of this grammar is where a value ends, because a value may contain anything, its own
closing tag included. A closing tag ends the value only if structure follows it, so what is read after it
waits in the call's *region* until that is decided; nothing is ever read twice. What a dialect adds is its
tokens, its table and its few actions; the guards and actions that all of them share are below.
"""

from __future__ import annotations

from typing import NamedTuple

from transformer.journal import Text
from transformer.jsonscan import JsonScanner, members, parsed
from transformer.parser.dialect import guard
from transformer.parser.machine import Machine, size_of
from transformer.parser.opencall import OpenCall
from transformer.parser.output import Arguments, Complete
from transformer.values.convert import Kind, Reading, convert
from transformer.values.literals import quote
from transformer.values.schema import Tool

NAME_LIMIT = 256  # a longer "name" is text: nothing is held back for it without end

# -- the arguments


class Note(NamedTuple):
    """Something to tell about the value at `start`."""

    code: str
    start: int
    end: int
    values: dict[str, object]


class ArgumentText:
    """Give it parameters in order; it gives the JSON text that may leave, and the rest at `finish`.

    With `live`, parameters leave before the call is complete, and with `flow` a string leaves while
    it arrives. An array may be given several times, so from the first array on everything waits for the
    end of the call: order is kept. Whole and live use the same code, so they cannot disagree.

    A parameter that the tool does not know and that is one of `wrappers` may hold all arguments: where it is
    the only one and an object of the tool's own parameters, that object is the arguments.
    """

    __slots__ = (
        "_blocked", "_flow", "_given", "_kind", "_live", "_open", "_reading", "_streamed", "_tail", "_tool",
        "_wrappers", "_written", "body", "notes",
    )  # fmt: skip

    def __init__(
        self, tool: Tool | None, live: bool, flow: bool, reading: Reading, wrappers: tuple[str, ...] = ()
    ) -> None:
        self._tool = tool
        self._reading = reading
        self._wrappers = wrappers
        self._live = live
        self._flow = live and flow
        self._given: dict[str, list[_Given]] = {}
        self._kind: Kind = ""  # what the tag of the open parameter says about its value
        self._written: set[str] = set()
        self._blocked = not live
        self._open = False  # a string is being streamed
        self._tail = ""  # its end, which may still be the newline before a tag
        self._streamed = -1  # its characters that left; -1 before its first
        self.body: str | None = None  # JSON text that stands for all parameters
        self.notes: list[Note] = []

    def open(self, name: str, kind: Kind = "") -> str:
        """A parameter begins."""
        self._kind = kind
        self._blocked = self._blocked or self._wraps(name)
        text = self._reading.is_text(self._tool, name, kind)
        self._open = self._flow and not self._blocked and text and name not in self._given
        if not self._open:
            return ""
        self._tail, self._streamed = "", -1
        return self._comma() + quote(name) + ':"'

    def text(self, text: str) -> str:
        """More of the open value, certain to be data."""
        if not self._open:
            return ""
        tail = self._tail + text
        if self._streamed < 0 and not self._reading.verbatim:
            if tail in ("", "\r"):
                self._tail = tail
                return ""
            tail = tail.removeprefix("\r\n") if tail.startswith("\r\n") else tail.removeprefix("\n")
        self._streamed = max(0, self._streamed)
        keep = 2 if tail.endswith("\r\n") else 1 if tail.endswith(("\n", "\r")) else 0
        body = tail[: len(tail) - keep]
        self._tail = tail[len(body) :]
        self._streamed += len(body)
        return quote(body)[1:-1]

    def close(self, name: str, raw: str, start: int) -> str:
        """A parameter is complete: its raw text, and where that begins."""
        given = _Given(raw, start, self._kind)
        if self._open:
            self._open = False
            self._given[name] = [given]
            self._written.add(name)
            return quote(self._reading.text(raw)[max(0, self._streamed) :])[1:]
        if name in self._given:
            self._repeat(name, given)
            return ""
        self._given[name] = [given]
        self._blocked = self._blocked or self._repeats(name)
        return "" if self._blocked else self._write(name)

    def finish(self) -> str:
        """The call is complete: what has not left yet, and the closing brace."""
        if self.body is not None:
            return self.body
        if len(self._given) == 1 and not self._written and (inner := self._unwrapped()):
            return inner
        rest = "".join(self._write(name) for name in self._given if name not in self._written)
        return rest + "}" if self._written else "{}"

    def _unwrapped(self) -> str | None:
        (name, given), *_ = self._given.items()
        return inner_arguments(given[0].raw, self._tool) if self._wraps(name) else None

    def _wraps(self, name: str) -> bool:
        return name in self._wrappers and self._tool is not None and not self._tool.knows(name)

    def _repeat(self, name: str, given: _Given) -> None:
        if self._repeats(name):
            self._given[name].append(given)
        else:
            start, end = given.start, given.start + len(given.raw)
            self.notes.append(Note("duplicate-parameter", start, end, {"parameter": name}))

    def _repeats(self, name: str) -> bool:
        return self._tool is not None and self._tool.repeats(name)

    def _comma(self) -> str:
        return "," if self._written else "{"

    def _write(self, name: str) -> str:
        comma = self._comma()
        self._written.add(name)
        return f"{comma}{quote(name)}:{self._value(name)}"

    def _value(self, name: str) -> str:
        given = self._given[name]
        value = self._reading.value([one.raw for one in given], self._tool, name, given[0].kind)
        if not value.fits:
            start, end = given[0].start, given[-1].start + len(given[-1].raw)
            self.notes.append(
                Note("value-not-of-type", start, end, {"parameter": name, "wanted": value.wanted})
            )
        return value.json

    @property
    def is_verbatim(self) -> bool:
        return self._reading.verbatim

    def of_tool(self, tool: Tool | None) -> ArgumentText:
        """The same without any parameter, for another tool."""
        return ArgumentText(tool, self._live, self._flow, self._reading, self._wrappers)

    def clone(self) -> ArgumentText:
        twin = self.of_tool(self._tool)
        twin._given = {name: texts.copy() for name, texts in self._given.items()}
        twin._written = self._written.copy()
        twin._blocked, twin._open, twin._kind = self._blocked, self._open, self._kind
        twin._tail, twin._streamed, twin.body = self._tail, self._streamed, self.body
        twin.notes = self.notes.copy()
        return twin


def unwrapped(text: str, tool: Tool | None, wrappers: tuple[str, ...]) -> str:
    """The JSON text of arguments, without an object around it whose only key is one of the wrappers."""
    found = members(text) or []
    if len(found) != 1 or found[0].key not in wrappers or tool is None or tool.knows(found[0].key):
        return text
    return inner_arguments(found[0].raw, tool) or text


def inner_arguments(raw: str, tool: Tool | None) -> str | None:
    """The text as an object of this tool's parameters, perhaps written as a JSON string."""
    bare = raw.strip()
    if bare.startswith('"'):
        try:
            value = parsed(bare)
        except (ValueError, RecursionError):
            return None
        bare = value.strip() if isinstance(value, str) else ""
    found = members(bare)
    known = found is not None and tool is not None and all(tool.knows(member.key) for member in found)
    return bare if known else None


class _Given(NamedTuple):
    """A parameter's raw text, where it begins, and what its tag said about it."""

    raw: str
    start: int
    kind: Kind


# -- the call

AS_LINES = Reading()


class Split(NamedTuple):
    """A parameter's tag inside an open value, which ends at `end` then; its own value begins at `begin`."""

    key: str
    end: int
    begin: int
    kind: Kind


class TagCall(OpenCall):
    """The registers of an open call of a dialect whose parameters are tags.

    Text of the call is kept in two parts: `past` is certain, `region` is the open value and what
    may follow it. Offsets inside the region begin at the value's first character.
    `end` is where the value ends if structure follows, `ahead` the elements looked ahead into
    (their name, the end of the value if they turn out to be parameters, and where their own begins);
    `elements` those of them that turned out to be whole (their name, where their value begins and ends).
    `splits` are tags of parameters in the value before which a closing tag may be missing.
    """

    __slots__ = (
        "ahead", "arguments", "call_closer", "close_size", "closer", "depth", "elements", "end", "given",
        "json", "key_start", "leads", "offered", "pair", "past", "region", "region_start", "splits",
        "tool", "unsent",
    )  # fmt: skip

    def __init__(
        self,
        m: Machine,
        name: str,
        start: int,
        live: bool = True,
        closer: str | None = None,
        call_closer: str | None = None,
        reading: Reading = AS_LINES,
        wrappers: tuple[str, ...] = (),
        leads: bool = True,
    ) -> None:
        super().__init__(m, name, start, live)
        self.leads = leads  # its tag is the first on its line
        self.closer = closer
        self.call_closer = call_closer or f"</{name}>"
        self.tool: Tool | None = m.tool(name)
        self.offered = self.tool is not None
        # A repair may end a value before what was read last, so there none leaves before its end.
        flow = m.choice.policy.malformed != "repair"
        self.arguments = ArgumentText(self.tool, self.live, flow, reading, wrappers)
        self.past = Text()
        self.region = Text()
        self.region_start = start
        self.unsent = Text()  # of the open value: read, but not yet certain to be data
        self.given: set[str] = set()
        self.key_start = start  # where the tag of the open parameter begins
        self.end = -1
        self.close_size = 0  # characters of the closing tag at `end`
        self.ahead: dict[str, tuple[int, int]] = {}
        self.elements: list[tuple[str, int, int]] = []
        self.splits: list[Split] = []
        self.depth = 0  # nested examples of this call that are open in the value
        self.pair: int | None = None  # the first end of the value inside an example
        self.json: JsonScanner | None = None  # of arguments that are one JSON object

    def add(self, text: str) -> None:
        self.region.append(text)
        self.size += size_of(text)
        if self.live:
            self.unsent.append(text)

    def rename(self, m: Machine, name: str) -> None:
        """It is another tool's, of which the client knows nothing yet."""
        self.name, self.tool = name, m.tool(name)
        self.offered = self.tool is not None
        self.arguments = self.arguments.of_tool(self.tool)

    def before_newline(self, end: int) -> int:
        """Where a value without its closing tag ends: the newline before what follows is not part of it."""
        if not self.arguments.is_verbatim:
            return end  # it is removed there anyway
        region = str(self.region)[:end]
        return end - (2 if region.endswith("\r\n") else region.endswith("\n"))

    @property
    def closing_tag(self) -> str:
        """What ends the open value: the tag of its name, or the dialect's one word for all."""
        return self.closer or f"</{self.key}>"

    def raw(self) -> str:
        return str(self.past) + str(self.region)

    def open(self, m: Machine, key: str, kind: Kind = "") -> None:
        """All text read so far is certain, and the value of `key` begins after its tag."""
        self.past.append(str(self.region))
        self.region = Text()
        self.region_start = m.pos
        self.key = key
        self.end = -1
        self.ahead, self.elements, self.splits = {}, [], []
        self.depth = 0
        self.pair = None
        self.unsent = Text()
        if self.live and not self.begun:
            self.announce(m, m.pos)
        self._send(m, self.arguments.open(key, kind), m.pos)

    def stream(self, m: Machine) -> None:
        """More of the value was read; it may leave unless an end of the value is still in question."""
        if self.live and not (self.ahead or self.splits or self.depth or self.pair is not None):
            self._send(m, self.arguments.text(str(self.unsent)), m.pos)
            self.unsent = Text()

    flush = stream

    def stream_text(self, m: Machine, text: str) -> None:
        """The same with this text added, which leaves alone if nothing waits before it."""
        if self.unsent.size or self.ahead or self.splits or self.depth or self.pair is not None:
            self.unsent.append(text)
            self.stream(m)
        else:
            self._send(m, self.arguments.text(text), m.pos)

    def commit(self, m: Machine, end: int) -> str:
        """The open value ended at `end`; returns what follows it in the region."""
        region = str(self.region)
        self.given.add(self.key)
        sent = self.arguments.close(self.key, region[:end], self.region_start)
        self._send(m, sent, self.region_start + end)
        return region[end:]

    def cut_back(self, end: int) -> str:
        """Forget what was read of the open value from `end` on, and return it."""
        region = str(self.region)
        sent = len(region) - self.unsent.size
        self.region, self.unsent = Text(region[:end]), Text(region[sent:end])
        self.size -= size_of(region[end:])
        self.end, self.depth, self.pair = -1, 0, None
        self.ahead, self.elements, self.splits = {}, [], []
        return region[end:]

    def also(self, m: Machine, key: str, raw: str, start: int, kind: Kind = "") -> None:
        """A parameter that was looked ahead into and is now confirmed."""
        self.given.add(key)
        self._send(m, self.arguments.open(key, kind), start)
        self._send(m, self.arguments.close(key, raw, start), start + len(raw))

    def deliver(self, m: Machine, end: int) -> None:
        """The call is complete at `end`: the client gets it, and the machine forgets it."""
        if not self.begun:
            self.announce(m, m.pos)
        m.prose.call(end)
        rest = self.arguments.finish()
        if not self.dropped:
            m.out.append(Arguments(self.index, rest, self.start + self.settled, end))
            m.out.append(Complete(self.index, self.start, end))
            for note in self.arguments.notes:
                m.found(note.code, note.start, note.end, **note.values)
        self.close(m, end)
        m.prev = "\n"

    def _send(self, m: Machine, text: str, upto: int) -> None:
        if text and self.live and not self.dropped:
            start = self.start + self.settled
            m.out.append(Arguments(self.index, text, start, upto))
            m.settled += upto - start
            self.settled += upto - start

    @property
    def open_parts(self) -> dict[str, object]:
        """What is open at the end of the answer, for mending the call."""
        closed = self.end >= 0 and str(self.region).startswith(self.closing_tag, self.end)
        return {
            "parameter": self.key,
            "value_is_open": not self.depth and bool(self.ahead or not closed),
            "elements": tuple(self.ahead),
            "examples": self.depth,
        }

    def ends_itself(self, raw: str) -> bool:
        """The open value is whole without a closing tag: a number, a list, not text that may go on."""
        tool = self.tool
        if tool is None or not tool.knows(self.key) or tool.is_text(self.key):
            return False
        value = convert(raw, tool.properties[self.key], tool.parameters)
        return value.fits and not value.json.startswith('"')

    def clone(self) -> TagCall:
        twin = self.copied()
        assert isinstance(twin, TagCall)
        twin.arguments = self.arguments.clone()
        twin.past, twin.region, twin.unsent = self.past.clone(), self.region.clone(), self.unsent.clone()
        twin.given, twin.ahead = self.given.copy(), self.ahead.copy()
        twin.elements, twin.splits = self.elements.copy(), self.splits.copy()
        twin.json = None if self.json is None else self.json.clone()
        return twin


class TagMachine(Machine):
    """A machine that has such a call open."""

    __slots__ = ()
    call: TagCall


# -- guards


@guard("an example in the value has an end of the value in it")
def has_pair(m: TagMachine, name: str) -> bool:
    return m.call.pair is not None


@guard("an example inside the example is open")
def in_inner_example(m: TagMachine, name: str) -> bool:
    return m.call.depth > 1


def may_repair(m: TagMachine, key: str) -> bool:
    """The policy wants repairs, and the schema knows the parameter that is to be repaired."""
    tool = m.call.tool
    return m.choice.policy.malformed == "repair" and tool is not None and tool.knows(key)


# -- actions


def not_a_call(m: TagMachine, text: str, name: str) -> None:
    m.call.release(m)
    m.say(text)


def complete_call(m: TagMachine, text: str, name: str) -> None:
    """The call's closing tag: whatever follows it, the call is complete."""
    call = m.call
    if call.key:
        end_value(m)
    call.add(text)
    call.deliver(m, m.pos)


def open_parameter(m: TagMachine, text: str, name: str) -> None:
    m.call.add(text)
    m.call.open(m, name)
    m.call.key_start = m.pos - len(text)


def end_value(m: TagMachine) -> str:
    """The value ended where it could, and with it those that began in it; returns what follows it."""
    call = m.call
    splits, start = call.splits, call.region_start
    if not splits:
        return call.commit(m, call.end)
    region = str(call.region)
    tell_repaired(m, call.key, start, start + splits[0].end)
    call.commit(m, splits[0].end)
    for split, end in zip(splits, [*(split.end for split in splits[1:]), call.end], strict=True):
        if end != call.end:
            tell_repaired(m, split.key, start + split.begin, start + end)
        call.also(m, split.key, region[split.begin : end], start + split.begin, split.kind)
    return region[call.end :]


def tell_repaired(m: TagMachine, key: str, start: int, end: int) -> None:
    """The value from `start` to `end` lacks its closing tag."""
    m.found("repaired-parameter", start, end, parameter=key, closing=m.call.closing_tag)


def data(m: TagMachine, text: str, name: str) -> None:
    call = m.call
    call.end = -1
    # TagCall.add, spelled out: it runs for every delta of a long value.
    call.region.append(text)
    call.size += len(text) if text.isascii() else len(text.encode())
    if call.live:
        call.stream_text(m, text)


def maybe_end(m: TagMachine, text: str, name: str) -> None:
    """The value ends here, if structure follows."""
    m.call.end = m.call.region.size
    m.call.close_size = len(text)
    m.call.add(text)


def open_example(m: TagMachine, text: str, name: str) -> None:
    call = m.call
    call.end = -1
    call.depth += 1
    call.add(text)


def close_example(m: TagMachine, text: str, name: str) -> None:
    call = m.call
    call.depth -= 1
    call.add(text)


def close_in_example(m: TagMachine, text: str, name: str) -> None:
    """Inside an example the closing tag of the open value is data, but it is remembered."""
    call = m.call
    call.end = call.region.size if name in ("", call.key) else -1
    call.add(text)


def remember_end(m: TagMachine, text: str, name: str) -> None:
    """Structure follows it, still inside the example: the end after all, if no other comes."""
    call = m.call
    if call.pair is None and call.end >= 0:
        call.pair = call.end
    call.add(text)


def close_example_at_end(m: TagMachine, text: str, name: str) -> None:
    remember_end(m, text, name)
    m.call.depth -= 1


def read_from_pair(m: TagMachine, text: str, name: str) -> None:
    """The answer is over and the example never closed: the first end inside it was the end.

    From there the text is read again, and this time no example is honoured: it would only wait
    again for an end that cannot come.
    """
    call = m.call
    assert call.pair is not None
    start = call.region_start + call.pair
    m.found("ambiguous-end", start, m.pos, parameter=call.key, tool=call.name)
    m.examples = False
    m.again(start, call.cut_back(call.pair))


def give_up(m: TagMachine, text: str, name: str) -> None:
    """The answer is over inside the call: it is text."""
    tell_unfinished(m, m.call.call_closer)
    m.call.release(m)


def leave_cut(m: TagMachine, text: str, name: str) -> None:
    """The answer is over inside a call of which the client has a part: it stays as it is."""
    call = m.call
    fate = "the client keeps what it has of it"
    m.found("truncated-call", call.start, m.pos, tool=call.name, fate=fate, **call.open_parts)
    call.close(m, m.pos)


def tell_unfinished(m: TagMachine, closing: str) -> None:
    """Say where an unfinished call went wrong, which the client gets as text."""
    call = m.call
    if call.key and closing in str(call.region):
        _tell_unclosed(m, closing)
    elif call.offered or not m.choice.tools_known:
        fate = "it went to the client as text"
        m.found("truncated-call", call.start, m.pos, tool=call.name, fate=fate, **call.open_parts)


def _tell_unclosed(m: TagMachine, closing: str) -> None:
    """The call ends, but its value does not: there is no closing tag, or no structure after it."""
    call = m.call
    if call.closing_tag not in str(call.region):
        m.found(
            "unclosed-parameter", call.key_start, m.pos, parameter=call.key, tool=call.name, closing=closing
        )
    elif call.offered:
        reason = f"after {call.closing_tag} comes neither a parameter nor {closing}"
        m.found("malformed-call", call.key_start, m.pos, tool=call.name, reason=reason)
