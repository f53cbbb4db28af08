"""The built site: messages are found on the page of errors, languages are kept apart, classes have pages."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import needs

ROOT = Path(__file__).parents[2]
SITE = Path(os.environ.get("NBAUTOGRAD_SITE", ROOT / "build" / "site"))
built = pytest.mark.skipif(not (SITE / "search.html").exists(), reason=needs.reason("the site"))
HAN = re.compile(r"[\u4e00-\u9fff]")


@pytest.fixture(scope="module")
def page(browser: Any) -> Any:
    return browser.new_page()


def found(page: Any, query: str, language: str) -> list[str]:
    """Return the pages that a search finds, in their order."""
    page.goto(f"{(SITE / 'search.html').as_uri()}?q={query}&lang={language}")
    page.locator(".search-summary", has_text=re.compile(r"\S")).wait_for()
    links = page.locator("ul.search > li > a")
    return [str(links.nth(number).get_attribute("href")).partition("#")[0] for number in range(links.count())]


@built
@pytest.mark.browser
@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("backward through the graph a second time", ["errors.html", "faq.html"]),
        ("modified by an inplace operation", ["errors.html", "faq.html"]),
        ("GraphFreedError", ["errors.html"]),
        ("Linear", ["api/nn.Linear.html"]),
        ("dropout", ["api/nn-functional.dropout.html", "api/nn.Dropout.html"]),
    ],
)
def test_a_search_finds_what_readers_look_for(page: Any, query: str, first: list[str]) -> None:
    pages = found(page, query, "en")
    assert pages[: len(first)] == first
    assert not [name for name in pages if "zh" in Path(name).parts]


@built
@pytest.mark.browser
def test_optimizers_come_before_pictures(page: Any) -> None:
    pages = found(page, "zero_grad", "en")
    assert pages.index("api/optim.Optimizer.html") < pages.index("api/viz.html")


@built
@pytest.mark.browser
@pytest.mark.parametrize(("query", "language"), [("梯度累积", "en"), ("叶子节点", "zh"), ("hook", "zh")])
def test_a_chinese_reader_finds_chinese_pages(page: Any, query: str, language: str) -> None:
    pages = found(page, query, language)
    assert pages and all("zh" in Path(name).parts or name == "course_zh.html" for name in pages)
    assert page.locator("#search-results h2").first.inner_text() in ("搜索结果", "正在搜索")


@built
@pytest.mark.parametrize("name", ["zh/faq", "zh/autograd", "course/zh/03_backward"])
def test_a_chinese_page_has_a_chinese_menu_and_leads_to_the_english_one(name: str) -> None:
    text = (SITE / f"{name}.html").read_text(encoding="utf-8")
    tree = text.partition('<div class="sidebar-tree">')[2].partition("</div>")[0]
    titles = re.findall(r'<a class="[^"]*" href="[^"]*">([^<]+)</a>', tree)
    assert len(titles) >= 5 and all(HAN.search(title) for title in titles)
    assert 'lang="zh-CN"' in text and 'placeholder="搜索"' in text and "本页目录" in text
    assert '<p class="other-language">' in text and 'name="lang" value="zh"' in text


@built
def test_an_english_page_has_an_english_menu() -> None:
    text = (SITE / "faq.html").read_text(encoding="utf-8")
    tree = text.partition('<div class="sidebar-tree">')[2].partition("</div>")[0]
    titles = re.findall(r'<a class="[^"]*" href="[^"]*">([^<]+)</a>', tree)
    assert [title for title in titles if HAN.search(title)] == ["Glossary · 术语表"] and "On this page" in text


@built
def test_classes_have_pages_that_link_to_the_course() -> None:
    for name in ("nn.Linear", "nn.Conv2d", "optim.SGD", "distributions.Normal"):
        text = (SITE / f"api/{name}.html").read_text(encoding="utf-8")
        assert f'id="nbautograd.{name}"' in text and len(text) < 200_000
    assert "/course/12_network.html" in (SITE / "api/nn.Linear.html").read_text(encoding="utf-8")


def test_the_address_of_the_sources_makes_links(monkeypatch: pytest.MonkeyPatch) -> None:
    """One setting, here by its variable: links for editing, and to the lines of an entry."""
    needs.package("sphinx")
    monkeypatch.setattr(sys, "path", [str(ROOT / "docs"), str(ROOT / "docs" / "extensions"), *sys.path])
    monkeypatch.setenv("NBAUTOGRAD_REPOSITORY", "https://host/project")
    spec = importlib.util.spec_from_file_location("conf", ROOT / "docs" / "conf.py")
    assert spec is not None and spec.loader is not None
    conf = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(conf)
    assert conf.html_theme_options["source_edit_link"] == "https://host/project/edit/main/docs/{filename}"
    lines = conf.linkcode_resolve("py", {"module": "nbautograd.nn", "fullname": "Linear"})
    assert re.fullmatch(r"https://host/project/blob/main/nbautograd/nn/modules/linear\.py#L\d+-L\d+", lines)
    assert conf.html_title.endswith(conf.release)


STILLS = """() => Promise.all([...document.images].map((image) => image.decode().catch(() => null))).then(() => {
    window.stills = [...document.querySelectorAll('img[src^="data:image/svg+xml"]')].map((image) => {
        const [, encoded, data] = /^[^,]*?(;base64)?,(.*)$/s.exec(image.src);
        const text = encoded ? atob(data) : decodeURIComponent(data);
        const drawing = new DOMParser().parseFromString(text, 'image/svg+xml').documentElement;
        document.body.append(drawing);
        const sizes = [...drawing.querySelectorAll('text, tspan')].filter((text) => text.textContent.trim())
            .map((text) => parseFloat(getComputedStyle(text).fontSize));
        drawing.remove();
        return { image, natural: drawing.getAttribute('width'), smallest: Math.min(...sizes) };
    });
    return stills.length;
})"""
"""Find the images that are drawings, and the smallest font of each."""
SMALL = """() => stills.map(({ image, natural, smallest }) => {
    const { width } = image.getBoundingClientRect();
    if (!width || image.closest('.thumbnails')) return Infinity;  // a small picture that leads to the large one
    return Math.round(100 * width / natural * smallest) / 100;
}).filter((size) => size < 11)"""


@built
@pytest.mark.sweep
@pytest.mark.browser
def test_the_texts_of_stills_are_readable(page: Any) -> None:
    """A still that is wider than the page scrolls sideways in its place; the page does not."""
    found, stills = {}, 0
    for path in sorted(SITE.glob("course/**/*.html")):
        page.goto(path.as_uri(), wait_until="domcontentloaded")
        stills += page.evaluate(STILLS)
        for width in (1000, 390):
            page.set_viewport_size({"width": width, "height": 800})
            small = page.evaluate(SMALL)
            wide = page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
            if small or wide > 0:
                found[path.stem, width] = (small, wide)
    assert stills > 100
    assert found == {}
