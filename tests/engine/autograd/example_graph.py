"""The first graph of the course, under either library."""

from __future__ import annotations

from typing import Any


def example_graph(T: Any) -> tuple[Any, ...]:
    """``w``, ``x``, ``a = w + x``, ``b = w + 1`` and ``y = a * b``."""
    w = T.tensor([1.0], requires_grad=True)
    x = T.tensor([2.0], requires_grad=True)
    a = T.add(w, x)
    b = T.add(w, 1)
    return w, x, a, b, T.mul(a, b)
