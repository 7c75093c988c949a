"""The library: all tapes of a user, and the index by which they are found.

tape file  one tape, in a folder for its day; only whole lines are ever in it (tapefiles)
marks      a person's notes, in a file beside the tape; a marked tape is kept
row        what is known about a tape without opening it (summary)
index      the rows of all tapes, an SQLite file that several processes share
turn       one answered turn of a chat that an upstream keeps for us, in an SQLite file of its own (turns)
retention  which tapes are deleted when there are too many
query      the rows that a list asks for, newest first
"""
