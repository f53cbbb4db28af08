"""Softmax and its logarithm, over one dimension."""

from __future__ import annotations

from typing import Any

from nbautograd._engine.arrays import dtypes, precise, rows
from nbautograd._engine.arrays.size import dimension
from nbautograd._engine.arrays.strides import row_major
from nbautograd._engine.compiler.op import composite, derivative_helper, no_method
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops._internal import highest, pairwise_sum
from nbautograd._engine.ops.elementwise.exp_log import exp
from nbautograd._engine.ops.queries import check_tensors, example
from nbautograd.errors import UnsupportedDtypeError


def refuse_integers(name: str, a: Any) -> None:
    """Check that an array is of a real floating dtype."""
    if dtypes.of(a.dtype).rank != 2:
        raise UnsupportedDtypeError(name, dtypes.of(a.dtype), "f")


def _shifted(name: str, a: Any, d: int) -> Any:
    """Return ``a`` minus its maximum along dimension ``d``, as a new array."""
    if a.dtype.kind != "f":
        refuse_integers(name, a)
    a = row_major(a)
    return a - highest(a, d, True) if a.size and a.ndim else a - a


def _along_rows(dim: int, *arrays: Any) -> bool:
    """Return whether ``dim`` runs along contiguous rows of these arrays."""
    first = arrays[0]
    return dim in (-1, first.ndim - 1) and first.size and rows.are_rows(*arrays)


def _along_large_rows(dim: int, *arrays: Any) -> bool:
    """Return whether ``dim`` runs along contiguous rows of large arrays."""
    return arrays[0].size >= rows.MIN_SIZE and _along_rows(dim, *arrays)


@derivative_helper
def softmax_back(g: Any, result: Any, dim: int) -> Any:
    """Return the gradient of softmax."""
    if not isinstance(g, Tensor) and _along_large_rows(dim, g, result):
        return rows.softmax_back(g, result)
    return (g - sum_along(g * result, dim)) * result


@derivative_helper
def log_softmax_back(g: Any, result: Any, dim: int) -> Any:
    """Return the gradient of log-softmax."""
    if not isinstance(g, Tensor) and _along_large_rows(dim, g, result):
        return rows.log_softmax_back(g, result)
    return g - exp(result) * sum_along(g, dim)


def sum_along(g: Any, dim: int) -> Any:
    """Return the sum over ``dim`` with ``keepdim=True``, of an array or a tensor."""
    if not g.ndim:
        return g
    return g.sum(dim, keepdim=True) if isinstance(g, Tensor) else pairwise_sum(g, (dim % g.ndim,), True)


@no_method(node="SoftmaxBackward0", symbol="softmax", input="softmax_back(g, result, dim)")
def softmax_over(input: Tensor, dim: int) -> Tensor:
    """Compute softmax over one dimension."""
    d = dimension(dim, input.ndim)
    if input.ndim and _along_rows(d, input):
        result = (rows.softmax if input.size >= rows.MIN_SIZE else rows.small_softmax)(input)
        if result is not None:
            return result
    powers = _shifted("softmax", input, d)
    if not input.ndim:
        return precise.exp(powers)
    precise.exp(powers, powers)
    powers /= pairwise_sum(powers, (d,), True)
    return powers


@no_method(node="LogSoftmaxBackward0", symbol="log softmax", input="log_softmax_back(g, result, dim)")
def log_softmax_over(input: Tensor, dim: int) -> Tensor:
    """Compute log-softmax over one dimension."""
    d = dimension(dim, input.ndim)
    if input.ndim and _along_rows(d, input):
        result = (rows.log_softmax if input.size >= rows.MIN_SIZE else rows.small_log_softmax)(input)
        if result is not None:
            return result
    shifted = _shifted("log_softmax", input, d)
    if input.ndim:
        shifted -= precise.log(pairwise_sum(precise.exp(shifted), (d,), True))
    return shifted


@composite(out=True)
@example("softmax([0., 0.], dim=0) -> [0.5000, 0.5000]")
def softmax(input: Tensor, dim: int, dtype: dtypes.dtype | None = None) -> Tensor:
    """Compute softmax over ``dim``: ``exp(input) / sum(exp(input))``, without overflow.

    :param dtype: cast to this dtype first.
    :raises NotImplementedError: the dtype is not floating.
    """
    if not isinstance(input, Tensor):
        check_tensors("softmax", input=input)
    return softmax_over(input if dtype is None else input.to(dtype), dim)


@composite(out=True)
@example("log_softmax([0., 0.], dim=0) -> [-0.6931, -0.6931]")
def log_softmax(input: Tensor, dim: int, dtype: dtypes.dtype | None = None) -> Tensor:
    """Compute the logarithm of :func:`softmax` over ``dim``, in a numerically stable way.

    :param dtype: cast to this dtype first.
    :raises NotImplementedError: the dtype is not floating.
    """
    if not isinstance(input, Tensor):
        check_tensors("log_softmax", input=input)
    return log_softmax_over(input if dtype is None else input.to(dtype), dim)
