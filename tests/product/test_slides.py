"""Test slides: the slide of each cell, players without a network, and stills for printing."""

from __future__ import annotations

import base64
import io
import json
import re
import subprocess
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from nbautograd.cli import main
from nbautograd.cli.slides import MAX_TEXT_CHARACTERS, arranged
from tests import needs
from tests.forked_kernels import forked_kernels
from tests.shots import keep

from .jupyterlab import browse

CELLS = [
    ("title", "# Slides"),
    ("setup", "import nbautograd as torch\n%load_ext nbautograd"),
    ("words", "A product, and its pass."),
    ("player", "w = torch.tensor(3.0, requires_grad=True)\ny = (w * w).sin()\n%backward y"),
    ("failed", "y.backward()"),
    ("check-1", "raise ValueError('a check is no slide')"),
    ("answer-1", "raise ValueError('an answer is no slide')"),
]


def notebook(cells: list[tuple[str, str]] = CELLS) -> dict[str, Any]:
    written = []
    for name, source in cells:
        more: dict[str, Any] = {"cell_type": "markdown"}
        if name not in ("title", "words", "heading"):
            more = {"cell_type": "code", "outputs": [], "execution_count": None}
        tags = {"tags": ["raises-exception"]} if name == "failed" else {}
        written.append({"id": name, "source": source, "metadata": tags, **more})
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return {"cells": written, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}


def places(cells: list[tuple[str, str]]) -> list[str]:
    return [cell["metadata"]["slideshow"]["slide_type"] for cell in arranged(notebook(cells))["cells"]]


def test_each_cell_has_its_place() -> None:
    assert places(CELLS) == ["slide", "-", "subslide", "-", "subslide"]
    long = ("words", "x" * (MAX_TEXT_CHARACTERS + 1))
    assert places([("heading", "## One"), ("words", "x"), ("a", "1"), ("b", "2")]) == ["slide", "-", "-", "subslide"]
    assert places([("heading", "## One"), long, ("a", "1"), long, ("b", "2")])[2:] == ["subslide"] * 3
    assert "--embed" not in json.dumps(arranged(notebook(), stills=True))


def slides(folder: Path, *options: str, cells: list[tuple[str, str]] = CELLS) -> tuple[int, str, str]:
    """Make slides of cells; return the exit status, the output and what was said of errors."""
    path = folder / "lesson.ipynb"
    path.write_text(json.dumps(notebook(cells)), encoding="utf-8")
    return made(path, *options)


def made(path: Path, *options: str) -> tuple[int, str, str]:
    """Run the command in this process, which has its packages imported once, with forked kernels."""
    out, errors = io.StringIO(), io.StringIO()
    with forked_kernels(), redirect_stdout(out), redirect_stderr(errors), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        status = main(["slides", str(path), *options])
    return status, out.getvalue(), errors.getvalue()


def packages() -> None:
    for name in ("nbformat", "nbclient", "nbconvert", "ipykernel"):
        needs.package(name)


def test_stills_are_images(tmp_path: Path) -> None:
    packages()
    out = tmp_path / "print.html"
    status, said, errors = slides(tmp_path, "--stills", "-o", str(out), "--reveal", "reveal", "--require", "r.js")
    assert status == 0, errors
    assert said == f"{tmp_path / 'print.html'}: 3 slides.\n"
    page = (tmp_path / "print.html").read_text(encoding="utf-8")
    stills = [base64.b64decode(found) for found in re.findall('data:image/svg.xml;base64,([^"]*)', page)]
    assert len(stills) == 2 and all(b"<svg" in still for still in stills) and "<iframe" not in page
    assert 'href="reveal/dist/reveal.css"' in page and 'src="r.js"' in page and "is no slide" not in page


@pytest.mark.parametrize(
    ("cells", "says"),
    [([("a", "1 / 0")], "lesson.ipynb fails: ZeroDivisionError"), (None, "cannot read ")],
)
def test_what_goes_wrong_is_said(cells: Any, says: str, tmp_path: Path) -> None:
    packages()
    status, _, errors = made(tmp_path / "none.ipynb") if cells is None else slides(tmp_path, cells=cells)
    assert status == 1 and says in errors and "Traceback" not in errors


@pytest.mark.browser
@needs.chromium
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_players_play_on_slides(browser: Any, tmp_path: Path) -> None:
    packages()
    playwright = needs.package("playwright.sync_api")
    (tmp_path / "lesson.ipynb").write_text(json.dumps(notebook()), encoding="utf-8")
    command = [sys.executable, "-m", "nbautograd", "slides", str(tmp_path / "lesson.ipynb")]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr
    with browse(browser) as page:
        page.goto((tmp_path / "lesson.slides.html").as_uri())
        assert page.locator("section > section").count() == 3
        player = page.locator("section iframe").first.content_frame.locator(".nb-player")
        player.focus()
        page.keyboard.press("End")
        playwright.expect(player.locator(".nb-ledger tbody tr")).to_have_count(1)
        assert int(player.get_attribute("data-step")) >= 3
        keep(page, "slides.png", full_page=True)
