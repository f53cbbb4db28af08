"""``torch.jit.trace`` under both libraries."""

from __future__ import annotations

import warnings
from typing import Any

from tests.parity.differences.both import agrees, differs


@agrees(exact=True)
def test_traced_functions(torch: Any) -> Any:
    def function(x: Any, y: Any) -> Any:
        return (x * y).square().sum(), x.t() + 1

    x, y = torch.full((2, 2), 0.5, dtype=torch.float64), torch.full((2, 2), 0.25, dtype=torch.float64)
    traced = torch.jit.trace(function, (x, y))
    other = (y * 2).requires_grad_()
    first, second = traced(x, other)
    first.backward()
    return first, second, other.grad, traced.name, traced.qualified_name, traced(x=x, y=y)[1]


@agrees()
def test_traced_modules(torch: Any) -> Any:
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    traced = torch.jit.trace(net, torch.ones(1, 2))
    flags = traced.training, traced.eval().training, net.training
    names = [name for name, _ in traced.named_parameters()], list(traced.state_dict())
    return flags, names, torch.equal(traced(torch.ones(1, 2)), net(torch.ones(1, 2))), hasattr(traced, "nobody_has")


@differs("`torch.jit.trace` is not deprecated", ["DeprecationWarning"], [])
def test_a_warning(torch: Any) -> Any:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.jit.trace(lambda x: x * 2, torch.ones(2))
    return sorted({w.category.__name__ for w in caught})
