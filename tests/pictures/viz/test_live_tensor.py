"""A tensor as a cell's value where widgets run: its text and its graph, which answers clicks."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import nbautograd as nb
from nbautograd import viz
from nbautograd.viz.settings import settings
from tests import needs

needs.package("IPython")
needs.package("anywidget")
needs.package("playwright")
from IPython.core.interactiveshell import InteractiveShell
from IPython.testing.globalipapp import start_ipython
from playwright.sync_api import expect

VIEW = "application/vnd.jupyter.widget-view+json"


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    shell = start_ipython() or InteractiveShell.instance()
    monkeypatch.setattr(shell, "kernel", SimpleNamespace(), raising=False)
    monkeypatch.setattr(shell, "parent_header", {"metadata": {"cellId": ""}}, raising=False)
    monkeypatch.setattr(shell.display_formatter, "active_types", ["text/plain", "text/html", VIEW])
    shell.run_line_magic("load_ext", "nbautograd")
    yield shell
    shell.run_line_magic("unload_ext", "nbautograd")


def shown(shell: Any, tensor: Any) -> dict[str, Any]:
    bundle: dict[str, Any] = shell.display_formatter.format(tensor)[0]
    return bundle


def test_its_graph_lives_and_its_text_stays(shell: Any) -> None:
    y = nb.ones(2, requires_grad=True) * 3
    bundle = shown(shell, y)
    assert VIEW in bundle and bundle["text/plain"] == repr(y)
    assert "<img" in bundle["text/html"] and "grad_fn" in bundle["text/html"]
    assert "run the cell" in bundle["text/html"]  # for a reader who opens the notebook again


@pytest.mark.parametrize("setting", [{"widget": False}, {"tensors": "text"}, {"tensors": "card"}])
def test_settings_keep_it_still(shell: Any, setting: dict[str, Any]) -> None:
    before = settings.change(**setting)
    try:
        assert VIEW not in shown(shell, nb.ones(2, requires_grad=True) * 3)
    finally:
        settings.change(**before)


def test_what_has_no_graph_is_text(shell: Any) -> None:
    assert set(shown(shell, nb.ones(2))) == {"text/plain"}


def test_without_a_front_end_it_is_still(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell, "parent_header", {}, raising=False)
    bundle = shown(shell, nb.ones(2, requires_grad=True) * 3)
    assert VIEW not in bundle and "<img" in bundle["text/html"]


def test_unloading_takes_it_back(shell: Any) -> None:
    shell.run_line_magic("unload_ext", "nbautograd")
    assert set(shown(shell, nb.ones(2, requires_grad=True) * 3)) == {"text/plain"}
    shell.run_line_magic("load_ext", "nbautograd")


@pytest.mark.browser
@needs.chromium
def test_the_text_stands_above_the_graph(open_page: Any) -> None:
    x = nb.ones(2, requires_grad=True)
    picture = viz.graph(x * 3, namespace={"x": x})
    picture.head = "tensor([3., 3.])"
    page = open_page(picture)
    expect(page.locator(".nb-head-text")).to_have_text("tensor([3., 3.])")
    text, bar = (page.locator(name).bounding_box() for name in (".nb-head-text", ".nb-stage"))
    assert text["y"] + text["height"] <= bar["y"] + 1 and page.troubles == []
