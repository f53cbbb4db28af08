"""Check the first sight of a player before it plays: the whole graph with its gradients, a line, and few controls."""

from __future__ import annotations

from itertools import combinations, product
from pathlib import Path
from typing import Any

import pytest

from tests import needs
from tests.waiting import wait_for_layout

needs.package("playwright")
from playwright.sync_api import expect

import nbautograd as nb
from nbautograd import nn, viz
from nbautograd._engine.core import tracing
from nbautograd.viz.draw.labels import MAX_OVERLAP_PX
from nbautograd.viz.notebook.api import Recording
from nbautograd.viz.notebook.arranging import MAX_ROW_NODES
from nbautograd.viz.notebook.figure import WINDOWS

from .gallery import PROGRAMS, once
from .player_pages import BOXES, layer, open_tab, recording

pytestmark = [pytest.mark.browser, needs.chromium]

LAPTOPS = {"1366x650": (1366, 650), "1280x720": (1280, 720), "1280x800": (1280, 800)}
LEFT = {"Lab at 1366x650": (952, 529), "Lab at 1280x720": (866, 599), "800x700": (800, 700)}
"""Windows of pages with as much room as cells have in JupyterLab beside its files, and of a tablet."""
SEEN = """() => {
    const root = document.querySelector('.nb-player'), stage = root.querySelector('.nb-stage');
    const isSeen = (e) => {
        const box = e.getBoundingClientRect();
        const shown = e.checkVisibility({ visibilityProperty: true, opacityProperty: true });
        return shown && box.width > 2 && box.height > 2;
    };
    const controls = [...root.querySelectorAll('button, input, select, summary, [role=slider], [role=tab]')];
    const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    let words = 0;
    while (texts.nextNode()) {
        const { parentElement } = texts.currentNode;
        if (!stage.contains(parentElement) && isSeen(parentElement)) {
            words += texts.currentNode.data.split(/\\s+/).filter(Boolean).length;
        }
    }
    const around = stage.getBoundingClientRect();
    const boxes = [...stage.querySelectorAll('[data-node]')].map((node) => {
        const shape = (node.querySelector('.nb-shape') || node).getBoundingClientRect();
        return [node.getAttribute('class'), shape.left > around.left - 1 && shape.right < around.right + 1
            && shape.top > around.top - 1 && shape.bottom < around.bottom + 1];
    });
    const over = [...stage.children].filter((e) => e.localName !== 'svg' && isSeen(e)).map((e) => e.className);
    const strip = root.querySelector('.nb-strip');
    const empty = [...strip.querySelectorAll('*')].filter((e) => isSeen(e) && !e.closest('svg, button, .nb-track')
        && !e.textContent.trim() && !e.querySelector('svg, input, button')).map((e) => e.className);
    const outside = controls.filter((e) => isSeen(e) && !stage.contains(e)); // a number in a box is none
    return { controls: outside.length, words, boxes, over, empty,
        low: root.getBoundingClientRect().bottom };
}"""
MIDDLE = """() => {
    const { x, y, width, height } = document.querySelector(".nb-stage").getBoundingClientRect();
    return [x + width / 2, y + height / 2];
}"""
SEEDS = ("first_seed", "second_seed", "changed_in_place", "used_four_times", "hooked")


@pytest.mark.parametrize("size", LAPTOPS)
@pytest.mark.parametrize("name", SEEDS)
def test_small_graphs_are_seen_whole_on_a_laptop(open_page: Any, name: str, size: str) -> None:
    width, height = LAPTOPS[size]
    seen = open_page(PROGRAMS[name], viewport={"width": width, "height": height}).evaluate(SEEN)
    assert [kind for kind, inside in seen["boxes"] if not inside] == []
    assert seen["over"] == [] and seen["empty"] == [] and seen["low"] <= height


@pytest.mark.parametrize("name", PROGRAMS)
def test_there_are_few_controls_and_words(open_page: Any, name: str) -> None:
    page = open_page(PROGRAMS[name], viewport={"width": 1280, "height": 800})
    seen = page.evaluate(SEEN)
    assert seen["controls"] <= 5 and seen["words"] <= 40
    page.mouse.move(*page.evaluate(MIDDLE))
    assert page.evaluate(SEEN)["controls"] <= 8


FAILED = {
    "freed": "w = leaf(3.0)\ny = w ** 2\ny.backward()",
    "written": "x = leaf(1.0, 2.0)\nh = torch.exp(x)\nh.add_(1)\ny = h.sum()",
}
"""Passes that fail, as cells: a picture says in which lines, too."""


@pytest.mark.parametrize("name", FAILED)
def test_an_error_is_told_in_few_words(run: Any, app: Any, open_page: Any, name: str) -> None:
    told = "try: viz.animate(y)\nexcept RuntimeError as error: shown = error.animation"
    run(f"from nbautograd import viz\n{FAILED[name]}\n{told}").raise_error()
    seen = open_page(app.user_ns["shown"], viewport={"width": 1280, "height": 800}).evaluate(SEEN)
    assert seen["controls"] <= 8 and seen["words"] <= 40


def test_it_shows_the_end_until_something_is_played(open_page: Any) -> None:
    page = open_page(recording())
    expect(page.locator(".nb-caption")).to_have_text("w.grad = 5: 2 paths, 3 + 2")
    expect(page.locator(".nb-player")).to_have_attribute("data-step", "0")
    assert page.locator(".nb-flow.nb-done").count() == 8 and page.locator(".nb-active").count() == 0
    page.click(".nb-play")
    page.click(".nb-play")
    expect(page.locator(".nb-flow.nb-done")).to_have_count(0)


def test_a_line_says_what_came_of_it(open_page: Any) -> None:
    expect(open_page(layer()).locator(".nb-caption")).to_have_text("Leaves with a gradient: W, b")
    expect(open_page(recording(2)).locator(".nb-caption")).to_contain_text("w")


def test_a_line_says_where_a_nan_came_from(run: Any, app: Any, open_page: Any) -> None:
    code = "x = leaf(0.0, 4.0)\nd = torch.sqrt(x)\ny = (d * x).sum()\nshown = viz.animate(y)"
    run(f"from nbautograd import viz\n{code}").raise_error()
    expect(open_page(app.user_ns["shown"]).locator(".nb-caption")).to_have_text(
        "x.grad has NaN or infinity: it comes from d = sqrt(x), where the first NaN or Inf arose; "
        "at [0], a gradient of 0. and x = 0. give nan"
    )


def test_the_drawer_is_closed_and_stays_as_it_was_left(open_page: Any) -> None:
    page = open_page(recording())
    expect(page.locator(".nb-drawer")).to_be_hidden()
    open_tab(page, "leaves")
    expect(page.locator(".nb-ledger")).to_be_visible()
    page.reload()
    expect(page.locator(".nb-ledger")).to_be_visible()
    page.press(".nb-player", "o")
    expect(page.locator(".nb-drawer")).to_be_hidden()
    page.reload()
    expect(page.locator(".nb-player")).to_be_visible()
    expect(page.locator(".nb-drawer")).to_be_hidden()
    page.locator(".nb-leaf .nb-shape").first.click()  # opens it for this node only
    expect(page.locator(".nb-side")).to_be_visible()
    page.reload()
    expect(page.locator(".nb-player")).to_be_visible()
    expect(page.locator(".nb-drawer")).to_be_hidden()


@once
def blocks() -> Recording:
    """A net of twelve blocks with a connection around each."""

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x: Any) -> Any:
            return nb.relu(x + self.second(nb.relu(self.first(x))))

    nb.manual_seed(0)
    net, x = nn.Sequential(*[Block() for _ in range(12)], nn.Linear(4, 3)), nb.randn(2, 4)
    with tracing.traced():
        out = net(x)
        loss = nn.functional.cross_entropy(out, nb.tensor([0, 2]))
    return viz.animate(loss, namespace={"net": net, "x": x, "out": out, "loss": loss})


def encoder(T: Any = nb) -> Recording:
    T.manual_seed(0)
    layer = T.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
    model, x = T.nn.TransformerEncoder(layer, 2), T.randn(1, 3, 4)
    loss = model(x).pow(2).mean()
    return viz.animate(loss, namespace={"model": model, "loss": loss})


@once
def attention() -> Recording:
    """Matrices whose numbers would take more room than a laptop has: their boxes hold cells only."""
    nb.manual_seed(0)
    with tracing.traced():
        X = nb.randn(4, 3)
        Wq, Wk, Wv = (nb.randn(3, 3, requires_grad=True) for _ in range(3))
        q, k, v = X @ Wq, X @ Wk, X @ Wv
        scores = q @ k.T / 3**0.5
        scores = scores.masked_fill(nb.ones(4, 4).triu(1) > 0, float("-inf"))
        att = nn.functional.softmax(scores, dim=-1)
        out = att @ v
        loss = out.pow(2).mean()
    names = {"X": X, "Wq": Wq, "Wk": Wk, "Wv": Wv, "q": q, "k": k, "v": v, "scores": scores, "att": att, "out": out}
    return viz.animate(loss, namespace={**names, "loss": loss})


@once
def looked_up() -> Recording:
    """Few lines, of which two need many cells: an embedding, and a matrix for all words."""
    nb.manual_seed(0)
    with tracing.traced():
        E, U = nb.randn(6, 4, requires_grad=True), nb.randn(4, 6, requires_grad=True)
        e = nn.functional.embedding(nb.tensor([1, 3, 3, 0]), E)
        m = e.mean(0)
        y = nb.log_softmax(m @ U, 0)[2]
    return viz.animate(y, namespace={"E": E, "U": U, "e": e, "m": m, "y": y})


@once
def autoencoder() -> Recording:
    """Many long lines, of which most are used more than once."""
    nb.manual_seed(0)
    with tracing.traced():
        x = nb.randn(3, 4)
        We, Ws, Wd = (nb.randn(size, requires_grad=True) for size in ((4, 2), (4, 2), (2, 4)))
        mu = x @ We
        logvar = x @ Ws
        z = mu + nb.exp(0.5 * logvar) * nb.randn(3, 2)
        rec = nb.sigmoid(z @ Wd)
        kl = -0.5 * (1 + logvar - mu**2 - logvar.exp()).sum()
        y = ((rec - x) ** 2).sum() + kl
    names = {"x": x, "We": We, "Ws": Ws, "Wd": Wd, "mu": mu, "logvar": logvar, "z": z, "rec": rec, "kl": kl, "y": y}
    return viz.animate(y, namespace=names)


@once
def recurrent() -> Recording:
    """Rows of four numbers, which edges write one below the other where there is room."""
    nb.manual_seed(0)
    with tracing.traced():
        W, U, b = (
            nb.randn(4, 4, requires_grad=True),
            nb.randn(2, 4, requires_grad=True),
            nb.zeros(4, requires_grad=True),
        )
        h = nb.zeros(1, 4)
        for _ in range(6):
            h = nb.tanh(nb.randn(1, 2) @ U + h @ W + b)
        loss = h.pow(2).sum()
    return viz.animate(loss, namespace={"W": W, "U": U, "b": b, "h": h, "loss": loss})


LARGER = {**PROGRAMS, "blocks": blocks, "encoder": encoder, "attention": attention, "looked_up": looked_up,
          "autoencoder": autoencoder, "recurrent": recurrent}  # fmt: skip


@pytest.mark.parametrize("name", LARGER)
def test_no_tile_lies_over_a_box_or_another_tile(name: str) -> None:
    recording = LARGER[name]()
    for scene, first in enumerate(recording.scenes):
        for model in (first, *recording.levels(scene).values()):
            for window in WINDOWS if len(model.nodes) <= MAX_ROW_NODES else ():
                arrangements = recording._fitting(scene, model, window)[1]
                places = arrangements.places(window)
                areas = {
                    edge: (x - wide / 2, y - high / 2, x + wide / 2, y + high / 2)
                    for edge, (x, y) in places.labels.items()
                    for wide, high in (arrangements.labels[edge],)
                }
                boxes = {key: (b.x, b.y, b.x + b.width, b.y + b.height) for key, b in places.boxes.items()}
                pairs = [*product(areas.items(), boxes.items()), *combinations(areas.items(), 2)]
                for (one, (a, b, c, d)), (other, (left, top, right, low)) in pairs:
                    over = min(min(c, right) - max(a, left), min(d, low) - max(b, top))
                    assert over <= MAX_OVERLAP_PX, (one, other, window)


@pytest.mark.parametrize("size", ["1366x650", "1280x800", *LEFT])
@pytest.mark.parametrize("name", [name for name in LARGER if name not in SEEDS])
def test_the_whole_is_seen_on_some_level(open_page: Any, name: str, size: str) -> None:
    width, height = (LAPTOPS | LEFT)[size]
    page = open_page(LARGER[name], viewport={"width": width, "height": height})
    boxes = page.evaluate(SEEN)["boxes"]
    inside = [kind for kind, is_seen in boxes if is_seen]
    assert len(inside) >= 0.9 * len(boxes)
    assert any("nb-output" in kind for kind in inside)
    assert any("nb-leaf" in kind or "nb-group" in kind for kind in inside)


@pytest.mark.parametrize("name", LARGER)
def test_on_a_telephone_the_whole_is_seen(open_page: Any, name: str) -> None:
    """It may be higher than the window until it is played: then the strip is below it, in view."""
    page = open_page(LARGER[name], viewport={"width": 400, "height": 800})
    seen = page.evaluate(SEEN)
    assert [kind for kind, inside in seen["boxes"] if not inside] == [] and seen["over"] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    play, key = page.evaluate(BOXES, [".nb-play", ".nb-key.nb-some"])
    assert play["y"] <= 766  # and is 34 px high
    assert key is None or key["x"] >= 0
    page.evaluate("document.querySelector('.nb-player').focus()")
    page.keyboard.press("Home")
    assert page.evaluate(SEEN)["low"] <= 800


@pytest.mark.parametrize(
    ("name", "most"), [("first_seed", 48), ("folded_loop", 80), ("second_seed", 95), ("blocks", 110)]
)
def test_the_strip_is_low_in_a_narrow_page(open_page: Any, name: str, most: int) -> None:
    """Check that the controls of the pass are below the equation if that makes the strip lower."""
    page = open_page(LARGER[name], viewport={"width": 800, "height": 700})
    page.evaluate("document.querySelector('.nb-player').focus()")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(BOXES, [".nb-strip"])[0]["height"] <= most


@pytest.mark.parametrize("width", [400, 800, 1280])
def test_nothing_lies_over_the_play_button(open_page: Any, width: int) -> None:
    page = open_page(encoder, viewport={"width": width, "height": 800})
    play, key = page.evaluate(BOXES, [".nb-play", ".nb-key"])
    assert play["y"] + play["height"] <= key["y"]


def test_the_key_of_colors_is_below_the_tabs_of_passes_on_a_telephone(open_page: Any) -> None:
    page = open_page(PROGRAMS["used_four_times"], viewport={"width": 400, "height": 800})
    tabs, key = page.evaluate(BOXES, [".nb-passes", ".nb-key"])
    assert tabs["y"] + tabs["height"] <= key["y"]


@pytest.mark.parametrize("make, most", [(blocks, 17), (encoder, 6)])
def test_a_pass_is_played_on_the_level_that_is_seen(open_page: Any, make: Any, most: int) -> None:
    page = open_page(make, viewport={"width": 1280, "height": 800})
    drawn = page.locator(".nb-op").count()
    steps = int(page.locator(".nb-slider").get_attribute("max"))
    assert drawn <= steps <= most
    expect(page.locator(".nb-leaf")).to_have_count(0)  # each parameter is in its layer
    view = page.locator(".nb-stage > svg").get_attribute("viewBox")
    page.press(".nb-player", "Home")
    for _ in range(steps):
        page.press(".nb-player", "ArrowRight")
        expect(page.locator(".nb-op.nb-active, .nb-output.nb-active")).not_to_have_count(0)
        assert page.locator(".nb-stage > svg").get_attribute("viewBox").split()[2:] == view.split()[2:]
    expect(page.locator(".nb-player")).to_have_attribute("data-step", str(steps))
    assert page.troubles == []


def test_levels_open_one_after_the_other(open_page: Any) -> None:
    page = open_page(encoder, viewport={"width": 1280, "height": 800})
    drawn = page.locator(".nb-node").count()
    page.press(".nb-player", "+")
    expect(page.locator(".nb-caption")).to_contain_text("+ opens one more")
    nearer = page.locator(".nb-node").count()
    page.press(".nb-player", "-")
    expect(page.locator(".nb-node")).to_have_count(drawn)
    assert drawn < nearer
    page.press(".nb-player", "r")
    assert page.locator(".nb-node").count() > nearer
    expect(page.locator(".nb-openable")).to_have_count(0)


def test_the_first_view_is_drawn_once(new_page: Any, tmp_path: Path) -> None:
    """Check that the level without folds is not drawn first where it is not seen."""
    page = new_page(own=True, viewport={"width": 1280, "height": 800})
    page.add_init_script("""
        window.drawn = 0;
        const append = Element.prototype.replaceChildren;
        Element.prototype.replaceChildren = function (...parts) {
            if (this.className === "nb-stage") window.drawn += 1;
            return append.apply(this, parts);
        };""")
    page.goto(blocks().save(tmp_path / "page.html").as_uri())
    expect(page.locator(".nb-node")).not_to_have_count(0)
    wait_for_layout(page)
    assert page.evaluate("window.drawn") == 1


def test_a_box_is_entered_and_left(open_page: Any) -> None:
    page = open_page(blocks, viewport={"width": 1280, "height": 800})
    page.press(".nb-player", "Home")
    for _ in range(6):
        page.press(".nb-player", "ArrowRight")
    expect(page.locator(".nb-group.nb-active")).to_have_count(1)
    drawn = page.locator(".nb-node").count()
    page.press(".nb-player", "ArrowDown")
    expect(page.locator(".nb-closer")).to_have_count(1)
    expect(page.locator(".nb-op.nb-active")).to_have_count(1)  # the first operation of the pass inside the box
    page.press(".nb-player", "ArrowUp")
    expect(page.locator(".nb-closer")).to_have_count(0)
    expect(page.locator(".nb-node")).to_have_count(drawn)
    assert page.troubles == []


def test_the_dots_are_the_steps(open_page: Any) -> None:
    page = open_page(recording())
    expect(page.locator(".nb-tick:not(.nb-before)")).to_have_count(6)
    expect(page.locator(".nb-flag-accumulate")).to_have_count(2)
