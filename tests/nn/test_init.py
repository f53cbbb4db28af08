"""How parameters begin: the numbers of PyTorch for the same seed; and its errors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbautograd
from tests import needs

torch = needs.package("torch")

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
        found = []
        for T in (nbautograd, torch):
            T.manual_seed(11)
            t = T.empty(shape, dtype=getattr(T, dtype)).requires_grad_()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                assert FILLS[name](getattr(T.nn.init, function))(t) is t
            assert t.is_leaf and t.requires_grad
            found.append(t.detach().numpy())
            found.append(T.rand(1).numpy())  # as many random numbers were taken
        tolerance = 1e-5 if dtype == "float32" else 1e-12
        exact = function not in ("orthogonal_", "trunc_normal_")
        np.testing.assert_allclose(found[0], found[2], rtol=0 if exact else tolerance, atol=0 if exact else tolerance)
        assert found[1] == found[3]


def test_generator() -> None:
    found = []
    for T in (nbautograd, torch):
        t = T.nn.init.kaiming_normal_(T.empty(3, 3), generator=T.Generator().manual_seed(3))
        found.append(t.tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize("args", [("linear",), ("conv_transpose2d",), ("sigmoid",), ("tanh",), ("relu",), ("selu",),
                                  ("leaky_relu",), ("leaky_relu", 0.3), ("leaky_relu", 2)])  # fmt: skip
def test_gain(args: tuple[Any, ...]) -> None:
    assert nbautograd.nn.init.calculate_gain(*args) == torch.nn.init.calculate_gain(*args)


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
        lambda T, i: i.kaiming_uniform_(T.empty(0, 3)),
        lambda T, i: i.eye_(T.empty(3)),
        lambda T, i: i.dirac_(T.empty(3, 3)),
        lambda T, i: i.dirac_(T.empty(3, 3, 3), 2),
        lambda T, i: i.orthogonal_(T.empty(3)),
        lambda T, i: i.sparse_(T.empty(3), 0.1),
        lambda T, i: i.trunc_normal_(T.empty(3), 9.0),
        lambda T, i: i.normal_(T.empty(3), 0, -1),
        lambda T, i: i.uniform_(T.empty(3), 1, 0),
        lambda T, i: i.xavier_normal(T.empty(3, 3)),
        lambda T, i: i.constant(T.empty(3, 3), 1),
    ],
)
def test_misuse(call: Callable[[Any, Any], Any]) -> None:
    errors = []
    for T in (nbautograd, torch):
        with pytest.raises(Exception) as caught:
            call(T, T.nn.init)
        errors.append(caught.value)
    assert isinstance(errors[0], type(errors[1]))
    assert set(str(errors[0]).lower().split()) & set(str(errors[1]).lower().split())


def test_every_function_is_here() -> None:
    assert {n for n in torch.nn.init.__all__ if not hasattr(nbautograd.nn.init, n)} == set()
