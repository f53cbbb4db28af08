"""Sorting: ``sort``, ``argsort``, ``topk``."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend
from nbautograd._engine.arrays.indices import as_int64
from nbautograd._engine.arrays.size import dimension
from nbautograd._engine.arrays.strides import laid_as, row_major
from nbautograd._engine.compiler.op import composite, no_method, op
from nbautograd._engine.core.return_types import return_type
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.queries import example
from nbautograd._engine.ops.reduction.minmax import check
from nbautograd._engine.ops.reduction.scan import FROM_THERE


def order(a: Any, d: int, descending: bool = False) -> Any:
    """Return the indices of a stable sort of an array along one dimension; nan sorts as the largest."""
    if not a.ndim:
        return np.zeros_like(a, np.int64)
    if not descending:
        return as_int64(np.argsort(a, d, kind="stable"))
    return as_int64(a.shape[d] - 1 - np.flip(np.argsort(np.flip(a, d), d, kind="stable"), d))


def picked(a: Any, d: int, index: Any) -> tuple[Any, Any]:
    """Return the elements at ``index`` along a dimension, and the index."""
    return (np.take_along_axis(a, index, d) if a.ndim else a.reshape(index.shape)), index


@no_method(node="SortBackward0", symbol="sort", many=True, input=FROM_THERE)
def sort_over(input: Tensor, dim: int, descending: bool) -> Any:
    """Return the elements sorted along a dimension, and their indices."""
    d = dimension(dim, input.ndim)
    check("sort", input)
    values, index = picked(input, d, order(input, d, descending))
    return laid_as(values, input), laid_as(index, input)


@composite(out=True)
@example("sort([3., 1., 2.]).indices -> [1, 2, 0]")
def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool | None = False) -> Any:
    """Return the elements sorted along ``dim``, and their indices; nan sorts as the largest.

    :param stable: has no effect: the sort is always stable.
    :raises RuntimeError: the elements are complex.
    """
    return return_type("sort")(sort_over(input, dim, descending))


@op()
@example("argsort([3., 1., 2.], descending=True) -> [0, 2, 1]")
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """Return the indices that sort the elements along ``dim``; the sort is stable."""
    d = dimension(dim, input.ndim)
    check("argsort", input)
    return laid_as(order(input, d, descending), input)


@composite(out=True)
@example("msort([3., 1., 2.]) -> [1., 2., 3.]")
def msort(input: Tensor) -> Tensor:
    """Return the elements sorted along the first dimension."""
    return sort_over(input, 0, False)[0]


def _few(a: Any, k: int, d: int, largest: bool) -> Any:
    """Return the indices of the k largest or smallest elements along a dimension, ascending; the first of ties.

    With NumPy's ``argpartition``, the choice among equal elements depends on the processor.
    """
    last_wanted = a.shape[d] - k if largest else k - 1
    edge = np.partition(a, last_wanted, d)[(slice(None),) * d + (slice(last_wanted, last_wanted + 1),)]
    nan, edge_is_nan = a != a, edge != edge
    beyond = (a > edge) | (nan & ~edge_is_nan) if largest else (a < edge) | (edge_is_nan & ~nan)
    alike = (a == edge) | (nan & edge_is_nan)
    chosen = beyond | (alike & (alike.cumsum(d) <= k - beyond.sum(d, None, None, True)))
    rows = np.moveaxis(chosen, d, -1)
    return np.moveaxis(as_int64(np.nonzero(rows)[-1]).reshape((*rows.shape[:-1], k)), -1, d)


@no_method(node="TopkBackward0", symbol="top k", many=True, input=FROM_THERE)
def topk_over(input: Tensor, k: int, dim: int, largest: bool) -> Any:
    """Return the k largest or smallest elements along a dimension, sorted, and their indices."""
    d = dimension(dim, input.ndim)
    check("topk", input)
    if input.dtype.kind == "b":
        raise RuntimeError("topk does not support bool dtypes on CPU")
    n = input.shape[d] if input.ndim else 1
    if not 0 <= k <= n:
        raise RuntimeError(f"topk(): selected index k out of range: k is {k}, but there are {n} elements")
    ahead = (slice(None),) * d + (slice(0, k),)
    if not input.ndim:
        return picked(input, d, np.zeros_like(input, np.int64, shape=() if k else (0,)))
    if not 0 < k <= n // 8 or backend.is_bare(input):
        return picked(input, d, row_major(order(input, d, largest)[ahead]))
    few = _few(input, k, d, largest)  # only these are sorted
    inside = order(np.take_along_axis(input, few, d), d, largest)
    return picked(input, d, row_major(np.take_along_axis(few, inside, d)))


@composite(out=True)
@example("topk([3., 1., 2.], 2).values -> [3., 2.]")
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """Return the ``k`` largest (or smallest) elements along ``dim``, and their indices.

    :param largest: False for the smallest.
    :param sorted: has no effect: the result is always sorted.
    :raises RuntimeError: ``k`` is larger than the dimension, or the elements are complex.
    """
    return return_type("topk")(topk_over(input, k, dim, largest))
