"""Test ``torch.testing``: the messages of ``assert_close`` and the numbers of ``make_tensor`` are PyTorch's."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbautograd
from tests import oracle
from tests.parity.differences.both import Raised, agrees, differs

Case = Callable[[Any], tuple[Any, ...]]
NAN, INF = float("nan"), float("inf")


def close(*pair: Any, **options: Any) -> tuple[Any, ...]:
    """The arguments of a call of ``assert_close``."""
    return *pair, options


CASES: list[Case] = [
    lambda t: close(t.tensor([1.0, 2.0]), t.tensor([1.0, 3.0])),
    lambda t: close(t.tensor([1.0, 2.0]), t.tensor([1.0, 2.0 + 1e-7])),
    lambda t: close(t.tensor([1.0, 2.0]), t.tensor([1.0, 3.0]), rtol=0, atol=0),
    lambda t: close(t.tensor([1.0, 2.0]), t.tensor([1.0, 3.0]), rtol=1e-3, atol=0),
    lambda t: close(t.tensor([1.0, 2.0]), t.tensor([1.0, 3.0]), rtol=1e-3, atol=0.1),
    lambda t: close(t.tensor([1.0, 2.0]), t.tensor([1.0, 3.0]), rtol=1e-3),
    lambda t: close(t.tensor([1.0, 2.0]), t.tensor([1.0, 3.0]), atol=1e-3),
    lambda t: close(t.tensor([2.0]), t.tensor([1.0]), rtol=t.tensor(0.1), atol=0.0),
    lambda t: close(t.tensor(1.0), t.tensor(3.0)),
    lambda t: close(t.tensor(1.0), t.tensor(1.001)),
    lambda t: close(t.tensor(1), t.tensor(3)),
    lambda t: close(t.tensor(True), t.tensor(False)),
    lambda t: close(t.tensor(1j), t.tensor(2j)),
    lambda t: close(t.tensor(NAN), t.tensor(1.0)),
    lambda t: close(t.tensor(1.0, dtype=t.half), t.tensor(2.0, dtype=t.half)),
    lambda t: close(t.tensor([1, 2]), t.tensor([3, 2])),
    lambda t: close(t.tensor([1, 2]), t.tensor([3, 2]), rtol=0.1, atol=0.1),
    lambda t: close(t.tensor([True]), t.tensor([False])),
    lambda t: close(t.tensor([-128], dtype=t.int8), t.tensor([127], dtype=t.int8)),
    lambda t: close(t.tensor([200], dtype=t.uint8), t.tensor([100], dtype=t.uint8)),
    lambda t: close(t.tensor([1, 2], dtype=t.uint16), t.tensor([1, 3], dtype=t.int32), check_dtype=False),
    lambda t: close(t.tensor([2**40]), t.tensor([2**40 + 1])),
    lambda t: close(t.tensor([1.0], dtype=t.half), t.tensor([1.1], dtype=t.half)),
    lambda t: close(t.tensor([1.0], dtype=t.bfloat16), t.tensor([1.1], dtype=t.bfloat16)),
    lambda t: close(t.tensor([1.0], dtype=t.float64), t.tensor([1.0 + 1e-6], dtype=t.float64)),
    lambda t: close(t.tensor([1.0, 2.0], dtype=t.half), t.tensor([1.0, 2.3]), check_dtype=False),
    lambda t: close(t.tensor([1.0]), t.tensor([1.0], dtype=t.float64)),
    lambda t: close(t.tensor([1.0]), t.tensor([2.0], dtype=t.float64), check_dtype=False),
    lambda t: close(t.tensor([1.0 + 1j]), t.tensor([1.0 + 2j])),
    lambda t: close(t.tensor([1.0]), t.tensor([[1.0]])),
    lambda t: close(t.zeros(0), t.zeros(0)),
    lambda t: close(t.zeros(0), t.zeros(0, 1)),
    lambda t: close(t.zeros(2, 3), t.ones(2, 3)),
    lambda t: close(t.zeros(2, 3, 4), t.zeros(2, 3, 4) + t.arange(4) * 1.0),
    lambda t: close(t.tensor([[1.0, 2], [3, 4]]).t(), t.tensor([[1.0, 3], [2, 4]])),
    lambda t: close(t.tensor([[1.0, 2], [3, 4]]).t(), t.tensor([[1.0, 3], [2, 4]]), check_stride=True),
    lambda t: close(t.arange(4.0)[::2], t.tensor([0.0, 2.0], dtype=t.float64), check_stride=True),
    lambda t: close(t.tensor([NAN]), t.tensor([NAN])),
    lambda t: close(t.tensor([NAN]), t.tensor([NAN]), equal_nan=True),
    lambda t: close(t.tensor([NAN, 1.0, 5]), t.tensor([1.0, 1, 9])),
    lambda t: close(t.tensor([INF, 1.0]), t.tensor([INF, 2.0])),
    lambda t: close(t.tensor([INF, 1.0]), t.tensor([-INF, 2.0])),
    lambda t: close(t.tensor([1.0, 1.0]), t.tensor([0.0, 1.0])),
    lambda t: close(t.tensor([1.0]).requires_grad_(), t.tensor([2.0])),
    lambda t: close(t.nn.Parameter(t.tensor([1.0])), t.tensor([1.0])),
    lambda t: close(t.tensor([1.0]), 1.0),
    lambda t: close(1.0, t.tensor(1.0)),
    lambda t: close(1.0, 2.0),
    lambda t: close(1, 2),
    lambda t: close(1, 5, rtol=0.1, atol=0.1),
    lambda t: close(2**62, 2**62 + 1),
    lambda t: close(1, 1.0),
    lambda t: close(1, 1.0, check_dtype=False),
    lambda t: close(1, 2.0, check_dtype=False),
    lambda t: close(1j, 2.0 + 0j),
    lambda t: close(1.0, 0.0),
    lambda t: close(NAN, NAN),
    lambda t: close(NAN, NAN, equal_nan=True),
    lambda t: close(INF, INF),
    lambda t: close(INF, -INF),
    lambda t: close(True, False),
    lambda t: close(np.bool_(True), np.bool_(False)),
    lambda t: close(np.bool_(True), True),
    lambda t: close(None, None),
    lambda t: close(None, 1.0),
    lambda t: close(np.float32(1.0), np.float32(2.0)),
    lambda t: close(np.float64(1.0), 1.0),
    lambda t: close(np.int64(1), 2),
    lambda t: close(np.array([1.0, 2.0]), np.array([1.0, 3.0])),
    lambda t: close(np.array([1, 2]), np.array([1.0, 2.0])),
    lambda t: close(np.array(1.0), np.array(2.0)),
    lambda t: close(np.array(1.0), 1.0),
    lambda t: close(np.array(["a"]), np.array(["a"])),
    lambda t: close([1.0, 2.0], [1.0, 3.0]),
    lambda t: close([1.0, 2.0], (1.0, 2.0)),
    lambda t: close([1.0, 2.0], [1.0]),
    lambda t: close([1.0, [2.0, 3.0]], [1.0, [2.0]]),
    lambda t: close([2.0, "a"], [1.0, "a"]),
    lambda t: close([1.0, "a"], [1.0, 2.0]),
    lambda t: close(collections.deque([1]), collections.deque([2])),
    lambda t: close(range(3), range(3)),
    lambda t: close(b"ab", b"ac"),
    lambda t: close("a", "a"),
    lambda t: close({1, 2}, {1, 2}),
    lambda t: close([], {}),
    lambda t: close([], []),
    lambda t: close({"a": 1.0}, {"a": 2.0}),
    lambda t: close({"a": 1.0, "c": 1}, {"b": 2.0, "a": 1.0}),
    lambda t: close({"x": {1: 1.0}}, {"x": {2: 1.0}}),
    lambda t: close({1: 1.0, "a": 2.0}, {1: 1.0, "a": 3.0}),
    lambda t: close(collections.OrderedDict(a=1), collections.UserDict(a=2)),
    lambda t: close({"a": [t.tensor(1.0), {"b": t.ones(2)}]}, {"a": [t.tensor(1.0), {"b": t.tensor([1.0, 4])}]}),
    lambda t: close(t.ones(1), t.zeros(1), msg="mine"),
    lambda t: close(t.ones(1), t.zeros(1), msg=""),
    lambda t: close([t.ones(1)], [t.zeros(1)], msg=lambda message: f"<{message}>"),
    lambda t: close([1.0, 2.0], [1.0], msg="mine"),
    lambda t: close("a", "a", msg="mine"),
]


def said(library: Any, case: Case) -> Any:
    """For a call of ``assert_close``, the class and the text of the error"""
    *pair, options = case(library)
    try:
        library.testing.assert_close(*pair, **options)
        return "accepted"
    except Exception as error:
        return type(error), str(error).replace("'nbautograd.Tensor'", "'torch.Tensor'")


@pytest.mark.parametrize("case", CASES)
def test_assert_close_says_what_pytorch_says(case: Case) -> None:
    oracle.check(lambda torch: said(torch, case), exact=True)


@agrees(says="No comparison pair was able to handle inputs of type")
def test_subclasses_may_be_refused(torch: Any) -> Any:
    torch.testing.assert_close(torch.nn.Parameter(torch.ones(1)), torch.ones(1), allow_subclasses=False)


@agrees
def test_the_former_function(torch: Any) -> Any:
    with pytest.warns(FutureWarning, match="assert_close"):
        torch.testing.assert_allclose(torch.tensor([1.0]), [1.00005])
    torch.testing.assert_allclose(torch.tensor([float("nan")]), torch.tensor([float("nan")]).double())
    try:
        torch.testing.assert_allclose([1.0], [2.0])
    except AssertionError as error:
        return str(error)


@differs("`assert_close` tells a bool from a number", Raised(RuntimeError), Raised(AssertionError))
def test_a_bool_is_no_number(torch: Any) -> Any:
    torch.testing.assert_close(True, 1)


@differs("`assert_close` rejects negative tolerances", [None, Raised(RuntimeError)], [Raised(ValueError)] * 2)
def test_tolerances_are_not_negative(torch: Any) -> Any:
    def compared(value: Any) -> Any:
        try:
            torch.testing.assert_close(value, value, rtol=-1.0, atol=0.0)
        except (ValueError, RuntimeError) as error:
            return Raised(ValueError if isinstance(error, ValueError) else RuntimeError)

    return [compared(1.0), compared(torch.ones(1))]


def test_tolerances_are_numbers() -> None:
    with pytest.raises(ValueError, match="atol must be greater than or equal to zero, but got nan"):
        nbautograd.testing.assert_close(1.0, 1.0, rtol=0.0, atol=float("nan"))


def test_arguments_and_graph_stay() -> None:
    x = nbautograd.ones(3, requires_grad=True)
    y = x * 2
    nbautograd.testing.assert_close(y, y)
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


# -- make_tensor -------------------------------------------------------------------------------------------------------

MADE: dict[str, Callable[[Any], Any]] = {
    "float32": lambda t: t.testing.make_tensor(3, 4, dtype=t.float32, device="cpu"),
    "float64": lambda t: t.testing.make_tensor((3, 4), dtype=t.float64, device="cpu", low=-1, high=1),
    "float16": lambda t: t.testing.make_tensor(20, dtype=t.float16, device="cpu"),
    "bfloat16": lambda t: t.testing.make_tensor(20, dtype=t.bfloat16, device="cpu", low=0),
    "complex64": lambda t: t.testing.make_tensor(2, 3, dtype=t.complex64, device="cpu"),
    "complex128": lambda t: t.testing.make_tensor(2, 3, dtype=t.complex128, device="cpu", exclude_zero=True),
    "bool": lambda t: t.testing.make_tensor(20, dtype=t.bool, device="cpu"),
    "uint8": lambda t: t.testing.make_tensor(20, dtype=t.uint8, device="cpu"),
    "int8": lambda t: t.testing.make_tensor(20, dtype=t.int8, device="cpu", low=-1000, high=1000),
    "int16": lambda t: t.testing.make_tensor(20, dtype=t.int16, device="cpu", low=0.5, high=3.5),
    "int32": lambda t: t.testing.make_tensor(20, dtype=t.int32, device="cpu", exclude_zero=True),
    "int64": lambda t: t.testing.make_tensor(20, dtype=t.int64, device="cpu"),
    "all floats": lambda t: t.testing.make_tensor(5, dtype=t.float32, device="cpu", low=-1e39, high=1e39),
    "one value": lambda t: t.testing.make_tensor(5, dtype=t.float32, device="cpu", low=2, high=2),
    "no size": lambda t: t.testing.make_tensor((), dtype=t.float32, device="cpu", noncontiguous=True),
    "requires_grad": lambda t: t.testing.make_tensor(2, dtype=t.float32, device="cpu", requires_grad=True),
}


@pytest.mark.parametrize("name", MADE)
def test_make_tensor_draws_what_pytorch_draws(name: str) -> None:
    @agrees
    def test(torch: Any) -> Any:
        made = MADE[name](torch)
        return [made, made.requires_grad, made.is_contiguous()]

    test()


@agrees
def test_make_tensor_lays_memory_out(torch: Any) -> Any:
    make, options = torch.testing.make_tensor, {"dtype": torch.float32, "device": "cpu"}
    strided = make(2, 3, noncontiguous=True, **options)
    last = make(2, 3, 4, 5, memory_format=torch.channels_last, **options)
    return [strided, strided.stride(), last, last.stride()]


@pytest.mark.parametrize(
    "options",
    [
        {"low": 2, "high": 1},
        {"low": float("nan")},
        {"low": 200, "dtype": "int8", "high": 300},
        {"requires_grad": True, "dtype": "int64"},
        {"noncontiguous": True, "memory_format": "contiguous_format"},
    ],
)
def test_make_tensor_refuses(options: dict[str, Any]) -> None:
    @agrees(says="`")
    def test(torch: Any) -> Any:
        names = {"dtype": "float32", **options}
        values = {key: getattr(torch, value) if isinstance(value, str) else value for key, value in names.items()}
        torch.testing.make_tensor(3, device="cpu", **values)

    test()
