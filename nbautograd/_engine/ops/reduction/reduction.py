"""Reductions over dimensions: sum, mean, product, ``all``, ``any``, ``logsumexp``."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._engine.arrays import dtypes, precise
from nbautograd._engine.arrays.size import by_name, dimensions, sizes
from nbautograd._engine.arrays.strides import row_major
from nbautograd._engine.compiler.op import composite, no_method, op
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops._internal import axes, count, pairwise_mean, pairwise_sum, sum_to, summed, upcast_half  # noqa: F401 - formulas name some
from nbautograd._engine.ops.queries import example
from nbautograd.errors import DtypeError

__all__ = ["all", "any", "count_nonzero", "logsumexp", "mean", "nanmean", "nansum", "sum"]

Ints = int | tuple[int, ...] | list[int]
Dims = Ints | None


def _check_floating(name: str, a: Any, dtype: dtypes.dtype | None) -> None:
    if dtype is None and a.dtype.kind not in dtypes.INEXACT:
        raise DtypeError(
            f"{name}(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            f"Got: {dtypes.scalar_type(a.dtype)}"
        )
    if dtype is not None and dtype.rank < 2:
        raise DtypeError(
            f"{name}(): could not infer output dtype. Optional dtype must be either a floating point or complex "
            f"dtype. Got: {dtypes.scalar_type(dtype)}"
        )


# -- sums ------------------------------------------------------------------------------------------------------------


@no_method(node="SumBackward0", symbol="Σ", input="spread(g, input.shape)")
def sum_all(input: Tensor) -> Tensor:
    """Return the sum of all elements."""
    return pairwise_sum(input)


@no_method(node="SumBackward1", symbol="Σ", input="spread(g, input.shape, dim, keepdim)")
def sum_over(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """Return the sum over ``dim``."""
    return pairwise_sum(input, axes(dim, input.ndim), keepdim)


@composite(out=True, keeps=True)
@example("sum([[1., 2.], [3., 4.]], dim=0) -> [4., 6.]")
def sum(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None) -> Tensor:
    """Return the sum of all elements or over ``dim``; int64 for integers and bools.

    :param dim: one dimension or several; None for all.
    :param keepdim: keep reduced dimensions with length 1.
    :param dtype: cast to this dtype first.
    """
    if dim is None and dtype is None and not keepdim:
        return sum_all(input)
    if dtype is not None:
        input = input.to(dtype)
    result = sum_all(input) if dim is None and not keepdim else sum_over(input, dim, keepdim)
    return result if dtype is None or dtype.rank == 2 else result.to(dtype)


@no_method(node="NansumBackward0", symbol="Σ", input="spread(g, input.shape, dim, keepdim) * (input == input)")
def nansum_over(input: Tensor, dim: Dims, keepdim: bool) -> Tensor:
    """Return the sum over ``dim``, with nan treated as 0."""
    return summed(zero_for_nan, (input,), axes(dim, input.ndim), keepdim)


def zero_for_nan(a: Any) -> Any:
    """Return an array with zeros for nan."""
    return np.where(a == a, a, np.zeros_like(a))


@composite(out=True)
@example('nansum([1., float("nan"), 2.]) -> tensor(3.)')
def nansum(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None) -> Tensor:
    """Return the sum of all elements or over ``dim``, with nan treated as 0.

    :raises RuntimeError: ``input`` is complex.
    """
    if input._a.dtype.kind == "c":
        axes(dim, input._a.ndim)  # which raises an IndexError first
        raise DtypeError(f"nansum(): does not support complex inputs, but got {input.dtype!r}")
    if dtype is not None and dtype.rank < 2 or not input.dtype.is_floating_point:
        return sum(input, dim, keepdim, dtype=dtype)
    if dtype is not None and dtype.is_complex:
        raise NotImplementedError(f"\"nansum_cpu\" not implemented for '{dtypes.scalar_type(dtype)}'")
    return nansum_over(input if dtype is None else input.to(dtype), dim, keepdim)


@composite()
@example("ones(2, 3).sum_to_size(1, 3) -> [[2., 2., 2.]]")
def sum_to_size(input: Tensor, *_size: Any, size: Any = None) -> Tensor:
    """Return the sum over the dimensions along which ``size`` broadcasts to the shape of ``input``.

    :param size: the shape, also as integers one by one.
    :raises RuntimeError: ``size`` does not broadcast to that shape.
    """
    shape = sizes(_size if size is None else by_name(size, "size", _size))
    if not shape and input._a.ndim == 0 or shape != input._a.shape:
        return sum_to(input.to(dtypes.int64) if input._a.dtype.kind in "biu" else input, shape)
    return input


def accumulated(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of sums and products of elements of ``dtype``: int64 for integers and bools."""
    return dtype if dtype.kind in dtypes.INEXACT else np.dtype(np.int64)


# -- means -----------------------------------------------------------------------------------------------------------


@no_method(node="MeanBackward0", symbol="mean", input="spread(g / count(input.shape, None), input.shape)")
def mean_all(input: Tensor) -> Tensor:
    """Return the mean of all elements of a floating tensor."""
    return pairwise_mean(input)


@no_method(node="MeanBackward1", symbol="mean", input="spread(g / count(input.shape, dim), input.shape, dim, keepdim)")
def mean_over(input: Tensor, dim: Dims, keepdim: bool = False) -> Tensor:
    """Return the mean over ``dim`` of a floating tensor."""
    return pairwise_mean(input, axes(dim, input.ndim), keepdim)


@composite(out=True, keeps=True)
@example("mean([[1., 2.], [3., 4.]]) -> tensor(2.5000)")
def mean(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None) -> Tensor:
    """Return the mean of all elements or over ``dim``.

    :raises RuntimeError: the dtype is an integer dtype or bool, and ``dtype`` is not given.
    """
    if dim is None and dtype is None and not keepdim and input._a.dtype.kind == "f":
        return mean_all(input)
    if isinstance(input, Tensor):
        _check_floating("mean", input._a, dtype)
    if dtype is not None:
        input = input.to(dtype)
    if dim is None:
        dim = tuple(range(input._a.ndim)) if keepdim else None
    return mean_all(input) if dim is None else mean_over(input, dim, keepdim)


@composite(out=True)
@example('nanmean([1., float("nan"), 2.]) -> tensor(1.5000)')
def nanmean(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None) -> Tensor:
    """Return the mean of all elements or over ``dim``, ignoring nan.

    :raises RuntimeError: the dtype is an integer dtype or bool.
    """
    if input._a.dtype.kind not in dtypes.INEXACT:
        raise DtypeError(
            f"nanmean(): expected input to have floating point or complex dtype but got "
            f"{dtypes.scalar_type(input.dtype)}"
        )
    there = sum(input == input, dim, keepdim)
    return nansum(input, dim, keepdim, dtype=dtype) / there


# -- all, any --------------------------------------------------------------------------------------------------------


def _truth(a: Any, name: str, dim: Dims, keepdim: bool) -> Any:
    """Compute ``all`` or ``any``: bool, or uint8 for uint8. An empty ``dim`` reduces nothing."""
    over = () if isinstance(dim, (tuple, list)) and not dim else axes(dim, a.ndim)
    hit = a != 0
    result = row_major((hit.all if name == "all" else hit.any)(axis=over, keepdims=keepdim))
    return result.astype(a.dtype) if a.dtype == np.uint8 else result


@op(out=True)
@example("all([True, False]) -> tensor(False)")
def all(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """Return whether all elements, or all over ``dim``, are nonzero."""
    return _truth(input, "all", dim, keepdim)


@op(out=True)
@example("any([True, False]) -> tensor(True)")
def any(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """Return whether any element, or any over ``dim``, is nonzero."""
    return _truth(input, "any", dim, keepdim)


@op()
@example("count_nonzero([1, 0, 2]) -> tensor(2)")
def count_nonzero(input: Tensor, dim: Dims = None) -> Tensor:
    """Return the number of nonzero elements, of all or over ``dim``."""
    return pairwise_sum(input != 0, axes(dim, input.ndim))


# -- log-sum-exp -----------------------------------------------------------------------------------------------------


@no_method(
    node="LogsumexpBackward0",
    symbol="lse",
    input="spread(g, input.shape, dim, keepdim) * conj(exp(input - spread(result, input.shape, dim, keepdim)))",
)
def logsumexp_over(input: Tensor, dim: Dims, keepdim: bool) -> Tensor:
    """Compute ``log(sum(exp(input)))`` over ``dim``, with the maximum subtracted first to avoid overflow."""
    over = axes(dim, input.ndim)
    if not input.size:
        return precise.log(pairwise_sum(input, over, keepdim))  # empty: -inf
    a = row_major(upcast_half(input))
    top = a.real.max(over, None, True)
    top = np.where(np.isfinite(top), top, np.zeros_like(top))
    result = (precise.log(summed(exp_difference, (a, top), over, True)) + top).astype(input.dtype)
    if keepdim or not input.ndim:
        return result
    gone = dimensions(dim, input.ndim)
    return result.reshape(tuple(n for d, n in enumerate(input.shape) if d not in gone))


def exp_difference(a: Any, b: Any) -> Any:
    """Return ``exp(a - b)``."""
    return precise.exp(a - b)


@composite(out=True)
@example("logsumexp([1000., 1000.], dim=0) -> tensor(1000.6932)")
def logsumexp(input: Tensor, dim: Ints, keepdim: bool = False) -> Tensor:
    """Compute ``log(sum(exp(input)))`` over ``dim``, without overflow."""
    if input._a.dtype.kind not in dtypes.INEXACT:
        input = input.to(dtypes.get_default_dtype())
    return logsumexp_over(input, dim, keepdim)
