"""The Box-Muller transform and its arithmetic, rounded as PyTorch's machine code rounds it.

:func:`fma` multiplies and adds with one rounding, as that code does; :func:`log` and :func:`sine_cosine` use its
single-precision approximations.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
BLOCK_SIZE = 16  # from here on, normal numbers are made in blocks
TILE_SIZE = 1 << 15  # elements that are computed at a time, a multiple of BLOCK_SIZE


def fma(a: Array, b: Any, c: Any) -> Array:
    """Return a * b + c, rounded once; ``a`` is float32 or float64, ``b`` and ``c`` likewise, or Python numbers."""
    if a.dtype == np.float32:
        wide: Array = np.multiply(a, b, dtype=np.float64)  # 48 bits at most: exact
        wide += c
        return wide.astype(np.float32)
    product = a * b
    total = product + c
    part = total - product
    lost = (product - (total - part)) + (c - part)  # the rounding error of the sum (D. E. Knuth)
    error = lost + _product_error(a, b, product)
    error[~np.isfinite(error)] = 0  # parts of numbers near the largest overflow
    result: Array = total + error
    return result


def _product_error(a: Array, b: Any, product: Array) -> Any:
    """Return the rounding error of ``product``: exactly a * b - product (T. J. Dekker, 1971)."""
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(np.float64(b))
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _halves(a: Any) -> tuple[Any, Any]:
    """Split the float64 ``a`` into two numbers of 26 bits each whose sum it is."""
    scaled = a * (2.0**27 + 1)
    high = scaled - (scaled - a)
    return high, a - high


def box_muller(uniform: Array) -> Array:
    """Convert blocks of 16 uniform numbers to normal ones: the first 8 of each give radii, the last 8 angles."""
    result = np.empty_like(uniform)
    for start in range(0, len(uniform), TILE_SIZE):  # a tile's intermediate results stay in the cache
        tile = slice(start, start + TILE_SIZE)
        result[tile] = _box_muller_tile(uniform[tile])
    return result


def _box_muller_tile(uniform: Array) -> Array:
    kind = uniform.dtype.type
    blocks = uniform.reshape(-1, 2, BLOCK_SIZE // 2)
    angle = kind(2 * math.pi) * blocks[:, 1]
    if kind is np.float64:
        radius, sine, cosine = np.sqrt(-2 * np.log(1 - blocks[:, 0])), np.sin(angle), np.cos(angle)
    else:
        radius = np.sqrt(kind(-2) * log(kind(1) - blocks[:, 0]))
        sine, cosine = sine_cosine(angle)
    return np.stack([radius * cosine, radius * sine], 1).ravel()


# Single precision, by the polynomials of S. L. Moshier's Cephes library (logf, sinf and cosf, 1992).
_LOG = [7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1]
_LOG += [-1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1]
_LOG_2 = (0.693359375, -2.12194440e-4)  # in two parts, the first of few bits
_COSINE = [2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2]
_SINE = [-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1]
_QUARTER_PI = (0.78515625, 2.4187564849853515625e-4, 3.77489497744594108e-8)  # in three parts


def _polynomial(coefficients: list[float], x: Array) -> Array:
    """Evaluate the polynomial with these coefficients, the highest power first, by Horner's rule.

    Each step is a :func:`fma` of float32, without its conversions and its new arrays.
    """
    wide = x.astype(np.float64)
    first, *others = np.array(coefficients, np.float32).tolist()
    value, rounded = np.full_like(wide, first), np.empty_like(x)
    for coefficient in others:
        value *= wide
        value += coefficient
        rounded[...] = value
        value[...] = rounded
    return rounded


def log(x: Array) -> Array:
    """Compute the natural logarithm of positive float32 numbers."""
    mantissa, exponent = np.frexp(x)
    below = mantissa < np.float32(math.sqrt(0.5))
    power = (exponent - below).astype(np.float32)  # x = 2**power * (1 + rest)
    rest = mantissa - np.float32(1) + below * mantissa
    square = rest * rest
    series = _polynomial(_LOG, rest) * rest
    series = fma(series, square, power * np.float32(_LOG_2[1]))
    series = fma(square, np.float32(-0.5), series)
    return fma(power, np.float32(_LOG_2[0]), rest + series)


def sine_cosine(angle: Array) -> tuple[Array, Array]:
    """Compute sine and cosine of float32 angles from 0 on, in radians."""
    octant = (angle * np.float32(4 / math.pi)).astype(np.int32) + 1 & ~1
    rest, count = angle, octant.astype(np.float32)
    for part in _QUARTER_PI:
        rest = fma(count, np.float32(-part), rest)
    square = rest * rest
    series = _polynomial(_COSINE, square) * square
    cosine = fma(series, square, np.float32(-0.5) * square) + np.float32(1)
    sine = fma(_polynomial(_SINE, square) * square, rest, rest)
    # The octants exchange the two and change their signs: on the bits, since ``np.where`` waits for each random choice.
    sine_bits, cosine_bits = sine.view(np.int32), cosine.view(np.int32)
    exchanged = (sine_bits ^ cosine_bits) & -(octant >> 1 & 1)
    sine_bits ^= exchanged ^ (octant & 4) << 29
    cosine_bits ^= exchanged ^ (octant + 2 & 4) << 29
    return sine, cosine
