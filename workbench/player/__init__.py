"""The player: a tape, finished or still growing, as the rows that the screen shows.

A *step* is one thing that became known: a read came, a machine moved, a delta left, a finding was made, the
proxy said something. Every step is one row of one pane, in the order in which things happened. So the state
at step n is a prefix of each pane, going back is as cheap as going forward, and live is the last step of a
tape whose end has not arrived.
"""

from workbench.player.panes import Pane, Rows
from workbench.player.player import Mode, Player
from workbench.player.tailing import Tail
from workbench.player.tracks import Held, Item

__all__ = ["Held", "Item", "Mode", "Pane", "Player", "Rows", "Tail"]
