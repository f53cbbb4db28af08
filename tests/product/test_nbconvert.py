"""Check nbconvert's page of a notebook that it runs, in a browser without a network: pictures, and embedded players."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests import needs

nbformat, nbclient, nbconvert = needs.package("nbformat"), needs.package("nbclient"), needs.package("nbconvert")
playwright = needs.package("playwright.sync_api")

from tests.shots import DRAWN, keep

from .jupyterlab import browse

pytestmark = [
    pytest.mark.browser,
    needs.chromium,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::RuntimeWarning"),
]

CELLS = [
    "import nbautograd as torch\n%load_ext nbautograd",
    "w = torch.tensor([1.], requires_grad=True)\nx = torch.tensor([2.], requires_grad=True)\n"
    "a = torch.add(w, x)\nb = torch.add(w, 1)\ny = torch.mul(a, b)\ny",
    "%backward y\nprint(w.grad)",
    "%autograd --embed on",
    "z = (torch.ones(3, requires_grad=True) * 2).exp().sum()\n%backward z",
]


@pytest.fixture(scope="module")
def page(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("converted")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    html, _ = nbconvert.HTMLExporter().from_notebook_node(notebook)
    (folder / "page.html").write_text(html, encoding="utf-8")
    with browse(browser) as page:
        page.goto((folder / "page.html").as_uri())
        yield page


def test_pictures_are_drawn(page: Any) -> None:
    sizes = page.evaluate(DRAWN)
    assert len(sizes) == 2 and all(width > 300 and colors > 50 for width, colors in sizes), sizes
    keep(page, "nbconvert.png", full_page=True)
    assert not page.errors


def test_what_is_embedded_plays(page: Any) -> None:
    player = page.frame_locator("iframe").locator(".nb-player")
    player.focus()
    page.keyboard.press("End")
    playwright.expect(player.locator(".nb-ledger tbody tr")).to_have_count(1)
    playwright.expect(player.locator(".nb-ledger .nb-bucket-pass")).to_have_count(1)
    assert int(player.get_attribute("data-step")) > 3
    assert page.locator("iframe").bounding_box()["height"] >= player.bounding_box()["height"]


def test_only_what_nbconvert_itself_wants_is_asked_for(page: Any) -> None:
    ours = [url for url in page.blocked if not url.startswith("https://cdnjs.cloudflare.com/ajax/libs/")]
    assert ours == []
