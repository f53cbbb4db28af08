"""A function traced and the function itself, on equal arguments and from the same state of the random stream."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import nbautograd as torch

__all__ = ["compare", "copies", "same", "silently"]


def silently(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """``torch.jit.trace`` without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", torch.jit.TracerWarning)
        return torch.jit.trace(function, args, **options)


def copies(tensors: Any) -> list[Any]:
    """Leaves with the same values."""
    return [t.detach().clone().requires_grad_(t.requires_grad) for t in tensors]


def same(a: Any, b: Any) -> None:
    """Assert that two tensors, or two missing ones, are the same bit for bit."""
    assert (a is None) == (b is None)
    if a is None:
        return
    x, y = np.asarray(a.detach()._a), np.asarray(b.detach()._a)
    assert (x.shape, x.dtype) == (y.shape, y.dtype)
    assert np.array_equal(x, y) or np.array_equal(np.isnan(x), np.isnan(y)) and np.array_equal(x[x == x], y[y == y])


def run(function: Callable[..., Any], args: list[Any]) -> tuple[Any, ...]:
    """The results of a function with the gradients of a sum of squares, its arguments, and the next random numbers."""
    torch.manual_seed(3)
    results = function(*(a * 1 if a.requires_grad else a for a in args))  # so that it may write to them
    drawn = torch.rand(2)
    results = results if isinstance(results, tuple) else (results,)
    differentiable = [r for r in results if r.requires_grad]
    if differentiable:
        torch.stack([(r * r).sum().abs() for r in differentiable]).sum().backward()
    return [r.requires_grad for r in results], *results, *args, *(a.grad for a in args), drawn


def compare(function: Callable[..., Any], *args: Any, more: Any = ()) -> Any:
    """Trace a function, and assert that results, gradients, writes and random numbers are eager's, bit for bit."""
    torch.manual_seed(0)
    traced = silently(function, *copies(args))
    for values in (args, *more):
        inputs = copies(v.requires_grad_(a.requires_grad) for v, a in zip(copies(values), args, strict=True))
        again = copies(inputs)
        (flags, *expected), (own_flags, *own) = run(function, inputs), run(traced, again)
        assert flags == own_flags
        for a, b in zip(expected, own, strict=True):
            same(a, b)
    return traced
