"""Numbers of the gamma distribution by rejection (G. Marsaglia, W. W. Tsang, 2000), many at once.

First ``places.py`` finds which uniform numbers each of them takes, then :func:`_samples` computes them together.
Terms of the alphas alone keep their precision.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nbautograd._engine.rng import places
from nbautograd._engine.rng.places import SQUEEZE, Recipe
from nbautograd._engine.rng.rejection import Numbers, Uniform

Array = np.ndarray[Any, Any]
Recipes = list[tuple[int, Recipe]]
_MIN_AT_ONCE = 256  # samples
_MIN_ROUNDED = 512  # from here on it pays to make them less exactly
# Units of the last place by which they differ then at most: x by 1e-14, y by 4e-15, of 1 / 64 or more, y**3 by 8e-13.
_ERROR = 1 << 13
_PIECE_SIZE = 1 << 13  # of these that are computed at a time: intermediate results stay in the cache
_LOST = 1 << 29  # one more than the largest number in the bits that single precision loses

# Of turns up to a quarter of one, divided by the turn: a polynomial of its square, fitted at Chebyshev's points.
_SINE = [0.10089695501646812, -0.7177337921413454, 3.8199280942271643, -15.0946416761179, 42.058693925428685]
_SINE += [-76.70585975282492, 81.60524927607362, -41.341702240399755, 2 * math.pi]


def gamma(generator: Any, alphas: Array, dtype: np.dtype[Any]) -> Array:
    """Return numbers of the gamma distributions with these shape parameters, as float32 or float64."""
    drawn = _drawn(generator, alphas, dtype == np.float32, None).reshape(alphas.shape)
    with np.errstate(over="ignore"):
        positive: Array = np.maximum(drawn.astype(dtype, copy=False), np.finfo(dtype).tiny)
    return positive


def dirichlet(generator: Any, alphas: Array, dtype: np.dtype[Any]) -> Array:
    """Return points whose coordinates along the last dimension sum to 1: gamma numbers divided by their sum."""
    wide = alphas.astype(np.float64)
    recipes: Recipes = []
    drawn = _drawn(generator, wide, dtype == np.float32, recipes)
    values = _quotients(drawn.reshape(wide.shape))
    if recipes and len(rows := np.flatnonzero(_halfway(values, 2 * _ERROR).any(-1))):
        elements = np.arange(drawn.size).reshape(-1, wide.shape[-1])[rows].ravel()
        for start, (uniform, columns) in recipes:
            if len(k := elements[(elements >= start) & (elements < start + len(columns[0]))]):
                drawn[k] = _samples(uniform, [column[k - start] for column in columns], False)
        values = _quotients(drawn.reshape(wide.shape))
    inside: Array = np.clip(values, np.finfo(dtype).tiny, 1 - np.finfo(dtype).epsneg).astype(dtype)
    return inside


def _quotients(drawn: Array) -> Array:
    positive = np.maximum(drawn, np.finfo(np.float64).tiny)
    values: Array = positive / positive.sum(-1, keepdims=True)
    return values


def _halfway(values: Array, error: int) -> Array:
    """Return which numbers are halfway between two of single precision, up to so many units of the last place."""
    near: Array = (values.view(np.int64) + (_LOST // 2 + error) & _LOST - 1) <= 2 * error
    return near


def _drawn(generator: Any, shapes: Array, rounded: bool, recipes: Recipes | None) -> Array:
    """Return a number of the gamma distribution for each of these shape parameters, as float64.

    :param rounded: whether numbers may differ from PyTorch's by ``_ERROR`` units of the last place, if that does not
        change them in single precision.
    :param recipes: takes, of those that may differ, the first one's place and the recipe.
    :returns: the numbers, in one dimension.
    """
    alphas = shapes.ravel()
    boosted = alphas < 1
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):  # for alphas without a sample
        exponents = (1 / alphas).astype(np.float64)
        widths = (np.where(boosted, alphas + 1, alphas) - np.float32(1 / 3)).astype(np.float64)
        slopes = 1 / np.sqrt(9 * widths)
    columns = [boosted, exponents, widths, slopes]
    positive = alphas > 0
    if positive.all():
        return _drawn_positive(generator, columns, rounded, recipes)
    values = np.zeros(len(alphas))  # the others are 0 and take nothing from the stream
    values[positive] = _drawn_positive(generator, [column[positive] for column in columns], False, recipes)
    return values


def _drawn_positive(generator: Any, columns: list[Array], rounded: bool, recipes: Recipes | None) -> Array:
    """Return numbers as :func:`_drawn`, for shape parameters above 0."""
    values = np.empty(len(columns[0]))
    done, kept = 0, generator._kept
    pending: float | None = None
    with Numbers(generator, certain=True) as numbers, np.errstate(divide="ignore", invalid="ignore"):
        while rest := len(values) - done:
            part = [column[done:] for column in columns]
            # How many are taken if nothing is rejected: more would have to be put back.
            least = rest + (rest + (kept is None)) // 2 * 2 + int(part[0].sum()) - (pending is not None)
            if count := rest if rest < _MIN_AT_ONCE else int(kept is not None):
                numbers.ahead(min(least, 3 * _MIN_AT_ONCE))
                part = [column[:count] for column in part]
                some, kept = _one_by_one(part, numbers.one, kept, pending)
                pending = None
                values[done : done + len(some)] = some
                done += len(some)
                continue
            if part[0][: places.TILE_SIZE].any():
                (uniform, made_of), kept, pending = places.boosted(part, numbers, least, pending)
            else:
                (uniform, made_of), kept = places.plain(part, numbers, least)
            is_rounded = rounded and rest >= _MIN_ROUNDED
            if is_rounded and recipes is not None:
                recipes.append((done, (uniform, made_of)))
            for start in range(0, len(made_of[0]), _PIECE_SIZE):
                some = _samples(uniform, [column[start : start + _PIECE_SIZE] for column in made_of], is_rounded)
                values[done : done + len(some)] = some
                done += len(some)
    generator._kept = kept
    return values


def _samples(uniform: Array, columns: list[Array], rounded: bool) -> Array:
    """Make samples of pairs of uniform numbers.

    :param columns: where the pairs begin, whether it is the first normal number of the pair, 1 minus the boost (1
        without), the exponent of that, the width and the slope.
    """
    pairs, is_first, base, exponents, widths, slopes = columns
    factors = widths
    if rounded:
        x = np.sqrt(-2 * np.log1p(-uniform[pairs + 1]))
        x *= _cosines(uniform[pairs] - np.where(is_first, 0, 0.25))
        if base.min() < 1:
            factors = np.power(base, exponents) * widths
    else:  # Like PyTorch, the math module uses the C library's functions; NumPy's own may differ in the last bit.
        is_new = np.ones(len(pairs), bool)
        np.not_equal(pairs[1:], pairs[:-1], out=is_new[1:])
        new = pairs[is_new]
        logs = map(math.log1p, (-uniform[new + 1]).tolist())
        radii, angles = np.sqrt(-2 * np.fromiter(logs, np.float64, len(new))), 2 * math.pi * uniform[new]
        normals = np.empty((len(new), 2))
        np.multiply(radii, np.cos(angles), out=normals[:, 0])
        np.multiply(radii, np.sin(angles), out=normals[:, 1])
        x = normals.ravel()[2 * is_new.cumsum() - 1 - is_first]
        if len(which := np.flatnonzero(base < 1)):
            scales = map(math.pow, base[which].tolist(), exponents[which].tolist())
            factors = widths.copy()
            factors[which] *= np.fromiter(scales, np.float64, len(which))
    y = 1 + slopes * x
    values: Array = factors * (y * y * y)
    if rounded:
        unclear = _halfway(values, _ERROR)
        unclear |= y < 1 / 64  # as there the error of x counts too much
        if len(k := np.flatnonzero(unclear)):
            values[k] = _samples(uniform, [column[k] for column in columns], False)
    return values


def _cosines(turns: Array) -> Array:
    """Return the cosines of angles in turns, with an error of 3e-16 at most."""
    z = 0.25 - np.abs(turns - np.rint(turns))
    square = z * z
    value: Array = np.full_like(square, _SINE[0])
    for coefficient in _SINE[1:]:
        value *= square
        value += coefficient
    value *= z
    return value


def _one_by_one(
    columns: Sequence[Array], uniform: Uniform, kept: float | None, pending: float | None
) -> tuple[Array, float | None]:
    """Return numbers of the gamma distribution, one after the other, and the normal number that is left.

    :param pending: the boost of the first, if it is drawn already.
    """
    sqrt, log, log1p, sin, cos = math.sqrt, math.log, math.log1p, math.sin, math.cos
    values = []
    for is_boosted, exponent, width, slope in zip(*(column.tolist() for column in columns), strict=True):
        scaled_width = width
        if is_boosted:
            boost, pending = uniform() if pending is None else pending, None
            scaled_width *= math.pow(1 - boost, exponent)
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
            if u < 1 - SQUEEZE * square * square or log(u) < 0.5 * square + width * (1 - v + log(v)):
                values.append(scaled_width * v)
                break
    return np.array(values), kept
