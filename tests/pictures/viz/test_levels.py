"""Model, layer, operation: groups of untraced graphs are the modules whose parameters are used, also PyTorch's."""

from __future__ import annotations

import linecache
import re
from typing import Any

import pytest

import nbautograd as nb
from nbautograd import viz
from nbautograd.viz.draw.boxes import about_text, name_text
from nbautograd.viz.read import levels
from nbautograd.viz.read.builder import build
from nbautograd.viz.read.model import GraphModel, Node
from tests import needs
from tests.waiting import wait_in_page

from .player_pages import long_pass

torch = needs.package("torch")
LIBRARIES = pytest.mark.parametrize("T", [nb, torch], ids=["ours", "torch"])


def groups_of(model: GraphModel) -> list[tuple[str, str, int]]:
    return [(n.symbol, n.name.split(":")[0], n.members) for n in model.nodes if n.kind == "group"]


def transformer(T: Any) -> tuple[Any, Any]:
    T.manual_seed(0)
    model = T.nn.Transformer(8, 2, 2, 2, 16, dropout=0.0, batch_first=True)
    x = T.randn(1, 3, 8)
    return model, model(x, x).pow(2).mean()


@LIBRARIES
def test_a_transformer_is_its_encoder_and_decoder(T: Any) -> None:
    model, loss = transformer(T)
    picture = viz.graph(loss, namespace={"model": model, "loss": loss})
    symbols = [(symbol, owner) for symbol, owner, _ in groups_of(picture.model)]
    assert symbols == [("TransformerDecoder", "model.decoder"), ("TransformerEncoder", "model.encoder")]
    inside = [(n.name.split(":")[0], n.parameters) for n in picture.model.nodes if n.kind == "group"]
    assert inside == [("model.decoder", 38), ("model.encoder", 26)]
    assert not [n for n in picture.model.nodes if n.kind in ("leaf", "pile")]
    assert "38 parameters" in picture.svg and "26 parameters" in picture.text


@LIBRARIES
def test_levels_open_one_after_the_other(T: Any) -> None:
    model, loss = transformer(T)
    namespace = {"model": model, "loss": loss}
    layers = viz.graph(loss, namespace=namespace, opened=["TransformerEncoder"]).model
    inside = [owner for symbol, owner, _ in groups_of(layers) if symbol == "TransformerEncoderLayer"]
    assert sorted(inside) == ["model.encoder.layers.0", "model.encoder.layers.1"] or not inside
    whole = layers.tree
    labels = {segment.label for segment in whole.inner()}
    assert {"Transformer", "TransformerEncoder", "TransformerEncoderLayer", "MultiheadAttention"} <= labels


@LIBRARIES
def test_several_operations_that_arrange_axes_belong_to_the_module_that_follows(T: Any) -> None:
    T.manual_seed(0)
    layer = T.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
    model = T.nn.TransformerEncoder(layer, 2)
    loss = model(T.randn(1, 3, 4)).pow(2).mean()
    recording = viz.animate(loss, namespace={"model": model, "loss": loss})
    layers = [view for view in recording.levels(0).values()
              if [group[0] for group in groups_of(view)].count("TransformerEncoderLayer") == 2]  # fmt: skip
    assert layers and all(
        [node.name for node in view.nodes if node.kind == "op"] == ["MeanBackward0", "PowBackward0"] for view in layers
    )


def test_what_runs_between_two_modules_belongs_to_the_one_that_has_both() -> None:
    class Block(torch.nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)

        def forward(self, x: Any) -> Any:
            return self.second(self.first(x).relu()) + x

    net = torch.nn.Sequential(Block(), Block())
    loss = net(torch.randn(2, 3)).sum()
    picture = viz.graph(loss, namespace={"net": net, "loss": loss})
    assert [group[:2] for group in groups_of(picture.model)] == [("Block", "net.1"), ("Block", "net.0")]
    inside = {g.label: [picture.model.entire.by_id[m].name for m in g.members] for g in picture.model.groups}
    assert any("ReluBackward0" in names for names in inside.values())


def test_a_graph_without_modules_has_no_layers() -> None:
    w = torch.ones(3, requires_grad=True)
    loss = (w * 2).exp().sum()
    assert groups_of(viz.graph(loss, namespace={"w": w}).model) == []


def test_a_title_says_that_it_leaves_variables_out() -> None:
    ns: dict[str, Any] = {"x": nb.ones(4, requires_grad=True), "__name__": "a_cell"}
    code = "a, b, c, d = x + 1, x * 2, x - 3, x.exp()\ne, f, g, h, i = a + b, a * c, a - d, b + c, b * c\n"
    code += "j, k = (e + f + g + h + i).chunk(2)\nz, m = (k * k).max(0)\ny = z.exp() * j.sum()\n"
    linecache.cache["<titles>"] = len(code), None, code.splitlines(True), "<titles>"
    with viz.traced():
        exec(compile(code, "<titles>", "exec"), ns)
    titles = [node.symbol for node in levels.view(build(ns["y"], ns), 2).nodes if node.kind == "group"]
    assert titles == ["y", "z", "j, k", "e, …, h, i", "a, b, c, d"]


def test_a_long_name_keeps_its_end() -> None:
    path = "model.decoder.layers.0.self_attn.out_proj"
    nodes = [Node("n0", "leaf", f"{path}.{end}", dtype="f32", shape="(8, 8)") for end in ("weight", "bias")]
    names = [name_text(node, about_text(node)) for node in nodes]
    assert names[0].startswith("…") and names[0].endswith("out_proj.weight") and names[1].endswith("out_proj.bias")


@pytest.mark.browser
@needs.chromium
def test_keys_and_double_clicks_change_the_level(open_page: Any) -> None:
    from playwright.sync_api import expect

    page = open_page(long_pass(10))
    page.focus(".nb-player")
    page.keyboard.press(">")
    expect(page.locator(".nb-closer")).to_have_count(1)
    page.keyboard.press(">")  # steps are groups as well
    expect(page.locator(".nb-closer")).to_have_count(1)  # without a kernel, one group is open at a time
    page.keyboard.press("<")
    expect(page.locator(".nb-closer")).to_have_count(0)
    page.keyboard.press(">")
    wait_in_page(page, 600)  # by then, a second click is not a double click
    page.locator(".nb-group .nb-symbol").nth(2).wait_for()
    expect(page.locator(".nb-closer")).to_have_attribute("aria-label", re.compile("^Close ×8"))
    page.click(".nb-closer")
    expect(page.locator(".nb-closer")).to_have_count(0)
    assert page.troubles == []


@pytest.mark.browser
@needs.chromium
def test_a_double_click_on_a_node_closes_its_layer(open_page: Any) -> None:
    from playwright.sync_api import expect

    torch.manual_seed(0)
    net = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh()) for _ in range(3)])
    loss = net(torch.randn(1, 2)).sum()
    page = open_page(viz.graph(loss, namespace={"net": net, "loss": loss}))
    groups = page.locator(".nb-openable")
    closed = groups.count()
    assert closed == 3
    groups.first.locator(".nb-symbol").click()
    expect(page.locator(".nb-closer")).to_have_count(1)
    wait_in_page(page, 600)  # by then, a second click is not a double click
    inside = page.locator(".nb-op:not(.nb-group)", has=page.get_by_text("x @ w + b", exact=True)).first
    inside.locator(".nb-symbol").dblclick()
    expect(page.locator(".nb-closer")).to_have_count(0)
    expect(groups).to_have_count(closed)
    assert page.troubles == []
