"""`workbench init`: a first `workbench.toml`, every line of it explained."""

from __future__ import annotations

from workbench.config.file import config_file
from workbench.config.keys import UPSTREAM
from workbench.config.sample import sample
from workbench.errors import UserError
from workbench.output import say


def init(upstream: str | None, dialect: str | None, force: bool) -> int:
    """Write the file that every other command reads."""
    url = None if upstream is None else UPSTREAM["url"].read(upstream, "--upstream")
    said = None if dialect is None else UPSTREAM["dialect"].read(dialect, "--dialect")
    file = config_file()
    try:
        with open(file, "w" if force else "x", encoding="utf-8", newline="\n") as opened:
            opened.write(sample(url, said))
    except FileExistsError:
        raise UserError(f"{file} is already there; --force replaces it by a new one") from None
    except OSError as error:
        raise UserError(f"cannot write {file}: {error.strerror}") from None
    say(f"wrote {file}; `workbench config` shows what is in effect")
    return 0
