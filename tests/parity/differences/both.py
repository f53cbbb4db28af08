"""Programs that run under both libraries: ``@agrees`` tests that their results are the same.

A program is a function of the library, ``torch``: it returns numbers, texts, tensors and containers of them, or raises.
``@differs`` tests that they differ as the decorator says; ``docs/differences.md`` gives the reason
under the same title. PyTorch's results come from ``tests/oracle``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import nbautograd
from tests import oracle
from tests.oracle.answers import plain, raised

__all__ = ["TITLES", "Raised", "TensorValue", "agrees", "compare", "differs", "numbers"]

Program = Callable[[Any], Any]
TITLES: list[str] = []
"""The titles of the differing programs."""


class Raised(oracle.Raised):
    """The exception that a program raised."""

    def __new__(cls, exception: type[BaseException]) -> Raised:
        return super().__new__(cls, exception.__name__, [])


class TensorValue(NamedTuple):
    """A tensor as described in a difference."""

    dtype: str
    shape: tuple[int, ...]
    values: Any


def compare(program: Program, says: str = "", exact: bool = False) -> None:
    """Compare the results of a program under both libraries; exceptions are of the same kind, and share a key word.

    :param says: words that both libraries' messages have; then both have to raise.
    :param exact: whether numbers have to be the same to the last bit; then nothing watches PyTorch.
    """
    __tracebackhide__ = True
    theirs = oracle.answer(seeded(program), raises=bool(says) or None, says=says, exact=exact)
    ours = outcome(program)
    oracle.close(ours, theirs, exact=exact)
    assert not isinstance(theirs, oracle.Raised) or raised(ours).kind == theirs.kind


def seeded(program: Program) -> Program:
    """A program with the same random numbers each time."""

    def run(torch: Any) -> Any:
        torch.manual_seed(0)
        return program(torch)

    return run


def outcome(program: Program) -> Any:
    """Run a program under this library; return its result or its exception."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return seeded(program)(nbautograd)
        except Exception as error:
            return error


def agrees(program: Program | None = None, *, says: str = "", exact: bool = False) -> Any:
    """Test that a program has the same results under both libraries: see ``compare``."""
    if program is None:
        return lambda program: agrees(program, says=says, exact=exact)
    run = program

    def test() -> None:
        __tracebackhide__ = True
        compare(run, says, exact)

    test.__name__, test.__doc__, test.__module__ = run.__name__, run.__doc__, run.__module__
    return test


def differs(title: str, pytorch: Any, here: Any) -> Callable[[Program], Callable[[], None]]:
    """Test that a program has these two different results: numbers as they are printed.

    :param title: under which ``docs/differences.md`` says why.
    :param pytorch: its result under PyTorch; a ``Raised`` where it raises.
    :param here: its result under this library.
    """
    TITLES.append(title)

    def decorate(program: Program) -> Callable[[], None]:
        def test() -> None:
            assert as_said(plain(outcome(program))) == as_said(plain(here))
            theirs = as_said(oracle.answer(seeded(program), raises=None, exact=True))
            assert theirs == as_said(plain(pytorch)), f"PyTorch's result is {theirs} now"

        test.__name__, test.__doc__, test.__module__ = program.__name__, program.__doc__, program.__module__
        return test

    return decorate


def as_said(value: Any) -> str:
    """Plain data in the words of ``differs``."""

    def simple(value: Any) -> Any:
        if isinstance(value, oracle.Raised):
            return value.kind
        if isinstance(value, oracle.Array):
            return [value.dtype, list(value.shape), np.array2string(value.values)]
        if isinstance(value, oracle.Named) and value.name == "TensorValue":
            return simple(oracle.Array("", value.parts[0], False, np.array(value.parts[2], value.parts[0])))
        if isinstance(value, oracle.Named):
            return simple(value.parts)
        if isinstance(value, float):
            return value + 0.0  # of either sign
        return list(map(simple, value)) if isinstance(value, (list, tuple)) else value

    return repr(simple(value))


def numbers(torch: Any, *shape: int) -> Any:
    """Different float64 numbers of both signs."""
    count = 1
    for n in shape:
        count *= n
    return torch.linspace(-1.0, 1.5, count, dtype=torch.float64).reshape(shape)
