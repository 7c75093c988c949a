"""The one exception whose message is meant for the user: the command line prints it and exits with 2."""

from __future__ import annotations

from typing import IO, Any

import typer


class UserError(typer.BadParameter):
    """Bad usage or an unreadable file, said in a sentence that names the remedy.

    Of the exceptions that typer turns into an exit code itself this is the only base with a public name.
    """

    exit_code = 2

    def format_message(self) -> str:
        return self.message

    def show(self, file: IO[Any] | None = None) -> None:
        from workbench.text import say

        for line in f"workbench: {self.message}".split("\n"):
            say(line)
