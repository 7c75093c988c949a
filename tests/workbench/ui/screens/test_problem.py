"""The problem screen: each key and each button, hostile texts, small terminals."""

from __future__ import annotations

import pytest
from textual.app import App
from textual.widgets import Button, Static

from tests.support.screens import text_of, until
from tests.support.tiers import only_exhaustive
from workbench.proxy.process import ProcessExit
from workbench.ui.screens.problem import (
    OTHER_PORT,
    QUIT,
    READ_ONLY,
    RETRY,
    Action,
    ProblemScreen,
    no_configuration,
    other_flags,
    port_taken,
    proxy_died,
    running_answers,
)

HOSTILE = "[/x] [@click=app.bell]no[/] \x1b[31mred\x1b]52;c;eA==\x07 \x9b \u202e end"
ALL = (RETRY, OTHER_PORT, READ_ONLY, QUIT)
SCREENS = [
    no_configuration("there is no upstream to talk to"),
    other_flags("http://127.0.0.1:8788/v1", ["--dialect hermes: it converts roo-xml", "--port 1: it is 2"]),
    port_taken(8788),
    running_answers(1),
    running_answers(3),
    running_answers(None),
    proxy_died(ProcessExit(-9)),
    proxy_died(ProcessExit(2, ("workbench: port 1 is taken",))),
]


class Alone(App[None]):
    """Shows one problem after the other: to start an application takes longer than most of the checks."""

    def __init__(self) -> None:
        super().__init__()
        self.chosen: list[str | None] = []

    async def show(self, problem: ProblemScreen) -> None:
        self.chosen.clear()
        await self.push_screen(problem, self.chosen.append)


def trouble(*actions: Action) -> ProblemScreen:
    return ProblemScreen("Trouble", ["It does not work."], actions or ALL)


async def test_each_way_to_choose_an_action():
    arrows = {"enter": "retry", "down enter": "port", "j j k enter": "port"}
    app = Alone()
    async with app.run_test(size=(80, 24)) as pilot:
        for keys, name in ({action.key: action.name for action in ALL} | arrows).items():
            await app.show(trouble())
            await pilot.press(*keys.split())
            assert app.chosen == [name], keys
        await app.show(trouble())
        await pilot.click("#do-view")
        assert app.chosen == ["view"]
        problem = trouble(RETRY, QUIT)
        await app.show(problem)
        await pilot.press("p")
        assert app.screen is problem, "an action that is not offered"
        await pilot.press("q")
        assert app.chosen == ["quit"]


# quick: the one with the least room
@pytest.mark.parametrize("size", only_exhaustive([(80, 24), (80, 12), (200, 50)], quick=[(80, 12)]))
async def test_hostile_texts_are_shown_and_the_actions_stay_visible(size: tuple[int, int]):
    app = Alone()
    async with app.run_test(size=size) as pilot:
        await app.show(ProblemScreen(HOSTILE, [HOSTILE] * 30, ALL))
        await pilot.pause()
        screen = text_of(app)
        assert "[@click=app.bell]no[/]" in screen and "\\x1b[31mred" in screen and "\\u202e" in screen
        assert not any(character in screen for character in "\x1b\x07\x9b\u202e")
        assert all(f"{action.key}  {action.text}" in screen for action in ALL)
        text = app.screen.query_one("#problem-text")
        before = text.scroll_y
        await pilot.press("pagedown")
        await until(pilot, lambda: text.scroll_y > before, "scrolling")
        await pilot.press("q")
        assert app.chosen == ["quit"]


async def test_each_problem_fits_a_small_terminal():
    app = Alone()
    async with app.run_test(size=(80, 24)) as pilot:
        for problem in SCREENS:
            await app.show(
                ProblemScreen(str(problem.title), problem.sentences, tuple(problem.actions.values()))
            )
            await pilot.pause()
            assert str(problem.title) in text_of(app)
            text = app.screen.query_one("#problem-text")
            assert text.max_scroll_y == 0 and len(text.query(Static)) == len(problem.sentences)
            assert all(button.tooltip for button in app.screen.query(Button))
            for _, binding, _, tooltip in app.screen.active_bindings.values():
                if (binding.id or "").startswith("problem."):
                    assert tooltip and binding.description
            last = [*problem.actions.values()][-1]
            await pilot.press(last.key)
            assert app.chosen == [last.name]


async def test_a_problem_that_comes_while_another_is_told():
    """The proxy may die while somebody is asked whether to cut it."""
    app = Alone()
    async with app.run_test(size=(80, 24)) as pilot:
        await app.show(running_answers(1))
        app.push_screen(proxy_died(ProcessExit(-9)))
        await pilot.pause()
        assert "The proxy is gone" in text_of(app)
        app.pop_screen()
        await pilot.press("escape")
        assert app.chosen == ["stay"]
