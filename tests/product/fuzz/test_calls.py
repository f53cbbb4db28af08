"""Every public function and method with arguments of every kind.

A call returns a right answer or raises what is documented; it says something when it raises; a call that fails has
changed nothing; nothing warns in NumPy's words; gradients have the shapes and dtypes of their tensors.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from random import Random, SystemRandom
from typing import Any

import numpy as np
import pytest

import nbautograd as nb

from .calls import arguments, check
from .guard import LONG, TIMES, HangingError, guarded
from .inventory import FUNCTIONS, LAYERS

PER_FUNCTION = 3
"""Examples for each function in the quick run."""


def runs(check_one: Callable[[Random, str], None], names: Iterable[str]) -> None:
    """Check each function some times: with the same arguments in each run, or many others in the long profile.

    Hypothesis would need ten times as long for its draws as the calls take.
    """
    for number in range(PER_FUNCTION * (TIMES if LONG else 1)):
        for name in sorted(names):
            seed = f"{name} {SystemRandom().random() if LONG else number}"
            try:
                check_one(Random(seed), name)
            except BaseException as error:
                error.add_note(f"Random({seed!r})")
                raise


@pytest.mark.parametrize("space", FUNCTIONS)
def test_functions(space: str) -> None:
    functions = FUNCTIONS[space]

    def check_one(random: Random, name: str) -> None:
        function, is_method = functions[name]
        check(function, name.rpartition(".")[2], *arguments(random, function, first=is_method))

    runs(check_one, functions)


def test_layers() -> None:
    """Modules: made with any arguments, then called with any."""

    def check_one(random: Random, name: str) -> None:
        made: list[Any] = []

        def layer(*args: Any, **kwargs: Any) -> None:
            made.append(LAYERS[name](*args, **kwargs))

        layer.__signature__ = inspect.signature(LAYERS[name])  # type: ignore[attr-defined]
        check(layer, name, *arguments(random, layer), also=(AssertionError,))  # which PyTorch's layers raise
        if made:
            in_place = getattr(made[0], "inplace", False) is not False or "Norm" in name or name.startswith("Embedding")
            given = arguments(random, made[0].forward, first=True)
            check(made[0], name, *given, also=(AssertionError,), written=in_place)

    runs(check_one, LAYERS)


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
