"""Saving: a variant is a tape like any other, and the original stays as it was."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.support.samples import ALL as SAMPLES
from tests.support.streams import chunk, sse
from tests.support.variants import HEADER, play, play_bytes, played_file
from workbench.analysis.variants.changes import Change, Cut, Switch
from workbench.analysis.variants.script import Script, apply, save_variant, script_of
from workbench.errors import UserError
from workbench.library.index import rebuild
from workbench.library.query import Library
from workbench.library.tapefiles import tape_path
from workbench.replay.player import Player
from workbench.tape.format import Tape, dump_tape, end_line, read_line, read_tape

CHANGES: list[Change] = [Switch("malformed", "repair"), Cut(100)]


def variant(player: Player, changes: list[Change] = CHANGES) -> Script:
    return apply(script_of(player), player, changes)


def write(path: Path, **more: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (read_line(1, sse(chunk("Hello" * 30))), end_line(2, "done", calls=3, findings={"odd": 1}))
    path.write_bytes(dump_tape(Tape(HEADER | more, lines)))
    return path


def test_a_variant_is_a_tape_beside_the_original(folder: Path, tmp_path: Path):
    source = write(tmp_path / "tapes" / "one.jsonl", model="m", started=7)
    original = source.read_bytes()
    script = variant(played_file(source))
    path = save_variant(script, source, CHANGES)
    assert path == source.with_name("one.variant.jsonl")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    tape = read_tape(path)
    assert tape.complete and tape.problem is None and tape.lines == script.lines
    assert tape.header == dict(script.header) | {
        "about": "variant of one.jsonl: malformed = repair; cut after byte 100",
        "variant_of": "one.jsonl",
    }
    assert source.read_bytes() == original
    assert sorted(os.listdir(source.parent)) == ["one.jsonl", "one.variant.jsonl"]
    assert played_file(path).problem is None


def test_nothing_is_overwritten(folder: Path):
    source = write(folder / "one.jsonl")
    script = variant(played_file(source))
    names = [save_variant(script, source, CHANGES).name for _ in range(3)]
    assert names == ["one.variant.jsonl", "one.variant-2.jsonl", "one.variant-3.jsonl"]
    # One of a variant goes on counting, and says what it comes from.
    again = save_variant(script, folder / names[1], [])
    assert again.name == "one.variant-4.jsonl"
    assert read_tape(again).header["about"] == "variant of one.variant-2.jsonl"
    assert read_tape(again).header["variant_of"] == "one.variant-2.jsonl"


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (SAMPLES[0], f"{SAMPLES[0].stem}.variant.jsonl"),
        (Path("nowhere.sse"), "nowhere.variant.jsonl"),
        (Path(__file__) / "no-folder.jsonl", "no-folder.variant.jsonl"),
        (None, "text.variant.jsonl"),
    ],
)
def test_where_it_cannot_be_beside_the_original(folder: Path, source: Path | None, name: str):
    path = save_variant(variant(play_bytes(sse(chunk("Hello" * 30)))), source, CHANGES)
    assert path.resolve() == folder / name
    assert SAMPLES[0].parent.joinpath(name).exists() is False


def test_a_text_that_was_saved_as_it_is(folder: Path):
    header = read_tape(save_variant(script_of(play_bytes(sse(chunk("Hello")))), None, [])).header
    assert (header["about"], "variant_of" in header) == ("x", False)


def test_a_header_that_says_next_to_nothing(folder: Path):
    saved = read_tape(save_variant(Script({"tape": 7, "odd": [1]}, ()), Path("one.jsonl"), [Cut(0)]))
    assert saved.header == {
        "tape": 1,
        "about": "variant of one.jsonl: cut after byte 0",
        "odd": [1],
        "variant_of": "one.jsonl",
    }


def test_no_folder_at_all(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Path, "cwd", lambda: Path(__file__))
    with pytest.raises(UserError, match=r"cannot be saved in .*a folder that you may write to"):
        save_variant(variant(play_bytes(sse(chunk("Hello" * 30)))), None, CHANGES)
    assert list(folder.iterdir()) == []


def test_a_recording_that_still_runs(folder: Path):
    before = play(read_line(1, sse(chunk("Hello"), done=False)), pid=os.getpid(), id="abc")
    tape = read_tape(save_variant(script_of(before), Path("one.jsonl"), []))
    assert "pid" not in tape.header and not tape.complete
    assert tape.header["variant_of"] == "abc"


def test_the_library_knows_it_as_an_exchange_of_its_own(folder: Path):
    started = 1_790_000_000.0
    name = tape_path(started, "abcdefghjk")
    source = write(
        folder / name, id="abcdefghjk", pid=1, started=started, session="s", kind="chat", model="m"
    )
    path = save_variant(variant(played_file(source), []), source, [])
    assert read_tape(path).header["id"] == "abcdefghjk.variant"
    rebuild(folder)
    with Library(folder) as library:
        rows = {row.id: row for row in library.rows()}
    assert set(rows) == {"abcdefghjk", "abcdefghjk.variant"}
    new, old = rows["abcdefghjk.variant"], rows["abcdefghjk"]
    assert (new.started, new.session, new.state, new.bytes) == (started, "s", "done", old.bytes)
    # What the original's end line sums up is not true of a variant: that is found out anew.
    assert (old.calls, dict(old.findings)) == (3, {"odd": 1})
    assert (new.calls, dict(new.findings)) == (0, {})
