"""The list of exchanges: nothing of it ends silently."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.libraries import make_library
from tests.support.live import SAMPLES
from workbench.replay.lines import Tail
from workbench.ui.widgets import exchanges
from workbench.ui.widgets.exchanges import Catalogue, ExchangeList, Older
from workbench.ui.widgets.exchangetable import Judged


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    return Catalogue(make_library(tmp_path, SAMPLES))


def test_exchanges_beyond_the_list_are_said(catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch):
    assert not any(isinstance(entry, Older) for entry in catalogue.poll() or ())
    monkeypatch.setattr(exchanges, "_MOST", 2)
    catalogue.filter_by("")
    entries = catalogue.poll()
    assert entries is not None and entries[-1] == Older(1)
    assert len([entry for entry in entries if isinstance(entry, Judged)]) == 2
    listed = ExchangeList()
    listed.entries = entries
    assert listed.is_heading(len(entries) - 1)
    assert listed.text(len(entries) - 1).startswith("1 older exchange is neither listed nor filtered")


def test_a_filter_says_how_many_fit_and_how_many_tapes_it_still_looks_into(catalogue: Catalogue):
    catalogue.poll()
    assert catalogue.said == ""
    catalogue.filter_by("dialect:roo-xml")
    catalogue.poll()
    assert catalogue.said == "2 of 3 exchanges"
    catalogue.filter_by('text:"src/main"')
    catalogue.poll()
    assert catalogue.said == "0 of 3 exchanges · looking into 3 tapes …"
    while catalogue.undecided:
        row = catalogue.undecided.pop()
        tail = Tail(catalogue.library / row.path)
        while tail.advance(1):
            pass
        catalogue.decide(row, tail)
    catalogue.poll()
    assert catalogue.said == "2 of 3 exchanges"
