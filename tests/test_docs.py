"""The documentation is made from these sources, and what it points at is there."""

from __future__ import annotations

import re
import runpy
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

from tests.support.project import ROOT
from tests.support.tiers import each_row
from transformer.dialects import BUILT_IN
from transformer.policy import CHOICES, Policy

DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.glob("*.md"), *(ROOT / "samples").glob("*.md")])
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def test_the_dialects_page_shows_the_tables_that_run() -> None:
    page = runpy.run_path(str(DOCS / "build.py"))["page"]
    assert (DOCS / "dialects.md").read_text(encoding="utf-8") == page()


def links_of(page: Path) -> Iterator[str]:
    """The targets in this repository that a page links to."""
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" not in target:
            yield target


def anchors_of(page: Path) -> set[str]:
    """The headings of a page, as GitHub makes anchors of them."""
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.*)", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@each_row("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    for link in links_of(page):
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        assert not anchor or anchor in anchors_of(target), link


@each_row("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_paths_that_are_named_are_there(page: Path) -> None:
    if page.name == "CHANGELOG.md":
        return  # what it tells of may be gone
    text = page.read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:transformer|workbench|samples|tests|docs|benchmarks)/[\w./-]*)`", text))
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_every_page_is_found_from_the_readme() -> None:
    seen: set[Path] = set()
    open_pages = [ROOT / "README.md"]
    while open_pages:
        page = open_pages.pop()
        seen.add(page)
        found = {(page.parent / link.partition("#")[0]).resolve() for link in links_of(page)}
        open_pages += sorted(one for one in found - seen if one.suffix == ".md")
    assert {page for page in PAGES if page.parent in (ROOT, DOCS)} <= seen


def test_the_specification_has_the_sections_that_tests_cite() -> None:
    text = (DOCS / "spec.md").read_text(encoding="utf-8")
    sections = re.findall(r"^## (\d)\. ", text, re.MULTILINE)
    assert sections == list("12345678")


@each_row("name", [dialect.name for dialect in BUILT_IN])
def test_the_specification_describes_every_dialect(name: str) -> None:
    assert f"\n### {name}\n" in (DOCS / "spec.md").read_text(encoding="utf-8")


@each_row("switch", [field.name for field in fields(Policy)])
def test_the_specification_names_every_switch_and_its_values(switch: str) -> None:
    text = (DOCS / "spec.md").read_text(encoding="utf-8")
    row = re.search(rf"^\| `{switch}` \| (.*?) \|", text, re.MULTILINE)
    assert row is not None
    if switch in CHOICES:
        assert tuple(re.findall(r"`(\w+)`", row[1])) == CHOICES[switch]
