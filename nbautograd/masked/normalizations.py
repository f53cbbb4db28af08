"""Shape-preserving functions of the elements where a mask is True."""

from __future__ import annotations

from nbautograd._engine.arrays import dtypes
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.elementwise.exp_log import logaddexp as dense_logaddexp
from nbautograd.masked.reductions import dims_of, filled, highest, lowest, masked, norm, prepared

__all__ = ["cumprod", "cumsum", "log_softmax", "logaddexp", "normalize", "softmax", "softmin"]

DType = dtypes.dtype | None


def softmax(input: Tensor, dim: int, *, dtype: DType = None, mask: Tensor | None = None) -> Tensor:
    """Compute softmax of the elements where ``mask`` is True; 0 for the others, NaN if all are masked out.

    >>> torch.masked.softmax(torch.tensor([1., 2., 1.]), 0, mask=torch.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    return masked("softmax", input, dtype, mask, lowest).softmax(dims_of(dim, input.ndim)[0])


def log_softmax(input: Tensor, dim: int, *, dtype: DType = None, mask: Tensor | None = None) -> Tensor:
    """Return the logarithm of :func:`softmax`."""
    return masked("log_softmax", input, dtype, mask, lowest).log_softmax(dims_of(dim, input.ndim)[0])


def softmin(input: Tensor, dim: int, *, dtype: DType = None, mask: Tensor | None = None) -> Tensor:
    """Compute softmax of the negated elements where ``mask`` is True; 0 for the others."""
    return (-masked("softmin", input, dtype, mask, highest)).softmax(dims_of(dim, input.ndim)[0])


def cumsum(input: Tensor, dim: int, *, dtype: DType = None, mask: Tensor | None = None) -> Tensor:
    """Compute the cumulative sums of the elements where ``mask`` is True."""
    return masked("cumsum", input, dtype, mask, 0).cumsum(dims_of(dim, input.ndim)[0])


def cumprod(input: Tensor, dim: int, *, dtype: DType = None, mask: Tensor | None = None) -> Tensor:
    """Compute the cumulative products of the elements where ``mask`` is True."""
    return masked("cumprod", input, dtype, mask, 1).cumprod(dims_of(dim, input.ndim)[0])


def normalize(
    input: Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: DType = None, mask: Tensor | None = None
) -> Tensor:
    """Return the elements where ``mask`` is True over their norm along a dimension; 0 for the others.

    :param ord: the order of the norm.
    :param eps: the smallest divisor.
    """
    x, where = prepared("normalize", input, dtype, mask)
    length = norm(x, ord, dim, keepdim=True, mask=where)
    return filled(x, where, 0) / length.clamp(min=eps)


def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: DType = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """Return ``log(exp(input) + exp(other))``, where masked-out elements are minus infinity.

    >>> x, mask = torch.zeros(2), torch.tensor([True, False])
    >>> torch.masked.logaddexp(x, x, input_mask=mask, other_mask=mask)
    tensor([0.6931,   -inf])
    """
    x = masked("logaddexp", input, dtype, input_mask, lowest)
    return dense_logaddexp(x, masked("logaddexp", other, dtype, other_mask, lowest))
