"""Draw the questions of :mod:`nbautograd.viz.notebook.practice`: small random programs, and their results.

A question depends on its seed, level and number only: the same everywhere. Its answer is never written down. The
program runs, and ``.grad``, ``is_leaf`` or the line of the exception is read afterwards.
"""

from __future__ import annotations

import linecache
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from random import Random
from traceback import walk_tb
from typing import Any, TypeVar

from nbautograd.viz.notebook.practice_programs import PROGRAMS
from nbautograd.viz.read.values import is_tensor

__all__ = ["KINDS", "LEVELS", "Question", "Ran", "library", "question", "run"]

T = TypeVar("T")
KINDS = ("gradient", "leaf", "passes", "fails")
"""The kinds of questions, which take turns."""
LEVELS = (1, 2, 3, 4)
PACKAGE = __name__.partition(".")[0]
MAX_NUMBER = 60.0  # in a program and its answer
STEPS_PER_UNIT = 4  # numbers are multiples of 1 / STEPS_PER_UNIT
MAX_ATTEMPTS = 500
STARTS = (-3, -2, -1, 1, 2, 3, 4)
UNARY = ("{u} * {k}", "{u} + {k}", "{u} - {k}", "{k} - {u}", "{u} ** 2", "-{u}")
SCALED = ("{u} * {k}", "{u} ** 2")
BINARY = ("{u} * {v}", "{u} + {v}", "{u} - {v}")


@dataclass(frozen=True)
class Ran:
    """The state after a program: its variables, and the line that raised, 0 if none did."""

    names: dict[str, Any]
    line: int = 0
    error: Exception | None = None

    def tensors(self) -> dict[str, Any]:
        """Return the tensors by name, in the order in which they were made."""
        return {name: value for name, value in self.names.items() if name != "torch" and is_tensor(value)}


@dataclass(frozen=True)
class Question:
    """A program, what is asked about it, and the answer that running it has given.

    :param asked: the name of the tensor whose ``.grad`` is asked for.
    :param wrong: answers that readers give by mistake, by the mistake.
    """

    kind: str
    level: int
    seed: int
    number: int
    lines: tuple[str, ...]
    asked: str
    answer: Any
    wrong: Mapping[str, Any] = field(default_factory=dict)

    @property
    def file(self) -> str:
        """Return the name of the program in pictures."""
        return f"<practice {self.seed}.{self.level}.{self.number}>"

    def forward(self) -> list[str]:
        """Return the lines before the first pass."""
        first = (n for n, line in enumerate(self.lines) if ".backward(" in line)
        return list(self.lines[: next(first, len(self.lines))])


class Draw:
    """Choices that depend on a seed only: Python promises that ``random()`` stays as it is."""

    def __init__(self, seed: str) -> None:
        self._random = Random(seed).random

    def one(self, options: tuple[T, ...]) -> T:
        """Return one of the options."""
        return options[int(self._random() * len(options))]

    def chance(self, share: float) -> bool:
        """Return True in this share of all cases."""
        return self._random() < share


def question(seed: int, level: int, number: int) -> Question:
    """Return a question.

    >>> drawn = question(seed=0, level=1, number=0)
    >>> drawn == question(seed=0, level=1, number=0), drawn.kind in KINDS
    (True, True)
    """
    kind = KINDS[(seed + number) % len(KINDS)]
    draw = Draw(f"{seed}/{level}/{number}")
    for _ in range(MAX_ATTEMPTS):
        lines, asked = WRITERS[kind](draw, level)
        drawn = _answered(kind, tuple(lines), asked, (level, seed, number))
        if drawn is not None:
            return drawn
    raise AssertionError(f"no question of kind {kind} in {MAX_ATTEMPTS} attempts: {seed}/{level}/{number}")


def run(lines: list[str] | tuple[str, ...], file: str = "<practice>", names: dict[str, Any] | None = None) -> Ran:
    """Run a program; an exception of one of its lines is part of the answer.

    :param names: the program's variables; by default ``torch`` alone, which is this library.
    """
    text = "\n".join(lines) + "\n"
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    names = library() if names is None else names
    code = compile(text, file, "exec")
    line, raised = 0, None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(code, names)
    except Exception as error:
        raised = error
        for frame, number in walk_tb(error.__traceback__):
            line = number if frame.f_code is code else line
    del names["__builtins__"]
    return Ran(names, line, raised)


def library() -> dict[str, Any]:
    """Return the variables with which a program begins."""
    return {"torch": import_module(PACKAGE)}


def _answered(kind: str, lines: tuple[str, ...], asked: str, place: tuple[int, int, int]) -> Question | None:
    """Return the question with the answer of its program; None for a program that is not fit."""
    ran = run(lines)
    level, seed, number = place
    if kind == "fails":
        return Question(kind, level, seed, number, lines, "", ran.line)
    tensors = ran.tensors()
    grads = {name: tensor.grad for name, tensor in tensors.items() if tensor.is_leaf}
    if ran.error is not None or not all(map(_fits, map(_numbers, (*tensors.values(), *grads.values())))):
        return None
    if kind == "leaf":
        return None if len(grads) == len(tensors) else Question(kind, level, seed, number, lines, "", tuple(grads))
    answer = _numbers(grads.get(asked))
    if level < 3 and not answer:
        return None
    wrong = {"value": _numbers(tensors[asked]), **_wrong_of(kind, lines, asked, answer)}
    return Question(kind, level, seed, number, lines, asked, answer, {k: v for k, v in wrong.items() if v != answer})


def _wrong_of(kind: str, lines: tuple[str, ...], asked: str, answer: Any) -> dict[str, Any]:
    """Return the answers of whoever forgets a pass, that ``.grad`` was emptied between two, or the sign."""
    sign = {"sign": -answer} if isinstance(answer, float) else {}
    if kind != "passes":
        return sign
    first = next(n for n, line in enumerate(lines) if ".backward(" in line)
    before = _numbers(run(lines[: first + 1]).names[asked].grad)
    if not sign or not isinstance(before, float):
        return {"first": before, **sign}
    emptied = any(line.startswith(f"{asked}.grad") for line in lines)
    return {"first": before, "kept" if emptied else "last": answer + before if emptied else answer - before, **sign}


def _numbers(tensor: Any) -> Any:
    """Return a tensor's numbers, as Python's; of None, None."""
    return None if tensor is None else tensor.detach().tolist()


def _fits(numbers: Any) -> bool:
    """Return whether numbers are small, and exact in every precision."""
    each = numbers if isinstance(numbers, list) else [] if numbers is None else [numbers]
    return all(abs(n) <= MAX_NUMBER and n * STEPS_PER_UNIT == round(n * STEPS_PER_UNIT) for n in each)


# -- programs --------------------------------------------------------------------------


def _leaf(draw: Draw, name: str, grad: bool = True, vector: bool = False) -> str:
    """Return the line that makes a leaf."""
    values = f"[{draw.one(STARTS)}., {draw.one(STARTS)}.]" if vector else f"{draw.one(STARTS)}."
    return f"{name} = torch.tensor({values}{', requires_grad=True' if grad else ''})"


def _unary(draw: Draw, u: str) -> str:
    return draw.one(UNARY).format(u=u, k=draw.one((2, 3, 4, 5)))


def _binary(draw: Draw, u: str, v: str) -> str:
    return draw.one(BINARY).format(u=u, v=v) if draw.chance(0.5) else draw.one(BINARY[:1]).format(u=u, v=v)


def _cut(draw: Draw, name: str, of: str) -> list[str]:
    """Return lines after which a name holds a tensor that may be cut off the graph."""
    block = [f"with torch.no_grad():\n    {name} = {_unary(draw, of)}"]
    return draw.one(([f"{name} = {of}.detach()"], block, [f"{name} = torch.relu({of})"], [f"{name} = {of} ** 2"]))


def _body(draw: Draw, level: int) -> tuple[list[str], tuple[str, ...]]:
    """Return lines that compute ``y``, and the names whose gradients may be asked for."""
    if level == 1:
        constant = draw.chance(0.5)
        lines = [_leaf(draw, "w"), *([_leaf(draw, "x", grad=False)] if constant else [])]
        first = "a = w * x" if constant else f"a = {draw.one(SCALED).format(u='w', k=draw.one((2, 3, 4)))}"
        return [*lines, first, f"y = {_unary(draw, 'a')}"], ("w",)
    lines = [_leaf(draw, "w", vector=level == 4), _leaf(draw, "x", grad=level != 3 or draw.chance(0.7))]
    a = f"a = {_binary(draw, 'w', 'x')}"
    if level == 2:
        return [*lines, a, f"b = {_unary(draw, 'w')}", f"y = {_binary(draw, 'a', 'b')}"], ("w", "x")
    lines += [a, *_cut(draw, "b", draw.one(("a", "a", "w"))), f"c = {_binary(draw, 'b', draw.one(('w', 'x')))}"]
    result = _binary(draw, "a", "c")
    if level == 4 and draw.chance(0.6):
        result = f"({result}).{draw.one(('sum', 'mean'))}()"
    return [*lines, f"y = {result}"], ("w", "w", "w", "x", "x", "a")


def _pass(draw: Draw, lines: list[str], options: str = "") -> str:
    """Return the line of a pass from ``y``."""
    vector = "torch.tensor([" in lines[0] and not lines[-1].endswith(("sum()", "mean()"))
    weights = draw.one(("torch.tensor([1., 10.])", "torch.tensor([1., 0.])", "torch.ones(2)")) if vector else ""
    return f"y.backward({', '.join(filter(None, (weights, options)))})"


def _gradient(draw: Draw, level: int) -> tuple[list[str], str]:
    lines, names = _body(draw, level)
    return [*lines, _pass(draw, lines)], draw.one(names)


def _passes(draw: Draw, level: int) -> tuple[list[str], str]:
    if level == 2:
        lines, names = _body(draw, level)
        return [*lines, _pass(draw, lines, "retain_graph=True"), "y.backward()"], draw.one(names)
    if level == 1:
        lines = [_leaf(draw, "w")]
        return [*lines, f"y = {_unary(draw, 'w')}", "y.backward()", f"y = {_unary(draw, 'w')}", "y.backward()"], "w"
    lines = [_leaf(draw, "w", vector=level == 4), _leaf(draw, "x")]
    first, second = (f"y = {_binary(draw, 'w', 'x')}" for _ in range(2))
    if level == 4:
        first, second = (f"y = ({line[4:]}).sum()" for line in (first, second))
    emptied = draw.one(("w.grad = None", "x.grad = None", "w.grad.zero_()", "x.grad.zero_()"))
    between = [emptied] if draw.chance(0.6) else []
    if level == 4:
        between.insert(0, f"with torch.no_grad():\n    w -= {draw.one(('0.5 * ', '', '2 * '))}w.grad")
    return [*lines, first, "y.backward()", *between, second, "y.backward()"], draw.one(("w", "x"))


LEAVES = (
    ("{u} * {v}", "{u} + {k}", "x * {k}"),
    ("{u} * {v}", "{u}.detach()", "x + {k}", "{u} ** 2"),
    ("{u} * {v}", "{u}.detach() * {k}", "{u}.clone()", "torch.zeros_like({u})", "(x + {k}).requires_grad_()"),
    ("{u} * {v}", "torch.nn.Parameter({u}.detach())", "{u}.view(1)", "{u}.data", "{u}.detach().requires_grad_()",
     "torch.ones(1) * {u}", "{u}.clone().detach()"),
)  # fmt: skip
"""Expressions of each level that give a leaf, or none."""


def _leaves(draw: Draw, level: int) -> tuple[list[str], str]:
    lines, names = [_leaf(draw, "w"), _leaf(draw, "x", grad=False)], ["w", "x"]
    for name in ("a", "b", "c", "d")[: 2 + level // 2]:
        parts = {"u": draw.one(tuple(names)), "v": draw.one(tuple(names)), "k": draw.one((2, 3, 4))}
        expression = draw.one(LEAVES[level - 1]).format(**parts)
        block = level > 2 and draw.chance(0.2)
        lines.append(f"with torch.no_grad():\n    {name} = {expression}" if block else f"{name} = {expression}")
        names.append(name)
    return lines, ""


def _fails(draw: Draw, level: int) -> tuple[list[str], str]:
    text = draw.one(PROGRAMS[level - 1])
    for sign in "km":
        text = text.replace(f"{{{sign}}}", str(draw.one((2, 3, 4, 5))))
    lines = text.strip("\n").split("\n")
    if draw.chance(0.5):
        last = max(n for n, line in enumerate(lines) if line.startswith(("w = ", "x = ")) and n < 2)
        lines.insert(last + 1, f"b = torch.tensor({draw.one(STARTS)}.) * {draw.one((2, 3, 4))}")
    return lines, ""


Writer = Callable[[Draw, int], tuple[list[str], str]]
WRITERS: dict[str, Writer] = {"gradient": _gradient, "leaf": _leaves, "passes": _passes, "fails": _fails}
