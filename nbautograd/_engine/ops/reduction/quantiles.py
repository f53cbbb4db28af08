"""Order statistics: the k-th value, median, mode and quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend, dtypes
from nbautograd._engine.arrays.size import Int, dimension
from nbautograd._engine.arrays.strides import row_major
from nbautograd._engine.compiler.op import check_option, composite, no_method
from nbautograd._engine.core.batched import elements
from nbautograd._engine.core.return_types import return_type
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd._engine.ops._internal import reduced_shape
from nbautograd._engine.ops.elementwise.arithmetic import lerp
from nbautograd._engine.ops.elementwise.selection import where
from nbautograd._engine.ops.queries import example
from nbautograd._engine.ops.reduction.minmax import CHOSEN, check
from nbautograd._engine.ops.reduction.scan import running
from nbautograd._engine.ops.reduction.sorting import order, picked, sort_over
from nbautograd._engine.ops.shape.shape import squeezed
from nbautograd.errors import DtypeError

# -- order statistics ------------------------------------------------------------------------------------------------


def _one(a: Any, d: int, index: Any, keepdim: bool) -> tuple[Any, Any]:
    """Return the element at one index along a dimension, which has size 1 in ``index``."""
    values, index = map(row_major, picked(a, d, index))
    if keepdim or not a.ndim:
        return values, index
    shape = a.shape[:d] + a.shape[d + 1 :]
    return values.reshape(shape), index.reshape(shape)


@no_method(node="KthvalueBackward0", symbol="k-th", many=True, real_only=True, input=CHOSEN)
def kth_over(input: Tensor, k: int, dim: int, keepdim: bool) -> Any:
    """Return the k-th smallest element along a dimension, and its index."""
    d = dimension(dim, input.ndim)
    n = input.shape[d] if input.ndim else 1
    if not n:
        raise IndexError(f"kthvalue(): Expected reduction dim {d} to have non-zero size.")
    if not 1 <= k <= n:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {d}: {k}, expected 1 to {n}")
    if not input.ndim:
        return input.copy(), np.zeros_like(input, np.int64)
    check("kthvalue", input)
    if input.dtype.kind == "b":
        raise NotImplementedError("kthvalue(): not implemented for 'Bool'")
    index = order(input, d)
    return _one(input, d, index[(slice(None),) * d + (slice(k - 1, k),)], keepdim)


@composite(out=True)
@example("kthvalue([3., 1., 2.], 2).values -> tensor(2.)")
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """Return the ``k``-th smallest element along ``dim``, 1-based, and its index.

    :raises RuntimeError: ``k`` is not between 1 and the size of ``dim``.
    """
    return return_type("kthvalue")(kth_over(input, k, dim, keepdim))


def _median_all(a: Any, skip_nan: bool) -> Any:
    """Return the lower median of all elements; nan propagates, or is skipped."""
    if not a.size:
        kind = a.dtype.kind
        return np.full_like(a, np.nan if kind in "fc" else kind == "b" or np.iinfo(a.dtype).min, shape=())
    check("median", a)
    if a.dtype.kind == "b":
        raise NotImplementedError("median(): not implemented for 'Bool'")
    flat = np.sort(a.reshape((-1,)))
    nans = (flat != flat).sum()
    k = (flat.shape[0] - 1 - (nans if skip_nan else 0)) // 2
    if skip_nan:
        return np.take(flat, np.maximum(k, 0))
    return np.where(nans > 0, flat[-1], flat[k])[()]


def _median_over(a: Any, dim: int, keepdim: bool, skip_nan: bool) -> Any:
    """Return the lower median along a dimension, and its index."""
    d = dimension(dim, a.ndim)
    check("median", a, d)
    if a.dtype.kind == "b":
        raise NotImplementedError("median(): not implemented for 'Bool'")
    index, nan = order(a, d), a != a
    if a.ndim:
        count = nan.sum(d, None, None, True)
        k = np.maximum((a.shape[d] - 1 - (count if skip_nan else 0 * count)) // 2, 0)
        index = np.take_along_axis(index, k, d)
        if not skip_nan:
            index = np.where(count > 0, nan.argmax(d).reshape(count.shape), index)
    return _one(a, d, index, keepdim)


@no_method(node="MedianBackward0", symbol="median", input="g * ties(input, spread(result, input.shape), None)")
def median_all(input: Tensor) -> Tensor:
    """Return the lower median of all elements: ``median()``; ties share the gradient."""
    return _median_all(input, False)


@no_method(node="NanmedianBackward0", symbol="median", input="g * ties(input, spread(result, input.shape), None)")
def nanmedian_all(input: Tensor) -> Tensor:
    """Return the lower median of the elements that are not nan: ``nanmedian()``; ties share the gradient."""
    return _median_all(input, True)


@no_method(node="MedianBackward1", symbol="median", many=True, input=CHOSEN)
def median_over(input: Tensor, dim: int, keepdim: bool) -> Any:
    """Return the lower median along a dimension, and its index."""
    return _median_over(input, dim, keepdim, False)


@no_method(node="NanmedianBackward1", symbol="median", many=True, input=CHOSEN)
def nanmedian_over(input: Tensor, dim: int, keepdim: bool) -> Any:
    """Return the lower median along a dimension, ignoring nan, and its index."""
    return _median_over(input, dim, keepdim, True)


@composite(out=True, keeps=True)
@example("median([1., 4., 3., 2.]) -> tensor(2.)")
def median(input: Tensor, dim: Int = None, keepdim: bool = False) -> Any:
    """Return the median of all elements, the lower of two; with ``dim``, the median along it and its index."""
    if dim is None:
        return median_all(input)
    return return_type("median")(median_over(input, dim, keepdim))


@composite(out=True, keeps=True)
@example('nanmedian([1., float("nan"), 3., 2.]) -> tensor(2.)')
def nanmedian(input: Tensor, dim: Int = None, keepdim: bool = False) -> Any:
    """Return the median, ignoring nan; see :func:`median`."""
    if dim is None:
        return nanmedian_all(input)
    return return_type("nanmedian")(nanmedian_over(input, dim, keepdim))


@no_method(node="ModeBackward0", symbol="mode", many=True, real_only=True, input=CHOSEN)
def mode_over(input: Tensor, dim: int, keepdim: bool) -> Any:
    """Return the mode along a dimension, and the index of its last occurrence."""
    d = dimension(dim, input.ndim)
    if not input.ndim:
        return input.copy(), np.zeros_like(input, np.int64)
    check("mode", input, d)
    index = order(input, d)
    a: Any = np.moveaxis(np.take_along_axis(input, index, d), d, -1)
    place = np.broadcast_to(np.arange(a.shape[-1], like=a), a.shape)
    first = np.ones_like(a, bool)
    first[..., 1:] = a[..., 1:] != a[..., :-1]
    so_far = place - running(np.maximum, np.where(first, place, 0), a.ndim - 1)
    longest = so_far.argmax(-1)  # the end of the first among the longest runs of equal elements
    index = np.take_along_axis(index, longest.reshape(reduced_shape(input.shape, d)), d)
    return _one(input, d, index, keepdim)


@composite(out=True)
@example("mode([1., 2., 2., 3.]).values -> tensor(2.)")
def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> Any:
    """Return the mode, the most frequent element, along ``dim`` (the smallest of ties), and the index of its last
    occurrence.
    """
    return return_type("mode")(mode_over(input, dim, keepdim))


# -- quantiles -------------------------------------------------------------------------------------------------------

INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _checked(name: str, input: Tensor, q: Any, interpolation: str) -> Tensor:
    """Check the arguments of quantiles, and return q as a tensor."""
    if not isinstance(q, Tensor):
        check_option(name, "q", q, "float")
    elif interpolation != "linear":  # the others choose elements by it
        q = q.detach()
    if input._a.dtype not in (np.float32, np.float64):
        raise DtypeError(f"{name}() input tensor must be either float or double dtype, not {input.dtype!r}")
    if not input._a.size:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if interpolation not in INTERPOLATIONS:
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}"
        )
    if not isinstance(q, Tensor):
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q}")
        q = wrap(backend.module(input.device).asarray(q, input._a.dtype))
    if q._a.ndim > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor, but has {q._a.ndim} dimensions")
    if q._a.dtype != input._a.dtype:
        raise DtypeError(f"{name}() q tensor must be same dtype as the input tensor, {input.dtype!r}, not {q.dtype!r}")
    outside = (elements(q) < 0) | (elements(q) > 1)
    if bool(outside.any()):
        raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
    return q


def _quantile(
    name: str, input: Tensor, q: Any, dim: int | None, keepdim: bool, interpolation: str, skip_nan: bool
) -> Tensor:
    """Compute quantiles by sorting, interpolating between the elements on both sides of the rank q (n - 1)."""
    q = _checked(name, input, q, interpolation)
    ndim = input._a.ndim
    d = 0 if dim is None else dimension(dim, ndim)
    x = input.reshape(-1) if dim is None or not ndim else input.movedim(d, -1)
    n = x._a.shape[-1]
    ranks = q.reshape(-1) * (n - 1)
    nan = x.isnan()
    if skip_nan:
        there = n - nan.sum(-1, keepdim=True)
        ranks = (q.reshape(-1) * (there - 1).to(q.dtype)).clamp(min=0)
    else:
        ranks = where(nan.any(-1, keepdim=True), float(n - 1), ranks)  # sorted: the last element is nan if any is
    ordered = sort_over(x, -1, False)[0]
    ranks = ranks.expand(*x._a.shape[:-1], ranks._a.shape[-1])
    if interpolation in ("linear", "midpoint"):
        below = ordered.gather(-1, ranks.floor().to(dtypes.int64))
        above = ordered.gather(-1, ranks.ceil().to(dtypes.int64))
        result = lerp(below, above, ranks - ranks.floor() if interpolation == "linear" else (ranks * 0 + 0.5))
    else:
        rank = {"lower": ranks.floor, "higher": ranks.ceil, "nearest": ranks.round}[interpolation]()
        result = ordered.gather(-1, rank.to(dtypes.int64))
    if keepdim and ndim:
        result = result.reshape((1,) * ndim + (-1,)) if dim is None else result.unsqueeze(d)
    return squeezed(result, -1) if not q._a.ndim else result.movedim(-1, 0)


@composite(out=True)
@example("quantile([1., 2., 3., 4.], 0.25) -> tensor(1.7500)")
def quantile(
    input: Tensor, q: float | Tensor, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """Return the q-quantiles of all elements or along ``dim``; nan propagates.

    :param q: in [0, 1]; a 1-d tensor adds a first dimension to the result.
    :param interpolation: between two elements: linear, lower, higher, midpoint or nearest.
    :raises RuntimeError: the dtype is not float32 or float64, or ``q`` or ``interpolation`` is invalid.
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation, False)


@composite(out=True)
@example('nanquantile([1., float("nan"), 2.], 0.5) -> tensor(1.5000)')
def nanquantile(
    input: Tensor, q: float | Tensor, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """Return the q-quantiles, ignoring nan; see :func:`quantile`."""
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, True)
