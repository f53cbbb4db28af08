"""Distinct elements and rows, with inverse indices and counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._engine.arrays.indices import as_int64
from nbautograd._engine.arrays.size import dimension
from nbautograd._engine.compiler.op import composite, no_method
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops._internal import refuse_derivative as not_implemented, under_node  # noqa: F401 - formulas name some
from nbautograd._engine.ops.queries import example
from nbautograd._engine.ops.reduction.minmax import check
from nbautograd._engine.ops.reduction.sorting import order


def _runs(rows: Any, places: Any) -> tuple[Any, Any, Any]:
    """Return the starts of runs of equal sorted elements or rows, the inverse indices, and the counts.

    :param places: the index of each element before sorting, or None.
    """
    n = rows.shape[0]
    first = np.ones_like(rows, bool, shape=(n,))
    if n:
        unlike = rows[1:] != rows[:-1]
        first[1:] = unlike.reshape(n - 1, -1).any(1) if n > 1 else unlike.reshape(-1)
    kind = first.cumsum() - 1
    starts = np.nonzero(first)[0]
    counts = np.diff(np.concatenate([starts, np.full_like(starts, n, shape=(1,))]))
    if places is not None:
        inverse = np.empty_like(kind)
        inverse[places] = kind
        kind = inverse
    return starts, as_int64(kind), as_int64(counts)


def _rows(input: Any, dim: int | None, name: str) -> tuple[Any, int]:
    """Return the flattened elements, or the slices along a dimension as rows."""
    check(name, input)
    if dim is None:
        return input.reshape((-1,)), 0
    if not input.ndim:
        raise IndexError(f"{name}(): Dimension specified as {dim} but tensor has no dimensions")
    d = dimension(dim, input.ndim)
    if input.shape.count(0) > 1:
        raise RuntimeError(f"{name}(): Number of zero sized dimensions is more than one, so unique cannot be applied")
    if 0 in input.shape[:d] + input.shape[d + 1 :] and input.shape[d]:
        raise RuntimeError(
            f"{name}(): There are 0 sized dimensions, and they aren't selected, so unique cannot be applied"
        )
    moved = np.moveaxis(input, d, 0)
    return moved.reshape((moved.shape[0], moved[:1].size if moved.shape[0] else 0)), d


def _slices(rows: Any, input: Any, d: int) -> Any:
    """Return rows as slices along a dimension, laid out as in PyTorch."""
    n, shape = rows.shape[0], (*input.shape[:d], *input.shape[d + 1 :])
    return np.moveaxis(rows.reshape((n, *shape)), 0, d) if n else input.copy()


@no_method(node="Unique2Backward0", symbol="unique", many=True, input="not_implemented('unique')")
def unique_over(input: Tensor, dim: int | None = None) -> Any:
    """Return the sorted unique elements or slices, the inverse indices, and the counts."""
    rows, d = _rows(input, dim, "unique")
    if rows.ndim == 1:
        places = order(rows, 0)
    elif rows.shape[1]:
        places = np.lexsort(np.flip(rows, 1).T)
    else:
        places = np.arange(rows.shape[0], like=rows)
    starts, kind, counts = _runs(rows[places], places)
    values = rows[places[starts]] if dim is None else _slices(rows[places[starts]], input, d)
    return values, kind.reshape(input.shape) if dim is None else kind, counts


unique_slices = under_node(unique_over, "UniqueDimBackward0", "unique_slices")


@no_method(node="UniqueConsecutiveBackward0", symbol="unique", many=True, input="not_implemented('unique_consecutive')")
def consecutive_over(input: Tensor, dim: int | None = None) -> Any:
    """Return the first of each run of equal elements or slices, the run of each element, and the lengths."""
    rows, d = _rows(input, dim, "unique_consecutive")
    starts, kind, counts = _runs(rows, None)
    values = rows[starts] if dim is None else _slices(rows[starts], input, d)
    return values, kind.reshape(input.shape) if dim is None else kind, counts


def _wanted(results: Any, inverse: bool, counts: bool) -> Any:
    """Return the requested parts of the result."""
    wanted = (results[0], *results[1:2] * bool(inverse), *results[2:] * bool(counts))
    return wanted if len(wanted) > 1 else wanted[0]


@composite()
@example("unique([3, 1, 3], return_counts=True) -> ([1, 3], [1, 2])")
def unique(
    input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
    dim: int | None = None,
) -> Any:  # fmt: skip
    """Return the unique elements, or slices along ``dim``, sorted; every nan is unique.

    :param sorted: has no effect: the result is always sorted.
    :param return_inverse: also return the index of each element of ``input`` in the result.
    :param return_counts: also return the number of occurrences of each.
    """
    found = unique_over(input) if dim is None else unique_slices(input, dim)
    return _wanted(found, return_inverse, return_counts)


@composite()
@example("unique_consecutive([1, 1, 2, 1]) -> [1, 2, 1]")
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Return the elements, or slices along ``dim``, without consecutive duplicates.

    :param return_inverse: also return the index of each element of ``input`` in the result.
    :param return_counts: also return the length of each run.
    """
    return _wanted(consecutive_over(input, dim), return_inverse, return_counts)
