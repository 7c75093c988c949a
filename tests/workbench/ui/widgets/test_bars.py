"""The bars: which keys the bottom line tells, what it leaves out, and what a click on it does."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widget import Widget

import workbench.ui
from workbench.ui.widgets.bars import KeyBar

STYLES = Path(workbench.ui.__file__).with_name("styles.tcss")


class Plain(Widget, can_focus=True):
    pass


class Special(Widget, can_focus=True):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "special", "Something special", tooltip="[red]Not markup[/x]"),
        Binding("h", "hidden", "Not told", show=False),
    ]


class Keys(App[None]):
    CSS_PATH = STYLES
    CSS = "Plain, Special { height: 3; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "act('a')", "Act"),
        Binding("b", "act('b')", "Another act"),
        Binding("o", "act('o')", "Off"),
        Binding("question_mark", "act('help')", "Help", id="keys.help", key_display="?"),
        Binding("q,ctrl+q", "quit", "Quit", id="app.quit"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.acts: list[str] = []

    def compose(self) -> ComposeResult:
        yield from (Plain(id="one"), Plain(id="two"), Special())
        yield KeyBar()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return None if parameters == ("o",) else True

    def action_act(self, which: str) -> None:
        self.acts.append(which)

    @property
    def bar(self) -> KeyBar:
        return self.query_one(KeyBar)

    def told(self) -> str:
        return self.bar.render_line(0).text


async def test_the_keys_of_the_focused_part_come_first_and_help_and_the_way_out_stay():
    app = Keys()
    async with app.run_test(size=(80, 24)) as pilot:
        app.query_one("#one").focus()
        await pilot.pause()
        right = " ? Help  q Quit  ^p palette "
        assert app.told() == " a Act  b Another act  o Off ".ljust(80 - len(right)) + right
        app.query_one(Special).focus()
        await pilot.pause()
        assert app.told().startswith(" s Something special  a Act  b Another act  o Off ")
        assert "Not told" not in app.told()
        # What is said is whole words of the full line, and it says when something is missing.
        for width in (79, 70, 60, 45, 44, 43, 32, 31, 30, 29, 28, 20, 15, 6, 1):
            await pilot.resize_terminal(width, 24)
            while app.bar.size.width != width:
                await pilot.pause(0.01)
            words = [key.word for key in app.bar.shown]
            line = app.told()
            assert len(line) == width
            told = "".join(f"{key.shown} {key.word}" for key in app.bar.shown).replace(" ", "")
            assert line.replace(" ", "").replace("…", "") == told
            assert {"Help", "Quit"} <= set(words) or width < 16
            assert ("…" in line) == ("Off" not in words) or width < 20
            assert "palette" not in words or "Off" in words, "it is the first to go"


async def test_a_click_is_the_key_and_a_tooltip_says_more():
    app = Keys()
    async with app.run_test(size=(90, 24), tooltips=True) as pilot:
        app.query_one(Special).focus()
        await pilot.pause()
        line = app.told()

        async def click(word: str) -> None:
            await pilot.click(KeyBar, offset=(line.index(word), 0))
            await pilot.pause()

        await click("Another")
        await click("? Help")
        await click("Off")  # it does nothing now
        await pilot.click(KeyBar, offset=(line.index("? Help") - 3, 0))
        assert app.acts == ["b", "help"]
        await pilot.hover(KeyBar, offset=(line.index("Something"), 0))
        await pilot.pause()
        assert str(app.bar.tooltip) == "[red]Not markup[/x]"
        await pilot.hover("#one")
        await pilot.pause()
        assert app.bar.tooltip is None


async def test_the_keys_are_looked_up_once_for_each_draw():
    """A move of the focus says several times that bindings changed, and makes no widgets."""
    app = Keys()
    async with app.run_test(size=(80, 24)) as pilot:
        app.query_one("#one").focus()
        await pilot.pause()
        lookups = 0
        look_up = app.bar.look_up

        def counted() -> None:
            nonlocal lookups
            lookups += 1
            look_up()

        app.bar.look_up = counted  # type: ignore[method-assign]
        for _ in range(5):
            app.screen.refresh_bindings()
        app.query_one(Special).focus()
        await pilot.pause()
        app.told()
        app.told()
        assert 1 <= lookups <= 2
        assert not app.bar.children
