"""The terminal that tests of the screen are in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from textual._compositor import Compositor
from textual.css.model import RuleSet
from textual.css.parse import parse
from textual.css.types import CSSLocation
from textual.geometry import Region
from textual.pilot import Pilot

from tests.support.screens import draw_own_widgets
from tests.support.tiers import exhaustive
from transformer import transform_request
from transformer.request.prompt import TemplateFailed, prompt_for


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a user's terminal says must not decide how a test's screen looks."""
    for name in ("NO_COLOR", "TEXTUAL_THEME", "TEXTUAL_ANIMATIONS", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def templates_are_tried_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not each in a process of its own, which costs more than the screen that shows what comes out.

    The process itself: tests/workbench/test_rendering.py, lab/test_templates.py, and for the screen
    `test_templates_are_checked`.
    """

    def size(tools: Sequence[Any], dialect: str, template: str | None) -> int:
        return len(prompt_for(tools, dialect, template))

    def sizes(lists: Sequence[Sequence[Any]], dialect: str, template: str | None) -> list[int | None]:
        try:
            return [size(tools, dialect, template) for tools in lists]
        except TemplateFailed:
            return [None] * len(lists)

    monkeypatch.setattr("workbench.lab.templates.check", size)
    monkeypatch.setattr("workbench.ui.screens.edit.check", size)
    monkeypatch.setattr("workbench.analysis.requests.prompt_sizes", sizes)
    monkeypatch.setattr("workbench.proxy.outgoing.converted", transform_request)


@pytest.fixture(scope="session", autouse=True)
def _styles_are_parsed_once() -> Iterator[None]:
    """Each application parses the same styles anew, which is a part of each start that no test is about."""
    known: dict[tuple[object, ...], list[RuleSet]] = {}

    def parsed(
        scope: str, css: str, read_from: CSSLocation, *, variable_tokens: Mapping[str, Any], **more: Any
    ) -> list[RuleSet]:
        """The colours of the theme are among the variables."""
        colours = tuple(
            (name, *(token.value for token in tokens)) for name, tokens in variable_tokens.items()
        )
        key = scope, css, read_from, colours, *more.values()
        if key not in known:
            known[key] = list(parse(scope, css, read_from, variable_tokens=dict(variable_tokens), **more))
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("textual.css.stylesheet.parse", parsed)
        yield


@pytest.fixture
def every_frame() -> None:
    """For a test that is about which frames are drawn."""


@pytest.fixture(autouse=True)
def _frames_are_drawn_when_somebody_looks(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a terminal Textual puts frames together and throws them away, which is two fifths of what these
    tests cost. Here they are put together only when a test reads the screen or takes a picture of it. What
    our own widgets draw is still asked of them whenever a test pauses: one that cannot draw itself fails.

    The exhaustive tier draws all frames; so do the programs in a real terminal, in both tiers.
    """
    if exhaustive() or "every_frame" in request.fixturenames:
        return
    stale: set[Region] = set()
    drawn, paused = Compositor.render_update, Pilot.pause

    def render_update(self: Compositor, full: bool = False, **more: Any) -> Any:
        if full:  # a picture
            return drawn(self, full, **more)
        stale.update(self._dirty_regions)
        self._dirty_regions.clear()
        return None

    async def pause(self: Pilot[Any], delay: float | None = None) -> None:
        await paused(self, delay)
        if stale and self.app.is_running:
            draw_own_widgets(self.app, stale)
            stale.clear()

    monkeypatch.setattr(Compositor, "render_update", render_update)
    monkeypatch.setattr(Pilot, "pause", pause)
