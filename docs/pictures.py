"""Make the pictures of the page "The picture", ``docs/pictures/*.webp``: moments of passes, played in Chromium.

python docs/pictures.py [NAME ...]    # needs the extra ``docs`` and Chromium
"""

from __future__ import annotations

import io
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from PIL import Image
from playwright.sync_api import Page, sync_playwright

from nbautograd.viz.notebook import magics
from nbautograd.viz.notebook.figure import Figure

HERE = Path(__file__).parent / "pictures"
TALLEST = 760  # size of a laptop's window, in pixels
TENSORS = "w = torch.tensor([1.], requires_grad=True)\nx = torch.tensor([2.], requires_grad=True)"
SEED = f"{TENSORS}\na = torch.add(w, x)\nb = torch.add(w, 1)\ny = torch.mul(a, b)"
MEAN = "x = torch.ones(2, 2, requires_grad=True)\ny = x + 2\nz = y * y * 3\nout = z.mean()"
RNN = """Wx = torch.randn(3, 2, requires_grad=True)
Wh = torch.randn(3, 3, requires_grad=True)
b = torch.zeros(3, requires_grad=True)
xs = torch.randn(5, 2)
h = torch.zeros(3)
for t in range(5):
    h = torch.tanh(Wx @ xs[t] + Wh @ h + b)
loss = (h**2).sum()"""
CONVOLUTION = """from nbautograd.nn import functional as F
image = torch.randn(1, 1, 6, 6)
kernel = torch.randn(1, 1, 3, 3, requires_grad=True)
out = F.conv2d(image, kernel).relu()
loss = (out ** 2).sum()"""
LOOP = """w = torch.tensor([1.0001], requires_grad=True)
x = torch.tensor([1.], requires_grad=True)
h = x
for _ in range(1000):
    h = h * w + x"""
ENCODER = """enc = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
out = enc(torch.randn(1, 4, 8)).pow(2).mean()"""


SQUARE = "x = torch.tensor([3.], requires_grad=True)"
AGAIN = """%%autograd
for _ in range(3):
    y = x ** 2 + 2 * x
    y.backward()"""
WRITTEN = """x = torch.tensor([1., 2.], requires_grad=True)
h = x.exp()
y = (h * h).sum()
h.add_(1)"""
WEIGHT = "W = torch.randn(3, 4, requires_grad=True)\nX = torch.randn(2, 3)"
MISFIT = "%%autograd\nh = torch.relu(X @ W)\nout = h @ W"
BIAS = """x = torch.tensor([[1., -2.], [3., 4.]], requires_grad=True)
bias = torch.tensor([.5, 1.], requires_grad=True)
y = (x + bias).relu().sum()"""


@dataclass(frozen=True)
class Shot:
    """The code of a picture, its position in the pass, and the state of the page."""

    cells: tuple[str, ...]
    step: int | None = None
    """None: where it opens; below zero, so many steps before the backward pass."""
    width: int = 1280
    scheme: str = "light"
    click: str = ""
    open: bool = False
    """Open all groups."""


SHOTS = {
    "still": Shot((SEED, "%backward y"), 4),
    "whole": Shot((MEAN, "%backward out"), 5),
    "forward": Shot((SEED, "%backward y"), -1),
    "passes": Shot((SQUARE, AGAIN), 15),
    "follow": Shot((RNN, "%backward loss"), 15, open=True),
    "error": Shot((WRITTEN, "%backward y")),
    "folded": Shot((LOOP, "%backward h"), 3),
    "shapes": Shot((WEIGHT, MISFIT)),
    "dark": Shot((SEED, "%backward y"), 6, 700, "dark", ".nb-leaf:has-text('w') .nb-name"),
    "convolution": Shot((CONVOLUTION, "%backward loss"), 5),
    "broadcast": Shot((BIAS, "%backward y"), 4),
    "layers": Shot((ENCODER, "%graph out")),
}


@contextmanager
def notebook() -> Iterator[InteractiveShell]:
    """A shell as in a notebook, with a history of its own."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["IPYTHONDIR"] = folder
        shell = InteractiveShell.instance()
        shell.run_line_magic("load_ext", "nbautograd")
        yield shell
        shell.history_manager.end_session()


def figure(shell: InteractiveShell, cells: tuple[str, ...]) -> Figure:
    """Return the figure of the last of the cells: of a cell that raises an error, its picture."""
    shell.reset(new_session=True)
    shell.run_cell("import nbautograd as torch; torch.manual_seed(0);")
    shell.display_formatter.active_types = ["text/plain", "text/html"]
    shown: list[Any] = []
    with patch.object(magics, "display", lambda *values, **_: shown.extend(values)), capture_output():
        for cell in cells:
            result = shell.run_cell(cell, store_history=True)
    error = result.error_in_exec
    found = [result.result, getattr(error, "animation", None), getattr(error, "picture", None), *shown]
    return next(item for item in found if isinstance(item, Figure))


def shoot(page: Page, shown: Figure, shot: Shot, folder: Path) -> Image.Image:
    """The player at the moment that the shot asks for."""
    page.goto(shown.save(folder / "page.html").as_uri())
    player = page.locator(".nb-player")
    player.wait_for()
    page.wait_for_timeout(200)
    if shot.open:
        player.press("r")
    if shot.step is not None:
        player.press("Home")
    at = int(player.get_attribute("data-step") or 0)
    for _ in range(0 if shot.step is None else abs(shot.step - at)):
        page.click(".nb-forward" if shot.step > at else ".nb-back")
    if shot.click:
        page.locator(shot.click).first.click()
    page.mouse.move(0, 0)
    page.wait_for_timeout(100)
    taken = page.screenshot(clip=player.bounding_box())
    return Image.open(io.BytesIO(taken)).convert("RGB")


def main(names: list[str]) -> None:
    HERE.mkdir(exist_ok=True)
    flags = ["--no-sandbox", "--disable-gpu"]
    with notebook() as shell, sync_playwright() as api, tempfile.TemporaryDirectory() as folder:
        browser = api.chromium.launch(executable_path=shutil.which("chromium"), headless=True, args=flags)
        for name in names or SHOTS:
            shot = SHOTS[name]
            size = {"width": shot.width, "height": TALLEST}
            context = browser.new_context(viewport=size, color_scheme=shot.scheme, reduced_motion="reduce")
            picture = shoot(context.new_page(), figure(shell, shot.cells), shot, Path(folder))
            picture.save(HERE / f"{name}.webp", quality=82, method=6)
            print(name, picture.size, (HERE / f"{name}.webp").stat().st_size, "bytes")
            context.close()
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
