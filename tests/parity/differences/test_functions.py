"""Test custom functions: instances, former names, and double differentiation."""

from __future__ import annotations

from typing import Any

import pytest

from tests.parity.differences.both import agrees


def legacy(torch: Any) -> Any:
    """A Function as it was written once, with methods."""

    class Double(torch.autograd.Function):
        def forward(self, x: Any) -> Any:
            return x * 2

        def backward(self, gradient: Any) -> Any:
            return gradient * 2

    return Double


@agrees
def test_an_instance_warns(torch: Any) -> Any:
    with pytest.warns(
        DeprecationWarning, match="should not be instantiated. Methods on autograd functions are all static"
    ):
        instance = legacy(torch)()
    return [instance.forward(torch.ones(1)), isinstance(instance, torch.autograd.Function)]


@agrees(says="Legacy autograd function with non-static forward method is deprecated.")
def test_an_instance_cannot_be_called(torch: Any) -> Any:
    return legacy(torch)()(torch.ones(1))


@agrees
def test_attributes_of_an_instance(torch: Any) -> Any:
    class Scale(torch.autograd.Function):
        def __init__(self, factor: float) -> None:
            self.factor = factor

        def forward(self, x: Any) -> Any:
            return x * self.factor

    return Scale(3.0).forward(torch.ones(1))


def square(torch: Any, names: Any, *, once: bool = False) -> Any:
    """The square, whose backward reads the saved tensor by one of two names."""

    def backward(ctx: Any, gradient: Any) -> Any:
        (x,) = getattr(ctx, names)
        return gradient * 2 * x

    decorated = torch.autograd.function.once_differentiable(backward) if once else backward

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

    Square.backward = staticmethod(decorated)
    return Square


@agrees
def test_saved_variables_warns(torch: Any) -> Any:
    x = torch.tensor([3.0], requires_grad=True)
    y = square(torch, "saved_variables").apply(x)
    with pytest.warns(DeprecationWarning, match="'saved_variables' is deprecated; use 'saved_tensors'"):
        y.backward()
    return x.grad


@agrees
def test_once_differentiable_of_a_constant_gradient(torch: Any) -> Any:
    x = torch.tensor([3.0], requires_grad=True)
    (g,) = torch.autograd.grad(square(torch, "saved_tensors", once=True).apply(x), x, create_graph=True)
    return [g, g.requires_grad]


@agrees(says="trying to differentiate twice a function that was marked with @once_differentiable")
def test_once_differentiable_of_a_gradient_that_requires_grad(torch: Any) -> Any:
    x, v = (torch.tensor([3.0], requires_grad=True) for _ in range(2))
    (g,) = torch.autograd.grad(square(torch, "saved_tensors", once=True).apply(x), x, v, create_graph=True)
    assert g.requires_grad
    g.backward()
