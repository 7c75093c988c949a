"""Screens: what fills the terminal.

exchange    what the stream and the replay share: panes, searching, copying, the views that open over them
stream      the exchanges of a library, and the selected one, live
replay      one exchange with a cursor in time
picker      which of many tapes to replay
view        what all views share that open over another screen; help, and a list to choose from
detail, request, session, table, edit, problem    one view each
"""
