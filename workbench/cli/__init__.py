"""The command line: one module for each command, or for a few that belong together.

main      what can be said, and what each outcome's exit code is
printing  exact bytes to a pipe, safe and coloured text to a terminal
clients   what each client has to be told to use the proxy (for `connect`)
jsonfile  somebody's JSON file with comments, changed without touching what is theirs (for `connect`)
"""
