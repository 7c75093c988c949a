"""The picker: what it lists, what it says, and how few keys it takes."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from tests.support.screens import paste
from tests.support.streams import sse, stream_of
from tests.support.tiers import exhaustive, only_exhaustive
from tests.support.views import HOSTILE, ViewApp, run, shown, write_tape
from workbench.analysis.appraisal import SMALL, appraise
from workbench.files import samples_dir
from workbench.replay.lines import LineSource
from workbench.replay.sources import Replayable, replayables_of
from workbench.tape.format import make_header
from workbench.tape.recipe import Wishes
from workbench.text import SIGNS
from workbench.ui.screens.picker import PROBLEMS, Kind, PickerScreen, ReplayableList
from workbench.ui.screens.view import HelpScreen
from workbench.ui.widgets.rowpane import RowPane

ALL_SIZES = [(80, 24), (120, 40), (200, 50)]


def fresh_samples() -> list[Replayable]:
    return replayables_of([str(samples_dir())], Wishes())


FEW = ("kimi-k2", "qwen3-coder", "roo-xml", "seed-oss")  # folders


@cache
def samples() -> list[Replayable]:
    """With what is to be said of them: to look into all of them takes longer than all of these tests."""
    replayables = [one for one in fresh_samples() if exhaustive() or one.folder in FEW]
    for replayable in replayables:
        source = replayable.open()
        source.advance(60)
        replayable.appraisal = appraise(replayable, source)
    return replayables


def number_of(replayables: Sequence[Replayable], name: str) -> int:
    folder, _, title = name.partition("/")
    return next(at for at, one in enumerate(replayables) if (one.folder, one.title) == (folder, title))


async def judged(app: ViewApp) -> None:
    await app.until(lambda: all(one.appraisal for one in app.view.replayables), "a look into all of them")
    await app.pilot.pause()


def titles(app: ViewApp) -> list[str]:
    return [app.view.replayables[one].title for one in app.view.list.entries if isinstance(one, int)]


@pytest.mark.parametrize("kind", [PickerScreen, ReplayableList, RowPane])
def test_every_binding_explains_itself(kind: type):
    own = kind.__dict__.get("BINDINGS", ())
    assert all(binding.id and binding.tooltip and binding.description for binding in own)
    assert len({binding.id for binding in own}) == len(own)


@pytest.mark.exhaustive  # quick: test_replay: the samples are two keys away
@pytest.mark.parametrize("size", only_exhaustive(ALL_SIZES, quick=ALL_SIZES[:1]))
def test_a_malformed_call_is_two_keys_away(size: tuple[int, int]):
    replayables = fresh_samples()

    async def look() -> None:
        async with shown(PickerScreen(replayables), size) as app:
            await judged(app)
            await app.press("f", "enter")
            (number,) = app.results
            chosen = replayables[number]
            assert chosen.folder == "roo-xml" and chosen.appraisal is not None and chosen.appraisal.malformed

    run(look())


@pytest.mark.exhaustive  # quick: the details below show the same facts
@pytest.mark.parametrize("size", only_exhaustive(ALL_SIZES, quick=ALL_SIZES[:1]))
def test_names_signs_and_abouts_are_seen(size: tuple[int, int]):
    replayables = fresh_samples()
    first, roo = replayables[0], [one for one in replayables if one.folder == "roo-xml"]

    async def look() -> None:
        async with shown(PickerScreen(replayables), size) as app:
            assert app.sees(first.title, first.about[:20], f"roo-xml {len(roo)}"), "at once"
            await judged(app)
            levels = Counter(one.appraisal.level for one in roo if one.appraisal is not None)
            assert app.sees(f"roo-xml {len(roo)}  ✖ {levels['error']} ▲ {levels['warning']}")
            known = [(SIGNS[one.appraisal.level], one) for one in roo[:2] if one.appraisal is not None]
            assert app.sees(*(f"{sign} {one.title}" for sign, one in known), "about")
            assert first.appraisal is not None and app.sees(f"{known[0][0]} {first.appraisal.sentence}")
            assert not app.sees("looking into")

    run(look())


async def the_details_are_of_the_selected_one(app: ViewApp) -> None:
    replayables = samples()
    at = number_of(replayables, "roo-xml/unclosed-parameter-repaired")
    await app.show(PickerScreen(replayables, at))
    await judged(app)
    assert app.sees("▲ a call was converted after a repair", "roo-xml, malformed = repair · ")
    assert app.sees("findings    repaired-parameter", "The model's text begins", "<read_file>")
    await app.press("down")
    assert app.sees("findings    unclosed-parameter") and app.results == []
    await app.press("enter")
    assert app.results == [at + 1]


async def keys_go_through_the_list_and_pass_over_the_names_of_folders(app: ViewApp) -> None:
    replayables = samples()
    await app.show(PickerScreen(replayables))
    chosen = app.view.list
    await app.press("g", "up")
    assert chosen.chosen == 0
    await app.press("j", "j", "k")
    assert chosen.chosen == 1
    await app.press("G")
    assert chosen.chosen == len(replayables) - 1
    last = max(at for at, one in enumerate(replayables) if one.folder == "roo-xml")
    chosen.go(chosen.entries.index(last))
    await app.press("down")
    assert chosen.chosen == last + 1
    await app.press("up")
    assert chosen.chosen == last


async def problems_are_found_one_after_the_other(app: ViewApp) -> None:
    replayables = samples()
    known = [one.appraisal.level for one in replayables if one.appraisal is not None]
    problems = [number for number, level in enumerate(known) if level in PROBLEMS and number]
    well = next(at for at in range(1, len(problems)) if problems[at] > problems[at - 1] + 1)
    await app.show(PickerScreen(replayables))
    await judged(app)
    await app.press(*["n"] * (well + 1))
    assert app.view.list.chosen == problems[well], "what is well is passed over"
    await app.press("N")
    assert app.view.list.chosen == problems[well - 1]


async def a_key_goes_through_what_can_be_shown(app: ViewApp) -> None:
    replayables = samples()
    await app.show(PickerScreen(replayables))
    await judged(app)
    counts = []
    for kind in (Kind.MALFORMED, Kind.PROBLEMS, Kind.ALL):
        await app.press("f")
        assert app.view.filter.kind is kind
        counts.append(len(titles(app)))
    assert 0 < counts[0] < counts[1] < counts[2] == len(replayables)
    await app.press("f", "escape")
    assert len(titles(app)) == len(replayables) and app.results == []
    await app.press("escape")
    assert app.results == [None]


WORDS: dict[str, set[str]] = {
    "unclosed-call": {"unclosed-call", "unclosed-call-repaired"},
    "repaired-call stray": {"begin-as-end"},
}
MORE_WORDS: dict[str, set[str]] = {
    "KIMI escape pieces": {"escape-in-pieces"},
    "max_tokens value": {"cut-by-length"},
    "no such thing": set(),
}


async def words_filter_while_they_are_typed(app: ViewApp, words: str, found: set[str]) -> None:
    replayables = samples()
    await app.show(PickerScreen(replayables))
    await judged(app)
    await app.press("slash")
    await paste(app.pilot, words[:-2])
    await app.press(*words[-2:])
    assert set(titles(app)) == found
    await app.press("enter")
    assert set(titles(app)) == found and app.focused is app.view.list
    assert app.sees(words) and app.sees("nothing fits") == (not found)
    await app.press("enter")
    assert len(app.results) == int(bool(found))


async def escape_forgets_what_was_typed_and_arrows_work_meanwhile(app: ViewApp) -> None:
    replayables = samples()
    await app.show(PickerScreen(replayables))
    await judged(app)
    await app.press("slash")
    await paste(app.pilot, "unclosed")
    await app.press("down", "down")
    third = app.view.list.chosen
    assert replayables[third].title == titles(app)[2]
    await app.press("escape")
    assert len(titles(app)) == len(replayables) and app.view.list.chosen == third
    assert app.focused is app.view.list


@pytest.mark.exhaustive  # quick: test_replay: the samples are two keys away
def test_the_next_case_is_two_keys_away_too():
    replayables = samples()

    async def look() -> None:
        async with shown(PickerScreen(replayables)) as app:
            await app.press("f", "slash", *"unclosed", "enter", "enter")
            (first,) = app.results
            cases = titles(app)
            app.push_screen(PickerScreen(replayables, first, like=app.view), app.results.append)
            await app.until(
                lambda: app.screen is not app.view and app.sees("malformed calls only"), "the list"
            )
            await app.press("down", "enter")
            assert [replayables[number].title for number in app.results] == cases[:2]

    run(look())


async def the_mouse_selects_and_opens(app: ViewApp) -> None:
    replayables = samples()
    await app.show(PickerScreen(replayables))
    await app.pilot.click("#replayables", offset=(10, 4))
    assert app.view.list.chosen == 2 and app.results == []
    await app.pilot.click("#replayables", offset=(10, 5), times=2)
    await app.until(lambda: app.results, "a second click opens")
    assert app.results == [3]


async def tab_goes_to_the_details_and_help_names_every_key(app: ViewApp) -> None:
    replayables = samples()
    await app.show(PickerScreen(replayables))
    await app.press("tab")
    assert app.focused is app.view.about
    await app.press("tab")
    assert app.focused is app.view.list
    tips = {active.tooltip for active in app.screen.active_bindings.values() if active.tooltip}
    await app.press("question_mark")
    assert isinstance(app.screen, HelpScreen)
    said = app.screen.sheet.whole().replace("\n            ", "")
    assert [tip for tip in tips if tip.split(" ")[-1] not in said] == []
    await app.press("escape")
    assert app.screen is app.view


@pytest.mark.exhaustive  # quick: a large tape below
def test_ten_thousand_are_listed_at_once_and_only_the_seen_ones_are_opened(tmp_path: Path):
    source = (samples_dir() / "roo-xml" / "good-read.jsonl").read_bytes()
    for number in range(200):
        (tmp_path / f"{number:03}.jsonl").write_bytes(source)
    few = replayables_of([str(tmp_path)], Wishes())
    opened: list[str] = []

    def watched(replayable: Replayable) -> Replayable:
        real = replayable.open

        def noted() -> LineSource:
            opened.append(replayable.title)
            return real()

        replayable.open = noted  # type: ignore[method-assign]
        return replayable

    replayables = [watched(few[0])] + [
        watched(one) for _ in range(50) for one in replayables_of([str(tmp_path)], Wishes())
    ]

    async def look() -> None:
        async with shown(PickerScreen(replayables)) as app:
            assert app.view.list.count() == len(replayables) + 1 and len(opened) < 1000
            assert app.sees("looking into")
            await app.press("G")
            await app.until(lambda: replayables[-1].appraisal, "what is seen is looked into first")
            assert len(opened) < 5000
            await app.press("escape")
            assert app.results == [None]

    run(look())


def test_a_large_tape_is_left_for_later(tmp_path: Path):
    path = write_tape(tmp_path / "large.jsonl", make_header("large", "roo-xml"), [b"x" * SMALL])
    replayables = replayables_of([str(path), str(samples_dir() / "roo-xml" / "good-read.jsonl")], Wishes())

    async def look() -> None:
        async with shown(PickerScreen(replayables)) as app:
            await app.until(lambda: replayables[1].appraisal, "the small one")
            await app.until(lambda: app.sees("✔"), "its sign")
            assert replayables[0].appraisal is None
            assert app.sees("· ", "1 MiB: it is looked into when you open it")
            await app.press("enter")
            assert app.results == [0]

    run(look())


def test_what_cannot_be_opened_says_why(tmp_path: Path):
    replayables = replayables_of([str(tmp_path / "gone.jsonl"), str(samples_dir() / "passthrough")], Wishes())

    async def look() -> None:
        async with shown(PickerScreen(replayables)) as app:
            assert app.sees("✖", "gone.jsonl", "it cannot be opened", "No such file")
            await judged(app)
            await app.press("f")
            assert titles(app)[0] == str(tmp_path / "gone.jsonl"), "it is a problem, too"

    run(look())


def test_a_tape_that_has_grown_is_looked_into_again(tmp_path: Path):
    path = tmp_path / "one.jsonl"
    whole = (samples_dir() / "roo-xml" / "good-read.jsonl").read_bytes()
    header, _, rest = whole.partition(b"\n")
    running = header.replace(b'{"tape": 1', b'{"tape": 1, "pid": %d' % os.getpid())
    path.write_bytes(running + b"\n" + rest.partition(b"\n")[0] + b"\n")
    replayables = replayables_of([str(path)], Wishes())

    async def look() -> None:
        async with shown(PickerScreen(replayables)) as app:
            await app.until(lambda: app.sees("◌ "), "it runs")
            path.write_bytes(running + b"\n" + rest)
            await app.show(PickerScreen(replayables))
            await app.until(lambda: app.sees("✔ "), "it is complete")

    run(look())


# quick: the usual colours; what is drawn is the same text in all of them
@pytest.mark.parametrize("theme", only_exhaustive(["textual-dark", "textual-light"], quick=["textual-dark"]))
@pytest.mark.parametrize("no_color", only_exhaustive([False, True], quick=[False]))
def test_hostile_names_texts_and_abouts_are_drawn_and_not_obeyed(
    tmp_path: Path, theme: str, no_color: bool, monkeypatch: pytest.MonkeyPatch
):
    if no_color:
        monkeypatch.setenv("NO_COLOR", "1")
    folder = tmp_path / "a[x]\x1b[2J\u202e"
    folder.mkdir()
    header = make_header(HOSTILE, "roo-xml", model=HOSTILE, policy={"malformed": HOSTILE})
    write_tape(folder / "b\x1b]0;t\x07\n[bold].jsonl", header, [stream_of(HOSTILE)])
    write_tape(folder / "c.jsonl", make_header(HOSTILE, "roo-xml"), [sse("no json"), stream_of(HOSTILE)])
    replayables = replayables_of([str(tmp_path)], Wishes())

    async def look() -> None:
        for size in ALL_SIZES if exhaustive() else ALL_SIZES[:1]:
            async with shown(PickerScreen(replayables), size) as app:
                app.theme = theme
                await judged(app)
                assert app.seen
                await app.press("down")
                assert app.seen
                await app.press("slash", "[", "enter")
                assert app.seen

    run(look())


def test_nothing_to_pick_from():
    async def look() -> None:
        async with shown(PickerScreen([])) as app:
            await app.press("enter", "f", "n", "down", "G", "escape", "q")
            assert app.results == [None]

    run(look())


# -- all that needs nothing but a list


CHECKS = (
    keys_go_through_the_list_and_pass_over_the_names_of_folders,
    problems_are_found_one_after_the_other,
    a_key_goes_through_what_can_be_shown,
    escape_forgets_what_was_typed_and_arrows_work_meanwhile,
    the_mouse_selects_and_opens,
    tab_goes_to_the_details_and_help_names_every_key,
)


def test_what_can_be_done_with_the_list():
    """One application for all: to start it takes longer than most of the checks."""

    async def look() -> None:
        async with shown(PickerScreen(samples())) as app:
            for check in CHECKS:
                await check(app)
            for words, found in (WORDS | (MORE_WORDS if exhaustive() else {})).items():
                await words_filter_while_they_are_typed(app, words, found)

    run(look())


def test_the_details_are_of_the_selected_one():
    async def look() -> None:
        async with shown(PickerScreen(samples()), (200, 50)) as app:
            await the_details_are_of_the_selected_one(app)

    run(look())
