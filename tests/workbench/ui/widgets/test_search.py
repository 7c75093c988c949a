"""Copying, saving and searching what a pane shows: the true text of the wire."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.support.replays import replaying
from tests.support.streams import sse
from tests.support.tapes import CALL, TOOLS
from tests.support.views import played, write_tape
from workbench.replay.player import Pane, Player
from workbench.tape.format import make_header
from workbench.ui.widgets.panes import ClientPane, MachinePane, UpstreamPane
from workbench.ui.widgets.payload import JsonText
from workbench.ui.widgets.rowpane import RowPane
from workbench.ui.widgets.search import PaneSearch, pattern_of
from workbench.ui.widgets.tapepane import TapePane


def chunk(text: str) -> bytes:
    return sse({"choices": [{"delta": {"content": text}}]}, done=False)


# One event over two reads, a word over two events, the same word inside one.
EVENT = chunk("Sure, I look.\n")
READS = (EVENT[:40], EVENT[40:], chunk("The pel"), chunk("ican and a pelican. caf"), chunk("é " + CALL))


@pytest.fixture(autouse=True)
def _without_a_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RowPane, "show", lambda self: None)


def shown(pane: TapePane, player: Player | None = None) -> TapePane:
    pane.play(player or played(*READS, request={"model": "m", "tools": TOOLS}))
    return pane


def rows_with(pane: RowPane, wanted: str) -> list[int]:
    search = PaneSearch(pane, wanted)
    asyncio.run(search.look())
    return search.rows


def test_a_read_is_copied_as_it_came_and_what_is_marked_in_it_changes_nothing():
    pane = shown(UpstreamPane())
    assert [pane.copied(row) for row in range(1, 6)] == [read.decode() for read in READS]
    assert pane.whole() == b"".join(READS)


def test_a_delta_is_copied_once_and_a_finding_too():
    client, machine = shown(ClientPane()), shown(MachinePane())
    texts = [client.copied(row) for row in range(client.count())]
    assert "".join(texts).count("Sure") == 1 and '{"path":"a.py"}' in "".join(texts)
    assert all(client.text(row).count("Sure") <= 1 for row in range(client.count()))
    assert all(machine.text(row).count("<read_file>") <= 1 for row in range(machine.count()))


@pytest.mark.parametrize(
    ("kind", "wanted", "found"),
    [
        (UpstreamPane, "sure, i", [1]),  # over two reads, in one event
        (UpstreamPane, "pelican", [3, 4]),  # over two events; then inside one
        (UpstreamPane, "café", [4]),  # over two events, and in the bytes it is an escape
        (UpstreamPane, '"content"', [1, 3, 4, 5]),
        (UpstreamPane, "look.↵the", [2]),
        (UpstreamPane, "HTTP 200", [0]),
        (UpstreamPane, "nowhere", []),
    ],
)  # fmt: skip
def test_a_search_goes_over_the_joined_text(kind: type[TapePane], wanted: str, found: list[int]):
    assert rows_with(shown(kind()), wanted) == found


@pytest.mark.parametrize("kind", [MachinePane, ClientPane])
def test_what_was_cut_on_its_way_is_found_in_every_pane(kind: type[TapePane]):
    pane = shown(kind())
    texts = [pane.searched(row).lower() for row in range(pane.count())]
    found = rows_with(pane, "The pelican")
    assert len(found) == 1 and not any("the pelican" in text for text in texts)
    assert "the pel" in texts[found[0]]
    assert len(rows_with(pane, "pelican")) == 2


def test_byte_by_byte_a_match_is_counted_once():
    data = b"".join(READS)
    pane = shown(UpstreamPane(), played(*(data[at : at + 1] for at in range(len(data)))))
    assert len(rows_with(pane, "pelican and a")) == 1 and len(rows_with(pane, "pelican")) == 2
    assert rows_with(pane, "pelican. ") == [1 + data.index(b"pelican. ")]


def test_a_search_goes_on_with_what_comes():
    player = played(*READS[:3])
    pane = shown(UpstreamPane(), player)
    search = PaneSearch(pane, "pelican")
    asyncio.run(search.look())
    assert search.rows == [] and search.nearest(0, 1) is None
    player = played(*READS)
    pane.play(player)
    assert not search.is_for(pane, "pelican")


@pytest.mark.parametrize(
    ("wanted", "text", "found"),
    [
        ("\\x1b[2j", "a \x1b[2J", True),
        ("\\x1b", "the text \\x1b itself", True),
        ("a↵B", "A\nb", True),
        ("a.c", "abc", False),
        ("\\uZZ", "\\uzz", True),
        ("\\U7fffffff", "\\U7fffffff", True),
    ],
)
def test_what_the_screen_shows_for_a_character_finds_it(wanted: str, text: str, found: bool):
    assert (pattern_of(wanted).search(text) is not None) is found


def test_json_is_found_as_it_is_shown_and_as_it_came():
    document = JsonText('{"content":"Sure","n":1}')
    document.fit(80)
    while document.advance(1):
        pass
    assert (
        document.matches(pattern_of('"content": "Sure"'))
        == document.matches(pattern_of('"content":"Sure"'))
        == [1]
    )


async def test_keys_copy_save_and_search_the_true_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.undo()  # with a screen
    monkeypatch.chdir(tmp_path)
    header = make_header("x", "roo-xml", ids="s", request={"model": "m", "tools": TOOLS})
    async with replaying(write_tape(tmp_path / "cut.jsonl", header, READS)) as replayer:
        upstream = replayer.pane(Pane.UPSTREAM)
        await replayer.press("greater_than_sign", "1", "slash")
        await replayer.type("pelican")
        await replayer.until(
            lambda: "1 of 2 rows" in str(upstream.border_subtitle), "the first, and how many"
        )
        assert upstream.cursor == 2
        await replayer.press("n")
        await replayer.until(lambda: "“pelican” 2 of 2 rows" in str(upstream.border_subtitle), "the next")
        await replayer.press("y")
        assert (
            json.loads(replayer.app.clipboard.removeprefix("data: ")) and "ican and" in replayer.app.clipboard
        )
        files = tmp_path / "files"
        await replayer.press("Y")
        await replayer.type(str(files))  # the place is asked once
        await replayer.until(lambda: len([*files.glob("*.txt")]) == 1, "a file")
        await replayer.press("Y")
        await replayer.until(lambda: len([*files.glob("*.txt")]) == 2, "another file")
        assert {path.read_bytes() for path in files.glob("*.txt")} == {b"".join(READS)}
        await replayer.press("escape")
        assert "pelican" not in str(upstream.border_subtitle)
