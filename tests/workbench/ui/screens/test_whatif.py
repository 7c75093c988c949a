"""What if: changes tried in the replay, what came out otherwise, taken back, kept as a tape."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.explanations import why_of
from tests.support.replays import Replayer, replaying, tape
from workbench.files import samples_dir
from workbench.replay.player import Pane
from workbench.replay.sources import Compose
from workbench.tape.format import read_tape
from workbench.tape.recipe import Wishes
from workbench.ui.screens.detail import WhyScreen
from workbench.ui.screens.edit import RewriteScreen
from workbench.ui.screens.view import ListScreen

SAMPLE = samples_dir() / "roo-xml" / "unclosed-parameter.jsonl"
GOOD = samples_dir() / "roo-xml" / "good-read.jsonl"
THOUGHTS = samples_dir() / "roo-xml" / "good-thinks-first.jsonl"
PASSED_ON = samples_dir() / "passthrough" / "tools-but-passthrough.jsonl"
CALL = ("read_file", '{"path":"src/main.py"}')


async def choose(replay: Replayer, name: str) -> None:
    """The line of a list that begins so."""
    screen = replay.app.screen
    assert isinstance(screen, ListScreen)
    at = next(number for number, choice in enumerate(screen.choices) if choice.name.startswith(name))
    screen.list.go(at)
    await replay.press("enter")


async def switch(replay: Replayer, key: str, value: str) -> None:
    await replay.press("d")
    await choose(replay, key)
    await choose(replay, value)
    await replay.replay()


async def edit(replay: Replayer, text: str) -> None:
    await replay.press("e")
    screen = replay.app.screen
    assert isinstance(screen, RewriteScreen)
    screen.editor.text = text
    await replay.press("ctrl+s")
    await replay.replay()


async def another_policy_shows_its_result_at_once(replay: Replayer) -> None:
    await replay.press("n")
    await switch(replay, "malformed", "repair")
    assert replay.calls == [CALL]
    assert "VARIANT malformed = repair" in replay.screen.replay.position.alarm
    await replay.until(lambda: replay.pane(Pane.CLIENT).changed, "what changed is known")
    changed = replay.pane(Pane.CLIENT).changed
    assert changed is not None and changed.count == 3
    assert "changed" in str(replay.pane(Pane.CLIENT).border_subtitle)
    assert "±" in replay.text
    await replay.press("u")
    await replay.replay()
    assert replay.calls == [] and replay.pane(Pane.CLIENT).changed is None
    assert "VARIANT" not in replay.screen.replay.position.alarm


async def another_dialect(replay: Replayer) -> None:
    assert replay.calls == []
    dialect = replay.player.dialect
    await switch(replay, "dialect", "qwen3-coder")
    assert replay.calls and replay.player.dialect == "qwen3-coder" != dialect


@pytest.mark.exhaustive  # quick: another policy above; the number itself: variants/test_switching.py
async def test_a_number_is_typed():
    async with replaying(samples_dir() / "roo-xml" / "call-too-long.jsonl") as replay:
        assert replay.calls == []
        await replay.press("d")
        await choose(replay, "max_call_bytes")
        await replay.type("1MiB")
        await replay.replay()
        await replay.until(lambda: replay.screen.model.is_variant, "the variant")
        assert replay.calls
        await replay.press("d")
        await choose(replay, "max_call_bytes")
        await replay.type("much")
        await replay.until(lambda: "max_call_bytes" in replay.told, "it says what is wrong")
        assert len(replay.screen.model.changes) == 1


async def the_place_stays_the_same(replay: Replayer) -> None:
    await replay.press(":")
    await replay.type("read 12")
    await switch(replay, "arguments", "stream")
    assert replay.player.last_read(replay.step) == 11
    await replay.press(">")
    await replay.press("u")
    await replay.replay()
    assert replay.step == replay.player.steps - 1


async def the_text_can_be_edited(replay: Replayer) -> None:
    await replay.press("e")
    screen = replay.app.screen
    assert isinstance(screen, RewriteScreen)
    old = screen.editor.text
    assert "<path>src/main.py\n</read_file>" in old
    await replay.press("escape")
    await edit(replay, old.replace("main.py\n", "main.py</path>\n"))
    assert replay.calls == [CALL]
    assert replay.player.reads == 16, "all else stays as it was"


async def an_edit_that_is_not_played_is_asked_about(replay: Replayer) -> None:
    await replay.press("e")
    screen = replay.app.screen
    assert isinstance(screen, RewriteScreen)
    screen.editor.text = "other"
    await replay.press("escape")
    assert replay.app.screen is screen and "escape again" in replay.text
    await replay.press("escape")
    await replay.replay()
    assert not replay.screen.model.is_variant


ODD = "a\r\nb\u2028c\x85d\x0be\rf\tg"


@pytest.mark.exhaustive  # quick: analysis/variants/test_texts.py
async def test_line_ends_that_the_editor_does_not_know_survive(tmp_path: Path):
    path = tmp_path / "odd.txt"
    path.write_bytes(ODD.encode())
    async with replaying(path, dialect="roo-xml") as replay:
        assert replay.message["content"] == ODD
        await replay.press("e")
        screen = replay.app.screen
        assert isinstance(screen, RewriteScreen)
        assert not screen.changed
        screen.editor.text += "!"
        await replay.press("ctrl+s")
        await replay.replay()
        assert replay.message["content"] == f"{ODD}!"
        assert len(replay.screen.model.changes) == 1, "and nothing else changed"


async def one_of_several_texts(replay: Replayer) -> None:
    await replay.press("e")
    await choose(replay, "reasoning")
    screen = replay.app.screen
    assert isinstance(screen, RewriteScreen)
    screen.editor.text = "No thoughts."
    await replay.press("ctrl+s")
    await replay.replay()
    message = replay.message
    assert "No thoughts." in str(message.get("reasoning_content") or message.get("reasoning"))


async def the_stream_can_be_cut_here(replay: Replayer) -> None:
    assert replay.calls
    await replay.press("b")
    await replay.type("machine:src/")
    await replay.press("c")
    await replay.until(lambda: replay.screen.model.reason, "the value")
    event = replay.item().event
    await replay.press("!")
    await replay.replay()
    assert replay.calls == []
    assert [finding.code for finding in replay.player.findings] == ["truncated-call"]
    assert replay.player.event(event) is not None and replay.player.event(event + 1) is None


@pytest.mark.exhaustive  # quick: the stream can be cut here
async def test_it_can_be_cut_at_the_very_byte():
    async with replaying(GOOD) as replay:
        at = bytes(replay.player.data).index(b"src/") + 3
        await replay.press(":")
        await replay.type(f"@{at}")
        await replay.press("!")
        await replay.replay()
        assert bytes(replay.player.data).endswith(b"src/")


async def reads_can_be_joined_and_split(replay: Replayer) -> None:
    data, whole = bytes(replay.player.data), replay.player.completion
    await replay.press("]", "J")
    await replay.replay()
    assert replay.player.reads == 15 and bytes(replay.player.data) == data
    await replay.press("<", "]", "|")
    await replay.press("enter")
    await replay.replay()
    await replay.until(lambda: len(replay.screen.model.changes) == 2, "both changes")
    assert replay.player.reads == 16 and bytes(replay.player.data) == data
    assert replay.player.completion == whole, "cuts do not matter"
    await replay.press("u", "u")
    await replay.replay()
    assert not replay.screen.model.is_variant and replay.player.reads == 16
    await replay.press("u")
    assert "nothing has been changed" in replay.told


@pytest.mark.exhaustive  # quick: reads can be joined and split
async def test_a_split_at_the_byte_one_went_to():
    async with replaying(SAMPLE) as replay:
        at = bytes(replay.player.data).index(b"<path>") + 3
        await replay.press(":")
        await replay.type(f"@{at}")
        await replay.press("1", "|")
        await replay.replay()
        assert replay.player.reads == 17 and at in replay.player.starts


async def a_split_that_cannot_be(replay: Replayer) -> None:
    await replay.press("]", "|")
    await replay.type("x")
    assert "a byte is a number" in replay.text
    await replay.type("0")
    await replay.until(lambda: replay.told, "it says why not")
    assert not replay.screen.model.is_variant


async def test_a_variant_is_saved_as_a_tape_of_its_own(tmp_path: Path):
    path = tape(tmp_path, "roo-xml/unclosed-parameter")
    before = path.read_bytes()
    async with replaying(path) as replay:
        await replay.press("S")
        assert "there is no variant" in replay.told
        await switch(replay, "malformed", "repair")
        await replay.press("S")
        await replay.until(lambda: "written to" in replay.told, "it says where")
        await replay.press("m")
        assert "marks belong to the tape" in replay.told
    assert path.read_bytes() == before
    (saved,) = (file for file in tmp_path.iterdir() if file != path)
    header = read_tape(saved).header
    assert header["policy"]["malformed"] == "repair" and "malformed = repair" in header["about"]
    async with replaying(saved) as replay:
        assert replay.calls == [CALL]


async def why_and_the_change_that_helps(replay: Replayer) -> None:
    why = why_of(replay.player, "unclosed-parameter").sentences[0]
    await replay.press("n", "w")
    assert isinstance(replay.app.screen, WhyScreen)
    assert why.rstrip(".") in replay.text
    await replay.press("1")
    await replay.replay()
    assert replay.calls == [CALL]
    await replay.press("u")
    await replay.replay()
    await replay.press("n", "w", "2")
    await replay.replay()
    assert replay.calls == [CALL]
    assert "malformed = repair" in replay.screen.replay.position.alarm


async def why_of_a_byte(replay: Replayer) -> None:
    at = bytes(replay.player.data).index(b"main.")
    await replay.press(":")
    await replay.type(f"@{at}")
    await replay.press("w")
    assert isinstance(replay.app.screen, WhyScreen)
    assert f"{at:,}" in replay.text or str(at) in replay.text
    await replay.press("escape")
    await replay.replay()


async def why_of_a_row_in_every_pane(replay: Replayer) -> None:
    for key in ("1", "2", "3"):
        await replay.press(">", key, "w")
        assert isinstance(replay.app.screen, WhyScreen) and replay.app.screen.why.sentences, key
        await replay.press("escape")


async def test_a_pasted_text_is_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    compose = Compose(Wishes(dialect="roo-xml", tools=[_tool("read", "filePath")]))
    async with replaying(compose=compose) as replay:
        await replay.until(lambda: isinstance(replay.app.screen, RewriteScreen), "the editor")
        await replay.press("ctrl+s")
        assert isinstance(replay.app.screen, RewriteScreen), "there is nothing to play yet"
        screen = replay.app.screen
        screen.editor.text = "Look:\n<read>\n<filePath>a.py</read>"
        await replay.press("ctrl+s")
        await replay.replay()
        assert replay.calls == []
        await replay.press("S")
        await replay.until(lambda: "written to" in replay.told, "it can be kept as it is")
        assert [path.name for path in tmp_path.iterdir()] == ["text.variant.jsonl"]
        why = why_of(replay.player, "unclosed-parameter").sentences[0]
        await replay.press("n", "w")
        assert why.rstrip(".") in replay.text
        await replay.press("1")
        await replay.replay()
        assert replay.calls == [("read", '{"filePath":"a.py"}')]


def _tool(name: str, parameter: str) -> dict:
    schema = {"type": "object", "properties": {parameter: {"type": "string"}}}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


@pytest.mark.exhaustive  # quick: a pasted text is asked about, below
async def test_a_text_that_somebody_wrote_is_not_lost_by_one_key(tmp_path: Path):
    async with replaying(tape(tmp_path, "roo-xml/unclosed-parameter")) as replay:
        await edit(replay, "Hello")
        await replay.press("q")
        assert replay.app.is_running and "not saved" in replay.told
        await replay.press("S")
        await replay.until(lambda: "written to" in replay.told, "it is saved")
        assert not replay.screen.unsaved
        await edit(replay, "Hello again")
        assert replay.screen.unsaved
        await replay.press("q", "q")
        await replay.until(lambda: not replay.app.is_running, "the end")


async def test_a_pasted_text_is_asked_about_and_can_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    async with replaying(compose=Compose(Wishes(dialect="roo-xml"))) as replay:
        await replay.until(lambda: isinstance(replay.app.screen, RewriteScreen), "the editor")
        screen = replay.app.screen
        assert isinstance(screen, RewriteScreen)
        screen.editor.text = "Look: a text"
        await replay.press("ctrl+s")
        await replay.replay()
        await replay.press("q")
        assert replay.app.is_running and "not saved" in replay.told
        await replay.press("S")
        await replay.until(lambda: "written to" in replay.told, "it is saved")
        await replay.press("q")
        await replay.until(lambda: not replay.app.is_running, "the end")
    assert [b"Look" in file.read_bytes() for file in tmp_path.iterdir()] == [True]


# -- all that needs nothing but one of the samples


CHECKS = (
    (SAMPLE, another_policy_shows_its_result_at_once),
    (SAMPLE, the_place_stays_the_same),
    (SAMPLE, the_text_can_be_edited),
    (SAMPLE, an_edit_that_is_not_played_is_asked_about),
    (SAMPLE, reads_can_be_joined_and_split),
    (SAMPLE, a_split_that_cannot_be),
    (SAMPLE, why_and_the_change_that_helps),
    (SAMPLE, why_of_a_byte),
    (SAMPLE, why_of_a_row_in_every_pane),
    (GOOD, the_stream_can_be_cut_here),
    (THOUGHTS, one_of_several_texts),
    (PASSED_ON, another_dialect),
)


async def test_changes_of_a_tape():
    """One application for all: to start it takes longer than most of the checks."""
    files = SAMPLE, GOOD, THOUGHTS, PASSED_ON
    async with replaying(*files) as replay:
        for path, check in CHECKS:
            await replay.anew(files.index(path))
            await check(replay)
