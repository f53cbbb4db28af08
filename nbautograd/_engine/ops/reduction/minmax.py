"""Maxima and minima, and their indices: ``max``, ``amax``, ``aminmax``, ``argmax``, ..."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._engine.arrays import dtypes
from nbautograd._engine.arrays.indices import as_int64
from nbautograd._engine.arrays.size import Int, dimension, dimensions
from nbautograd._engine.arrays.strides import row_major
from nbautograd._engine.compiler.op import composite, no_method, op
from nbautograd._engine.core.return_types import return_type
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops._internal import added, axes, pairwise_sum, reduced_shape  # noqa: F401 - formulas name some
from nbautograd._engine.ops.elementwise.selection import maximum, minimum
from nbautograd._engine.ops.indexing.gather import gather_back  # noqa: F401 - a formula names it
from nbautograd._engine.ops.queries import example

Dims = int | tuple[int, ...] | list[int] | None


ANY = object()


def check(name: str, a: Any, dim: Any = ANY) -> None:
    """Check that the dtype is ordered, and that ``dim``, if it is not None, is not empty."""
    if a.dtype.kind == "c":
        dimensions(None if dim is ANY or name.startswith("arg") else dim, a.ndim)
        dtype = dtypes.of(a.dtype).name.title().replace("64", "Float").replace("128", "Double")
        raise NotImplementedError(
            f"{name}(): does not support complex input, which has no order; it is not implemented for '{dtype}'"
        )
    if a.size == 0 and dim is not ANY:
        if dim is None or dim == () or dim == []:
            kind = IndexError if name.startswith("arg") else RuntimeError
            raise kind(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
                "reduction dim with the 'dim' argument."
            )
        for d in dimensions(dim, a.ndim):
            if a.shape[d] == 0:
                raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")


@no_method()
def ties(input: Tensor, extreme: Tensor, dim: Dims = None, shared: bool = True) -> Tensor:
    """Return 1 / m for each of the m ties of the extremum along ``dim``, 0 elsewhere; shaped like ``input``.

    :param shared: False to use 1 instead of 1 / m.
    """
    hit = (input == extreme) | ((input != input) & (extreme != extreme))
    if not shared:
        return hit.astype(extreme.dtype)
    return hit / pairwise_sum(hit, axes(dim, input.ndim), True).astype(extreme.dtype)


@no_method(node="MaxBackward1", symbol="max", input="g * ties(input, spread(result, input.shape), None)")
def max_all(input: Tensor) -> Tensor:
    """Return the maximum of all elements: ``max()``."""
    check("max", input, None)
    return input.max()


@no_method(node="MinBackward1", symbol="min", input="g * ties(input, spread(result, input.shape), None)")
def min_all(input: Tensor) -> Tensor:
    """Return the minimum of all elements: ``min()``."""
    check("min", input, None)
    return input.min()


def _over(a: Any, name: str, dim: int, keepdim: bool) -> tuple[Any, Any]:
    """Return the extrema along a dimension and their indices."""
    d = dimension(dim, a.ndim)
    check(name, a, d)
    if not a.ndim:
        return a.copy(), np.zeros_like(a, np.int64)
    where = as_int64((a.argmax if name == "max" else a.argmin)(d))
    kept = where.reshape(reduced_shape(a.shape, d))
    values = np.take_along_axis(a, kept, d)
    return (values, kept) if keepdim else (values.reshape(where.shape), where)


CHOSEN = (
    "gather_back(g[0].reshape(reduced_shape(input.shape, dim)), input.shape, dim, "
    "result[1].reshape(reduced_shape(input.shape, dim)))"
)
"""The gradient of an operation that selects one element along ``dim``: scattered to its index."""


@no_method(node="MaxBackward0", symbol="max", many=True, input=CHOSEN)
def max_over(input: Tensor, dim: int, keepdim: bool = False) -> Any:
    """Return the maxima along a dimension and their indices: ``max(dim)``."""
    return _over(input, "max", dim, keepdim)


@no_method(node="MinBackward0", symbol="min", many=True, input=CHOSEN)
def min_over(input: Tensor, dim: int, keepdim: bool = False) -> Any:
    """Return the minima along a dimension and their indices: ``min(dim)``."""
    return _over(input, "min", dim, keepdim)


@composite(out=True, keeps=True)
@example("max([1., 3., 2.]) -> tensor(3.)")
def max(input: Tensor, dim: Int | Tensor = None, keepdim: bool = False, *, other: Tensor | None = None) -> Any:
    """Return the maximum of all elements, the maxima along ``dim`` with their indices, or the elementwise maximum."""
    other = dim if isinstance(dim, Tensor) else other
    if other is not None:
        return maximum(input, other)
    return max_all(input) if dim is None else return_type("max")(max_over(input, dim, keepdim))


@composite(out=True, keeps=True)
@example("min([1., 3., 2.]) -> tensor(1.)")
def min(input: Tensor, dim: Int | Tensor = None, keepdim: bool = False, *, other: Tensor | None = None) -> Any:
    """Return the minimum of all elements, the minima along ``dim`` with their indices, or the elementwise minimum."""
    other = dim if isinstance(dim, Tensor) else other
    if other is not None:
        return minimum(input, other)
    return min_all(input) if dim is None else return_type("min")(min_over(input, dim, keepdim))


SHARED = "spread(g, input.shape, dim, keepdim) * ties(input, spread(result, input.shape, dim, keepdim), dim)"
"""The gradient, divided equally among the ties of the extremum."""


@op(symbol="max", out=True, input=SHARED)
@example("amax([[1., 4.], [3., 2.]], dim=1) -> [4., 3.]")
def amax(input: Tensor, dim: Dims = (), keepdim: bool = False) -> Tensor:
    """Return the maximum over ``dim``, by default of all elements; ties share the gradient."""
    check("amax", input, dim)
    return row_major(input.max(axes(dim, input.ndim), None, keepdim))


@op(symbol="min", out=True, input=SHARED)
@example("amin([[1., 4.], [3., 2.]], dim=1) -> [1., 2.]")
def amin(input: Tensor, dim: Dims = (), keepdim: bool = False) -> Tensor:
    """Return the minimum over ``dim``, by default of all elements; ties share the gradient."""
    check("amin", input, dim)
    return row_major(input.min(axes(dim, input.ndim), None, keepdim))


@no_method(
    node="AminmaxBackward0", symbol="min, max", many=True,
    input="added(*(None if h is None else spread(h, input.shape, dim, keepdim) "
    "* ties(input, spread(r, input.shape, dim, keepdim), dim) for h, r in ((g[0], result[0]), (g[1], result[1]))))",
)  # fmt: skip
def both_extremes(input: Tensor, dim: int | None, keepdim: bool) -> Any:
    """Return the minimum and the maximum."""
    check("aminmax", input, dim)
    over = axes(dim, input.ndim)
    return row_major(input.min(over, None, keepdim)), row_major(input.max(over, None, keepdim))


@composite(out=True)
@example("aminmax([1., 3., 2.]).max -> tensor(3.)")
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> Any:
    """Return the minimum and the maximum, of all elements or along ``dim``, as ``(min, max)``."""
    return return_type("aminmax")(both_extremes(input, dim, keepdim))


def _where_extreme(name: str, a: Any, dim: int | None, keepdim: bool) -> Any:
    """Return the index of the first extremum."""
    check(name, a, dim)
    if a.dtype.kind == "b":
        raise RuntimeError(f"{name}(): does not support bool input")
    d = None if dim is None else dimension(dim, a.ndim)
    if d is not None and not a.ndim:
        return np.zeros_like(a, np.int64)
    result = as_int64((a.argmax if name == "argmax" else a.argmin)(d))
    return result.reshape(reduced_shape(a.shape, d)) if keepdim else result


@op(out=True)
@example("argmax([1., 3., 2.]) -> tensor(1)")
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Return the index of the maximum, in the flattened tensor or along ``dim``; of ties, the first."""
    return _where_extreme("argmax", input, dim, keepdim)


@op(out=True)
@example("argmin([2., 1., 3.]) -> tensor(1)")
def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Return the index of the minimum, in the flattened tensor or along ``dim``; of ties, the first."""
    return _where_extreme("argmin", input, dim, keepdim)
