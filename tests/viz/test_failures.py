"""Pictures of errors: how it came about, what can be done, and the user's lines alone."""

from __future__ import annotations

from typing import Any

import pytest

import nbautograd as nb
from nbautograd import viz
from nbautograd.core import tracing
from nbautograd.viz.capture.timeline import Frame
from nbautograd.viz.read.builder import build
from tests import needs


def failure(T: Any, root: Any, **names: Any) -> tuple[Frame, Any]:
    with pytest.raises(RuntimeError) as caught:
        viz.animate(root, namespace=names)
    animation = caught.value.animation  # type: ignore[attr-defined]
    return animation.timeline.frames[-1], animation


def written(T: Any) -> dict[str, Any]:
    w = T.tensor([1.0, 2.0], requires_grad=True)
    h = w.exp()
    y = h * h
    h.add_(1)
    return {"w": w, "h": h, "y": y, "s": y.sum()}


def test_an_in_place_write_is_told_in_three_steps() -> None:
    with tracing.traced():
        names = written(nb)
    frame, animation = failure(nb, names["s"], **names)
    assert frame.kind == "error" and animation.start == len(animation.timeline.frames)
    saved, changed, needed = frame.story
    assert saved[:2] == ("saved here", "MulBackward0 saved h, version 0") and "test_failures.py, line" in saved[2]
    assert changed[1] == "h.add_(1) wrote to it: version 1" and "test_failures.py, line" in changed[2]
    assert needed[1] == "the formula of MulBackward0 needs h as it was: version 0"
    assert frame.alarms[0] == "Either make a new tensor: h = h + 1 instead of h += 1"


def test_an_in_place_write_to_pytorchs_tensors() -> None:
    torch = needs.package("torch")
    names = written(torch)
    frame, _ = failure(torch, names["s"], **names)
    assert [part[0] for part in frame.story] == ["saved here", "changed here", "needed here"]
    assert "version 0" in frame.story[0][1] and "version 1" in frame.story[1][1]


@pytest.mark.parametrize("library", ["nbautograd", "torch"])
def test_a_vector_shows_the_jacobian_without_numbers(library: str) -> None:
    T = needs.package(library)
    w = T.tensor([1.0, 2.0], requires_grad=True)
    y = w * 2
    frame, _ = failure(T, y, w=w, y=y)
    (product,) = frame.products
    assert product.v == ("v₀?", "v₁?") and product.result == ("?", "?")
    assert product.matrix == (("∂y₀/∂w₀", "∂y₀/∂w₁"), ("∂y₁/∂w₀", "∂y₁/∂w₁"))
    assert "y.sum().backward()" in frame.alarms[1] and "shape (2,)" in frame.alarms[2]
    assert w.grad is None


def test_a_large_vector_has_no_matrix() -> None:
    w = nb.ones(100, requires_grad=True)
    frame, _ = failure(nb, w * 2, w=w)
    assert frame.products == () and "100 elements" in frame.alarms[0]


@pytest.mark.parametrize("library", ["nbautograd", "torch"])
def test_a_tensor_without_a_graph(library: str) -> None:
    T = needs.package(library)
    y = (T.tensor([1.0, 2.0]) * 2).sum()
    frame, animation = failure(T, y, y=y)
    assert "y has no graph" in frame.alarms[0] and "requires_grad=True" in frame.alarms[1]
    assert "<svg" in animation.svg


def test_a_detached_tensor_says_from_what() -> None:
    with tracing.traced():
        w = nb.tensor([1.0, 2.0], requires_grad=True)
        h = w * 2
        d = h.detach()
        y = (h * d).sum()
    model = build(y, {"w": w, "h": h, "d": d, "y": y})
    (constant,) = [node for node in model.nodes if node.kind == "constant" and node.name == "d"]
    assert constant.view_of == "h" and "from which it was detached" in constant.notes[0]
