"""Elementwise comparison: order, equality, closeness, membership, and tests for nan and inf."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend, dtypes
from nbautograd._engine.compiler.inplace import make_inplace_method
from nbautograd._engine.compiler.op import NATIVE, POINTWISE, alias, composite, elementwise, no_method
from nbautograd._engine.core.grad_mode import is_grad_enabled
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd._engine.ops._internal import cast_back, not_implemented, sum_to, zeros_of  # noqa: F401 - formulas name them
from nbautograd._engine.ops.queries import Number, check_tensors, example, result_dtype
from nbautograd.errors import SCALAR_TYPES, DtypeError, kind_of

__all__ = [
    "allclose", "eq", "equal", "ge", "greater", "greater_equal", "gt", "heaviside", "isclose", "isfinite", "isin",
    "isinf", "isnan", "isneginf", "isposinf", "isreal", "le", "less", "less_equal", "lt", "ne", "not_equal",
]  # fmt: skip


@no_method(
    node="NotImplemented", symbol="⎽⎾", kind=POINTWISE, accepts="bif",
    input="not_implemented('heaviside')",
    values="not_implemented('heaviside')",
)  # fmt: skip
def _heaviside(input: Tensor, values: Tensor) -> Tensor:
    """Compute the step function."""
    return np.where(input == 0, values, (input > 0).astype(input.dtype))


@composite(inplace_method=True, out=True)
@example("heaviside([-1.5, 0., 2.], [0.5]) -> [0.0000, 0.5000, 1.0000]")
def heaviside(input: Tensor, values: Tensor) -> Tensor:
    """Compute the Heaviside step function: 0 for negative, 1 for positive, ``values`` for 0; not differentiable.

    :raises RuntimeError: the dtypes differ, or are complex.
    """
    check_tensors("heaviside", input=input, values=values)
    if values.dtype is not input.dtype:
        raise DtypeError(
            "heaviside is not implemented for tensors with different dtypes, and these are of "
            f"{input.dtype!r} and {values.dtype!r}"
        )
    return _heaviside(input, values)


@elementwise(inplace_method=False, operators="__eq__")
@example("[1, 2] == [1, 3] -> [ True, False]")
def eq(input: Tensor, other: Tensor | Number) -> Tensor:
    """Return ``input == other``, elementwise."""
    return input == other


@elementwise(inplace_method=False, operators="__ne__")
@example("[1, 2] != 1 -> [False,  True]")
def ne(input: Tensor, other: Tensor | Number) -> Tensor:
    """Return ``input != other``, elementwise."""
    return input != other


@elementwise(inplace_method=False, accepts="bif", operators="__lt__")
@example("[1, 2] < 2 -> [ True, False]")
def lt(input: Tensor, other: Tensor | Number) -> Tensor:
    """Return ``input < other``, elementwise."""
    return input < other


@elementwise(inplace_method=False, accepts="bif", operators="__le__")
@example("[1, 2] <= 1 -> [ True, False]")
def le(input: Tensor, other: Tensor | Number) -> Tensor:
    """Return ``input <= other``, elementwise."""
    return input <= other


@elementwise(inplace_method=False, accepts="bif", operators="__gt__")
@example("[1, 2] > 1 -> [False,  True]")
def gt(input: Tensor, other: Tensor | Number) -> Tensor:
    """Return ``input > other``, elementwise."""
    return input > other


@elementwise(inplace_method=False, accepts="bif", operators="__ge__")
@example("[1, 2] >= 2 -> [False,  True]")
def ge(input: Tensor, other: Tensor | Number) -> Tensor:
    """Return ``input >= other``, elementwise."""
    return input >= other


@elementwise(inplace_method=False, out=False)
@example('isnan([1., float("nan")]) -> [False,  True]')
def isnan(input: Tensor) -> Tensor:
    """Return whether each element is nan."""
    return input != input


@elementwise(inplace_method=False, out=False)
@example('isinf([1., -float("inf")]) -> [False,  True]')
def isinf(input: Tensor) -> Tensor:
    """Return whether each element is infinite."""
    return np.isinf(input)


@elementwise(inplace_method=False, out=False)
@example('isfinite([1., float("inf")]) -> [ True, False]')
def isfinite(input: Tensor) -> Tensor:
    """Return whether each element is finite: neither infinite nor nan."""
    return np.isfinite(input)


@elementwise(accepts="bif", inplace_method=False)
@example('isposinf([1., float("inf"), -float("inf")]) -> [False,  True, False]')
def isposinf(input: Tensor) -> Tensor:
    """Return whether each element is plus infinity.

    :raises RuntimeError: the dtype is complex.
    """
    return input == np.inf


@elementwise(accepts="bif", inplace_method=False)
@example('isneginf([1., float("inf"), -float("inf")]) -> [False, False,  True]')
def isneginf(input: Tensor) -> Tensor:
    """Return whether each element is minus infinity.

    :raises RuntimeError: the dtype is complex.
    """
    return input == -np.inf


@elementwise(inplace_method=False, out=False)
@example("isreal([1, 1j]) -> [ True, False]")
def isreal(input: Tensor) -> Tensor:
    """Return whether each element is real: its imaginary part is 0."""
    return input.imag == 0 if input.dtype.kind == "c" else (input == 0) | True


@no_method(kind=POINTWISE, out=False)
def _isclose(input: Tensor, other: Tensor, rtol: float, atol: float, equal_nan: bool) -> Tensor:
    """Compute ``isclose`` for operands of one dtype."""
    close = input == other
    if equal_nan:
        close = close | ((input != input) & (other != other))
    if rtol == 0 and atol == 0:
        return close
    if other.dtype.kind not in "fc":
        other = other.astype(dtypes.get_default_dtype().numpy)
    difference = np.abs(input - other)
    return close | (np.isfinite(difference) & (difference <= atol + np.abs(rtol * other)))


@composite()
@example("isclose([1., 1.], [1.1, 1.000001]) -> [False,  True]")
def isclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Return whether elements are close: ``|input - other| <= atol + rtol * |other|``.

    :param equal_nan: if True, two nans count as close.
    :raises RuntimeError: the dtypes differ, or a tolerance is negative.
    """
    _check_close("isclose", input, other, rtol, atol)
    return _isclose(input, other, rtol, atol, equal_nan)


def _check_close(function: str, input: Tensor, other: Tensor, rtol: float, atol: float) -> None:
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if not tolerance >= 0:
            raise RuntimeError(f"{function}(): {name} must be greater than or equal to zero, but got {tolerance}")
    check_tensors(function, input=input, other=other)
    if input.dtype is not other.dtype:
        raise DtypeError(
            f"{function}(): {SCALAR_TYPES[input.dtype.name]} did not match {SCALAR_TYPES[other.dtype.name]}: "
            "the dtypes of both tensors must be the same"
        )


@composite()
@example("allclose([1., 2.], [1., 2.000001]) -> True")
def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Return whether all elements are close, as defined by ``isclose``.

    :raises RuntimeError: the dtypes differ, or a tolerance is negative.
    """
    _check_close("allclose", input, other, rtol, atol)
    return bool(_isclose(input, other, rtol, atol, equal_nan).all())


@composite()
def equal(input: Tensor, other: Tensor) -> bool:
    """Return whether the shapes and all elements are equal.

    >>> torch.equal(torch.tensor([1, 2]), torch.tensor([1, 2])), torch.equal(torch.ones(2), torch.ones(1))
    (True, False)
    """
    check_tensors("equal", input=input, other=other)
    if input.is_meta or other.is_meta:
        raise NotImplementedError("aten::equal: attempted to run this operator with Meta tensors, which have no values")
    return input.shape == other.shape and bool((input == other).all())


@no_method()
def _isin(elements: Tensor, test_elements: Tensor, invert: bool) -> Tensor:
    """Compute ``isin`` for arrays of one dtype."""
    return np.isin(elements, test_elements, invert=invert)


@composite(method=False, out=True, names="element=elements test_element=test_elements")
@example("isin([[1, 2], [3, 4]], [2, 3]) -> [[False,  True], [ True, False]]")
def isin(
    elements: Tensor | Number, test_elements: Tensor | Number, *, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    """Return whether each element of ``elements`` is in ``test_elements``; one of the two may be a number.

    :param assume_unique: has no effect.
    :param invert: return whether each is not in ``test_elements``.
    :raises RuntimeError: the dtype is bool or complex.
    """
    both = (elements, test_elements)
    tensors = [value for value in both if isinstance(value, Tensor)]
    if not tensors:
        raise TypeError(
            f"isin(): elements or test_elements must be a Tensor, not {kind_of(elements)} and {kind_of(test_elements)}"
        )
    for t in tensors:
        if t.dtype.rank not in (1, 2):
            raise DtypeError(f"Unsupported input type encountered for isin(): {SCALAR_TYPES[t.dtype.name]}")
    kind = result_dtype(*both)
    place = tensors[0].device
    first, second = (
        value.to(kind) if isinstance(value, Tensor) else wrap(backend.module(place).asarray(value, kind.numpy))
        for value in both
    )
    return _isin(first, second, invert)


# -- in place ----------------------------------------------------------------------------------------------------------


def _in_place(compare: Callable[..., Tensor]) -> None:
    """Give tensors the in-place method of a comparison, whose result is written as 0 and 1: its derivative is 0."""
    name = compare.__name__
    node = f"{name.capitalize()}Backward"

    @no_method(node=f"{node}0", symbol=name, name=f"_{node}0", half=NATIVE, input="zeros_of(g)")
    def with_number(input: Tensor, answer: Tensor) -> Tensor:
        """Return the result of a comparison with a number, in the dtype of ``input``."""
        return answer.astype(input.dtype)

    @no_method(
        node=f"{node}1",
        symbol=name,
        name=f"_{node}1",
        half=NATIVE,
        input="zeros_of(g)",
        other="cast_back(sum_to(zeros_of(g), other.shape), other.dtype)",
    )
    def with_tensor(input: Tensor, other: Tensor, answer: Tensor) -> Tensor:
        """Return the result of a comparison of tensors, in the dtype of ``input``."""
        return answer.astype(input.dtype)

    def compared(input: Tensor, other: Any) -> Tensor:
        result: Tensor = compare(input, other)
        requires_grad = input.requires_grad or isinstance(other, Tensor) and other.requires_grad
        if not requires_grad or not is_grad_enabled() or result._a.shape != input._a.shape:
            return result
        if isinstance(other, Tensor):
            return with_tensor(input, other, result)
        return with_number(input, result)

    compared.__name__ = compared.__qualname__ = name  # which Python names in errors of arguments
    setattr(Tensor, name + "_", make_inplace_method(name + "_", compared))


for _compare in (eq, ne, lt, le, gt, ge):
    _in_place(_compare)
greater, greater_equal, less, less_equal, not_equal = gt, ge, lt, le, ne
alias(greater=gt, greater_equal=ge, less=lt, less_equal=le, not_equal=ne)
