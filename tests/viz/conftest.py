"""A real browser, and pages that are opened in it; an IPython shell."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright import sync_api as playwright
from playwright.sync_api import expect

from nbautograd.viz.notebook.api import Recording
from tests import needs

FLAGS = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-sync"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as api:
        browser = api.chromium.launch(executable_path=needs.CHROMIUM, headless=True, args=FLAGS.split())
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def window(browser: Any) -> Iterator[Any]:
    """One page for many: a test goes where it wants, and says how wide it is."""
    page = browser.new_page(reduced_motion="reduce", bypass_csp=True)
    yield page
    page.close()


@pytest.fixture
def new_page(browser: Any) -> Iterator[Any]:
    """An empty page, which notes what goes wrong and what is asked for."""
    contexts = []

    def new(**options: Any) -> Any:
        context = browser.new_context(
            **{"reduced_motion": "reduce", "viewport": {"width": 1000, "height": 800}} | options
        )
        contexts.append(context)
        page = context.new_page()
        page.troubles, page.requests = [], []
        page.on("pageerror", lambda error: page.troubles.append(str(error)))
        page.on("console", lambda m: page.troubles.append(m.text) if m.type in ("error", "warning") else None)
        page.on("request", lambda request: page.requests.append(request.url))
        return page

    yield new
    for context in contexts:
        context.close()


@pytest.fixture
def open_page(new_page: Any, tmp_path: Path) -> Any:
    """A saved recording, opened."""

    def open_(shown: Recording, **options: Any) -> Any:
        page = new_page(**options)
        path = shown.save(tmp_path / "page.html")
        page.goto(path.as_uri())
        expect(page.locator(".nb-player")).to_be_visible()
        return page

    return open_


@pytest.fixture(scope="module")
def app() -> Iterator[Any]:
    """The IPython shell of this process, emptied afterwards."""
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.testing.globalipapp import start_ipython

    shell = start_ipython() or InteractiveShell.instance()
    yield shell
    shell.run_line_magic("reset", "-f")
