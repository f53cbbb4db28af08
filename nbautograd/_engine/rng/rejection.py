"""Random numbers by rejection: distributions whose samples consume a varying number of uniform numbers.

Each function takes a function that returns the next uniform number in [0, 1), and draws one sample after the other,
except that :func:`gamma` makes many at once where it can tell which uniform numbers they take. The sources are
W. Hörmann's transformed rejection (1993) and, for the gamma distribution, G. Marsaglia and W. W. Tsang (2000).
Constants of a sample are computed again only if its parameters differ from those of the sample before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, repeat
from operator import length_hint
from typing import Any

import numpy as np

__all__ = ["Numbers", "binomial", "gamma", "poisson"]

Array = np.ndarray[Any, Any]
Uniform = Callable[[], float]
_SQUEEZE = float(np.float32(0.0331))  # PyTorch's constants of the gamma distribution have the precision of float32
_MANY = 256  # numbers that are drawn ahead at least
_FEW = 128  # samples from which on they are made at once
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
                at_mode
                + (count + 1) * math.log((count - mode + 1) / (count - k + 1))
                + (k + 0.5) * math.log(odds * (count - k + 1) / (k + 1))
                + rest_below
                + rest_above
                - _stirling_rest(k)
                - _stirling_rest(count - k)
            )
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
    """

    def __init__(self, generator: Any) -> None:
        self._generator = generator
        self._numbers: Array = np.empty(0)  # those from the first that is not used, and before it some that are
        self._used = 0  # of these
        self._list: Iterator[float] = iter(())  # what is left of the part that ``one`` takes its numbers from
        self._count = 0  # of all numbers drawn
        self._marks: list[tuple[int, Any]] = []  # how many were drawn before, and the state, of each draw that matters
        self.one = chain.from_iterable(self._lists()).__next__

    def _lists(self) -> Iterator[Iterator[float]]:
        while True:
            part = self.ahead(1)[:_MANY]
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
            first = self._count - len(rest)
            while len(self._marks) > 1 and self._marks[1][0] <= first:
                del self._marks[0]
            self._marks.append((self._count, self._generator._mt().get_state()))
            fresh = self._generator._unit_double(max(count - len(rest), min(max(self._count, _MANY), 8192)))
            self._count += len(fresh)
            self._numbers, self._used = np.concatenate([rest, fresh]) if len(rest) else fresh, 0
            rest = self._numbers
        return rest

    def use(self, count: int) -> None:
        """Take so many of the numbers ahead."""
        self._used += count

    def __enter__(self) -> Numbers:
        return self

    def __exit__(self, *raised: object) -> None:
        if unused := len(self._numbers) - self._used + length_hint(self._list):
            used = self._count - unused
            before, state = next(mark for mark in reversed(self._marks) if mark[0] <= used)
            self._generator._mt().set_state(state)
            self._generator.words(2 * (used - before))


def gamma(alphas: Array, numbers: Numbers, kept: float | None) -> tuple[Array, float | None]:
    """Return a number of the gamma distribution for each of ``alphas``, a floating array of one dimension.

    Terms of the alphas alone keep their precision.

    :param kept: the normal number that is left from the pair before, or None.
    :returns: the numbers, and the normal number that is left.
    """
    boosted = alphas < 1
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):  # for alphas without a sample
        exponents = (1 / alphas).astype(np.float64)
        widths = (np.where(boosted, alphas + 1, alphas) - np.float32(1 / 3)).astype(np.float64)
        slopes = 1 / np.sqrt(9 * widths)
    columns = (alphas > 0, boosted, exponents, widths, slopes)
    is_many = len(alphas) >= _FEW
    is_large = is_many and bool((alphas >= 1).all())
    is_equal = is_many and bool((alphas > 0).all() and (alphas == alphas[0]).all())
    if not (is_equal or is_large):
        return _one_by_one(columns, numbers.one, kept)
    values: Array = np.empty(len(alphas))
    done, size = 0, _MANY
    numbers.ahead(min(len(alphas) * 17 // 8 + 24, 1 << 13))
    while (rest := len(alphas) - done) > 0:
        if rest >= _FEW and kept is None:
            if is_equal:
                size = min(rest * 17 // 8 + rest * boosted[0] + 16, 1 << 14)
                exponent = exponents[0] if boosted[0] else None
                some, kept = _equal(widths[0], slopes[0], exponent, rest, numbers, size)
                is_whole = True
            else:
                size = min(size, rest * 17 // 8 + 16)
                some, kept, is_whole = _large(widths[done:], slopes[done:], numbers, size)
                size = min(2 * size, 1 << 14) if is_whole else max(2 * len(some), _MANY)
            values[done : done + len(some)] = some
            done += len(some)
            if len(some) and is_whole:
                continue
        part = slice(done, done + 1 if rest >= _FEW else None)
        values[part], kept = _one_by_one([column[part] for column in columns], numbers.one, kept)
        done += len(values[part])
    return values, kept


def _normal_pairs(radii: Array, angles: Array) -> Array:
    """Return the pairs of normal numbers that uniform numbers give, in rows."""
    # Like PyTorch, the math module uses the C library's logarithm; NumPy's own may differ in the last bit.
    radius = np.sqrt(-2 * np.fromiter(map(math.log1p, (-radii).tolist()), np.float64, len(radii)))
    angle = 2 * math.pi * angles
    pairs: Array = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)
    return pairs


def _equal(
    width: float, slope: float, exponent: float | None, wanted: int, numbers: Numbers, size: int
) -> tuple[Array, float | None]:
    """Return numbers of one gamma distribution, from the next ``size`` uniform ones, and the normal number left.

    :param exponent: of the uniform number that each sample begins with, if alpha is below 1.
    """
    boost = exponent is not None
    uniform = numbers.ahead(size)[:size]
    starts = _starts(uniform, width, slope, boost)
    x = _normal_pairs(uniform[starts + 1], uniform[starts])
    places = np.stack([starts + 2, starts + 2 + (1 + slope * x[:, 0] > 0)], 1)
    if boost:
        first = _accepted(x[:, 0], uniform[places[:, 0]], width, slope)
        places[:, 1] += first
        accepted = np.stack([first, _accepted(x[:, 1], uniform[places[:, 1]], width, slope)], 1).ravel()
        x, places = x.ravel(), places.ravel()
    else:
        x, places = x.ravel(), places.ravel()
        accepted = _accepted(x, uniform[places], width, slope)
    taken = np.flatnonzero(accepted)[:wanted]
    if len(taken) < wanted:  # the last sample must end a pair
        ends = np.flatnonzero(taken & 1)
        taken = taken[: ends[-1] + 1 if len(ends) else 0]
    if not len(taken):
        return np.empty(0), None
    last = int(taken[-1])
    y = 1 + slope * x[taken]
    scale: Any = width
    if exponent is not None:
        firsts = 1 - uniform[np.append(0, places[taken[:-1]] + 1)]
        scale = np.fromiter(map(math.pow, firsts.tolist(), repeat(exponent)), np.float64, len(firsts)) * width
    numbers.use(int(places[last]) + 1)
    return scale * (y * y * y), None if last & 1 else float(x[last + 1])


def _accepted(x: Array, uniform: Array, width: float, slope: float) -> Array:
    """Return which normal numbers give a sample."""
    u, square, y = 1 - uniform, x * x, 1 + slope * x
    accepted: Array = u < 1 - _SQUEEZE * square * square
    accepted &= y > 0
    doubtful = np.flatnonzero(~accepted)
    doubtful = doubtful[y[doubtful] > 0]
    y = y[doubtful]
    v = y * y * y
    with np.errstate(invalid="ignore"):  # of an infinite alpha
        accepted[doubtful] = np.log(u[doubtful]) < 0.5 * square[doubtful] + width * (1 - v + np.log(v))
    return accepted


def _starts(uniform: Array, width: float, slope: float, boost: bool) -> Array:
    """Return where the pairs of normal numbers begin: 4 numbers apart, or 6, where both attempts succeed.

    Where they may not, each is tried: a y below 0 takes no number, and a rejected one no boost after it.
    """
    stride = 6 if boost else 4
    end = len(uniform) - stride + 1
    doubtful = uniform[1 : end + 1] > -math.expm1(-4.5 * width) - 1e-6  # y may be below 0
    if boost:  # roughly, in float32
        radius = np.sqrt(-2 * np.log1p(-np.minimum(uniform[1 : end + 1].astype(np.float32), np.float32(0.9999))))
        angle = uniform[:end].astype(np.float32) * np.float32(2 * math.pi)
        for normal, place in ((radius * np.cos(angle), 2), (radius * np.sin(angle), 4)):
            square = normal * normal
            low = np.flatnonzero(uniform[place : end + place] < 1.001 * _SQUEEZE * square * square + 1e-5)
            y = np.maximum(1 + slope * normal[low], 1e-9)
            v = y * y * y
            bound = 0.5 * square[low] + width * (1 - v + np.log(v)) - 1e-3
            doubtful[low[np.log(1 - uniform[low + place]) >= bound]] = True
    parts, start = [], int(boost)
    for place in np.flatnonzero(doubtful).tolist():
        if place < start or (place - start) % stride:
            continue
        radius_, angle_ = math.sqrt(-2 * math.log1p(-uniform.item(place + 1))), 2 * math.pi * uniform.item(place)
        following = place + 2
        for x in (radius_ * math.cos(angle_), radius_ * math.sin(angle_)):
            y = 1 + slope * x
            if y > 0:
                u, v, square = 1 - uniform.item(following), y * y * y, x * x
                following += 1
                if boost and (
                    u < 1 - _SQUEEZE * square * square or math.log(u) < 0.5 * square + width * (1 - v + math.log(v))
                ):
                    following += 1
        if following != place + stride:
            parts.append(np.arange(start, place + 1, stride))
            start = following
    return np.concatenate([*parts, np.arange(start, end, stride)])


def _large(widths: Array, slopes: Array, numbers: Numbers, size: int) -> tuple[Array, float | None, bool]:
    """Return numbers of the gamma distributions of alphas from 1 on, from the next ``size`` uniform numbers.

    Each pair of normal numbers takes two of them, and each of its two attempts one, whether it is accepted or not,
    unless y is below 0: before such a pair they end.

    :returns: the numbers, the normal number that is left, and whether they did not end so.
    """
    uniform = numbers.ahead(size)[: size & ~3].reshape(-1, 4)
    x = _normal_pairs(uniform[:, 1], uniform[:, 0]).ravel()
    u = 1 - uniform[:, 2:].ravel()
    square = x * x
    accepted = u < 1 - _SQUEEZE * square * square  # whatever alpha is
    doubtful = np.flatnonzero(~accepted | (1 + slopes[: len(x)].max() * x <= 0))
    end = len(x)
    rejected: list[int] = []
    columns = zip(*(a.tolist() for a in (doubtful, accepted[doubtful], x[doubtful], u[doubtful])), strict=True)
    for k, is_sure, x_k, u_k in columns:
        i = k - len(rejected)
        if i >= len(widths):
            break
        y = 1 + slopes.item(i) * x_k
        if y <= 0:
            end = k & ~1
            break
        v = y * y * y
        if not (is_sure or math.log(u_k) < 0.5 * x_k * x_k + widths.item(i) * (1 - v + math.log(v))):
            rejected.append(k)
    accepted[doubtful] = True
    accepted[rejected] = False
    taken = np.flatnonzero(accepted[:end])[: len(widths)]
    is_whole = end == len(x)
    if len(taken) == len(widths):
        end, is_whole = int(taken[-1]) + 1, True
    numbers.use(end // 2 * 4 + end % 2 * 3)
    y_ = 1 + slopes[: len(taken)] * x[taken]
    return widths[: len(taken)] * (y_ * y_ * y_), float(x[end]) if end % 2 else None, is_whole


def _one_by_one(columns: Sequence[Array], uniform: Uniform, kept: float | None) -> tuple[Array, float | None]:
    """Return numbers of the gamma distribution, one after the other, and the normal number that is left."""
    sqrt, log, log1p, sin, cos = math.sqrt, math.log, math.log1p, math.sin, math.cos
    values = []
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for is_positive, is_boosted, exponent, width, slope in rows:
        if not is_positive:
            values.append(0.0)
            continue
        scaled_width = math.pow(1 - uniform(), exponent) * width if is_boosted else width
        while True:
            if kept is None:
                u1, u2 = uniform(), uniform()
                radius, angle = sqrt(-2 * log1p(-u2)), 2 * math.pi * u1
                x, kept = radius * cos(angle), radius * sin(angle)
            else:
                x, kept = kept, None
            y = 1 + slope * x
            if y <= 0:
                continue
            v, square = y * y * y, x * x
            u = 1 - uniform()
            if u < 1 - _SQUEEZE * square * square or log(u) < 0.5 * square + width * (1 - v + log(v)):
                values.append(scaled_width * v)
                break
    return np.array(values), kept
