"""Waits for a page's own events: a busy machine delays them, and a wait in this process would end before them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["appears", "laid_out", "until", "waits"]


def laid_out(page: Any) -> None:
    """Wait until the page has drawn two frames: observers of sizes have been called, and what they changed is drawn."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def until(found: Callable[[], bool]) -> bool:
    """Wait, for a minute at most, until a condition holds; return whether it does."""
    deadline = time.monotonic() + 60
    while not (true := found()) and time.monotonic() < deadline:
        time.sleep(0.2)
    return true


def waits(page: Any, milliseconds: int) -> None:
    """Wait by the clock of the page: what the page does earlier than that has been done."""
    page.evaluate("(time) => new Promise((done) => setTimeout(done, time))", milliseconds)


@contextmanager
def appears(page: Any, selector: str) -> Iterator[None]:
    """Require that an element appears until the end of the block, even where it is gone again by then."""
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
