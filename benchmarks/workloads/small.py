"""a, b: tensors of a few elements, for which time is the overhead of the library."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from workloads import Maker, Program, Workload, lazy, makers, recorded

STEPS = 500  # each is two operations
NESTED = 100  # limit of the steps that tinygrad may write as one expression in C: clang allows 256 nested brackets


def chain(y: Any, a: Any, b: Any, steps: int = STEPS) -> Any:
    """1,000 operations, one after the other."""
    for _ in range(steps):
        y = y * a
        y = y + b
    return y


def chained(shape: tuple[int, ...]) -> dict[str, Maker]:
    """The chain on tensors of a shape."""

    def same(torch: Any) -> Program:
        def program() -> tuple[Any, Any]:
            x = torch.ones(shape, requires_grad=True)
            y = chain(x, torch.full(shape, 0.999), torch.full(shape, 0.001))
            y.backward()
            return y, x.grad

        return program

    def hips() -> Program:
        autograd, numpy = import_module("autograd"), import_module("autograd.numpy")

        def program() -> tuple[Any, Any]:
            a, b = np.full(shape, 0.999, np.float32), np.full(shape, 0.001, np.float32)
            whole = autograd.value_and_grad(lambda x: numpy.sum(chain(x, a, b)) if shape else chain(x, a, b))
            return whole(np.ones(shape, np.float32))

        return program

    def mygrad() -> Program:
        mg = import_module("mygrad")

        def program() -> tuple[Any, Any]:
            x = mg.tensor(np.ones(shape, np.float32))
            y = chain(x, np.full(shape, 0.999, np.float32), np.full(shape, 0.001, np.float32))
            y.backward()
            return y, x.grad

        return program

    def tinygrad() -> Program:
        tensors = lazy.library().Tensor

        def program() -> tuple[Any, ...]:
            x = y = tensors.ones(shape)
            a, b = tensors.full(shape, 0.999), tensors.full(shape, 0.001)
            for _ in range(STEPS // NESTED):
                y = chain(y, a, b, NESTED).contiguous()
            y.sum().backward()
            return lazy.computed(y, x.grad)

        return program

    return makers(same, hips=hips, mygrad=mygrad, tinygrad=tinygrad)


def seed() -> dict[str, Maker]:
    """The graph of the first tutorial: mean(3 (x + 2)²) of a 2×2 tensor."""

    def expression(x: Any) -> Any:
        y = x + 2
        return y * y * 3

    def same(torch: Any) -> Program:
        def program() -> tuple[Any, Any]:
            x = torch.ones(2, 2, requires_grad=True)
            out = expression(x).mean()
            out.backward()
            return out, x.grad

        return program

    def traced(torch: Any, prepare: Any) -> Program:
        function = prepare(lambda x: expression(x).mean(), (torch.ones(2, 2, requires_grad=True),))

        def program() -> tuple[Any, Any]:
            x = torch.ones(2, 2, requires_grad=True)
            out = function(x)
            out.backward()
            return out, x.grad

        return program

    def hips() -> Program:
        autograd, numpy = import_module("autograd"), import_module("autograd.numpy")
        return lambda: autograd.value_and_grad(lambda x: numpy.mean(expression(x)))(np.ones((2, 2), np.float32))

    def mygrad() -> Program:
        mg = import_module("mygrad")

        def program() -> tuple[Any, Any]:
            x = mg.tensor(np.ones((2, 2), np.float32))
            out = expression(x).mean()
            out.backward()
            return out, x.grad

        return program

    def tinygrad() -> Program:
        tensors = lazy.library().Tensor

        def program() -> tuple[Any, ...]:
            x = tensors.ones(2, 2)
            out = expression(x).mean()
            out.backward()
            return lazy.computed(out, x.grad)

        return program

    return makers(same, hips=hips, mygrad=mygrad, tinygrad=tinygrad) | recorded(traced)


WORKLOADS = [
    Workload("a", "1,000-operation chain, 0-d", chained(()), {"PyTorch": 0.25, "others": 0.1}, repeats=3),
    Workload("a1", "1,000-operation chain, 1 element", chained((1,)), {"PyTorch": 0.4, "others": 0.25}, repeats=3),
    Workload("b", "`mean(3 (x + 2)²)`, 2×2", seed(), {"PyTorch": 0.4, "others": 0.25}, repeats=300),
]
