"""``x.data = ...`` between forward and backward."""

from __future__ import annotations

from typing import Any

from tests.parity.differences.both import agrees, differs
from tests.parity.differences.saving import leaf, squares


@agrees
def test_a_saved_leaf_has_its_new_data(torch: Any) -> Any:
    found = []
    for values in (1.0, [1.0, 2.0]):
        for f in (lambda x: x * x, lambda x: x**2, squares(torch).apply):
            new = torch.tensor(values) * 5
            for change in ("exchange", "write", "exchange twice", "exchange and write"):
                x = torch.tensor(values, requires_grad=True)
                y = f(x).sum()
                if change != "write":
                    x.data = new
                if change.endswith("twice"):
                    x.data = x.data + 1
                if change.endswith("write"):
                    x.data.mul_(2)
                (g,) = torch.autograd.grad(y, x, create_graph=True)
                found.append((g, torch.autograd.grad(g.sum(), x)[0], x.data))
                new = torch.tensor(values) * 5
    return found


@agrees
def test_exchanged_data_of_computed_tensors(torch: Any) -> Any:
    x = leaf(torch, 1.0, 2.0)
    b = x * 1
    y = (b * b).sum()
    b.data = torch.tensor([5.0, 6.0])
    y.backward()
    first = x.grad
    e = x.exp()  # a result saved by its own node is not exchanged
    z = (e * e).sum()
    e.data = torch.zeros(2)
    x.grad = None
    z.backward()
    return first, x.grad


@agrees
def test_exchanged_data_is_that_of_one_tensor(torch: Any) -> Any:
    v, x = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    x.data = v
    y = (v * v).sum()
    x.data = torch.zeros(2)
    y.backward()
    return v.grad


@agrees
def test_exchanged_data_that_was_written_to_before(torch: Any) -> Any:
    new = torch.zeros(2)
    x = leaf(torch, 1.0, 2.0)
    y = (x * x).sum() + squares(torch).apply(x).sum()
    new.fill_(5)
    x.data = new
    y.backward()
    return x.grad


@agrees(says="modified by an inplace operation")
def test_exchanged_data_that_is_written_to(torch: Any) -> Any:
    x = leaf(torch, 1.0, 2.0)
    y = (x * x).sum()
    x.data = torch.zeros(2)
    with torch.no_grad():
        x.add_(1)
    y.backward()


@agrees(says="The size of")
def test_exchanged_data_of_another_shape(torch: Any) -> Any:
    x = leaf(torch, 1.0, 2.0)
    y = (x * x).sum()
    x.data = torch.ones(3)
    y.backward()


@agrees
def test_exchanged_data_is_shown(torch: Any) -> Any:
    x = leaf(torch, 1.0, 2.0)
    y = x**2
    x.data = torch.zeros(2)
    return y.grad_fn._saved_self is x, y.grad_fn._saved_self


@differs("What was saved in another dtype, or of a tensor that is gone, keeps its value", [1.0, 2.0], [2.0, 4.0])
def test_exchanged_data_that_was_promoted(torch: Any) -> Any:
    x = leaf(torch, 1.0, 2.0)
    y = (x * x.double()).sum()
    x.data = torch.zeros(2)
    y.backward()
    return x.grad.tolist()


@agrees
def test_exchanged_data_and_a_view_of_all_of_it(torch: Any) -> Any:
    x = leaf(torch, 1.0, 2.0)
    with torch.no_grad():
        former = x.squeeze()
    y = x * former
    x.data = torch.zeros(2)
    y.sum().backward()
    return x.grad, former


@agrees
def test_views_of_views_by_data(torch: Any) -> Any:
    x = torch.arange(6.0)
    part = x[2:5].data
    part.data[1:].mul_(10)
    return x, part, part.storage_offset(), x.data.data._version


@agrees
def test_unpack_hook_that_gives_another_shape(torch: Any) -> Any:
    x = leaf(torch, 1.0, 2.0)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: torch.ones(3), lambda t: t):
        y = (x * x).sum()
    y.backward()
