"""The screen. It only ever reads tapes; whatever happens here cannot interrupt a stream.

display  makes untrusted text safe; everything that is shown goes through it
model    which tape is open, where the cursor is, and all that moves it (opentape, replaymodel, variants)
widgets  lists, panes and documents, each drawn line by line
facts    facts about a row or a request, as documents (rowfacts, requestfacts)
screens  what fills the terminal: the stream, the replay, and the views that open over them
"""
