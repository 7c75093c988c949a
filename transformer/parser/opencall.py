"""A call while it is being read: what the client knows of it already, and the ways it can end."""

from __future__ import annotations

from transformer.parser.dialect import guard
from transformer.parser.machine import InCall, Machine
from transformer.parser.output import Begin


class OpenCall:
    """What the grammars share. `settled` counts the call's characters whose fate is known, `size` its
    bytes.
    """

    __slots__ = ("begun", "dropped", "id", "index", "key", "live", "name", "settled", "size", "start")

    def __init__(self, m: Machine, name: str, start: int, live: bool) -> None:
        self.name = name
        self.key = ""  # the parameter whose value is being read, where they are read one by one
        self.id = ""
        self.start = start
        self.index = m.choice.next_index
        self.live = live and m.choice.policy.arguments == "stream"
        self.begun = False  # the client knows of it
        self.dropped = False  # the policy wants no further call
        self.size = 0
        self.settled = 0

    def raw(self) -> str:
        """All its text, as long as the client knows nothing of it."""
        raise NotImplementedError

    def add(self, text: str) -> None:
        """More of its text, which is not an argument."""
        raise NotImplementedError

    def announce(self, m: Machine, named_until: int) -> None:
        """Tell the client that the call begins; its name is before `named_until`."""
        self.begun = True
        m.prose.call(m.pos)
        admitted = m.choice.admit(m, self.name, self.id or None, self.start, named_until)
        if admitted is None:
            self.dropped = True
            return
        self.index, self.id = admitted
        m.out.append(Begin(self.index, self.id, self.name, self.start, named_until))

    def close(self, m: Machine, end: int) -> None:
        """The call is over at `end`, complete or not; the machine forgets it."""
        self.tell_dropped(m, end)
        m.settled += end - self.start - self.settled
        m.prose.call(end)
        m.call = None

    def forget(self, m: Machine) -> None:
        """It was none, and what becomes of its text is for somebody else to say."""
        m.call = None

    def tell_dropped(self, m: Machine, end: int) -> None:
        """A call that the client does not get is named in a finding; a refused one already was."""
        if self.dropped and not m.choice.refuses(self.name):
            m.found("call-after-first", self.start, end, tool=self.name)

    def release(self, m: Machine) -> None:
        """What looked like a call is text after all, unchanged."""
        m.call = None
        m.say_at(self.start, self.raw())

    def overflow(self, m: Machine) -> None:
        """The call is longer than the policy allows."""
        limit = m.choice.policy.max_call_bytes
        fate = "it was cut there" if self.begun else "it went on as text"
        m.found("call-too-long", self.start, m.pos, tool=self.name or "?", limit=limit, fate=fate)
        if self.begun:
            self.flush(m)
            self.close(m, m.pos)
        else:
            self.release(m)
        m.restart()

    def flush(self, m: Machine) -> None:
        """Sends the arguments that were read, as far as they are certain."""

    def clone(self) -> OpenCall:
        raise NotImplementedError

    def copied(self) -> OpenCall:
        """A copy that shares its parts; the grammars copy theirs."""
        twin = type(self).__new__(type(self))
        for kind in type(self).__mro__:
            for slot in getattr(kind, "__slots__", ()):
                setattr(twin, slot, getattr(self, slot))
        return twin


# -- guards of any call


@guard("the client has a part of the call")
def is_streamed(m: InCall, name: str) -> bool:
    return m.call.begun


@guard("its tool was not offered, and the policy wants such a call as text")
def is_rejected(m: InCall, name: str) -> bool:
    return m.choice.rejects(m.call.name)
