"""The one exception whose message is meant for the user: the command prints it and exits with 2."""


class UserError(Exception):
    """Bad usage or an unreadable file, said in a sentence that names the remedy."""
