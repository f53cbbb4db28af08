"""Window functions.

A symmetric window of n points has equal ends; a periodic one, for spectral analysis, is the symmetric one of n + 1
points without its last. In the formulas n is the period, the distance between equal ends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend, dtypes, precise
from nbautograd._engine.arrays.device import as_device
from nbautograd._engine.arrays.size import as_int
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.from_data import Device, check_options, creation, finish
from nbautograd.errors import DtypeError

HANN = (0.5, 0.5)
HAMMING = (0.54, 0.46)
BLACKMAN = (0.42, 0.5, 0.08)
NUTTALL = (0.3635819, 0.4891775, 0.1365995, 0.0106411)
"""Coefficients of cosine sums; the last from A. Nuttall, "Some windows with very good sidelobe behavior", 1981."""


# -- formulas, in float64 --------------------------------------------------------------------------------------------


def points(n: int, device: Device) -> Any:
    """Return the sample positions from 0 to n - 1."""
    return backend.module(as_device(device)).arange(n).astype(np.float64)


def span(n: int, periodic: bool) -> int:
    """Return the period of a window: the distance between its equal ends, at least 1."""
    return max(1, n if periodic else n - 1)


def cosine_sum(k: Any, length: int, coefficients: Sequence[float]) -> Any:
    """Return a weighted sum of cosines of increasing frequency and alternating sign."""
    terms = [(-1) ** i * a * precise.cos(2 * math.pi * i / length * k) for i, a in enumerate(coefficients)]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def triangle(k: Any, length: int) -> Any:
    """Return a triangle: from 0 up to 1 in the center and down again."""
    return 1 - np.abs(2 * k / length - 1)


def kaiser_bessel(k: Any, length: int, beta: float) -> Any:
    """Return the Kaiser window (the Bessel function I₀: DLMF 10.25)."""
    i0 = backend.scipy(k, "special").i0
    x = 2 * k / length - 1
    return i0(beta * np.sqrt(np.maximum(0, 1 - x * x))) / i0(k[:1] * 0 + beta)


# -- torch.*_window --------------------------------------------------------------------------------------------------


def _begin(
    name: str, window_length: Any, dtype: dtypes.dtype | None, layout: Any, device: Device, pin_memory: bool
) -> tuple[Any, int, dtypes.dtype]:
    """Check the arguments of a window function, and return the points, their number and the dtype."""
    dtype = check_options(name, dtype, layout, pin_memory)
    n = as_int(window_length, f"{name}(): argument 'window_length' (position 1)")
    if n < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={n}")
    kind = dtype or dtypes.get_default_dtype()
    if kind.rank < 2:
        raise DtypeError(f"{name} expects floating point dtypes, got: {kind!r}")
    if kind.is_complex:
        raise NotImplementedError(f'"{name}" not implemented for complex numbers: dtype={kind!r}')
    return points(n, device), n, kind


def window_tensor(values: Any, n: int, kind: dtypes.dtype, requires_grad: bool) -> Tensor:
    """Return the window as a tensor; a window of one point is 1."""
    return finish((values * 0 + 1 if n == 1 else values).astype(kind.numpy), requires_grad)


@creation
def bartlett_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: dtypes.dtype | None = None,
    layout: Any = None,
    device: Device = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Return the Bartlett (triangular) window.

    :raises RuntimeError: the length is negative, or the dtype is not floating.

    >>> torch.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    k, n, kind = _begin("bartlett_window", window_length, dtype, layout, device, pin_memory)
    return window_tensor(triangle(k, span(n, periodic)), n, kind, requires_grad)


@creation
def blackman_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: dtypes.dtype | None = None,
    layout: Any = None,
    device: Device = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Return the Blackman window: a sum of three cosines.

    >>> torch.blackman_window(4)[1:]
    tensor([0.3400, 1.0000, 0.3400])
    """
    k, n, kind = _begin("blackman_window", window_length, dtype, layout, device, pin_memory)
    return window_tensor(cosine_sum(k, span(n, periodic), BLACKMAN), n, kind, requires_grad)


@creation
def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: dtypes.dtype | None = None,
    layout: Any = None,
    device: Device = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Return the Hamming window: ``alpha - beta * cos(2πk / n)``.

    >>> torch.hamming_window(4)
    tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """
    k, n, kind = _begin("hamming_window", window_length, dtype, layout, device, pin_memory)
    return window_tensor(cosine_sum(k, span(n, periodic), (alpha, beta)), n, kind, requires_grad)


@creation
def hann_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: dtypes.dtype | None = None,
    layout: Any = None,
    device: Device = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Return the Hann window: ``(1 - cos(2πk / n)) / 2``.

    >>> torch.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    k, n, kind = _begin("hann_window", window_length, dtype, layout, device, pin_memory)
    return window_tensor(cosine_sum(k, span(n, periodic), HANN), n, kind, requires_grad)


@creation
def kaiser_window(
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: dtypes.dtype | None = None,
    layout: Any = None,
    device: Device = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Return the Kaiser window; a larger ``beta`` gives a wider main lobe and lower side lobes.

    >>> torch.kaiser_window(4, beta=5.)
    tensor([0.0367, 0.5529, 1.0000, 0.5529])
    """
    k, n, kind = _begin("kaiser_window", window_length, dtype, layout, device, pin_memory)
    return window_tensor(kaiser_bessel(k, span(n, periodic), beta), n, kind, requires_grad)
