"""Single random numbers by rejection: for distributions that consume a varying number of uniform numbers.

Each function takes a function that returns the next uniform number in [0, 1); the sources are W. Hörmann's transformed
rejection (1993) and, for the gamma distribution, G. Marsaglia and W. W. Tsang (2000).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["binomial", "gamma", "poisson"]

_SQUEEZE = float(np.float32(0.0331))  # PyTorch's constants of the gamma distribution have the precision of float32
_CONTINUED = tuple(  # corrections to Stirling's formula for ln k!, k below 10
    math.lgamma(k + 1) - ((k + 0.5) * math.log(k + 1) - (k + 1) + 0.5 * math.log(2 * math.pi)) for k in range(10)
)


def poisson(rate: float, uniform: Callable[[], float]) -> float:
    """Return one sample of the Poisson distribution."""
    if rate == 0:
        return 0.0
    if rate < 10:
        end, product, count = math.exp(-rate), 1.0, -1
        while True:
            product *= uniform()
            count += 1
            if product <= end:
                return float(count)
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2)
    while True:
        u, v = uniform() - 0.5, uniform()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + rate + 0.43)
        if us >= 0.07 and v <= v_r:
            return float(k)
        if k < 0 or us < 0.013 and v > us:
            continue
        accepted = math.log(v) + math.log(inverse_alpha) - math.log(a / (us * us) + b)
        if accepted <= -rate + k * math.log(rate) - math.lgamma(k + 1):
            return float(k)


def binomial(count: float, chance: float, uniform: Callable[[], float]) -> float:
    """Return one sample of the binomial distribution."""
    if count <= 0 or chance <= 0:
        return 0.0
    if chance >= 1:
        return count
    if math.isnan(chance) or math.isnan(count):
        return math.nan
    rarer = chance if chance <= 0.5 else 1 - chance
    successes = (_binomial_by_rejection if count * rarer >= 10 else _binomial_by_gaps)(count, rarer, uniform)
    return successes if chance <= 0.5 else count - successes


def _binomial_by_gaps(count: float, chance: float, uniform: Callable[[], float]) -> float:
    log_failure, trials, successes = math.log1p(-chance), 0.0, 0
    while True:
        u = uniform()
        trials += math.ceil(math.log(u) / log_failure) if u else math.inf
        if trials > count:
            return float(successes)
        successes += 1


def _binomial_by_rejection(count: float, chance: float, uniform: Callable[[], float]) -> float:
    deviation = math.sqrt(count * chance * (1 - chance))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * chance
    c = count * chance + 0.5
    v_r = 0.92 - 4.2 / b
    odds = chance / (1 - chance)
    alpha = (2.83 + 5.1 / b) * deviation
    mode = math.floor((count + 1) * chance)
    while True:
        u, v = uniform() - 0.5, uniform()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + c)
        if us >= 0.07 and v <= v_r:
            return float(k)
        if k < 0 or k > count:
            continue
        bound = (
            (mode + 0.5) * math.log((mode + 1) / (odds * (count - mode + 1)))
            + (count + 1) * math.log((count - mode + 1) / (count - k + 1))
            + (k + 0.5) * math.log(odds * (count - k + 1) / (k + 1))
            + _stirling_rest(mode)
            + _stirling_rest(count - mode)
            - _stirling_rest(k)
            - _stirling_rest(count - k)
        )
        if math.log(v * alpha / (a / (us * us) + b)) <= bound:
            return float(k)


def _stirling_rest(k: float) -> float:
    """Return the error term of Stirling's formula for ln k!"""
    if k <= 9:
        return _CONTINUED[int(k)]
    square = (k + 1) ** 2
    return (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)


def gamma(alpha: Any, uniform: Callable[[], float], normal: Callable[[], float]) -> float:
    """Return one number of the gamma distribution; terms of the NumPy scalar alone keep its precision."""
    scale = 1.0
    if not alpha > 0:
        return 0.0
    if alpha < 1:
        scale = math.pow(1 - uniform(), float(1 / alpha))
        alpha = alpha + 1
    d = float(alpha - np.float32(1 / 3))
    c = 1 / math.sqrt(9 * d)
    while True:
        y = 0.0
        while y <= 0:
            x = normal()
            y = 1 + c * x
        v, square = y * y * y, x * x
        u = 1 - uniform()
        if u < 1 - _SQUEEZE * square * square:
            return scale * d * v
        if math.log(u) < 0.5 * square + d * (1 - v + math.log(v)):
            return scale * d * v
