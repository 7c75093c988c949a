"""An answer as a list of items (a text, a thought, a call), written one at a time."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Literal, Self, TypeAlias

from transformer.frontends.frontend import AnswerFacts, ChatRequest, ClientWriter, ToolName
from transformer.journal import Text
from transformer.jsonscan import JsonScanner
from transformer.jsontext import Object, dumps, has_long_number, parse, parse_leniently

Kind: TypeAlias = Literal["text", "reasoning", "refusal", "call"]


class Item:
    """One item. A call's text is the JSON of its arguments."""

    __slots__ = ("call", "complete", "ended", "id", "kind", "name", "native", "place", "text")

    def __init__(self, kind: Kind, call: int = -1, id: str = "", name: str = "") -> None:
        self.kind = kind
        self.call = call
        self.id = id
        self.name = name
        self.text = Text()
        self.place = -1  # in the row, as soon as it begins
        self.native: JsonScanner | None = (
            None  # reads the arguments where upstream does not say when they end
        )
        self.complete = kind != "call"  # it can be ended at any time
        self.ended = False

    @property
    def may_end(self) -> bool:
        return self.complete or (self.native is not None and self.native.whole)

    def clone(self) -> Item:
        twin = Item(self.kind, self.call, self.id, self.name)
        twin.text, twin.place = self.text.clone(), self.place
        twin.native = None if self.native is None else self.native.clone()
        twin.complete, twin.ended = self.complete, self.ended
        return twin


class ItemWriter(ClientWriter):
    """Keeps the list and its order; how an item is written is up to the subclass.

    Whatever comes while a call is open waits until that call is complete. Of several choices only the first
    is written: such an API has no place for others.
    """

    __slots__ = (
        "_calls",
        "_choice",
        "_open",
        "_opened",
        "_over",
        "_queue",
        "answer",
        "asked",
        "items",
        "reason",
    )

    def __init__(self, asked: ChatRequest, answer: AnswerFacts) -> None:
        super().__init__(answer.made)
        self.asked = asked
        self.answer = answer
        self.items: list[Item] = []
        self.reason: str | None = None  # the finish_reason, as soon as there is one
        self._choice: int | None = None
        self._opened = False
        self._over = False
        self._open: Item | None = None
        self._queue: list[Item] = []
        self._calls: dict[int, Item] = {}

    # -- how it is written

    @abstractmethod
    def opening(self) -> None:
        """The answer begins."""

    @abstractmethod
    def began(self, item: Item) -> None: ...

    @abstractmethod
    def grew(self, item: Item, text: str) -> None: ...

    @abstractmethod
    def ended(self, item: Item) -> None: ...

    @abstractmethod
    def closing(self) -> None:
        """The answer is whole."""

    @abstractmethod
    def failed(self, error: Object, item: Item | None) -> None:
        """The answer ends with an error, maybe in the middle of an item."""

    # -- deltas

    def role(self, index: int) -> bool:
        if self._opened or not self._is_ours(index):
            return False
        self.open()
        return True

    def text(self, index: int, fields: tuple[str, ...], text: str) -> None:
        if self._is_ours(index):
            self._say("text" if "content" in fields else "reasoning", text)

    def begin(self, index: int, call: int, id: str, name: str) -> None:
        if self._is_ours(index):
            self._calls[call] = Item("call", call, id, name)
            self._more(self._calls[call], "")

    def arguments(self, index: int, call: int, text: str) -> None:
        if self._is_ours(index):
            self._more(self._calls[call], text)

    def complete(self, index: int, call: int) -> None:
        if self._is_ours(index):
            item = self._calls[call]
            item.complete = True
            if item is self._open:
                self._end()
                self._go_on()

    def passed(self, index: int, delta: Object) -> Sequence[str]:
        left = []
        for field, value in delta.items() if self._is_ours(index) else ():
            if field == "tool_calls" and isinstance(value, list):
                for place, call in enumerate(value):
                    self._native(call, place)
            elif field == "refusal" and isinstance(value, str):
                self._say("refusal", value)
            elif field == "content" and isinstance(value, list):
                texts = [part.get("text") for part in value if isinstance(part, dict)]
                self._say("text", "".join(text for text in texts if isinstance(text, str)))
            elif value not in ("", [], {}):
                left.append(field)
        return left

    def _native(self, call: Any, place: int) -> None:
        """A piece of a call of upstream's own; its name may come late, its arguments as an object."""
        if not isinstance(call, dict):
            return
        index, function = call.get("index"), call.get("function")
        index = index if type(index) is int else place
        function = function if isinstance(function, dict) else {}
        item = self._calls.setdefault(index, Item("call", index))
        item.native = item.native or JsonScanner()
        item.id = item.id or str(call.get("id") or "")
        item.name = item.name or str(function.get("name") or "")
        given = function.get("arguments")
        text = given if isinstance(given, str) else "" if given is None else dumps(given).decode()
        item.native.feed(text)
        self._more(item, text)

    def finish(self, index: int, reason: str) -> None:
        if self._is_ours(index):
            self.reason = reason
            self.open()
            if self._open is not None and reason == "length":
                self._open.complete = self._open.kind == "call" and self._open.complete  # a text was cut
            self._end()
            while self._queue:
                self._begin(self._queue.pop(0))
                self._end()

    def _is_ours(self, index: int) -> bool:
        if self._choice is None:
            self._choice = index
        return self._choice == index

    # -- the row

    def _say(self, kind: Kind, text: str) -> None:
        last = self._queue[-1] if self._queue else self._open
        if text:
            self._more(last if last is not None and last.kind == kind else Item(kind), text)

    def _more(self, item: Item, text: str) -> None:
        if item.ended:
            return  # a call of upstream's whose arguments were whole: what follows them is not JSON
        item.text.append(text)
        if item is self._open:
            if text:
                self.grew(item, text)
            return
        if item not in self._queue:
            self._queue.append(item)
        self._go_on()

    def _go_on(self) -> None:
        """Begin the items that have waited, as far as possible."""
        while self._queue and self._may_begin(self._queue[0]):
            item = self._queue.pop(0)
            self._begin(item)
            if item.kind == "call" and item.complete:
                self._end()

    def _may_begin(self, item: Item) -> bool:
        named = item.kind != "call" or bool(item.name)
        return named and (self._open is None or self._open.may_end)

    def _begin(self, item: Item) -> None:
        self._end()
        self.open()
        item.place = len(self.items)
        self.items.append(item)
        self._open = item
        self.began(item)
        if item.text.size:
            self.grew(item, str(item.text))

    def _end(self) -> None:
        item, self._open = self._open, None
        if item is not None:
            item.complete = item.may_end
            item.ended = True
            self.ended(item)

    # -- the answer as a whole

    def open(self) -> None:
        if not self._opened:
            self._opened = True
            self.opening()

    def usage(self, obj: Object) -> None:
        """It is part of the end."""

    def other(self, obj: Object) -> None:
        """An event of a chat stream; there is nothing to say of it here."""

    def error(self, error: Object) -> None:
        self.open()
        self._over = True
        item, self._open = self._open, None
        if item is not None:
            item.ended, item.complete = True, False
        self.failed(error, item)

    def done(self) -> None:
        if not self._over:
            self._over = True
            self.closing()

    def tool(self, item: Item) -> ToolName:
        """What the client calls the tool of a call."""
        return self.asked.names.get(item.name) or ToolName(item.name)

    @property
    def has_calls(self) -> bool:
        return any(item.kind == "call" for item in self.items)

    def send(self, name: str, data: Object) -> None:
        self.out.append(b"event: %b\ndata: %b\n\n" % (name.encode(), dumps(data)))

    def clone(self) -> Self:
        twin = self._copied_to(type(self)(self.asked, self.answer))
        copies = {id(item): item.clone() for item in (*self.items, *self._queue, *self._calls.values())}
        twin.items = [copies[id(item)] for item in self.items]
        twin._queue = [copies[id(item)] for item in self._queue]
        twin._calls = {index: copies[id(item)] for index, item in self._calls.items()}
        twin._open = None if self._open is None else copies[id(self._open)]
        twin.reason, twin._choice = self.reason, self._choice
        twin._opened, twin._over = self._opened, self._over
        return twin


def custom_input(arguments: str) -> str:
    """The text for a custom tool: such a tool is offered as a function with one text, its input."""
    given = (_object(arguments) or {}).get("input")
    return given if isinstance(given, str) else arguments


def arguments_of(item: Item) -> Object:
    """The arguments of a call as an object; what is not one is shown as it is, so that nothing is lost."""
    text = str(item.text)
    value = _object(text) if text.strip() else {}
    return {"arguments": text} if value is None else value


def arguments_text(item: Item) -> str:
    """The same as JSON text: the model's own, where that is an object."""
    text = str(item.text)
    return text if _object(text) is not None or not text.strip() else dumps({"arguments": text}).decode()


def _object(text: str) -> Object | None:
    data = text.encode("utf-8", "surrogatepass")
    value = (parse_leniently(data) if has_long_number(data) else parse(data)).value
    return value if isinstance(value, dict) else None
