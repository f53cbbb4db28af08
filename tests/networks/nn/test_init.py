"""Check initial parameters: the numbers of PyTorch for the same seed, and its errors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import nbautograd
from tests import oracle

FILLS: dict[str, Callable[[Any], Any]] = {
    "uniform_": lambda f: f,
    "uniform_ bounds": lambda f: lambda t: f(t, -3, 5),
    "normal_": lambda f: f,
    "normal_ options": lambda f: lambda t: f(t, mean=2.0, std=3.0),
    "trunc_normal_": lambda f: f,
    "trunc_normal_ shifted": lambda f: lambda t: f(t, 1.0, 2.0, a=0.0, b=2.0),
    "trunc_normal_ narrow": lambda f: lambda t: f(t, 0.0, 1.0, 0.5, 1.0),
    "trunc_normal_ far": lambda f: lambda t: f(t, 0.0, 1.0, 3.0, 4.0),
    "constant_": lambda f: lambda t: f(t, 0.3),
    "ones_": lambda f: f,
    "zeros_": lambda f: f,
    "xavier_uniform_": lambda f: f,
    "xavier_uniform_ gain": lambda f: lambda t: f(t, gain=2.0),
    "xavier_normal_": lambda f: f,
    "kaiming_uniform_": lambda f: f,
    "kaiming_uniform_ options": lambda f: lambda t: f(t, 0.2, "fan_out", "tanh"),
    "kaiming_normal_": lambda f: f,
    "kaiming_normal_ options": lambda f: lambda t: f(t, mode="fan_out", nonlinearity="relu"),
    "orthogonal_": lambda f: f,
    "orthogonal_ gain": lambda f: lambda t: f(t, 2.0),
    "sparse_": lambda f: lambda t: f(t, 0.4),
    "eye_": lambda f: f,
    "dirac_": lambda f: f,
    "dirac_ groups": lambda f: lambda t: f(t, 2),
}
SHAPES = {"sparse_": [(5, 4)], "eye_": [(3, 5)], "dirac_": [(4, 3, 3), (4, 3, 3, 2)]}
USUAL = [(5, 3), (3, 20), (4, 3, 3, 2)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FILLS)
def test_numbers(name: str, dtype: str) -> None:
    function = name.split()[0]
    for shape in SHAPES.get(function, USUAL):

        def program(T: Any, shape: Any = shape) -> Any:
            T.manual_seed(11)
            t = T.empty(shape, dtype=getattr(T, dtype)).requires_grad_()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                assert FILLS[name](getattr(T.nn.init, function))(t) is t
            return t, t.is_leaf, T.rand(1).item().hex()  # the same number of random numbers was used

        oracle.check(program, exact=function not in ("orthogonal_", "trunc_normal_"))


def test_generator() -> None:
    oracle.check(lambda T: T.nn.init.kaiming_normal_(T.empty(3, 3), generator=T.Generator().manual_seed(3)), exact=True)


@pytest.mark.parametrize("args", [("linear",), ("conv_transpose2d",), ("sigmoid",), ("tanh",), ("relu",), ("selu",),
                                  ("leaky_relu",), ("leaky_relu", 0.3), ("leaky_relu", 2)])  # fmt: skip
def test_gain(args: tuple[Any, ...]) -> None:
    oracle.check(lambda T: T.nn.init.calculate_gain(*args), exact=True)


@pytest.mark.parametrize(
    "call",
    [
        lambda T, i: i.calculate_gain("x"),
        lambda T, i: i.calculate_gain("leaky_relu", True),
        lambda T, i: i.calculate_gain("leaky_relu", "a"),
        lambda T, i: i.xavier_uniform_(T.empty(3)),
        lambda T, i: i.kaiming_normal_(T.empty(3)),
        lambda T, i: i.kaiming_uniform_(T.empty(3, 3), mode="x"),
        lambda T, i: i.kaiming_uniform_(T.empty(3, 3), nonlinearity="x"),
        lambda T, i: i.eye_(T.empty(3)),
        lambda T, i: i.dirac_(T.empty(3, 3)),
        lambda T, i: i.dirac_(T.empty(3, 3, 3), 2),
        lambda T, i: i.orthogonal_(T.empty(3)),
        lambda T, i: i.sparse_(T.empty(3), 0.1),
        lambda T, i: i.normal_(T.empty(3), 0, -1),
        lambda T, i: i.uniform_(T.empty(3), 1, 0),
    ],
)
def test_misuse(call: Callable[[Any, Any], Any]) -> None:
    oracle.check_raises(lambda T: call(T, T.nn.init))


@pytest.mark.parametrize(
    "call",
    [
        lambda T, i: i.kaiming_uniform_(T.empty(0, 3)),
        lambda T, i: i.trunc_normal_(T.empty(3), 9.0),
        lambda T, i: i.xavier_normal(T.empty(3, 3)),
        lambda T, i: i.constant(T.empty(3, 3), 1),
    ],
)
def test_warnings(call: Callable[[Any, Any], Any]) -> None:
    oracle.check_warns(lambda T: call(T, T.nn.init) is not None)


def test_every_function_is_here() -> None:
    theirs = oracle.answer(lambda T: T.nn.init.__all__)
    assert {n for n in theirs if not hasattr(nbautograd.nn.init, n)} == set()
