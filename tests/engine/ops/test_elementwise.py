"""Elementwise functions: operators, complex parts as views, dtypes of results, and functions without derivatives."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import nbautograd as nb
from tests import oracle
from tests.engine.strict.backend import installed
from tests.engine.strict.strict_array import StrictArray

FLOATS = [[1.5, -2.0], [0.0, 3.0]]
INTEGERS = [[4, -6], [8, 0]]
COMPLEX = [[1 + 2j, 3j], [-1 + 0j, 0j]]
BOOLS = [[True, False], [True, True]]

CALLS = {
    **{name: [FLOATS] for name in ("floor", "ceil", "trunc", "round", "frac", "frexp", "sign", "isposinf")},
    **{name: [INTEGERS] for name in ("deg2rad", "signbit", "isneginf", "bitwise_not", "square")},
    **{name: [COMPLEX] for name in ("sgn", "nan_to_num", "isreal", "isnan", "isinf", "isfinite", "angle", "real")},
    **{name: [COMPLEX] for name in ("imag", "conj", "conj_physical", "view_as_real", "logical_not")},
    **{name: [FLOATS, FLOATS] for name in ("copysign", "nextafter", "heaviside", "isclose", "equal", "allclose")},
    **{name: [FLOATS, FLOATS] for name in ("isin", "fmax", "fmin", "floor_divide", "remainder", "fmod", "polar")},
    **{name: [INTEGERS, INTEGERS] for name in ("gcd", "lcm", "bitwise_and", "bitwise_or", "bitwise_xor", "pow")},
    **{name: [INTEGERS, BOOLS] for name in ("bitwise_left_shift", "bitwise_right_shift", "logical_xor")},
    "view_as_complex": [FLOATS],
    "float_power": [INTEGERS, BOOLS],
    "ldexp": [FLOATS, INTEGERS],
    "where": [BOOLS, INTEGERS, FLOATS],
}


@pytest.mark.parametrize("name", CALLS)
def test_arrays_of_another_library(name):
    """Check that non-differentiable operations, which have no case, also reach arrays through their own protocols."""
    arrays = [np.array(values) for values in CALLS[name]]
    expected = getattr(nb, name)(*map(nb.tensor, arrays))
    with installed():
        found = getattr(nb, name)(*(nb.tensor(a).to("strict") for a in arrays))
        if not isinstance(expected, (bool, tuple)):
            expected, found = [expected], [found]
        elif isinstance(expected, bool):
            assert found is expected
            return
        for e, f in zip(expected, found, strict=True):
            assert isinstance(f._a, StrictArray)
            np.testing.assert_array_equal(f.to("cpu").numpy(), e.numpy())


BINARY = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


@pytest.mark.parametrize("sign", BINARY)
def test_operators_of_tensors_and_numbers(sign):
    values = [5, 2, 7]

    def program(T):
        pairs = (T.tensor(values), T.tensor([2, 3, 1])), (T.tensor(values), 2), (2, T.tensor(values))
        return [BINARY[sign](*pair) for pair in pairs]

    oracle.check(program)


@pytest.mark.parametrize("sign", ["+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>"])
def test_operators_in_place(sign):
    name = BINARY[sign].__name__.rstrip("_")
    function = getattr(operator, f"i{name}")

    def program(T):
        x = T.tensor([5.0, 2.0, 7.0]) if sign in "+-*//%**" else T.tensor([5, 2, 7])
        same = x
        x = function(x, 2)
        return x, x is same

    assert oracle.check(program)[1]


def test_an_operator_leaves_strangers_to_themselves():
    class Stranger:
        def __radd__(self, other):
            return "mine"

    assert nb.ones(1) + Stranger() == "mine"
    assert (nb.ones(1) == "text") is False
    with pytest.raises(TypeError, match="unsupported operand"):
        nb.ones(1) + "text"


# -- complex tensors -------------------------------------------------------------------------------------------------


def test_real_and_imaginary_part_share_memory():
    z = nb.tensor([1 + 2j, 3 - 1j])
    z.real[0] = 10
    z.imag.mul_(2)
    assert z.tolist() == [10 + 4j, 3 - 2j]
    z.imag = nb.tensor([5.0, 6.0])
    z.real = 1
    assert z.tolist() == [1 + 5j, 1 + 6j]
    x = nb.ones(2)
    assert x.real is x and x.conj() is x and x.conj_physical() is x
    nb.view_as_real(z)[1, 1] = 0
    assert z.tolist() == [1 + 5j, 1 + 0j]
    pairs = nb.ones(2, 2)
    nb.view_as_complex(pairs).mul_(1j)
    assert pairs.tolist() == [[-1, 1], [-1, 1]]


def test_parts_of_a_transposed_tensor_and_of_one_without_dimensions():
    z = nb.arange(6).reshape(2, 3).T * (1 + 2j)
    assert z.imag.tolist() == [[0, 6], [2, 8], [4, 10]]
    z.imag[0, 1] = -1
    assert z[0, 1].item() == 3 - 1j
    w = nb.tensor(1 + 2j)
    w.real.fill_(7)
    assert w.item() == 7 + 2j


def test_a_write_through_a_part_is_differentiated():
    def program(T):
        x = T.tensor([1 + 2j, 3 - 1j], requires_grad=True)
        y = x * 1
        y.imag.mul_(3)
        (y * y).real.sum().backward()
        return x.grad

    oracle.check(program)


# -- dtypes ----------------------------------------------------------------------------------------------------------

DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128"


@pytest.mark.parametrize("first", DTYPES.split())
def test_result_type_and_can_cast(first):
    def program(T):
        answers = {}
        for second in DTYPES.split():
            if "16" in first + second and "complex" in first + second:  # there is no complex32
                continue
            a, b = (getattr(T, name) for name in (first, second))
            answers[second] = [T.promote_types(a, b), T.can_cast(a, b)]
            if "bfloat16" not in (first, second):
                x, y, z = T.ones(2, dtype=a), T.ones(2, dtype=b), T.ones((), dtype=b)
                answers[second] += [T.result_type(x, y), T.result_type(x, z), T.result_type(z, x)]
                answers[second] += [T.result_type(x, number) for number in (True, 1, 1.0)]
        return answers

    oracle.check(program)


@pytest.mark.parametrize("name", ["is_tensor", "is_complex", "is_floating_point", "is_signed", "is_nonzero", "numel"])
def test_predicates(name):
    oracle.check(lambda T: [getattr(T, name)(T.tensor(values)) for values in ([1.0], [0], [1j], [True])])
    assert not nb.is_tensor(1)
    assert not nb.is_conj(nb.ones(1)) and not nb.is_neg(-nb.ones(1)) and not nb.is_inference(nb.ones(1))
    assert nb.is_same_size(nb.ones(2, 3), nb.zeros(2, 3)) and not nb.ones(2).is_same_size(nb.ones(1, 2))
