"""The first tape of the demo: one exchange with an instructive fault, there before anything runs."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from transformer import transform_request
from workbench.library.folders import make_folder, new_id, tape_path
from workbench.library.rebuilding import rebuild
from workbench.paths import samples_dir
from workbench.tape import Tape, dump_tape, make_header, read_tape

# A call without `</path>`: looks right at a glance, and the agent stops without a word.
SAMPLE = "roo-xml/unclosed-parameter"
SESSION = "ses_demo_first"


def first_tape(started: float) -> Tape:
    """The sample as if the proxy had just recorded it, with the request as it went upstream."""
    tape = read_tape(samples_dir() / f"{SAMPLE}.jsonl")
    told = {key: value for key, value in tape.header.items() if key != "tape"}
    upstream_request, _ = transform_request(told["request"], told["dialect"])
    told |= {
        "started": started, "upstream_request": upstream_request, "session": SESSION, "stream": True,
        "kind": "chat", "upstream": told["model"], "method": "POST", "path": "/chat/completions",
    }  # fmt: skip
    return replace(tape, header=make_header(**told))


def write_first_tape(library: Path, started: float) -> Path:
    """Put it into a library, and into its index."""
    path = library / tape_path(started, new_id())
    make_folder(path.parent)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(dump_tape(first_tape(started)))
    rebuild(library)
    return path
