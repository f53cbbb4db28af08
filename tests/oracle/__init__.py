"""Compare programs with PyTorch, the oracle. No other module of the tests asks PyTorch.

A program is a function of the library, ``T``, and of inputs. It returns the values to compare: tensors (rather than
numbers computed from them, because a tensor has an error bound), texts, sizes, dtypes, modules, and containers of them.
::

    def program(T, x):
        x = T.tensor(x, requires_grad=True)
        y = T.nn.functional.softmax(x, 0)
        y.sum().backward()
        return y, x.grad

    oracle.check(program, np.ones(3))

PyTorch's answers are stored in ``tests/stored`` and read from there, whether or not PyTorch is installed. ``pytest FILE
--oracle=record`` asks it and stores its answers, ``--oracle=live`` and ``-m live`` only ask.
"""

from __future__ import annotations

import copy
import functools
import inspect
import sys
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import nbautograd
from tests import needs
from tests.oracle import ourselves, store
from tests.oracle.answers import Array, Named, Raised, plain, raised
from tests.oracle.comparison import difference
from tests.oracle.plugin import State

__all__ = ["Array", "Named", "Raised", "agree", "answer", "ask", "both", "check", "check_either", "check_raises",
           "check_warns", "close", "fill", "live", "same", "shared"]  # fmt: skip

Program = Callable[..., Any]
RENEW = "pytest {} --oracle=record, where PyTorch is installed, asks it again (nox -s oracle: all tests)"


def check(program: Program, *inputs: Any, steps: int = 1, exact: bool = False) -> Any:
    """Compare a program's answers under this library and under PyTorch.

    :param inputs: the arguments after the library; each run gets copies.
    :param steps: of the training loop that the program runs.
    :param exact: whether the numbers have to be the same to the last bit; then nothing watches PyTorch.
    :returns: our answer, as the program returned it.
    """
    __tracebackhide__ = True
    theirs = answer(program, *inputs, exact=exact)
    ours = program(nbautograd, *copy.deepcopy(inputs))
    close(ours, theirs, steps=steps, exact=exact)
    return ours


def check_raises(program: Program, *inputs: Any, says: str = "") -> BaseException:
    """Check a program that raises: the same kind of exception, and a key word of PyTorch's in the message.

    :param says: words of both messages.
    :returns: our exception.
    """
    __tracebackhide__ = True
    theirs = answer(program, *inputs, raises=True, says=says)
    ours = _outcome(program, copy.deepcopy(inputs))
    _compare(ours, theirs)
    return ours


def check_either(program: Program, *inputs: Any, says: str = "", steps: int = 1, exact: bool = False) -> Any:
    """Check a program that may raise, if it does so under both libraries."""
    __tracebackhide__ = True
    theirs = answer(program, *inputs, raises=None, says=says, exact=exact)
    ours = _outcome(program, copy.deepcopy(inputs))
    _compare(ours, theirs, steps=steps, exact=exact)
    return ours


def check_warns(program: Program, *inputs: Any, steps: int = 1, exact: bool = False) -> Any:
    """Check a program that warns: as often, of the same categories, with a key word of PyTorch's in each."""
    __tracebackhide__ = True

    def warned(T: Any, *inputs: Any) -> Any:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = program(T, *inputs)
        return caught, result

    theirs = answer(warned, *inputs, exact=exact)
    assert theirs.parts[0], f"PyTorch does not warn, it answers {theirs!r:.300}"
    ours = warned(nbautograd, *copy.deepcopy(inputs))
    _compare(ours, theirs, steps=steps, exact=exact)
    return ours[1]


def both(test: Callable[..., Any]) -> Callable[..., Any]:
    """Make a program, with a parameter ``T``, a test: its assertions hold under both libraries.

    It runs under PyTorch when asked live, and each time under ours. Its return values are compared as well.
    """

    @functools.wraps(test)
    def under_both(**arguments: Any) -> None:
        __tracebackhide__ = True
        check(lambda T: test(T=T, **arguments))

    signature = inspect.signature(test)
    others = [parameter for name, parameter in signature.parameters.items() if name != "T"]
    under_both.__signature__ = signature.replace(parameters=others, return_annotation=None)  # type: ignore[attr-defined]
    return under_both


def close(ours: Any, theirs: Any, *, steps: int = 1, exact: bool = False) -> None:
    """Compare our result with PyTorch's answer, or a part of it."""
    __tracebackhide__ = True
    _compare(ours, theirs, steps=steps, exact=exact)


def same(ours: Any, theirs: Any) -> None:
    """Compare our result with PyTorch's answer to the last bit."""
    __tracebackhide__ = True
    _compare(ours, theirs, exact=True)


def answer(program: Program, *inputs: Any, raises: bool | None = False, says: str = "", exact: bool = False) -> Any:
    """Return PyTorch's answer to a program of a test, as plain data: ``Array``, ``Named``, ``Raised``, lists and
    numbers.

    :param raises: whether it has to raise, or None if it may; without, PyTorch's exception is the test's.
    :param exact: without bounds: for exact comparisons, and where PyTorch traces, and would trace the measuring.
    """
    __tracebackhide__ = True
    if State.test is None:
        raise RuntimeError("outside of a test a question has a name: oracle.shared(name, program)")
    number = State.asked[State.test] = State.asked.get(State.test, -1) + 1
    return _answer(*State.test.split("::", 1), number, program, inputs, raises, says, exact)


def shared(name: str, program: Program, *inputs: Any) -> Any:
    """Return PyTorch's answer to a named program that several tests share, or to the parameters of tests."""
    __tracebackhide__ = True
    file = sys._getframe(1).f_globals["__name__"].replace(".", "/") + ".py"
    return _answer(file, f"= {name}", 0, program, inputs, False, "", False)


def agree(way: Program, other: Program, *inputs: Any) -> None:
    """Compare the results of two programs of arrays, which have no ``T``, within the bound of the other's runs.

    What is the same to the last bit needs no bound.
    """
    __tracebackhide__ = True
    ours, theirs = plain(way(*copy.deepcopy(inputs))), plain(other(*inputs))
    if difference(ours, theirs, exact=True) is not None:
        _compare(ours, ourselves.bounded(other, inputs, theirs))


def fill(T: Any, module: Any, seed: int = 0) -> Any:
    """Give the parameters of a module numbers that depend on no library's random numbers; returns the module."""
    numbers = np.random.RandomState(seed)  # whose numbers never change
    with T.no_grad():
        for p in module.parameters():
            p.copy_(T.tensor(numbers.uniform(-1, 1, tuple(p.shape)) / max(p.shape[-1:], default=1) ** 0.5))
    return module


def live() -> Any:
    """PyTorch itself, for a test that cannot be a program; without it the test skips, or all of the file's do."""
    __tracebackhide__ = True
    return needs.package("torch")


def ask(program: Program, *inputs: Any) -> Any:
    """Return PyTorch's own answer now: for live tests, whose objects of PyTorch no stored answer can hold."""
    live()
    from tests.oracle import asking

    return asking.ask(program, inputs)


def _answer(
    file: str, test: str, number: int, program: Program, inputs: Any, raises: bool | None, says: str, exact: bool
) -> Any:  # fmt: skip
    __tracebackhide__ = True
    _, answers = store.read(store.file_of(file))
    stored = answers.get(test, [])
    if State.mode == "stored":
        if number < len(stored):
            return stored[number]
        pytest.fail(f"PyTorch's answer to this test is not stored: {RENEW.format(file)}")
    if find_spec("torch") is None:
        pytest.skip(needs.reason("PyTorch"))
    from tests.oracle import asking

    try:
        found = asking.ask(program, copy.deepcopy(inputs), measured=not exact and not raises)
    except Exception as error:
        if raises is False:
            raise
        found = raised(error, says)
    else:
        assert not raises, f"PyTorch does not raise, it answers {found!r:.300}"
    State.version = asking.VERSION
    if State.mode == "record":
        kept = State.recorded.setdefault(file, {}).setdefault(test, [])
        kept[number:] = [found]
    elif number < len(stored) and not isinstance(found, bytes):  # files contain addresses and random numbers
        off = difference(found, stored[number])
        assert off is None, f"PyTorch answers otherwise than it did{off}\n{RENEW.format(file)}"
    return found


def _outcome(program: Program, inputs: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return program(nbautograd, *inputs)
        except Exception as error:
            return error


def _compare(ours: Any, theirs: Any, **options: Any) -> None:
    __tracebackhide__ = True
    if isinstance(ours, BaseException) and not isinstance(theirs, Raised):
        raise AssertionError(f"PyTorch answers {theirs!r:.300}") from ours
    off = difference(ours if isinstance(theirs, Raised) else plain(ours), theirs, **options)
    if off is not None:
        file = (State.test or "").partition("::")[0]
        pytest.fail(f"not as PyTorch{off}\nif the test has changed: {RENEW.format(file)}", pytrace=True)
