"""Saved tensors: who sees them, hooks that change them, ``save_on_cpu``, indices, several results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.parity.differences.both import agrees, differs
from tests.parity.differences.saving import doubling, identity, leaf, squares

# -- who sees what ---------------------------------------------------------------------------------------------------


@agrees
def test_hooks_get_the_tensors_themselves(torch: Any) -> Any:
    seen: list[Any] = []
    x, p = leaf(torch, 1.0, 2.0), torch.nn.Parameter(torch.ones(2))
    with identity(torch, seen):
        y = x * p
        z = y.exp()
    kinds = [type(t).__name__ for t in seen]
    return [t is p for t in seen], [t is x for t in seen], [t is z for t in seen], kinds, [t.is_leaf for t in seen]


@agrees
def test_hooks_get_what_functions_save(torch: Any) -> Any:
    seen: list[Any] = []
    x = leaf(torch, 1.0, 2.0)
    with identity(torch, seen):
        squares(torch).apply(x)
    return [t is x for t in seen], [t.tolist() for t in seen]


@agrees
def test_hooks_get_operands_as_they_were_before_promotion(torch: Any) -> Any:
    seen: list[Any] = []
    x = leaf(torch, 1.0, 2.0)
    with identity(torch, seen):
        y = x * torch.tensor([3, 4]) + x * torch.ones(2, dtype=torch.float64) + 3 * x
    y.sum().backward()
    return [t.dtype for t in seen], x.grad


@agrees
def test_what_was_made_outside_is_not_packed_by_an_operation_that_returns_it(torch: Any) -> Any:
    seen: list[Any] = []
    y = leaf(torch, 1.0, 2.0).exp()
    with identity(torch, seen):
        y.contiguous()
        y.to(torch.float32)
    return len(seen)


@agrees
def test_modes_inside_hooks(torch: Any) -> Any:
    grad_modes: list[bool] = []

    def note(t: Any) -> Any:
        grad_modes.append(torch.is_grad_enabled())
        return t

    x = leaf(torch, 1.0, 2.0)
    with torch.autograd.graph.saved_tensors_hooks(note, note):
        y = (x * x).sum()
    torch.autograd.grad(y, x, create_graph=True)
    torch.autograd.grad(y, x)
    return grad_modes


@agrees
def test_operations_inside_pack_hooks_are_not_packed(torch: Any) -> Any:
    calls: list[int] = []
    x = leaf(torch, 1.0, 2.0)

    def pack(t: Any) -> Any:
        calls.append(1)
        return t * leaf(torch, 1.0, 1.0)

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        y = (x**3).sum()
    y.backward()
    return len(calls), x.grad


# -- hooks that change values ----------------------------------------------------------------------------------------

EXPRESSIONS: list[Callable[[Any, Any], Any]] = [
    lambda torch, x: (x**3).sum(),
    lambda torch, x: (x * x * x).sum(),
    lambda torch, x: x.exp().sum(),
    lambda torch, x: (x.exp() * x).sum(),
    lambda torch, x: (x.sin() * x).sum(),
    lambda torch, x: x @ x,
    lambda torch, x: (1 / x).sum() + (x / (x + 1)).sum(),
    lambda torch, x: (x * x.sum()).sum(),
    lambda torch, x: (x * torch.tensor([3.0, 4.0], dtype=torch.float64)).pow(2).sum(),
    lambda torch, x: torch.nn.functional.linear(x[None], x[None] * x).sum(),
    lambda torch, x: torch.cat([x, x * x]).pow(2).sum(),
    lambda torch, x: (x * x).sqrt().sum(),
    lambda torch, x: squares(torch).apply(x).sum(),
    lambda torch, x: (squares(torch).apply(x.exp()) * x).sum(),
]


def derivatives(torch: Any, f: Callable[[Any, Any], Any], first: bool, second: bool) -> Any:
    """The first and second derivative, with hooks around one of the passes, or both."""
    x = leaf(torch, 1.0, 2.0)
    if first and second:
        with doubling(torch):
            (g,) = torch.autograd.grad(f(torch, x), x, create_graph=True)
    elif first:
        with doubling(torch):
            y = f(torch, x)
        (g,) = torch.autograd.grad(y, x, create_graph=True)
    else:
        y = f(torch, x)
        with doubling(torch):
            (g,) = torch.autograd.grad(y, x, create_graph=True)
    return g, torch.autograd.grad(g.sum(), x)[0]


@agrees
def test_hooks_that_are_no_inverses_around_the_first_pass(torch: Any) -> Any:
    return [derivatives(torch, f, True, False) for f in EXPRESSIONS]


@agrees
def test_hooks_that_are_no_inverses_around_both_passes(torch: Any) -> Any:
    return [derivatives(torch, f, True, True) for f in EXPRESSIONS]


@agrees
def test_hooks_that_are_no_inverses_around_the_second_pass(torch: Any) -> Any:
    return [derivatives(torch, f, False, True) for f in EXPRESSIONS]


@agrees
def test_lossy_packing_is_the_same_with_and_without_a_recorded_pass(torch: Any) -> Any:
    found = []
    for create_graph in (False, True):
        x = leaf(torch, 1.0001)
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t.half(), lambda t: t.float()):
            y = (x**3).sum()
        found.append(torch.autograd.grad(y, x, create_graph=create_graph)[0])
    return found


@agrees
def test_saved_tensors_are_shown_unpacked(torch: Any) -> Any:
    x = leaf(torch, 1.0, 2.0)
    with doubling(torch):
        a = x**3
    b = x**3
    b.grad_fn._raw_saved_self.register_hooks(lambda t: 3 * t, lambda t: t)
    c = squares(torch)
    with doubling(torch):
        d = c.apply(x)
    shown = [a.grad_fn._saved_self, b.grad_fn._saved_self, *d.grad_fn.saved_tensors]
    return shown, [t.requires_grad for t in shown]


@agrees
def test_hooks_on_one_result(torch: Any) -> Any:
    x = leaf(torch, 1.0, 2.0)
    y = x.exp()
    y.grad_fn._raw_saved_result.register_hooks(lambda t: 2 * t, lambda t: t)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    return g, torch.autograd.grad(g.sum(), x)[0]


@agrees
def test_indices_that_hooks_change(torch: Any) -> Any:
    x = leaf(torch, 1.0, 2.0, 3.0)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t + 1 if t.dtype is torch.int64 else t, lambda t: t):
        y = (x[torch.tensor([0, 1])] * torch.tensor([1.0, 2.0])).sum()
    y.backward()
    return x.grad


@differs("A recorded pass packs the saved tensors of its own steps", pytorch=[-2.1795, -0.0429], here=[-4.359, -0.0858])
def test_hooks_around_the_second_pass_of_what_is_one_step_in_pytorch(torch: Any) -> Any:
    _, second = derivatives(torch, lambda torch, x: (x * 2).tanh().sum(), False, True)
    return [round(v, 4) for v in second.tolist()]


# -- in place, and errors --------------------------------------------------------------------------------------------


@agrees
def test_hooks_that_keep_what_is_then_written_to(torch: Any) -> Any:
    x = leaf(torch, 1.0, 2.0)
    y = x * 1
    with identity(torch, []):
        z = y.mul_(x)
    z.mul_(3)
    z.sum().backward()
    return x.grad


@agrees(says="A saved tensor pack hook is modifying its input in place")
def test_pack_hook_that_writes(torch: Any) -> Any:
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t):
        return leaf(torch, 1.0, 2.0) ** 2


@agrees(says="A saved tensor pack hook is modifying its input in place")
def test_pack_hook_on_one_that_writes(torch: Any) -> Any:
    y = leaf(torch, 1.0, 2.0) ** 2
    y.grad_fn._raw_saved_self.register_hooks(lambda t: t.mul_(2), lambda t: t)


@agrees
def test_unpack_hook_that_raises_leaves_the_graph_as_it_was(torch: Any) -> Any:
    x, tries = leaf(torch, 1.0, 2.0), []

    def unpack(t: Any) -> Any:
        tries.append(1)
        if len(tries) == 1:
            raise ValueError("not yet")
        return t

    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
        y = (x**3).sum()
    try:
        y.backward()
    except ValueError as error:
        tries.append(str(error))
    y.backward()
    return tries, x.grad


@agrees(says="no packing")
def test_pack_hook_that_raises(torch: Any) -> Any:
    def pack(t: Any) -> Any:
        raise ValueError("no packing")

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        return leaf(torch, 1.0) ** 2


@agrees
def test_hooks_that_are_not_callable(torch: Any) -> Any:
    with torch.autograd.graph.saved_tensors_hooks(1, 2):
        pass


@agrees
def test_hooks_on_one_that_are_not_callable(torch: Any) -> Any:
    (leaf(torch, 1.0) ** 2).grad_fn._raw_saved_self.register_hooks(1, 2)


@agrees(says="Trying to create a SavedTensor object from Python is forbidden.")
def test_saved_tensors_cannot_be_made(torch: Any) -> Any:
    torch.autograd.SavedTensor()


@agrees(says="Calling register_hooks on a saved tensor after it has been freed.")
def test_hooks_on_what_is_freed(torch: Any) -> Any:
    y = leaf(torch, 1.0) ** 2
    y.sum().backward()
    y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)


@agrees(says="only one pair of hooks is allowed at a time")
def test_hooks_on_what_has_hooks(torch: Any) -> Any:
    y = leaf(torch, 1.0) ** 2
    for _ in range(2):
        y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)


# -- disabled, nested, on the CPU ------------------------------------------------------------------------------------


@agrees(says="outer")
def test_disabled_hooks_when_an_inner_block_has_ended(torch: Any) -> Any:
    disable = torch.autograd.graph.disable_saved_tensors_hooks
    with disable("outer"):
        with disable("inner"):
            pass
        with identity(torch, []):
            pass


@agrees(says="not inside")
def test_disabling_inside_hooks(torch: Any) -> Any:
    with identity(torch, []), torch.autograd.graph.disable_saved_tensors_hooks("not inside"):
        pass


@agrees
def test_hooks_on_one_are_not_disabled(torch: Any) -> Any:
    with torch.autograd.graph.disable_saved_tensors_hooks("none here"):
        y = leaf(torch, 1.0, 2.0) ** 2
        y.grad_fn._raw_saved_self.register_hooks(lambda t: t * 2, lambda t: t)
        return y.grad_fn._saved_self


@agrees
def test_save_on_cpu_with_second_derivatives(torch: Any) -> Any:
    x = leaf(torch, 1.0, 2.0)
    with torch.autograd.graph.save_on_cpu(pin_memory=True):
        y = (x**3).sum() + squares(torch).apply(x).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    return g, torch.autograd.grad(g.sum(), x)[0]


@differs("`save_on_cpu` also copies tensors that are on the CPU already", pytorch=[10.0], here=[2.0])
def test_write_after_save_on_cpu(torch: Any) -> Any:
    x = leaf(torch, 1.0)
    y = x * 1
    with torch.autograd.graph.save_on_cpu():
        z = y * y
    with torch.no_grad():
        y.mul_(5)
    z.backward()
    return x.grad.tolist()


# -- indices and several results -------------------------------------------------------------------------------------


@agrees(says="Trying to backward through the graph a second time")
def test_backward_through_an_index_twice(torch: Any) -> Any:
    y = leaf(torch, 1.0, 2.0, 3.0)[[0, 1]].sum()
    y.backward()
    y.backward()


@agrees(says="Trying to backward through the graph a second time")
def test_backward_through_an_assignment_twice(torch: Any) -> Any:
    x = leaf(torch, 1.0, 2.0, 3.0) * 1
    x[[0, 1]] = torch.zeros(2)
    y = x.sum()
    y.backward()
    y.backward()


@agrees(says="has been modified by an inplace operation: [torch.LongTensor [2]] is at version 1; expected version 0")
def test_index_that_is_written_to(torch: Any) -> Any:
    index = torch.tensor([0, 1])
    y = leaf(torch, 1.0, 2.0, 3.0)[index].sum()
    index.fill_(2)
    y.backward()


@agrees
def test_indices_are_shown(torch: Any) -> Any:
    x = torch.ones(2, 3, requires_grad=True)
    return x[:, [0, 1]].grad_fn._saved_indices, x[torch.tensor([0])].grad_fn._saved_indices


@agrees
def test_second_derivatives_through_indices(torch: Any) -> Any:
    x = torch.arange(6.0, requires_grad=True)
    y = x.clone()
    y[[0, 1]] = y[[2, 3]] * 2
    y[x > 3] *= 2
    (g,) = torch.autograd.grad((y**3).sum() + (x[[1, 1, 2]] ** 3).sum(), x, create_graph=True)
    return g, torch.autograd.grad(g.sum(), x)[0]


@agrees
def test_results_that_backward_does_not_need_may_be_written_to(torch: Any) -> Any:
    functional = torch.nn.functional
    image = (torch.arange(16.0) % 7).reshape(1, 1, 4, 4).requires_grad_()
    x = torch.tensor([[1.0, 3.0, 2.0]], requires_grad=True)
    results = [functional.max_pool2d(image, 2), functional.layer_norm(x, (3,)), x.max(1)[0], x.sort(1)[0], x.topk(2)[0]]
    sum(r.mul_(2).sum() for r in results).backward()
    return image.grad, x.grad


@agrees(says="has been modified by an inplace operation")
def test_several_results_that_backward_needs(torch: Any) -> Any:
    u, s, _ = torch.linalg.svd(torch.eye(2).requires_grad_() + torch.ones(2, 2))
    u.mul_(2)
    (u.sum() + s.sum()).backward()


@differs("Only the shape is saved where the shape is enough for backward", pytorch=[2, 1], here=[1, 0])
def test_tensors_saved_for_their_shape(torch: Any) -> Any:
    seen: list[Any] = []
    x = torch.ones(1, 1, 4, 4, requires_grad=True)
    with identity(torch, seen):
        x.gather(0, torch.zeros(1, 1, 4, 4, dtype=torch.int64))
    first = len(seen)
    with identity(torch, seen):
        torch.nn.functional.avg_pool2d(x, 2)
    return [first, len(seen) - first]


@differs("A composite function saves the tensors of its own steps", pytorch=[[1, 2, 2]] * 2, here=[[2, 2]] * 2)
def test_steps_of_einsum(torch: Any) -> Any:
    seen: list[Any] = []
    x = torch.ones(2, 2, requires_grad=True)
    with identity(torch, seen):
        torch.einsum("ij,jk", x, x)
    return [list(t.shape) for t in seen]


@differs("A node keeps the arrays of computed tensors, not the tensors", pytorch=[True, True], here=[False, True])
def test_identity_of_saved_tensors(torch: Any) -> Any:
    x = leaf(torch, 1.0)
    b = x * x
    c = x * b
    return [c.grad_fn._saved_other is b, c.grad_fn._saved_self is x]


@agrees
def test_restored_leaves_are_leaves(torch: Any) -> Any:
    """A leaf that a hook restores is a leaf to its readers, and its gradient flows to the original."""
    x = torch.ones(2, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: ("packed", t * 3), lambda packed: packed[1]):
        results = [x.exp(), x * x, x.pow(2)]
    saved = [results[0].grad_fn._saved_result, results[1].grad_fn._saved_self, results[2].grad_fn._saved_self]
    (gradient,) = torch.autograd.grad(results[1].sum(), x, create_graph=True)
    after = gradient.grad_fn.next_functions[0][0]
    ways = [(t.is_leaf, t.requires_grad, type(t.grad_fn).__name__, repr(t)) for t in saved]
    gradient.sum().backward()
    return ways, saved, type(after.next_functions[0][0]).__name__, x.grad


@agrees
def test_data_of_a_saved_tensor(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    saved = (x * x).grad_fn._raw_saved_self
    before = saved.data
    saved.register_hooks(lambda t: t * 3, lambda t: t + 1)
    return before, saved.data
