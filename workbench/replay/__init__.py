"""Replay: a tape, finished or still growing, as the rows that the screen shows.

A *step* is one thing that became known: a read came, a machine moved, a delta left, a finding was made, the
proxy said something. Every step is one row of one pane, in the order in which things happened. So the state
at step n is a prefix of each pane, going back is as cheap as going forward, and live is the last step of a
tape whose end has not arrived.

player      the rows of a tape, recomputed from its lines
source      what can be replayed, and where a player's lines come from (sources, lines)
row index   something that looks at every row once, in slices, while the tape grows
message     what a client has put together at any step
channel     a text that goes through the panes in pieces, for searches
link        which rows of the panes belong together
timeline    the ways to a step, and the indexes over all of them
playback    which step is shown at which time
hit         a step at which a breakpoint is hit
mark        a user's note at a step
"""
