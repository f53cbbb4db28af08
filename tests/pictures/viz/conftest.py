"""Pages that are opened in a real browser; an IPython shell; either library, with its operations noted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from inspect import isfunction
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from nbautograd import viz
from nbautograd.viz.notebook.api import Recording
from tests import needs
from tests.browser import Chromium
from tests.pictures.viz.shells import empty

from .player_pages import WHEN_DRAWN

Program = Callable[[], Recording]
EMPTY = "() => document.body.replaceChildren()"
"""Takes what is shown out of a page, which takes far less time than to open an empty page."""
FORGET = "() => { try { localStorage.clear(); } catch { /* a page that may not remember anything */ } }"


@pytest.fixture(scope="module")
def window(browser: Any) -> Iterator[Any]:
    """A page for many tests: each opens its own address and sets the width."""
    page = browser.new_page(reduced_motion="reduce", bypass_csp=True)
    yield page
    page.close()


def opened(browser: Any, **options: Any) -> Any:
    """Open a page in its own context, which records errors and requests."""
    page = browser.new_context(**options).new_page()
    page.troubles, page.requests, page.media = [], [], None
    page.on("pageerror", lambda error: page.troubles.append(str(error)))
    page.on("console", lambda m: page.troubles.append(m.text) if m.type in ("error", "warning") else None)
    page.on("request", lambda request: page.requests.append(request.url))
    return page


@pytest.fixture
def new_page(browser: Any, chromium: Chromium) -> Iterator[Any]:
    """A page for a test to open; it may change the page's size, but for the rest it needs its own page."""
    shared, owned = [], []

    def new(own: bool = False, **options: Any) -> Any:
        options = {"reduced_motion": "reduce", "viewport": {"width": 1000, "height": 800}} | options
        size, media = options.pop("viewport"), {"color_scheme": "light", **options}
        if own or media.keys() > {"color_scheme", "reduced_motion"}:
            owned.append(opened(browser, viewport=size, **options))
            return owned[-1]
        page = chromium.idle.pop() if chromium.idle else opened(browser)
        shared.append(page)
        if (page.viewport_size, page.media) != (size, media):
            page.evaluate(EMPTY)  # so that what was shown does not follow
            page.set_viewport_size(size)
            page.emulate_media(media="null", **media)
            page.media = media
        page.troubles.clear()
        page.requests.clear()
        return page

    yield new
    for page in shared:
        if not page.is_closed():
            page.mouse.move(-1, -1)
            page.evaluate(FORGET)
            chromium.idle.append(page)
    for page in owned:
        page.context.close()


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Program], Path]:
    """A function that saves the recording of a program: to make it takes longer than to open it, so it is made once."""
    folder, numbers = tmp_path_factory.mktemp("saved"), count()

    @cache
    def save(program: Program) -> Path:
        return program().save(folder / f"{next(numbers)}.html")

    return save


@pytest.fixture
def open_page(new_page: Any, saved: Callable[[Program], Path], tmp_path: Path) -> Any:
    """A recording, or that of a program, saved and opened."""

    def open_(shown: Any, **options: Any) -> Any:
        page = new_page(**options)
        path = saved(shown) if isfunction(shown) else shown.save(tmp_path / "page.html")
        address = path.as_uri()
        page.goto(f"{address}?again" if page.url == address else address)  # a reload would keep the place in the page
        page.evaluate(WHEN_DRAWN)
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


@pytest.fixture
def shell(app: Any) -> Iterator[Any]:
    """The shell with the extension."""
    app.run_line_magic("load_ext", "nbautograd")
    yield app
    app.run_line_magic("unload_ext", "nbautograd")


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
    empty(app)
    app.run_line_magic("load_ext", "nbautograd")

    def run_cell(code: str) -> Any:
        return app.run_cell(code, store_history=True)

    run_cell(f"import {torch.__name__} as torch\ndef leaf(*v): return torch.tensor(v, requires_grad=True)")
    yield run_cell
    app.run_line_magic("unload_ext", "nbautograd")
    empty(app)
