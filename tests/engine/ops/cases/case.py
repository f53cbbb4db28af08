"""A case: a call that works with nbautograd and with PyTorch alike."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """A call with the shapes of its differentiable inputs."""

    name: str
    call: Callable[..., Any]  # (library, *tensors)
    shapes: tuple[tuple[int, ...], ...]
    low: float = -2.0
    high: float = 2.0
    oracle: bool = True  # False if PyTorch cannot be asked: it lacks some of our derivatives
    second: bool = True  # True if it has a second derivative
    seed: int = field(default=0)

    def arrays(self) -> list[np.ndarray]:
        """Return distinct inputs, away from 0 and from each other's negatives, so that none is near a kink or a tie."""
        values = _drawn(self.low, self.high, self.seed, sum(map(math.prod, self.shapes))).copy()
        found, start = [], 0
        for shape in self.shapes:
            n = math.prod(shape)
            found.append(values[start : start + n].reshape(shape))
            start += n
        return found

    def __str__(self) -> str:
        return self.name


@functools.cache
def _drawn(low: float, high: float, seed: int, total: int) -> np.ndarray[Any, Any]:
    """Return the numbers of all inputs of a case, which many tests ask for."""
    grid = np.linspace(low, high, total + 2)[1:-1] + 0.37 * (high - low) / (total + 2)
    return np.random.default_rng(seed).permutation(grid)


def case(name: str, call: Callable[..., Any], *shapes: tuple[int, ...], **options: Any) -> Case:
    return Case(name, call, shapes, **options)


def unary(name: str, low: float = -2.0, high: float = 2.0, **options: Any) -> Case:
    return case(name, lambda T, x: getattr(T, name)(x), (2, 3), low=low, high=high, **options)
