"""`workbench sessions`: the chats that upstreams keep, as far as they are remembered here."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import asdict
from datetime import datetime

from workbench.cli.library import library_folder
from workbench.cli.printing import write
from workbench.errors import UserError
from workbench.library.turns import FILE, Chats, Turn
from workbench.text import json_text, say, visible_line


def sessions_list(library: str | None, as_json: bool) -> int:
    """One line for each chat, the latest first."""
    with closing(_open(library)) as chats:
        found = chats.chats()
    if as_json:
        _print(json_text(asdict(chat)) for chat in found)
    elif found:
        rows = [("last answer", "turns", "model", "upstream", "session", "chat")]
        rows += [
            (_when(one.last), str(one.turns), one.model, one.upstream, one.session or "–", one.chat)
            for one in found
        ]
        _print_table(rows)
    else:
        say("no chat is remembered")
    return 0


def sessions_show(chat: str, library: str | None, as_json: bool) -> int:
    """The chain of a chat: each turn, what the next one follows, and its tape."""
    with closing(_open(library)) as chats:
        turns = _known(chats, chat)
    if as_json:
        _print(json_text(turn._asdict()) for turn in turns)
    else:
        say(f"chat {turns[0].chat} of {turns[0].model} at {turns[0].upstream}")
        rows = [("turn", "answered", "tape", "went on", "the next turn follows")]
        rows += [
            (str(one.turn), _when(one.answered), one.tape or "–", "yes" if one.followed else "no", one.parent)
            for one in turns
        ]
        _print_table(rows)
    return 0


def sessions_delete(names: Sequence[str], library: str | None, everything: bool) -> int:
    """Forget chats. Upstream keeps them; a conversation of one goes on in a new chat with all its text."""
    if bool(names) == everything:
        raise UserError("which chats? Name some, or say --all")
    with closing(_open(library)) as chats:
        found = [_known(chats, name)[0].chat for name in names]
        count = chats.clear() if everything else sum(map(chats.forget, dict.fromkeys(found)))
    say(f"forgotten: {count} turn{'' if count == 1 else 's'}")
    return 0


def _open(library: str | None) -> Chats:
    folder = library_folder(library)
    try:
        chats = Chats(folder, create=False)
        strange = chats.strange()
    except sqlite3.Error as error:
        raise UserError(f"the chats of {folder} cannot be read: {error}") from None
    if strange:
        chats.close()
        raise UserError(f"the chats of {folder} have rows that no workbench writes; delete {folder / FILE}")
    return chats


def _known(chats: Chats, name: str) -> Sequence[Turn]:
    turns = chats.turns(name)
    ids = {turn.chat for turn in turns}
    if len(ids) > 1:
        raise UserError(f"{len(ids)} chats begin with {name!r}; give more of the id")
    if not turns or not name:
        raise UserError(f"no chat {name!r} is remembered; `workbench sessions` lists them")
    return turns


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(min(seconds, time.time())).strftime("%Y-%m-%d %H:%M:%S")


def _print(lines: Iterable[str]) -> None:
    write("".join(f"{line}\n" for line in lines).encode("utf-8"))


def _print_table(rows: Sequence[Sequence[str]]) -> None:
    """Names come from clients and from upstreams: none of them may control the terminal."""
    shown = [[visible_line(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    _print("  ".join(map(str.ljust, row, widths)).rstrip() for row in shown)
