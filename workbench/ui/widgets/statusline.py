"""The first line of the live screen: which proxy, which model server, how answers are converted, what runs,
what is held back, whether the newest exchange is followed. A click on what can be changed changes it.
"""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import cell_len
from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip

from workbench.text import counted
from workbench.ui.display import strip_of
from workbench.ui.proxywatch import ProxyState, UpstreamState
from workbench.ui.widgets.looks import LooksWidget

_GAP = "  "


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the line; `short` is shown if there is no space, empty: nothing. `action` is what a
    click does. The lowest `rank` is left out last. `room` and `short_room` are cells that are kept free for
    what may be said there: otherwise the parts beside it would move whenever it comes and goes."""

    text: str
    look: str = "plain"
    short: str = ""
    action: str = ""
    rank: int = 0
    room: int = 0
    short_room: int = 0


class StatusLine(LooksWidget, can_focus=False):
    """Never wraps, and never ends in the middle of a word: parts become short, then disappear, the least
    important first."""

    ALLOW_SELECT = False
    PREFIX = "status"
    LOOKS = frozenset({"plain", "dim", "good", "warning", "error", "key"})

    @dataclass
    class Chosen(Message):
        """A part that can be changed was clicked."""

        action: str

    def __init__(self) -> None:
        super().__init__(id="status")
        self.parts: tuple[Part, ...] = ()
        self.end: tuple[Part, ...] = ()  # at the right
        self._places: list[tuple[int, int, str]] = []
        self.tooltip = "click the dialect or the policy to change it, for the next request; F follows"

    def tell(self, parts: tuple[Part, ...], end: tuple[Part, ...]) -> None:
        if (parts, end) != (self.parts, self.end):
            self.parts, self.end = parts, end
            self.refresh()

    @property
    def text(self) -> str:
        """What is shown."""
        return self.render_line(0).text.rstrip()

    def render_line(self, y: int) -> Strip:
        width, plain = self.size.width, self.look("plain")
        left, right = fitted(self.parts, self.end, width - 2)
        pieces: list[tuple[str, Style]] = [(" ", plain)]
        self._places = []
        at = self._add(pieces, left, 1)
        blank = max(0, width - 1 - at - _length(right))
        pieces.append((" " * blank, plain))
        self._add(pieces, right, at + blank)
        return strip_of(pieces, width, plain)

    def _add(self, pieces: list[tuple[str, Style]], parts: list[tuple[str, Part]], at: int) -> int:
        for number, (text, part) in enumerate(parts):
            if number:
                pieces.append((_GAP, self.look("plain")))
                at += len(_GAP)
            pieces.append((text, self.look(part.look)))
            end = at + cell_len(text)
            self._places.append((at, end, part.action))
            at = end
        return at

    async def _on_click(self, event: events.Click) -> None:
        event.stop()
        offset = event.get_content_offset(self)
        for start, end, action in self._places:
            if offset is not None and start <= offset.x < end and action:
                self.post_message(self.Chosen(action))


def _length(parts: list[tuple[str, Part]]) -> int:
    return sum(cell_len(text) for text, _ in parts) + len(_GAP) * max(0, len(parts) - 1)


def fitted(
    left: tuple[Part, ...], right: tuple[Part, ...], width: int
) -> tuple[list[tuple[str, Part]], list[tuple[str, Part]]]:
    """The parts that fit, whole or short, with their texts."""
    said = {part: (part.text, max(cell_len(part.text), part.room)) for part in (*left, *right)}
    spare = sorted(said, key=lambda part: -part.rank)

    def is_full() -> bool:
        rooms = [room + len(_GAP) for _, room in said.values() if room]
        return sum(rooms) - len(_GAP) > width

    for part in spare:
        if is_full() and (part.short or part.short_room):
            said[part] = part.short, max(cell_len(part.short), part.short_room)
    for part in spare:
        if is_full():
            said[part] = "", 0
    shown_left, shown_right = ([(said[part][0], part) for part in side] for side in (left, right))
    return [one for one in shown_left if one[0]], [one for one in shown_right if one[0]]


def proxy_parts(
    state: ProxyState | None, upstream: UpstreamState | None, url: str, well: bool
) -> tuple[Part, ...]:
    """What is said of the proxy and of the model server that answers. `url`: where it was started, in case it
    cannot be asked."""
    if state is None and url:
        return Part("●", "good" if well else "error"), Part(url, "plain", _host(url))
    if state is None:
        return (Part("○ no proxy runs for this library", "dim", "○ no proxy"),)
    sign = Part("●", "good" if well and not state.problem else "error")
    parts = [sign, Part(state.url, "plain", _host(state.url), rank=2)]
    if upstream is not None:
        where = f"→ {upstream.url}" if upstream.name == "default" else f"→ {upstream.name} {upstream.url}"
        parts.append(Part(where, "dim", f"→ {_host(upstream.url)}", rank=6))
        parts.append(_dialect(upstream))
        parts.append(_policy(upstream))
    elif state.upstreams:
        parts.append(Part(f"→ {counted(len(state.upstreams), 'upstream')}", "dim", rank=6))
    streams = counted(state.running, "stream") if state.running else "idle"
    parts.append(Part(streams, "good" if state.running else "dim", rank=3, room=10))
    held, short = "", ""
    if state.held_back:
        held, short = f"{counted(state.held_back, 'character')} held back", f"{state.held_back} held"
    parts.append(Part(held, "warning", short, rank=1, room=24, short_room=9))
    return tuple(parts)


def _dialect(upstream: UpstreamState) -> Part:
    was = upstream.changed.get("dialect")
    if was is None:
        return Part(upstream.dialect, "key", action="dialect", rank=1)
    return Part(
        f"{upstream.dialect} (changed, was {was})", "warning", f"{upstream.dialect}*", "dialect", rank=1
    )


def _policy(upstream: UpstreamState) -> Part:
    """The switches that differ from the dialect's defaults."""
    said = ", ".join(f"{key}={_value(value)}" for key, value in upstream.policy.items())
    text = said or "policy as the dialect"
    short = counted(len(upstream.policy), "setting") if said else "policy"
    if "policy" in upstream.changed:
        return Part(f"{text} (changed)", "warning", f"{short}*", "policy", rank=5)
    return Part(text, "key", short, "policy", rank=5)


def _value(value: object) -> str:
    return "+".join(map(str, value)) if isinstance(value, list) else str(value)


def _host(url: str) -> str:
    """An address without the parts that all have in common."""
    return url.partition("://")[2].removesuffix("/v1") or url
