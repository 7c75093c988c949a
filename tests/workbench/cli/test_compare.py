"""`workbench compare`: what is printed, and the exit code."""

from __future__ import annotations

import pytest

from tests.support.project import SAMPLES
from tests.support.tiers import each_row
from workbench.cli.compare import compare_exchanges
from workbench.errors import UserError

BROKEN = str(SAMPLES / "roo-xml" / "unclosed-parameter.jsonl")


def test_a_file_with_a_change(capsysbinary: pytest.CaptureFixture[bytes]):
    assert compare_exchanges([BROKEN], ["malformed=repair"], None) == 1
    shown = capsysbinary.readouterr().out.decode()
    assert "they differ first in message" in shown and "+   path: src/main.py" in shown


def test_a_file_with_itself(capsysbinary: pytest.CaptureFixture[bytes]):
    assert compare_exchanges([BROKEN, BROKEN], [], None) == 0
    assert b"both say the same" in capsysbinary.readouterr().out


@each_row(
    ("files", "changes", "said"),
    [
        ([BROKEN], [], "compare two exchanges"),
        ([BROKEN, BROKEN], ["malformed=repair"], "compare two exchanges"),
        ([BROKEN], ["dialect=roo"], "did you mean roo-xml"),
        (["nothing.jsonl", BROKEN], [], "nothing.jsonl"),
    ],
)
def test_what_cannot_be_compared(files: list[str], changes: list[str], said: str):
    with pytest.raises(UserError, match=said):
        compare_exchanges(files, changes, None)
