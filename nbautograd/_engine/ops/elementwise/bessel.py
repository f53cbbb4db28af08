"""Bessel and Airy functions of real argument. As in PyTorch, only i0, i0e, i1 and i1e have derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend, precise
from nbautograd._engine.compiler.op import UNSUPPORTED
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops._internal import ratio  # noqa: F401 - formulas name it
from nbautograd._engine.ops.elementwise.special import real_function, special, value
from nbautograd._engine.ops.queries import example

# -- modified, of the first kind -------------------------------------------------------------------------------------


@real_function(symbol="I₀", input="g * special_i1(input)")
@example("i0([0., 1.]) -> [1.0000, 1.2661]")
def i0(input: Tensor) -> Tensor:
    """Compute the modified Bessel function of the first kind of order 0 (DLMF 10.25.2)."""
    return value("i0", input)


@special(symbol="I₀ₑ", input="g * (special_i1e(input) - sgn(input) * result)")
@example("special.i0e([0., 100.]) -> [1.0000, 0.0399]")
def special_i0e(input: Tensor) -> Tensor:
    """Compute ``exp(-abs(input)) * i0(input)``, without overflow."""
    return value("i0e", input)


@special(symbol="I₁", input="g * (i0(input) - where(input == 0, 0.5, ratio(result, input)))")
@example("special.i1([0., 1.]) -> [0.0000, 0.5652]")
def special_i1(input: Tensor) -> Tensor:
    """Compute the modified Bessel function of the first kind of order 1."""
    return value("i1", input)


@special(
    symbol="I₁ₑ", input="g * (special_i0e(input) - sgn(input) * result - where(input == 0, 0.5, ratio(result, input)))"
)
@example("special.i1e([0., 100.]) -> [0.0000, 0.0397]")
def special_i1e(input: Tensor) -> Tensor:
    """Compute ``exp(-abs(input)) * i1(input)``, without overflow."""
    return value("i1e", input)


@special(half=UNSUPPORTED)
@example("special.modified_bessel_i0([0., 1.]) -> [1.0000, 1.2661]")
def special_modified_bessel_i0(input: Tensor) -> Tensor:
    """Compute the modified Bessel function of the first kind of order 0, without a derivative (:func:`i0` has one)."""
    return value("i0", input)


@special(half=UNSUPPORTED)
@example("special.modified_bessel_i1([0., 1.]) -> [0.0000, 0.5652]")
def special_modified_bessel_i1(input: Tensor) -> Tensor:
    """Compute the modified Bessel function of the first kind of order 1, without a derivative (``i1`` has one)."""
    return value("i1", input)


# -- modified, of the second kind ------------------------------------------------------------------------------------


@special(half=UNSUPPORTED)
@example("special.modified_bessel_k0([0., 1.]) -> [   inf, 0.4210]")
def special_modified_bessel_k0(input: Tensor) -> Tensor:
    """Compute the modified Bessel function of the second kind of order 0 (DLMF 10.27.4): inf at 0, nan below."""
    return value("k0", input)


@special(half=UNSUPPORTED)
@example("special.modified_bessel_k1([0., 1.]) -> [   inf, 0.6019]")
def special_modified_bessel_k1(input: Tensor) -> Tensor:
    """Compute the modified Bessel function of the second kind of order 1: inf at 0, nan below."""
    return value("k1", input)


@special(half=UNSUPPORTED)
@example("special.scaled_modified_bessel_k0([1., 1000.]) -> [1.1445, 0.0396]")
def special_scaled_modified_bessel_k0(x: Tensor) -> Tensor:
    """Compute ``exp(x) * modified_bessel_k0(x)``, without underflow."""
    return value("k0e", x)


@special(half=UNSUPPORTED)
@example("special.scaled_modified_bessel_k1([1., 1000.]) -> [1.6362, 0.0396]")
def special_scaled_modified_bessel_k1(x: Tensor) -> Tensor:
    """Compute ``exp(x) * modified_bessel_k1(x)``, without underflow."""
    return value("k1e", x)


# -- of the first and second kind ------------------------------------------------------------------------------------


@special(half=UNSUPPORTED)
@example("special.bessel_j0([0., 1.]) -> [1.0000, 0.7652]")
def special_bessel_j0(input: Tensor) -> Tensor:
    """Compute the Bessel function of the first kind of order 0 (DLMF 10.2.2)."""
    return value("j0", input)


@special(half=UNSUPPORTED)
@example("special.bessel_j1([0., 1.]) -> [0.0000, 0.4401]")
def special_bessel_j1(input: Tensor) -> Tensor:
    """Compute the Bessel function of the first kind of order 1."""
    return value("j1", input)


@special(half=UNSUPPORTED)
@example("special.bessel_y0([0., 1.]) -> [  -inf, 0.0883]")
def special_bessel_y0(input: Tensor) -> Tensor:
    """Compute the Bessel function of the second kind of order 0 (DLMF 10.2.3): -inf at 0, nan below."""
    return value("y0", input)


@special(half=UNSUPPORTED)
@example("special.bessel_y1([0., 1.]) -> [   -inf, -0.7812]")
def special_bessel_y1(input: Tensor) -> Tensor:
    """Compute the Bessel function of the second kind of order 1: -inf at 0, nan below."""
    return value("y1", input)


@special(half=UNSUPPORTED)
@example("special.spherical_bessel_j0([0., 1.]) -> [1.0000, 0.8415]")
def special_spherical_bessel_j0(x: Tensor) -> Tensor:
    """Compute the spherical Bessel function of the first kind of order 0, ``sin(x) / x`` (DLMF 10.49.3)."""
    wide = precise.widened(x)
    return np.where(x == 0, 1, np.where(np.isinf(x), 0, precise.sin(wide) / wide)).astype(x.dtype)


@special(half=UNSUPPORTED)
@example("special.airy_ai([0., 1.]) -> [0.3550, 0.1353]")
def special_airy_ai(x: Tensor) -> Tensor:
    """Compute the Airy function Ai, which solves y'' = x y and vanishes at infinity (DLMF 9.2.2).

    CuPy does not have it: on a GPU, SciPy computes it on the host.
    """
    if backend.is_bare(x):
        return np.empty_like(x)
    place = backend.device_of(x)
    on_host: Any = backend.fetch(x)
    ai = backend.scipy(on_host, "special").airy(on_host)[0]
    ai = np.where((on_host > 104) & (on_host < np.inf), 0, ai)  # it underflows, and SciPy gives nan
    return backend.module(place).asarray(np.asarray(ai, x.dtype))
