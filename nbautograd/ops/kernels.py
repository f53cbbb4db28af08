"""Operations that formulas need and users do not call: undoing broadcasting, casting, spreading a sum out again.

They are declared like all others, so that they have derivatives too.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NoReturn

import numpy as np

from nbautograd.declare import KEPT, PLAIN, POINTWISE, op
from nbautograd.size import dimensions
from nbautograd.tensor import Tensor

__all__ = [
    "added",
    "average",
    "axes",
    "cast",
    "count",
    "highest",
    "not_implemented",
    "ratio",
    "reduced_shape",
    "spread",
    "sum_to",
    "total",
    "widened",
]


def reduced_shape(shape: tuple[int, ...], dim: Any) -> tuple[int, ...]:
    """The shape after reducing ``dim`` with ``keepdim=True``."""
    if dim is None:
        return (1,) * len(shape)
    gone = dimensions(dim, len(shape))
    return tuple(1 if d in gone else n for d, n in enumerate(shape))


def axes(dim: Any, ndim: int) -> Any:
    """``dim`` as arrays want it: None for all."""
    return None if dim is None else dimensions(dim, ndim)


def count(shape: tuple[int, ...], dim: Any) -> int:
    """How many elements are reduced to one."""
    return math.prod(shape) if dim is None else math.prod(shape[d] for d in dimensions(dim, len(shape)))


def added(*terms: Any) -> Any:
    """The sum of the gradients that arrived; None stands for one that did not."""
    given = [term for term in terms if term is not None]
    return sum(given[1:], given[0]) if given else None


def not_implemented(what: str) -> NoReturn:
    """Say in a backward pass that there is no derivative.

    :raises NotImplementedError: always.
    """
    raise NotImplementedError(f"the derivative for '{what}' is not implemented: let that argument not require grad")


def ratio(g: Any, result: Any) -> Any:
    """``g / result``, but 0 where ``result`` is 0."""
    safe = result + (result == 0)
    return g / safe * (result != 0)


# -- the one way to add up ---------------------------------------------------------------------------------------------

FEW = 32
"""So many rows may be added one after the other: the rounding errors are still few."""
BLOCK = 16
"""Rows added one after the other in each round of a long sum."""
LONG = 1024
"""NumPy's inner loop is worth its price from about so many elements on."""


FLOAT16, FLOAT32, FLOAT64 = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)


def widened(a: Any) -> Any:
    """Half precision as float32, for what adds up or squares; anything else as it is."""
    return a.astype(np.float32) if a.dtype.itemsize == 2 and a.dtype.kind in "fV" else a


def total(a: Any, axes: tuple[int, ...] | None = None, keepdims: bool = False) -> Any:
    """The sum over ``axes``, all by default, with an error that hardly grows with the number of elements.

    NumPy adds in pairs only where it runs along memory; otherwise one row after the other, and float16 in float16.
    Integers and bools are summed in int64, float16 in float32.
    """
    dtype = a.dtype
    if a.__class__ is not np.ndarray:  # CuPy adds in a tree anyway
        return a.sum(axes, None if dtype.kind in "fc" else np.int64, None, keepdims)
    if dtype is not FLOAT32 and dtype is not FLOAT64:
        if dtype is FLOAT16 or dtype.kind == "V":
            return total(widened(a), axes, keepdims).astype(dtype)
        if dtype.kind not in "fc":
            return np.add.reduce(a, axes, np.int64, None, keepdims)
    if a.size <= FEW:
        return np.add.reduce(a, axes, None, None, keepdims)
    if a.flags.c_contiguous:
        if axes is None:
            return np.add.reduce(a, None, None, None, keepdims)
        if len(axes) == 1:
            (d,) = axes
            shape = a.shape
            if shape[d] > FEW and d < len(shape) - 1:
                before, after = shape[:d], shape[d + 1 :]
                summed = _rows(a.reshape(math.prod(before), shape[d], math.prod(after)))
                return summed.reshape(before + (1,) * keepdims + after)
            return np.add.reduce(a, axes, None, None, keepdims)
    return _by_memory(a, range(a.ndim) if axes is None else axes, keepdims)


def highest(a: Any, axes: Any = None, keepdims: bool = False) -> Any:
    """The largest element along ``axes``, all by default; NumPy's own method makes a detour through Python."""
    if a.__class__ is not np.ndarray:
        return a.max(axes, None, keepdims)
    return np.maximum.reduce(a, axes, None, None, keepdims)


def average(a: Any, axes: tuple[int, ...] | None = None, keepdims: bool = False) -> Any:
    """The mean over ``axes``, all by default; of float16, computed in float32."""
    if a.dtype is FLOAT16:
        return average(widened(a), axes, keepdims).astype(a.dtype)
    n = a.size if axes is None else a.shape[axes[0]] if len(axes) == 1 else math.prod([a.shape[d] for d in axes])
    return total(a, axes, keepdims) / n


def _rows(a: Any) -> Any:
    """The sum over the middle one of three axes: round by round, blocks of rows become one row each."""
    while (rows := a.shape[1]) > FEW:
        before, _, after = a.shape
        joined = max(1, min(LONG // max(1, after), rows // BLOCK))  # short rows side by side make a long one
        left = rows // (BLOCK * joined) * joined
        whole = a[:, : left * BLOCK].reshape(before, -1, BLOCK, joined, after)
        summed = np.add.reduce(whole, 2).reshape(before, left, after)
        for start in range(left * BLOCK, rows, left):
            rest = a[:, start : start + left]
            summed[:, : rest.shape[1]] += rest
        a = summed
    return np.add.reduce(a, 1)


def _by_memory(a: Any, axes: Any, keepdims: bool) -> Any:
    """The sum over ``axes`` of an array in any layout: in the order of memory, and the longest axis first."""
    order = sorted(range(a.ndim), key=lambda d: -abs(a.strides[d]))
    lengths: list[int] = []
    gone: list[bool] = []
    for d in order:  # neighbours that are both kept, or both summed, are one axis
        if gone and gone[-1] == (d in axes):
            lengths[-1] *= a.shape[d]
        else:
            lengths.append(a.shape[d])
            gone.append(d in axes)
    b = a.transpose(order).reshape(lengths)
    while any(gone):
        d = max((d for d in range(b.ndim) if gone[d]), key=lambda d: b.shape[d])
        shape = b.shape[:d] + b.shape[d + 1 :]
        inmost = d == b.ndim - 1 or not b.size
        b = np.add.reduce(b, d) if inmost else _rows(b.reshape(math.prod(b.shape[:d]), b.shape[d], -1)).reshape(shape)
        del gone[d]
    kept = [d for d in order if d not in axes]
    b = b.reshape([a.shape[d] for d in kept])
    if kept != sorted(kept):
        b = b.transpose(sorted(range(len(kept)), key=kept.__getitem__))
    return b.reshape([1 if d in axes else n for d, n in enumerate(a.shape)]) if keepdims else b[()]


@op(kind=POINTWISE, method=False, inplace_method=False)
def zeros_of(input: Tensor) -> Tensor:
    """Zeros of the input's shape and dtype: a gradient that is 0, whatever comes in."""
    return np.zeros_like(input)


_ONES = {dtype: np.ones(2 * FEW, dtype) for dtype in (FLOAT32, FLOAT64)}


@functools.lru_cache(maxsize=1024)
def _added(shape: tuple[int, ...], to: tuple[int, ...]) -> tuple[int, ...]:
    """The dimensions that broadcasting ``to`` to ``shape`` added or repeated."""
    extra = len(shape) - len(to)
    if extra < 0 or any(n != 1 and n != shape[d + extra] for d, n in enumerate(to)):
        raise RuntimeError(f"size {list(to)} is not expandable to size {list(shape)}")
    return (*range(extra), *(d + extra for d, n in enumerate(to) if n == 1 != shape[d + extra]))


@op(node="SumToSizeBackward0", symbol="Σ", kind=PLAIN, input="expand(g, *input.shape)")
def sum_to(input: Tensor, shape: Any) -> Tensor:
    """The sum over the dimensions along which ``shape`` was broadcast: undoes broadcasting, for gradients."""
    if input.shape == shape:
        return input.copy()
    if input.ndim == 2 and len(shape) == 1 and input.__class__ is np.ndarray:
        ones = _ONES.get(input.dtype)
        if ones is not None and len(input) <= len(ones) and input.shape[1:] == shape and input.flags.c_contiguous:
            return ones[: len(input)].dot(input)  # a third of the price: the gradient of nearly every bias
    return total(input, _added(input.shape, tuple(shape)), True).reshape(shape)


@op(node="ToCopyBackward0", symbol="cast", kind=PLAIN, half=KEPT, input="cast_back(g, input.dtype)")
def cast(input: Tensor, dtype: Any) -> Tensor:
    """The values in another dtype, a NumPy one."""
    return input.astype(dtype)


@op(node="ToCopyBackward0", symbol="cast", half=KEPT, input="cast_back(g, input.dtype)", method=False)
def cast_back(input: Tensor, dtype: Any) -> Tensor:
    """A gradient in the dtype of its input: the real part where the input was real."""
    if input.dtype.kind == "c" and dtype.kind != "c":
        input = input.real
    return input.astype(dtype)


@op(
    node="ExpandBackward0",
    symbol="spread",
    kind=PLAIN,
    method=False,
    input="sum_over(g, dim, keepdim).reshape(input.shape)",
)
def spread(input: Tensor, shape: Any, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Undo a sum over ``dim``: repeat along the summed dimensions, without copying where the array allows it."""
    if input.ndim == 0 and input.__class__ is not np.ndarray and isinstance(input, np.generic):
        return np.ndarray(shape, input.dtype, input, 0, (0,) * len(shape)) if shape else input
    kept = input if keepdim else input.reshape(reduced_shape(shape, dim))
    if kept.__class__ is np.ndarray:
        strides = tuple(s if n == m else 0 for s, n, m in zip(kept.strides, kept.shape, shape, strict=True))
        return (
            np.ndarray(shape, kept.dtype, kept, 0, strides) if kept.flags.c_contiguous else np.broadcast_to(kept, shape)
        )
    return np.broadcast_to(kept, shape)
