"""The detail screen: facts, JSON and bytes of any row, however hostile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input

from tests.support.cost import calls_made
from tests.support.samples import name_of, some_samples
from tests.support.streams import chunk, sse
from tests.support.tiers import exhaustive, only_exhaustive
from tests.support.views import ViewApp, each_size, hostile_player, played, run, sample, shown
from transformer import Delta, Finding, Transition
from workbench.replay.player import Pane, Player
from workbench.tape.format import Line
from workbench.ui.rowfacts import about, bytes_about, json_about
from workbench.ui.screens.detail import DetailScreen
from workbench.ui.widgets.document import Document, Prose
from workbench.ui.widgets.payload import HexDump, JsonText, pretty
from workbench.ui.widgets.textpane import TextPane


def row_of(player: Player, pane: Pane, record: type, **fields: Any) -> int:
    """The first row of this kind with these fields."""
    for row in range(len(player.rows(pane))):
        item = player.item(pane, row)
        if isinstance(item, record) and all(getattr(item, name) == value for name, value in fields.items()):
            return row
    raise AssertionError(f"no {record.__name__} with {fields}")


# -- documents


def laid_out(document: Document, width: int = 40) -> list[str]:
    document.fit(width)
    while document.advance(0.05):
        pass
    return [document.text(row) for row in range(len(document))]


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        {"a": [], "b": {}},
        [1, [2, [3]]],
        {"a": {"b": [True, None, 1.5e300, -0.0]}, "c": 'x\n"\\'},
        10**4000,
        "text",
        [[[]]],
    ],
)
def test_pretty_is_what_json_writes(value: Any):
    assert pretty(json.dumps(value)) == json.dumps(value, indent=2)
    assert pretty(json.dumps(value, separators=(",", ":"))).replace(" ", "") == json.dumps(
        value, indent=2
    ).replace(" ", "")


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ('{"a":[1,{"b":2}]}', ["{", '  "a": [', "    1,", "    {", '      "b": 2', "    }", "  ]", "}"]),
        ('{"n":12345678901234567890123}', ["{", '  "n": 12345678901234567890123', "}"]),
        ('{"a": {"b', ["{", '  "a": {', '    "b']),
        ("}]", ["}", "]"]),
        ("nothing", ["nothing"]),
        ("", []),
    ],
)  # fmt: skip
def test_json_rows(text: str, rows: list[str]):
    assert laid_out(JsonText(text)) == rows


def test_a_long_string_takes_several_rows_and_loses_nothing():
    text = json.dumps({"key": "word " * 50})
    rows = laid_out(JsonText(text), 30)
    assert max(map(len, rows)) <= 30 and "".join(row.strip() + " " for row in rows).count("word") == 50


@pytest.mark.parametrize(
    ("text", "width", "rows"),
    [
        ("one two three", 9, ["one two ", "three"]),
        ("a\n\nb", 9, ["a", "", "b"]),
        ("漢字漢字漢字", 8, ["漢字漢字", "漢字"]),
        ("x" * 20, 8, ["x" * 8, "x" * 8, "x" * 4]),
        ("\x1b" * 3, 8, ["\x1b\x1b", "\x1b"]),
    ],
)
def test_prose_is_wrapped_by_cells(text: str, width: int, rows: list[str]):
    assert laid_out(Prose(text), width) == rows


@pytest.mark.parametrize(
    ("marks", "row"),
    [
        ((), "00000010 61 62 0a 64  ab·d"),
        (((17, 19),), "00000010 61[62 0a]64  ab·d"),
        (((18, 20),), "00000010 61 62[0a 64] ab·d"),
        (((0, 99),), "00000010[61 62 0a 64] ab·d"),
    ],
)
def test_marked_bytes_stand_in_brackets(marks: Any, row: str):
    assert laid_out(HexDump(b"ab\nd", 16, marks), 20) == [row]


_DEEP = 10_000 if exhaustive() else 2_000  # many times the rows of one slice
HUGE = {
    "deep": "[" * _DEEP + "]" * _DEEP,
    "deep and broken": '{"a":' * 10_000,
    "long": json.dumps({"a": "x" * 1_000_000}),
    "wide": json.dumps({"a": "漢" * 300_000}, ensure_ascii=False),
    "escapes": '"' + "\x1b\u202e" * 200_000 + '"',
    "digits": '{"n":' + "9" * 100_000 + "}",
    "many": json.dumps(list(range(100_000))),
}


# quick: many rows, one long text, one long number; the others are variations of these
@pytest.mark.parametrize("name", only_exhaustive(list(HUGE), quick=["deep", "long", "digits"]))
def test_no_slice_of_the_layout_takes_long(name: str):
    """The shortest slices there are: each looks at the clock after one row, or a piece of one."""
    document = JsonText(HUGE[name])
    document.fit(80)
    slices = []
    while not document.complete:
        slices.append(calls_made(lambda: document.advance(0)))
    rows = [document.text(row) for row in range(max(0, len(document) - 50), len(document))]
    assert max(slices) < 3_000 and rows and max(map(len, rows)) < 800


# -- the screen


async def a_finding_with_its_advice_and_its_rule(app: ViewApp) -> None:
    player = sample("roo-xml/unclosed-parameter")
    row = row_of(player, Pane.MACHINE, Finding)
    await app.show(DetailScreen(player, Pane.MACHINE, row))
    assert app.sees("✖ error: unclosed-parameter", "What to do", "The rule that led to it", "give up")
    assert app.sees("<path>", "[3c 70 61 74 68 3e]"), "its characters in the JSON and its bytes"
    await app.press("right")
    assert app.sees("Machine row 14 of 14")
    await app.press("right")
    assert app.sees("Machine row 14 of 14"), "there is no further row"
    await app.press("left", "h", "left_square_bracket")
    assert app.sees("Machine row 11 of 14")
    await app.press("escape")
    assert app.results == [(Pane.MACHINE, 10)]


async def the_rule_of_a_transition(app: ViewApp) -> None:
    player = sample("roo-xml/good-read")
    row = row_of(player, Pane.MACHINE, Transition, rule="begin call")
    await app.show(DetailScreen(player, Pane.MACHINE, row))
    assert app.sees("In state text the machine met open and went to call.")
    transition = player.item(Pane.MACHINE, row)
    assert isinstance(transition, Transition) and app.sees(f"why         {transition.why}", "span", "bytes")


async def a_delta_as_the_client_gets_it_and_the_event_it_comes_from(app: ViewApp) -> None:
    player = sample("roo-xml/good-read")
    row = row_of(player, Pane.CLIENT, Delta, kind="call")
    await app.show(DetailScreen(player, Pane.CLIENT, row))
    assert app.sees('"name": "read_file"', '"type": "function"', "The rule that led to it")
    await app.press("2", "end")
    assert app.sees('"content"')


@some_samples(1)
def test_every_row_of_every_pane_has_a_detail(path: Path):
    check_details(sample(name_of(path)))


def test_every_row_of_a_hostile_stream_has_a_detail():
    check_details(hostile_player())


def check_details(player: Player) -> None:
    for pane in Pane:
        for row in range(len(player.rows(pane))):
            item = player.item(pane, row)
            documents = about(player, pane, row), json_about(player, item), bytes_about(player, item)
            for document in documents:
                laid_out(document)
                looks = {look for at in range(len(document)) for _, look in document.pieces(at)}
                assert looks <= TextPane.LOOKS
            assert any("s after the request" in documents[0].text(at) for at in range(len(documents[0])))
            assert len(documents[2]) or isinstance(item, Line) or not player.bytes_of(item)


async def in_a_small_terminal_the_parts_are_tabs(app: ViewApp) -> None:
    player = sample("roo-xml/good-read")
    await app.show(DetailScreen(player, Pane.UPSTREAM, 3))
    assert app.sees("What came") and not app.sees('"choices"')
    await app.press("tab")
    assert app.sees('"choices"') and not app.sees("What came")
    await app.press("tab", "tab")
    assert app.sees("What came")
    await app.pilot.click("#view-tabs", offset=(22, 0))
    await app.settle()
    assert app.sees("64 61 74 61 3a"), "the mouse opens a part as well"


async def search_goes_from_match_to_match(app: ViewApp) -> None:
    player = sample("roo-xml/good-read")
    await app.show(DetailScreen(player, Pane.UPSTREAM, 3))
    await app.press("2", "slash", *"CHAT", "enter")
    pane = app.view.pane
    assert pane is not None and len(pane.found) == 2, "whatever the case"
    first = pane.cursor
    await app.press("n")
    assert pane.cursor == pane.found[1] != first
    await app.press("n", "N", "N")
    assert pane.cursor == first
    await app.press("slash", *"zzz", "enter")
    assert pane.found == []


WIDE = (
    a_finding_with_its_advice_and_its_rule,
    the_rule_of_a_transition,
    a_delta_as_the_client_gets_it_and_the_event_it_comes_from,
)
NARROW = in_a_small_terminal_the_parts_are_tabs, search_goes_from_match_to_match


@pytest.mark.parametrize(("size", "checks"), [((200, 50), WIDE), ((80, 24), NARROW)], ids=["wide", "narrow"])
def test_what_is_said_about_a_row(size: tuple[int, int], checks: Any):
    async def look() -> None:
        async with shown(DetailScreen(sample("roo-xml/good-read"), Pane.UPSTREAM, 0), size) as app:
            for check in checks:
                await check(app)

    run(look())


def test_copying(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    text = '{"choices":[{"delta":{"content":"\\ud800 12345678901234567890123456789"}}]}'
    player = played(sse(text))

    async def look() -> None:
        async with shown(DetailScreen(player, Pane.UPSTREAM, 1)) as app:
            await app.press("2", "c")
            assert pretty(text) in app.clipboard
            await app.press("C")
            app.screen.query_one(Input).value = str(tmp_path)  # asked once
            await app.press("enter", "C")
            files = sorted(tmp_path.iterdir())
            assert [file.name for file in files] == ["workbench-JSON-2.txt", "workbench-JSON.txt"]
            assert pretty(text) in files[0].read_text() and files[0].stat().st_mode & 0o077 == 0
            await app.until(lambda: any("written to" in line for line in app.seen), "the path on the screen")
            await app.press("home", "down", "y")
            assert app.clipboard == "{"

    run(look())


@each_size
def test_a_hostile_stream(size: tuple[int, int]):
    player = hostile_player()
    first, count = (0, 4) if exhaustive() else (1, 1)  # the first one is but the status

    async def look() -> None:
        async with shown(DetailScreen(player, Pane.UPSTREAM, 0), size) as app:
            for pane in Pane:
                await app.show(DetailScreen(player, pane, first))
                for _ in range(min(count, len(player.rows(pane)))):
                    for part in "123" if size[0] < 100 else "3":
                        await app.press(part)
                        assert app.seen and app.is_running
                    await app.press("right")

    run(look())


# quick: one of them; the layout of more above
@pytest.mark.parametrize("name", only_exhaustive(list(HUGE), quick=["digits"]))
def test_a_huge_event(name: str):
    data = HUGE[name] if name.startswith("deep") else json.dumps(chunk(HUGE[name]))
    player = played(f"data: {data}\n\n".encode("utf-8", "backslashreplace"))

    async def look() -> None:
        view = DetailScreen(player, Pane.UPSTREAM, 1)
        async with shown(view, (80, 24)) as app:
            await app.until(lambda: app.sees("What came"), "the facts")
            assert calls_made(view.begin) < 20_000
            await app.until(lambda: app.sees("What came"), "the facts")
            await app.press("2", "end")
            assert len(view.json.document) > 1 and app.seen
            await app.press("3", "end")
            assert len(view.bytes.document) > 1 and app.seen

    run(look())
