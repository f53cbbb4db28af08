"""Subclasses of tensors, and other classes with ``__torch_function__``, under both libraries."""

from __future__ import annotations

import gc
from typing import Any

import pytest

import nbautograd
from nbautograd._engine.core import overrides
from tests.parity.differences.both import agrees


@pytest.fixture(autouse=True)
def classes_are_forgotten() -> Any:
    """Check that classes defined by a test are freed, and that operations do not search for them."""
    yield
    gc.collect()
    nbautograd.mul(nbautograd.ones(1), 2)  # an operation returns to its own code at its first call without a mode
    assert overrides.subclasses == [] and nbautograd.mul.__code__.co_name == "mul"


def plain_subclass(torch: Any) -> Any:
    class Points(torch.Tensor):
        pass

    return Points


def names(*values: Any) -> list[str]:
    return [type(value).__name__ for value in values]


@agrees
def test_operations_keep_a_subclass(torch: Any) -> Any:
    x, plain = torch.ones(2, 2).as_subclass(plain_subclass(torch)), torch.ones(2, 2)
    return names(
        *(x * 2, 2 * x, x + plain, plain + x, x @ plain, -x, x == 1, x**2, x.sum(), x.sum(0), torch.sum(x)),
        *(torch.exp(x), torch.stack([x, x]), torch.cat([plain, x]), torch.where(x > 0, x, plain), x[0], x[x > 0]),
        *(x.T, x.mT, x.view(4), x.reshape(4), x.clone(), x.detach(), x.data, x.float(), x.double(), x.to(torch.int64)),
        *(x.unsqueeze(0), x.expand(3, 2, 2), x.contiguous(), x.new_zeros(2), torch.zeros_like(x), x.max(0)[0]),
        *(x.split(1)[0], x.unbind()[1], x.softmax(0), torch.nn.functional.relu(x), x.norm(), x.topk(1)[1], x.numpy()),
        *(x.shape, x.tolist(), x.size(), x.dtype, x.dim(), torch.nn.functional.linear(x, plain)),
    )


@agrees
def test_subclasses_print_their_name(torch: Any) -> Any:
    x = torch.ones(2, 2).as_subclass(plain_subclass(torch))
    return [repr(x), repr(x[0] * 2), str(x.requires_grad_()), repr(x * 2)]


@agrees
def test_the_graph_goes_through_them(torch: Any) -> Any:
    leaf = torch.tensor([1.0, 2.0], requires_grad=True)
    x = leaf.as_subclass(plain_subclass(torch))
    y = (x * x).sum()
    y.backward()
    own = torch.Tensor._make_subclass(type(x), torch.tensor([3.0]), True)
    (own * 2).sum().backward()
    return [names(x, y, leaf.grad, own, own.grad), leaf.grad, own.grad.as_subclass(torch.Tensor), own.is_leaf]


@agrees
def test_writes_in_place_keep_a_subclass(torch: Any) -> Any:
    x = torch.ones(3).as_subclass(plain_subclass(torch))
    y = x
    x += 1
    x[0] = 5
    x.mul_(2).sub_(1)
    return [x is y, names(x, x.add_(1)), x.tolist()]


@agrees(exact=True)
def test_a_subclass_with_arguments_of_its_own(torch: Any) -> Any:
    class Metered(torch.Tensor):
        @staticmethod
        def __new__(cls: Any, data: Any, unit: str) -> Any:
            return super().__new__(cls, data)

        def __init__(self, data: Any, unit: str) -> None:
            self.unit = unit

    x = Metered([1.0, 2.0], "m")
    return [x.unit, names(x, x * 2), x.tolist(), hasattr(x * 2, "unit"), isinstance(x, torch.Tensor)]


@agrees
def test_parameters_come_to_plain_tensors(torch: Any) -> Any:
    class Scale(torch.nn.Parameter):
        pass

    p, q = torch.nn.Parameter(torch.ones(2)), Scale(torch.ones(2))
    return names(p * 2, q, q * 2, torch.nn.Parameter(torch.ones(2).as_subclass(plain_subclass(torch))))


@agrees
def test_a_subclass_sees_every_call(torch: Any) -> Any:
    calls: list[str] = []

    class Logged(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            calls.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs)

    x = torch.ones(3).as_subclass(Logged)
    calls.clear()
    y = torch.sum(torch.exp(x * 2) + 1, dim=0)
    z = torch.cat([x, x]).view(2, 3).mean(1)
    x.add_(1).mul_(2)
    x += 1
    torch.sin_(x)
    torch.softmax(x, 0), x.reshape(1, 3), torch.max(x), torch.nn.functional.linear(x, torch.ones(2, 3))
    return [calls, names(y, z)]


@agrees
def test_a_subclass_changes_a_call(torch: Any) -> Any:
    class Loud(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func is torch.exp:
                return "no exponentials"
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.ones(2).as_subclass(Loud)
    return [torch.exp(x), torch.log(x).tolist(), names(torch.log(x))]


@agrees
def test_two_subclasses(torch: Any) -> Any:
    above = plain_subclass(torch)

    class Below(above):  # type: ignore[misc, valid-type]
        pass

    class Other(torch.Tensor):
        pass

    x, y, z = (torch.ones(2).as_subclass(cls) for cls in (above, Below, Other))
    with pytest.raises(TypeError, match="Multiple dispatch failed for 'torch"):
        torch.add(x, z)
    return names(x + y, y + x)


def diagonal_class(torch: Any) -> tuple[Any, dict[Any, Any]]:
    """A class that is not a tensor, as an argument of functions."""
    table: dict[Any, Any] = {}

    class Diagonal:
        def __init__(self, n: int, value: float) -> None:
            self.n, self.value = n, value

        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func not in table:
                return NotImplemented
            return table[func](*args, **(kwargs or {}))

    return Diagonal, table


@agrees
def test_objects_that_are_no_tensors(torch: Any) -> Any:
    Diagonal, table = diagonal_class(torch)
    table[torch.mean] = lambda d: d.value / d.n
    table[torch.add] = table[torch.Tensor.add] = lambda a, b, alpha=1: ("add", alpha)
    table[torch.exp] = lambda d: ("exp", d.n)
    table[torch.matmul] = lambda a, b: "matmul"
    table[torch.cat] = lambda tensors, dim=0: ("cat", len(tensors), dim)
    table[torch.stack] = lambda tensors, dim=0: ("stack", dim)
    table[torch.sum] = lambda d, dim=None: ("sum", dim)
    table[torch.where] = lambda *args: "where"
    table[torch.nn.functional.linear] = lambda input, weight: "linear"
    d, x = Diagonal(5, 2.0), torch.ones(2)
    return [
        *(torch.mean(d), torch.add(d, x), torch.add(x, d), torch.add(d, d, alpha=3), torch.exp(d), x + d),
        *(torch.matmul(d, x), torch.cat([d, x]), torch.stack([d, d], dim=1), torch.sum(d), torch.sum(d, dim=1)),
        *(torch.where(x > 0, x, d), torch.nn.functional.linear(d, x)),
    ]


@agrees(says="Multiple dispatch failed for 'torch")
def test_objects_for_which_nothing_is_defined(torch: Any) -> Any:
    Diagonal, _ = diagonal_class(torch)
    return torch.sin(Diagonal(5, 2.0))


@agrees
def test_torch_overrides(torch: Any) -> Any:
    from importlib import import_module

    asked = torch.overrides if hasattr(torch, "overrides") else import_module(f"{torch.__name__}.overrides")
    Diagonal, table = diagonal_class(torch)
    Points, d, x = plain_subclass(torch), Diagonal(2, 1.0), torch.ones(2)

    def area(shape: Any) -> Any:
        if asked.has_torch_function_unary(shape):
            return asked.handle_torch_function(area, (shape,), shape)
        return "plain"

    table[area] = lambda shape: shape.n * shape.value
    points = x.as_subclass(Points)
    return [
        *(asked.has_torch_function([x, 3]), asked.has_torch_function([d]), asked.has_torch_function((points,))),
        *(asked.has_torch_function_variadic(x, d), asked.has_torch_function_unary(torch.nn.Parameter(x))),
        *(asked.is_tensor_like(x), asked.is_tensor_like(d), asked.is_tensor_like(3), area(x), area(d), area(points)),
        *(asked.resolve_name(torch.nn.functional.relu), asked.is_tensor_method_or_property(torch.Tensor.add)),
    ]
