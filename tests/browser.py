"""One Chromium for all tests of a process: a plugin of pytest, since starting one takes longer than most tests."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests import needs

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # no test leaves the machine
]


class Chromium:
    """The browser, its unused pages, and the event loop of Playwright, which counts as running while it is open."""

    def __init__(self, browser: Any) -> None:
        self.browser, self.loop = browser, asyncio.get_running_loop()
        self.idle: list[Any] = []
        self.kept: list[Any] = []
        """The contexts of pages that stay as they are."""

    @contextmanager
    def used(self) -> Iterator[None]:
        """A block in which the browser is used; elsewhere, tests may run event loops of their own."""
        asyncio._set_running_loop(self.loop)
        try:
            yield
        finally:
            asyncio._set_running_loop(None)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    """The browser of this process, which the first test that needs it starts."""
    playwright = needs.package("playwright.sync_api")
    if needs.CHROMIUM is None:
        pytest.skip(needs.reason("Chromium"))
    api = playwright.sync_playwright().start()
    browser = api.chromium.launch(executable_path=needs.CHROMIUM, headless=True, args=ARGUMENTS)
    chromium = Chromium(browser)
    asyncio._set_running_loop(None)  # Playwright's has begun, and waits for the first block that uses it
    yield chromium
    with chromium.used():
        browser.close()
        api.stop()


@pytest.fixture(scope="module")
def browser(chromium: Chromium) -> Iterator[Any]:
    """The browser, for the tests of a file; what they leave open is closed."""
    with chromium.used():
        yield chromium.browser
        kept = [*chromium.kept, *(page.context for page in chromium.idle)]
        for page in chromium.idle:
            page.goto("about:blank")  # nothing goes on in what a test has left
        for context in chromium.browser.contexts:
            if context not in kept:
                context.close()
