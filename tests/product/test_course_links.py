"""Each page of the course links to the same page where it runs, if the documentation says where that is."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests import needs

needs.package("sphinx")
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def course() -> Any:
    """The extension of Sphinx that makes the course's pages."""
    spec = importlib.util.spec_from_file_location("course", ROOT / "docs" / "extensions" / "course.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pages(course: Any, folder: Path, site: str) -> dict[str, str]:
    """Return the text below the title of each page, by its path in the course."""
    (folder / "source").mkdir()
    app = SimpleNamespace(
        srcdir=folder / "source", doctreedir=folder / "trees", config=SimpleNamespace(course_lite=site)
    )
    course.copy(app)
    made = folder / "source" / "course"
    return {
        path.relative_to(made).as_posix(): "".join(json.loads(path.read_text("utf-8"))["cells"][1]["source"])
        for path in made.rglob("*.ipynb")
    }


@pytest.mark.parametrize("site", ["lite", "lite/"])
def test_links_lead_to_the_notebook_beside_the_documentation(
    course: Any, site: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IPYTHONDIR", "")  # set by the extension
    texts = pages(course, tmp_path, site)
    assert len(texts) == 2 * len([*(ROOT / "notebooks" / "zh").glob("*.ipynb")]) + 1  # the gallery is in English only
    for name, text in texts.items():
        match = re.search(r'href="([^?"]+)\?path=([^"]+)">(.+)</a>', text)
        assert match is not None and match[2] == name, text
        page = Path("/root/course", name).with_suffix(".html")
        assert (page.parent / match[1]).resolve() == Path("/root/lite/notebooks/index.html")
        assert match[3] == course.RUN["zh" if name.startswith("zh/") else "en"]


def test_a_whole_address_is_taken_as_it_is(course: Any) -> None:
    text = course.live("zh/01_tensors.ipynb", "https://example.org/class")
    assert 'href="https://example.org/class/notebooks/index.html?path=zh/01_tensors.ipynb"' in text


def test_without_an_address_there_are_no_links(course: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IPYTHONDIR", "")
    assert not [name for name, text in pages(course, tmp_path, "").items() if "run-this-page" in text]
