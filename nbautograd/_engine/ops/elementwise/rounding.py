"""Elementwise rounding, and the parts of floating-point numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._engine.arrays import dtypes
from nbautograd._engine.arrays.strides import copied
from nbautograd._engine.compiler.op import NATIVE, POINTWISE, alias, composite, elementwise, no_method, op
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops._internal import ratio  # noqa: F401 - formulas name it
from nbautograd._engine.ops.queries import Number, check_tensors, example
from nbautograd.errors import DtypeError

__all__ = ["ceil", "copysign", "fix", "floor", "frac", "frexp", "nan_to_num", "nextafter", "round", "signbit", "trunc"]


# -- rounding --------------------------------------------------------------------------------------------------------


@elementwise(symbol="⌊·⌋", accepts="if", input="zeros_of(g)")
@example("floor([-0.5, 1.5]) -> [-1.,  1.]")
def floor(input: Tensor) -> Tensor:
    """Round each element down; the derivative is 0.

    :raises RuntimeError: the dtype is bool or complex.
    """
    return np.floor(input) if input.dtype.kind == "f" else +input


@elementwise(symbol="⌈·⌉", accepts="if", input="zeros_of(g)")
@example("ceil([0.5, 1.5]) -> [1., 2.]")
def ceil(input: Tensor) -> Tensor:
    """Round each element up; the derivative is 0.

    :raises RuntimeError: the dtype is bool or complex.
    """
    return np.ceil(input) if input.dtype.kind == "f" else +input


@elementwise(symbol="trunc", accepts="if", input="zeros_of(g)")
@example("trunc([-1.5, 1.5]) -> [-1.,  1.]")
def trunc(input: Tensor) -> Tensor:
    """Truncate each element: round towards zero; the derivative is 0.

    :raises RuntimeError: the dtype is bool or complex.
    """
    return np.trunc(input) if input.dtype.kind == "f" else +input


@composite(inplace_method=True, out=True)
def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """Round each element to ``decimals`` places, half to even; the derivative is 0.

    :param decimals: may be negative: -2 rounds to hundreds.
    :raises RuntimeError: the dtype is bool or complex, or an integer dtype and ``decimals`` is not 0.

    >>> torch.round(torch.tensor([0.5, 1.5])), torch.round(torch.tensor([1234.567]), decimals=2)
    (tensor([0., 2.]), tensor([1234.5699]))
    """
    return _round(input) if decimals == 0 else _round_decimals(input, decimals)


@no_method(symbol="round", kind=POINTWISE, accepts="if", input="zeros_of(g)")
def _round(input: Tensor) -> Tensor:
    """Round each element to an integer."""
    return np.rint(input) if input.dtype.kind == "f" else +input


@no_method(node="RoundBackward1", symbol="round", kind=POINTWISE, accepts="f", input="zeros_of(g)")
def _round_decimals(input: Tensor, decimals: int) -> Tensor:
    """Round each element to a decimal place."""
    scale = 10.0 ** abs(decimals) if abs(decimals) < 309 else np.inf
    return np.rint(input * scale) / scale if decimals > 0 else np.rint(input / scale) * scale


@elementwise(symbol="frac", accepts="f", input="g")
@example("frac([1.25, -1.25]) -> [ 0.2500, -0.2500]")
def frac(input: Tensor) -> Tensor:
    """Compute the fractional part, ``input - trunc(input)``; it has the sign of the input.

    :raises RuntimeError: the dtype is not floating.
    """
    return input - np.trunc(input)


# -- floating-point representation -----------------------------------------------------------------------------------


@no_method(symbol="frexp", many=True, input="None if g[0] is None else scale_down(g[0], result[1])")
def _frexp(input: Tensor) -> Any:
    """Return mantissa and exponent."""
    mantissa, exponent = np.frexp(input)
    return mantissa, exponent.astype(np.int32)


@no_method(node="FrexpBackward0", symbol="frexp", input="scale_down(g, exponent)")
def scale_down(input: Tensor, exponent: Tensor) -> Tensor:
    """Compute ``input / 2 ** exponent``, for an integer ``exponent``."""
    return np.ldexp(input, -exponent)


@composite(out=True)
def frexp(input: Tensor) -> Any:
    r"""Decompose each element into mantissa and exponent: ``mantissa * 2**exponent``, with 0.5 ≤ \\|mantissa\\| < 1.

    :raises RuntimeError: the dtype is not floating.

    >>> mantissa, exponent = torch.frexp(torch.tensor([3., 8.]))
    >>> mantissa, exponent
    (tensor([0.7500, 0.5000]), tensor([2, 4], dtype=torch.int32))
    """
    if not input.is_floating_point():
        raise DtypeError(f"torch.frexp() only supports floating-point dtypes, but got {input.dtype!r}")
    from nbautograd._engine.core.return_types import return_type  # late: import nbautograd loads little

    return return_type("frexp")(_frexp(input))


@op(
    node="CopysignBackward0", symbol="copysign", kind=POINTWISE, floating=True, accepts="bif",
    input="g * sgn(ratio(result, input))",  # constant: the second derivative is exactly 0
    other="zeros_of(g)",
)  # fmt: skip
@example("copysign([1., -2.], -1.) -> [-1., -2.]")
def copysign(input: Tensor, other: Tensor | Number) -> Tensor:
    """Return the absolute value of ``input`` with the sign of ``other``."""
    return np.copysign(input, other)


@elementwise(accepts="bif", inplace_method=False)
@example("signbit([1., -1., -0.]) -> [False,  True,  True]")
def signbit(input: Tensor) -> Tensor:
    """Return whether the sign bit is set: the element is negative, or -0.0."""
    return np.signbit(input) if input.dtype.kind == "f" else input < 0


@elementwise(
    symbol="nextafter", half=NATIVE, accepts="f", input="where(input == other, zeros_of(g), g)", other="zeros_of(g)"
)
@example("nextafter([1.], [2.]) - 1 == 2**-23 -> [True]")
def nextafter(input: Tensor, other: Tensor) -> Tensor:
    """Return the next representable floating-point number after ``input`` towards ``other``; the derivative is 1.

    :raises RuntimeError: the dtypes are not floating.
    """
    return np.nextafter(input, other)


@composite(inplace_method=True, out=True)
@example('nan_to_num([float("nan"), float("inf"), 1.], posinf=9.) -> [0., 9., 1.]')
def nan_to_num(
    input: Tensor, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """Return ``input`` with nan and infinities replaced.

    :param nan: replaces nan; by default 0.
    :param posinf: replaces inf; by default the largest finite number of the dtype.
    :param neginf: replaces -inf; by default the lowest finite number of the dtype.
    """
    check_tensors("nan_to_num", input=input)
    if input.dtype in dtypes.HALVES:  # computed in float32, whose largest number differs
        info = dtypes.finfo(input.dtype)
        posinf, neginf = info.max if posinf is None else posinf, info.min if neginf is None else neginf
    return _nan_to_num(input, 0.0 if nan is None else nan, posinf, neginf)


@no_method(symbol="nan→0", kind=POINTWISE, real_only=True, input="where(isfinite(input), g, zeros_of(g))")
def _nan_to_num(input: Tensor, nan: float, posinf: float | None, neginf: float | None) -> Tensor:
    """Compute ``nan_to_num`` with all replacements given."""
    return np.nan_to_num(copied(input) if 0 in input.strides else input, nan=nan, posinf=posinf, neginf=neginf)


fix = trunc
alias(fix=trunc)
