"""Check lifetimes: deep graphs, memory that is freed when nothing needs it, and no leaks."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import nbautograd as nb
from nbautograd._engine.arrays import version_counter
from nbautograd._engine.core import exchanged_data

ROOT = Path(nb.__file__).parent.parent


@pytest.fixture
def no_gc() -> Iterator[None]:
    """Reference counts alone must do: the collector is off."""
    gc.collect()
    gc.freeze()  # so that the next test does not scan all loaded objects again
    gc.disable()
    yield
    gc.enable()


def run(code: str) -> str:
    """Run code in an interpreter of its own, where a crash is a failure and not the end of the tests."""
    result = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert result.returncode == 0, f"exit status {result.returncode}\n{result.stdout}\n{result.stderr}"
    return result.stdout


DEEP = 100_000
"""This many steps overflow the 8 MiB of a stack if each takes 84 bytes of it; a call in C takes more."""


@pytest.mark.parametrize("free", ["del y", "y.detach_()", "del y, x"])
@pytest.mark.sweep
def test_many_operations(free: str) -> None:
    code = f"""
import sys, gc
import nbautograd as nb
assert sys.getrecursionlimit() == 1000
x = nb.tensor(1.0, requires_grad=True)
c = nb.tensor(0.5)
y = x
for _ in range({DEEP}):
    y = y + c
y.backward()
assert x.grad.item() == 1.0
{free}
print("freed", gc.collect() < 1000)
"""
    assert run(code) == "freed True\n"


@pytest.mark.sweep
def test_many_operations_that_save() -> None:
    """Products save tensors; the graph is freed with its saved tensors, without a backward pass."""
    code = f"""
import nbautograd as nb
x = nb.tensor(1.0, requires_grad=True)
y = x
for _ in range({DEEP}):
    y = y * x
del y
y = x
for _ in range({DEEP}):
    y = y * x
y.backward(retain_graph=True)
y.backward()
print(x.grad.item())
"""
    assert run(code) == f"{2.0 * (DEEP + 1)}\n"


@pytest.mark.sweep
def test_walking_a_deep_graph_and_freeing_it() -> None:
    code = """
import nbautograd as nb
x = nb.tensor(1.0, requires_grad=True)
y = x
for _ in range(100_000):
    y = y + 1
node, seen = y.grad_fn, []
while node is not None:
    seen.append(node)
    node = node.next_functions[0][0] if node.next_functions else None
print(len(seen))
del y, node
seen.clear()
"""
    assert run(code) == "100001\n"


def test_deep_create_graph() -> None:
    code = """
import nbautograd as nb
x = nb.tensor(1.0, requires_grad=True)
y = x
for _ in range(20_000):
    y = y * 1.0
(g,) = nb.autograd.grad(y * x, x, create_graph=True)
g.backward()
print(g.item(), x.grad.item())
del y, g
"""
    assert run(code) == "2.0 2.0\n"


def test_fan_in() -> None:
    n = 20_000
    x = nb.tensor([1.0, 2.0], requires_grad=True)
    total = nb.zeros(2)
    for _ in range(n):
        total = total + x
    total.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [n, n])
    x.grad = None
    nb.stack([x] * n).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [n, n])


@pytest.mark.usefixtures("no_gc")
def test_intermediates_die_when_they_are_let_go() -> None:
    x = nb.ones(3, requires_grad=True)
    middle = x + 1
    tensor, array = weakref.ref(middle), weakref.ref(middle._a)
    out = middle + 2  # a sum saves nothing
    del middle
    assert tensor() is None
    assert array() is None
    out.sum().backward()


@pytest.mark.usefixtures("no_gc")
@pytest.mark.parametrize("create_graph", [False, True])
def test_a_graph_dies_with_its_root(create_graph: bool) -> None:
    x = nb.ones(3, requires_grad=True)
    middle = x.exp()
    out = (middle * middle).sum()
    nodes = [weakref.ref(middle.grad_fn), weakref.ref(out.grad_fn), weakref.ref(middle._a)]
    if create_graph:
        (g,) = nb.autograd.grad(out, x, create_graph=True)
        nodes.append(weakref.ref(g.grad_fn))
        del g
    del middle, out
    assert [node() for node in nodes] == [None] * len(nodes)


@pytest.mark.usefixtures("no_gc")
def test_a_view_that_was_written_to_makes_no_cycle() -> None:
    x = nb.ones(2, 3, requires_grad=True)
    y = x * 2
    view = y[0]
    view.mul_(3)
    refs = [weakref.ref(y), weakref.ref(view), weakref.ref(y.grad_fn)]
    y.sum().backward()
    del y, view
    assert [ref() is None for ref in refs] == [True] * 3


@pytest.mark.usefixtures("no_gc")
def test_views_hooks_and_retained_gradients_make_no_cycle() -> None:
    x = nb.ones(2, 3, requires_grad=True)
    y = x * 2
    view = y[0]
    y.retain_grad()
    y.register_hook(lambda g: g * 1)
    y.grad_fn.register_hook(lambda inputs, outputs: None)
    refs = [weakref.ref(y), weakref.ref(view), weakref.ref(y.grad_fn)]
    y.sum().backward()
    del y, view
    assert [ref() is None for ref in refs] == [True] * 3


@pytest.mark.usefixtures("no_gc")
def test_saved_tensors_go_at_the_end_of_backward_while_the_root_lives() -> None:
    x = nb.ones(1000, requires_grad=True)
    middle = x.exp()
    saved = weakref.ref(middle._a)
    out = (middle * middle).sum()
    del middle
    assert saved() is not None
    out.backward(retain_graph=True)
    assert saved() is not None
    out.backward()
    assert saved() is None


@pytest.mark.usefixtures("no_gc")
def test_a_failed_backward_holds_nothing() -> None:
    x = nb.ones(3, requires_grad=True)
    y = x.exp()
    ref = weakref.ref(y.grad_fn)

    def fail(gradient: nb.Tensor) -> None:
        raise KeyError("on purpose")

    handle = y.register_hook(fail)
    with pytest.raises(KeyError):
        y.sum().backward()
    handle.remove()
    del y
    gc.collect()  # the traceback of the exception is in a cycle with its frame
    assert ref() is None


def train(steps: int, w: nb.Tensor, b: nb.Tensor) -> None:
    data = nb.arange(6.0).reshape(3, 2)
    for _ in range(steps):
        loss = ((nb.relu(data @ w + b)[:, 0] - 1) ** 2).mean()
        loss.backward()
        with nb.no_grad():
            for parameter in (w, b):
                parameter -= 0.01 * parameter.grad
                parameter.grad = None


@pytest.mark.usefixtures("no_gc")
def test_training_leaks_nothing() -> None:
    w, b = nb.full((2, 2), 0.1, requires_grad=True), nb.tensor(0.1, requires_grad=True)
    train(100, w, b)
    before = len(gc.get_objects())
    train(1000, w, b)
    assert len(gc.get_objects()) - before < 50
    gc.collect()
    histories = len(version_counter._histories)
    train(1000, w, b)
    assert len(version_counter._histories) == histories


@pytest.mark.usefixtures("no_gc")
def test_histories_of_dead_memory_go() -> None:
    before = len(version_counter._histories)
    for _ in range(1000):
        x = nb.zeros(3)
        x.add_(1)
        x[1] = 2
        x[:2].mul_(3)
        y = nb.tensor(1.0)
        y.add_(1)
        y.detach().mul_(2)
        y.data.add_(1)
        (x.data + y).add_(1)
    del x, y
    assert len(version_counter._histories) == before


def test_a_history_stays_short() -> None:
    x = nb.zeros(1)
    for _ in range(10_000):
        x.add_(1)
    assert x._version == 10_000
    assert len(version_counter._history(x._a).times) < 1000


# -- when things go wrong, and threads -------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [KeyError, KeyboardInterrupt])
@pytest.mark.parametrize("where", ["tensor", "post", "function"])
def test_an_exception_in_the_middle_leaves_everything_as_it_was(error: type[BaseException], where: str) -> None:
    fail = [True]

    def raise_once(*_: object) -> None:
        if fail[0]:
            fail[0] = False
            raise error("on purpose")

    class Identity(nb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise_once()
            return g

    x, y = (nb.ones(3, requires_grad=True) for _ in range(2))
    middle = Identity.apply(x.exp()) if where == "function" else x.exp()
    out = (middle * middle).sum() + (y * y).sum()
    if where == "tensor":
        middle.register_hook(raise_once)
    if where == "post":
        middle.grad_fn.register_hook(raise_once)
    with pytest.raises(error):
        out.backward(retain_graph=True)
    assert x.grad is None and y.grad is None  # all or nothing
    assert nb.is_grad_enabled() and nb.autograd.graph.engine.current_graph_task() is None
    out.backward()
    e = nb.ones(3).exp().numpy()
    np.testing.assert_array_equal(x.grad.numpy(), 2 * e * e)
    assert y.grad.tolist() == [2, 2, 2]


def test_a_backward_inside_a_hook() -> None:
    x, y = (nb.tensor(2.0, requires_grad=True) for _ in range(2))
    z = x * x

    def inner(g: nb.Tensor) -> nb.Tensor:
        with nb.enable_grad():
            (y**3).backward()
        return g * y.grad

    z.register_hook(inner)
    z.backward()
    assert x.grad.item() == 48
    assert y.grad.item() == 12


def test_threads_on_one_graph() -> None:
    import threading

    x = nb.ones(1000, requires_grad=True)
    out = (x * x).exp().sum()
    expected = nb.autograd.grad(out, x, retain_graph=True)[0].numpy()
    errors: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(20):
                np.testing.assert_array_equal(nb.autograd.grad(out, x, retain_graph=True)[0].numpy(), expected)
                out.backward(retain_graph=True)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    np.testing.assert_array_equal(x.grad.numpy(), sum([expected] * 79, expected))


def test_threads_have_modes_of_their_own() -> None:
    import threading

    found = []

    def work() -> None:
        found.append((nb.is_grad_enabled(), nb.is_inference_mode_enabled()))
        with nb.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            found.append(nb.autograd.graph.get_gradient_edge(nb.ones(1, requires_grad=True) * 2).node.name())

    with nb.inference_mode():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert found == [(True, False), "MulBackward0"]


def test_copies_of_leaves() -> None:
    import copy
    import pickle

    x = nb.tensor([1.0, 2.0], requires_grad=True)
    (x * 3).sum().backward()
    for twin in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert twin.tolist() == [1, 2] and twin.requires_grad and twin.is_leaf
        twin.data.mul_(2)
    a, b = copy.deepcopy([x, x])
    assert a is b and a.grad is not x.grad and a.grad.tolist() == [3, 3]
    assert x.tolist() == [1, 2]
    with pytest.raises(RuntimeError):
        copy.deepcopy(x * 2)


@pytest.mark.usefixtures("no_gc")
def test_hooked_and_packed_graphs_die_too() -> None:
    x = nb.ones(3, requires_grad=True)
    with nb.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        y = x.exp()
        out = (y * y).sum()
    refs = [weakref.ref(y), weakref.ref(y.grad_fn), weakref.ref(out.grad_fn)]
    out.backward(inputs=[x, y])
    del y, out
    assert [ref() for ref in refs] == [None] * 3


@pytest.mark.sweep
def test_peak_memory_of_many_steps_is_that_of_few() -> None:
    code = """
import tracemalloc
import nbautograd as nb
data = nb.arange(4000.0).reshape(1000, 4) / 4000
w = nb.full((4, 64), 0.1, requires_grad=True)
b = nb.zeros(64, requires_grad=True)
def train(steps):
    for _ in range(steps):
        loss = ((nb.relu(data @ w + b) - 1) ** 2).mean()
        loss.backward()
        with nb.no_grad():
            for p in (w, b):
                p -= 0.01 * p.grad
                p.grad = None
train(3)
peaks = []
tracemalloc.start()
for steps in (10, 1000):
    tracemalloc.reset_peak()
    train(steps)
    peaks.append(tracemalloc.get_traced_memory()[1])
# Of arrays nothing; Python itself keeps up to 2,000 small tuples of each length for reuse.
print(peaks[1] < peaks[0] + 150_000, peaks)
"""
    assert run(code).startswith("True")


@pytest.mark.sweep
def test_a_fan_and_a_chain() -> None:
    code = f"""
import nbautograd as nb
x = nb.tensor([1.0, 2.0], requires_grad=True)
parts = [x * 2 for _ in range({DEEP})]
total = parts[0]
for part in parts[1:]:
    total = total + part
del parts, part
total.sum().backward()
print(x.grad.tolist())
del total
"""
    assert run(code) == f"[{2.0 * DEEP}, {2.0 * DEEP}]\n"


def test_keeping_freed_memory_is_a_switch():
    from nbautograd.utils.allocator import keep_freed_memory

    known = keep_freed_memory(64)
    assert keep_freed_memory(0) == known
    with pytest.raises(ValueError, match=r"megabytes must be an int of at least 0, not -1"):
        keep_freed_memory(-1)


@pytest.mark.usefixtures("no_gc")
def test_hooks_that_return_what_they_get_keep_no_graph_alive() -> None:
    x = nb.ones(3, requires_grad=True)
    with nb.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        y = x.exp()
        out = (y * y).max(0)[0]
    refs = [weakref.ref(y), weakref.ref(y.grad_fn), weakref.ref(out.grad_fn)]
    del y, out
    assert [ref() for ref in refs] == [None] * 3


@pytest.mark.usefixtures("no_gc")
def test_exchanged_data_is_forgotten() -> None:
    exchanged_data.exchanged.clear()
    former, new = nb.ones(3), nb.full((3,), 2.0)
    x = nb.ones(3, requires_grad=True)
    y = x * x
    ref = weakref.ref(x._a)
    x.data = former
    x.data = new
    assert ref() is not None and len(exchanged_data.exchanged) == 1  # the node still has the first array
    y.sum().backward()
    assert x.grad.tolist() == [4, 4, 4]
    del y
    assert ref() is None and not exchanged_data.exchanged
    for _ in range(300):  # scalars, which have no weak references
        w = nb.tensor(1.0, requires_grad=True)
        z = w * w
        w.data = nb.tensor(3.0)
        z.backward()
        assert w.grad.item() == 6
    assert len(exchanged_data.exchanged) < 130


def test_a_loop_over_data_makes_no_chain_of_views() -> None:
    import tracemalloc

    p = nb.ones(3, requires_grad=True)

    def steps(n: int) -> None:
        for _ in range(n):
            p.data -= 0.1
            p.data = p.data.clamp(max=1)

    steps(50)
    tracemalloc.start()
    steps(1000)
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown < 50_000  # a chain of 1,000 views is ten times as long
    assert p.data.storage_offset() == 0 and p.data.data_ptr() == p.data_ptr()
