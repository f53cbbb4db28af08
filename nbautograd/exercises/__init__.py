"""Exercises in notebooks: checks whether an answer was tried and is right, and explains errors.

A check is a function of the answers. It returns or yields errors, and nothing if all is right::

    from nbautograd.exercises import exercise, same, score

    @exercise(1, slope)
    def check(slope):
        if not same(slope, 6.0):
            return f"{slope} is not the derivative of x² at 3"

While an answer contains the dots of the skeleton, the check is not called, and the exercise counts as not tried.
``score()`` prints how many exercises of the notebook are solved. Output is in the language of the pictures, ``%autograd
--language``.

The exercises of the course are not written in its notebooks, so that no one reads their answers by accident:
``check("03.1", slope)`` takes the check from the file ``03_backward.toml`` beside this module, and ``answer("03.1")``
prints the worked answer.
"""

from __future__ import annotations

import ast
import base64
import builtins
import inspect
import json
import linecache
import os
import sys
import textwrap
import tomllib
import traceback
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np

from nbautograd._engine.base.atomic_file import replacing
from nbautograd._engine.base.users_code import is_users
from nbautograd._engine.core.tensor import Tensor
from nbautograd.viz.escape import escape
from nbautograd.viz.language import current, say
from nbautograd.viz.settings import settings

__all__ = ["answer", "book_of", "check", "exercise", "given", "same", "score", "variants", "written"]

Check = Callable[..., "str | Iterable[str] | None"]

_results: dict[int, tuple[str, float]] = {}
"""The state of each exercise checked in this process, ``right``, ``wrong`` or ``untried``, and its points."""

_books: set[str] = set()
"""The notebooks of the course whose exercises were checked in this process, by their numbers."""


class Score(dict[str, Any]):
    """The score as a dictionary that a notebook does not show, since it was printed."""

    def _ipython_display_(self) -> None:
        """Show nothing."""


def exercise(number: int, *answers: Any, points: float = 1, untouched: bool = False) -> Callable[[Check], None]:
    """Run the decorated function on the answers, and print the result.

    :param number: the number of the exercise in its notebook.
    :param answers: the reader's answers; ``...``, or a function or class with dots in its body, counts as not tried.
        A text of numbers, such as ``"6"`` or ``"1/3, 2"``, reaches the check as numbers; None never reaches it.
    :param points: the points of a right answer.
    :param untouched: for answers without dots: True if they are unchanged.
    :raises AssertionError: with the environment variable ``NBAUTOGRAD_GRADING`` set, an answer is wrong or missing.

    An exception of the answer is printed with its line, as an error to fix: the notebook continues. If the check itself
    cannot use an answer, the message says why: the answer is None, or is not a tensor.

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
            _results[number] = "untried", points
            _tell([say("exercise_untouched" if untouched else "exercise_untried", number=number)], solved=False)
            return
        if open_:
            wrong = [say("exercise_dots", open=open_, of=len(answers))]
        else:
            wrong = _faults(check, tuple(map(_read, answers)))
        _results[number] = "wrong" if wrong else "right", points
        said = [say("exercise_wrong", number=number, fault=fault) for fault in wrong]
        _tell(said or [say("exercise_right", number=number)], solved=not wrong)

    return run


def check(name: str, *answers: Any, points: float = 1, untouched: bool = False, variant: int = 0) -> None:
    """Check the answers to an exercise of the course, and print the result.

    :param name: the notebook and the number of the exercise, such as ``"03.1"`` or ``"bugs.2"``.
    :param answers: the reader's answers, as for :func:`exercise`, and likewise ``points`` and ``untouched``.
    :param variant: the exercise with other numbers; 0 has those of the course.
    :raises ValueError: the course has no exercise of this name, or it has no such variant.
    :raises AssertionError: with the environment variable ``NBAUTOGRAD_GRADING`` set, an answer is wrong or missing.

    The check can read the variables of the module or notebook that calls.

    >>> check("03.1", ..., ...)
    Exercise 1: not tried yet. Put your answer in place of the dots and run both cells again.
    >>> import nbautograd as torch
    >>> check("03.1", 4, 6)
    Exercise 1: not yet. the two are swapped: x is used once, w twice
    """
    code, scope = written(name, "check", variant=variant), _scope(sys._getframe(1).f_globals)
    filename = f"<check {name}>"
    linecache.cache[filename] = len(code), None, code.splitlines(keepends=True), filename  # for pictures
    exec(compile(code, filename, "exec"), scope)
    _books.add(name.rpartition(".")[0])
    exercise(int(name.rpartition(".")[2]), *answers, points=points, untouched=untouched)(scope["check"])


def answer(name: str, variant: int = 0) -> None:
    """Print the worked answer to an exercise of the course.

    :param name: the notebook and the number of the exercise.
    :param variant: as for :func:`check`.
    :raises ValueError: the course has no exercise of this name, or it has no such variant.

    >>> answer("03.2")
    # Through s: 2 * 2u. Past it: 1. Two paths.
    grad_of_u = 2 * 2 * 3.0 + 1
    """
    print(written(name, "answer", variant=variant), end="")


def given(name: str) -> Any:
    """Return what an exercise of the course asks about, made from the variables of the module or notebook that calls.

    :param name: the notebook and the number of the exercise.
    :raises ValueError: the course has no exercise of this name, or this one gives nothing.

    >>> import nbautograd as torch
    >>> p = q = torch.tensor(0.0, requires_grad=True)
    >>> given("02.2")
    tensor(1., grad_fn=<SubBackward0>)
    """
    code, scope = written(name, "given"), _scope(sys._getframe(1).f_globals)
    tracing, settings.tracing = settings.tracing, False  # pictures quote lines, and these tell the answer
    try:
        return eval(compile(code, f"<exercise {name}>", "eval"), scope)
    finally:
        settings.tracing = tracing


def written(name: str, part: str, language: str | None = None, variant: int = 0) -> str:
    """Return the code of an exercise of the course.

    :param name: the notebook and the number of the exercise.
    :param part: ``"check"``, ``"answer"`` or ``"given"``.
    :param language: ``"en"`` or ``"zh"``: the language of its comments and messages; by default that of the pictures.
    :param variant: as for :func:`check`.
    :raises ValueError: the course has no exercise of this name, or it has no such part or variant.

    >>> written("04.3", "answer").splitlines()[0]
    'def clear(*leaves):'
    """
    book, _, number = name.rpartition(".")
    pages = _pages(book)
    page = pages.get(number, {})
    if not number.isdecimal() or part not in page:
        known = ", ".join(f"{book}.{each}" for each in pages if each.isdecimal()) or "names such as 03.1"
        raise ValueError(f"exercise {name!r}: the course has no {part} of this name; it has {known}")
    code: str = page[part]
    if part == "check":
        code = f"{pages.get('helpers', '')}\n\n{code}".lstrip("\n")
    if (language or current()) == "zh":
        for english in sorted(pages["chinese"], key=len, reverse=True):
            code = code.replace(english, pages["chinese"][english])
    return _filled(code, _variant(name, page, variant))


def book_of(notebook: str) -> str:
    """Return the part of a notebook's name that names its exercises.

    >>> book_of("03_backward"), book_of("02b_walk"), book_of("appendix_bugs")
    ('03', '02b', 'bugs')
    """
    first, _, rest = notebook.partition("_")
    return first if first[:1].isdecimal() else rest


def variants(name: str) -> list[dict[str, str]]:
    """Return the texts that an exercise puts into its notebook, for each variant, by the text of the course.

    :param name: the notebook and the number of the exercise.

    >>> variants("03.1")[1]
    {'$w = 3$': '$w = 4$', '$x = -1$': '$x = -2$'}
    >>> variants("03.3")
    [{}]
    """
    book, _, number = name.rpartition(".")
    page = _pages(book).get(number, {})
    texts, rows = page.get("texts", ()), page.get("variants", [{}])
    return [{_filled(text, rows[0]): _filled(text, row) for text in texts} for row in rows]


def _variant(name: str, page: dict[str, Any], variant: int) -> dict[str, int]:
    """Return the numbers of a variant, by name; raise ValueError if there is no such variant."""
    rows: list[dict[str, int]] = page.get("variants", [{}])
    if not isinstance(variant, int) or not 0 <= variant < len(rows):
        raise ValueError(f"exercise {name!r}: there is no variant {variant!r}; variants are 0 to {len(rows) - 1}")
    return rows[variant]


def _filled(text: str, numbers: dict[str, int]) -> str:
    """Return a text with the numbers of a variant, whose names stand between angle brackets."""
    for key, number in numbers.items():
        text = text.replace(f"<{key}>", str(number))
    return text


@cache
def _pages(book: str) -> dict[str, Any]:
    """Return what the file of a notebook says of its exercises, by its number; nothing if there is no such file."""
    files = [file for file in Path(__file__).parent.glob("*.toml") if book_of(file.stem) == book]
    return tomllib.loads(files[0].read_text(encoding="utf-8")) if files else {}


def _scope(names: dict[str, Any]) -> dict[str, Any]:
    """Return the variables that a check may read, without its own definitions."""
    shown = {} if hasattr(builtins, "display") else {"display": print}  # IPython has one
    return {**shown, **names, "same": same}


def same(answer: Any, wanted: Any, tolerance: float = 1e-4) -> bool:
    """Return whether an answer has the wanted value, in any notation.

    Numbers, lists, tuples, arrays and tensors are compared as numbers of one shape; a single number may have any shape,
    and a text of numbers counts as these numbers. Words are compared without regard to capitals.

    :param tolerance: the allowed difference of a number, relative to the wanted one and absolute.

    >>> same([8, 5], (8.0, 5.0)), same("Error", "error"), same([8, 5], [8, 5, 0]), same(None, 0)
    (True, True, False, False)
    >>> same([6.0], 6), same("1/2", 0.5), same("8, 5", [8, 5])
    (True, True, True)
    """
    answer = answer if isinstance(wanted, str) else _read(answer)
    if isinstance(wanted, str) or isinstance(answer, str):
        both = isinstance(wanted, str) and isinstance(answer, str)
        return both and answer.strip().casefold() == wanted.strip().casefold()
    if isinstance(wanted, set | dict) or wanted is None or answer is None:
        return bool(answer == wanted)
    try:
        left, right = _numbers(answer), _numbers(wanted)
    except (TypeError, ValueError):
        return bool(answer == wanted)
    if left.size == right.size == 1:
        left, right = left.reshape(()), right.reshape(())
    return left.shape == right.shape and bool(np.allclose(left, right, tolerance, tolerance, equal_nan=True))


def score(file: str | os.PathLike[str] | None = None) -> Score:
    """Print how many of the checked exercises are solved, and the state of each.

    :param file: where to write the score, to hand it in: ``"score.json"``. A notebook shows a link to download it,
        also where Python runs in the browser.
    :returns: ``solved`` and ``of``, numbers of exercises; ``points`` and ``most``; ``exercises``, the state of each.
    :raises OSError: the file cannot be written.

    >>> @exercise(1, 4)
    ... def check(answer): ...
    Exercise 1: right
    >>> @exercise(2, ...)
    ... def check(answer): ...
    Exercise 2: not tried yet. Put your answer in place of the dots and run both cells again.
    >>> found = score()
    1 of 2 exercises solved.
      1  right
      2  not tried yet
    >>> found
    {'solved': 1, 'of': 2, 'points': 1, 'most': 2, 'exercises': {1: 'right', 2: 'untried'}}
    """
    states = {number: state for number, (state, _) in sorted(_results.items())}
    solved = sum(state == "right" for state in states.values())
    reached = sum(points for state, points in _results.values() if state == "right")
    most = sum(points for _, points in _results.values())
    print(say("exercise_score", solved=solved, n=len(states)))
    if most != len(states):
        print(say("exercise_points", points=f"{reached:g}", of=f"{most:g}", n=most))
    for number, state in states.items():
        print(f"  {number}  {say('exercise_is_' + state)}")
    found = Score(solved=solved, of=len(states), points=reached, most=most, exercises=states)
    if file is not None:
        _hand_in(Path(file), {"nbautograd": "score", "notebook": ", ".join(sorted(_books)), **found})
    return found


def _hand_in(path: Path, found: dict[str, Any]) -> None:
    """Write a score to a file, and show where it is, with a link to download it in a notebook."""
    text = json.dumps({**found, "states": {number: list(each) for number, each in sorted(_results.items())}}, indent=1)
    with replacing(path) as file:
        file.write(f"{text}\n".encode())
    print(say("exercise_file", name=path.name))
    if hasattr(builtins, "display") or "IPython" in sys.modules:
        from nbautograd.viz.notebook.in_place import shows

        if show := shows():
            show(Link(path.name, text))


class Link:
    """A link that downloads a text as a file.

    :param name: the name of the file.
    :param text: its content.

    >>> Link("a.json", "{}")._repr_html_()
    '<a download="a.json" href="data:application/json;base64,e30=">a.json</a>'
    """

    def __init__(self, name: str, text: str) -> None:
        self.name, self.text = name, text

    def __repr__(self) -> str:
        return self.name

    def _repr_html_(self) -> str:
        data = base64.b64encode(self.text.encode()).decode("ascii")
        return f'<a download="{escape(self.name)}" href="data:application/json;base64,{data}">{escape(self.name)}</a>'


def _tell(lines: list[str], solved: bool) -> None:
    """Print what a check says; raise AssertionError for an unsolved exercise that is graded: graders look for it."""
    print("\n".join(lines))
    if not solved and os.environ.get("NBAUTOGRAD_GRADING"):
        raise AssertionError("\n".join(lines))


def _faults(check: Check, answers: tuple[Any, ...]) -> list[str]:
    """Return the errors found by a check."""
    if any(answer is None for answer in answers):
        return [say("exercise_none")]
    try:
        faults = check(*answers)
        if faults is None:
            return []
        return [faults] if isinstance(faults, str) else list(faults)
    except Exception as error:
        own = [each for each in traceback.walk_tb(error.__traceback__) if is_users(each[0])]
        if own and _is_of(check, own[-1][0].f_code):
            return [_unusable(error)]
        line = traceback.StackSummary.extract(iter(own[-1:]))[0].line if own else ""
        return [say("exercise_raised", kind=type(error).__name__, text=str(error).split("\n")[0], line=line)]


def _is_of(check: Check, code: CodeType) -> bool:
    """Return whether code is the check's own, or is written inside of it."""
    name = check.__qualname__
    return code.co_filename == check.__code__.co_filename and f"{code.co_qualname}.".startswith(f"{name}.")


def _unusable(error: Exception) -> str:
    """Return why a check cannot use an answer."""
    value = getattr(error, "obj", ...)
    if value is None or "NoneType" in str(error):
        return say("exercise_none")
    if isinstance(error, AttributeError) and hasattr(Tensor, error.name or "") and not isinstance(value, Tensor):
        return say("exercise_no_tensor", kind=type(value).__name__, value=repr(value)[:60])
    return say("exercise_unusable", kind=type(error).__name__, text=str(error).split("\n")[0])


def _read(answer: Any) -> Any:
    """Return the numbers that a text says; any other answer as it is."""
    if not isinstance(answer, str):
        return answer
    try:
        read = [float(Fraction(part.strip())) for part in answer.strip().strip("()[]").rstrip(",").split(",")]
    except (ValueError, ZeroDivisionError):
        return answer
    return read[0] if len(read) == 1 else read


def _numbers(value: Any) -> np.ndarray:
    if isinstance(value, Tensor):
        return value.detach().cpu().numpy()
    if isinstance(value, list | tuple):
        parts = [_numbers(part) for part in value]
        if all(isinstance(part, Tensor) and part.numel() == 1 for part in value):
            parts = [part.reshape(()) for part in parts]  # [tensor([103.]), tensor([102.])] are two numbers
        return np.stack(parts) if parts else np.empty(0)
    array = np.asarray(value)
    if array.dtype.kind not in "biufc":
        raise TypeError(f"no numbers: {value!r}")
    return array


def _has_dots(answer: Any) -> bool:
    """Return whether an answer still contains the dots of a skeleton."""
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
    """Yield the nodes of a program outside square brackets: the dots of ``x[..., 0]`` are not a skeleton's."""
    for child in ast.iter_child_nodes(tree):
        if not (isinstance(tree, ast.Subscript) and child is tree.slice):
            yield child
            yield from _outside_of_indices(child)
