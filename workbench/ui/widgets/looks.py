"""A widget that draws line by line in looks that the style sheet describes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.style import Style
from textual.color import Color
from textual.css.styles import StylesBase
from textual.dom import DOMNode
from textual.widget import Widget


class LooksWidget(Widget):
    """`look("dim")` is what the style sheet says about `.row--dim`, for a widget whose `PREFIX` is "row".

    Textual's component classes are meant for this. But whenever a class or the focus of a widget changes,
    each of them is compared with every rule of the style sheet: for the panes of one screen that was a third
    of the time until it was shown. Here it is done only for looks that are drawn, once per style sheet and
    theme.
    """

    PREFIX: ClassVar[str]
    LOOKS: ClassVar[frozenset[str]]
    VARIANT: ClassVar[str] = ""  # one more class, for looks of their own: `.row--dim.-document`

    _looks: dict[str, Style]
    _looks_from: Sequence[object] | None = None  # the rules of the style sheet that they were made from

    def look(self, name: str) -> Style:
        """Needed so often that it is cached."""
        rules = self.app.stylesheet.rules
        if rules is not self._looks_from:
            self._looks, self._looks_from = {}, rules
        style = self._looks.get(name)
        if style is None:
            assert name in self.LOOKS, name
            style = self._looks[name] = self.make_look(name)
        return style

    def make_look(self, name: str) -> Style:
        node = DOMNode(classes=f"{self.PREFIX}--{name} {self.VARIANT}".strip())
        self.app.stylesheet.apply(node)
        styles = node.styles
        ground = background = self.background_colors[1]
        if styles.has_rule("background"):
            background = ground + styles.background
        has_color = styles.has_rule("color")
        color = _color_on(background, styles) if has_color else _color_on(ground, self.styles)
        return styles.text_style + Style.from_color((background + color).rich_color, background.rich_color)

    def notify_style_update(self) -> None:
        super().notify_style_update()
        if self._looks_from is not None and self._looks_from is not self.app.stylesheet.rules:
            self.refresh()  # another theme may have changed a look, and nothing else of the widget


def _color_on(background: Color, styles: StylesBase) -> Color:
    """The colour of a text; one that is "auto" is chosen for what it is drawn on."""
    return background.get_contrast_text(styles.color.a) if styles.auto_color else styles.color
