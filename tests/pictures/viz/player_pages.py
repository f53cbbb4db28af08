"""Recordings and graphs for the player, and readers of its page."""

from __future__ import annotations

import re
from typing import Any

import nbautograd as nb
from nbautograd import viz
from nbautograd._engine.core import tracing
from nbautograd.viz.capture.recorder import Recorder
from nbautograd.viz.notebook import scripts
from nbautograd.viz.notebook.api import Picture, Recording
from nbautograd.viz.read.builder import build
from tests.waiting import wait_for_layout

from .fake_graph import Seed


def recording(passes: int = 1, names: dict[str, str] | None = None) -> Recording:
    seed = Seed()
    shown = {(names or {}).get(name, name): value for name, value in seed.names.items()}
    recorder = Recorder(build(seed.y, shown, resolve=seed.resolve))
    for _ in range(passes):
        for event in seed.events():
            recorder(event)
        seed.finish()
    return Recording(recorder.timeline())


def run_module(page: Any, name: str, function: str, *arguments: Any) -> Any:
    """Call a function of JavaScript with a module of the player, and with these arguments."""
    return page.evaluate(
        f"""async ([code, ...others]) => {{
            const module = await import("data:text/javascript;charset=utf-8," + encodeURIComponent(code));
            return ({function})(module, ...others);
        }}""",
        [scripts.bundle(name), *arguments],
    )


def step_of(page: Any) -> int:
    return int(page.locator(".nb-player").get_attribute("data-step"))


def press(page: Any, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def at_each_step(page: Any, read: str, first: int = 1) -> list[Any]:
    """Move the slider to each step, and return what a function of JavaScript reads there: all in one call."""
    seen: list[Any] = page.evaluate(
        f"""async (first) => {{
            const read = {read}, slider = document.querySelector(".nb-slider"), seen = [];
            for (let step = first; step <= Number(slider.max); step++) {{
                slider.value = step;
                slider.dispatchEvent(new Event("input", {{ bubbles: true }}));
                seen.push(await read(step));
            }}
            return seen;
        }}""",
        first,
    )
    return seen


def open_tab(page: Any, name: str) -> None:
    """Open the drawer at a tab: ``step``, ``leaves``, ``program``, ``words`` or ``tools``."""
    if page.locator(".nb-drawer").is_hidden():
        page.click(".nb-more")
    page.click(f'[data-tab="{name}"]')


def unfold(page: Any) -> None:
    """Open all groups, where some are closed so that the whole is seen."""
    wait_for_layout(page)
    if page.locator(".nb-openable").count():
        page.press(".nb-player", "r")
    page.focus(".nb-player")


WHEN_DRAWN = """() => new Promise((done, fail) => {
    const since = performance.now();
    const look = () => {
        if (document.querySelector(".nb-player")?.checkVisibility({ visibilityProperty: true })) {
            requestAnimationFrame(() => requestAnimationFrame(done));
        } else if (performance.now() - since > 60_000) fail(new Error("no player is shown"));
        else requestAnimationFrame(look);
    };
    look();
})"""
"""Waits in a page for its player, and for two frames, as ``wait_for_layout`` does.

A locator would do as well, but Playwright then loads a script into the page, which takes a tenth of the time of a page.
"""
BOXES = "(names) => names.map((name) => document.querySelector(name)?.getBoundingClientRect().toJSON() ?? null)"
"""Reads the boxes of the first elements of these selectors; none: there is no such element."""
KEYS = """
    const player = document.querySelector(".nb-player");
    const press = (key) => document.activeElement
        .dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, composed: true }));
    const type = (text) => {
        const field = player.querySelector(".nb-answer");
        field.focus();
        field.value = text;
        field.dispatchEvent(new Event("input", { bubbles: true }));
        press("Enter");
    };
    const laidOut = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
"""
"""The player of a page, and what presses its keys and answers it, for functions that a page runs."""


def hurry(page: Any, times: float) -> None:
    """Let the clock of a page run so many times as fast: what moves or waits there takes less time."""
    page.evaluate(
        """(times) => {
            const [now, timeout] = [performance.now.bind(performance), setTimeout];
            const request = requestAnimationFrame;
            performance.now = () => times * now();
            window.requestAnimationFrame = (callback) => request((time) => callback(times * time));
            window.setTimeout = (callback, wait, ...others) => timeout(callback, wait / times, ...others);
        }""",
        times,
    )


def leaf(page: Any, name: str) -> Any:
    has = page.locator(".nb-name", has_text=re.compile(f"^{name}$"))
    return page.locator(".nb-leaf").filter(has=has)


def loop(steps: int) -> Picture:
    with tracing.traced():
        w = nb.tensor(0.5, requires_grad=True)
        h = w
        for _ in range(steps):
            h = nb.tanh(h * w)
    return viz.graph(h, namespace={"w": w, "h": h})


def long_pass(steps: int) -> Recording:
    with tracing.traced():
        w = nb.tensor(0.5, requires_grad=True)
        h = w
        for _ in range(steps):
            h = nb.tanh(h * w)
    return viz.animate(h, namespace={"w": w, "h": h}, fold=True)


def layer(**options: Any) -> Recording:
    """A layer with a bias: a product of matrices, a broadcast sum, an elementwise function, a mean."""
    with tracing.traced():
        X = nb.tensor([[1.0, 2.0, 3.0], [0.5, -1.0, 0.25]])
        W = nb.tensor([[0.5, -0.5], [0.25, 1.0], [-1.0, 0.75]], requires_grad=True)
        b = nb.tensor([0.5, -0.5], requires_grad=True)
        h = nb.tanh(X @ W + b)
        y = (h * h).mean()
    return viz.animate(y, namespace={"X": X, "W": W, "b": b, "h": h, "y": y}, **options)
