"""Links lead to a heading that exists, in the sources and on the built site; glossary links to the word itself."""

from __future__ import annotations

import json
import os
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests import needs

ROOT = Path(__file__).parents[2]
DOCS, NOTEBOOKS = ROOT / "docs", ROOT / "notebooks"
PAGES = sorted(
    [
        *DOCS.glob("*.md"),
        *DOCS.glob("guides/*.md"),
        *DOCS.glob("zh/*.md"),
        *NOTEBOOKS.rglob("*.ipynb"),
        ROOT / "README.md",
    ]
)
LINK = re.compile(r"\]\(([^)#:\s]*)#([^)\s]+)\)")
FENCE = re.compile(r"^```(?!\{glossary).*?^```", re.MULTILINE | re.DOTALL)


@cache
def prose(path: Path) -> str:
    """Return the text of a page or of a notebook, without code."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    return FENCE.sub("", text)


@cache
def anchors(path: Path) -> set[str]:
    """Return the anchors of a page: its headings, as Jupyter names them, and its labels."""
    headings = re.findall(r"^#+ (.+?) *$", prose(path), re.MULTILINE)
    named = {heading.replace("`", "").replace(" ", "-") for heading in headings}
    return (
        named
        | {heading.replace(" ", "-") for heading in headings}
        | set(re.findall(r"^\(([\w-]+)\)=", prose(path), re.MULTILINE))
    )


def on_github(anchor: str) -> str:
    """Return the anchor as GitHub has it, which shows README."""
    return re.sub(r"[^\w-]", "", anchor.lower())


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_to_headings_lead_to_one(page: Path) -> None:
    dead = []
    for target, anchor in LINK.findall(prose(page)):
        place = (page.parent / target).resolve() if target else page
        place = place if place.exists() else Path(str(place).replace(str(DOCS / "course"), str(NOTEBOOKS)))
        if place.suffix not in (".md", ".ipynb"):
            continue
        known = {on_github(name) for name in anchors(place)} if page.parent == ROOT else anchors(place)
        if unquote(anchor) not in known:
            dead.append(f"{target}#{anchor}")
    assert dead == []


def test_the_notebook_that_a_glossary_entry_names_has_its_word() -> None:
    """Each word of the term, or of its short form in brackets, by its first five letters: gradients, gradient's."""
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    entries = re.findall(r"^(\S.*) · \S+\n  (.+)$", text, re.MULTILINE)
    links = [(term, stem) for term, line in entries for stem in re.findall(r"\]\(course/(\w+)\.ipynb", line)]
    missing = []
    for term, stem in links:
        cells = json.loads((NOTEBOOKS / f"{stem}.ipynb").read_text(encoding="utf-8"))["cells"]
        words = "\n".join("".join(cell["source"]) for cell in cells).lower()
        forms = [term.partition(" (")[0], *re.findall(r"\((.+)\)", term)]
        stems = [[word[:5].lower() for word in re.findall(r"\w{4,}|\w+$", form)] for form in forms]
        missing += [] if any(all(part in words for part in parts) for parts in stems) else [f"{term}: {stem}"]
    assert missing == [] and len(links) >= 60


SITE = Path(os.environ.get("NBAUTOGRAD_SITE", ROOT / "build" / "site"))


class Anchors(HTMLParser):
    """The anchors of a page, and its links to pages of the site."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.ids |= {values[name] or "" for name in ("id", "name") if name in values}
        if tag == "a" and values.get("href") and not urlsplit(values["href"]).scheme:
            self.links.append(values["href"] or "")


@pytest.mark.skipif(not (SITE / "index.html").exists(), reason=needs.reason("the site"))
def test_no_link_of_the_site_is_dead() -> None:
    pages = {path.resolve(): Anchors(path) for path in SITE.rglob("*.html") if "lite" not in path.parts}
    dead = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            place = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if place.suffix == ".html" and (
                place not in pages or (parts.fragment and unquote(parts.fragment) not in pages[place].ids)
            ):
                dead.append(f"{path.relative_to(SITE.resolve())}: {link}")
    assert dead == []
