"""Replay: a tape, finished or still growing, as the rows that the screen shows.

A *step* is one thing that became known: a read came, a machine moved, a delta left, a finding was made, the
proxy said something. Every step is one row of one pane, in the order in which things happened. So the state
at step n is a prefix of each pane, going back is as cheap as going forward, and live is the last step of a
tape whose end has not arrived.

player      the rows of a tape, recomputed from its lines
source      where a player's lines come from: a tape file that may grow, or memory (lines, sources)
follower    something that looks at every row once, while the tape grows
message     what a client has put together at any step
timeline    landmarks, the cursor and the ways it can go, playing
breakpoint  what a person waits for
mark        a note of a person at a step
"""
