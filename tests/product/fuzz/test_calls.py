"""Every public function and method with arguments of every kind.

A call returns a right answer or raises what is documented; it says something when it raises; a call that fails has
changed nothing; nothing warns in NumPy's words; gradients have the shapes and dtypes of their tensors.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import nbautograd as nb

from .calls import arguments, check
from .guard import HangingError, fuzzed, guarded
from .inventory import FUNCTIONS, LAYERS

PER_FUNCTION = 2
"""Examples for each function in the quick run; which differ from function to function."""


@pytest.mark.parametrize("space", FUNCTIONS)
def test_functions(space: str) -> None:
    functions = FUNCTIONS[space]

    @fuzzed(PER_FUNCTION * len(functions))
    @given(data=st.data(), name=st.sampled_from(sorted(functions)))
    def run(data: Any, name: str) -> None:
        function, is_method = functions[name]
        check(function, name.rpartition(".")[2], *data.draw(arguments(function, first=is_method)))

    run()


@fuzzed(2 * len(LAYERS))
@given(data=st.data(), name=st.sampled_from(sorted(LAYERS)))
def test_layers(data: Any, name: str) -> None:
    """Modules: made with any arguments, then called with any."""
    made: list[Any] = []

    def layer(*args: Any, **kwargs: Any) -> None:
        made.append(LAYERS[name](*args, **kwargs))

    layer.__signature__ = inspect.signature(LAYERS[name])  # type: ignore[attr-defined]
    check(layer, name, *data.draw(arguments(layer)), also=(AssertionError,))  # which PyTorch's layers raise
    if made:
        in_place = bool(getattr(made[0], "inplace", False)) or "Norm" in name or name.startswith("Embedding")
        given = data.draw(arguments(made[0].forward, first=True))
        check(made[0], name, *given, also=(AssertionError,), written=in_place)


# -- the guard itself ------------------------------------------------------------------------------------------------


def test_a_hanging_call_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.product.fuzz.guard.SECONDS", 0.05)
    with pytest.raises(HangingError), guarded():
        while True:
            pass


def test_a_greedy_call_gets_no_memory() -> None:
    with pytest.raises(MemoryError), guarded():
        nb.zeros(10**10)


def changes_and_fails(input: nb.Tensor) -> nb.Tensor:
    input._a[...] = 1
    raise ValueError("no")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (changes_and_fails, "changed an argument: values"),
        (lambda x: x.nonsense, "raised AttributeError"),
        (lambda x: np.log(-np.ones(2)), "raised RuntimeWarning"),
        (lambda x: NotImplemented, "returned NotImplemented"),
        (lambda x: (_ for _ in ()).throw(RuntimeError("")), "without words"),
    ],
)
def test_what_must_not_be_is_seen(function: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check(function, "f", [nb.zeros(2)], {})
