"""Pictures of errors: how it came about, what can be done, and the user's lines alone."""

from __future__ import annotations

import re
from contextlib import nullcontext
from typing import Any

import pytest
from playwright.sync_api import expect

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


def written(T: Any, recorded: bool = True) -> dict[str, Any]:
    w = T.tensor([1.0, 2.0], requires_grad=True)
    h = w.exp()
    y = h * h
    with nullcontext() if recorded else T.no_grad():
        h.add_(1)  # too late
    return {"w": w, "h": h, "y": y, "s": y.sum()}


def test_an_in_place_write_is_told_in_three_steps() -> None:
    with tracing.traced():
        names = written(nb)
    frame, animation = failure(nb, names["s"], **names)
    assert frame.kind == "error" and animation.start == len(animation.timeline.frames)
    saved, changed, needed = frame.story
    assert saved[:2] == ("saved here", "MulBackward0 saved h, version 0: [2.7183, 7.3891]")
    assert changed[1] == "h.add_(1) wrote to it: version 1: [3.7183, 8.3891]"
    assert "test_failures.py, line" in saved[2] and "test_failures.py, line" in changed[2]
    assert needed[1] == "the formula of MulBackward0 needs h as it was: version 0"
    assert frame.alarms[0] == "Either make a new tensor: h = h + 1 instead of h += 1"


def test_an_in_place_write_to_pytorchs_tensors() -> None:
    torch = needs.package("torch")
    names = written(torch)
    frame, _ = failure(torch, names["s"], **names)
    assert [part[0] for part in frame.story] == ["saved here", "changed here", "needed here"]
    assert "version 0" in frame.story[0][1] and "version 1" in frame.story[1][1]


@pytest.mark.parametrize("library", ["nbautograd", "torch"])
@pytest.mark.parametrize(("traced", "recorded"), [(True, True), (True, False), (False, False)])
def test_a_value_is_of_the_version_that_it_names(library: str, traced: bool, recorded: bool) -> None:
    T = needs.package(library)
    with tracing.traced(traced), viz.watch() if traced else nullcontext():
        names = written(T, recorded)
    frame, animation = failure(T, names["s"], **names)
    (h,) = [node for node in animation.scenes[0].nodes if node.name in ("h", "t1")]
    if traced:
        assert (h.version, h.now, h.value) == (0, 1, "[2.7183, 7.3891]")
        assert "version 0, now 1" in animation.text and ">f32 (2,) v0<" in animation.svg
        assert frame.changed == ("test_failures.py", written.__code__.co_firstlineno + 5)
    else:
        assert (h.version, h.now, h.value) == (1, 0, "[3.7183, 8.3891]")


@pytest.mark.parametrize("library", ["nbautograd", "torch"])
def test_versions_of_a_chain_of_writes(library: str) -> None:
    T = needs.package(library)
    with tracing.traced(), viz.watch():
        w = T.tensor([1.0, 2.0], requires_grad=True)
        h = w.exp()
        h.mul_(2)
        y = h.sum()
    model = build(y, {"w": w, "h": h, "y": y})
    assert [(n.name, n.version, n.now) for n in model.nodes if n.name == "h"] == [("h", 1, 0), ("h", 0, 1)]


@pytest.mark.parametrize("library", ["nbautograd", "torch"])
def test_the_still_of_a_failed_pass_shows_its_cause_and_cure(library: str, tmp_path: Any) -> None:
    T = needs.package(library)
    with tracing.traced(), viz.watch():
        names = written(T)
    _, animation = failure(T, names["s"], **names)
    shown = animation.static_html()
    visible = re.sub("<details>.*?</details>", "", shown, flags=re.DOTALL)
    for text in (visible, animation.text):
        for told in ("The pass ended early at MulBackward0", "changed here", "version 1: [3.7183, 8.3891]", "line",
                     "Either make a new tensor: h = h + 1 instead of h += 1", "h.clone()"):  # fmt: skip
            assert told in text
    assert "arriving this pass" not in shown and "ended early" in animation.label  # nothing has come to a leaf
    assert (
        animation.timeline.frames[-1].caption.count(". ") >= 1
        and "; changed here: " in animation.timeline.frames[-1].caption
    )
    assert "ended early" in animation.save(tmp_path / "page.html").read_text("utf-8")


def test_the_still_of_a_vector_says_which_v() -> None:
    w = nb.tensor([1.0, 2.0], requires_grad=True)
    _, animation = failure(nb, w * 2, w=w)
    assert "<li>Either make it a scalar" in animation.static_html() and "- Either make it a scalar" in animation.text


def test_the_still_escapes_what_it_tells() -> None:
    with tracing.traced():
        names = written(nb)
    _, animation = failure(nb, names["s"], **{"<img src=x>": names["h"], "s": names["s"]})
    assert "<img src=x>" not in animation.static_html() and "&lt;img src=x&gt;" in animation.static_html()


def test_the_culprit_stands_out(open_page: Any) -> None:
    with tracing.traced():
        names = written(nb)
    _, animation = failure(nb, names["s"], **names)
    page = open_page(animation)
    expect(page.locator(".nb-story .nb-bad")).to_contain_text("changed here")
    expect(page.locator(".nb-code .nb-changed")).to_have_text("        h.add_(1)  # too late")
    expect(page.locator(".nb-code .nb-lit")).to_have_text("    y = h * h")
    assert page.troubles == []


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


def test_a_saved_value_whose_tensor_is_gone_has_its_values() -> None:
    def scaled(w: Any) -> Any:
        t = w * 2
        s = t**2
        with nb.no_grad():
            t -= 1
        return s.sum()

    w = nb.tensor([1.0, 2.0], requires_grad=True)
    with tracing.traced():
        y = scaled(w)
    frame, _ = failure(nb, y, w=w, y=y)
    assert (
        frame.story[0][1].endswith("version 0: [2., 4.]")
        and frame.story[1][1] == "t -= 1 wrote to it: version 1: [1., 3.]"
    )
