"""An opening: something that can be replayed, cheap until it is opened."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import UserError
from workbench.library.processes import is_alive
from workbench.library.retention import RECENT
from workbench.player.player import Player
from workbench.player.reel import Source
from workbench.player.tailing import Tail
from workbench.recipe import Wishes, wished
from workbench.tape import TapeError, TapeReader

if TYPE_CHECKING:
    from workbench.sources.appraisal import Appraisal

_LONGEST_HEADER = 4 << 20  # a header has the whole request in it


class Unreadable:
    """A source that has nothing to show but why."""

    def __init__(self, name: str, problem: str) -> None:
        self.name = name
        self.player: Player | None = None
        self.problem: str | None = problem
        self.done = 0
        self.size = 0

    @property
    def behind(self) -> bool:
        return False

    def advance(self, seconds: float) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Glimpse:
    """What can be said without playing it; `policy` is what is switched otherwise than the dialect does."""

    about: str = ""
    dialect: str = ""
    policy: Mapping[str, Any] = field(default_factory=dict)
    pid: int | None = None


class Opening:
    """`path` is None for what is in no file; `folder` is empty for what was named itself.

    `appraisal` is what somebody who has played it found out; None until then.
    """

    def __init__(
        self,
        title: str,
        make: Callable[[], Source],
        head: Callable[[], Mapping[str, Any]],
        *,
        path: Path | None = None,
        folder: str = "",
        problem: str | None = None,
    ) -> None:
        self.title = title
        self.path = path
        self.folder = folder
        self.problem = problem  # why it cannot be opened
        self.start: str | None = None  # where to begin, in the words of `goto`
        self.appraisal: Appraisal | None = None
        self._make = make
        self._head = head

    def open(self) -> Source:
        """A source of its own, from the beginning. What cannot be read says so in its `problem`."""
        return self._make()

    @cached_property
    def glimpse(self) -> Glimpse:
        """What the first line says. Kept, but not the line: it may have a whole conversation in it."""
        header = self._head()
        return Glimpse(_about(header), str(header.get("dialect") or ""), _policy(header), _pid(header))

    @property
    def glimpsed(self) -> bool:
        """Whether a look at `glimpse` costs nothing any more."""
        return "glimpse" in self.__dict__

    @property
    def about(self) -> str:
        """One line about what is in it."""
        return self.problem if self.problem is not None else self.glimpse.about

    @property
    def size(self) -> int:
        """Bytes of the file; 0 for what is in none."""
        try:
            return os.stat(self.path).st_size if self.path is not None else 0
        except OSError:
            return 0

    @property
    def running(self) -> bool:
        """Whether somebody seems to be writing it still, should it have no end."""
        if self.path is None or not is_alive(self.glimpse.pid):
            return False
        try:
            return time.time() - os.stat(self.path).st_mtime < RECENT
        except OSError:
            return False


def tape_opening(path: Path, title: str, folder: str, wishes: Wishes) -> Opening:
    """A tape that is read from its file."""
    return Opening(
        title, lambda: Tail(path, wishes), lambda: header_in(path, wishes), path=path, folder=folder
    )


def unreadable(title: str, problem: str, path: Path | None = None) -> Opening:
    return Opening(title, lambda: Unreadable(title, problem), dict, path=path, problem=problem)


def header_in(path: Path, wishes: Wishes) -> Mapping[str, Any]:
    """The first line of a tape, as the wishes change it; nothing where it cannot be read."""
    try:
        return wished(read_header(path), wishes)
    except UserError:
        return {}


def read_header(path: Path) -> Mapping[str, Any]:
    """The first line of a tape, or a UserError that says what is wrong with it."""
    reader = TapeReader()
    try:
        with path.open("rb") as file:
            reader.feed(file.readline(_LONGEST_HEADER))
        reader.close()
    except (OSError, TapeError) as error:
        raise UserError(f"{path} cannot be shown: {error}") from None
    if reader.header is None:
        raise UserError(f"{path} cannot be shown: it is empty")
    return reader.header


def _about(header: Mapping[str, Any]) -> str:
    """Of what was recorded the proxy knows no more than the question."""
    told = header.get("about")
    asked = _question(header) if isinstance(header.get("method"), str) else ""
    return asked or (told if isinstance(told, str) else "")


def _policy(header: Mapping[str, Any]) -> Mapping[str, Any]:
    said = header.get("policy")
    return said if isinstance(said, Mapping) else {}


def _pid(header: Mapping[str, Any]) -> int | None:
    pid = header.get("pid")
    return pid if isinstance(pid, int) else None


def _question(header: Mapping[str, Any]) -> str:
    """What was last asked of which model."""
    request = header.get("request")
    messages = request.get("messages") if isinstance(request, Mapping) else None
    asked = ""
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, Mapping) and message.get("role") == "user":
            asked = _text(message.get("content")) or asked
    model = str(header.get("model") or "")
    return f"{model}: {asked}" if model and asked else model or asked


def _text(content: object) -> str:
    if isinstance(content, list):
        content = next((part.get("text") for part in content if isinstance(part, Mapping)), None)
    return " ".join(content[:400].split()) if isinstance(content, str) else ""
