"""Counts and histograms (``bincount``, ``histc``, ``histogram``), covariance and correlation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend, dtypes
from nbautograd._engine.arrays.indices import as_int64
from nbautograd._engine.compiler.op import composite, no_method, op
from nbautograd._engine.core.batched import elements, looks_at_elements
from nbautograd._engine.core.return_types import return_type
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd._engine.ops._internal import not_implemented  # noqa: F401 - a formula names it
from nbautograd._engine.ops.elementwise.complex import complex as complex_of
from nbautograd._engine.ops.queries import example
from nbautograd.errors import DtypeError, warn

# -- counting --------------------------------------------------------------------------------------------------------


@op(node="NotImplemented", symbol="▁▃▂", weights="not_implemented('bincount')")
@example("bincount([1, 3, 1]) -> [0, 2, 0, 1]")
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """Return the number of occurrences of each of 0, 1, 2, ...; or the sum of their weights.

    :param input: 1-d, of non-negative integers.
    :param minlength: the minimum length of the result.
    :raises RuntimeError: ``input`` is not such a tensor, or the number of weights differs.
    """
    if input.dtype.kind not in "iu":
        name = dtypes.scalar_type(input.dtype)
        raise NotImplementedError(f"bincount(): not implemented for '{name}': only supports integral inputs")
    if input.ndim != 1 or (input.size and int(input.min()) < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if minlength < 0:
        raise RuntimeError(f"bincount(): minlength should be >= 0, but got {minlength}")
    if backend.is_bare(input):
        raise NotImplementedError(
            "aten::bincount: attempted to run this operator with Meta tensors, whose largest value is unknown"
        )
    if weights is not None and weights.shape != input.shape:
        raise RuntimeError(
            f"bincount(): weights should be 1-d and have the same length as input, {input.shape[0]}, but their shape "
            f"is {list(weights.shape)}"
        )
    if not input.size:
        return np.zeros_like(input, np.int64, shape=minlength)
    if weights is None:
        return as_int64(np.bincount(input, minlength=minlength))
    return np.bincount(input, weights, minlength).astype(weights.dtype if weights.dtype == np.float32 else np.float64)


def refuse_bool(name: str, bins: Any) -> None:
    """Raise a TypeError if the number of bins is a bool."""
    if isinstance(bins, bool):
        raise TypeError(f"{name}(): argument 'bins' (position 2) must be int, not bool")


def _positive(bins: int, name: str) -> None:
    if bins <= 0:
        raise RuntimeError(f"{name}(): bins must be > 0, but got {bins}")


def _floating(a: Any, name: str) -> None:
    if a.dtype not in (np.float32, np.float64):
        kind = dtypes.scalar_type(a.dtype)
        raise NotImplementedError(f"{name}(): not implemented for '{kind}': expected float32 or float64")


def _limits(a: Any, low: float, high: float, name: str) -> tuple[float, float]:
    """Return the range of a histogram: by default that of the elements."""
    if low == high and a.size:
        low, high = float(a.min()), float(a.max())
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"{name}(): range of [{low}, {high}] is not finite")
    return low, high


@composite(out=True)
@looks_at_elements
@example("histc([1., 2., 1.], bins=4, min=0, max=3) -> [0., 2., 1., 0.]")
def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """Compute the histogram over ``bins`` bins of equal width between ``min`` and ``max``, in the input's dtype.

    :param min: the lower end; if it equals ``max``, the range is that of the elements.
    :raises RuntimeError: the dtype is not floating, or an argument is out of range.
    """
    a = input._a
    min, max = (value.item() if isinstance(value, Tensor) else value for value in (min, max))
    if not input.dtype.is_floating_point:
        raise NotImplementedError(
            f"histc(): not implemented for '{dtypes.scalar_type(input.dtype)}', only for floating dtypes"
        )
    _positive(bins, "histc")
    if max < min:
        raise RuntimeError(f"histc(): max must be larger than min, but got min={min}, max={max}")
    if input.is_meta:
        return wrap(np.empty_like(a, shape=(bins,)))
    low, high = _limits(a, min, max, "histc")
    if low == high:
        low, high = low - 1, high + 1
    flat = a.reshape((-1,))
    flat = flat[(flat >= low) & (flat <= high)]
    place = ((flat - a.dtype.type(low)) * (bins / (high - low))).astype(np.int64)
    return wrap(_counted(np.minimum(place, bins - 1), bins, None, a))


def _counted(place: Any, bins: int, weight: Any, like: Any) -> Any:
    """Return the number of occurrences of each bin index, or the sum of their weights, in the dtype of ``like``."""
    if not place.size:
        return np.zeros_like(like, shape=(bins,))
    return np.bincount(place, weight, bins).astype(like.dtype)


@composite(out=True)
@looks_at_elements
@example("histogram([1., 2., 1.], bins=2, range=(0., 2.)).hist -> [0., 3.]")
def histogram(
    input: Tensor, bins: int | Tensor = 100, *, range: tuple[float, float] | None = None, weight: Tensor | None = None,
    density: bool = False,
) -> Any:  # fmt: skip
    """Compute the histogram of the elements, and the bin edges; a bin includes its lower edge, the last both.

    :param bins: the number of bins of equal width, or the increasing edges.
    :param range: the outer edges; by default the minimum and maximum of the elements.
    :param weight: the weight of each element, 1 by default.
    :param density: normalize the integral to 1.
    :returns: ``(hist, bin_edges)``.
    :raises RuntimeError: an argument does not match the input.
    """
    if weight is not None and weight.numel() != input.numel():
        raise RuntimeError(
            f"histogram(): if weight tensor is provided it should have the same shape as the input tensor, "
            f"{list(input._a.shape)}, but got {list(weight._a.shape)}"
        )
    refuse_bool("histogram", bins)
    flat = None if weight is None else weight.reshape(-1)
    hist, edges = _histogram("histogram", input.reshape(-1, 1), [bins], range, flat, density)
    return return_type("histogram")((hist, edges[0]))


@composite(method=False)
@looks_at_elements
def histogramdd(
    input: Tensor, bins: int | Sequence[int] | Sequence[Tensor], range: Sequence[float] | None = None,
    weight: Tensor | None = None, density: bool = False,
) -> Any:  # fmt: skip
    """Compute the D-dimensional histogram of points, and the bin edges along each coordinate.

    :param input: shape (..., D): points with D coordinates.
    :param bins: the number of bins, for all or for each coordinate, or the edges along each.
    :param range: the lower and upper end for each coordinate, as a flat sequence.
    :param weight: the weight of each point, with the input's shape without its last dimension.
    :param density: normalize the integral to 1.
    :returns: ``(hist, bin_edges)``.
    :raises RuntimeError: an argument does not match the input.

    >>> torch.histogramdd(torch.tensor([[0., 1.], [1., 0.], [2., 2.], [2., 2.]]), bins=[2, 2]).hist
    tensor([[0., 1.],
            [1., 2.]])
    """
    if input._a.ndim < 2:
        raise RuntimeError(f"histogramdd(): input tensor should have at least 2 dimensions, but got {input._a.ndim}")
    d = input._a.shape[-1]
    refuse_bool("histogramdd", bins)
    along = [bins] * d if isinstance(bins, int) else list(bins)
    if len(along) != d:
        raise RuntimeError(
            f"histogramdd(): The size of bins must be equal to the innermost dimension of the input, {d}, "
            f"not {len(along)}"
        )
    if weight is not None and weight._a.shape != input._a.shape[:-1]:
        raise RuntimeError(
            "histogramdd(): if weight tensor is provided it should have the same shape as the input tensor excluding "
            f"its innermost dimension, {list(input._a.shape[:-1])}, but got {list(weight._a.shape)}"
        )
    flat = None if weight is None else weight.reshape(-1)
    hist, edges = _histogram("histogramdd", input.reshape(-1, d), along, range, flat, density)
    given = zip(along, edges, strict=True)
    return return_type("histogramdd")((hist, tuple(how if isinstance(how, Tensor) else ends for how, ends in given)))


def _histogram(
    name: str, input: Tensor, bins: list[Any], range_: Sequence[float] | None, weight: Tensor | None, density: bool
) -> tuple[Tensor, list[Tensor]]:
    """Compute the histogram of points, the rows of ``input``, and the bin edges along each coordinate."""
    given = [input, *[t for t in (weight, *bins) if isinstance(t, Tensor) and t.requires_grad]]
    if name == "histogram":
        hist, *edges = binned(given, lambda: _binned(name, input, bins, range_, weight, density))
        return hist, edges
    with backend.quiet():
        arrays = _binned(name, input, bins, range_, weight, density)
    return binned(given, lambda: arrays[:1])[0], binned(given, lambda: arrays[1:])


@no_method(node="NotImplemented", symbol="▁▃▂", many=True, sources="not_implemented('histogram')")
def binned(sources: Sequence[Tensor], compute: Any) -> Any:
    """Return the computed histogram and its edges, which have no derivative.

    :param sources: the input, and the other tensors that the histogram depends on and that require grad.
    """
    return compute()


def _edges(name: str, input: Tensor, i: int, bins: Any, range_: Sequence[float] | None) -> Any:
    """Return the edges of the bins of dimension ``i``: those given, or those between two limits."""
    points = input._a
    if isinstance(bins, Tensor):
        if bins._a.ndim != 1 or not bins._a.size:
            raise RuntimeError(f"{name}(): bins tensor should have one dimension, but got {bins._a.ndim}")
        if bins._a.dtype != points.dtype:
            raise DtypeError(
                f"{name}(): input tensor and bins tensors should have the same dtype, but got input with dtype "
                f"{dtypes.scalar_type(input.dtype)} and bins with dtype {dtypes.scalar_type(bins.dtype)}"
            )
        _positive(bins._a.size - 1, name)
        return bins._a
    _positive(bins, name)
    if range_ is None:
        low, high = _limits(points[:, i], 0.0, 0.0, name) if points.size else (0.0, 1.0)
    else:
        low, high = range_[2 * i : 2 * i + 2]
        if not (math.isfinite(low) and math.isfinite(high)):
            raise RuntimeError(f"{name}(): dimension {i}'s range [{low}, {high}] is not finite")
        if low > high:
            raise RuntimeError(f"{name}(): min should not exceed max, but got min {low} max {high}")
    if low == high:
        low, high = low - 0.5, high + 0.5
    return backend.module(input.device).linspace(low, high, bins + 1).astype(points.dtype)


def _binned(
    name: str, input: Tensor, bins: list[Any], range_: Sequence[float] | None, weight: Tensor | None, density: bool
) -> tuple[Any, ...]:
    """Compute the arrays of :func:`_histogram`."""
    points = input._a
    _floating(points, name)
    if range_ is not None and len(range_) != 2 * len(bins):
        raise RuntimeError(f"{name}(): the range should have {2 * len(bins)} elements, but got {len(range_)}")
    edges = [_edges(name, input, i, how, range_) for i, how in enumerate(bins)]
    there = np.ones_like(points, bool, shape=points.shape[:1])
    box = np.zeros_like(points, np.int64, shape=points.shape[:1])
    for i, ends in enumerate(edges):
        x = points[:, i]
        there = there & (x >= ends[0]) & (x <= ends[-1])
        n = ends.shape[0] - 1
        box = box * n + np.minimum(np.maximum(np.searchsorted(ends, x, "right") - 1, 0), max(0, n - 1))
    shape = tuple(ends.shape[0] - 1 for ends in edges)
    count = math.prod(shape)
    if weight is not None and weight._a.dtype != points.dtype:
        raise DtypeError(f"{name}(): input tensor and weight tensor should have the same dtype, {input.dtype!r}")
    hist = _counted(box[there], count, None if weight is None else weight._a[there], points).reshape(shape)
    if density:
        hist = hist / hist.sum()
        for i, ends in enumerate(edges):
            hist = hist / (ends[1:] - ends[:-1]).reshape((-1,) + (1,) * (len(edges) - 1 - i))
    return (hist, *[ends.copy() for ends in edges])


# -- covariance ------------------------------------------------------------------------------------------------------


def _weights(weights: Tensor | None, name: str, kinds: str, wanted: str, n: int) -> Tensor | None:
    """Check a vector of weights, and return its array."""
    if weights is None:
        return None
    a = weights._a
    if a.ndim > 1:
        raise RuntimeError(f"cov(): expected {name} to have one or fewer dimensions but got {a.ndim}")
    if a.dtype.kind not in kinds:
        raise DtypeError(
            f"cov(): expected {name} to have {wanted} dtype but got {name} with "
            f"{dtypes.scalar_type(weights.dtype)} dtype"
        )
    if a.size != n:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input but got {a.size} "
            f"!= {n}"
        )
    if n and bool((elements(a) < 0).any()):
        raise RuntimeError(f"cov(): {name} cannot be negative")
    return weights.reshape(-1)


def _few_dimensions(name: str, input: Tensor) -> None:
    if input._a.ndim > 2:
        raise RuntimeError(
            f"{name}(): expected input to have two or fewer dimensions but got an input with {input._a.ndim} dimensions"
        )


@composite()
@example("cov([[0., 1., 2.], [2., 1., 0.]]) -> [[ 1., -1.], [-1.,  1.]]")
def cov(
    input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """Compute the covariance matrix of variables, the rows of ``input``; its columns are observations.

    :param correction: subtracted from the number of observations in the divisor (1 is Bessel's correction).
    :param fweights: the frequency of each observation, integers.
    :param aweights: the weight of each observation.
    :raises RuntimeError: the input has more than two dimensions or is bool, or the weights do not match.
    """
    _few_dimensions("cov", input)
    if input._a.dtype.kind == "b":
        raise DtypeError("cov(): bool dtype is not supported for input")
    x = input if input._a.ndim == 2 else input.reshape(1, -1)
    n = x._a.shape[1]
    often = _weights(fweights, "fweights", "iu", "integral", n)
    much = _weights(aweights, "aweights", "f", "floating point", n)
    if x._a.dtype.kind not in dtypes.INEXACT and much is None:
        x = x.to(dtypes.get_default_dtype())
    w = often if much is None else much if often is None else often * much
    total: Any = n if w is None else w.sum()
    mean = (x if w is None else x * w).sum(1, keepdim=True) / total
    if correction == 0 or much is None:
        divisor = total - correction
    else:
        divisor = total - correction * (w * much).sum() / total
    divisor = _degrees(divisor)
    d = x - mean
    return ((d if w is None else d * w) @ d.t().conj() / divisor).squeeze()


def _degrees(divisor: Any) -> Any:
    """Return the degrees of freedom; 0, with a warning, if none are left."""
    short = bool((elements(divisor) <= 0).any()) if isinstance(divisor, Tensor) else divisor <= 0
    if not short:
        return divisor
    warn("cov(): degrees of freedom is <= 0: the correction is not less than the number of observations")
    return divisor * 0 if isinstance(divisor, Tensor) else 0


@composite()
@example("corrcoef([[0., 1., 2.], [2., 1., 0.]]) -> [[ 1., -1.], [-1.,  1.]]")
def corrcoef(input: Tensor) -> Tensor:
    """Compute the Pearson correlation coefficients of variables, the rows of ``input``; its columns are observations.

    :raises RuntimeError: the input has more than two dimensions.
    """
    _few_dimensions("corrcoef", input)
    c = cov(input)
    if not c._a.ndim:
        return c / c
    scale = (c.diagonal().real if c._a.dtype.kind == "c" else c.diagonal()).sqrt()
    c = c / scale.unsqueeze(-1) / scale.unsqueeze(0)
    if c._a.dtype.kind == "c":
        return complex_of(c.real.clamp(-1, 1), c.imag.clamp(-1, 1))
    return c.clamp(-1, 1)
