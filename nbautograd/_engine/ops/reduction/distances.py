"""Vector norms (``dist``, ``renorm``), and distances between points (``cdist``, ``pdist``)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend, dtypes, precise
from nbautograd._engine.arrays.memory_format import contiguous_format
from nbautograd._engine.arrays.size import dimension
from nbautograd._engine.arrays.strides import row_major
from nbautograd._engine.compiler.op import composite, no_method
from nbautograd._engine.core.tensor import Tensor, wrap_known
from nbautograd._engine.ops._internal import axes, count, pairwise_sum, ratio, summed, upcast_half  # noqa: F401 - formulas name ratio
from nbautograd._engine.ops.queries import check_tensors, example
from nbautograd._engine.ops.reduction.minmax import check
from nbautograd.errors import DtypeError

Dims = int | tuple[int, ...] | list[int] | None


# -- norms -----------------------------------------------------------------------------------------------------------

# PyTorch has one operation; here there are several, since the derivative differs by exponent.


@no_method(
    node="LinalgVectorNormBackward0",
    symbol="‖·‖₂",
    input="input * ratio(spread(g, input.shape, dim, keepdim), spread(result, input.shape, dim, keepdim))",
)
def euclidean_norm(input: Tensor, dim: Dims, keepdim: bool) -> Tensor:
    """Return the 2-norm over ``dim``; its derivative at 0 is 0."""
    a = upcast_half(precise.absolute(input) if input.dtype.kind == "c" else input)
    return np.sqrt(summed(np.square, (a,), axes(dim, input.ndim), keepdim)).astype(input.real.dtype)


@no_method(node="LinalgVectorNormBackward0", symbol="‖·‖₁", input="sgn(input) * spread(g, input.shape, dim, keepdim)")
def absolute_norm(input: Tensor, dim: Dims, keepdim: bool) -> Tensor:
    """Return the 1-norm over ``dim``."""
    return summed(precise.absolute, (input,), axes(dim, input.ndim), keepdim)


@no_method(
    node="LinalgVectorNormBackward0", symbol="‖·‖₀", input="sgn(input) * zeros_of(spread(g, input.shape, dim, keepdim))"
)
def zero_norm(input: Tensor, dim: Dims, keepdim: bool) -> Tensor:
    """Return the 0-norm over ``dim``: the number of nonzero elements."""
    return pairwise_sum(input != 0, axes(dim, input.ndim), keepdim).astype(input.real.dtype)


@no_method(
    node="LinalgVectorNormBackward0",
    symbol="‖·‖∞",
    input="sgn(input) * spread(g, input.shape, dim, keepdim) "
    "* ties(abs(input), spread(result, input.shape, dim, keepdim), dim, shared)",
)
def extreme_norm(input: Tensor, largest: bool, dim: Dims, keepdim: bool, shared: bool = True) -> Tensor:
    """Compute the inf-norm or -inf-norm over ``dim``; ties share the gradient, or each get all of it."""
    a = precise.absolute(input)
    check("norm", a, dim)
    return row_major((a.max if largest else a.min)(axes(dim, input.ndim), None, keepdim))


@no_method(
    node="LinalgVectorNormBackward0",
    symbol="‖·‖ₚ",
    input="sgn(input) * power_or_zero(abs(input), p - 1) "
    "* ratio(spread(g, input.shape, dim, keepdim), spread(power_or_zero(result, p - 1), input.shape, dim, keepdim))",
)
def power_norm(input: Tensor, p: float, dim: Dims, keepdim: bool) -> Tensor:
    """Compute the p-norm over ``dim``, for other p."""
    a, over = upcast_half(precise.absolute(input)), axes(dim, input.ndim)
    few = count(a.shape, over) < 2  # the norm of one is its absolute value, also where the power overflows
    result = pairwise_sum(a, over, keepdim) if few else pairwise_sum(a**p, over, keepdim) ** (1 / p)
    return result.astype(input.real.dtype)


@no_method(node="PowBackward0", symbol="xⁿ", input="g * exponent * power_or_zero(input, exponent - 1)")
def power_or_zero(input: Tensor, exponent: float) -> Tensor:
    """Return ``input ** exponent`` of non-negative numbers, with 0 where 0 to a negative power would be inf."""
    return input**exponent if exponent >= 0 else np.where(input == 0, input, input**exponent)


def vector_norm(input: Tensor, p: float = 2, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """Compute the p-norm of all elements or over ``dim``.

    :param p: any number, also ``inf`` and ``-inf``; 0 counts the nonzero elements.
    """
    if p < 0 or p == math.inf:
        over = range(input._a.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
        if any(-input._a.ndim <= d < input._a.ndim and not input._a.shape[d] for d in over):
            raise RuntimeError(
                f"linalg.vector_norm cannot compute the {p} norm on an empty tensor because the operation does not "
                "have an identity"
            )
    if p == 2:
        return euclidean_norm(input, dim, keepdim)
    if p == 1:
        return absolute_norm(input, dim, keepdim)
    if p == 0:
        return zero_norm(input, dim, keepdim)
    if math.isinf(p):
        return extreme_norm(input, p > 0, dim, keepdim)
    return power_norm(input, p, dim, keepdim)


@composite()
@example("dist([1., 5.], [4., 1.]) -> tensor(5.)")
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """Return the p-norm of ``input - other``."""
    check_tensors("dist", input=input, other=other)
    difference = input - other
    if difference.dtype.rank < 2:
        kind = dtypes.scalar_type(difference.dtype)
        raise DtypeError(f"dist(): input dtype should be either floating point or complex. Got {kind} instead")
    return vector_norm(difference, p)


@composite(inplace_method=True, out=True)
@example("renorm([[3., 4.], [0.3, 0.4]], 2, 0, 1.) -> [[0.6000, 0.8000], [0.3000, 0.4000]]")
def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """Scale each slice along ``dim`` whose p-norm exceeds ``maxnorm`` down to it.

    :raises RuntimeError: ``input`` has fewer than two dimensions, or p or maxnorm are negative.
    """
    ndim = input._a.ndim
    if input.dtype.rank < 2:
        raise DtypeError(
            "renorm(): linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
            f"{dtypes.scalar_type(input.dtype)}"
        )
    if not p > 0:
        raise RuntimeError(f"renorm: non-positive-norm not supported, but p={p} was given")
    if not maxnorm >= 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    if ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {ndim} dimensions")
    kept = dimension(dim, ndim)
    input = input.clone(memory_format=contiguous_format)  # renorm_ writes to the tensor itself
    length = vector_norm(input, p, tuple(d for d in range(ndim) if d != kept), True)
    # PyTorch's epsilon keeps the quotient from rounding to more than maxnorm.
    return scaled_slices(input, (maxnorm / (length + 1e-7)).where(length > maxnorm, (length * 0 + 1)))


@no_method(
    node="RenormBackward0",
    symbol="renorm",
    input="g * conj(factor)",
    factor="sum_to(real(g * conj(input)), factor.shape)",
)
def scaled_slices(input: Tensor, factor: Tensor) -> Tensor:
    """Return slices multiplied by one factor each."""
    return input * factor


# -- distances between points ----------------------------------------------------------------------------------------


@no_method(
    node="EuclideanDistBackward0",
    symbol="‖x−y‖",
    x1="x1 * sum_over(ratio(g, result), -1, True) - bmm(ratio(g, result), x2)",
    x2="x2 * transpose(sum_over(ratio(g, result), -2, True), 1, 2) - bmm(transpose(ratio(g, result), 1, 2), x1)",
)
def euclidean_distances(x1: Tensor, x2: Tensor) -> Tensor:
    """Return all Euclidean distances between the rows of two batches of matrices, by one matrix product.

    They are sqrt(|x|² + |y|² - 2xy), with the mean of the points subtracted first, which reduces cancellation.
    """
    centre = pairwise_sum(x2, (1,), True) / x2.shape[1]
    a, b = x1 - centre, x2 - centre
    squares = pairwise_sum(a * a, (2,), True) + np.swapaxes(pairwise_sum(b * b, (2,), True), 1, 2)
    return np.sqrt(np.maximum(squares - 2 * (a @ np.swapaxes(b, 1, 2)), 0))


def _length(difference: Tensor, p: float) -> Tensor:
    """Return the p-norm of differences over the last dimension; for p = inf, each of several ties gets the gradient."""
    if math.isinf(p):
        if not difference._a.shape[-1]:
            return vector_norm(difference, 1, -1)
        return extreme_norm(difference, True, -1, False, False)
    return vector_norm(difference, p, -1)


MODES = {
    "use_mm_for_euclid_dist_if_necessary": 26, "use_mm_for_euclid_dist": 0, "donot_use_mm_for_euclid_dist": math.inf,
}  # fmt: skip
"""For each mode: the number of points from which on Euclidean distances are computed by a matrix product."""


@composite(method=False)
@example("cdist([[0., 0.]], [[3., 4.], [0., 1.]]) -> [[5., 1.]]")
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: Any = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """Compute the p-norm distance between each row of ``x1`` and each row of ``x2``.

    :param x1: shape (..., P, M).
    :param x2: shape (..., R, M); batch dimensions are broadcast.
    :param compute_mode: when to compute Euclidean distances by a matrix product, which is faster and less accurate.
    :returns: shape (..., P, R).
    :raises RuntimeError: the numbers of columns differ, the dtype is not floating, or p is negative.
    :raises ValueError: the mode is unknown.
    """
    _check_points(x1, x2)
    a, b = x1._a.shape, x2._a.shape
    x2 = x2.to(x1.dtype)
    if not p >= 0:
        raise RuntimeError(f"cdist only supports non-negative p values, not {p}")
    if compute_mode not in MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode: expected one of {', '.join(MODES)}")
    if p == 2 and max(a[-2], b[-2]) >= MODES[compute_mode] and x1._a.size and x2._a.size:
        batch = np.broadcast_shapes(a[:-2], b[:-2])
        flat = [x.expand(*batch, *x._a.shape[-2:]).reshape(-1, *x._a.shape[-2:]) for x in (x1, x2)]
        return euclidean_distances(*flat).reshape(*batch, a[-2], b[-2])
    return _length(x1.unsqueeze(-2) - x2.unsqueeze(-3), p)


def _check_points(x1: Tensor, x2: Tensor) -> None:
    """Check that the rows of two tensors are points of the same space."""
    for name, x in (("X1", x1), ("X2", x2)):
        if x._a.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x._a.ndim}D")
        if not x.dtype.is_floating_point:
            raise DtypeError(f"cdist only supports floating-point dtypes, {name} got: {dtypes.scalar_type(x.dtype)}")
    a, b = x1._a.shape, x2._a.shape
    if a[-1] != b[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {a[-1]} X2: {b[-1]}")
    if x1._a.dtype != x2._a.dtype and x1._a.size and x2._a.size:
        kinds = f"expected scalar type {dtypes.scalar_type(x1.dtype)} but found {dtypes.scalar_type(x2.dtype)}"
        raise DtypeError(f"cdist(): {kinds}: X1 and X2 must have the same dtype")


@composite(method=False)
@example("pdist([[0., 0.], [3., 4.], [0., 1.]]) -> [5.0000, 1.0000, 4.2426]")
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """Compute the p-norm distance between each pair of rows, in the order (0, 1), (0, 2), ..., (1, 2), ...

    :param input: shape (N, M).
    :returns: shape (N (N - 1) / 2,).
    :raises RuntimeError: ``input`` is not 2-d, or not floating.
    """
    if input._a.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input._a.ndim}D")
    if not input.dtype.is_floating_point:
        raise DtypeError(f"pdist only supports floating-point dtypes, got {dtypes.scalar_type(input.dtype)}")
    if not p >= 0:
        raise RuntimeError(f"pdist only supports non-negative p values, not {p}")
    first, second = (wrap_known(backend.module(input.device).asarray(i)) for i in np.triu_indices(input._a.shape[0], 1))
    return _length(input.index_select(0, first) - input.index_select(0, second), p)
