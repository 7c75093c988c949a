"""The exception whose message is meant for the user: the command line prints it and exits with 2."""

from __future__ import annotations


class UserError(Exception):
    """Bad usage or an unreadable file, said in a sentence that names the remedy."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def parser_says(error: Exception) -> str:
    """Why a text could not be parsed; Python's own message about a long number is about its settings."""
    return "a number in it has too many digits" if "integer string conversion" in str(error) else str(error)
