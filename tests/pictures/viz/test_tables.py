"""Test tables of leaves: the change since the last look, and zeroing."""

from __future__ import annotations

import base64
import gc
import re

import numpy as np
import pytest

import nbautograd as nb
from nbautograd import protocol, viz
from nbautograd.viz.notebook import tables
from tests import needs


def leaf(*values: float) -> nb.Tensor:
    return nb.tensor(list(values), requires_grad=True)


def test_before_added_now() -> None:
    w = leaf(1.0, 2.0)
    names = {"w": w}
    assert viz.grads(namespace=names).rows == (("w", "f32 (2,)", "None", "–", "None", "0", "–"),)
    (w * 2).sum().backward()
    assert viz.grads(namespace=names).rows[0][2:6] == ("None", "[2., 2.]", "[2., 2.]", "–")
    (w * 3).sum().backward()
    assert viz.grads(namespace=names).rows[0][2:5] == ("[2., 2.]", "[3., 3.]", "[5., 5.]")
    assert viz.grads(namespace=names).rows[0][3:] == ("0.", "[5., 5.]", "–", "7.07")


def test_passes_are_counted_where_they_are_watched() -> None:
    w = leaf(1.0)
    with protocol.observe(tables.watch):
        for _ in range(3):
            (w * 2).backward()
    assert viz.grads(w, namespace={"w": w}).rows[0][5] == "3"
    viz.zero_grads(w, namespace={"w": w})
    assert viz.grads(w, namespace={"w": w}).rows[0][5] == "0"


def test_zero_grads() -> None:
    w, x = leaf(1.0), leaf(2.0)
    names = {"w": w, "x": x}
    (w * 2).backward()
    table = viz.zero_grads(namespace=names)
    assert table.rows == (("w", "2.", "None", "set to None"), ("x", "None", "None", "had none"))
    assert w.grad is None
    (w * 2).backward()
    assert viz.zero_grads(w, set_to_none=False, namespace=names).rows == (("w", "2.", "0.", "zeroed now"),)
    assert w.grad.item() == 0


def test_leaves_of_a_result_of_lists_and_of_nothing() -> None:
    w, x, unused = leaf(1.0), leaf(2.0), leaf(3.0)
    names = {"w": w, "x": x, "unused": unused, "params": [leaf(4.0), leaf(5.0)], "_hidden": leaf(6.0), "same": w}
    assert [row[0] for row in viz.grads(w * x, namespace={"w": w, "x": x}).rows] == ["w", "x"]
    assert [row[0] for row in viz.grads(namespace=names).rows] == ["w", "x", "unused", "params[0]", "params[1]"]
    empty = viz.grads(namespace={"n": 3, "t": nb.ones(2)})
    assert len(empty) == 0 and repr(empty) == "no tensor with requires_grad=True here"
    with pytest.raises(TypeError, match="grads needs tensors, but was given int"):
        viz.grads(5)


def test_pytorch_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = needs.package("torch")
    monkeypatch.setattr(tables.watch, "counts", True)
    w = torch.tensor([1.0], requires_grad=True)
    (w * 5).backward()
    assert viz.grads(w, namespace={"w": w}).rows[0][2:6] == ("None", "5.", "5.", "–")  # its passes are not observed


def test_nothing_is_kept_alive_and_ids_may_be_used_again() -> None:
    watch = tables.Watch()
    for _ in range(50):
        watch.of(leaf(1.0))
    gc.collect()
    assert len(watch._seen) == 0


def test_large_gradients_are_not_kept() -> None:
    w = nb.zeros(5000, requires_grad=True)
    (w * 2).sum().backward()
    viz.grads(w, namespace={"w": w})
    (w * 2).sum().backward()
    row = viz.grads(w, namespace={"w": w}).rows[0]
    assert row[3] == "…"


def test_html_is_escaped_and_text_is_aligned() -> None:
    table = tables.Table("<b>t</b>", ("<i>", "变量"), (("<script>", "权重"), ("x", "y")))
    html = table._repr_html_()
    assert "<script" not in html and "&lt;script&gt;" in html and "<b>" not in html
    assert repr(table).splitlines()[1] == "<i>       变量"


def test_what_cannot_be_read_is_said() -> None:
    class Bad:
        @property
        def shape(self) -> tuple[int, ...]:
            raise ValueError("no")

    assert tables.norm_text(Bad()).startswith("<")
    assert tables.norm_text(np.float32([np.nan])) == "nan"


def test_long_names_that_begin_alike_are_all_there() -> None:
    start = "model_of_the_transformer.encoder.layers.0."
    names = {f"{start}{name}": leaf(float(i)) for i, name in enumerate(("self_attn.in_proj_weight", "norm1.bias"))}
    names |= {"a" * 300 + "x": leaf(3.0), "a" * 300 + "y": leaf(4.0)}
    result = sum((w * 2 for w in names.values()), nb.zeros(()))
    result.backward()
    rows = viz.grads(namespace=names).rows
    assert len(rows) == len(viz.grads(result, namespace=names)) == 4
    assert rows[0][0].endswith("…self_attn.in_proj_weight") and rows[1][0].endswith("…oder.layers.0.norm1.bias")
    assert all(len(row[0]) <= 40 for row in rows)
    assert len(viz.zero_grads(namespace=names)) == 4 and all(w.grad is None for w in names.values())


def tiles_in(html: str) -> list[str]:
    """The drawings of a table."""
    return [base64.b64decode(data).decode() for data in re.findall(r'src="data:image/svg[^,]*,([^"]*)"', html)]


def test_gradients_are_tiles_on_one_scale_with_bars() -> None:
    w, x, unused = nb.tensor([[1.0, -2.0], [3.0, 4.0]], requires_grad=True), leaf(2.0), leaf(1.0, 1.0)
    names = {"w": w, "x": x, "unused": unused}
    (w * w * x).sum().backward()
    html = viz.grads(namespace=names)._repr_html_()
    key, now, *bars = tiles_in(html)
    assert "−16" in key and ">16<" in key  # 2 · 4 · 2, the largest size drawn as a tile
    assert re.findall(r">([^<>]+)</text>", now) == ["4", "−8", "12", "16"]
    assert len(bars) == 2 and "all of it" in html and ">30.</td>" in html
    (w * w * x).sum().backward()
    html = viz.grads(namespace=names)._repr_html_()
    assert len(tiles_in(html)) == 5 and "all of it" not in html
    assert html.count('<th scope="col">') == 6 and "passes" in html


def test_many_leaves_are_cut_with_a_note_and_those_with_a_gradient_come_first() -> None:
    names = {f"w{i}": leaf(float(i)) for i in range(100)}
    names["w77"].sum().backward()
    table = viz.grads(namespace=names)
    assert len(table) == 40 and table.rows[0][0] == "w77" and table.rows[1][0] == "w0"
    assert repr(table).splitlines()[-1].startswith("… and 60 more: name") and "… and 60 more" in table._repr_html_()
    assert "… and 60 more" in repr(viz.zero_grads(namespace=names)) and names["w77"].grad is None


def test_names_in_the_table_of_gradients_are_text() -> None:
    w = leaf(1.0, 2.0)
    w.sum().backward()
    assert "<img src=x" not in viz.grads(namespace={"<img src=x>": w})._repr_html_()
