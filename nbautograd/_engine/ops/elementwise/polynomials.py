"""Orthogonal polynomials of real argument, each by the three-term recurrence of its kind (DLMF 18.9).

As in PyTorch, the degree is rounded towards zero, polynomials of negative degree are 0, and there are no derivatives.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._engine.compiler.op import UNSUPPORTED
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.elementwise.special import special
from nbautograd._engine.ops.queries import Number, example


def recurrence(x: Any, n: Any, first: Any, step: Any, closed: Any = None) -> Any:
    """Compute the polynomials of degrees ``n`` at ``x``, until all values are nan.

    :param first: the polynomial of degree 1.
    :param step: a function that returns the polynomial of degree k + 1, given x, k, and the polynomials of degrees k
        and k - 1.
    :param closed: the polynomials of x between -1 and 1 as a function of the degree and arccos(x) (DLMF 18.5.1).
    """
    degree = np.trunc(np.where((n > -1) & (n < 2.0**63), n, -1))
    before, value = x * 0 + 1, first
    result = np.where(degree < 0, 0, np.where(degree == 0, 1, value))
    left = degree > 1
    if closed is not None:
        inside = (degree > 8) & (abs(x) < 1)
        result = np.where(inside, closed(degree.astype(x.dtype), np.arccos(x)), result)
        at_ends = left & (abs(x) == 1)
        value_there = np.where(degree % 2, x, 1) * (1 + degree * (abs(first) - 1))
        result, left = np.where(at_ends, value_there, result), left & ~inside & ~at_ends
    k = 1
    while left.any():
        before, value = value, step(x, k, value, before)
        result, k = np.where(left, value, result), k + 1
        left = left & (degree > k) & ~np.isnan(value)
    return result.astype(x.dtype)


def _first(n: Any, angle: Any) -> Any:
    return np.cos(n * angle)


def _second(n: Any, angle: Any) -> Any:
    return np.sin((n + 1) * angle) / np.sin(angle)


def _third(n: Any, angle: Any) -> Any:
    return np.cos((n + 0.5) * angle) / np.cos(angle / 2)


def _fourth(n: Any, angle: Any) -> Any:
    return np.sin((n + 0.5) * angle) / np.sin(angle / 2)


def _chebyshev(x: Any, k: int, value: Any, before: Any) -> Any:
    return 2 * x * value - before


def _hermite_h(x: Any, k: int, value: Any, before: Any) -> Any:
    return 2 * (x * value - k * before)


def _hermite_he(x: Any, k: int, value: Any, before: Any) -> Any:
    return x * value - k * before


def _laguerre(x: Any, k: int, value: Any, before: Any) -> Any:
    return ((2 * k + 1 - x) * value - k * before) / (k + 1)


def _legendre(x: Any, k: int, value: Any, before: Any) -> Any:
    return ((2 * k + 1) * x * value - k * before) / (k + 1)


@special(half=UNSUPPORTED)
@example("special.chebyshev_polynomial_t([0.5, 2.], 3) -> [-1., 26.]")
def special_chebyshev_polynomial_t(x: Tensor | Number, n: Tensor | Number) -> Tensor:
    """Compute the Chebyshev polynomial of the first kind, ``cos(n * acos(x))`` on [-1, 1]."""
    return recurrence(x, n, x, _chebyshev, _first)


@special(half=UNSUPPORTED)
@example("special.chebyshev_polynomial_u([0.5, 2.], 3) -> [-1., 56.]")
def special_chebyshev_polynomial_u(x: Tensor | Number, n: Tensor | Number) -> Tensor:
    """Compute the Chebyshev polynomial of the second kind."""
    return recurrence(x, n, 2 * x, _chebyshev, _second)


@special(half=UNSUPPORTED)
@example("special.chebyshev_polynomial_v([0.5, 2.], 3) -> [-1., 41.]")
def special_chebyshev_polynomial_v(x: Tensor | Number, n: Tensor | Number) -> Tensor:
    """Compute the Chebyshev polynomial of the third kind."""
    return recurrence(x, n, 2 * x - 1, _chebyshev, _third)


@special(half=UNSUPPORTED)
@example("special.chebyshev_polynomial_w([0.5, 2.], 3) -> [-1., 71.]")
def special_chebyshev_polynomial_w(x: Tensor | Number, n: Tensor | Number) -> Tensor:
    """Compute the Chebyshev polynomial of the fourth kind."""
    return recurrence(x, n, 2 * x + 1, _chebyshev, _fourth)


@special(half=UNSUPPORTED)
@example("special.shifted_chebyshev_polynomial_t([0.5, 2.], 3) -> [-0., 99.]")
def special_shifted_chebyshev_polynomial_t(x: Tensor | Number, n: Tensor | Number) -> Tensor:
    """Compute the Chebyshev polynomial of the first kind at ``2 * x - 1``."""
    return recurrence(2 * x - 1, n, 2 * x - 1, _chebyshev, _first)


@special(half=UNSUPPORTED)
@example("special.shifted_chebyshev_polynomial_u([0.5, 2.], 3) -> [ -0., 204.]")
def special_shifted_chebyshev_polynomial_u(x: Tensor | Number, n: Tensor | Number) -> Tensor:
    """Compute the Chebyshev polynomial of the second kind at ``2 * x - 1``."""
    return recurrence(2 * x - 1, n, 4 * x - 2, _chebyshev, _second)


@special(half=UNSUPPORTED)
@example("special.shifted_chebyshev_polynomial_v([0.5, 2.], 3) -> [  1., 169.]")
def special_shifted_chebyshev_polynomial_v(x: Tensor | Number, n: Tensor | Number) -> Tensor:
    """Compute the Chebyshev polynomial of the third kind at ``2 * x - 1``."""
    return recurrence(2 * x - 1, n, 4 * x - 3, _chebyshev, _third)


@special(half=UNSUPPORTED)
@example("special.shifted_chebyshev_polynomial_w([0.5, 2.], 3) -> [ -1., 239.]")
def special_shifted_chebyshev_polynomial_w(x: Tensor | Number, n: Tensor | Number) -> Tensor:
    """Compute the Chebyshev polynomial of the fourth kind at ``2 * x - 1``."""
    return recurrence(2 * x - 1, n, 4 * x - 1, _chebyshev, _fourth)


@special(half=UNSUPPORTED)
@example("special.hermite_polynomial_h([0.5, 2.], 3) -> [-5., 40.]")
def special_hermite_polynomial_h(x: Tensor | Number, n: Tensor | Number) -> Tensor:
    """Compute the physicist's Hermite polynomial, of weight exp(-x²)."""
    return recurrence(x, n, 2 * x, _hermite_h)


@special(half=UNSUPPORTED)
@example("special.hermite_polynomial_he([0.5, 2.], 3) -> [-1.3750,  2.0000]")
def special_hermite_polynomial_he(x: Tensor | Number, n: Tensor | Number) -> Tensor:
    """Compute the probabilist's Hermite polynomial, of weight exp(-x²/2)."""
    return recurrence(x, n, x, _hermite_he)


@special(half=UNSUPPORTED)
@example("special.laguerre_polynomial_l([0.5, 2.], 3) -> [-0.1458, -0.3333]")
def special_laguerre_polynomial_l(x: Tensor | Number, n: Tensor | Number) -> Tensor:
    """Compute the Laguerre polynomial."""
    return recurrence(x, n, 1 - x, _laguerre)


@special(half=UNSUPPORTED)
@example("special.legendre_polynomial_p([0.5, 2.], 3) -> [-0.4375, 17.0000]")
def special_legendre_polynomial_p(x: Tensor | Number, n: Tensor | Number) -> Tensor:
    """Compute the Legendre polynomial."""
    return recurrence(x, n, x, _legendre)
