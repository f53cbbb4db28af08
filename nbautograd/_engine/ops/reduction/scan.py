"""Scans along a dimension: cumulative sums and extrema; finite differences and integrals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nbautograd._engine.arrays import dtypes
from nbautograd._engine.arrays.indices import as_int64
from nbautograd._engine.arrays.size import dimension
from nbautograd._engine.arrays.strides import row_major
from nbautograd._engine.arrays.summation import cumulative_sums
from nbautograd._engine.compiler.op import composite, derivative_helper, make_inplace_method, no_method, scan_in_place
from nbautograd._engine.core.return_types import return_type
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.queries import check_tensors, example
from nbautograd._engine.ops.reduction.minmax import check
from nbautograd._engine.ops.shape.joining import cat

Number = int | float | complex
WIDE = {"e": np.float64, "f": np.float64, "F": np.complex128}
"""Dtypes in which cumulative sums are accumulated."""


# -- helpers ---------------------------------------------------------------------------------------------------------


def running(function: Any, a: Any, d: int) -> Any:
    """Compute the scan (prefix sum) of an associative function along ``d``: a0, f(a0, a1), f(f(a0, a1), a2), ...

    Without ``ufunc.accumulate`` (CuPy), it doubles: each step combines blocks twice as long as before.
    """
    if isinstance(function, np.ufunc) and a.__class__ is np.ndarray:
        return function.accumulate(a, d)
    y = np.moveaxis(a, d, 0).copy()
    step = 1
    while step < len(y):
        y[step:] = function(y[:-step], y[step:])
        step *= 2
    return row_major(np.moveaxis(y, 0, d))


@no_method(node="ShiftBackward0", symbol="shift", input="shifted(g, dim, -by)")
def shifted(input: Tensor, dim: int, by: int, fill: Number = 0) -> Tensor:
    """Return the elements shifted by one along ``dim``, up for ``by=1``, down for ``by=-1``; ``fill`` is shifted in."""
    return moved(input, dimension(dim, input.ndim), by, fill)


def moved(a: Any, d: int, by: int, fill: Number) -> Any:
    """Return the elements of an array shifted by one along a dimension, as ``shifted`` does."""
    output = np.full_like(a, fill)
    if a.ndim:
        upper, lower = (slice(None),) * d + (slice(1, None),), (slice(None),) * d + (slice(None, -1),)
        output[upper if by == 1 else lower] = a[lower if by == 1 else upper]
    return output


@no_method(
    symbol="y = b + a·y₋₁",
    input="recurrence(g, conj(shifted(factors, dim, 1 if reverse else -1)), dim, not reverse)",
    factors="recurrence(g, conj(shifted(factors, dim, 1 if reverse else -1)), dim, not reverse) "
    "* conj(shifted(result, dim, -1 if reverse else 1))",
)
def recurrence(input: Tensor, factors: Tensor, dim: int, reverse: bool = False) -> Tensor:
    """Compute the linear recurrence ``y[k] = input[k] + factors[k] * y[k - 1]`` along ``dim``, forward or in reverse.

    Its transpose is a recurrence in the other direction, so it is its own derivative. It is computed as a parallel
    scan (Hillis and Steele, 1986): each step combines blocks twice as long as before.
    """
    d = dimension(dim, input.ndim)
    if not input.ndim:
        return input.copy()
    y = np.moveaxis(np.flip(input, d) if reverse else input, d, 0).copy()
    a = np.moveaxis(np.flip(factors, d) if reverse else factors, d, 0).copy()
    step = 1
    while step < len(y):
        y[step:] = y[step:] + a[step:] * y[:-step]
        a[step:] = a[step:] * a[:-step]
        step *= 2
    y = np.moveaxis(y, 0, d)
    return np.flip(y, d).copy() if reverse else y


# -- cumulative sums, extrema ----------------------------------------------------------------------------------------


@no_method(node="CumsumBackward0", symbol="Σ≤", input="cumsum_over(g, dim, not reverse)")
def cumsum_over(input: Tensor, dim: int, reverse: bool = False) -> Tensor:
    """Return the cumulative sum along ``dim``, accumulated in double precision; from the end with ``reverse``."""
    d = dimension(dim, input.ndim)
    if not input.ndim:
        return input.astype(input.dtype if input.dtype.kind in "fcV" else np.int64)
    input = row_major(input)
    if d == input.ndim - 1 and (fast := cumulative_sums(input, reverse)) is not None:
        return fast
    a = np.flip(input, d) if reverse else input
    summed = a.cumsum(d, WIDE.get(a.dtype.char)).astype(a.dtype if a.dtype.kind in "fc" else np.int64, copy=False)
    if summed.dtype.kind in "fc":
        summed += 0  # PyTorch begins with 0, so that sums of -0 are 0
    return np.flip(summed, d).copy() if reverse else summed


@composite(out=True)
@example("cumsum([1., 2., 3.], dim=0) -> [1., 3., 6.]")
def cumsum(input: Tensor, dim: int, *, dtype: dtypes.dtype | None = None) -> Tensor:
    """Return the cumulative sum along ``dim``; int64 for integers and bools."""
    if dtype is dtypes.bool_ and input._a.ndim:
        raise NotImplementedError("\"cumsum_out_cpu\" not implemented for 'Bool'")
    return cumsum_over(input, dim) if dtype is None else cumsum_over(input.to(dtype), dim).to(dtype)


Tensor.cumsum_ = make_inplace_method("cumsum_", scan_in_place(cumsum))


def _running_extreme(name: str, a: Any, dim: int) -> tuple[Any, Any]:
    """Return the cumulative extremum and its index, the last of ties; nan propagates."""
    d = dimension(dim, a.ndim)
    if not a.ndim:
        return a.copy(), np.zeros_like(a, np.int64)
    check(name, a)
    a = row_major(a)
    values = running(np.maximum if name == "cummax" else np.minimum, a, d)
    places = np.arange(a.shape[d], like=a).reshape((-1,) + (1,) * (a.ndim - 1 - d))
    hit = (a == values) | (a != a)
    return values, as_int64(running(np.maximum, np.where(hit, places, 0), d))


FROM_THERE = "gather_back(g[0], input.shape, dim, result[1])"
"""The gradient of an operation that selects elements along ``dim``: added at their indices."""


@no_method(node="CummaxBackward0", symbol="max≤", many=True, real_only=True, input=FROM_THERE)
def cummax_over(input: Tensor, dim: int) -> Any:
    """Return the cumulative maximum and its index."""
    return _running_extreme("cummax", input, dim)


@no_method(node="CumminBackward0", symbol="min≤", many=True, real_only=True, input=FROM_THERE)
def cummin_over(input: Tensor, dim: int) -> Any:
    """Return the cumulative minimum and its index."""
    return _running_extreme("cummin", input, dim)


@composite(out=True)
@example("cummax([1., 3., 2.], dim=0).values -> [1., 3., 3.]")
def cummax(input: Tensor, dim: int) -> Any:
    """Return the cumulative maximum along ``dim``, and its indices; of ties, the last."""
    return return_type("cummax")(cummax_over(input, dim))


@composite(out=True)
@example("cummin([2., 3., 1.], dim=0).values -> [2., 2., 1.]")
def cummin(input: Tensor, dim: int) -> Any:
    """Return the cumulative minimum along ``dim``, and its indices; of ties, the last."""
    return return_type("cummin")(cummin_over(input, dim))


@derivative_helper
def log_ratio(result: Any, dim: int) -> Any:
    """Return how much smaller each element is than the next along ``dim``: 0 for the last, and of two infinities."""
    less = shifted(shifted(result, dim, 1) - result, dim, -1)
    return masked_fill(less, less != less, 0)  # type: ignore[name-defined]  # noqa: F821


@no_method(
    node="LogcumsumexpBackward0",
    symbol="lse≤",
    input="conj(exp(input - result)) * recurrence(g, conj(exp(log_ratio(result, dim))), dim, True)",
)
def logcumsumexp_over(input: Tensor, dim: int) -> Tensor:
    """Return the cumulative log-sum-exp; its derivative is a recurrence with factors of at most 1: no overflow."""
    if not input.ndim:
        return input.copy()
    wide = row_major(input).astype(WIDE.get(input.dtype.char, input.dtype))
    return running(_complex_logaddexp if input.dtype.kind == "c" else np.logaddexp, wide, dim).astype(input.dtype)


def _complex_logaddexp(a: Any, b: Any) -> Any:
    """Return ``log(exp(a) + exp(b))`` of complex numbers, on the branch of the one with the larger real part."""
    more, less = np.where(a.real >= b.real, a, b), np.where(a.real >= b.real, b, a)
    both = more + np.log1p(np.exp(less - more))
    nan = np.isnan(a.real) | np.isnan(b.real)
    return np.where(nan, complex(np.nan, np.nan), np.where(np.isinf(more.real), more, both))  # both -inf, or one inf


@composite(out=True)
@example("logcumsumexp([1000., 1000.], dim=0) -> [1000.0000, 1000.6932]")
def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """Compute ``log(cumsum(exp(input)))`` along ``dim``, without overflow."""
    dim = dimension(dim, input._a.ndim)
    if input._a.dtype.kind not in dtypes.INEXACT:
        raise NotImplementedError(
            f"logcumsumexp(): not implemented for '{dtypes.scalar_type(input.dtype)}', only for floating dtypes"
        )
    return logcumsumexp_over(input, dim)


# -- differences and integrals ---------------------------------------------------------------------------------------


def part(x: Tensor, dim: int, start: int, stop: int) -> Tensor:
    """Return the slice ``start:stop`` along ``dim``."""
    return x.narrow(dim, start, max(0, (stop if stop > 0 else x._a.shape[dim] + stop) - start))


@composite(out=True)
@example("diff([1, 4, 9]) -> [3, 5]")
def diff(
    input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """Return the n-th forward difference along ``dim``; for bools, whether neighbors differ.

    :param prepend: a tensor to prepend along ``dim`` first; its other sizes are those of ``input``.
    :param append: a tensor to append.
    :raises RuntimeError: ``input`` is 0-d, or n is negative.
    """
    if not input._a.ndim:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"diff expects order n to be non-negative but got {n}")
    whole = [x for x in (prepend, input, append) if x is not None]
    d = dimension(dim, input._a.ndim) if n or len(whole) > 1 else 0
    for x in whole:
        _check_end(x._a.shape, input._a.shape, d)
    if n == 0:
        return input.clone()
    x = cat(whole, d) if len(whole) > 1 else input
    for _ in range(min(n, x._a.shape[d])):
        before, after = part(x, d, 0, -1), part(x, d, 1, x._a.shape[d])
        x = before.logical_xor(after) if x._a.dtype.kind == "b" else after - before
    return x


def _check_end(have: tuple[int, ...], shape: tuple[int, ...], d: int) -> None:
    """Check that a tensor can be joined with one of this shape along a dimension."""
    if len(have) != len(shape):
        raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    if (have[:d], have[d + 1 :]) != (shape[:d], shape[d + 1 :]):
        raise RuntimeError("diff expects the shape of prepend or append to match that of input")


def _spacing_error(problem: str) -> RuntimeError:
    return RuntimeError(f"torch.gradient expected {problem}")


@composite(method=False)
def gradient(
    input: Tensor, *, spacing: Number | Tensor | Sequence[Any] | None = 1, dim: int | Sequence[int] | None = None,
    edge_order: int = 1,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Return the numerical derivative along each of ``dim``: central differences, one-sided at the edges.

    :param spacing: the distance between neighbors, one for all dimensions or one for each; or the coordinates along
        each, as 1-d tensors.
    :param edge_order: 1 or 2, the order of accuracy at the edges.
    :raises RuntimeError: a dimension is too short, or ``spacing`` does not match ``dim``.

    >>> torch.gradient(torch.tensor([1., 4., 9., 16.]))[0]
    tensor([3., 4., 6., 7.])
    """
    ndim = input._a.ndim
    if edge_order not in (1, 2):
        raise _spacing_error(f"edge_order to be 1 or 2, but got {edge_order}")
    along = range(ndim) if dim is None else dim if isinstance(dim, (tuple, list)) else [dim]
    dims = [dimension(d, ndim) for d in along]
    if len(set(dims)) < len(dims):
        raise RuntimeError(f"torch.gradient: a dim appears multiple times in the list of dims {dims}")
    steps = list(spacing) if isinstance(spacing, (tuple, list)) else [1 if spacing is None else spacing] * len(dims)
    if len(steps) != len(dims):
        raise _spacing_error(
            f"spacing to be unspecified, a scalar, or of the length of its 'dim' argument, {len(dims)}, but got a list "
            f"of length {len(steps)}"
        )
    if input._a.dtype.kind in "biu":
        input = _as_floating(input)
    for d in dims:
        if ndim and input._a.shape[d] < edge_order + 1:
            raise _spacing_error(
                f"each dimension size to be at least edge_order+1, {edge_order + 1}, but dimension {d} has "
                f"{input._a.shape[d]}"
            )
    return tuple(_slope(input, d, step, edge_order) for d, step in zip(dims, steps, strict=True))


def _as_floating(input: Tensor) -> Tensor:
    """Return integers in the default dtype; PyTorch's ``gradient`` takes no uint8 and no bools."""
    if input._a.dtype == "uint8":
        raise RuntimeError("gradient(): torch.gradient does not support uint8 input.")
    if input._a.dtype.kind == "b" and input._a.ndim:
        raise RuntimeError("gradient(): Subtraction, the `-` operator, with two bool tensors is not supported.")
    return input.to(dtypes.get_default_dtype())


def _slope(x: Tensor, d: int, spacing: Any, edge_order: int) -> Tensor:
    """Return the derivative along one dimension: that of the parabola through three neighbors."""
    n, h = x._a.shape[d], None
    if isinstance(spacing, Tensor) and spacing._a.ndim:
        if spacing._a.shape != (n,):
            raise _spacing_error(
                f"each spacing tensor to be 1-d and of the size of its dimension, {n}, but got {spacing._a.shape}"
            )
        h = diff(spacing).reshape((n - 1,) + (1,) * (x._a.ndim - 1 - d))
    first, last = part(x, d, 0, 1), part(x, d, n - 1, n)
    if edge_order == 1:
        left = (part(x, d, 1, 2) - first) / (spacing if h is None else h[:1])
        right = (last - part(x, d, n - 2, n - 1)) / (spacing if h is None else h[-1:])
    if h is None:
        middle = (part(x, d, 2, n) - part(x, d, 0, -2)) / (spacing * 2)
        if edge_order == 2:
            left = (part(x, d, 1, 2) * 4 - first * 3 - part(x, d, 2, 3)) / (spacing * 2)
            right = (last * 3 - part(x, d, n - 2, n - 1) * 4 + part(x, d, n - 3, n - 2)) / (spacing * 2)
    else:
        a, b = h[:-1], h[1:]
        three = [part(x, d, k, k + n - 2) for k in range(3)]
        middle = -b / (a * (a + b)) * three[0] + (b - a) / (a * b) * three[1] + a / (b * (a + b)) * three[2]
        if edge_order == 2:
            left, right = _curved_edges(x, d, n, h)
    return cat([left, middle, right], d)


def _curved_edges(x: Tensor, d: int, n: int, h: Tensor) -> tuple[Tensor, Tensor]:
    """Return the derivatives at both ends of the parabolas through three neighbors at distances ``h``."""
    a, b = h[:1], h[1:2]
    three = [part(x, d, k, k + 1) for k in range(3)]
    left = -(2 * a + b) / (a * (a + b)) * three[0] + (a + b) / (a * b) * three[1] - a / (b * (a + b)) * three[2]
    a, b = h[-2:-1], h[-1:]
    three = [part(x, d, k, k + 1) for k in range(n - 3, n)]
    right = b / (a * (a + b)) * three[0] - (a + b) / (a * b) * three[1] + (a + 2 * b) / (b * (a + b)) * three[2]
    return left, right


def _pairs(y: Tensor, x: Tensor | None, dx: Any, dim: int, name: str) -> tuple[Tensor, Tensor, Any]:
    """Return ``y[:-1]``, ``y[1:]`` along the dimension, and the distances between their coordinates, if given."""
    check_tensors(name, y=y)
    if x is not None:
        dimension(dim, y._a.ndim)  # which raises an IndexError first
    for label, each in (("y", y), ("x", x)):
        if each is not None and each._a.dtype.kind == "b":
            raise RuntimeError(f"{name}(): received a bool input for `{label}`, but bool is not supported")
    if not y._a.ndim:
        raise IndexError(f"{name}(): Dimension specified as {dim} but tensor has no dimensions")
    d = dimension(dim, y._a.ndim)
    n = y._a.shape[d]
    before, after = (part(y, d, 0, -1), part(y, d, 1, n)) if n else (y, y)
    if x is None:
        if isinstance(dx, (complex, bool)):
            raise RuntimeError(f"{name}: Currently, we only support dx as a real number.")
        return before, after, None
    if x._a.ndim == 1:
        if x._a.shape[0] != n:
            raise RuntimeError(f"{name}(): There must be one `x` value for each sample point, {n}, got {x._a.shape[0]}")
        x = x.reshape((n,) + (1,) * (y._a.ndim - 1 - d))
    missing = y._a.ndim - x._a.ndim
    return before, after, diff(x.reshape((1,) * missing + tuple(x._a.shape)) if missing > 0 else x, dim=d)


@composite(method=False)
@example("trapezoid([1., 5., 10.]) -> tensor(10.5000)")
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Number | None = None, dim: int = -1) -> Tensor:
    """Compute the integral along ``dim`` by the trapezoidal rule.

    :param x: the coordinates of the elements of y, broadcast with it; evenly spaced by ``dx`` (1) by default.
    :raises RuntimeError: the coordinates do not match y, or both ``x`` and ``dx`` are given.
    """
    if x is not None and dx is not None:
        raise TypeError("trapezoid() received an invalid combination of arguments: both x and dx are given")
    check_tensors("trapezoid", y=y)
    d = dimension(dim, y._a.ndim)
    if y._a.shape[d : d + 1] == (0,):
        return y.new_zeros((*y._a.shape[:d], *y._a.shape[d + 1 :]))
    before, after, steps = _pairs(y, x, dx, dim, "trapezoid")
    if steps is not None:
        return ((after + before) * steps).sum(d) / 2.0
    return (y.sum(d) - (y.select(d, 0) + y.select(d, -1)) * 0.5) * (1.0 if dx is None else dx)


@composite(method=False)
@example("trapz([1., 5., 10.], dx=2) -> tensor(21.)")
def trapz(y: Tensor, x: Tensor | None = None, *, dx: Number = 1, dim: int = -1) -> Tensor:
    """Compute the integral along ``dim`` by the trapezoidal rule: an alias of :func:`trapezoid`."""
    return trapezoid(y, dx=dx, dim=dim) if x is None else trapezoid(y, x, dim=dim)


@composite(method=False)
@example("cumulative_trapezoid([1., 5., 10.]) -> [ 3.0000, 10.5000]")
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Number | None = None, dim: int = -1) -> Tensor:
    """Compute the cumulative integral along ``dim`` by the trapezoidal rule, from the second element on."""
    if x is not None and dx is not None:
        raise TypeError("cumulative_trapezoid() received an invalid combination of arguments: both x and dx are given")
    before, after, steps = _pairs(y, x, dx, dim, "cumulative_trapezoid")
    if steps is not None:
        return ((after + before) * steps).cumsum(dimension(dim, y._a.ndim)) / 2.0
    return ((after + before) * ((1.0 if dx is None else dx) / 2)).cumsum(dim)
