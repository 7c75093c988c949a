"""The bars: the keys at the bottom are made anew when they change, and only then."""

from __future__ import annotations

from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Footer

from workbench.ui.widgets.bars import KeyBar


class Plain(Widget, can_focus=True):
    pass


class Special(Widget, can_focus=True):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("s", "special", "Something special")]


class Keys(App[None]):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("a", "plain", "Something plain")]

    def compose(self) -> ComposeResult:
        yield from (Plain(id="one"), Plain(id="two"), Special())
        yield KeyBar()


async def test_the_keys_are_made_anew_only_when_they_change():
    app = Keys()
    async with app.run_test() as pilot:

        async def keys_at(where: str) -> list[Widget]:
            app.query_one(where).focus()
            await pilot.pause()
            return list(app.query_one(Footer).children)

        plain = await keys_at("#one")
        assert plain and await keys_at("#two") == plain, "the very same widgets"
        special = await keys_at("Special")
        assert len(special) == len(plain) + 1
        back = await keys_at("#one")
        assert len(back) == len(plain) and back != special
