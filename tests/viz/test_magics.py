"""The extension in a real IPython shell: loading, unloading, the magics, and what they say to bad input."""

from __future__ import annotations

import shutil

import pytest

pytest.importorskip("IPython", reason="the extension needs IPython")
from IPython.core.interactiveshell import InteractiveShell
from IPython.testing.globalipapp import start_ipython

import nbautograd as nb
from nbautograd import tracing
from nbautograd.tensor import Tensor

CELL = """
import nbautograd as torch
w = torch.tensor([1.], requires_grad=True)
x = torch.tensor([2.], requires_grad=True)
a = torch.add(w, x)
b = torch.add(w, 1)
y = torch.mul(a, b)
"""


@pytest.fixture(scope="module")
def app():
    shell = start_ipython() or InteractiveShell.instance()
    yield shell
    shell.run_line_magic("reset", "-f")


@pytest.fixture
def shell(app):
    app.run_line_magic("load_ext", "nbautograd")
    app.run_cell(CELL, store_history=True).raise_error()
    app.display_formatter.formatters["text/html"].enabled = True  # as in a notebook
    yield app
    if "nbautograd" in app.extension_manager.loaded:
        app.run_line_magic("unload_ext", "nbautograd")


def run(shell, code):
    result = shell.run_cell(code, store_history=True)
    result.raise_error()
    return result.result


def test_graph_shows_names_values_and_lines(shell):
    picture = run(shell, "%graph y")
    text = repr(picture)
    assert "y = a × b" in text and "a = w + x" in text and "b = w + 1" in text
    assert "6." in text and "In [" in text
    assert "<svg" in picture.svg and picture.svg == run(shell, "%graph y").svg  # the same on every run


def test_graph_of_an_expression_and_of_several(shell):
    assert "SumBackward0" in repr(run(shell, "%graph (w * x).sum()"))
    assert "AddBackward0" in repr(run(shell, "%graph a, b"))
    assert run(shell, "%graph -t --no-values y").svg


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graph_by_graphviz(shell):
    svg = run(shell, "%graph --dot y").svg
    assert "MulBackward0" in svg and "href" not in svg and "<!--" not in svg


def test_backward_accumulates_and_plays(shell):
    animation = run(shell, "%backward y")
    assert shell.user_ns["w"].grad.item() == 5
    assert "3. via b + 2. via a" in repr(animation)
    with pytest.raises(RuntimeError, match="a second time"):
        run(shell, "%backward y")
    assert shell.user_ns["w"].grad.item() == 5


def test_backward_options(shell):
    run(shell, "%backward --retain-graph y")
    run(shell, "%backward --inputs x y")
    assert (shell.user_ns["w"].grad.item(), shell.user_ns["x"].grad.item()) == (5, 4)
    run(shell, "v = torch.tensor([1., 10.]); z = w * torch.tensor([2., 3.])")
    run(shell, "%backward --gradient v z")
    assert shell.user_ns["w"].grad.item() == 37


def shown(shell, name):
    formatter = shell.display_formatter
    kept, formatter.active_types = formatter.active_types, ["text/plain", "text/html"]
    try:
        return formatter.format(shell.user_ns[name])[0]
    finally:
        formatter.active_types = kept


@pytest.mark.parametrize(
    ("line", "error", "message"),
    [
        ("%graph yy", NameError, "%graph: name 'yy' is not defined; did you mean 'y'?"),
        ("%backward nothing", NameError, "%backward: name 'nothing' is not defined; tensors here: a, b, "),
        ("%graph 5", TypeError, "%graph needs a tensor, but '5' gives int"),
        ("%graph", TypeError, "%graph needs a tensor: write for example %graph y"),
        ("%backward a, b", TypeError, "%backward needs one tensor, but 'a, b' gives 2"),
        ("%backward x.detach()", RuntimeError, "does not require grad"),
    ],
)
def test_bad_input(shell, line, error, message):
    with pytest.raises(error) as caught:
        run(shell, line)
    assert message in str(caught.value)
    assert shell.user_ns["w"].grad is None and shell.user_ns["x"].grad is None


def test_display_of_tensors(shell):
    bundle = shown(shell, "y")
    assert bundle["text/plain"] == "tensor([6.], grad_fn=<MulBackward0>)"
    assert (
        "data:image/svg+xml" in bundle["text/html"]
        and "tensor([6.], grad_fn=&lt;MulBackward0&gt;)" in bundle["text/html"]
    )
    bundle = shown(shell, "w")
    assert set(bundle) == {"text/plain"}


def test_a_picture_that_fails_does_not_cost_the_tensor(shell, monkeypatch):
    from nbautograd import viz

    def fail(*args, **kwargs):
        raise ValueError("<b>no</b>")

    monkeypatch.setattr(viz, "graph", fail)
    bundle = shown(shell, "y")
    assert "cannot be drawn: ValueError: &lt;b&gt;no&lt;/b&gt;" in bundle["text/html"]


def test_loading_twice_and_unloading_leave_nothing(app):
    formatter = app.display_formatter.formatters["text/html"]
    before = (dict(formatter.type_printers), set(app.magics_manager.magics["line"]), tracing.is_on())
    app.run_line_magic("load_ext", "nbautograd")
    nb.load_ipython_extension(app)
    assert tracing.is_on() and Tensor in formatter.type_printers
    app.run_line_magic("reload_ext", "nbautograd")
    app.run_line_magic("unload_ext", "nbautograd")
    nb.unload_ipython_extension(app)
    assert (dict(formatter.type_printers), set(app.magics_manager.magics["line"]), tracing.is_on()) == before
