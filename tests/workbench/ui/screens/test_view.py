"""The help screen: made from the bindings of the screen below."""

from __future__ import annotations

import pytest
from textual.screen import Screen

from tests.support.views import each_size, run, sample, shown
from workbench.replay.player import Pane
from workbench.ui.screens.detail import DetailScreen
from workbench.ui.screens.edit import EditScreen
from workbench.ui.screens.request import RequestScreen
from workbench.ui.screens.session import SessionScreen
from workbench.ui.screens.table import TableScreen
from workbench.ui.screens.view import HelpScreen, ViewScreen
from workbench.ui.widgets.textpane import TextPane


@pytest.mark.parametrize(
    "kind",
    [DetailScreen, TableScreen, RequestScreen, SessionScreen, HelpScreen, EditScreen, ViewScreen, TextPane],
)
def test_every_binding_explains_itself(kind: type[Screen]):
    own = [
        binding
        for key in kind.__mro__
        for binding in key.__dict__.get("BINDINGS", ())
        if key.__module__.startswith("workbench")
    ]
    assert own and all(binding.id and binding.tooltip and binding.description for binding in own)
    assert len({binding.id for binding in own}) == len(own)


@each_size
def test_help_says_what_every_active_key_does(size: tuple[int, int]):
    player = sample("roo-xml/good-read")

    async def look() -> None:
        async with shown(DetailScreen(player, Pane.CLIENT, 2), size) as app:
            tips = {active.tooltip for active in app.screen.active_bindings.values() if active.tooltip}
            await app.press("question_mark")
            helping = app.screen
            assert isinstance(helping, HelpScreen) and app.sees("help: a row in full", "What you see")
            said = helping.sheet.whole().replace("\n            ", "")
            assert "The next row of the same pane" in tips
            assert [tip for tip in tips if tip.split(" ")[-1] not in said] == []
            assert "Keys of this screen" in said and "Keys in the part “About”" in said
            assert "The three panes" in said and "held back" in said
            await app.press("slash", *"Signs", "enter")
            assert app.sees("Signs")
            await app.press("escape")
            assert app.screen is app.view

    run(look())


def test_a_binding_that_is_new_is_explained_at_once():
    player = sample("roo-xml/good-read")

    async def look() -> None:
        async with shown(DetailScreen(player, Pane.CLIENT, 2)) as app:
            app.bind("f9", "screen.turn(7)", description="Brand new")
            await app.press("question_mark", "slash", *"Brand new", "enter")
            assert app.sees("f9          Brand new")

    run(look())
