"""The problem screen: each key and each button, hostile texts, small terminals."""

from __future__ import annotations

import pytest
from textual.app import App
from textual.widgets import Button, Static

from tests.support.screens import text_of
from workbench.proxy.process import ProcessExit
from workbench.ui.screens.problem import (
    OTHER_PORT,
    QUIT,
    READ_ONLY,
    RETRY,
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


class Alone(App[str]):
    def __init__(self, problem: ProblemScreen) -> None:
        super().__init__()
        self.problem = problem

    def on_mount(self) -> None:
        self.push_screen(self.problem, self.exit)


@pytest.mark.parametrize("action", ALL, ids=lambda action: action.name)
async def test_each_key_chooses_its_action(action):
    app = Alone(ProblemScreen("Trouble", ["It does not work."], ALL))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(action.key)
    assert app.return_value == action.name


@pytest.mark.parametrize(
    ("keys", "name"), [(["enter"], "retry"), (["down", "enter"], "port"), (["j", "j", "k", "enter"], "port")]
)
async def test_the_arrows_go_from_action_to_action(keys: list[str], name: str):
    app = Alone(ProblemScreen("Trouble", ["It does not work."], ALL))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*keys)
    assert app.return_value == name


async def test_the_mouse_does_it_too():
    app = Alone(ProblemScreen("Trouble", ["It does not work."], ALL))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.click("#do-view")
    assert app.return_value == "view"


async def test_a_key_of_an_action_that_is_not_offered_does_nothing():
    app = Alone(ProblemScreen("Trouble", ["It does not work."], (RETRY, QUIT)))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("p")
        assert app.screen is app.problem
        await pilot.press("q")
    assert app.return_value == "quit"


@pytest.mark.parametrize("size", [(80, 24), (80, 12), (200, 50)])
async def test_hostile_texts_are_shown_and_the_actions_stay_visible(size: tuple[int, int]):
    app = Alone(ProblemScreen(HOSTILE, [HOSTILE] * 30, ALL))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        screen = text_of(app)
        assert "[@click=app.bell]no[/]" in screen and "\\x1b[31mred" in screen and "\\u202e" in screen
        assert not any(character in screen for character in "\x1b\x07\x9b\u202e")
        assert all(f"{action.key}  {action.text}" in screen for action in ALL)
        before = app.screen.query_one("#problem-text").scroll_y
        await pilot.press("pagedown")
        assert app.screen.query_one("#problem-text").scroll_y > before
        await pilot.press("q")
    assert app.return_value == "quit"


@pytest.mark.parametrize("problem", SCREENS, ids=lambda problem: str(problem.title))
async def test_each_problem_fits_a_small_terminal(problem: ProblemScreen):
    app = Alone(ProblemScreen(str(problem.title), problem.sentences, tuple(problem.actions.values())))
    async with app.run_test(size=(80, 24)) as pilot:
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
    assert app.return_value == last.name


async def test_a_problem_that_comes_while_another_is_told():
    """The proxy may die while somebody is asked whether to cut it."""
    app = Alone(running_answers(1))
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(proxy_died(ProcessExit(-9)))
        await pilot.pause()
        assert "The proxy is gone" in text_of(app)
        app.pop_screen()
        await pilot.press("escape")
    assert app.return_value == "stay"
