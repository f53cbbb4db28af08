"""The tape and the engine: accumulation, graphs, modes, functions, hooks; most of it run beside PyTorch."""

from __future__ import annotations

import threading

import pytest

import nbautograd as nb
from tests import oracle
from tests.engine.autograd.example_graph import example_graph


@oracle.both
def test_the_graph_can_be_walked(T):
    w, x, a, _, y = example_graph(T)
    add, other = (edge[0] for edge in y.grad_fn.next_functions)
    assert add is a.grad_fn and add.name() == other.name() == "AddBackward0"
    assert [type(edge[0]).__name__ for edge in add.next_functions] == ["AccumulateGrad", "AccumulateGrad"]
    assert add.next_functions[0][0].variable is w and add.next_functions[1][0].variable is x
    assert add.next_functions[0][0] is other.next_functions[0][0]
    assert other.next_functions[1] == (None, 0)
    assert add.next_functions[0][0].name() == "torch::autograd::AccumulateGrad"
    y.grad_fn.metadata["note"] = 1
    assert y.grad_fn.metadata == {"note": 1}
    assert y.grad_fn.next_functions[0][1] == 0


@oracle.both
def test_accumulation_over_passes(T):
    seen = []
    w, x = (T.tensor([v], requires_grad=True) for v in (1.0, 2.0))
    for _ in range(4):
        ((w + x) * (w + 1)).backward()
        seen.append(w.grad.item())
    assert seen == [5, 10, 15, 20]
    held = w.grad
    (w * 1).backward()
    assert w.grad is held and held.item() == 21  # added in place
    w.grad = None
    (w * 2).backward()
    assert w.grad.item() == 2 and held.item() == 21


def test_grad_shares_memory_with_nothing():
    T = nb
    x, y = (T.ones(3, requires_grad=True) for _ in range(2))
    v = T.ones(3)
    (x + y).backward(v)
    x.grad.add_(1)
    assert y.grad.tolist() == [1, 1, 1] and v.tolist() == [1, 1, 1]
    a, b = T.autograd.grad(x + y, [x, y], v)
    a.add_(1)
    assert b.tolist() == [1, 1, 1] and v.tolist() == [1, 1, 1]


@oracle.both
def test_what_a_hook_keeps_is_not_the_grad_that_later_passes_add_to(T):
    kept = []
    w, c = T.ones(2, 3, requires_grad=True), T.full((2, 3), 2.0)
    w.register_hook(kept.append)
    (w * c).sum().backward()
    assert kept[0].data_ptr() != w.grad.data_ptr()
    (w * c).sum().backward()
    assert kept[0].tolist() == [[2, 2, 2]] * 2 and w.grad.tolist() == [[4, 4, 4]] * 2


@oracle.both
def test_retain_grad_and_the_grads_of_non_leaves(T):
    w, _, a, b, y = example_graph(T)
    a.retain_grad()
    y.backward()
    assert a.grad.item() == 2 and a.retains_grad and w.grad.item() == 5
    with pytest.warns(UserWarning, match="not a leaf Tensor"):
        assert b.grad is None


@oracle.both
def test_inputs_restrict_accumulation(T):
    w, x, a, _, y = example_graph(T)
    y.backward(inputs=[x], retain_graph=True)
    assert w.grad is None and x.grad.item() == 2
    y.backward(inputs=[a])
    assert a.grad.item() == 2 and w.grad is None


@oracle.both
def test_gradients_of_a_computed_tensor_by_grad(T):
    _, _, a, b, y = example_graph(T)
    assert [g.item() for g in T.autograd.grad(y, [a, b])] == [2, 3]


@oracle.both
def test_unused_inputs(T):
    x, y = (T.ones(1, requires_grad=True) for _ in range(2))
    assert T.autograd.grad(x * 2, [x, y], allow_unused=True)[1] is None
    assert T.autograd.grad(x * 2, [x, y], materialize_grads=True)[1].item() == 0


@oracle.both
def test_several_roots_and_the_same_root_twice(T):
    x = T.tensor([3.0], requires_grad=True)
    y = x * x
    T.autograd.backward([y, y, x], [T.tensor([1.0]), T.tensor([10.0]), T.tensor([100.0])])
    assert x.grad.item() == 166


@oracle.both
def test_derivatives_of_every_order(T):
    x = T.tensor(0.7, dtype=T.float64, requires_grad=True)
    g, found = (x.tanh() * x**3).exp(), []
    for _ in range(5):
        (g,) = T.autograd.grad(g, x, create_graph=True)
        found.append(g)
    return found


def test_create_graph_of_backward_keeps_a_differentiable_grad(monkeypatch):
    monkeypatch.setattr("nbautograd.autograd.accumulate._warned", False)
    x = nb.tensor(3.0, requires_grad=True)
    with pytest.warns(UserWarning, match="will create a reference cycle between the parameter and its gradient"):
        (x**3).backward(create_graph=True)
    x.grad = None
    (x**3).backward(create_graph=True)  # only once
    first = x.grad
    assert first.item() == 27 and first.requires_grad
    (x**3).backward(create_graph=True)  # the sum is recorded, too
    assert x.grad.item() == 54 and first.item() == 27
    assert nb.autograd.grad(x.grad, x)[0].item() == 36


def test_branches_joined_late():
    def total(x):
        y, branches = x, []
        for i in range(20):
            branches.append(y * i)
            y = y + x * 0.1
        joined = branches[0]
        for branch in reversed(branches):
            joined = joined + branch * y
        return joined

    assert nb.autograd.gradcheck(total, (nb.tensor(2.0, dtype=nb.float64, requires_grad=True),))


@oracle.both
def test_grad_modes(T):
    x = T.ones(1, requires_grad=True)
    with T.no_grad():
        assert not (x * 2).requires_grad
        with T.enable_grad():
            assert (x * 2).requires_grad
        with T.set_grad_enabled(True):
            assert (x * 2).requires_grad
        x += 1  # allowed here
    assert (x * 2).requires_grad and x.item() == 2

    @T.no_grad()
    def quiet(v):
        return v * 2

    @T.no_grad
    def quiet_too(v):
        return v * 2

    @T.no_grad()
    def generate():
        yield T.is_grad_enabled()
        yield T.is_grad_enabled()

    assert not quiet(x).requires_grad and not quiet_too(x).requires_grad
    for inside in generate():
        assert not inside and T.is_grad_enabled()
    T.set_grad_enabled(False)
    assert not T.is_grad_enabled()
    T.set_grad_enabled(True)
    with pytest.raises(KeyError), T.no_grad():
        raise KeyError
    assert T.is_grad_enabled()


def test_grad_mode_belongs_to_its_thread():
    found = []
    with nb.no_grad():
        thread = threading.Thread(target=lambda: found.append(nb.is_grad_enabled()))
        thread.start()
        thread.join()
    assert found == [True]


@oracle.both
def test_detach_and_data_share_memory(T):
    w = T.tensor([1.0], requires_grad=True)
    w.detach().data[0] = 999
    assert w.item() == 999
    x = T.ones(1, requires_grad=True)
    y = 2 * x
    x.data *= 100
    y.backward()
    assert x.item() == 100 and x.grad.item() == 2 and x.is_leaf
    z = T.tensor(5.0, requires_grad=True)
    z.detach().add_(1)
    assert z.item() == 6


@oracle.both
def test_versions(T):
    x = T.zeros(3)
    view = x[1:]
    view.add_(1)
    x[0] = 5
    x.detach().mul_(2)
    assert x._version == view._version == 3
    x.data.add_(1)
    assert x._version == 3 and x.tolist() == [11, 3, 3]


@oracle.both
def test_hooks_of_tensors(T):
    x = T.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    calls = []
    x.register_hook(lambda g: calls.append(("x", g.tolist())))
    handle = y.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: calls.append(("y", g.tolist())))
    x.register_post_accumulate_grad_hook(lambda t: calls.append(("grad", t.grad.tolist())))
    y.sum().backward()
    assert calls == [("y", [10, 10]), ("x", [20, 20]), ("grad", [20, 20])]
    handle.remove()
    handle.remove()
    x.grad = None
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2]
    with pytest.raises(RuntimeError):
        z = x * 1
        z.register_hook(lambda g: g.sum())
        z.sum().backward()


@oracle.both
def test_hooks_of_nodes(T):
    x = T.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    seen = []
    y.grad_fn.register_prehook(lambda outs: seen.append(outs[0].tolist()) or (outs[0] * 2,))
    y.grad_fn.register_hook(lambda ins, outs: seen.append((ins[0].tolist(), outs[0].tolist())))
    y.sum().backward()
    assert seen == [[1, 1], ([6, 6], [2, 2])] and x.grad.tolist() == [6, 6]


@oracle.both
def test_backward_from_several_threads_loses_nothing(T):
    x = T.zeros(50_000, requires_grad=True)

    def work():
        for _ in range(20):
            (x * 1).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if T is nb:
        assert x.grad.min().item() == x.grad.max().item() == 80


def test_a_backward_inside_a_backward():
    class Inner(nb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            with nb.enable_grad():
                inner = x.detach().requires_grad_()
                (inner**2).backward()
            return g * inner.grad

    x = nb.tensor(3.0, requires_grad=True)
    Inner.apply(x).backward()
    assert x.grad.item() == 6


@oracle.both
def test_views_follow_their_base(T):
    x = T.ones(2, 2, requires_grad=True)
    y = x * 2
    row, column = y[0], y[:, 1]
    row.mul_(3)
    assert type(y.grad_fn).__name__ == "CopySlices" and column.tolist() == [6, 2]
    column.sum().backward()
    assert x.grad.tolist() == [[0, 6], [0, 2]]


@oracle.both
def test_out_and_resizing(T):
    o = T.tensor([1])
    z = T.zeros((3, 3), out=o)
    assert z is o and o.dtype is T.int64 and tuple(o.shape) == (3, 3)
    p = T.empty(2)
    assert T.add(T.ones(2), 1, out=p) is p and p.tolist() == [2, 2]
    with pytest.warns(UserWarning, match="was resized since it had shape"):
        T.add(T.ones(3), 1, out=p)
    assert p.tolist() == [2, 2, 2]


@oracle.both
def test_promotion(T):
    kinds = [T.bool, T.uint8, T.int8, T.int16, T.int32, T.int64, T.float32, T.float64, T.complex64, T.complex128]
    names = []
    for a in kinds:
        for b in kinds:
            names.append(str((T.ones(2, dtype=a) * T.ones(2, dtype=b)).dtype))
            names.append(str((T.ones(2, dtype=a) * T.ones((), dtype=b)).dtype))
        for number in (True, 2, 2.5, 1j):
            names.append(str((T.ones(2, dtype=a) * number).dtype))
            names.append(str((T.ones((), dtype=a) * number).dtype))
        names.append(str((T.ones(2, dtype=a) / 2).dtype) if a is not T.bool else "")
        names.append(str(T.ones(2, dtype=a).sum().dtype))
        names.append(str(T.exp(T.ones(2, dtype=a)).dtype))
    return names


def test_pickle_and_deepcopy():
    import copy
    import pickle

    x = nb.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    y = copy.deepcopy(x)
    assert y.requires_grad and y.grad.tolist() == [2, 4] and y is not x
    z = pickle.loads(pickle.dumps(x))
    assert z.requires_grad and z.tolist() == [1, 2]
    assert pickle.loads(pickle.dumps(nb.float32)) is nb.float32
    assert pickle.loads(pickle.dumps(x.shape)) == (2,)


def test_a_write_of_what_is_the_same_memory_uses_the_former_values():
    """Check a gradient that is right here and an error in PyTorch."""
    x = nb.tensor([2.0, 3.0], requires_grad=True)
    y = x * 1
    y.mul_(y.detach())
    y.sum().backward()
    assert x.grad.tolist() == [2, 3]
