"""Test numbers, dtypes and tensors from data."""

from __future__ import annotations

import decimal
import fractions
from typing import Any

import numpy as np
import pytest

from tests.parity.differences.both import Raised, TensorValue, agrees, differs


@agrees
def test_integers_at_the_bounds(torch: Any) -> Any:
    return [torch.tensor(2**63 - 1), torch.tensor([-(2**63)]), torch.tensor(2**63, dtype=torch.float64)]


def refusals(programs: Any) -> list[str]:
    """The builtin exception of each program."""
    names = []
    for program in programs:
        with pytest.raises(Exception) as caught:
            program()
        names.append(next(cls.__name__ for cls in type(caught.value).__mro__ if cls.__module__ == "builtins"))
    return names


@agrees(says="Overflow when unpacking long long")
def test_an_integer_of_more_than_64_bits(torch: Any) -> Any:
    return torch.tensor(2**63)


@agrees
def test_integers_of_more_than_64_bits_in_every_constructor(torch: Any) -> Any:
    big, t = 2**70, torch.ones(1, dtype=torch.int64)
    return refusals(
        [
            lambda: torch.tensor([1, 2**63]),
            lambda: torch.tensor(-(2**63) - 1),
            lambda: torch.tensor(big, dtype=torch.int32),
            lambda: torch.as_tensor(2**63),
            lambda: torch.asarray([2**63]),
            lambda: torch.LongTensor([2**63]),
            lambda: torch.full((1,), big),
            lambda: torch.full((1,), 2**63),
            lambda: t.new_full((1,), big),
            lambda: t.fill_(big),
            lambda: t.new_tensor(big),
        ]
    )


@agrees
def test_large_integers_beside_floats(torch: Any) -> Any:
    return [
        torch.tensor([1.5, 2**70]),
        torch.tensor(2**200, dtype=torch.float64),
        torch.tensor(2**70, dtype=torch.bool),
    ]


@agrees
def test_numbers_that_do_not_fit_into_the_dtype(torch: Any) -> Any:
    kinds = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
    values = [300, -129, -256, 2**31, 1e20, -1.5e30, float("inf"), float("nan")]
    found = []
    for kind in kinds:
        for value in values:
            try:
                found.append(torch.tensor([value], dtype=kind))
            except (RuntimeError, ValueError) as error:
                found.append("value cannot be converted to type" in str(error))
    return found


@agrees
def test_unsigned_integers_wrap_around(torch: Any) -> Any:
    return [torch.tensor(-1, dtype=torch.uint8), torch.tensor([-255, 255], dtype=torch.uint8)]


@agrees(says="value cannot be converted to type uint8 without overflow")
def test_a_number_that_does_not_fit(torch: Any) -> Any:
    return torch.tensor(300, dtype=torch.uint8)


@agrees(says="value cannot be converted to type int8_t without overflow")
def test_a_single_number_that_does_not_fit(torch: Any) -> Any:
    return torch.full((1,), 300, dtype=torch.int8)


@agrees
def test_the_dtype_of_numpys_numbers_in_lists(torch: Any) -> Any:
    double, single, half = np.float64(1), np.float32(1), np.float16(1)
    lists = [
        [double], [double, 2.0], [2.0, double], [[2.0], [double]], [single, 2.0], [2.0, single], [half], [half, 2.0],
        [np.int32(1)], [np.int32(1), 2], [np.int8(1), np.uint8(2)], [np.complex64(1), 2.0], [np.complex128(1)],
        [np.int64(1), 2.5], [double, 2j], [np.array([1.0, 2.0]), [3.0, 4.0]], [[3.0, 4.0], np.array([1.0, 2.0])],
        [np.array([1, 2], np.int8)], [np.ones(2, np.float32), np.ones(2)], [torch.ones((), dtype=torch.float64), 2.0],
        [torch.tensor(1), 2.0], [True, 2], [1, 2j], [torch.ones(1, dtype=torch.float16)], [], [[], []],
    ]  # fmt: skip
    return [torch.tensor(values).dtype for values in lists] + [torch.as_tensor(values).dtype for values in lists]


@agrees
def test_tensors_of_one_element_in_lists(torch: Any) -> Any:
    return [torch.tensor([torch.ones(1), torch.ones(1, 1)]), torch.tensor([[torch.ones(())]])]


@agrees(says="only one element tensors can be converted to Python scalars")
def test_tensors_of_several_elements_in_lists(torch: Any) -> Any:
    return torch.tensor([torch.ones(2), torch.ones(2)])


@agrees
def test_tensors_of_several_elements_in_every_constructor(torch: Any) -> Any:
    many = torch.ones(2)
    return refusals(
        [
            lambda: torch.tensor([many]),
            lambda: torch.tensor([1.0, many]),
            lambda: torch.tensor([torch.ones(0)]),
            lambda: torch.as_tensor((many, many)),
            lambda: torch.FloatTensor([many]),
            lambda: many.new_tensor([many]),
        ]
    )


@agrees(says="Could not infer dtype of dict")
def test_a_dictionary(torch: Any) -> Any:
    return torch.tensor({"a": 1})


@agrees(says="Could not infer dtype of NoneType")
def test_none(torch: Any) -> Any:
    return torch.tensor(None)


@agrees(says="can't convert np.ndarray of type numpy.object_.")
def test_an_array_of_objects(torch: Any) -> Any:
    return torch.tensor(np.array([1, None]))


@agrees(says="can't convert np.ndarray of type numpy.str_.")
def test_an_array_of_strings(torch: Any) -> Any:
    return torch.from_numpy(np.array(["a"]))


@agrees
def test_what_are_no_numbers(torch: Any) -> Any:
    values = [
        {1, 2}, set(), {}, [{"a": 1}], None, [None], [1.0, None], "a", b"a", ["a"], ["1", 2], [1, "a"], object(),
        [object()], print, iter([1]), decimal.Decimal(1), fractions.Fraction(1, 2), np.array(["2020"], "datetime64[D]"),
        np.array([b"a"]), np.ones(1, np.longdouble), [[1, 2], 3], [1, [2, 3]], [[[1]], [2]], [[1], [[2]]],
        [[1, 2], [3]],
    ]  # fmt: skip
    return refusals([lambda value=value: torch.tensor(value) for value in values])


@agrees
def test_what_are_no_numbers_of_a_dtype(torch: Any) -> Any:
    kinds = [torch.bool, torch.uint8, torch.int64, torch.float32, torch.complex64]
    values = ["a", [1, "a"], [1, None], {"a": 1}, [object()]]
    return refusals([lambda v=v, kind=kind: torch.tensor(v, dtype=kind) for v in values for kind in kinds]) + refusals(
        [lambda kind=kind: torch.tensor([1 + 2j], dtype=kind) for kind in (torch.int64, torch.float32)]
    )


@agrees
def test_a_list_that_holds_itself(torch: Any) -> Any:
    values: list[Any] = []
    values.append(values)
    return torch.tensor(values)


@agrees
def test_fractions_where_the_dtype_is_said(torch: Any) -> Any:
    return torch.tensor([fractions.Fraction(1, 2), np.float64(2), 1], dtype=torch.float32)


@differs(
    "NumPy's `bool_` beside integers in a list is an integer",
    pytorch=Raised(TypeError),
    here=TensorValue("int64", (2,), [1, 1]),
)
def test_numpys_bools(torch: Any) -> Any:
    return torch.tensor([np.bool_(True), 1])


@differs(
    "`tensor()` copies arrays with negative strides",
    pytorch=Raised(ValueError),
    here=TensorValue("float64", (2,), [1.0, 0.0]),
)
def test_a_reversed_array(torch: Any) -> Any:
    return torch.tensor(np.arange(2.0)[::-1])


@differs(
    "Ragged sequences raise an error, whichever comes first",
    TensorValue("float32", (2, 0), [[], []]),
    Raised(ValueError),
)
def test_an_empty_list_beside_another(torch: Any) -> Any:
    return torch.tensor([[], [1.0]])


@differs(
    "Operations take unsigned integers of 16, 32 and 64 bits",
    pytorch=Raised(NotImplementedError),
    here=TensorValue("uint32", (2,), [2, 4]),
)
def test_unsigned_integers(torch: Any) -> Any:
    return torch.from_numpy(np.array([1, 3], np.uint32)) + 1


@differs(
    "`y.mul_(y)` of a tensor that multiplication has saved can be differentiated",
    pytorch=Raised(RuntimeError),
    here=[2.0],
)
def test_square_in_place(torch: Any) -> Any:
    x = torch.ones(1, requires_grad=True)
    y = x * 1
    y.mul_(y)
    y.backward()
    return x.grad.tolist()
