"""Sums over paths in a real browser: beads that wait for their terms, and the list of paths to a value."""

from __future__ import annotations

import re
from typing import Any

import pytest

import nbautograd as nb
from nbautograd import viz
from nbautograd._engine.core import tracing
from nbautograd.viz.read.values import number_text
from tests import needs

from .player_pages import leaf, long_pass, unfold

needs.package("playwright")
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, needs.chromium]


def seed_graph() -> Any:
    with tracing.traced():
        w = nb.tensor(1.0, requires_grad=True)
        x = nb.tensor(2.0, requires_grad=True)
        a = w + x
        b = w + 1
        y = a * b
    return viz.animate(y, namespace={"w": w, "x": x, "a": a, "b": b, "y": y})


def used_twice() -> Any:
    """y is used twice, and the operations behind it once."""
    with tracing.traced():
        x = nb.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        y = x + 2
        z = (y * y * 3).mean()
    return viz.animate(z, namespace={"x": x, "y": y, "z": z})


def layer() -> Any:
    with tracing.traced():
        x = nb.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        w = nb.tensor([[0.5, -1.0], [0.25, 2.0]], requires_grad=True)
        b = nb.tensor([0.5, -0.5], requires_grad=True)
        h = x @ w + b
        y = (nb.tanh(h) * h).sum()
    return viz.animate(y, namespace={"x": x, "w": w, "b": b, "h": h, "y": y})


def many() -> Any:
    """Two to the fourth paths."""
    with tracing.traced():
        x = nb.tensor(1.5, requires_grad=True)
        y = x
        for _ in range(4):
            y = y + y
    return viz.animate(y, namespace={"x": x, "y": y})


def node(page: Any, name: str) -> Any:
    return page.locator(".nb-node").filter(has=page.locator(".nb-name", has_text=re.compile(f"^{name}$")))


def to_the_end(page: Any) -> None:
    page.press(".nb-player", "End")


# -- beads ------------------------------------------------------------------------------------------------------------


def test_a_bead_waits_until_all_terms_have_come(open_page: Any) -> None:
    page = open_page(seed_graph())
    page.press(".nb-player", "Home")
    w = leaf(page, "w")
    assert w.locator(".nb-bead").count() == 1 and leaf(page, "x").locator(".nb-bead").count() == 0
    seen = []
    for _ in range(6):
        seen.append(
            (w.locator("[data-slot$=count]").text_content(), "nb-full" in w.locator(".nb-bead").get_attribute("class"))
        )
        page.click(".nb-forward")
    assert seen[0] == ("0 of 2", False) and ("1 of 2", False) in seen and seen[-1] == ("2 of 2", True)
    assert "3. + 2. = 5." in w.locator("[data-slot$=arriving]").text_content().replace("\u00a0", " ")


def test_a_joint_inside_the_graph_holds_its_terms(open_page: Any) -> None:
    with tracing.traced():
        x = nb.tensor(3.0, requires_grad=True)
        y = x + 2
        z = y * y
    page = open_page(viz.animate(z, namespace={"x": x, "y": y, "z": z}))
    page.press(".nb-player", "Home")
    box = node(page, "y")
    assert box.locator("[data-slot$=count]").text_content() == "0 of 2"
    page.click(".nb-forward")
    page.click(".nb-forward")
    assert box.locator("[data-slot$=count]").text_content() == "2 of 2"
    assert "5. + 5. = 10." in box.locator("[data-slot$=arriving]").text_content().replace("\u00a0", " ")
    expect(box.locator(".nb-bead")).to_have_class(re.compile("nb-full"))
    expect(page.locator(".nb-caption")).to_contain_text("all gradients of y have come: 5. + 5. = 10.")
    page.click(".nb-back")
    expect(box.locator(".nb-bead")).not_to_have_class(re.compile("nb-full"))


def test_nothing_moves_while_a_bead_fills(open_page: Any) -> None:
    page = open_page(seed_graph())
    where = """() => JSON.stringify([document.querySelector('.nb-stage > svg').getAttribute('viewBox'),
        document.querySelector('.nb-stage').getBoundingClientRect(), ...[...document.querySelectorAll('.nb-stage rect')]
        .map((rect) => ['x', 'y', 'width', 'height'].map((name) => rect.getAttribute(name)))])"""
    places = set()
    for _ in range(7):
        places.add(page.evaluate(where))
        page.click(".nb-forward")
    assert len(places) == 1


def test_a_bead_where_a_broadcast_is_undone(open_page: Any) -> None:
    page = open_page(layer())
    bead = page.locator(".nb-sum-bead")
    assert bead.count() == 1 and "b was broadcast" in bead.locator("title").text_content()
    page.press(".nb-player", "Home")
    expect(bead).not_to_have_class(re.compile("nb-full"))
    to_the_end(page)
    expect(bead).to_have_class(re.compile("nb-full"))


# -- paths ------------------------------------------------------------------------------------------------------------


def test_the_paths_to_a_leaf_with_their_products(open_page: Any) -> None:
    page = open_page(seed_graph())
    to_the_end(page)
    leaf(page, "w").click()
    lines = page.locator(".nb-path").all_text_contents()
    assert lines == ["1y → × → a → + → w1 · 2 · 1 = 2", "2y → × → b → + → w1 · 3 · 1 = 3"]
    expect(page.locator(".nb-paths-sum .nb-equation-element")).to_have_text("2 + 3 = 5 = ∂y/∂w")
    page.hover(".nb-path >> nth=1")
    assert page.locator(".nb-path-line.nb-lit").count() == 4  # y ×, × b, b +, + w
    assert "b" in [text.strip() for text in page.locator(".nb-node.nb-near .nb-name").all_text_contents()]
    assert "a" not in [text.strip() for text in page.locator(".nb-node.nb-near .nb-name").all_text_contents()]
    page.keyboard.press("Escape")
    assert page.locator(".nb-path, .nb-path-line").count() == 0


def test_paths_of_tensors_add_up_element_by_element(open_page: Any) -> None:
    page = open_page(used_twice())
    to_the_end(page)
    leaf(page, "x").click()
    assert page.locator(".nb-path").count() == 2
    expect(page.locator(".nb-paths-sum .nb-equation-element")).to_have_text("4.5 + 4.5 = 9 = ∂z/∂x[1, 1]")
    page.hover(".nb-path >> nth=0 >> rect >> nth=1")  # x[0, 1] = 2: 2 · 3 · (2 + 2) / 4 = 3 by each path
    expect(page.locator(".nb-paths-sum .nb-equation-element")).to_have_text("3 + 3 = 6 = ∂z/∂x[0, 1]")
    assert page.locator(".nb-path rect.nb-lit").count() == 2


def test_what_the_paths_sum_up_to_is_what_the_pass_recorded(open_page: Any) -> None:
    recorded = layer()
    page = open_page(recorded)
    to_the_end(page)
    for name in ("w", "b"):
        leaf(page, name).click()
        assert page.locator(".nb-path").count() == 2  # tanh(h) · h
        expect(page.locator(".nb-paths-sum .nb-equation-element b")).to_have_text(re.compile(r"^−?\d"))
        assert "recorded" not in page.locator(".nb-paths-sum").inner_text()
        page.keyboard.press("Escape")


def test_paths_through_what_is_moved(open_page: Any) -> None:
    with tracing.traced():
        x = nb.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
        y = x.t().reshape(6)[1:4]
        z = (y * y * nb.tensor([1.0, 10.0, 100.0])).sum()
    page = open_page(viz.animate(z, namespace={"x": x, "y": y, "z": z}))
    to_the_end(page)
    leaf(page, "x").click()
    assert page.locator(".nb-path .nb-tile").count() == 2
    expect(page.locator(".nb-paths-sum .nb-equation-element b")).to_have_text(f"{float(x.grad.max()):g}")
    assert "recorded" not in page.locator(".nb-paths-sum").inner_text()


def test_through_a_folded_group_no_number_is_made_up(open_page: Any) -> None:
    page = open_page(long_pass(12))
    to_the_end(page)
    leaf(page, "w").click()
    expect(page.locator(".nb-paths-sum")).to_contain_text("Open the folded groups")
    assert page.locator(".nb-paths-sum .nb-equation-element").count() == 0
    page.focus(".nb-nudge-range")
    page.keyboard.press("ArrowRight")  # by 0.01
    w = nb.tensor(0.5, requires_grad=True)
    h = w
    for _ in range(12):
        h = nb.tanh(h * w)
    h.backward()
    shown = float(page.locator(".nb-nudge-told").inner_text().split("predicted")[0].split(":")[1].replace("−", "-"))
    assert shown == float(f"{h.item() + 0.01 * w.grad.item():.4f}") > 0


def test_of_many_paths_the_first_are_listed(open_page: Any) -> None:
    page = open_page(many())
    to_the_end(page)
    leaf(page, "x").click()
    assert page.locator(".nb-path").count() == 12
    expect(page.locator(".nb-path-list")).to_contain_text("… 4 more")


def rnn() -> tuple[Any, dict[str, Any]]:
    w, u, h = nb.tensor(0.5, requires_grad=True), nb.tensor(0.8, requires_grad=True), nb.tensor(0.25)
    for value in (1.0, 2.0, -1.0):
        h = nb.tanh(w * value + u * h)
    return (h - 1) ** 2, {"w": w, "u": u}


def residual() -> tuple[Any, dict[str, Any]]:
    x = nb.tensor([[1.0, -2.0], [3.0, 4.0]], requires_grad=True)
    w = nb.tensor([[1.0, 2.0], [-1.0, 1.0]], requires_grad=True)
    h = x + nb.relu(x @ w)
    return (h + h @ w).sum(), {"x": x, "w": w}


@pytest.mark.parametrize("program", [rnn, residual])
def test_python_finds_the_same_paths(open_page: Any, program: Any) -> None:
    """The player has the drawn graph and a recorded pass, ``viz.paths`` the graph itself."""
    with tracing.traced():
        y, leaves = program()
    names = {**leaves, "y": y}
    found = {name: viz.paths(tensor, y, most=12, namespace=names) for name, tensor in leaves.items()}
    page = open_page(viz.animate(y, namespace=names))
    unfold(page)
    to_the_end(page)
    for name, tensor in leaves.items():
        leaf(page, name).click()
        assert page.locator(".nb-path").count() == found[name].count == len(found[name]) > 1
        for cell in range(tensor.numel()):
            if tensor.numel() > 1:
                page.hover(f".nb-path >> nth=0 >> [data-cell='{cell}']")
            shown = page.locator(".nb-paths-sum .nb-equation-element").inner_text().split(" = ")[0]
            parts = [path.gradient.reshape(-1)[cell].item() for path in found[name]]
            told = [number_text(part).replace("-", "−") for part in parts]
            assert sorted(re.sub("[()]", "", shown).split(" + ")) == sorted(told)
        page.keyboard.press("Escape")


def test_a_hook_that_changes_a_gradient_is_told(open_page: Any) -> None:
    with tracing.traced():
        x = nb.tensor(2.0, requires_grad=True)
        y = x * 3
        z = y * 2
    x.register_hook(lambda g: g * 10)
    page = open_page(viz.animate(z, namespace={"x": x, "y": y, "z": z}))
    to_the_end(page)
    leaf(page, "x").click()
    expect(page.locator(".nb-paths-sum")).to_contain_text("The pass recorded 60")


def test_names_in_paths_are_text(open_page: Any) -> None:
    with tracing.traced():
        x = nb.tensor(2.0, requires_grad=True)
        y = x * 3
    page = open_page(viz.animate(y, namespace={"<img src=x>": x, "<b>y": y}))
    to_the_end(page)
    page.click(".nb-leaf")
    assert page.locator(".nb-path").count() == 1 and page.locator(".nb-paths img").count() == 0 and page.troubles == []


def test_by_keyboard_alone(open_page: Any) -> None:
    page = open_page(seed_graph())
    to_the_end(page)
    page.focus(".nb-player")
    page.keyboard.press("n")  # the first leaf, and its range
    expect(page.locator(".nb-nudge-range")).to_be_focused()
    page.focus(".nb-path >> nth=0")
    assert page.locator(".nb-path-line.nb-lit").count() == 4
    page.keyboard.press("Tab")
    expect(page.locator(".nb-path >> nth=1")).to_be_focused()


@pytest.mark.parametrize("width", [400, 700, 1600])
def test_the_list_has_the_strips_place_at_every_width(open_page: Any, width: int) -> None:
    page = open_page(seed_graph(), viewport={"width": width, "height": 900})
    to_the_end(page)
    before = page.locator(".nb-player").bounding_box()
    leaf(page, "w").click()
    stage, strip = (page.locator(part).bounding_box() for part in (".nb-stage", ".nb-strip"))
    first = page.locator(".nb-path").first.bounding_box()
    assert stage["y"] + stage["height"] <= strip["y"] <= first["y"]
    assert first["y"] + first["height"] <= strip["y"] + strip["height"]
    sizes = page.evaluate("""() => [...document.querySelectorAll('.nb-equation-bar *')]
        .filter((e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()))
        .map((e) => parseFloat(getComputedStyle(e).fontSize))""")
    assert min(sizes) >= 11
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    page.mouse.move(1, 1)  # no card is open
    page.press(".nb-player", "Escape")
    assert page.locator(".nb-player").bounding_box() == before
