"""Reductions of the elements where a mask is True; masks, and the values that replace the other elements."""

from __future__ import annotations

import math
from typing import Any

from nbautograd._engine.arrays import dtypes
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.elementwise.selection import where as selected
from nbautograd._engine.ops.queries import check_tensors
from nbautograd.linalg import vector_norm

__all__ = ["amax", "amin", "argmax", "argmin", "logsumexp", "mean", "median", "norm", "prod", "std", "sum", "var"]

DType = dtypes.dtype | None
Dims = int | tuple[int, ...] | None


def prepared(name: str, input: Tensor, dtype: DType, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return the input in a dtype, and its mask, with its shape; True everywhere without a mask."""
    check_tensors(f"masked.{name}", input=input)
    if mask is None:
        mask = input.new_ones(tuple(input.shape), dtype=dtypes.bool_)
    check_tensors(f"masked.{name}", mask=mask)
    if mask.ndim > input.ndim:
        raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
    mask = mask if mask.dtype is dtypes.bool_ else mask != 0
    where = mask if mask.shape == input.shape else mask.expand(input.shape)
    return input if dtype is None else input.to(dtype), where


def filled(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """Replace masked-out elements of the input by a number."""
    return selected(mask, input, input.new_full((), value))  # type: ignore[no-any-return]


def masked(name: str, input: Tensor, dtype: DType, mask: Tensor | None, neutral: Any) -> Tensor:
    """Return the input in a dtype, its masked-out elements replaced by a number, or by that of the dtype."""
    x, where = prepared(name, input, dtype, mask)
    return filled(x, where, neutral(x.dtype) if callable(neutral) else neutral)


def lowest(kind: dtypes.dtype) -> Any:
    """Return the number that is never a maximum."""
    return -math.inf if kind.is_floating_point else 0 if kind.rank == 0 else dtypes.iinfo(kind).min


def highest(kind: dtypes.dtype) -> Any:
    """Return the number that is never a minimum."""
    return math.inf if kind.is_floating_point else 1 if kind.rank == 0 else dtypes.iinfo(kind).max


def dims_of(dim: Any, ndim: int) -> tuple[int, ...]:
    """Return dimensions as a sorted tuple; None or ``()`` means all."""
    if dim is None or isinstance(dim, (tuple, list)) and not dim:
        return tuple(range(ndim))
    dims = []
    for d in (dim,) if isinstance(dim, int) else dim:
        if not -max(ndim, 1) <= d < max(ndim, 1):
            limits = f"[{-max(ndim, 1)}, {max(ndim, 1) - 1}]"
            raise IndexError(f"Dimension out of range (expected to be in range of {limits}, but got {d})")
        if d % max(ndim, 1) in dims:
            raise RuntimeError(f"dim={d % max(ndim, 1)} appears multiple times in the list of dims")
        dims.append(d % max(ndim, 1))
    return tuple(sorted(dims))


# -- reductions --------------------------------------------------------------------------------------------------------


def sum(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType = None, mask: Tensor | None = None
) -> Tensor:
    """Compute the sum of the elements where ``mask`` is True; 0 if none is.

    :raises IndexError: the mask has more dimensions than the input.

    >>> torch.masked.sum(torch.tensor([1., 2., 3.]), 0, mask=torch.tensor([True, False, True]))
    tensor(4.)
    """
    x = masked("sum", input, dtype, mask, 0)
    return x.sum(dims_of(dim, input.ndim), keepdim) if input.ndim else x.sum()


def prod(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType = None, mask: Tensor | None = None
) -> Tensor:
    """Return the product of the elements where ``mask`` is True; 1 if none is.

    >>> torch.masked.prod(torch.tensor([2., 2., 3.]), 0, mask=torch.tensor([True, False, True]))
    tensor(6.)
    """
    x = masked("prod", input, dtype, mask, 1)
    if not input.ndim:
        return x.prod()
    for d in reversed(dims_of(dim, input.ndim)):
        x = x.prod(d, keepdim)
    return x


def amax(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType = None, mask: Tensor | None = None
) -> Tensor:
    """Return the largest element where ``mask`` is True; the lowest number of the dtype if none is."""
    return masked("amax", input, dtype, mask, lowest).amax(dims_of(dim, input.ndim), keepdim)


def amin(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType = None, mask: Tensor | None = None
) -> Tensor:
    """Return the smallest element where ``mask`` is True; the highest number of the dtype if none is."""
    return masked("amin", input, dtype, mask, highest).amin(dims_of(dim, input.ndim), keepdim)


def argmax(
    input: Tensor, dim: int | None = None, *, keepdim: bool = False, dtype: DType = None, mask: Tensor | None = None
) -> Tensor:
    """Return the index of the largest element with ``mask`` True, in the input's dtype as in PyTorch."""
    x = masked("argmax", input, dtype, mask, lowest)
    return x.argmax(dim, keepdim).to(x.dtype)


def argmin(
    input: Tensor, dim: int | None = None, *, keepdim: bool = False, dtype: DType = None, mask: Tensor | None = None
) -> Tensor:
    """Return the index of the smallest element with ``mask`` True, in the input's dtype as in PyTorch."""
    x = masked("argmin", input, dtype, mask, highest)
    return x.argmin(dim, keepdim).to(x.dtype)


def mean(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType = None, mask: Tensor | None = None
) -> Tensor:
    """Compute the mean of the elements where ``mask`` is True; NaN if none is.

    :raises ValueError: the dtype is neither floating nor complex.

    >>> torch.masked.mean(torch.tensor([1., 2., 3.]), 0, mask=torch.tensor([True, False, True]))
    tensor(2.)
    """
    x, where = prepared("mean", input, dtype, mask)
    if x.dtype.rank < 2:
        raise ValueError(
            "mean(): Could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            f"Got: {x.dtype!r}"
        )
    return sum(x, dim, keepdim=keepdim, mask=where) / _count(where, dim, keepdim, x)


def _count(where: Tensor, dim: Dims, keepdim: bool, like: Tensor) -> Tensor:
    return sum(where, dim, keepdim=keepdim, dtype=dtypes.int64).to(like.dtype)


def median(
    input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: DType = None, mask: Tensor | None = None
) -> Tensor:
    """Return the lower median of the elements where ``mask`` is True; NaN if none is.

    :raises ValueError: all elements are masked out, and the dtype is not floating.
    """
    x, where = prepared("median", input, dtype, mask)
    d = dims_of(dim, input.ndim)[:1]
    if not input.ndim:
        return x
    floating = x.dtype.is_floating_point
    if not floating and bool((~where.any(d[0])).any()):
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    x, kind = x if floating else x.to(dtypes.float64), x.dtype
    return filled(x, where, math.nan).nanmedian(d[0], keepdim).values.to(kind)


def logsumexp(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType = None, mask: Tensor | None = None
) -> Tensor:
    """Return ``log(sum(exp(x)))`` of the elements where ``mask`` is True; minus infinity if none is."""
    x, where = prepared("logsumexp", input, dtype, mask)
    x = x if x.dtype.rank >= 2 else x.to(dtypes.get_default_dtype())
    return filled(x, where, lowest(x.dtype)).logsumexp(dims_of(dim, input.ndim), keepdim)


def norm(
    input: Tensor,
    ord: float | None = 2.0,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: DType = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Compute the norm of the vector of the elements where ``mask`` is True.

    :param ord: as in :func:`nbautograd.linalg.vector_norm`.
    """
    x, where = prepared("norm", input, dtype, mask)
    order = 2.0 if ord is None else float(ord)
    return vector_norm(filled(x, where, math.inf if order < 0 else 0), order, dims_of(dim, input.ndim), keepdim)


def var(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: DType = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Compute the variance of the elements where ``mask`` is True.

    :param unbiased: divide by the count minus one (the default).
    :raises RuntimeError: both are given.

    >>> torch.masked.var(torch.tensor([1., 2., 3.]), 0, mask=torch.tensor([True, False, True]))
    tensor(2.)
    """
    if unbiased is not None and correction is not None:
        raise RuntimeError("Only one of unbiased and correction may be given")
    less = correction if correction is not None else 0 if unbiased is False else 1
    x, where = prepared("var", input, dtype, mask)
    x = x if x.dtype.rank >= 2 else x.to(dtypes.get_default_dtype())
    difference = filled(x, where, 0) - sum(x, dim, keepdim=True, mask=where) / _count(where, dim, True, x)
    square = (difference * difference.conj()).real if x.is_complex() else difference * difference
    total = sum(square, dim, keepdim=keepdim, mask=where)
    return total / (_count(where, dim, keepdim, total) - less).clamp(min=0)


def std(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: int | None = None,
    keepdim: bool = False,
    dtype: DType = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the standard deviation of the elements where ``mask`` is True: the root of :func:`var`."""
    return var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask).sqrt()
