"""Variance and standard deviation, alone and with the mean."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nbautograd._engine.arrays import dtypes
from nbautograd._engine.compiler.op import check_option, composite, no_method
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops._internal import added, axes, count, pairwise_mean, ratio, summed, upcast_half  # noqa: F401 - formulas name some
from nbautograd._engine.ops.queries import example
from nbautograd._engine.ops.reduction.reduction import Dims
from nbautograd.errors import DtypeError, warn


@no_method(node="SubBackward0", symbol="x − mean", input="deviation(g, dim)")
def deviation(input: Tensor, dim: Dims = None) -> Tensor:
    """Return the elements minus their mean over ``dim``."""
    return input - pairwise_mean(input, axes(dim, input.ndim), True)


def variance(a: Any, dim: Dims, correction: float, keepdim: bool) -> Any:
    """Compute the variance over ``dim`` in two passes: the mean is subtracted before squaring."""
    over = axes(dim, a.ndim)
    total = summed(squared_difference, (a, pairwise_mean(a, over, True)), over, keepdim)
    return total / total.dtype.type(divisor(count(a.shape, dim), correction))


def squared_difference(a: Any, b: Any) -> Any:
    """Return the squared distance of each pair of numbers."""
    d = a - b
    return (d.real * d.real + d.imag * d.imag) if d.dtype.kind == "c" else d * d


def divisor(n: int, correction: float) -> float:
    """Return the divisor of the sum of squares, ``n - correction``; 0 if there are too few elements."""
    return n - correction if n and n > correction else 0.0


VAR = (
    "spread(g, input.shape, dim, keepdim) * reciprocal_or_nan(divisor(count(input.shape, dim), correction) / 2) "
    "* deviation(input, dim)"
)
STD = (
    "spread(ratio(g, result), input.shape, dim, keepdim) "
    "* reciprocal_or_nan(divisor(count(input.shape, dim), correction)) * deviation(input, dim)"
)


def reciprocal_or_nan(x: float) -> float:
    """Return ``1 / x``, or nan for 0: with too few elements the derivative is undefined."""
    return 1 / x if x else math.nan


@no_method(node="VarBackward0", symbol="var", input=VAR)
def var_over(input: Tensor, dim: Dims, correction: float, keepdim: bool) -> Tensor:
    """Return the variance over ``dim``."""
    v = variance(upcast_half(input), dim, correction, keepdim)
    return v.astype(input.dtype) if input.dtype.itemsize == 2 else v


@no_method(node="StdBackward0", symbol="std", input=STD)
def std_over(input: Tensor, dim: Dims, correction: float, keepdim: bool) -> Tensor:
    """Return the standard deviation over ``dim``; its derivative is 0 where it is 0."""
    s = np.sqrt(variance(upcast_half(input), dim, correction, keepdim))
    return s.astype(input.dtype) if input.dtype.itemsize == 2 else s


def _mean_too(formula: str) -> str:
    """Return the gradient formula of a function and the mean, either gradient of which may be undefined."""
    formula = formula.replace("(g,", "(g[0],").replace("result", "result[0]")
    return (
        f"added(None if g[0] is None else {formula}, "
        "None if g[1] is None else spread(g[1] / count(input.shape, dim), input.shape, dim, keepdim))"
    )


@no_method(node="VarMeanBackward0", symbol="var, mean", many=True, input=_mean_too(VAR))
def var_and_mean(input: Tensor, dim: Dims, correction: float, keepdim: bool) -> Any:
    """Return the variance and the mean over ``dim``."""
    a = upcast_half(input)
    pair = variance(a, dim, correction, keepdim), pairwise_mean(a, axes(dim, a.ndim), keepdim)
    return tuple(x.astype(input.dtype) for x in pair) if input.dtype.itemsize == 2 else pair


@no_method(node="StdMeanBackward0", symbol="std, mean", many=True, input=_mean_too(STD))
def std_and_mean(input: Tensor, dim: Dims, correction: float, keepdim: bool) -> Any:
    """Return the standard deviation and the mean over ``dim``."""
    a = upcast_half(input)
    pair = np.sqrt(variance(a, dim, correction, keepdim)), pairwise_mean(a, axes(dim, a.ndim), keepdim)
    return tuple(x.astype(input.dtype) for x in pair) if input.dtype.itemsize == 2 else pair


def _spread(
    function: Any, name: str, input: Tensor, dim: Any, unbiased: Any, keepdim: bool, correction: float | None
) -> Any:
    """Check the arguments that ``var``, ``std``, ``var_mean`` and ``std_mean`` share, and call."""
    if isinstance(dim, bool) and unbiased is None and not keepdim:  # called as var(input, unbiased)
        dim, unbiased = None, dim
    if dim is not None and dim.__class__ is not int:
        check_option(name, "dim", dim, "Dims", 1)
    if correction is None:
        correction = 1 if unbiased is None else int(unbiased)
    elif unbiased is not None:
        raise TypeError(f"{name}(): received an invalid combination of arguments: both unbiased= and correction=")
    if input._a.dtype.kind not in dtypes.INEXACT:
        raise DtypeError(f"{name}(): std and var only support floating point and complex dtypes, got {input.dtype!r}")
    if (count(input._a.shape, dim) if input._a.size else 0) <= correction:  # PyTorch divides by the results' size
        warn(
            f"{name}(): degrees of freedom is <= 0: the number of reduced elements is not larger than the correction, "
            f"{correction}, so the result is nan or inf"
        )
    return function(input, dim, correction, keepdim)


@composite(out=True)
@example("var([1., 2., 3.]) -> tensor(1.)")
def var(
    input: Tensor, dim: Dims | bool = None, unbiased: bool | None = None, keepdim: bool = False, *,
    correction: float | None = None,
) -> Tensor:  # fmt: skip
    """Return the variance of all elements or over ``dim``.

    :param correction: subtracted from the number of elements in the divisor; 1 (Bessel's correction) by default.
    :param unbiased: True for a correction of 1, False for 0.
    :raises RuntimeError: the dtype is an integer dtype or bool.
    """
    return _spread(var_over, "var", input, dim, unbiased, keepdim, correction)


@composite(out=True)
@example("std([1., 2., 3.]) -> tensor(1.)")
def std(
    input: Tensor, dim: Dims | bool = None, unbiased: bool | None = None, keepdim: bool = False, *,
    correction: float | None = None,
) -> Tensor:  # fmt: skip
    """Return the standard deviation of all elements or over ``dim``: the square root of :func:`var`."""
    return _spread(std_over, "std", input, dim, unbiased, keepdim, correction)


@composite(method=False)
@example("var_mean([1., 2., 3.]) -> (tensor(1.), tensor(2.))")
def var_mean(
    input: Tensor, dim: Dims | bool = None, unbiased: bool | None = None, keepdim: bool = False, *,
    correction: float | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return the variance and the mean; see :func:`var`."""
    return _spread(var_and_mean, "var_mean", input, dim, unbiased, keepdim, correction)


@composite(method=False)
@example("std_mean([1., 2., 3.]) -> (tensor(1.), tensor(2.))")
def std_mean(
    input: Tensor, dim: Dims | bool = None, unbiased: bool | None = None, keepdim: bool = False, *,
    correction: float | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return the standard deviation and the mean; see :func:`std`."""
    return _spread(std_and_mean, "std_mean", input, dim, unbiased, keepdim, correction)
