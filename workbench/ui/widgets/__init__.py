"""Widgets: what screens are made of. Lists and panes draw only what can be seen; documents are laid out
little by little.

looks         what a widget that draws line by line looks like, from the style sheet
rowpane       a list of rows that may be endless
textpane      a pane that shows a document
panes         upstream, machine and client: the rows of a tape
exchangeview  the three panes of one exchange, and its verdict
replayview    the same with a cursor in time, and the message
exchanges     the list of exchanges
document      text laid out as rows; of data: payload, of two texts side by side: diffview
bars          the lines above and below
"""
