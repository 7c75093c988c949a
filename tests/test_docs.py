"""The documentation that is made from the sources is made from these sources."""

from __future__ import annotations

import runpy

from tests.support.project import ROOT

DOCS = ROOT / "docs"


def test_the_dialects_page_shows_the_tables_that_run() -> None:
    page = runpy.run_path(str(DOCS / "build.py"))["page"]
    assert (DOCS / "dialects.md").read_text(encoding="utf-8") == page()
