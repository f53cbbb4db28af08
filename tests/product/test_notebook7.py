"""The tutorial in a real Notebook 7: its passes play by keys, and follow the theme. It is not in the test extra."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import needs

needs.package("notebook")
playwright = needs.package("playwright.sync_api")

from tests.shots import keep

from .jupyterlab import READY, RUN_ALL, browse, serve

pytestmark = [pytest.mark.browser, needs.chromium, pytest.mark.filterwarnings("ignore::ResourceWarning")]

NOTEBOOK = Path(__file__).with_name("tutorial.ipynb")


@pytest.fixture(scope="module")
def page(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The notebook, opened and run from top to bottom."""
    home = tmp_path_factory.mktemp("notebook")
    root = home / "work"
    root.mkdir()
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
    (root / NOTEBOOK.name).write_text(json.dumps(notebook), encoding="utf-8")
    with (
        serve(home, root, "notebook") as (url, token),
        browse(browser) as page,
    ):
        page.goto(f"{url}notebooks/{NOTEBOOK.name}?token={token}")
        page.wait_for_function(READY, timeout=120_000)
        page.errors.clear()  # Notebook's own, before ours load
        page.evaluate(RUN_ALL)
        page.wait_for_function("window.__ran", timeout=120_000)
        assert page.evaluate("window.__ran") == "ok"
        page.wait_for_selector(".nb-player .nb-stage > svg", timeout=60_000)
        yield page


def test_every_picture_is_there_and_asks_nobody(page: Any) -> None:
    assert page.locator(".nb-player:has(.nb-slider)").count() == 3
    assert page.locator(".nb-player:not(:has(.nb-slider))").count() == 2
    assert page.get_by_text("Error displaying widget").count() == 0
    assert not page.errors and not page.blocked


def test_a_pass_plays_by_keys_and_the_notebook_does_not_hear_them(page: Any) -> None:
    player = page.locator(".nb-player:has(.nb-slider)").first
    cells = page.locator(".jp-Cell").count()
    player.scroll_into_view_if_needed()
    player.focus()
    page.keyboard.press("ArrowRight")
    playwright.expect(player).to_have_attribute("data-step", "1")
    for key in ("m", "b", "End"):  # in a notebook: Markdown, a cell below
        page.keyboard.press(key)
    playwright.expect(player).to_have_attribute("data-step", "6")
    playwright.expect(player.locator(".nb-ledger tbody tr").first).to_contain_text("5.")
    assert page.locator(".jp-Cell").count() == cells


@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_it_follows_the_theme(page: Any, theme: str) -> None:
    change = "name => { window.jupyterapp.commands.execute('apputils:change-theme', { theme: name }); }"
    page.evaluate(change, f"JupyterLab {theme}")
    light = "true" if theme == "Light" else "false"
    page.wait_for_function("light => document.body.dataset.jpThemeLight === light", arg=light)
    player = page.locator(".nb-player:has(.nb-slider)").first
    scheme = player.evaluate("e => getComputedStyle(e).colorScheme")
    assert scheme == theme.lower()
    keep(player, f"notebook7-{theme.lower()}.png")
