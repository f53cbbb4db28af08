"""A real browser, and pages that are opened in it; an IPython shell; either library, with its operations noted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright import sync_api as playwright
from playwright.sync_api import expect

from nbautograd import viz
from nbautograd.viz.notebook.api import Recording
from tests import needs
from tests.waiting import wait_for_layout

FLAGS = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-sync"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if needs.CHROMIUM is None:
        pytest.skip(needs.reason("Chromium"))
    with playwright.sync_playwright() as api:
        browser = api.chromium.launch(executable_path=needs.CHROMIUM, headless=True, args=FLAGS.split())
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def window(browser: Any) -> Iterator[Any]:
    """A page for many tests: each opens its own address and sets the width."""
    page = browser.new_page(reduced_motion="reduce", bypass_csp=True)
    yield page
    page.close()


def opened(browser: Any, **options: Any) -> Any:
    """Open a page in its own context, which records errors and requests."""
    page = browser.new_context(**options).new_page()
    page.troubles, page.requests = [], []
    page.on("pageerror", lambda error: page.troubles.append(str(error)))
    page.on("console", lambda m: page.troubles.append(m.text) if m.type in ("error", "warning") else None)
    page.on("request", lambda request: page.requests.append(request.url))
    return page


@pytest.fixture(scope="module")
def idle(browser: Any) -> Iterator[list[Any]]:
    """Unused pages for later tests: starting one takes longer than most tests."""
    pages: list[Any] = []
    yield pages
    for page in pages:
        page.context.close()


@pytest.fixture
def new_page(browser: Any, idle: list[Any]) -> Iterator[Any]:
    """An empty page; a test may change its size and its media, the rest needs its own page."""
    shared, owned = [], []

    def new(own: bool = False, **options: Any) -> Any:
        options = {"reduced_motion": "reduce", "viewport": {"width": 1000, "height": 800}} | options
        size, media = options.pop("viewport"), {"color_scheme": "light", **options}
        if own or media.keys() > {"color_scheme", "reduced_motion"}:
            owned.append(opened(browser, viewport=size, **options))
            return owned[-1]
        page = idle.pop() if idle else opened(browser)
        shared.append(page)
        page.set_viewport_size(size)
        page.emulate_media(media="null", **media)
        page.troubles.clear()
        page.requests.clear()
        return page

    yield new
    for page in shared:
        if not page.is_closed():
            page.mouse.move(-1, -1)
            page.goto("about:blank")
            idle.append(page)
    for page in owned:
        page.context.close()


@pytest.fixture
def open_page(new_page: Any, tmp_path: Path) -> Any:
    """A saved recording, opened."""

    def open_(shown: Recording, **options: Any) -> Any:
        page = new_page(**options)
        path = shown.save(tmp_path / "page.html")
        page.goto(path.as_uri())
        expect(page.locator(".nb-player")).to_be_visible()
        wait_for_layout(page)
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


@pytest.fixture(params=["nbautograd", "torch"])
def torch(request: pytest.FixtureRequest) -> Any:
    """Either library: the test runs under both."""
    return needs.package(request.param)


@pytest.fixture
def noted() -> Callable[[], AbstractContextManager[None]]:
    """A block whose operations are noted, of both libraries."""

    @contextmanager
    def block() -> Iterator[None]:
        with viz.traced(), viz.watch():
            yield

    return block


@pytest.fixture
def run(torch: Any, app: Any) -> Iterator[Any]:
    """A function that runs a cell of a notebook with the extension, in which ``torch`` is either library."""
    app.run_line_magic("reset", "-f")
    app.run_line_magic("load_ext", "nbautograd")

    def run_cell(code: str) -> Any:
        return app.run_cell(code, store_history=True)

    run_cell(f"import {torch.__name__} as torch\ndef leaf(*v): return torch.tensor(v, requires_grad=True)")
    yield run_cell
    app.run_line_magic("unload_ext", "nbautograd")
    app.run_line_magic("reset", "-f")
