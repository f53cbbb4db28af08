# ruff: noqa: N803 - PyTorch names the number of points M
"""``torch.signal.windows``: window functions, symmetric unless ``sym=False``.

In the formulas n is the period: ``M - 1``, or ``M`` with ``sym=False``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from nbautograd._engine.arrays import dtypes
from nbautograd._engine.arrays.memory_format import strided
from nbautograd._engine.arrays.size import as_int
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.from_data import Device
from nbautograd._engine.ops.signal.windows import (
    BLACKMAN,
    HAMMING,
    HANN,
    NUTTALL,
    cosine_sum,
    kaiser_bessel,
    points,
    span,
    triangle,
    window_tensor,
)
from nbautograd._names import docstrings
from nbautograd._names.docstrings import packages

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]


def _begin(name: str, M: Any, dtype: dtypes.dtype | None, layout: Any, device: Device) -> tuple[Any, int, dtypes.dtype]:
    """Check the arguments of a window function, and return the points, their number and the dtype."""
    n = as_int(M, f"{name}(): argument 'M' (position 1)")
    if n < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={n}")
    if layout is not None and layout is not strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout!r}")
    kind = dtypes.get_default_dtype() if dtype is None else dtype
    if kind not in (dtypes.float32, dtypes.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {kind!r}")
    return points(n, device), n, kind


def bartlett(
    M: int,
    *,
    sym: bool = True,
    dtype: dtypes.dtype | None = None,
    layout: Any = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return the Bartlett (triangular) window of ``M`` points.

    :raises ValueError: ``M`` is negative, or the dtype is not float32 or float64.

    >>> torch.signal.windows.bartlett(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    k, n, kind = _begin("bartlett", M, dtype, layout, device)
    return window_tensor(triangle(k, span(n, not sym)), n, kind, requires_grad)


def blackman(
    M: int,
    *,
    sym: bool = True,
    dtype: dtypes.dtype | None = None,
    layout: Any = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return the Blackman window of ``M`` points: a sum of three cosines.

    >>> torch.signal.windows.blackman(5)[1:4]
    tensor([0.3400, 1.0000, 0.3400])
    """
    k, n, kind = _begin("blackman", M, dtype, layout, device)
    return window_tensor(cosine_sum(k, span(n, not sym), BLACKMAN), n, kind, requires_grad)


def cosine(
    M: int,
    *,
    sym: bool = True,
    dtype: dtypes.dtype | None = None,
    layout: Any = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """Compute the cosine (sine) window of ``M`` points: half a period, ``sin(π (k + 1/2) / M)``.

    >>> torch.signal.windows.cosine(4)
    tensor([0.3827, 0.9239, 0.9239, 0.3827])
    """
    k, n, kind = _begin("cosine", M, dtype, layout, device)
    return window_tensor(np.sin(np.pi / (span(n, not sym) + 1) * (k + 0.5)), n, kind, requires_grad)


def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: dtypes.dtype | None = None,
    layout: Any = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return the exponential window of ``M`` points, ``exp(-abs(k - center) / tau)``.

    :param center: the position of the maximum, by default the middle; only if ``sym`` is False.
    :raises ValueError: ``tau`` is not positive, or a symmetric window has a ``center``.

    >>> torch.signal.windows.exponential(3)
    tensor([0.3679, 1.0000, 0.3679])
    """
    if (tau := float(tau)) <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError(f"Center must be None for symmetric windows, got: {center} with sym=True")
    k, n, kind = _begin("exponential", M, dtype, layout, device)
    middle = span(n, not sym) / 2 if center is None else center
    return window_tensor(np.exp(-np.abs(k - middle) / tau), n, kind, requires_grad)


def gaussian(
    M: int,
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: dtypes.dtype | None = None,
    layout: Any = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return the Gaussian window of ``M`` points with standard deviation ``std``.

    :raises ValueError: ``std`` is not positive.

    >>> torch.signal.windows.gaussian(3)
    tensor([0.6065, 1.0000, 0.6065])
    """
    if (std := float(std)) <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    k, n, kind = _begin("gaussian", M, dtype, layout, device)
    x = (k - span(n, not sym) / 2) / std
    return window_tensor(np.exp(-x * x / 2), n, kind, requires_grad)


def general_cosine(
    M: int,
    *,
    a: Iterable[float],
    sym: bool = True,
    dtype: dtypes.dtype | None = None,
    layout: Any = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return the generalized cosine window: cosines of increasing frequency and alternating sign, with weights ``a``.

    :raises TypeError: ``a`` is not a list.
    :raises ValueError: ``a`` is empty.

    >>> torch.signal.windows.general_cosine(5, a=[0.5, 0.5])
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    k, n, kind = _begin("general_cosine", M, dtype, layout, device)
    if not isinstance(a, Sequence):
        raise TypeError(f"Coefficients must be a list/tuple, but a is {type(a).__name__}")
    if not a:
        raise ValueError("Coefficients cannot be empty: a has no elements")
    return window_tensor(cosine_sum(k, span(n, not sym), a), n, kind, requires_grad)


def general_hamming(
    M: int,
    *,
    alpha: float = 0.54,
    sym: bool = True,
    dtype: dtypes.dtype | None = None,
    layout: Any = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return the generalized Hamming window of ``M`` points: ``alpha - (1 - alpha) * cos(2πk / n)``.

    >>> torch.signal.windows.general_hamming(5, alpha=0.6)
    tensor([0.2000, 0.6000, 1.0000, 0.6000, 0.2000])
    """
    k, n, kind = _begin("general_hamming", M, dtype, layout, device)
    alpha = float(alpha)
    return window_tensor(cosine_sum(k, span(n, not sym), (alpha, 1 - alpha)), n, kind, requires_grad)


def hamming(
    M: int,
    *,
    sym: bool = True,
    dtype: dtypes.dtype | None = None,
    layout: Any = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return the Hamming window of ``M`` points: ``0.54 - 0.46 * cos(2πk / n)``.

    >>> torch.signal.windows.hamming(5)
    tensor([0.0800, 0.5400, 1.0000, 0.5400, 0.0800])
    """
    k, n, kind = _begin("hamming", M, dtype, layout, device)
    return window_tensor(cosine_sum(k, span(n, not sym), HAMMING), n, kind, requires_grad)


def hann(
    M: int,
    *,
    sym: bool = True,
    dtype: dtypes.dtype | None = None,
    layout: Any = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return the Hann window of ``M`` points: ``(1 - cos(2πk / n)) / 2``.

    >>> torch.signal.windows.hann(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    k, n, kind = _begin("hann", M, dtype, layout, device)
    return window_tensor(cosine_sum(k, span(n, not sym), HANN), n, kind, requires_grad)


def kaiser(
    M: int,
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: dtypes.dtype | None = None,
    layout: Any = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return the Kaiser window of ``M`` points; a larger ``beta`` gives a wider main lobe and lower side lobes.

    :raises ValueError: ``beta`` is negative.

    >>> torch.signal.windows.kaiser(5, beta=5.)
    tensor([0.0367, 0.5529, 1.0000, 0.5529, 0.0367])
    """
    if (beta := float(beta)) < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    k, n, kind = _begin("kaiser", M, dtype, layout, device)
    return window_tensor(kaiser_bessel(k, span(n, not sym), beta), n, kind, requires_grad)


def nuttall(
    M: int,
    *,
    sym: bool = True,
    dtype: dtypes.dtype | None = None,
    layout: Any = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return the Nuttall window of ``M`` points: the sum of four cosines with minimal side lobes.

    >>> torch.signal.windows.nuttall(5)[1:4]
    tensor([0.2270, 1.0000, 0.2270])
    """
    k, n, kind = _begin("nuttall", M, dtype, layout, device)
    return window_tensor(cosine_sum(k, span(n, not sym), NUTTALL), n, kind, requires_grad)


docstrings.describe_all([globals()[name] for name in __all__], *packages.WINDOWS)
