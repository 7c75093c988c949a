"""A call written in tags while it is open: its parameters, and where the open value may have ended."""

from __future__ import annotations

from transformer.calls.fragments import Fragments
from transformer.growing import Text
from transformer.machine import Machine, size_of
from transformer.stream.outgoing import Arguments, Begin, Complete
from transformer.values.schema import Tool


class TagCall:
    """The registers of an open call of a dialect whose parameters are tags.

    Text of the call is kept in regions: `past` is certain, `region` is the open value and what
    may be behind it. Offsets inside the region begin at the value's first character.
    `end` is where the value ends if structure follows, `ahead` the elements looked ahead into
    (their name, the end of the value if they turn out to be parameters, and where their own begins);
    `elements` those of them that turned out to be whole (their name, where their value begins and ends).
    """

    __slots__ = (
        "ahead", "begun", "closer", "depth", "dropped", "elements", "end", "fragments", "given", "id",
        "index", "key", "key_start", "live", "name", "offered", "pair", "past", "region", "region_start",
        "settled", "size", "start", "tool", "unsent",
    )  # fmt: skip

    def __init__(
        self, m: Machine, name: str, start: int, live: bool = True, closer: str | None = None
    ) -> None:
        self.name = name
        self.closer = closer
        self.start = start
        self.tool: Tool | None = m.tool(name)
        self.offered = self.tool is not None
        self.index = m.choice.next_index
        self.id = ""
        self.live = live and m.choice.policy.arguments == "stream"
        # A repair may end a value before what was read last, so there none leaves before its end.
        self.fragments = Fragments(self.tool, self.live, m.choice.policy.malformed != "repair")
        self.begun = False  # the client knows of it
        self.dropped = False  # the policy wants no further call
        self.past = Text()
        self.region = Text()
        self.region_start = start
        self.size = 0
        self.settled = 0
        self.unsent = Text()  # of the open value: read, but not yet certain to be data
        self.given: set[str] = set()
        self.key = ""
        self.key_start = start  # where the tag of the open parameter begins
        self.end = -1
        self.ahead: dict[str, tuple[int, int]] = {}
        self.elements: list[tuple[str, int, int]] = []
        self.depth = 0  # nested examples of this call that are open in the value
        self.pair: int | None = None  # the first end of the value inside an example

    def add(self, text: str) -> None:
        self.region.append(text)
        self.size += size_of(text)
        if self.live:
            self.unsent.append(text)

    @property
    def closing_tag(self) -> str:
        """What ends the open value: the tag of its name, or the dialect's one word for all."""
        return self.closer or f"</{self.key}>"

    def raw(self) -> str:
        return str(self.past) + str(self.region)

    def open(self, m: Machine, key: str) -> None:
        """What was read so far is certain, and the value of `key` begins behind its tag."""
        self.past.append(str(self.region))
        self.region = Text()
        self.region_start = m.pos
        self.key = key
        self.end = -1
        self.ahead, self.elements = {}, []
        self.depth = 0
        self.pair = None
        self.unsent = Text()
        if self.live:
            if not self.begun:
                begin(m)
            self._send(m, self.fragments.open(key), m.pos)

    def stream(self, m: Machine) -> None:
        """More of the value was read; it may leave unless an end of the value is still in question."""
        if self.live and not (self.ahead or self.depth or self.pair is not None):
            self._send(m, self.fragments.text(str(self.unsent)), m.pos)
            self.unsent = Text()

    def commit(self, m: Machine, end: int) -> str:
        """The open value ended at `end`; returns what stands behind it in the region."""
        region = str(self.region)
        self.given.add(self.key)
        sent = self.fragments.close(self.key, region[:end], self.region_start)
        self._send(m, sent, self.region_start + end)
        return region[end:]

    def cut_back(self, end: int) -> str:
        """Forget what was read of the open value from `end` on, and return it."""
        region = str(self.region)
        sent = len(region) - self.unsent.size
        self.region, self.unsent = Text(region[:end]), Text(region[sent:end])
        self.size -= size_of(region[end:])
        self.end, self.depth, self.pair = -1, 0, None
        self.ahead, self.elements = {}, []
        return region[end:]

    def also(self, m: Machine, key: str, raw: str, start: int) -> None:
        """A parameter that was looked ahead into and now stands."""
        self.given.add(key)
        if self.live:
            self._send(m, self.fragments.open(key), start)
        self._send(m, self.fragments.close(key, raw, start), start + len(raw))

    def _send(self, m: Machine, text: str, upto: int) -> None:
        if text and self.live and not self.dropped:
            start = self.start + self.settled
            m.out.append(Arguments(self.index, text, start, upto))
            m.settled += upto - start
            self.settled += upto - start

    def overflow(self, m: Machine) -> None:
        """The call is longer than the policy allows."""
        limit = m.choice.policy.max_call_bytes
        if self.begun:
            m.found("call-too-long", self.start, m.pos, tool=self.name, limit=limit, fate="it was cut there")
            self.stream(m)
            leave(m, m.pos)
        else:
            m.found(
                "call-too-long", self.start, m.pos, tool=self.name, limit=limit, fate="it went on as text"
            )
            release(m)
        m.restart()

    def clone(self) -> TagCall:
        twin = TagCall.__new__(TagCall)
        for slot in TagCall.__slots__:
            setattr(twin, slot, getattr(self, slot))
        twin.fragments = self.fragments.clone()
        twin.past, twin.region, twin.unsent = self.past.clone(), self.region.clone(), self.unsent.clone()
        twin.given, twin.ahead = self.given.copy(), self.ahead.copy()
        twin.elements = self.elements.copy()
        return twin


def begin(m: Machine) -> None:
    """Tell the client that a call begins."""
    call: TagCall = m.call
    call.begun = True
    m.prose.call(m.pos)
    admitted = m.choice.admit(m, call.name, "", call.start, m.pos)
    if admitted is None:
        call.dropped = True
        return
    call.index, call.id = admitted
    m.out.append(Begin(call.index, call.id, call.name, call.start, m.pos))


def deliver(m: Machine, end: int) -> None:
    """The call is complete at `end`: the client gets it, and the machine forgets it."""
    call: TagCall = m.call
    if not call.begun:
        begin(m)
    m.prose.call(end)
    rest = call.fragments.finish()
    if not call.dropped:
        m.out.append(Arguments(call.index, rest, call.start + call.settled, end))
        m.out.append(Complete(call.index, call.start, end))
        for note in call.fragments.notes:
            m.found(note.code, note.start, note.end, **note.values)
    tell_dropped(m, end)
    m.settled += end - call.start - call.settled
    m.call = None
    m.prev = "\n"


def tell_dropped(m: Machine, end: int) -> None:
    """A call that the client does not get is named; one that was refused has been."""
    call = m.call
    if call.dropped and not m.choice.refuses(call.name):
        m.found("call-after-first", call.start, end, tool=call.name)


def leave(m: Machine, end: int) -> None:
    """A call that the client has in part is left as it is; it ends at `end`."""
    call: TagCall = m.call
    tell_dropped(m, end)
    m.settled += end - call.start - call.settled
    m.prose.call(end)
    m.call = None


def release(m: Machine) -> None:
    """What looked like a call is text after all, unchanged."""
    call: TagCall = m.call
    m.call = None
    m.say_at(call.start, call.raw())
