"""Which exchange is shown while a person only watches."""

from __future__ import annotations

from dataclasses import replace

from workbench.library.summary import Row
from workbench.ui.follow import ENDED, HURRIED, SEEN, Follow


def row(number: int, state: str = "running", session: str = "s") -> Row:
    return Row(f"{number}", f"id{number}", started=float(number), session=session, state=state)


def newest_first(*rows: Row) -> list[Row]:
    return sorted(rows, key=lambda row: -row.started)


def test_a_running_exchange_stays_until_it_ended_and_its_end_was_seen():
    follow, first, second = Follow(), row(1), row(2)
    assert follow.goes([], None, 0.0) is None
    assert follow.goes([first], None, 0.0) == "1"
    assert follow.goes([first], "1", 0.3) is None
    rows = newest_first(first, second)
    assert follow.goes(rows, "1", 50.0) is None and follow.others == 1
    rows = newest_first(replace(first, state="done"), second)
    assert follow.goes(rows, "1", 60.0) is None, "its end is to be seen"
    assert follow.goes(rows, "1", 60.0 + ENDED) == "2"


def test_a_short_answer_is_seen_and_those_that_wait_come_in_their_order():
    follow = Follow()
    first, second, third = (row(number, "done") for number in (1, 2, 3))
    assert follow.goes([first], "1", 10.0) is None
    assert follow.goes([second, first], "1", 10.0 + SEEN - 0.1) is None
    assert follow.goes([second, first], "1", 10.0 + SEEN) == "2"
    assert follow.goes([second, first], "2", 12.0) is None, "nothing is newer"
    assert follow.goes(newest_first(first, second, third, row(4)), "2", 12.0 + HURRIED) == "3"
    many = newest_first(first, *(row(number, "done") for number in range(2, 9)), row(9))
    assert follow.goes(many, "3", 20.0) is None
    assert follow.goes(many, "3", 20.0 + SEEN) == "9", "too many to be shown one after the other"


def test_of_two_at_once_the_other_is_shown_after_the_first():
    follow = Follow()
    old, new = row(1), row(2)
    assert follow.goes([new, old], "2", 0.0) is None
    ended = replace(new, state="done")
    assert follow.goes([ended, old], "2", 5.0) is None
    assert follow.goes([ended, old], "2", 5.0 + ENDED) == "1", "it began earlier and still runs"


def test_one_session_only_and_off():
    follow = Follow()
    follow.only("s")
    rows = newest_first(row(1, "done"), row(2, session="other"), row(3, "done"))
    assert follow.goes(rows, "2", 0.0) == "3"
    assert follow.goes(rows, "3", 0.0) is None and follow.others == 0
    follow.off()
    assert follow.goes(newest_first(*rows, row(4)), "3", 100.0) is None and follow.others == 1
    follow.all()
    assert follow.goes(newest_first(*rows, row(4, session="x")), "3", 200.0) == "2"
