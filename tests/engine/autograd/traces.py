"""Observe a random program after each of its steps, and compare the observations with PyTorch's."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import nbautograd
from tests import oracle
from tests.oracle.answers import plain

__all__ = ["Changes", "DisagreementError", "EndOfProgramError", "Step", "drawn_program_agrees", "programs_agree"]

Step = list[Any]
"""The step, its error, the facts about tensors (texts; None ends it), and lists of numbers that have changed."""

IsOver = Callable[[Step, Step], bool]


class DisagreementError(AssertionError):
    """The results of the two libraries differ."""


class EndOfProgramError(Exception):
    """Nothing can be compared from here on."""


class Changes:
    """The state of tensors at the last look."""

    def __init__(self) -> None:
        self.known: dict[int, Any] = {}

    def of(self, tensors: Iterable[tuple[int, Any]]) -> list[list[Any]]:
        """The changed numbers of tensors; each has a number, and may be None or a text."""
        found = []
        for number, t in tensors:
            values = t if t is None or isinstance(t, str) else np.array(t.data.numpy())
            if not alike(self.known.get(number, "nothing"), values):
                self.known[number] = values
                found.append([number, values if values is t else t.data.clone()])
        return found


def alike(before: Any, now: Any) -> bool:
    """Return whether two arrays, texts or Nones are equal; most are to the last bit, which is seen fast."""
    if not isinstance(before, np.ndarray) or not isinstance(now, np.ndarray):
        return type(before) is type(now) and bool(before == now)
    is_one = before.shape == now.shape and before.dtype == now.dtype and before.tobytes() == now.tobytes()
    return is_one or np.array_equal(before, now, equal_nan=True)


def programs_agree(trace: Callable[[Any, int], list[Step]], is_over: IsOver, seeds: Iterable[int]) -> int:
    """Compare the programs of some seeds with PyTorch's; return the number of compared steps.

    :param trace: what is seen of a program, of a library and a seed, before the first step and after each.
    :param is_over: returns True for two steps after which nothing can be compared; raises DisagreementError.
    """

    def seen(T: Any, part: Callable[[list[Step]], Any]) -> Any:
        return [part(trace(T, seed)) for seed in seeds]

    numbers = oracle.answer(lambda T: seen(T, numbers_of))
    texts = oracle.answer(lambda T: seen(T, texts_of), exact=True)
    return sum(compare(trace(nbautograd, seed), joined(*theirs), is_over)
               for seed, *theirs in zip(seeds, numbers, texts, strict=True))  # fmt: skip


def drawn_program_agrees(trace: Callable[[Any, Any], list[Step]], is_over: IsOver, data: Any) -> None:
    """Compare a program that hypothesis draws, so that it finds the shortest one that fails, with PyTorch itself.

    :param trace: the same of a library and of a function that picks one of the items of a list.
    """
    torch = oracle.live()
    places: list[int] = []

    def draw(options: Any) -> Any:
        places.append(data.draw(st.integers(0, len(options) - 1)))
        return options[places[-1]]

    def under(T: Any) -> list[Step]:
        again = iter(places)
        return trace(T, lambda options: options[min(next(again, 0), len(options) - 1)])

    ours, theirs = trace(nbautograd, draw), under(torch)
    try:
        compare(ours, joined(plain(numbers_of(theirs), one_unit), texts_of(theirs)), is_over)
    except DisagreementError:  # to measure what rounding may do takes ten times as long
        compare(ours, joined(oracle.ask(lambda T: numbers_of(under(T))), texts_of(theirs)), is_over)


def one_unit(t: Any) -> float | None:
    """Return the least bound that measuring could give the numbers of a tensor of PyTorch's."""
    values = t.detach().numpy()
    return float(np.finfo(values.dtype).eps * np.abs(np.nan_to_num(values, nan=0, posinf=0, neginf=0)).max(initial=0))


def compare(ours: list[Step], theirs: list[Step], is_over: IsOver) -> int:
    """Compare the steps of a program with PyTorch's; return the number of compared ones."""
    latest: dict[tuple[int, int], Any] = {}
    expected: dict[tuple[int, int], Any] = {}
    log: list[str] = []
    for count, (our_step, their_step) in enumerate(zip(ours, theirs, strict=False)):
        log.append(our_step[0])
        try:
            if is_over(our_step, their_step):
                return count
            if None in (our_step[2], their_step[2]):
                return count
            if our_step[0] != their_step[0]:
                raise DisagreementError(f"PyTorch's step is {their_step[0]}")
            if our_step[2] != their_step[2]:
                raise DisagreementError(f"{our_step[2]}, PyTorch's {their_step[2]}")
            for step, known in ((our_step, latest), (their_step, expected)):
                known.update({(kind, number): t for kind in range(3, len(step)) for number, t in step[kind]})
            for kind in range(3, len(our_step)):
                for number in {number for number, _ in (*our_step[kind], *their_step[kind])}:
                    same(latest.get((kind, number), "nothing"), expected.get((kind, number), "nothing"))
        except (DisagreementError, pytest.fail.Exception) as error:
            raise DisagreementError(f"{error}\n" + "\n".join(log)) from None
    return min(len(ours), len(theirs))


def numbers_of(steps: list[Step]) -> list[Step]:
    """The steps without the attributes of tensors: while PyTorch's numbers are measured, it counts versions
    differently.
    """
    return [[*step[:2], step[2] and "", *step[3:]] for step in steps]


def texts_of(steps: list[Step]) -> list[Step]:
    """The steps without numbers."""
    return [step[:3] for step in steps]


def joined(numbers: list[Step], texts: list[Step]) -> list[Step]:
    """Whole steps; up to where PyTorch, while it is measured, does something else."""
    found = []
    for step, text in zip(numbers, texts, strict=False):
        if step[:2] != text[:2]:
            break
        found.append([*text[:2], None if step[2] is None else text[2], *step[3:]])
    return found


def same(ours: Any, theirs: Any) -> None:
    if ours is None or isinstance(ours, str) or theirs is None or isinstance(theirs, str):
        if ours is not theirs and ours != theirs:
            raise DisagreementError(f"{ours}, PyTorch's {theirs}")
    else:
        oracle.close(ours, theirs)
