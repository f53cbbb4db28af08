"""Nodes, edges, hooks and saved tensors, beside PyTorch."""

from __future__ import annotations

import gc
import random
import weakref

import pytest

import nbautograd as nb
from nbautograd._engine.compiler import op
from nbautograd._engine.core import dispatch_mode
from tests import oracle


def doubled(T):
    x = T.ones(2, requires_grad=True)
    return x, x * 2


# -- hooks -----------------------------------------------------------------------------------------------------------


@oracle.both
def test_the_order_of_all_hooks(T):
    seen = []
    x, y = doubled(T)
    z = y * 3
    x.register_hook(lambda g: seen.append(("x", g.tolist())))
    x.register_post_accumulate_grad_hook(lambda t: seen.append(("accumulated", t.grad.tolist())))
    accumulate = y.grad_fn.next_functions[0][0]
    accumulate.register_prehook(lambda outs: seen.append(("leaf pre", outs[0].tolist())))
    accumulate.register_hook(lambda ins, outs: seen.append(("leaf post", ins, outs[0].tolist())))
    y.grad_fn.register_prehook(lambda outs: (outs[0] * 10,))
    y.grad_fn.register_hook(lambda ins, outs: seen.append(("post", ins[0].tolist(), outs[0].tolist())))
    y.retain_grad()
    y.register_hook(lambda g: g + 1)
    y.register_hook(lambda g: seen.append(("y", g.tolist())))
    z.sum().backward()
    assert seen == [
        ("y", [4, 4]),
        ("post", [80, 80], [40, 40]),
        ("x", [80, 80]),
        ("leaf pre", [80, 80]),
        ("accumulated", [80, 80]),
        ("leaf post", (), [80, 80]),
    ]
    assert y.grad.tolist() == [4, 4]  # after the tensor's hooks, before the node's


@oracle.both
def test_leaves_are_visited_as_soon_as_they_are_complete(T):
    seen = []
    a, b = (T.ones(1, requires_grad=True) for _ in range(2))
    middle = b * 2
    late = middle * 3
    out = late * a
    middle.register_hook(lambda g: seen.append("middle"))
    a.register_hook(lambda g: seen.append("a"))
    b.register_hook(lambda g: seen.append("b"))
    out.backward()
    assert seen == ["a", "middle", "b"]


def test_a_hook_may_write_into_its_gradient():
    """PyTorch says that it should not; here no other gradient changes by it."""
    x, y = doubled(nb)
    other = nb.ones(2, requires_grad=True)
    out = (y + other).sum()
    y.register_hook(lambda g: [g.mul_(5), None][1])
    y.register_hook(lambda g: None)
    out.backward()
    assert x.grad.tolist() == [10, 10] and other.grad.tolist() == [1, 1]


BAD = [
    (lambda T, y: y.register_hook(lambda g: T.ones(3)), "has changed the size of value"),
    (lambda T, y: y.register_hook(lambda g: 3), "expected Variable, but hook returned 'int'"),
    (lambda T, y: y.register_hook(lambda g: g.double()), "has changed the type of value"),
    (lambda T, y: y.grad_fn.register_hook(lambda i, o: (i[0], i[0])), "can't replace a None gradient with a non-None"),
    (lambda T, y: y.grad_fn.register_hook(lambda i, o: 3), "expected tuple, but hook returned 'int'"),
    (lambda T, y: y.grad_fn.register_prehook(lambda o: (o[0], o[0])), "returned an incorrect number of values"),
    (lambda T, y: y.grad_fn.register_hook(lambda i, o: (T.ones(3), None)), "has changed the size of value"),
]


@oracle.both
@pytest.mark.parametrize(("register", "message"), BAD)
def test_what_hooks_may_not_return(T, register, message):
    x, y = doubled(T)
    register(T, y)
    with pytest.raises((RuntimeError, TypeError), match=message):
        y.sum().backward()
    assert x.grad is None


@oracle.both
def test_handles(T):
    _, y = doubled(T)
    calls = []
    with y.register_hook(lambda g: calls.append(1)):
        y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert calls == [1]
    with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't require grad"):
        T.ones(1).register_hook(print)
    with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't require grad"):
        T.ones(1).register_post_accumulate_grad_hook(print)
    with pytest.raises(RuntimeError, match="cannot be registered on non-leaf"):
        y.register_post_accumulate_grad_hook(print)


@oracle.both
def test_hooks_and_in_place_writes(T):
    x, y = doubled(T)
    seen = []
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.retain_grad()
    y.mul_(3)
    y.sum().backward()
    assert seen == [[3, 3]]  # of the value before the write
    assert y.grad.tolist() == [1, 1] and y.retains_grad and x.grad.tolist() == [6, 6]


@oracle.both
def test_post_accumulate_hooks_can_take_the_gradient_away(T):
    x, y = doubled(T)
    seen = []

    def step(t):
        seen.append(t.grad.tolist())
        t.grad = None

    handle = x.register_post_accumulate_grad_hook(step)
    y.sum().backward()
    assert x.grad is None and seen == [[2, 2]]
    handle.remove()
    T.autograd.grad((x * 2).sum(), x)
    assert len(seen) == 1


@oracle.both
def test_hooks_run_in_grad_too(T):
    x, y = doubled(T)
    x.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: g * 10)
    gx, gy = T.autograd.grad(y.sum(), [x, y])
    assert gx.tolist() == [200, 200]
    if T is nb:  # PyTorch gives 1 for y here, but 10 where y is the only input
        assert gy.tolist() == [10, 10]


@oracle.both
def test_multi_grad_hooks(T):
    a, b, c = (T.tensor(v, requires_grad=True) for v in (2.0, 3.0, 4.0))
    seen, first = [], []
    handle = T.autograd.graph.register_multi_grad_hook(
        (a, b, c), lambda grads: seen.append([None if g is None else g.item() for g in grads])
    )
    T.autograd.graph.register_multi_grad_hook((a, b, c), lambda g: first.append(g.item()), mode="any")
    (a * b).backward()
    (a * b * c).backward()
    (a * b * c).backward(inputs=[a])
    assert seen == [[3, 2, None], [12, 8, 6], [12, None, None]] and len(first) == 3
    handle.remove()
    (a * b).backward()
    assert len(seen) == 3
    with pytest.raises(ValueError, match="Expects mode to be one of"):
        T.autograd.graph.register_multi_grad_hook((a,), print, mode="none")


# -- nodes and edges -------------------------------------------------------------------------------------------------


@oracle.both
def test_gradient_edges(T):
    x = T.ones(4, requires_grad=True)
    y = x * 2
    first, second = y.split(2)
    edges = [T.autograd.graph.get_gradient_edge(t) for t in (y, second, x)]
    out = (first * 3).sum() + (second * second).sum()
    assert edges[1].output_nr == 1 and edges[1].node is second.grad_fn
    for found, expected in zip(
        T.autograd.grad(out, edges, retain_graph=True), ([3, 3, 4, 4], [4, 4], [6, 6, 8, 8]), strict=True
    ):
        assert found.tolist() == expected
    assert T.autograd.grad(out, edges[1], retain_graph=True)[0].tolist() == [4, 4]
    T.autograd.backward(edges[1], T.ones(2), retain_graph=True)
    assert x.grad.tolist() == [0, 0, 2, 2]
    out.backward(inputs=[edges[2]])
    assert x.grad.tolist() == [6, 6, 10, 10]
    assert edges[0].node.name() == "MulBackward0" and isinstance(edges[0].node, T.autograd.graph.Node)
    with pytest.raises((RuntimeError, ValueError), match="not possible to get the gradient edge"):
        T.autograd.graph.get_gradient_edge(T.ones(1))


@oracle.both
def test_saved_accessors(T):
    x = T.tensor([2.0, 3.0], requires_grad=True)
    y = x * x
    node = y.grad_fn
    assert node._saved_self.tolist() == [2, 3] and node._saved_other.requires_grad
    assert x.exp().grad_fn._saved_result.shape == (2,)
    assert (x**2).grad_fn._saved_exponent == 2
    assert (x * T.ones(2)).grad_fn._saved_self is None
    with pytest.raises(AttributeError):
        node._saved_nothing  # noqa: B018
    y.sum().backward()
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        node._saved_self  # noqa: B018


@oracle.both
def test_nodes_can_be_called(T):
    x, y = doubled(T)
    assert y.grad_fn(T.ones(2))[0].tolist() == [2, 2]
    y.grad_fn.next_functions[0][0](T.ones(2))
    assert x.grad.tolist() == [1, 1]


@oracle.both
def test_versions_can_be_incremented(T):
    x = T.ones(2, requires_grad=True)
    y = x.exp()
    T.autograd.graph.increment_version(y)
    assert y._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


# -- saved tensors ---------------------------------------------------------------------------------------------------


def composed(T, x):
    return (x.exp() * x.sin()).sum() + (T.stack([x, x * x]) / 3).sum() + x.max(dim=0)[0] ** 3


@oracle.both
def test_saved_tensors_hooks(T):
    counts = {"pack": 0, "unpack": 0}

    def pack(t):
        counts["pack"] += 1
        return t.tolist(), t.dtype

    def unpack(packed):
        counts["unpack"] += 1
        return T.tensor(packed[0], dtype=packed[1])

    found = []
    for hooked in (True, False):
        x = T.tensor([0.5, 2.0], dtype=T.float64, requires_grad=True)
        if hooked:
            with T.autograd.graph.saved_tensors_hooks(pack, unpack):
                out = composed(T, x)
        else:
            out = composed(T, x)
        first = T.autograd.grad(out, x, create_graph=True)[0]
        found.append([first.tolist(), T.autograd.grad(first.sum(), x)[0].tolist()])
    assert found[0] == found[1] and counts["pack"] > 4 and counts["unpack"] > 4


@oracle.both
def test_only_the_innermost_hooks_apply(T):
    x = T.ones(2, requires_grad=True)
    with (
        T.autograd.graph.saved_tensors_hooks(lambda t: t * 100, lambda t: t),
        T.autograd.graph.saved_tensors_hooks(lambda t: t * 10, lambda t: t),
    ):
        y = x * x
    y.sum().backward()
    assert x.grad.tolist() == [20, 20]


@oracle.both
def test_hooks_see_what_functions_save(T):
    class Square(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, None)
            return x * x

        @staticmethod
        def backward(ctx, g):
            x, nothing = ctx.saved_tensors
            assert nothing is None
            return 2 * x * g

    x = T.ones(2, requires_grad=True)
    with T.autograd.graph.saved_tensors_hooks(lambda t: t * 7, lambda t: t):
        y = Square.apply(x)
    y.sum().backward()
    assert x.grad.tolist() == [14, 14]


@oracle.both
def test_packed_nodes_are_freed_and_can_be_kept(T):
    x = T.ones(2, requires_grad=True)
    with T.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [4, 4]
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()


@oracle.both
def test_packed_tensors_may_be_written_to(T):
    x = T.ones(2, requires_grad=True)
    with T.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        y = x.exp()
        z = (y * y).sum()
    y.mul_(0)
    z.backward()
    return x.grad


@oracle.both
def test_hooks_on_one_saved_tensor(T):
    x = T.ones(2, requires_grad=True)
    y = x.exp()
    y.grad_fn._raw_saved_result.register_hooks(lambda t: t * 2, lambda t: t)
    with pytest.raises(RuntimeError, match="whose hooks have already been set"):
        y.grad_fn._raw_saved_result.register_hooks(lambda t: t, lambda t: t)
    y.sum().backward()
    return x.grad


@oracle.both
def test_hooks_that_go_wrong(T):
    graph = T.autograd.graph
    x = T.ones(2, requires_grad=True)
    with (
        pytest.raises(RuntimeError, match="saved tensor pack hook is modifying its input in place"),
        graph.saved_tensors_hooks(lambda t: t.add_(1), lambda t: t),
    ):
        (x * 2).exp()
    with graph.saved_tensors_hooks(lambda t: t, lambda t: 3):
        y = x.exp()
    with pytest.raises(TypeError, match="unpack_hook expected to be a Tensor but got result of type"):
        y.sum().backward()
    with (
        graph.disable_saved_tensors_hooks("not here"),
        pytest.raises(RuntimeError, match="not here"),
        graph.saved_tensors_hooks(lambda t: t, lambda t: t),
    ):
        pass
    if T is nb:
        assert not dispatch_mode.is_on()


@oracle.both
def test_save_on_cpu(T):
    x = T.tensor([1.0, 2.0], requires_grad=True)
    with T.autograd.graph.save_on_cpu():
        y = (x * x).sum()
    y.backward()
    assert x.grad.tolist() == [2, 4]


@oracle.both
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_mutation_on_saved_tensors(T):
    with T.autograd.graph.allow_mutation_on_saved_tensors() as context:
        x = T.tensor([2.0, 3.0], requires_grad=True)
        y = x.clone()
        out = (y * y).sum() + (y**2).sum()
        y.zero_()
        y[0] = 7
        out.backward()
        assert x.grad.tolist() == [8, 12]
        z = x.clone()
        out = z.exp().sum() + (z * z).sum()
        z.mul_(2)
        context.clear()
        with pytest.raises((RuntimeError, AssertionError)):
            out.backward()
    with T.autograd.graph.allow_mutation_on_saved_tensors():
        out = (x.clone() ** 2).sum()
    with pytest.raises((RuntimeError, AssertionError), match="outside of the 'allow_mutation_on_saved_tensors'"):
        out.backward()


def test_modes_leave_the_operations_as_they_were():
    x = nb.ones(2, requires_grad=True)
    _ = x * x
    code = op.OPS["mul"].function.__code__
    with nb.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        y = x * x
        assert op.OPS["mul"].function.__code__ is not code
        assert type(y.grad_fn).__name__ == "MulBackward0" and isinstance(y.grad_fn, op.OPS["mul"].node("real"))
    _ = x * x  # the next call ends the detour
    assert op.OPS["mul"].function.__code__ is code


def test_a_mode_changes_the_operations_that_are_called_around_it(monkeypatch):
    x = nb.ones(2)
    _ = x * x, x + x, x - x
    changed = []
    exchange, is_on = op.CompiledOp.exchange, dispatch_mode.is_on_anywhere
    monkeypatch.setattr(op.CompiledOp, "exchange", lambda self: (changed.append((self.name, is_on())), exchange(self)))
    for _ in range(2):
        with nb.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            _ = x * x
        _ = x * x, x + x
        changed.append("again")
    second = changed[changed.index("again") + 1 : -1]
    assert sorted(second) == [("add", False), ("add", True), ("mul", False), ("mul", True)]


def test_hooks_that_hold_their_tensor_are_collected():
    x = nb.ones(2, requires_grad=True)
    leaf = nb.ones(2, requires_grad=True)
    refs = []
    for tensor in (x * 2, leaf):
        tensor.register_hook(lambda g, held=tensor: None)
        refs.append(weakref.ref(tensor))
    del tensor, leaf
    gc.collect()
    assert [ref() for ref in refs] == [None, None]


def test_constants_that_operations_share_cannot_be_written_to():
    x = nb.ones(2, requires_grad=True)
    y = x * 7
    y.grad_fn._saved_other.add_(1)
    with pytest.raises(RuntimeError, match="pack hook is modifying its input"):
        y.grad_fn._raw_saved_other.register_hooks(lambda t: t.add_(1), lambda t: t)
    assert (nb.ones(2) * 7).tolist() == [7, 7]
    y.sum().backward()
    assert x.grad.tolist() == [7, 7]


def test_nothing_of_the_engine_shows_on_a_tensor():
    x = nb.ones(2, requires_grad=True)
    public = {name for name in dir(x) if not name.startswith("_")}
    fields = {"seq", "sequence_nr", "relays", "next0", "next1", "input_meta", "extras", "next_nodes"}
    assert public & fields == set()


@pytest.mark.parametrize("seed", range(5))
def test_many_inputs_of_one_node_run_once_each_newest_first(seed: int) -> None:
    """The inputs of a stack depend on each other and enter it in any order."""
    draw = random.Random(seed)
    made = [nb.tensor(1.0, requires_grad=True) * 2]
    for _ in range(30):
        made.append(draw.choice(made) + draw.choice(made))
    ran: list[int] = []
    for i, each in enumerate(made):
        each.grad_fn.register_hook(lambda *_, i=i: ran.append(i))
    nb.stack(draw.sample(made, len(made))).sum().backward()
    assert ran == list(range(len(made)))[::-1]
