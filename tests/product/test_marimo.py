"""A player in a real marimo, which shows widgets in shadow trees. It is not in the test extra."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import needs

needs.package("marimo")
playwright = needs.package("playwright.sync_api")

from tests.shots import keep

from .jupyterlab import browse

pytestmark = [pytest.mark.browser, needs.chromium, pytest.mark.filterwarnings("ignore::ResourceWarning")]

APP = """
import marimo

app = marimo.App()


@app.cell
def _():
    import nbautograd as torch
    from nbautograd import viz

    with viz.autograd():
        w = torch.tensor([1.0], requires_grad=True)
        x = torch.tensor([2.0], requires_grad=True)
        y = (w + x) * (w + 1)
    viz.animate(y, namespace={"w": w, "x": x, "y": y})
    print(w.grad)
    return torch, viz


@app.cell
def _(torch, viz):
    v = torch.tensor([1.0, 2.0], requires_grad=True)
    viz.graph((v * v).sum(), namespace={"v": v})
    return


@app.cell
def _(torch, viz):
    u = torch.tensor([1.0, 2.0], requires_grad=True)
    kept = viz.graph(u * 2, namespace={"u": u})
    viz.graph(u * 3, namespace={"u": u});
    for factor in (4.0, 5.0):
        viz.graph(u * factor, namespace={"u": u})
    print(kept.label)
    return


@app.cell
def _(torch, viz):
    t = torch.tensor([1.0, 2.0], requires_grad=True)
    viz.graph(t * 2, namespace={"t": t});
    return
"""


@pytest.fixture(scope="module")
def page(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    home = tmp_path_factory.mktemp("marimo")
    (home / "app.py").write_text(APP.lstrip(), encoding="utf-8")  # marimo counts lines from the first that is not blank
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url, env = f"http://127.0.0.1:{port}", {**os.environ, "HOME": str(home), "XDG_CONFIG_HOME": str(home)}
    command = [sys.executable, "-m", "marimo", "run", "app.py", "--headless", "--no-token", "--port", str(port)]
    with open(home / "log", "w", encoding="utf-8") as log:
        server = subprocess.Popen(command, env=env, cwd=home, stdout=log, stderr=log)
        try:
            wait_for(url, server, home / "log")
            with browse(browser) as page:
                page.goto(url)
                playwright.expect(page.locator(".nb-player")).to_have_count(4, timeout=60_000)
                yield page
        finally:
            server.terminate()
            server.wait(20)


def wait_for(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert server.poll() is None, log.read_text(encoding="utf-8")
        try:
            urllib.request.urlopen(url, timeout=2).close()
            return
        except OSError:
            time.sleep(0.2)
    raise AssertionError("marimo did not start:\n" + log.read_text(encoding="utf-8"))


def test_a_pass_plays_by_keys(page: Any) -> None:
    player = page.locator(".nb-player:has(.nb-slider)")
    player.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    playwright.expect(player).to_have_attribute("data-step", "3")
    page.keyboard.press("End")
    playwright.expect(player.locator(".nb-ledger tbody tr").first).to_contain_text("5.")
    assert page.errors == []


def test_pictures_are_where_their_calls_stand(page: Any) -> None:
    """Each of these cells has lines after its pictures; what is kept, or ends with a semicolon, is not shown."""
    assert page.locator(".nb-player").count() == 4


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_follows_the_theme(page: Any, theme: str) -> None:
    page.evaluate("theme => { document.body.dataset.theme = theme; }", theme)
    player = page.locator(".nb-player").first
    playwright.expect(player).to_have_css("color-scheme", theme)
    keep(page, f"marimo-{theme}.png")
