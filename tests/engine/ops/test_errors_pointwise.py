"""Misuse of elementwise functions: the same exceptions as PyTorch's, and messages that name what is wrong."""

from __future__ import annotations

import pytest

from tests import oracle

REFUSED = [
    ("floor of complex", lambda T: T.floor(T.tensor([1j])), ["floor", "complex"]),
    ("ceil of bool", lambda T: T.ceil(T.tensor([True])), ["ceil", "not implemented for 'Bool'"]),
    ("trunc of complex", lambda T: T.trunc(T.tensor([1j])), ["trunc", "not supported for complex"]),
    ("round of integers to decimals", lambda T: T.round(T.tensor([1]), decimals=1), ["round", "'Long'"]),
    ("frac of integers", lambda T: T.frac(T.tensor([1])), ["frac", "not implemented for 'Long'"]),
    ("frexp of integers", lambda T: T.frexp(T.tensor([1])), ["frexp", "only supports floating-point"]),
    ("sign of complex", lambda T: T.sign(T.tensor([1j])), ["sign", "complex"]),
    ("signbit of complex", lambda T: T.signbit(T.tensor([1j])), ["signbit", "complex"]),
    ("abs of bool", lambda T: T.abs(T.tensor([True])), ["abs", "not implemented for 'Bool'"]),
    ("neg of bool", lambda T: -T.tensor([True]), ["bool", "not supported"]),
    ("positive of bool", lambda T: +T.tensor([True]), ["bool", "not supported"]),
    ("sub of bools", lambda T: T.tensor([True]) - T.tensor([True]), ["bool", "not supported"]),
    ("add of floats to integers", lambda T: T.add(T.tensor([1]), T.tensor([1]), alpha=1.5), ["integral", "alpha"]),
    ("add with a complex alpha", lambda T: T.add(T.ones(1), T.ones(1), alpha=1j), ["non-complex", "alpha"]),
    ("add with a bool alpha", lambda T: T.add(T.ones(1), T.ones(1), alpha=False), ["Boolean alpha"]),
    ("pow of an integer", lambda T: T.tensor([2]) ** -1, ["Integers to negative integer powers"]),
    ("pow of numbers", lambda T: T.pow(2, 3), []),
    ("div of integers by zero", lambda T: T.tensor([1]) // 0, ["ZeroDivisionError"]),
    ("remainder of integers by zero", lambda T: T.tensor([1]) % 0, ["ZeroDivisionError"]),
    ("div with a rounding mode", lambda T: T.div(T.ones(1), 2, rounding_mode="up"), ["rounding_mode", "up"]),
    ("floor_divide of complex", lambda T: T.tensor([1j]) // 2, ["'ComplexFloat'"]),
    ("remainder of complex", lambda T: T.tensor([1j]) % 2, ["remainder", "'ComplexFloat'"]),
    ("addcdiv of integers", lambda T: T.addcdiv(*[T.tensor([1])] * 3), ["addcdiv", "nteger"]),
    ("lerp of integers", lambda T: T.lerp(*[T.tensor([1])] * 2, 0.5), ["lerp", "'Long'"]),
    ("hypot of integers", lambda T: T.hypot(T.tensor([1]), T.tensor([1])), ["hypot", "not implemented for 'Long'"]),
    ("hypot with a number", lambda T: T.hypot(T.ones(1), 2), ["hypot", "argument 'other'", "must be Tensor", "int"]),
    ("logaddexp of a number", lambda T: T.logaddexp(2, T.ones(1)), ["argument 'input'", "must be Tensor", "int"]),
    ("logaddexp2 of complex", lambda T: T.logaddexp2(*[T.tensor([1j])] * 2), ["logaddexp2", "'ComplexFloat'"]),
    ("atan2 of complex", lambda T: T.atan2(*[T.tensor([1j])] * 2), ["atan2", "'ComplexFloat'"]),
    ("deg2rad of complex", lambda T: T.deg2rad(T.tensor([1j])), ["deg2rad", "not supported for complex"]),
    ("gcd of floats", lambda T: T.gcd(T.ones(1), T.ones(1)), ["gcd", "not implemented for 'Float'"]),
    ("lcm of bools", lambda T: T.lcm(*[T.tensor([True])] * 2), ["lcm", "not implemented for 'Bool'"]),
    ("bits of floats", lambda T: T.ones(1) & 1, ["bitwise_and", "not implemented for 'Float'"]),
    ("shift of bools", lambda T: T.tensor([True]) << T.tensor([True]), ["not implemented for 'Bool'"]),
    ("less than a complex number", lambda T: T.ones(1) < 1j, ["lt", "not implemented for 'ComplexFloat'"]),
    ("maximum of complex", lambda T: T.maximum(*[T.tensor([1j])] * 2), ["maximum", "complex"]),
    ("maximum with a number", lambda T: T.maximum(T.ones(1), 2), ["argument 'other'", "must be Tensor", "int"]),
    ("fmin of complex", lambda T: T.fmin(*[T.tensor([1j])] * 2), ["fmin", "complex"]),
    ("clamp without bounds", lambda T: T.clamp(T.ones(1)), ["At least one of 'min' or 'max'"]),
    ("clamp of complex", lambda T: T.clamp(T.tensor([1j]), 1, 2), ["clamp", "not supported for complex"]),
    ("heaviside of unlike dtypes", lambda T: T.heaviside(T.ones(1), T.ones(1).double()), ["different dtypes"]),
    ("where of a float condition", lambda T: T.where(*[T.ones(1)] * 3), ["condition", "boolean tensor"]),
    ("isclose of unlike dtypes", lambda T: T.isclose(T.ones(1), T.ones(1).double()), ["Float did not match Double"]),
    ("isclose with a tolerance", lambda T: T.isclose(*[T.ones(1)] * 2, rtol=-1.0), ["rtol", "greater than or equal"]),
    ("isin of bools", lambda T: T.isin(T.tensor([True]), T.tensor([True])), ["isin()", "Bool"]),
    ("isin of numbers", lambda T: T.isin(1, 2), ["isin()"]),
    ("isposinf of complex", lambda T: T.isposinf(T.tensor([1j])), ["isposinf", "complex"]),
    ("imag of real", lambda T: T.imag(T.ones(1)), ["imag is not implemented for tensors with non-complex dtypes"]),
    ("view_as_real of real", lambda T: T.view_as_real(T.ones(1)), ["only supported for complex tensors"]),
    ("view_as_complex of integers", lambda T: T.view_as_complex(T.tensor([1, 2])), ["only supported for"]),
    ("view_as_complex of three", lambda T: T.view_as_complex(T.ones(3)), ["last dimension of size 2"]),
    ("view_as_complex of a column", lambda T: T.view_as_complex(T.ones(2, 2).t()), ["last dimension with stride 1"]),
    ("view_as_complex of 0-d", lambda T: T.view_as_complex(T.tensor(1.0)), ["one or more dimensions"]),
    ("complex of unlike dtypes", lambda T: T.complex(T.ones(1), T.ones(1).double()), ["Float", "Double", "second"]),
    ("polar of integers", lambda T: T.polar(*[T.tensor([1])] * 2), ["Expected both inputs to be", "Long and Long"]),
    ("is_nonzero of two", lambda T: T.is_nonzero(T.ones(2)), ["more than one value is ambiguous"]),
    ("is_same_size of a number", lambda T: T.is_same_size(T.ones(2), 2), ["argument 'other'", "must be Tensor"]),
    ("can_cast of a number", lambda T: T.can_cast(1, T.int8), ["argument 'from_'", "must be torch.dtype, not int"]),
    ("floor_divide backward", lambda T: (T.ones(1, requires_grad=True) // 2).backward(), ["floor_divide"]),
    ("shapes that do not broadcast", lambda T: T.fmax(T.ones(2), T.ones(3)), ["size of tensor a (2)", "(3)"]),
    ("in place into a smaller category", lambda T: T.tensor([1]).ldexp_(T.tensor([1])), ["can't be cast"]),
    ("lerp of unlike dtypes", lambda T: T.lerp(T.ones(1), T.ones(1).double(), 0.5), ["expected dtype", "`end`"]),
]


@pytest.mark.parametrize(("call", "words"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_refused(call, words):
    message = str(oracle.check_raises(call))
    assert len(message) > 20
    for word in words:
        assert word in message, message
