"""Test watching PyTorch's operations while they run, in the cells of a notebook or in a block, without traces
afterwards.
"""

from __future__ import annotations

import subprocess
import sys
import weakref
from types import SimpleNamespace

import pytest

from tests import needs

torch = needs.package("torch")
needs.package("IPython")
from IPython.core.error import UsageError

import nbautograd as nb
from nbautograd import viz
from nbautograd.viz.capture import torch_watch
from nbautograd.viz.read.introspect import trace_of
from tests.pictures.viz.shells import empty

HOOKS = torch.nn.modules.module._global_forward_pre_hooks, torch.nn.modules.module._global_forward_hooks


def modes() -> int:
    return torch._C._len_torch_dispatch_stack()


@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    assert (modes(), torch_watch.watching(), *map(len, HOOKS)) == (0, None, 0, 0)


@pytest.fixture
def run(app):
    empty(app)
    app.run_line_magic("load_ext", "nbautograd")

    def run_cell(code):
        return app.run_cell(code, store_history=True)

    run_cell("import torch")
    yield run_cell
    app.run_line_magic("autograd", "torch on")
    app.run_line_magic("unload_ext", "nbautograd")
    empty(app)


CELL = """
w = torch.tensor([1.], requires_grad=True)
x = torch.tensor([2.], requires_grad=True)
def f(w, x):
    a = w + x
    b = w + 1
    return a * b
y = f(w, x)
"""


def test_a_cell_is_watched(run):
    run(CELL).raise_error()
    assert (modes(), *map(len, HOOKS)) == (0, 0, 0)
    text = repr(run("%graph y").result)
    assert "y = a × b" in text and "b = w + 1" in text and "line 5" in text and "In [" in text
    assert "3.  f32 (1,)" in text


def test_it_can_be_switched_off(run):
    run("%autograd torch off").raise_error()
    assert not viz.settings.torch
    run(CELL).raise_error()
    text = repr(run("%graph y").result)
    assert "line 5" not in text and "PyTorch keeps no lines and values" in text
    run("%%autograd\n" + CELL + "y.backward()").raise_error()
    assert "line 6" in repr(run("%graph y").result)  # that cell was watched anyway
    run("%autograd torch on").raise_error()
    run(CELL).raise_error()
    assert "line 5" in repr(run("%graph y").result)


@pytest.mark.parametrize("words", ["torch perhaps", "off", "torch on off"])
def test_wrong_words_are_refused(run, words):
    with pytest.raises(UsageError, match="torch"):
        run(f"%autograd {words}").raise_error()


def test_an_error_ends_the_watching(run):
    run("y = torch.ones(2, requires_grad=True) * 2\nmodel = torch.nn.Linear(3, 1)\nmodel(y)")
    assert (modes(), *map(len, HOOKS)) == (0, 0, 0)
    assert "y = " in repr(run("%graph y").result)


def test_pictures_in_the_same_cell(run, app):
    run(CELL + "shown = __import__('nbautograd').viz.graph(y)").raise_error()
    assert "line 5" in repr(app.user_ns["shown"])


MODE = """
from torch.utils._python_dispatch import TorchDispatchMode
class Own(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))
"""


def test_a_mode_that_a_cell_left_open_stays(run, app):
    run(MODE + "own = Own()\nown.__enter__()")
    assert modes() == 1
    run("own.__exit__(None, None, None)").raise_error()
    assert modes() == 0


@pytest.mark.sweep
def test_a_cell_that_imports_pytorch_is_watched_from_there_on():
    code = """
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "nbautograd")
assert "torch" not in sys.modules
finders = list(sys.meta_path)
shell.run_cell("import torch\\nx = torch.ones(2, requires_grad=True)\\ny = (x * 2).sum()").raise_error()
assert sys.meta_path == finders
print(repr(shell.run_cell("%graph y").result))
"""
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "line 3" in told.stdout


def test_nothing_of_pytorch_is_imported():
    code = """
import sys
from IPython.core.interactiveshell import InteractiveShell
from nbautograd import viz
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "nbautograd")
shell.run_cell("import nbautograd as nb\\ny = nb.ones(2, requires_grad=True) * 2 # torch\\n")
with viz.watch(), viz.record():
    pass
print([name for name in sys.modules if name.partition(".")[0] == "torch"])
"""
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert told.stdout.strip().endswith("[]")


# -- a block ---------------------------------------------------------------------------------------------------------


def test_the_budget():
    x = torch.ones(1, requires_grad=True)
    with viz.watch(5):
        y = x
        for _ in range(9):
            y = y + 1
    traced, node = [], y.grad_fn
    while hasattr(node, "metadata") and not hasattr(node, "variable"):
        traced.append(trace_of(node) is not None)
        node = node.next_functions[0][0]
    assert traced == [False] * 4 + [True] * 5
    assert "watched are 5 of 9 operations" in viz.graph(y).text
    with pytest.raises(ValueError, match="budget"), viz.watch(0):
        pass


def test_after_the_budget_the_mode_goes_at_the_next_module():
    layer, x = torch.nn.Linear(2, 2), torch.ones(2)
    with viz.watch(3):
        for _ in range(4):
            x = layer(x)
        assert modes() == 0
        with viz.watch(3):  # renews it
            assert modes() == 1


def test_nothing_is_kept_alive():
    with viz.watch():
        x = torch.ones(3000, requires_grad=True)
        h = x * 2
        kept = weakref.ref(h)
        y = h + 1
        del h
        assert kept() is None  # an addition saves nothing
    assert trace_of(y.grad_fn.next_functions[0][0]).value.shape == (3000,)


def test_notes_go_with_the_graph():
    class Canary:
        pass

    x = torch.ones(2, requires_grad=True)
    with viz.watch():
        y = x * 2
    node = y.grad_fn
    assert trace_of(node).lineno > 0
    canary = Canary()
    gone = weakref.ref(canary)
    node.metadata["canary"] = canary
    del canary, node
    assert gone() is not None
    del y
    assert gone() is None


def test_values_are_those_of_the_time():
    x = torch.ones(2, requires_grad=True)
    with viz.watch():
        h = x * 2
        y = h.exp()
        h.add_(5)
    notes = trace_of(y.grad_fn)
    assert notes.operands[0].value.tolist() == [2.0, 2.0]
    assert trace_of(h.grad_fn).value.tolist() == [7.0, 7.0]


def test_large_results_leave_their_numbers_and_a_sample():
    x = torch.arange(60_000.0).reshape(200, 300).requires_grad_()
    with viz.watch():
        y = (x * 2).relu().sum()
    shown = viz.graph(y, namespace={"x": x, "y": y}).model
    (node,) = (node for node in shown.nodes if node.kind == "op" and node.name == "MulBackward0")
    box = next((n for n in shown.nodes if n.id != node.id and n.name == node.label), node)
    assert box.value == "mean 60000 · norm 1.7e7" and box.shape == "(200, 300)"
    assert box.tile.shape == (200, 300) and box.tile.block == (14, 20)  # of rows and columns with strides 7 and 10


def test_modules_give_their_paths():
    model = SimpleNamespace(net=torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Linear(2, 1)))
    with viz.watch():
        y = model.net(torch.ones(3, 2)).sum()
    scopes = [trace_of(node).scope for node in _nodes(y)]
    assert [tuple(block.name for block in scope) for scope in scopes] == [
        (), ("Sequential", "Linear"), ("Sequential", "Linear"), ("Sequential", "ReLU"), ("Sequential", "Linear"),
        ("Sequential", "Linear"),
    ]  # fmt: skip


def _nodes(y):
    nodes, ahead = {}, [y.grad_fn]
    while ahead:
        node = ahead.pop()
        if node is not None and not hasattr(node, "variable"):
            nodes[node._sequence_nr()] = node
            ahead += [to for to, _ in node.next_functions]
    return [nodes[key] for key in sorted(nodes, reverse=True)]


def test_an_error_in_a_module_leaves_no_scope():
    net = torch.nn.Sequential(torch.nn.Linear(2, 2))
    with viz.watch():
        with pytest.raises(RuntimeError, match="shapes"):
            net(torch.ones(3, 3))
        y = torch.ones(1, requires_grad=True) * 2
    assert trace_of(y.grad_fn).scope == ()


def test_nbautograd_takes_its_place_in_a_watched_cell(run):
    """Check that the watcher of PyTorch is removed at the end of the cell, though PyTorch is no longer among the
    modules.
    """
    try:
        run("torch.ones(2, requires_grad=True) * 2\n%autograd torch nbautograd").raise_error()
        assert sys.modules["torch"] is nb
        assert (modes(), torch_watch.watching()) == (0, None)
    finally:
        run("%autograd torch off\nimport torch\n%autograd torch on").raise_error()
