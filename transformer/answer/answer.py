"""An answer: its choices, what they share, and the ways it can end."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from transformer.answer.choice import Choice
from transformer.answer.setting import Setting
from transformer.frontends.errorobjects import as_error, refusal
from transformer.journal import Journal
from transformer.jsontext import Object
from transformer.provenance import Path, Place, SourceMap

Key: TypeAlias = tuple[int, str]  # a choice and a channel of it


class Answer:
    """Everything about one answer that changes while it arrives, except its events' framing."""

    __slots__ = (
        "_calls",
        "_surrogates",
        "choices",
        "client",
        "ended",
        "error",
        "finished",
        "journal",
        "setting",
        "sources",
        "usage",
    )

    def __init__(self, setting: Setting, journal: Journal) -> None:
        self.setting = setting
        self.journal = journal
        self.client = setting.writer()
        self.choices: dict[int, Choice] = {}
        self.sources: dict[tuple[int, str], SourceMap] = {}
        self.usage: Object | None = None  # the last one, where it waits for the end
        self.finished = False  # every choice has its finish; only the usage and the end are missing
        self.ended = False
        self.error: Object | None = None  # what it ended with
        self._surrogates = Surrogates(journal.found)
        self._calls = 0

    def choice(self, index: Any) -> Choice:
        """The choice of that index; servers that know only one answer leave the index out."""
        place = index if type(index) is int else 0
        choice = self.choices.get(place)
        if choice is None:
            if self.choices and not self.setting.frontend.relays:
                self.journal.found("choice-not-carried", number=place, frontend=self.setting.frontend.name)
            choice = Choice(place, self.setting, self.client, self.journal, self._number)
            self.choices[place] = choice
        return choice

    def _number(self) -> int:
        self._calls += 1
        return self._calls - 1

    def text(
        self,
        choice: Choice,
        channel: str,
        fields: tuple[str, ...],
        text: str,
        path: Path,
        event: int | None = None,
        first: int = 0,
    ) -> None:
        """Text of a channel at `path` of an event, from its character `first` on; without a number it is the
        current event."""
        number = self.journal.event if event is None else event
        for part in self._surrogates.parts((choice.index, channel), text, number, path, first):
            self._part(choice, channel, fields, part)

    def _part(self, choice: Choice, channel: str, fields: tuple[str, ...], part: Part) -> None:
        if self.ended:
            return
        if self.journal.all:
            source = self.sources.setdefault((choice.index, channel), SourceMap())
            source.add(part.event, len(part.text), part.path, first=part.first, half=part.half)
        choice.text(channel, fields, part.text)
        if choice.refused:
            self._refuse(choice.refused)

    # -- ends

    def end(self) -> None:
        """The answer is whole: what is held back leaves, then the finish, the usage, the end.

        If nothing at all has come, there is no answer, and only the end of the stream can tell.
        """
        self.finish()
        if self.finished and not self.ended:
            self._close()

    def finish(self) -> None:
        """All except the usage and the end: the client may go on, and upstream may still report the cost."""
        if self.ended or self.finished or not self.choices:
            return
        self._let_go()
        if not self.ended:
            self._finish_choices()

    def _finish_choices(self) -> None:
        self.finished = True
        for choice in self._in_order():
            choice.finish()

    def _close(self) -> None:
        self.ended = True
        self._send_usage()
        self._done()

    def _send_usage(self) -> None:
        """A usage that waits for the end; or one that came with a chunk of which nothing was left to send."""
        client = self.client
        usage = self.usage
        if usage is None and not client.usage_told:
            usage = {"choices": [], "usage": client.last_usage}
        if usage is not None:
            client.last_usage = usage["usage"]
            if "choices" in usage or self.setting.wants_usage:
                client.usage(usage)
                self.journal.sent("usage", 0)

    def report_error(self, error: object) -> None:
        """Upstream reported an error: the client gets it, and nothing that makes it run a call again."""
        if not self.ended and not self.finished:
            self._let_go()
        if not self.ended and not self.finished:
            told = as_error(error, "upstream_error")
            self.journal.found("upstream-error", message=told["message"])
            ran = any(choice.has_complete_call for choice in self.choices.values())
            if told["type"] == "server_error" and (ran or _is_permanent(told["code"])):
                told["type"] = "upstream_error"  # the other means: try again
            self.tell_error(told)

    def break_off(self, error: object) -> None:
        """The way to upstream broke: after a complete call the answer ends with that call."""
        if not self.ended and not self.finished:
            self._let_go()
        if self.ended:
            return
        told = as_error(error, "upstream_error")
        if self.finished:
            self.journal.found("broke-after-end", message=told["message"])
            self._close()
            return
        choices = self.choices.values()
        half = any(choice.has_half_call for choice in choices)
        if not half and any(choice.has_complete_call for choice in choices):
            self.journal.found("broke-after-call", message=told["message"])
            self._finish_choices()
            self._close()
        elif not half and choices and all(choice.upstream_finish for choice in choices):
            self.journal.found("broke-after-end", message=told["message"])
            self._finish_choices()
            self._close()
        else:
            self.journal.found("upstream-broke", message=told["message"])
            self.tell_error(told)

    def tell_error(self, error: Object) -> None:
        self.ended = True
        self.error = error
        self.client.error(error)
        self.journal.sent("error", 0, error["message"])
        self._done()

    def _refuse(self, tool: str) -> None:
        """The policy wants an error where a tool is called that was not offered."""
        self.tell_error(refusal(tool))

    def _done(self) -> None:
        self.client.done()
        self.journal.sent("done", 0)

    def _let_go(self) -> None:
        """Decides what becomes of held-back text; that may be a call the policy refuses."""
        for (index, channel), part in self._surrogates.rest():
            choice = self.choices[index]
            self._part(choice, channel, choice.fields(channel), part)
        for choice in self._in_order():
            choice.end()
        refused = next((choice.refused for choice in self.choices.values() if choice.refused), None)
        if refused and not self.ended:
            self._refuse(refused)

    def _in_order(self) -> list[Choice]:
        return [self.choices[index] for index in sorted(self.choices)]

    def close(self) -> None:
        """The choices are not needed any more, nor what they know of each other."""
        for choice in self.choices.values():
            choice.close()
        self.choices.clear()

    def clone(self, journal: Journal) -> Answer:
        twin = Answer(self.setting, journal)
        twin.client = self.client.clone()
        twin.finished, twin.ended, twin.error = self.finished, self.ended, self.error
        twin.usage, twin._calls = self.usage, self._calls
        twin._surrogates = self._surrogates.clone(journal.found)
        twin.sources = {key: source.clone() for key, source in self.sources.items()}
        twin.choices = {
            index: choice.clone(twin.client, journal, twin._number) for index, choice in self.choices.items()
        }
        return twin


def _is_permanent(code: object) -> bool:
    """A status that says: the request itself is wrong."""
    return type(code) is int and 400 <= code < 500 and code not in (408, 409, 425, 429)


_ANY = re.compile("[\ud800-\udfff]")
_HIGH_AT_END = re.compile("[\ud800-\udbff]\\Z")
_LOW = re.compile("[\udc00-\udfff]")
_REPLACED = "\ufffd"


class Part(NamedTuple):
    """Text without halves, and where it is: as `SourceMap.add` takes it."""

    text: str
    event: int
    path: Path
    first: int = 0
    half: Place | None = None


class Surrogates:
    """Joins halves over the events of a channel; a half that stays alone is replaced and reported."""

    __slots__ = ("_found", "_waiting")

    def __init__(self, found: Callable[[str], None]) -> None:
        self._found = found
        self._waiting: dict[Key, tuple[str, Place]] = {}

    def parts(self, key: Key, text: str, event: int, path: Path, first: int = 0) -> list[Part]:
        """The text of a channel that came in an event, whole characters only; `first` is its place there."""
        parts: list[Part] = []
        half = None
        if key in self._waiting:
            high, place = self._waiting.pop(key)
            if _LOW.match(text):
                half = place
                text = (high + text[0]).encode("utf-16", "surrogatepass").decode("utf-16") + text[1:]
            else:
                parts.append(self._alone(place))
        if _HIGH_AT_END.search(text):
            self._waiting[key] = text[-1], (event, path, first + len(text) - 1)
            text = text[:-1]
        if _ANY.search(text):
            self._found("lone-surrogate")
            text = _ANY.sub(_REPLACED, text)
        if text:
            parts.append(Part(text, event, path, first, half))
        return parts

    def rest(self) -> list[tuple[Key, Part]]:
        """The halves that waited in vain."""
        waiting, self._waiting = self._waiting, {}
        return [(key, self._alone(place)) for key, (_, place) in waiting.items()]

    def _alone(self, place: Place) -> Part:
        self._found("lone-surrogate")
        event, path, char = place
        return Part(_REPLACED, event, path, char)

    def clone(self, found: Callable[[str], None]) -> Surrogates:
        twin = Surrogates(found)
        twin._waiting = dict(self._waiting)
        return twin
