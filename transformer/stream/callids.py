"""The ids of a choice's calls: upstream's where the dialect has them, generated otherwise, never twice."""

from __future__ import annotations

from transformer.setting import Setting


class CallIds:
    """Gives each call its id."""

    __slots__ = ("_setting", "_used")

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._used: set[str] = set()

    def use(self, id: str) -> None:
        """An id that upstream gave to a call of its own."""
        self._used.add(id)

    def give(self, written: str | None, number: int, index: int) -> tuple[str, str | None]:
        """The id of a call, and why it is not the one that was written, if that is worth telling."""
        why = None
        if self._setting.dialect.ids == "generated":
            id = self._setting.ids(number)
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
