"""Wait for events: a busy machine delays them, and a test that waits for a fixed time may end before."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["expect_to_appear", "wait_for_layout", "wait_in_page", "wait_until"]


def wait_until(is_true: Callable[[], bool], seconds: float = 60) -> bool:
    """Wait until a condition holds, for so many seconds at most; return whether it does."""
    deadline = time.monotonic() + seconds
    while not (holds := is_true()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return holds


# -- in a browser --------------------------------------------------------------------------------


def wait_for_layout(page: Any) -> None:
    """Wait until a page has drawn two frames: observers of sizes have run, and their changes are drawn."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def wait_in_page(page: Any, milliseconds: int) -> None:
    """Wait by the clock of a page: its timers that end earlier have been called."""
    page.evaluate("(time) => new Promise((done) => setTimeout(done, time))", milliseconds)


@contextmanager
def expect_to_appear(page: Any, selector: str) -> Iterator[None]:
    """Require that an element appears before the end of the block, even if it has disappeared by then."""
    page.evaluate(
        """(selector) => {
            window.appeared = null;
            const watcher = new MutationObserver(() => {
                if (!document.querySelector(selector)) return;
                window.appeared = selector;
                watcher.disconnect();
            });
            watcher.observe(document.body, { childList: true, subtree: true });
        }""",
        selector,
    )
    yield
    page.wait_for_function("(selector) => window.appeared === selector", arg=selector)
