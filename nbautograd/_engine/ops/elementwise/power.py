"""Elementwise powers."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._engine.arrays import dtypes, precise
from nbautograd._engine.arrays.strides import row_major
from nbautograd._engine.compiler.op import POINTWISE, composite, make_inplace_method, no_method
from nbautograd._engine.core.inplace import apply_augmented, out_rules
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.from_data import number_in
from nbautograd._engine.ops.elementwise.arithmetic import as_category
from nbautograd._engine.ops.queries import Number, check_tensors, example, method_of_tensor, result_dtype
from nbautograd.errors import is_pytorchs, kind_of

__all__ = ["float_power", "pow", "square"]


@no_method(
    node="PowBackward0", symbol="xⁿ", kind=POINTWISE, accepts="bifc",
    input="g * conj(exponent * input ** (exponent - 1)) if exponent != 0 else zeros_of(g)",
)  # fmt: skip
def pow_number(input: Tensor, exponent: Number) -> Tensor:
    """Compute ``input ** exponent`` for a number ``exponent``."""
    if input.dtype.kind == "b":
        return input | (not exponent)
    if input.dtype.kind not in "fc" or exponent in BY_OPERATOR:
        return input**exponent
    return precise.power(input, input.dtype.type(exponent))


BY_OPERATOR = (-1, 0, 0.5, 1, 2)
"""Exponents for which NumPy's operator calls sqrt, square or reciprocal, which are correctly rounded."""


@no_method(
    node="PowBackward1", symbol="xʸ", kind=POINTWISE, accepts="ifc",
    input="where(exponent == 0, zeros_of(g), g * conj(exponent * input ** (exponent - 1)))",
    exponent="g * conj(where(logical_and(input == 0, is_nonnegative(exponent)), zeros_of(result), "
    "result * log(input)))",
)  # fmt: skip
def pow_tensor(input: Tensor | Number, exponent: Tensor | Number) -> Tensor:
    """Compute ``input ** exponent`` for a tensor ``exponent``."""
    return precise.power(input, exponent) if input.dtype.kind in "fc" else _integer_power(input, exponent)


def _integer_power(base: Any, exponent: Any) -> Any:
    """Compute integer powers; for a negative exponent ``1 / base**-exponent`` rounded towards zero."""
    power = base ** np.maximum(exponent, 0)
    if base.dtype.kind == "u":
        return power
    parity = np.where(exponent % 2 == 0, 1, base)
    return np.where(exponent >= 0, power, np.where((base == 1) | (base == -1), parity, 0)).astype(base.dtype)


@no_method(kind=POINTWISE)
def is_nonnegative(input: Tensor) -> Tensor:
    """Return whether the real part of the exponent is at least 0, so that the derivative of 0**exponent by it is 0."""
    return input.real >= 0


@no_method(
    node="PowBackward2", symbol="aˣ", kind=POINTWISE, accepts="ifc",
    exponent="where(is_nonnegative(exponent) if base == 0 else exponent != exponent, zeros_of(result), "
    "g * conj(result * LOG(base)))",
)  # fmt: skip
def pow_base(exponent: Tensor, base: Number) -> Tensor:
    """Compute ``base ** exponent`` for a number ``base``."""
    if exponent.dtype.kind in "fc":
        return row_major(precise.power(exponent.dtype.type(base), exponent))
    return _integer_power(exponent * 0 + np.asarray(base).astype(exponent.dtype), exponent)


@composite(inplace_method=True)
@example("pow([2., 3.], 2), 2 ** [2., 3.] -> ([4., 9.], [4., 8.])")
def pow(input: Tensor | Number, exponent: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Compute ``input ** exponent``, elementwise; either may be a number.

    :raises RuntimeError: an integer tensor is raised to a negative integer power.
    """
    if isinstance(exponent, Tensor):
        if isinstance(input, Tensor):
            return pow_tensor(input, exponent, out=out)
        base = input.item() if isinstance(input, np.generic) else input
        number_in(base, dtypes.complex128)
        return pow_base(as_category(exponent, base), base, out=out)
    check_tensors("pow", input=input)
    is_usual = exponent.__class__ is float or exponent.__class__ is int and exponent.bit_length() < 64
    if not is_usual or input._a.dtype.kind not in dtypes.INEXACT:
        if isinstance(exponent, np.generic):
            exponent = exponent.item()
        if not isinstance(exponent, Number):
            raise TypeError(
                f"pow(): argument 'exponent' (position 2) must be Tensor or Number, not {kind_of(exponent)}"
            )
        input = as_category(input, exponent)
        if input._a.dtype.kind in "iub" and exponent < 0:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        number_in(exponent, input.dtype)  # raises for a number that does not fit
    return pow_number(input, exponent, out=out)


@method_of_tensor("__pow__")
@example("[2., 3.] ** 2 -> [4., 9.]")
def _to_the_power(self: Tensor, other: Any) -> Any:
    """Compute ``self ** other``; return NotImplemented if the other operand is neither a tensor nor a number.

    :param other: the exponent, a number or a tensor.
    :returns: a tensor of the shape to which the operands broadcast.
    :raises RuntimeError: the shapes do not broadcast, or an integer has a negative integer power.
    """
    known = isinstance(other, (Tensor, Number, np.generic)) or is_pytorchs(other)  # the latter for the message
    return pow(self, other) if known else NotImplemented


@composite(operators="__rpow__", method=False)
@example("2 ** [1, 3] -> [2, 8]")
def _rpow(input: Tensor, other: Tensor | Number) -> Tensor:
    """Compute ``other ** input``, the reflected form of the power.

    :raises TypeError: ``other`` is neither.
    """
    return pow(other, input)


@method_of_tensor("__ipow__", "pow_")
def _ipow(input: Tensor, other: Tensor | Number) -> Tensor:
    """Write ``input ** other`` into ``input``, for ``x **= other``.

    :param input: the base.
    :param other: the exponent, a number or a tensor that broadcasts to the shape of ``input``.
    :returns: ``input``.
    :raises TypeError: ``other`` is neither.

    >>> x = torch.tensor([1., 3.])
    >>> x **= 2
    >>> x
    tensor([1., 9.])
    """
    return apply_augmented(input, "pow_", pow, (other,), {})


@composite(out=True)
def float_power(input: Tensor | Number, exponent: Tensor | Number) -> Tensor:
    """Compute ``input ** exponent`` in float64 (or complex128).

    >>> torch.float_power(torch.tensor([2, 3]), -1)
    tensor([0.5000, 0.3333], dtype=torch.float64)
    """
    both = (input, exponent)
    if not isinstance(exponent, Tensor):
        check_tensors("float_power", input=input)
    kind = dtypes.complex128 if result_dtype(*both).is_complex else dtypes.float64
    base, power = (value.to(kind) if isinstance(value, Tensor) else value for value in both)
    return pow(base, power)


def _of_its_dtype(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Compute ``float_power`` for its in-place method, whose tensor must have the dtype of the result.

    ``float_power`` checks the arguments, so that errors name it.
    """
    result = float_power(input, *args, **kwargs)
    out_rules().check_dtype(input, result, "float_power")
    return result


Tensor.float_power_ = make_inplace_method("float_power_", _of_its_dtype)


@composite(inplace_method=True)
@example("square([-3.]) -> [9.]")
def square(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Compute ``input ** 2``, elementwise."""
    return pow(input, 2, out=out)


def LOG(number: Number) -> Any:  # noqa: N802 - the logarithm of a number, where log is that of a tensor
    """Return the natural logarithm of a number: -inf for 0, nan for a negative one, complex for a complex one."""
    with np.errstate(all="ignore"):
        return np.log(number).item()
