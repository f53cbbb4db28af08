"""Arbitrary shapes, numbers and layouts: drawn from NumPy's first generator, whose numbers never change."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import nbautograd as nb
from nbautograd._engine.core.tensor import wrap

__all__ = ["LAYOUTS", "Draws", "laid_out"]

VALUES = [-2.0, -1.0, -0.5, 0.0, 0.25, 0.5, 1.0, 1.5, 3.0]
LAYOUTS = ["plain", "transposed", "every other", "expanded", "reversed"]


class Draws:
    """Draws from a seed."""

    def __init__(self, seed: int) -> None:
        self.numbers = np.random.RandomState(seed)

    @classmethod
    def many(cls, count: int) -> Iterator[Draws]:
        """The number of examples of a test."""
        return map(cls, range(count))

    def integer(self, low: int, high: int) -> int:
        """One of the integers from low to high, both included."""
        return int(self.numbers.randint(low, high + 1))

    def choice(self, options: Sequence[Any]) -> Any:
        return options[self.integer(0, len(options) - 1)]

    def shape(self, least: int = 0, most: int = 3, side: int = 3, smallest: int = 0) -> tuple[int, ...]:
        """The number of dimensions, and of elements of each."""
        return tuple(self.integer(smallest, side) for _ in range(self.integer(least, most)))

    def broadcast(self, count: int) -> list[tuple[int, ...]]:
        """Return shapes that broadcast with each other."""
        whole = self.shape()
        shapes = []
        for _ in range(count):
            part = whole[self.integer(0, len(whole)) if self.integer(0, 2) == 0 else 0 :]
            shapes.append(tuple(1 if self.integer(0, 3) == 0 else n for n in part))
        return shapes

    def array(self, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
        """Numbers of few digits, among which there are equal ones."""
        return np.array([self.choice(VALUES) for _ in range(math.prod(shape))]).reshape(shape)


def laid_out(T: Any, array: np.ndarray[Any, Any], layout: str) -> tuple[Any, Any]:
    """A leaf, and a tensor of the values of an array with its own memory layout."""
    if layout == "transposed" and array.ndim >= 2:
        leaf = T.tensor(array.swapaxes(0, -1).copy(), requires_grad=True)
        return leaf, leaf.transpose(0, -1)
    if layout == "every other" and array.ndim:
        leaf = T.tensor(np.repeat(array, 2, axis=0), requires_grad=True)
        return leaf, leaf[::2]
    if layout == "expanded":
        leaf = T.tensor(array, requires_grad=True)
        return leaf, leaf.expand(2, *array.shape)[1]
    if layout == "reversed" and array.ndim and T is nb:
        leaf = wrap(array[::-1].copy()[::-1]).requires_grad_()  # strides that PyTorch does not have
        return leaf, leaf
    leaf = T.tensor(array, requires_grad=True)
    return leaf, leaf
