"""Breakpoints: what a person waits for in a tape, one line each, and the steps at which it happens.

`parse` reads a line, `Scene` is the tape they are looked for in, `hits` goes from one hit to the next.
"""

from workbench.player.breakpoints.conditions import Breakpoint
from workbench.player.breakpoints.language import KINDS, parse
from workbench.player.breakpoints.scene import Scene
from workbench.player.breakpoints.search import Hit, hits, next_hit

__all__ = ["KINDS", "Breakpoint", "Hit", "Scene", "hits", "next_hit", "parse"]
