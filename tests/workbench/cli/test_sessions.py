"""`workbench sessions`: what is remembered of chats, listed, shown and deleted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from workbench.cli.sessions import sessions_delete, sessions_list, sessions_show
from workbench.errors import UserError
from workbench.library.turns import Chats, Turn


def turn(chat: str, number: int, digest: str, answered: float = 1e9, session: str | None = None) -> Turn:
    return Turn(
        0, digest, "qwen", "m", chat, f"p{number}", number, "", session, f"tape{number}", None, answered
    )


@pytest.fixture
def library(tmp_path: Path) -> str:
    chats = Chats(tmp_path)
    for one in (turn("c1", 1, "a"), turn("c1", 2, "b"), turn("c2\x1b[2J", 1, "c", 2e9)):
        chats.remember(one)
    chats.close()
    assert (tmp_path / "chats.sqlite").stat().st_mode & 0o077 == 0
    return str(tmp_path)


def test_listed_shown_and_deleted(library: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert sessions_list(library, False) == 0
    out = capfdbinary.readouterr().out
    assert b"\x1b" not in out and out.index(b"c2") < out.index(b"c1")
    sessions_list(library, True)
    first, second = (json.loads(line) for line in capfdbinary.readouterr().out.splitlines())
    assert (first["turns"], second["chat"], second["turns"]) == (1, "c1", 2)
    sessions_show("c1", library, False)
    assert [name in capfdbinary.readouterr().out for name in (b"tape1",)] == [True]
    sessions_delete(["c1"], library, False)
    with pytest.raises(UserError, match="no chat 'c1'"):
        sessions_show("c1", library, False)
    sessions_delete([], library, True)
    assert sessions_list(library, False) == 0
    with pytest.raises(UserError, match="which chats"):
        sessions_delete([], library, False)


def test_an_id_must_be_clear(library: str) -> None:
    with pytest.raises(UserError, match="2 chats begin with 'c'"):
        sessions_show("c", library, False)


def test_a_library_without_chats(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there are no chats"):
        sessions_list(str(tmp_path), False)


def test_which_of_equal_conversations_goes_on(tmp_path: Path) -> None:
    chats = Chats(tmp_path)
    for chat, session in (("c1", "one"), ("c2", None)):
        chats.remember(turn(chat, 1, "same", session=session))

    def found(following: str, session: str | None = None, since: float = 0) -> str | None:
        one = chats.find("same", "qwen", "m", session, following, since)
        return None if one is None else one.chat

    assert found("x") == "c2" and found("y") == "c1"
    assert (found("x"), found("y")) == ("c2", "c1"), "a request that is repeated goes on where it did"
    assert found("z", "one") == "c1", "a session's own chat comes first"
    assert found("x", since=2e9) is None and chats.find("same", "other", "m", None, "x", 0) is None
    assert chats.expire("qwen", 2e9) == 2 and chats.chats() == []
