"""Random numbers by rejection: distributions whose samples consume a varying number of uniform numbers.

Each function takes a function that returns the next uniform number in [0, 1), and draws one sample after the other, by
W. Hörmann's transformed rejection (1993). :class:`Numbers` is also for the gamma distribution, in ``gamma.py``.
Constants of a sample are computed again only if its parameters differ from those of the sample before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from operator import length_hint
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Uniform = Callable[[], float]
_MIN_DRAWN = 256  # numbers that are drawn ahead
_CONTINUED = tuple(  # corrections to Stirling's formula for ln k!, k below 10
    math.lgamma(k + 1) - ((k + 0.5) * math.log(k + 1) - (k + 1) + 0.5 * math.log(2 * math.pi)) for k in range(10)
)


def poisson(rates: Iterable[float], uniform: Uniform) -> list[float]:
    """Return a sample of the Poisson distribution for each rate."""
    counts, previous = [], math.nan
    draw: Callable[[], float] = float
    for rate in rates:
        if rate != previous:
            previous, draw = rate, _poisson(rate, uniform)
        counts.append(draw())
    return counts


def _poisson(rate: float, uniform: Uniform) -> Callable[[], float]:
    """Return a function that draws a sample with this rate."""
    if rate == 0:
        return float
    if rate < 10:
        end = math.exp(-rate)

        def by_products() -> float:
            product, count = uniform(), 0
            while product > end:
                product *= uniform()
                count += 1
            return float(count)

        return by_products
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2)
    log_inverse_alpha, log_rate = math.log(inverse_alpha), math.log(rate)

    def by_rejection() -> float:
        while True:
            u, v = uniform() - 0.5, uniform()
            us = 0.5 - abs(u)
            k = math.floor((2 * a / us + b) * u + rate + 0.43)
            if us >= 0.07 and v <= v_r:
                return float(k)
            if k < 0 or us < 0.013 and v > us:
                continue
            accepted = math.log(v) + log_inverse_alpha - math.log(a / (us * us) + b)
            if accepted <= -rate + k * log_rate - math.lgamma(k + 1):
                return float(k)

    return by_rejection


def binomial(counts: Iterable[float], chances: Iterable[float], uniform: Uniform) -> list[float]:
    """Return a sample of the binomial distribution for each number of trials and its chance."""
    successes, previous = [], (math.nan, math.nan)
    draw: Callable[[], float] = float
    for pair in zip(counts, chances, strict=True):
        if pair != previous:
            previous, draw = pair, _binomial(*pair, uniform)
        successes.append(draw())
    return successes


def _binomial(count: float, chance: float, uniform: Uniform) -> Callable[[], float]:
    """Return a function that draws a sample of ``count`` trials."""
    if count <= 0 or chance <= 0:
        return float
    if chance >= 1:
        return lambda: count
    if math.isnan(chance) or math.isnan(count):
        return lambda: math.nan
    rarer = chance if chance <= 0.5 else 1 - chance
    draw = (_binomial_by_rejection if count * rarer >= 10 else _binomial_by_gaps)(count, rarer, uniform)
    return draw if chance <= 0.5 else lambda: count - draw()


def _binomial_by_gaps(count: float, chance: float, uniform: Uniform) -> Callable[[], float]:
    log_failure = math.log1p(-chance)

    def draw() -> float:
        trials, successes = 0.0, 0
        while True:
            u = uniform()
            trials += math.ceil(math.log(u) / log_failure) if u else math.inf
            if trials > count:
                return float(successes)
            successes += 1

    return draw


def _binomial_by_rejection(count: float, chance: float, uniform: Uniform) -> Callable[[], float]:
    deviation = math.sqrt(count * chance * (1 - chance))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * chance
    c = count * chance + 0.5
    v_r = 0.92 - 4.2 / b
    odds = chance / (1 - chance)
    alpha = (2.83 + 5.1 / b) * deviation
    mode = math.floor((count + 1) * chance)
    at_mode = (mode + 0.5) * math.log((mode + 1) / (odds * (count - mode + 1)))
    rest_below, rest_above = _stirling_rest(mode), _stirling_rest(count - mode)

    def draw() -> float:
        while True:
            u, v = uniform() - 0.5, uniform()
            us = 0.5 - abs(u)
            k = math.floor((2 * a / us + b) * u + c)
            if us >= 0.07 and v <= v_r:
                return float(k)
            if k < 0 or k > count:
                continue
            bound = (
                at_mode + (count + 1) * math.log((count - mode + 1) / (count - k + 1))
                + (k + 0.5) * math.log(odds * (count - k + 1) / (k + 1))
                + rest_below + rest_above - _stirling_rest(k) - _stirling_rest(count - k)
            )  # fmt: skip
            if math.log(v * alpha / (a / (us * us) + b)) <= bound:
                return float(k)

    return draw


def _stirling_rest(k: float) -> float:
    """Return the error term of Stirling's formula for ln k!"""
    if k <= 9:
        return _CONTINUED[int(k)]
    square = (k + 1) ** 2
    return (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)


class Numbers:
    """The next uniform numbers of 53 bits of a generator, which are drawn ahead, as that is faster.

    ``one()`` returns the next of them, and :meth:`ahead` many, of which :meth:`use` takes some. At the end of a
    ``with`` block the generator is reset to the last number that was used.

    :param certain: whether all numbers that are asked for will be used, so that none are drawn beside them.
    """

    def __init__(self, generator: Any, certain: bool = False) -> None:
        self._generator = generator
        self._certain = certain
        self._numbers: Array = np.empty(0)  # those from the first that is not used, and before it some that are
        self._used = 0  # of these
        self._list: Iterator[float] = iter(())  # what is left of the part that ``one`` takes its numbers from
        self._count = 0  # of all numbers drawn
        self._marks: list[tuple[int, Any]] = []  # how many were drawn before, and the state, of each draw that matters
        self.one = chain.from_iterable(self._lists()).__next__

    def _lists(self) -> Iterator[Iterator[float]]:
        while True:
            part = self.ahead(1)[:_MIN_DRAWN]
            self.use(len(part))
            self._list = iter(part.tolist())
            yield self._list

    def ahead(self, count: int) -> Array:
        """Return the numbers that come next, ``count`` of them at least."""
        if left := length_hint(self._list):
            self._used -= left
            self._list = iter(())
            self.one = chain.from_iterable(self._lists()).__next__
        rest = self._numbers[self._used :]
        if len(rest) < count:
            wanted = count - len(rest)
            if not self._certain:
                first = self._count - len(rest)
                while len(self._marks) > 1 and self._marks[1][0] <= first:
                    del self._marks[0]
                self._marks.append((self._count, self._generator._mt().get_state()))
                wanted = max(wanted, min(max(self._count, _MIN_DRAWN), 8192))
            fresh = self._generator._unit_double(wanted) if wanted > 4 else self._singly(wanted)
            self._count += len(fresh)
            self._numbers, self._used = np.concatenate([rest, fresh]) if len(rest) else fresh, 0
            rest = self._numbers
        return rest

    def _singly(self, count: int) -> Array:
        """Return so many numbers, few, without NumPy's calls for many."""
        word = self._generator._mt()._bit_generator.random_raw
        return np.array([((word() & 2**21 - 1) << 32 | word()) * 2.0**-53 for _ in range(count)])

    def use(self, count: int) -> None:
        """Take so many of the numbers ahead."""
        self._used += count

    def __enter__(self) -> Numbers:
        return self

    def __exit__(self, *raised: object) -> None:
        unused = len(self._numbers) - self._used + length_hint(self._list)
        if unused and not self._certain:
            used = self._count - unused
            before, state = next(mark for mark in reversed(self._marks) if mark[0] <= used)
            self._generator._mt().set_state(state)
            self._generator.words(2 * (used - before))
