"""Test pictures of errors: their story, their cures, and only the user's lines."""

from __future__ import annotations

import linecache
import re
from contextlib import nullcontext
from typing import Any

import pytest
from playwright.sync_api import expect

import nbautograd as nb
from nbautograd import errors, viz
from nbautograd._engine.core import tracing
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
    assert saved[:2] == ("saved here", "h, version 0: [2.7183, 7.3891]")
    assert changed[1] == "h.add_(1): version 1: [3.7183, 8.3891]"
    assert "test_failures.py, line" in saved[2] and "test_failures.py, line" in changed[2]
    assert needed[1] == "MulBackward0: version 0"
    assert frame.alarms[0] == "Either make a new tensor: `h = h.add(1)` instead of `h.add_(1)`"


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
    (h,) = [node for node in animation.scenes[0].nodes if node.name in ("h", "t1", "ExpBackward0") and node.value]
    if traced:
        assert (h.version, h.now, h.value) == (0, 1, "[2.7183, 7.3891]")
        assert "version 0, now 1" in animation.text and ">(2,) v0<" in animation.svg
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
                     "Either make a new tensor: `h = h.add(1)` instead of `h.add_(1)`", "h.clone()"):  # fmt: skip
            assert told in text
    assert "arriving this pass" not in shown and "ended early" in animation.label  # no gradient has reached a leaf
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


@pytest.mark.browser
@needs.chromium
def test_the_culprit_stands_out(open_page: Any) -> None:
    with tracing.traced():
        names = written(nb)
    _, animation = failure(nb, names["s"], **names)
    page = open_page(animation)
    expect(page.locator(".nb-story .nb-bad")).to_contain_text("changed here")
    expect(page.locator(".nb-code .nb-changed")).to_have_text("        h.add_(1)  # too late")
    expect(page.locator(".nb-code .nb-lit")).to_have_text("    y = h * h")
    # one thread: the modified tensor, its lines, the operation that needs it; then the code to write instead
    assert page.locator(".nb-node.nb-thread .nb-name").all_text_contents() == ["h"]
    assert page.locator(".nb-edge.nb-thread").count() == 2
    assert page.locator(".nb-op.nb-thread .nb-symbol").all_text_contents() == ["×"]
    page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    page.get_by_role("button", name="Copy this line").click()
    expect(page.locator(".nb-cure .nb-copy")).to_have_text("✓")
    assert page.evaluate("copied") == "h = h.add(1)"
    page.press(".nb-player", "ArrowLeft")
    expect(page.locator(".nb-thread")).to_have_count(0)
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
    assert "`viz.animate(root.sum(), namespace=names)` (v is all ones)" in frame.alarms[1]
    assert (
        "shape (2,): `v = torch.ones_like(root)`, then `viz.animate(root, namespace=names, gradient=v)`"
        in frame.alarms[2]
    )
    assert w.grad is None


def test_a_large_vector_has_no_matrix() -> None:
    w = nb.ones(100, requires_grad=True)
    frame, _ = failure(nb, w * 2, w=w)
    assert frame.products == () and "100 elements" in frame.alarms[0]


FIVE = {
    "forgot": ("x = torch.tensor([1., 2.])\ny = (x * 2).sum()", 1, "x = torch.tensor([1., 2.], requires_grad=True)"),
    "integers": (
        "x = torch.tensor([1, 2])\ny = (x * 2).sum()",
        1,
        "x = torch.tensor([1, 2], dtype=torch.float32, requires_grad=True)",
    ),
    "detached": (
        "w = torch.ones(2, requires_grad=True)\nh = (w * 2).detach()\ny = h.sum()",
        2,
        "h = w * 2",
    ),
    "no_grad": (
        "w = torch.ones(2, requires_grad=True)\nwith torch.no_grad():\n    y = (w * 2).sum()",
        3,
        "y = (w * 2).sum()",
    ),
    "unrecorded": (
        "x = torch.tensor(3., requires_grad=True)\nL = x ** 3\ny, = torch.autograd.grad(L, x)",
        3,
        "y, = torch.autograd.grad(L, x, create_graph=True)",
    ),
}
"""For each cause a program, the line at fault, and its replacement."""
WORDS = {
    "forgot": ("without requires_grad=True", "没有设置 requires_grad=True"),
    "integers": ("is a tensor of int64", "是 int64 张量"),
    "detached": ("was cut off from w by detach()", "被 detach() 从 w 切断"),
    "no_grad": ("was computed inside of no_grad()", "在 no_grad() 中计算"),
    "unrecorded": ("is a gradient", "是一个梯度"),
}


def run(source: str, T: Any, **more: Any) -> dict[str, Any]:
    """The variables of a program, whose text is known as that of a file is."""
    filename = f"<cause {abs(hash(source))}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    names: dict[str, Any] = {"torch": T, "viz": viz, "__name__": "a_program", **more}
    exec(compile(source, filename, "exec"), names)
    return names


@pytest.mark.parametrize("cause", FIVE)
@pytest.mark.parametrize("library", ["nbautograd", "torch"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_each_cause_of_a_missing_graph_has_its_own_text_and_picture(library: str, cause: str, language: str) -> None:
    T = needs.package(library)
    program, line, new = FIVE[cause]
    before = viz.settings.change(language=language)
    try:
        with pytest.raises(RuntimeError, match="does not require grad and does not have a grad_fn") as caught:
            run(f"{program}\nviz.animate(y, namespace=globals())", T)
    finally:
        viz.settings.change(**before)
    animation = caught.value.animation  # type: ignore[attr-defined]
    why, fix = animation.timeline.frames[-1].alarms
    assert WORDS[cause][language == "zh"] in why and (f"line {line}" if language == "en" else f"第 {line} 行") in why
    assert f"`{new}`" in fix
    boxes = {node.name for node in animation.scenes[0].nodes if node.kind != "op"}
    assert "y" in boxes and len(boxes) > 1  # the intended source of the path is in the picture
    if library == "nbautograd":
        assert caught.value.cause.kind == cause and f"Write `{new}`" in str(caught.value)  # type: ignore[attr-defined]


@pytest.mark.parametrize("cause", FIVE)
def test_the_line_to_write_is_the_cure(cause: str) -> None:
    program, line, new = FIVE[cause]
    lines = program.split("\n")
    lines[line - 1] = new
    run("\n".join(one for one in lines if not one.startswith("with ")) + "\ny.backward()", nb)


def test_where_the_code_does_not_tell_no_cause_is_made_up() -> None:
    program = "def f(w):\n    return w.detach()\nw = torch.ones(1, requires_grad=True)\ny = f(w)\ny.backward()"
    with pytest.raises(
        errors.NoGraphError, match="nothing that y was computed from has requires_grad=True, or"
    ) as caught:
        run(program, nb)
    assert caught.value.cause.kind == "unknown"
    with pytest.raises(errors.NoGraphError, match="or it was computed under no_grad"):
        exec("nb.ones(1).detach().backward()", {"nb": nb})  # its text is unknown


def test_an_input_without_a_graph_is_told_by_its_error() -> None:
    program = "w, x = torch.ones(1, requires_grad=True), torch.ones(1)\ny = w * x\nviz.animate(y, inputs=[w, x])"
    with pytest.raises(errors.NoGraphError, match="does not require grad") as caught:
        run(program, nb)
    frame = caught.value.animation.timeline.frames[-1]  # type: ignore[attr-defined]
    assert "(at index 1)" in frame.alarms[0]


@pytest.mark.parametrize("call", ["y.backward()", "torch.autograd.backward(y)", "viz.animate(y)"])
def test_the_cure_is_the_call_that_was_written(call: str) -> None:
    with viz.record() as recording, pytest.raises(RuntimeError) as caught:
        run(f"w = torch.ones(2, requires_grad=True)\ny = (w * w).sum()\ny.backward()\n{call}", nb)
    shown = getattr(caught.value, "animation", recording)
    cure = call[:-1] + ("" if call.endswith("()") else ", ") + "retain_graph=True)"
    assert f"`{cure}`" in shown.timeline.frames[-1].alarms[1]


@pytest.mark.sweep
def test_the_cure_of_a_magic_is_a_magic(app: Any) -> None:
    app.run_line_magic("load_ext", "nbautograd")
    try:
        app.run_cell("import nbautograd as torch\nw = torch.tensor([1., 2.], requires_grad=True)", store_history=True)
        result = app.run_cell("y = w * w\n%backward y", store_history=True)
        _, added, chosen = result.error_in_exec.animation.timeline.frames[-1].alarms
        assert "`%backward y.sum()` (v is all ones), or `%backward y.mean()`" in added
        assert "`v = torch.ones_like(y)`, then `%backward -g v y`" in chosen
        app.run_cell("z = y.sum()\nz.backward()")
        result = app.run_cell("%backward  z", store_history=True)
        assert "`%backward --retain-graph z`" in result.error_in_exec.animation.timeline.frames[-1].alarms[1]
        app.run_cell("z.grad_fn\nx = torch.tensor([1, 2])\nz = x.sum()", store_history=True)  # in an earlier cell
        result = app.run_cell("%backward z", store_history=True)
        assert "x is a tensor of int64" in str(result.error_in_exec)
        assert f"(In [{app.execution_count - 2}], line 2: x = torch.tensor([1, 2]))" in str(result.error_in_exec)
        app.run_cell("x = torch.tensor(3., requires_grad=True)\nL = x ** 3\n%backward L", store_history=True)
        result = app.run_cell("x.grad.backward()", store_history=True)
        assert "line 3: %backward L). Write `%backward --create-graph L`." in str(result.error_in_exec)
        spaced = "%backward -g torch.ones(2, dtype = x.dtype) (x * x)"
        result = app.run_cell(f"x = torch.ones(2, requires_grad=True)\n{spaced}.detach()", store_history=True)
        assert f"(x * x).detach() was cut off from x by detach(). Write `{spaced}`." in str(result.error_in_exec)
    finally:
        app.run_line_magic("unload_ext", "nbautograd")


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
    assert frame.story[0][1].endswith("version 0: [2., 4.]") and frame.story[1][1] == "t -= 1: version 1: [1., 3.]"
