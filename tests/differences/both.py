"""Programs that run under both libraries, and the comparison of what they come to.

A program is a function of the library, ``torch``: it returns numbers, texts, tensors and containers of them, or raises.
``@agrees`` makes a test of it that both libraries come to the same. ``@differs`` makes one that they do not, each to
what the decorator says; ``docs/differences.md`` gives the reason under the same title.
"""

from __future__ import annotations

import cmath
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import nbautograd
from tests import needs

__all__ = ["TITLES", "Raised", "agrees", "differs", "numbers", "outcome"]

Program = Callable[[Any], Any]
TITLES: list[str] = []
"""Of the programs that differ."""


class Raised(NamedTuple):
    """That a program raised: the builtin exception that it is, and whether its message says what it has to."""

    exception: type[BaseException]
    says: bool = True


class TensorValue(NamedTuple):
    """What can be compared of a tensor."""

    dtype: str
    shape: tuple[int, ...]
    values: Any


def outcome(program: Program, library: Any, says: str = "") -> Any:
    """What a program comes to under a library: its value, or what it raised.

    :param says: words of the message, which both libraries have to use.
    """
    library.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return comparable(program(library))
        except Exception as error:
            kind = next(cls for cls in type(error).__mro__ if cls.__module__ == "builtins")
            return Raised(kind, says in str(error))


def comparable(value: Any) -> Any:
    """A value with tensors, sizes and dtypes as plain Python's."""
    if isinstance(value, (Raised, TensorValue)):
        return value
    if type(value).__name__ == "Size":
        return tuple(value)
    if isinstance(value, (list, tuple)):
        return [comparable(part) for part in value]
    if isinstance(value, dict):
        return {key: comparable(part) for key, part in value.items()}
    if type(value).__name__ == "dtype":
        return str(value).rpartition(".")[2]
    if hasattr(value, "detach") and hasattr(value, "tolist"):
        plain = value.detach()
        return TensorValue(str(plain.dtype).rpartition(".")[2], tuple(plain.shape), plain.tolist())
    return value


def same(a: Any, b: Any) -> bool:
    """Whether two outcomes are the same, numbers up to rounding."""
    if isinstance(a, (list, tuple)) and type(a) is type(b):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (float, complex)) and isinstance(b, (float, complex)):
        return a == b or a != a and b != b or cmath.isclose(a, b, rel_tol=1e-5, abs_tol=1e-7)
    return type(a) is type(b) and bool(a == b)


def agrees(program: Program | None = None, *, says: str = "") -> Any:
    """A test that a program comes to the same under both libraries.

    :param says: words that both libraries' messages have, where it raises; without them only the exception counts.
    """
    if program is None:
        return lambda program: agrees(program, says=says)
    run = program

    def test() -> None:
        theirs = outcome(run, needs.package("torch"), says)
        ours = outcome(run, nbautograd, says)
        assert not says or isinstance(theirs, Raised) and theirs.says, f"PyTorch does not say {says!r}"
        assert same(ours, theirs), f"PyTorch comes to {theirs!r}, nbautograd to {ours!r}"

    test.__name__, test.__doc__, test.__module__ = run.__name__, run.__doc__, run.__module__
    return test


def differs(title: str, pytorch: Any, here: Any) -> Callable[[Program], Callable[[], None]]:
    """A test that a program comes to different things, and to which.

    :param title: under which ``docs/differences.md`` says why.
    :param pytorch: what it comes to under PyTorch, in the form of ``comparable``; a ``Raised`` where it raises.
    :param here: what it comes to under this library.
    """
    TITLES.append(title)

    def decorate(program: Program) -> Callable[[], None]:
        def test() -> None:
            assert same(outcome(program, nbautograd), comparable(here))
            theirs = outcome(program, needs.package("torch"))
            assert same(theirs, comparable(pytorch)), f"PyTorch comes to {theirs!r} now"

        test.__name__, test.__doc__, test.__module__ = program.__name__, program.__doc__, program.__module__
        return test

    return decorate


def numbers(torch: Any, *shape: int) -> Any:
    """Different float64 numbers of both signs."""
    count = 1
    for n in shape:
        count *= n
    return torch.linspace(-1.0, 1.5, count, dtype=torch.float64).reshape(shape)
