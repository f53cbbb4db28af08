"""Random numbers by rejection: distributions whose samples consume a varying number of uniform numbers.

Each function takes a function that returns the next uniform number in [0, 1), and draws one sample after the other. The
sources are W. Hörmann's transformed rejection (1993) and, for the gamma distribution, G. Marsaglia and W. W. Tsang
(2000). Constants of a sample are computed again only if its parameters differ from those of the sample before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

__all__ = ["binomial", "gamma", "poisson"]

Uniform = Callable[[], float]
_SQUEEZE = float(np.float32(0.0331))  # PyTorch's constants of the gamma distribution have the precision of float32
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


def gamma(alphas: Any, uniform: Uniform, kept: float | None) -> tuple[list[float], float | None]:
    """Return a number of the gamma distribution for each of ``alphas``, a floating array of one dimension.

    Terms of the alphas alone keep their precision.

    :param kept: the normal number that is left from the pair before, or None.
    :returns: the numbers, and the normal number that is left.
    """
    sqrt, log, log1p, sin, cos = math.sqrt, math.log, math.log1p, math.sin, math.cos
    boosted = alphas < 1
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):  # for alphas without a sample
        exponents = (1 / alphas).astype(np.float64)
        d = (np.where(boosted, alphas + 1, alphas) - np.float32(1 / 3)).astype(np.float64)
        c = 1 / np.sqrt(9 * d)
    values = []
    columns = zip((alphas > 0).tolist(), boosted.tolist(), exponents.tolist(), d.tolist(), c.tolist(), strict=True)
    for is_positive, is_boosted, exponent, width, slope in columns:
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
    return values, kept
