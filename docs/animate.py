"""Make the README's moving pictures, ``docs/backward-light.webp`` and ``-dark.webp``, from the real player in Chromium.

python docs/animate.py    # needs the extra ``docs`` and Chromium
"""

from __future__ import annotations

import io
import linecache
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

import nbautograd as torch
from nbautograd import viz
from nbautograd._engine.core import tracing

HERE = Path(__file__).parent
CELL = """\
w = torch.tensor([1.], requires_grad=True)
x = torch.tensor([2.], requires_grad=True)
a = torch.add(w, x)
b = torch.add(w, 1)
y = torch.mul(a, b)
"""
SIZE = {"width": 880, "height": 900}
TICK = 75  # milliseconds between two frames
LAST = 2500  # milliseconds for the last frame


def player() -> str:
    """The page that plays the backward pass of CELL, as a notebook's second cell would show it."""
    names: dict[str, object] = {"torch": torch}
    linecache.cache["<cell>"] = (len(CELL), None, CELL.splitlines(keepends=True), "<cell>")
    with tracing.traced():
        exec(compile(CELL, "<cell>", "exec"), names)
    cell = {name: value for name, value in names.items() if isinstance(value, torch.Tensor)}
    shown = viz.animate(cell["y"], namespace=cell, resolve=lambda file, line: ("In [2]", linecache.getline(file, line)))
    return shown.html()


def frames(page: Page) -> Iterator[tuple[Image.Image, int]]:
    """Play from the beginning: each picture that differs from the one before, and how many milliseconds it stays."""
    page.locator(".nb-player").press("Home")  # the strip has its full height from here on
    page.clock.run_for(1000)
    box = page.locator(".nb-player").bounding_box()
    shown, stays = None, 0
    steps = int(page.locator(".nb-slider").get_attribute("max") or 0)
    page.get_by_role("button", name="Play").click()
    while True:
        taken = page.screenshot(clip=box)
        if taken != shown and shown is not None:
            yield Image.open(io.BytesIO(shown)).convert("RGB"), stays
            stays = 0
        shown, stays = taken, stays + TICK
        if int(page.locator(".nb-player").get_attribute("data-step") or 0) == steps and stays > 1000:
            yield Image.open(io.BytesIO(shown)).convert("RGB"), LAST
            return
        page.clock.run_for(TICK)


def main() -> None:
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as api, tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "page.html")
        source.write_text(player(), encoding="utf-8")
        browser = api.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for scheme in ("light", "dark"):
            context = browser.new_context(
                viewport=SIZE, color_scheme=scheme, reduced_motion="no-preference", bypass_csp=True
            )
            page = context.new_page()
            page.clock.install(time=0)
            page.goto(source.as_uri())
            page.locator(".nb-player .nb-stage > svg").first.wait_for()
            page.clock.pause_at(60_000)  # from here on, time stops between two frames
            pictures, stays = zip(*frames(page), strict=True)
            target = HERE / f"backward-{scheme}.webp"
            pictures[0].save(
                target, save_all=True, append_images=pictures[1:], duration=list(stays), loop=0, quality=80, method=6
            )
            print(target, f"{len(pictures)} pictures, {sum(stays) / 1000:.0f} s, {target.stat().st_size / 1000:.0f} kB")
            context.close()
        browser.close()


if __name__ == "__main__":
    main()
