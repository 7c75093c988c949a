"""The columns of the list: aligned, chosen by width, never empty, sorted."""

from __future__ import annotations

import time
from typing import Any

import pytest
from rich.cells import cell_len

from workbench.library.summary import Row
from workbench.ui.display import Pieces
from workbench.ui.widgets.exchangetable import (
    COLUMNS,
    Judged,
    Order,
    Table,
    judged,
    order_by,
    without_side,
)

NOW = time.time()


def entry(number: int = 0, **columns: Any) -> Judged:
    known: dict[str, Any] = {"state": "done", "status": 200, "started": NOW - number, "offered": 3} | columns
    return judged(Row(f"{number}.jsonl", f"id{number}", **known))


FULL = entry(
    1, session="ses_0123456789abcdef", tools=("read", "read", "bash"), asked="1: NOTE 日本語",
    asked_by="read", duration=12.34, model="qwen3-coder-480b", dialect="qwen3-coder", prompt_tokens=12345,
    completion_tokens=67, calls=3,
)  # fmt: skip
PLAIN = entry(2, asked="Do what the note says.\x1b[31m[/x]", duration=0.5, calls=0, marked=True)
CUT = entry(3, state="cut", status=None, findings={"truncated-call": 1}, level="error", calls=0)
ALL = [FULL, PLAIN, CUT]


def joined(pieces: Pieces) -> str:
    return "".join(text for text, _ in pieces)


@pytest.mark.parametrize("width", [36, 60, 77, 117, 160, 197, 400])
def test_columns_stand_below_their_names_and_fit(width: int):
    table = Table(ALL, width, Order())
    at = 2
    for name, size in table.widths.items():
        assert table.column_at(at) == table.column_at(at + size - 1) == name
        at += size + 2
    at -= 2
    assert at <= max(width, 42)
    lines = [joined(table.head()), *(joined(table.row(one)) for one in ALL)]
    assert {cell_len(line) for line in lines} == {at}, "each cell is as wide as its column"
    assert not any("\x1b" in line for line in lines)
    assert next(iter(table.widths)) == "time" and "verdict" in table.widths


def test_all_columns_where_there_is_room_and_none_that_is_empty():
    assert list(Table(ALL, 300, Order()).widths) == [column.name for column in COLUMNS]
    assert list(Table([PLAIN], 300, Order()).widths) == ["time", "asked with", "verdict", "status", "took"]
    line = joined(Table(ALL, 300, Order()).row(FULL))
    for text in (
        "…789abcdef",
        "read → 1: NOTE 日本語",
        "read ×2, bash",
        "12.3 s",
        "12,345+67",
        "qwen3-coder-480b",
    ):
        assert text in line
    hidden = Table(ALL, 77, Order()).hidden(FULL)
    assert "qwen3-coder-480b" in hidden and "12,345+67" in hidden, "what has no room can be read elsewhere"
    assert joined(Table(ALL, 300, Order()).row(PLAIN)).startswith("●◆")


@pytest.mark.parametrize(
    ("name", "expected"),
    [("time", [3, 2, 1]), ("took", [1, 2, 3]), ("tokens", [1, 2, 3]), ("asked with", [2, 1, 3]),
     ("status", [1, 2, 3])],
)  # fmt: skip
def test_sorting(name: str, expected: list[int]):
    order = order_by(name, Order())
    if name == "time":
        assert not order.down, "once more the same column: the other way round"
    assert [ALL.index(one) + 1 for one in order.sorted(ALL)] == expected
    again = order_by(name, order)
    assert again.name == name and again.down != order.down
    known = [one for one in again.sorted(ALL) if order.sorted([one])]
    assert len(known) == len(ALL)


def test_side_requests_are_known_as_soon_as_they_begin():
    """A title is asked for without tools; what a session consists of is not beside it."""
    title = entry(4, session="s", state="running", offered=0)
    talk = entry(5, session="s")
    plain = entry(6, session="t", offered=0)
    assert without_side([title, talk, plain]) == [talk, plain]


def test_columns_do_not_jump_while_exchanges_come_and_end():
    running = entry(9, state="running", status=None, asked="go")
    ended = entry(
        9, asked="go to the end of it", duration=100.0, findings={"truncated-call": 1}, level="error"
    )
    before = Table([running, ended], 117, Order())
    assert (
        Table([running], 117, Order(), before).widths
        == before.widths
        != Table([running], 117, Order()).widths
    )
