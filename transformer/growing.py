"""Lists and texts that only grow, and that a snapshot may share without copying them."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class Growing(Generic[T]):
    """Append in constant time, clone in constant time.

    A clone shares the list: whoever appends to a list that has grown beyond its own part takes
    a copy first. So a snapshot costs nothing, however long the value that is being held.
    """

    __slots__ = ("_list", "_used")

    def __init__(self) -> None:
        self._list: list[T] = []
        self._used = 0

    def append(self, item: T) -> None:
        if len(self._list) != self._used:
            self._list = self._list[: self._used]
        self._list.append(item)
        self._used += 1

    @property
    def items(self) -> list[T]:
        """What there is so far; not to be changed by the caller."""
        return self._list if len(self._list) == self._used else self._list[: self._used]

    def __len__(self) -> int:
        return self._used

    def clone(self) -> Growing[T]:
        twin: Growing[T] = Growing()
        twin._list, twin._used = self._list, self._used
        return twin


class Text(Growing[str]):
    """A text in pieces, joined when somebody wants it whole."""

    __slots__ = ("size",)

    def __init__(self, text: str = "") -> None:
        super().__init__()
        self.size = 0
        if text:
            self.append(text)

    def append(self, item: str) -> None:
        # As above, spelled out: it runs for every delta of a long value.
        if len(self._list) != self._used:
            self._list = self._list[: self._used]
        self._list.append(item)
        self._used += 1
        self.size += len(item)

    def __str__(self) -> str:
        return "".join(self.items)

    def clone(self) -> Text:
        twin = Text()
        twin._list, twin._used, twin.size = self._list, self._used, self.size
        return twin
