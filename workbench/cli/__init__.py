"""The command line: one module for each command, or for a few that belong together.

main      the commands and options, and the exit code of each outcome
printing  exact bytes to a pipe, safe and coloured text to a terminal
clients   how each client is configured to use the proxy (for `connect`)
jsonfile  a user's JSON file with comments, changed without touching what is theirs (for `connect`)
"""
