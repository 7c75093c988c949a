"""An edit: one small change of a text, with the words for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from workbench.why.quotes import listed, quote, shortened


@dataclass(frozen=True, slots=True)
class Edit:
    """The characters `start` to `end` become `text`. `words` follow "with" or "without" in a sentence."""

    start: int
    end: int
    text: str
    words: str


def applied(text: str, edits: Iterable[Edit]) -> str:
    """The text with all edits made; their places count in the text as it was."""
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def insert(place: int, text: str, before: str) -> Edit:
    return Edit(place, place, text, f"with {spelled(text)} before {spelled(before)}")


def insert_behind(place: int, text: str, anchor: str) -> Edit:
    return Edit(place, place, text, f"with {spelled(text)} behind {spelled(anchor)}")


def append(place: int, text: str) -> Edit:
    """What is missing at the end of the answer."""
    return Edit(place, place, text, f"with {spelled(text)} at the end")


def remove(start: int, end: int, text: str, where: str) -> Edit:
    return Edit(start, end, "", f"without {quote(text[start:end])} {where}")


def put(start: int, end: int, new: str, text: str) -> Edit:
    """Something else in its place."""
    return Edit(start, end, new, f"with {spelled(new)} instead of {quote(text[start:end])}")


def spelled(text: str) -> str:
    """Tags speak for themselves; anything else is quoted."""
    bare = text.strip()
    tags = bare.startswith("<") and bare.endswith(">") and len(bare) <= 60
    return bare if tags else quote(shortened(text))


def sentence(edits: Iterable[Edit]) -> str:
    """The words of several edits as one phrase."""
    said = [edit.words for edit in edits]
    # "with A and with B" reads better as "with A and B".
    short = [said[0], *(word.removeprefix("with ") for word in said[1:])] if said else []
    return listed(short)


class Draft:
    """A text that is edited step by step, which remembers its edits as edits of the first text."""

    def __init__(self, text: str) -> None:
        self.first = text
        self.text = text
        self.edits: tuple[Edit, ...] = ()

    def edited(self, edits: Iterable[Edit]) -> Draft:
        """A further draft; the edits count in this one."""
        twin = Draft(self.first)
        new = tuple(self._back(edit) for edit in edits)
        twin.edits = _joined(sorted([*self.edits, *new], key=lambda edit: edit.start))
        twin.text = applied(self.first, twin.edits)
        return twin

    def _back(self, edit: Edit) -> Edit:
        return Edit(self._place(edit.start), self._place(edit.end), edit.text, edit.words)

    def _place(self, place: int) -> int:
        """Where a place of this draft is in the first text."""
        shift = 0
        for edit in self.edits:
            if edit.start + shift + len(edit.text) > place:
                break
            shift += len(edit.text) - (edit.end - edit.start)
        return max(0, place - shift)


def _joined(edits: list[Edit]) -> tuple[Edit, ...]:
    """What is put into one place one after the other is one edit."""
    joined: list[Edit] = []
    for edit in edits:
        last = joined[-1] if joined else None
        if last is not None and last.start == last.end == edit.start == edit.end:
            words = f"{last.words} and {edit.words.removeprefix('with ')}"
            joined[-1] = Edit(last.start, last.end, last.text + edit.text, words)
        else:
            joined.append(edit)
    return tuple(joined)
