"""The command line: one module for each command, or for a few that belong together.

main     what can be said, and what each outcome's exit code is
output   exact bytes to a pipe, safe and coloured text to a terminal
clients  programs that can use the proxy, and what each of them has to be told
"""
