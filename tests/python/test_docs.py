"""What the documents link to and name is there."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

import lakerace

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    page
    for pattern in (
        "*.md",
        "docs/*.md",
        "docs/design/*.md",
        "docs/guide/*.md",
        "docs/reference/*.md",
        "docs/results/*/*.md",
        "docs/tutorials/*.md",
        "bench/*.md",
        "fuzz/*.md",
        "crates/*/README.md",
    )
    for page in ROOT.glob(pattern)
)
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
_PATH = re.compile(r"`((?:bench|crates|docs|examples|fuzz|python|spark|tests)/[\w./-]+)`")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_paths_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = [link for link in _LINK.findall(text) if not link.startswith("http")]
    assert [link for link in links if not (page.parent / link).exists()] == []
    # What a build makes is named, and not there.
    paths = [path for path in _PATH.findall(text) if "/target/" not in path]
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_all_pages_of_the_guide_are_linked() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    pages = [page for folder in ("guide", "tutorials") for page in (ROOT / "docs" / folder).glob("*.md")]
    assert {page.name for page in pages if f"docs/{page.parent.name}/{page.name}" not in readme} == set()


def test_all_pages_are_in_the_menu_of_the_site() -> None:
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = {page.relative_to(ROOT / "docs") for page in PAGES if page.is_relative_to(ROOT / "docs")}
    assert {str(page) for page in pages if page.parts[0] != "results" and f" {page}\n" not in menu} == set()


def test_reference_of_small_files_lists_all_public_classes() -> None:
    page = (ROOT / "docs" / "reference" / "python-files.md").read_text(encoding="utf-8")
    listed = re.search(r"members: \[(.*)\]", page)
    assert listed is not None
    assert sorted(listed[1].split(", ")) == sorted(lakerace.files.__all__)


def test_links_of_the_page_on_pypi_are_absolute() -> None:
    script = runpy.run_path(str(ROOT / ".github" / "absolute_links.py"))
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    links = _LINK.findall(script["with_absolute_links"](text, "v1"))
    assert len(links) == len(_LINK.findall(text)) > 20
    assert [link for link in links if not link.startswith("https://")] == []
    of_files = [link.partition("/v1/")[2] for link in links if "/v1/" in link]
    assert len(of_files) > 20
    assert [path for path in of_files if not (ROOT / path).exists()] == []
