"""Elementwise sums, products and signs."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend, dtypes, precise
from nbautograd._engine.compiler.op import OPS, POINTWISE, alias, composite, elementwise, make_inplace_method, no_method
from nbautograd._engine.compiler.promotion import number_like
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops._internal import complex_array, ratio  # noqa: F401 - formulas name some
from nbautograd._engine.ops.creation.from_data import number_in
from nbautograd._engine.ops.queries import Number, check_tensors, result_dtype
from nbautograd.errors import DtypeError, UnsupportedDtypeError

__all__ = [
    "abs",
    "absolute",
    "add",
    "addcdiv",
    "addcmul",
    "lerp",
    "mul",
    "multiply",
    "neg",
    "negative",
    "positive",
    "rsub",
    "sgn",
    "sign",
    "sub",
    "subtract",
]

# -- sums and products -----------------------------------------------------------------------------------------------


@elementwise(
    former="alpha",
    symbol="+",
    operators="__add__ __radd__ __iadd__",
    input="g",
    other="g if alpha == 1 else conj(conj(g) * alpha)",
)
def add(input: Tensor | Number, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
    """Compute ``input + alpha * other``, elementwise, with broadcasting and type promotion.

    >>> torch.add(torch.tensor([1., 2.]), torch.tensor([10., 20.]), alpha=2)
    tensor([21., 42.])
    """
    return input + other if alpha == 1 else input + times(alpha, other)


def times(alpha: Number, array: Any) -> Any:
    """Return ``alpha * array`` in the array's dtype."""
    factor = number_like(alpha, array.__class__, array)
    if factor is not None:  # a plain number for a usual floating dtype
        if not -65504 <= alpha <= 65504:
            number_in(alpha, dtypes.of(array.dtype))
        try:
            return backend.quietly.run(operator.mul, array, factor)
        except RuntimeError:
            return backend.run_quietly(operator.mul, array, factor)
    category = dtypes.of(array.dtype).rank
    if isinstance(alpha, bool) and category:
        raise DtypeError(f"Boolean alpha only supported for Boolean results, and these are {dtypes.of(array.dtype)!r}")
    if isinstance(alpha, float) and category < 2:
        raise DtypeError(
            f"For integral input tensors, argument alpha must not be a floating point number, but it is {alpha}"
        )
    if isinstance(alpha, complex) and category < 3:
        raise DtypeError(f"For non-complex input tensors, argument alpha must not be a complex number, but is {alpha}")
    return array * array.dtype.type(number_in(alpha, dtypes.of(array.dtype)))


@elementwise(
    former="alpha",
    symbol="−",
    operators="__sub__ __isub__",
    accepts_each="ifc",
    input="g",
    other="-g if alpha == 1 else -conj(conj(g) * alpha)",
)
def sub(input: Tensor | Number, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
    """Compute ``input - alpha * other``, elementwise, with broadcasting and type promotion.

    :raises RuntimeError: an operand is bool.

    >>> torch.tensor([5, 7]) - 2
    tensor([3, 5])
    """
    return input - other if alpha == 1 else input - times(alpha, other)


@no_method(
    node="RsubBackward1",
    symbol="−",
    kind=POINTWISE,
    operators="__rsub__",
    accepts_each="ifc",
    out=False,
    input="-g if alpha == 1 else -conj(conj(g) * alpha)",
    other="g",
)
def rsub(input: Tensor, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
    """Compute ``other - alpha * input``.

    :raises RuntimeError: an operand is bool.

    >>> 1 - torch.tensor([5., 7.])
    tensor([-4., -6.])
    """
    return other - input if alpha == 1 else other - times(alpha, input)


@elementwise(symbol="×", operators="__mul__ __rmul__ __imul__", input="g * conj(other)", other="g * conj(input)")
def mul(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Compute ``input * other``, elementwise, with broadcasting and type promotion.

    :raises RuntimeError: the shapes do not broadcast.

    >>> torch.tensor([1., 2.]) * torch.tensor([[3.], [4.]])
    tensor([[3., 6.],
            [4., 8.]])
    """
    return input * other


# -- signs -----------------------------------------------------------------------------------------------------------


@elementwise(symbol="−", accepts="ifc", operators="__neg__", input="-g")
def neg(input: Tensor) -> Tensor:
    """Negate each element: ``-input``.

    :raises RuntimeError: the dtype is bool.

    >>> -torch.tensor([1., -2.])
    tensor([-1.,  2.])
    """
    return -input


@composite()
def positive(input: Tensor) -> Tensor:
    """Return the tensor itself: ``+input``.

    :raises RuntimeError: the dtype is bool.

    >>> +torch.tensor([1., -2.])
    tensor([ 1., -2.])
    """
    if input.dtype.rank == 0:
        raise DtypeError("The `+` operator, on a bool tensor is not supported.")
    return input


Tensor.__pos__ = positive


@elementwise(symbol="|·|", accepts="ifc", operators="__abs__", input="g * sgn(input)")
def abs(input: Tensor) -> Tensor:
    """Return the absolute value of each element; its derivative at 0 is 0.

    >>> torch.abs(torch.tensor([-1., 2.]))
    tensor([1., 2.])
    """
    return precise.absolute(input)


def _real_abs(input: Tensor) -> Tensor:
    if input.is_complex():
        raise DtypeError("In-place abs is not supported for complex tensors.")
    return abs(input)


Tensor.abs_ = make_inplace_method("abs_", _real_abs, OPS["abs"])


@elementwise(symbol="sgn", input="ratio(g - real(g * conj(result)) * result, abs(input))")
def sgn(input: Tensor) -> Tensor:
    """Return the sign of each element: -1, 0 or 1; ``z / abs(z)`` for complex numbers.

    >>> torch.sgn(torch.tensor([-3., 0., 5.]))
    tensor([-1.,  0.,  1.])
    """
    if input.dtype.kind == "c":
        wide = precise.widened(input)
        size = precise.absolute(wide)
        size = size + (size == 0)
        return complex_array(wide.real / size, wide.imag / size).astype(input.dtype)
    return _sign(input)


@elementwise(symbol="sign", accepts="bif", input="zeros_of(g)")
def sign(input: Tensor) -> Tensor:
    """Return the sign of each element: -1, 0 or 1; 0 for nan.

    :raises RuntimeError: the dtype is complex; see ``sgn``.

    >>> torch.sign(torch.tensor([-3., 0., 5.]))
    tensor([-1.,  0.,  1.])
    """
    return _sign(input)


def _sign(a: Any) -> Any:
    """Return the sign of a real array, in its dtype."""
    return (a > 0).astype(a.dtype) if a.dtype.kind in "bu" else (a > 0).astype(a.dtype) - (a < 0).astype(a.dtype)


def as_category(input: Tensor, number: Number) -> Tensor:
    """Return the tensor cast to its result type with a number."""
    if input._a.dtype.kind == "f" and (number.__class__ is float or number.__class__ is int):
        return input
    kind = result_dtype(input, number)
    return input if input.dtype is kind else input.to(kind)


# -- three operands --------------------------------------------------------------------------------------------------


@composite(inplace_method=True, out=True)
def lerp(input: Tensor, end: Tensor, weight: Tensor | Number) -> Tensor:
    """Interpolate linearly: ``input + weight * (end - input)``.

    :raises RuntimeError: the dtypes of ``input`` and ``end`` differ, or are integer dtypes.

    >>> torch.lerp(torch.tensor([0.]), torch.tensor([10.]), 0.3)
    tensor([3.])
    """
    check_tensors("lerp", input=input, end=end)
    for name, each in (("end", end), ("weight", weight)):
        if isinstance(each, Tensor) and each.dtype is not input.dtype and (each._a.ndim or each is end):
            raise DtypeError(
                f"lerp(): expected dtype {dtypes.c_type(input.dtype)} for `{name}` but got dtype "
                f"{dtypes.c_type(each.dtype)}"
            )
    if input.dtype.rank < 2:
        raise UnsupportedDtypeError("lerp", input.dtype, "fc")
    if not isinstance(weight, Tensor):
        weight = number_in(weight, input.dtype, "lerp")
    return _lerp(input, end, weight)


@no_method(
    symbol="lerp", kind=POINTWISE, input="g * conj(1 - weight)", end="g * conj(weight)", weight="g * conj(end - input)"
)
def _lerp(input: Tensor, end: Tensor, weight: Tensor | Number) -> Tensor:
    """Interpolate linearly, exact at both ends."""
    way = end - input
    if weight.__class__ is np.ndarray and not weight.ndim:
        return input + weight * way if np.abs(weight) < 0.5 else end - way * (1 - weight)
    return np.where(np.abs(weight) < 0.5, input + weight * way, end - way * (1 - weight))


@elementwise(
    former="value",
    symbol="addcmul",
    accepts="ifc",
    input="g",
    tensor1="g * conj(tensor2 * value)",
    tensor2="g * conj(tensor1 * value)",
)
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1) -> Tensor:
    """Compute ``input + value * tensor1 * tensor2``.

    >>> torch.addcmul(torch.tensor([1.]), torch.tensor([2.]), torch.tensor([3.]))
    tensor([7.])
    """
    return input + tensor1 * tensor2 * number_in(value, dtypes.of(input.dtype))


@elementwise(
    former="value",
    symbol="addcdiv",
    accepts="fc",
    input="g",
    tensor1="g * conj(value / tensor2)",
    tensor2="-g * conj(value * tensor1 / (tensor2 * tensor2))",
)
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1) -> Tensor:
    """Compute ``input + value * tensor1 / tensor2``.

    :raises RuntimeError: all dtypes are integer: addcdiv does not support integer division.

    >>> torch.addcdiv(torch.tensor([1.]), torch.tensor([6.]), torch.tensor([3.]))
    tensor([3.])
    """
    return input + tensor1 / tensor2 * number_in(value, dtypes.of(input.dtype))


absolute, multiply, negative, subtract = abs, mul, neg, sub
alias(absolute=abs, multiply=mul, negative=neg, subtract=sub)
