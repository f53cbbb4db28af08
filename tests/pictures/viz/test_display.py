"""Check the display of a tensor: its card, heat maps, and that its text is never changed.
The monitor of a training loop.
"""

from __future__ import annotations

import base64
import gzip
import json
import math
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import ipywidgets
import numpy as np
import pytest

import nbautograd as nb
from nbautograd import viz
from nbautograd._engine.core import tracing
from nbautograd.viz.draw import theme
from nbautograd.viz.draw.tensor_card import card_svg, heat_cells
from nbautograd.viz.notebook import scripts
from nbautograd.viz.notebook.display import TensorFormatter
from nbautograd.viz.notebook.monitor import Monitor
from tests import needs


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before = viz.settings.tensors, viz.settings.theme
    yield
    viz.settings.tensors, viz.settings.theme = before


def texts(svg: str) -> list[str]:
    root = ElementTree.fromstring(svg)
    return [e.text or "" for e in root.iter("{http://www.w3.org/2000/svg}text")]


def test_a_card_has_the_numbers() -> None:
    svg = card_svg(nb.tensor([[1.0, 2.0], [3.0, 6.0]]), "A")
    assert texts(svg) == ["A f32 (2, 2)", "min 1 · mean 3 · max 6", "requires_grad=False"]
    assert len(re.findall(r'width="21" height="21"', svg)) == 4
    assert svg == card_svg(nb.tensor([[1.0, 2.0], [3.0, 6.0]]), "A")


def test_the_cells_of_a_small_tensor_are_large() -> None:
    assert 'width="21"' in card_svg(nb.ones(2, 3))
    assert 'width="8"' in card_svg(nb.ones(2, 30)) and 'width="8"' in card_svg(nb.ones(300, 300))


def test_a_card_has_the_grad_beside() -> None:
    w = nb.tensor([1.0, 2.0], requires_grad=True)
    assert ".grad is None" in texts(card_svg(w))
    (w * w).sum().backward()
    svg = card_svg(w, "w")
    assert ".grad: min 2 · mean 3 · max 4" in texts(svg)
    assert len(re.findall(r'width="21" height="21"', svg)) == 4


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (nb.tensor([1.0, math.nan, math.inf]), "min 1 · mean 1 · max 1 · 1 NaN · 1 Inf"),
        (nb.tensor([math.nan]), "1 NaN"),
        (nb.zeros(0, 3), "no elements"),
        (nb.tensor(5), "min 5 · mean 5 · max 5"),
        (nb.tensor([True, False]), "min 0 · mean 0.5 · max 1"),
        (nb.zeros(40, 50, 3), "min 0 · mean 0 · max 0"),
    ],
)
def test_cards_of_odd_tensors(value: Any, said: str) -> None:
    assert said in texts(card_svg(value))


def test_complex_and_hostile() -> None:
    ElementTree.fromstring(card_svg(nb.tensor([1 + 2j, 3j])))
    svg = card_svg(nb.tensor([1.0]), '<script>alert(1)</script>"')
    ElementTree.fromstring(svg)
    assert "<script" not in svg


class Broken:
    """Raises on every access."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("broken")

    def __repr__(self) -> str:
        raise RuntimeError("broken")


def test_what_raises_still_gets_a_card() -> None:
    texts = [*ElementTree.fromstring(card_svg(Broken())).itertext()]
    assert "<RuntimeError>" in texts


def test_heat_cells_are_means() -> None:
    cells, each = heat_cells(np.arange(64.0).reshape(1, 64))
    assert cells.shape == (1, 32) and each == 2
    assert cells[0, :2].tolist() == [0.5, 2.5]
    cells, _ = heat_cells(np.ones((17, 33)))
    assert cells.shape == (9, 17) and (cells == 1).all()


def shell(**names: Any) -> Any:
    return SimpleNamespace(user_ns=names)


def test_modes_of_display() -> None:
    w = nb.tensor([1.0, 2.0], requires_grad=True)
    y = w * w
    formatter = TensorFormatter(shell(w=w, y=y)).html
    assert formatter(w) is None and "<img" in formatter(y)
    viz.settings.tensors = "text"
    assert formatter(y) is None
    viz.settings.tensors = "card"
    assert formatter(w).count("<img") == 1
    assert formatter(y).count("<img") == 2  # the card, and the graph as a thumbnail
    assert repr(y) in formatter(y).replace("&lt;", "<").replace("&gt;", ">")


# -- the monitor -----------------------------------------------------------------------------------------------------


def train(steps: int, **options: Any) -> Monitor:
    w = nb.tensor(3.0, requires_grad=True)
    with viz.monitor(w, namespace={"w": w}, **options) as watch:
        for _ in range(steps):
            loss = w * w
            w.grad = None
            loss.backward()
            watch(loss)
            w.data -= 0.1 * w.grad
    return watch


def test_a_still_picture_follows_the_notebooks_theme() -> None:
    html = train(3)._repr_mimebundle_()["text/html"]
    data = base64.b64decode(re.search(r"base64,([^\"]+)", html)[1]).decode()
    assert theme.STILL in html and theme.STILL in theme.FOLLOWS and theme.FOLLOWS in scripts.player_css()
    assert "@media (prefers-color-scheme:dark)" in data
    ElementTree.fromstring(data)
    viz.settings.theme = "light"
    assert theme.STILL not in train(3)._repr_mimebundle_()["text/html"]


def test_a_monitor_draws_the_same_on_every_run() -> None:
    one, two = train(30), train(30)
    assert one.svg == two.svg and repr(one) == repr(two)
    ElementTree.fromstring(one.svg)
    assert repr(one).splitlines()[0].startswith("training: step 30, loss")
    assert set(one._repr_mimebundle_()) == {"text/plain", "text/html"}


def test_every_and_long_loops() -> None:
    watch = train(25, every=10)
    assert watch.steps == [1, 11, 21]
    long = Monitor({})
    for i in range(5000):
        long(float(i))
    assert len(long.svg) < 12_000


def test_numbers_that_are_not_finite_are_marked() -> None:
    watch = Monitor({})
    for value in (1.0, 0.5, math.nan, math.inf, 0.25):
        watch(value)
    ElementTree.fromstring(watch.svg)
    assert watch.svg.count("l8 8m0 -8l-8 8") == 2


def test_bad_input_of_a_monitor() -> None:
    with pytest.raises(TypeError, match="monitor needs tensors, but was given str"):
        viz.monitor("w")
    with pytest.raises(ValueError, match="every must be at least 1, got 0"):
        viz.monitor(every=0, namespace={})
    with pytest.raises(TypeError, match=r"the loss must be one number, got Tensor \(2,\)"):
        Monitor({})(nb.ones(2))
    assert "no step yet" in repr(viz.monitor(namespace={}))
    ElementTree.fromstring(viz.monitor(namespace={}).svg)


def test_a_monitor_that_was_not_started_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    watch = viz.monitor(nb.ones(2, requires_grad=True), namespace={})
    for shown in (repr(watch), watch.svg):
        assert "with viz.monitor(net) as watch:" in shown and "watch(loss)" in shown
    root = ElementTree.fromstring(watch.svg)
    assert float(root.attrib["height"]) < 200 and "path" not in watch.svg
    monkeypatch.setattr(viz.settings, "embed", True)
    for page in (watch.html(), watch._repr_mimebundle_()["text/html"]):
        assert "mountLens" not in page and "<img" in page


def test_an_error_in_the_loop_leaves_the_picture() -> None:
    w = nb.tensor(3.0, requires_grad=True)
    watch = viz.monitor(w, namespace={"w": w})
    with pytest.raises(KeyboardInterrupt), watch:
        watch(1.0)
        raise KeyboardInterrupt
    assert watch.steps == [1]


# -- the widget ------------------------------------------------------------------------------------------------------


def loop(steps: int) -> viz.Picture:
    with tracing.traced():
        w = nb.tensor(0.5, requires_grad=True)
        h = w
        for _ in range(steps):
            h = nb.tanh(h * w)
    return viz.graph(h, namespace={"w": w, "h": h})


def test_what_is_clicked_is_known_in_python() -> None:
    needs.package("anywidget")
    picture = loop(2)
    assert picture.selected is None
    picture.widget.selected = picture.model.roots[0]
    assert picture.selected is not None and picture.selected.name == "h"
    assert picture.widget is picture.widget


def test_the_kernel_opens_what_the_page_does_not_hold() -> None:
    needs.package("anywidget")
    picture = loop(30)
    widget = picture.widget
    loops = [g.id for g in picture.view(0, ["L1"]).groups if g.closed and g.times]
    assert f"0:L1,{loops[0]}" in widget.views  # without a kernel
    steps = [group.id for group in picture.view(0, ["L1", loops[0]]).groups if group.closed]
    sent: list[Any] = []
    widget.send = sent.append
    key = f"0:L1,{loops[0]},{steps[0]}"
    for asked in (
        {"view": key},
        {"view": "7:fold"},
        {"view": ["0:fold"]},
        {"view": "x"},
        "0:fold",
        {"view": "0:" * 9999},
    ):
        picture._asked(widget, asked, [])
    (answer,) = sent  # nonsense gets no answer
    assert answer["view"] == key and steps[0] not in answer["scene"]["nodes"] and answer["svgs"][0].startswith("<svg")
    picture._asked(widget, {"view": "0:no such group"}, [])  # from another site's page: unchanged
    assert sent[1]["scene"]["nodes"].keys() == widget.timeline["scenes"][0]["nodes"].keys()


def test_the_views_of_a_folded_graph_are_made_once() -> None:
    """Also for a large folded graph: then nothing more can be folded, and it cannot be unfolded as a whole."""
    data = loop(150).data()
    drawn = {own for own, *_ in data["svgs"]}
    assert len(data["svgs"]) == len(drawn) == len(data["views"]) == len(data["timeline"]["scenes"])
    assert not any(key.endswith((":fold", ":open")) for key in data["views"]) and len(data["views"]) > 1


@pytest.mark.sweep
def test_ten_thousand_operations_are_shown_by_a_player() -> None:
    needs.package("anywidget")
    picture = loop(5000)
    assert picture.widget is not None and len(picture.widget.views) > 1
    assert "application/vnd.jupyter.widget-view+json" in dict(picture._repr_mimebundle_())


def test_too_much_for_jupyter_is_a_still_picture_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nbautograd.viz.notebook.figure.MAX_STATE_BYTES", 1000)
    bundle = loop(2)._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}
    assert bundle["text/html"].startswith("<p>Too large to play here")


def sent(shown: Any) -> int:
    """Return the bytes of a player: of its widget's state and of its output."""
    state = shown.widget.get_state()
    packed = sum(len(value) for value in state.values() if isinstance(value, bytes))
    return len(json.dumps([state, *shown.widget._repr_mimebundle_()], default=lambda _: 0)) + packed


def test_thirty_players_share_one_script() -> None:
    """A small player sends less than 23 kB with its output; shared data is sent once, in less than 120 kB."""
    needs.package("anywidget")
    widgets = []
    for value in range(30):
        w = nb.tensor([float(value)], requires_grad=True)
        shown = viz.animate((w + 2) * (w + 1), namespace={"w": w})
        assert sent(shown) < 23_000
        widgets.append(shown.widget)
    assert len({widget.shared for widget in widgets}) == 1
    packed, digest = scripts.packed("player", "en")
    assert {widget.digest for widget in widgets} == {digest} and widgets[0].packed == b""
    assert len(packed) < 120_000
    parts = json.loads(gzip.decompress(packed))
    assert "mount" in parts["script"] and ".nb-player" in parts["style"] and parts["texts"]["lang"] == "en"


def test_a_player_with_tiles_is_small() -> None:
    needs.package("anywidget")
    x = nb.ones(2, 2, requires_grad=True)
    y = x + 2
    z = y * y * 3
    out = z.mean()
    shown = viz.animate(out, namespace={"x": x, "y": y, "z": z, "out": out})
    assert sent(shown) < 40_000


def test_a_change_of_what_a_player_shows_is_sent() -> None:
    needs.package("anywidget")
    widget = viz.animate(nb.ones(1, requires_grad=True) * 2).widget
    before = widget.data
    assert not {"svgs", "timeline", "label", "program"} & {*widget.get_state()}  # all in the data
    widget.label = "another"
    assert json.loads(gzip.decompress(widget.data)) == json.loads(gzip.decompress(before)) | {
        "label": "another",
        "program": [],
    }


def test_widgets_get_a_new_script_after_all_were_closed() -> None:
    first = viz.animate(nb.ones(1, requires_grad=True) * 2).widget
    ipywidgets.Widget.close_all()
    second = viz.animate(nb.ones(1, requires_grad=True) * 2).widget
    assert first.shared != second.shared and first.digest == second.digest


def test_no_widget_where_none_is_wanted() -> None:
    viz.settings.widget = False
    try:
        assert set(loop(2)._repr_mimebundle_()) == {"text/plain", "text/html"}
    finally:
        viz.settings.widget = True


# -- a real kernel ---------------------------------------------------------------------------------------------------

CELLS = [
    "import nbautograd as torch\nfrom nbautograd import viz\n%load_ext nbautograd",
    "w = torch.tensor([1.], requires_grad=True)\nx = torch.tensor([2.], requires_grad=True)\ny = (w + x) * w\n%graph y",
    "%backward --retain-graph y",
    "y.backward()\n%grads",
    "%%autograd\nfor i in range(2):\n    l = (w * x).sum()\n    l.backward()\nc = w * 5\nc * 2",
    "%zero_grads",
    "with viz.monitor(w, x) as watch:\n    for i in range(20):\n        loss = (w * x - 6) ** 2\n"
    "        %zero_grads w, x\n"
    "        loss.backward()\n        watch(loss)\n        w.data -= 0.05 * w.grad",
    "%autograd --tensors card --language 中文\nw",
    "w * 3",
    "try:\n    %backward y\nexcept RuntimeError as e:\n    print(type(e).__name__)",
]


def outputs() -> list[list[Any]]:
    """Return the outputs of a notebook of these cells, without the parts that differ between widgets."""
    nbformat, nbclient = needs.package("nbformat"), needs.package("nbclient")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    view = "application/vnd.jupyter.widget-view+json"
    return [
        [(o.output_type, o.get("text"), o.get("data") and {**o.data, view: view in o.data}) for o in cell.outputs]
        for cell in notebook.cells
    ]


@pytest.mark.sweep
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::RuntimeWarning")
def test_a_notebook_that_nbconvert_runs_is_exported_with_its_pictures() -> None:
    """No widget, whose state would make nbconvert prefer scripts from the network."""
    nbformat, nbclient = needs.package("nbformat"), needs.package("nbclient")
    nbconvert = needs.package("nbconvert")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS[:3]])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    assert "widgets" not in notebook.metadata
    page, _ = nbconvert.HTMLExporter().from_notebook_node(notebook)
    assert page.count('<img alt="y → ') == 2 and "widget-view" not in page


@pytest.mark.sweep
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::RuntimeWarning")
def test_a_notebook_shows_the_same_on_every_run() -> None:
    """nbval can test a notebook with players, tables, cards and a live monitor."""
    one, two = outputs(), outputs()
    assert one == two
    view = "application/vnd.jupyter.widget-view+json"
    assert [len(cell) for cell in one] == [0, 1, 1, 1, 3, 1, 1, 1, 1, 2]
    assert not one[1][0][2][view] and not one[2][0][2][view] and "data:image/svg+xml" in one[2][0][2]["text/html"]
    assert one[8][0][2]["text/plain"].startswith("tensor([") and one[8][0][2]["text/html"].count("<img") == 2
    assert one[9][1][1] == "GraphFreedError\n"
