"""Exercises in notebooks: whether an answer was tried, whether it is right, and what is wrong with it.

A check is a function of the answers. It returns or yields what is wrong, and nothing where all is right::

    from nbautograd.exercises import exercise, same, score

    @exercise(1, slope)
    def check(slope):
        if not same(slope, 6.0):
            return f"{slope} is not the derivative of x² at 3"

As long as the dots of the skeleton stand in an answer, the check is not asked, and says that nothing was tried.
``score()`` says how many exercises of the notebook are solved. What is printed is in the language of the pictures,
``%autograd --language``.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from nbautograd._engine.core.tensor import Tensor
from nbautograd.viz.language import say

__all__ = ["exercise", "same", "score"]

Check = Callable[..., "str | Iterable[str] | None"]

_PACKAGE = str(Path(__file__).parent)
_results: dict[int, str] = {}
"""Of each exercise that was checked in this process: ``right``, ``wrong`` or ``untried``."""


def exercise(number: int, *answers: Any, untouched: bool = False) -> Callable[[Check], None]:
    """Run the decorated function on the answers, and print the result.

    :param number: of the exercise in its notebook.
    :param answers: what the reader has written; ``...``, or a function or class with dots in its body, was not tried.
    :param untouched: where no dots stand in the answers: whether they are as the notebook gave them.

    What the answer raises is printed with its line, as something to mend: the notebook goes on.

    >>> @exercise(1, ...)
    ... def check(answer):
    ...     return "never asked"
    Exercise 1: not tried yet. Put your answer in place of the dots and run both cells again.
    >>> @exercise(1, 5)
    ... def check(answer):
    ...     if answer != 4:
    ...         return f"2 + 2 is not {answer}"
    Exercise 1: not yet. 2 + 2 is not 5
    >>> @exercise(1, 4)
    ... def check(answer):
    ...     if answer != 4:
    ...         return f"2 + 2 is not {answer}"
    Exercise 1: right
    """

    def run(check: Check) -> None:
        open_ = sum(map(_has_dots, answers))
        if untouched or (answers and open_ == len(answers)):
            _results[number] = "untried"
            print(say("exercise_untried", number=number))
            return
        if open_:
            wrong = [say("exercise_dots", open=open_, of=len(answers))]
        else:
            wrong = _faults(check, answers)
        _results[number] = "wrong" if wrong else "right"
        for fault in wrong:
            print(say("exercise_wrong", number=number, fault=fault))
        if not wrong:
            print(say("exercise_right", number=number))

    return run


def same(answer: Any, wanted: Any, tolerance: float = 1e-4) -> bool:
    """Whether an answer says what is wanted, however it is written.

    Numbers, lists, tuples, arrays and tensors are compared as numbers of one shape, words without regard to capitals.

    :param tolerance: how far a number may be off, relative to the wanted one and absolutely.

    >>> same([8, 5], (8.0, 5.0)), same("Error", "error"), same([8, 5], [8, 5, 0]), same(None, 0)
    (True, True, False, False)
    """
    if isinstance(wanted, str) or isinstance(answer, str):
        both = isinstance(wanted, str) and isinstance(answer, str)
        return both and answer.strip().casefold() == wanted.strip().casefold()
    if isinstance(wanted, set | dict) or wanted is None or answer is None:
        return bool(answer == wanted)
    try:
        left, right = _numbers(answer), _numbers(wanted)
    except (TypeError, ValueError):
        return bool(answer == wanted)
    return left.shape == right.shape and bool(np.allclose(left, right, tolerance, tolerance, equal_nan=True))


def score() -> None:
    """Print how many of the exercises that were checked are solved, and how each of them stands.

    >>> @exercise(1, 4)
    ... def check(answer): ...
    Exercise 1: right
    >>> @exercise(2, ...)
    ... def check(answer): ...
    Exercise 2: not tried yet. Put your answer in place of the dots and run both cells again.
    >>> score()
    1 of 2 exercises solved.
      1  right
      2  not tried yet
    """
    solved = sum(result == "right" for result in _results.values())
    print(say("exercise_score", solved=solved, of=len(_results)))
    for number, result in sorted(_results.items()):
        print(f"  {number}  {say('exercise_is_' + result)}")


def _faults(check: Check, answers: tuple[Any, ...]) -> list[str]:
    """What a check says is wrong."""
    try:
        faults = check(*answers)
        if faults is None:
            return []
        return [faults] if isinstance(faults, str) else list(faults)
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame.line for frame in frames if frame.line and not frame.filename.startswith(_PACKAGE)]
        kind, text = type(error).__name__, str(error).split("\n")[0]
        return [say("exercise_raised", kind=kind, text=text, line=own[-1] if own else "")]


def _numbers(value: Any) -> np.ndarray:
    if isinstance(value, Tensor):
        return value.detach().cpu().numpy()
    if isinstance(value, list | tuple):
        return np.stack([_numbers(part) for part in value]) if value else np.empty(0)
    array = np.asarray(value)
    if array.dtype.kind not in "biufc":
        raise TypeError(f"no numbers: {value!r}")
    return array


def _has_dots(answer: Any) -> bool:
    """Whether the dots of a skeleton still stand in an answer."""
    if answer is ...:
        return True
    if not inspect.isroutine(answer) and not inspect.isclass(answer):
        return False
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(answer))))
    except (OSError, TypeError, SyntaxError):  # it was not written in a cell
        return False
    return any(isinstance(node, ast.Constant) and node.value is ... for node in _outside_of_indices(tree))


def _outside_of_indices(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a program but for what stands in square brackets: the dots of ``x[..., 0]`` are no skeleton's."""
    for child in ast.iter_child_nodes(tree):
        if not (isinstance(tree, ast.Subscript) and child is tree.slice):
            yield child
            yield from _outside_of_indices(child)
