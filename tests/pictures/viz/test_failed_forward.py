"""A forward pass that fails: the graph so far, and the operation that could not be computed with the shapes it got."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import nbautograd as nb
from nbautograd import viz
from nbautograd._engine.core import tracing
from nbautograd.nn import functional as F
from nbautograd.viz.notebook.tracebacks import failed_forward
from tests import needs

needs.package("playwright")
from playwright.sync_api import expect


def operands() -> dict[str, Any]:
    w, x = nb.ones(3, 4, requires_grad=True), nb.ones(2, 3)
    return {"w": w, "x": x, "h": (x @ w).relu()}


def failed(compute: Callable[[dict[str, Any]], Any]) -> tuple[Any, dict[str, Any]]:
    with tracing.traced():
        names = operands()
        with pytest.raises(Exception) as caught:
            compute(names)
    return failed_forward(caught.value, names), names


@pytest.mark.parametrize(
    ("compute", "name", "shapes"),
    [
        (lambda n: n["w"].add_(1), "add_", "(3, 4)"),
        (lambda n: n["h"] @ n["w"], "mm", "(2, 4), (3, 4)"),
        (lambda n: n["x"] + n["w"], "add", "(2, 3), (3, 4)"),
        (lambda n: nb.cat([n["x"], n["h"]]), "cat", "(2, 3), (2, 4)"),
        (lambda n: n["w"].reshape(5), "reshape", "(3, 4)"),
        (lambda n: n["w"][7], "select", "(3, 4)"),
        (lambda n: F.cross_entropy(n["h"], nb.tensor([0, 1, 2])), "cross_entropy", "(2, 4), (3,)"),
        (lambda n: nb.nn.Linear(3, 2)(n["h"]), "addmm", "(2,), (2, 4), (3, 2)"),
    ],
    ids=["in place", "mm", "add", "cat", "reshape", "index", "loss", "module"],
)
def test_the_operation_and_its_shapes(compute: Callable[[dict[str, Any]], Any], name: str, shapes: str) -> None:
    picture, _ = failed(compute)
    (node,) = [node for node in picture.model.nodes if node.failed]
    assert (node.name, node.value) == (name, shapes)
    assert node.line > 0 and node.source
    used = [edge for edge in picture.model.edges if edge.dst == node.id]
    assert len(used) == shapes.count("(")
    assert picture.svg.count(f'data-node="{node.id}"') == 1 and "nb-" in picture.svg


def test_what_made_the_operands_is_drawn() -> None:
    picture, _ = failed(lambda n: n["h"] @ n["w"])
    assert {"w", "x", "h", "MmBackward0", "ReluBackward0", "mm"} <= {node.name for node in picture.model.nodes}
    assert not [node for node in picture.model.nodes if node.kind == "output"]
    assert "mm → 1 leaf" in picture.text


def test_an_error_of_something_else_has_no_such_picture() -> None:
    assert failed(lambda n: n["missing"])[0] is None
    assert failed(lambda n: n["h"].backward())[0] is None  # a pass has its own picture
    assert failed(lambda n: [1][2])[0] is None


def test_of_a_large_graph_the_operand_is_found_in_its_folded_picture() -> None:
    w = nb.ones(2, 2, requires_grad=True)
    h = w
    for _ in range(400):
        h = h @ w
    with pytest.raises(RuntimeError) as caught:
        h @ nb.ones(3, 3)
    picture = failed_forward(caught.value, {"w": w, "h": h})
    assert picture is not None and len(picture.model.nodes) < 400
    (node,) = [node for node in picture.model.nodes if node.failed]
    assert [edge for edge in picture.model.edges if edge.dst == node.id]
    assert picture.svg


@pytest.fixture
def shell(request: pytest.FixtureRequest) -> Any:
    needs.package("IPython")
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.testing.globalipapp import start_ipython

    shell = start_ipython() or InteractiveShell.instance()
    shell.run_line_magic("load_ext", "nbautograd")
    before = shell.display_formatter.active_types
    shell.display_formatter.active_types = ["text/plain", "text/html"]
    yield shell
    shell.display_formatter.active_types = before
    shell.run_line_magic("unload_ext", "nbautograd")
    shell.run_line_magic("reset", "-f")


CELL = "import nbautograd as torch\nw = torch.ones(3, 4, requires_grad=True)\nout = (w * 2) @ w"


@pytest.mark.parametrize(
    ("setting", "cell", "drawn"),
    [
        ("off", CELL, False),
        ("on", CELL, True),
        ("off", "%%autograd\n" + CELL, True),
        ("on", "%%autograd\n" + CELL, True),
    ],
)
def test_cells_that_show_it(shell: Any, setting: str, cell: str, drawn: bool, capsys: Any) -> None:
    shell.run_line_magic("autograd", f"--errors {setting}")
    result = shell.run_cell(cell, store_history=True)
    assert "cannot be multiplied" in str(result.error_in_exec)
    picture = getattr(result.error_in_exec, "picture", None)
    assert (picture is not None) == drawn
    assert capsys.readouterr().out.count("mm → 1 leaf") == drawn  # once
    if drawn:
        assert next(node for node in picture.model.nodes if node.failed).expression == "(w * 2) @ w"


def test_the_settings_are_restored(shell: Any) -> None:
    shell.run_line_magic("autograd", "--errors on")
    assert viz.settings.errors
    shell.run_line_magic("unload_ext", "nbautograd")
    assert not viz.settings.errors
    shell.run_line_magic("load_ext", "nbautograd")


@pytest.mark.browser
@needs.chromium
def test_the_page_opens_on_the_failure(open_page: Any) -> None:
    picture, _ = failed(lambda n: n["h"] @ n["w"])
    page = open_page(picture)
    failing = page.locator(".nb-op.nb-bad")
    expect(failing).to_have_count(1)
    expect(failing.locator(".nb-value")).to_have_text("(2, 4), (3, 4)")
    expect(page.locator(".nb-side .nb-note.nb-bad")).to_contain_text("cannot be multiplied (2x4 and 3x4)")
    expect(page.locator(".nb-caption")).to_have_text("The forward pass ended at mm.")
    assert page.evaluate("getComputedStyle(document.querySelector('.nb-op.nb-bad .nb-shape')).stroke") == (
        "rgb(179, 18, 63)"
    )
    assert page.troubles == []
