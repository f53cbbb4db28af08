"""Fractional max pooling: maxima of windows at pseudo-random steps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend, dtypes
from nbautograd._engine.core.batched import looks_at_elements, random_function
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.random import rand
from nbautograd._engine.ops.queries import check_tensors
from nbautograd._engine.ops.signal import pool
from nbautograd.errors import ShapeError
from nbautograd.nn.functional._common import floating_only, tuple_of

__all__ = [
    "fractional_max_pool2d", "fractional_max_pool2d_with_indices", "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
]  # fmt: skip

Ints = int | tuple[int, ...]


def _starts(sample: Any, n: int, m: int, kernel: int) -> Any:
    """Return the starts of ``m`` windows in a row of ``n``: uneven steps by a number in [0, 1) (Graham, 2014)."""
    i = np.arange(m)
    if m == 1:
        return np.zeros((*sample.shape, 1), np.int64) + (n - kernel)
    step = sample.dtype.type((n - kernel) / (m - 1))
    starts = ((i + sample[..., None]) * step).astype(np.int64) - (sample * step).astype(np.int64)[..., None]
    starts[..., -1] = n - kernel
    return starts


@looks_at_elements
def _fractional(
    name: str, n: int, input: Tensor, kernel_size: Ints, output_size: Any, output_ratio: Any, samples: Tensor | None
) -> tuple[Tensor, Tensor]:
    check_tensors(name, input=input)
    if (output_size is None) == (output_ratio is None):
        raise ValueError(f"{name}(): exactly one of output_size and output_ratio must be given (specifying either)")
    a = input._a
    if a.ndim not in (n + 1, n + 2) or 0 in a.shape[1:]:
        raise ShapeError(f"{name}(): Expected {n + 1}D or {n + 2}D tensor, non-empty, but got: {list(a.shape)}")
    floating_only(name, input)
    kernel = tuple_of(kernel_size, n, f"{name}: kernel_size", 1)
    out = _size_of_result(name, a.shape[-n:], kernel, output_size, output_ratio)
    batch = a.shape[0] if a.ndim == n + 2 else 1
    channels = a.shape[-n - 1]
    wide = dtypes.float64 if input.dtype is dtypes.float64 else dtypes.float32
    if samples is None:
        return _fractional_at_random(name, n, input, kernel_size, out, None, (batch, channels, n))
    check_tensors(name, _random_samples=samples)
    drawn = backend.fetch(samples.to(wide)._a)
    if drawn.ndim != 3 or drawn.shape[0] < batch or drawn.shape[1:] != (channels, n):
        raise RuntimeError(f"{name}(): Expect _random_samples of shape {[batch, channels, n]}, got {list(drawn.shape)}")
    places = backend.module(input.device).asarray(_places(drawn[:batch], a.shape[-n:], out, kernel))
    x = input if a.ndim == n + 2 else input.unsqueeze(0)
    values, indices = pool.FRACTIONAL_MAX[n](x, places)
    return (values, indices) if x is input else (values.squeeze(0), indices.squeeze(0))


def _size_of_result(
    name: str, sizes: tuple[int, ...], kernel: tuple[int, ...], output_size: Any, output_ratio: Any
) -> tuple[int, ...]:
    """Return the given size, or the ratio of ``sizes``; the windows must fit into ``sizes``."""
    n = len(sizes)
    if output_size is None:
        ratios = tuple(output_ratio) if isinstance(output_ratio, (tuple, list)) else (output_ratio,) * n
        output_size = [int(m * r) for m, r in zip(sizes, ratios, strict=True)]
    out = tuple_of(output_size, n, f"{name}: output_size", 1)
    for m, k, o in zip(sizes, kernel, out, strict=True):
        if o + k - 1 + (n == 3) > m:  # in three dimensions PyTorch wants one element more
            raise RuntimeError(f"{name}(): pool size {kernel} and output size {out} too large relative to input size")
    return out


def _places(drawn: Any, sizes: tuple[int, ...], out: tuple[int, ...], kernel: tuple[int, ...]) -> Any:
    """Return the flat indices of the elements of each window, for the random numbers of each batch and channel."""
    n, batch_and_channels = len(sizes), drawn.shape[:2]
    # In two dimensions the first number is for the last dimension.
    order = range(n) if n == 3 else range(n - 1, -1, -1)
    places: Any = np.zeros(batch_and_channels + (1,) * (2 * n), np.int64)
    for d, number in enumerate(order):
        starts = _starts(drawn[:, :, number], sizes[d], out[d], kernel[d])
        at = starts.reshape(batch_and_channels + tuple(out[d] if e == d else 1 for e in range(n)) + (1,) * n)
        offsets = np.arange(kernel[d]).reshape(tuple(kernel[d] if e == d else 1 for e in range(n)))
        places = places * sizes[d] + at + offsets
    return places.reshape((*batch_and_channels, *out, math.prod(kernel)))


@random_function("each")
def _fractional_at_random(
    name: str, n: int, input: Tensor, kernel: Ints, output_size: Any, ratio: Any, shape: tuple[int, ...]
) -> tuple[Tensor, Tensor]:
    """Draw the random numbers, and compute fractional max pooling with them."""
    return _fractional(name, n, input, kernel, output_size, ratio, rand(*shape, dtype=input.dtype))


def fractional_max_pool2d_with_indices(
    input: Tensor, kernel_size: Ints, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return :func:`fractional_max_pool2d` and the index of each maximum in the flattened last dimensions.

    >>> torch.nn.functional.fractional_max_pool2d_with_indices(torch.ones(1, 2, 7, 7), 2, 3)[1].shape
    torch.Size([1, 2, 3, 3])
    """
    return _fractional("fractional_max_pool2d", 2, input, kernel_size, output_size, output_ratio, _random_samples)


def fractional_max_pool2d(
    input: Tensor, kernel_size: Ints, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:  # fmt: skip
    """Return the maxima of windows at random, uneven steps, which allow any output size (Graham, 2014).

    :param output_size: the number of windows; or pass ``output_ratio``, their number over the size of the input.

    >>> torch.nn.functional.fractional_max_pool2d(torch.ones(1, 2, 7, 7), 2, output_size=3).shape
    torch.Size([1, 2, 3, 3])
    """
    result = _fractional("fractional_max_pool2d", 2, input, kernel_size, output_size, output_ratio, _random_samples)
    return result if return_indices else result[0]


def fractional_max_pool3d_with_indices(
    input: Tensor, kernel_size: Ints, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return :func:`fractional_max_pool3d` and the index of each maximum in the flattened last dimensions.

    >>> torch.nn.functional.fractional_max_pool3d_with_indices(torch.ones(1, 2, 7, 7, 7), 2, 3)[1].shape
    torch.Size([1, 2, 3, 3, 3])
    """
    return _fractional("fractional_max_pool3d", 3, input, kernel_size, output_size, output_ratio, _random_samples)


def fractional_max_pool3d(
    input: Tensor, kernel_size: Ints, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:  # fmt: skip
    """Return the maxima of windows at random, uneven steps, which allow any output size (Graham, 2014).

    :param output_size: the number of windows; or pass ``output_ratio``, their number over the size of the input.

    >>> torch.nn.functional.fractional_max_pool3d(torch.ones(1, 2, 7, 7, 7), 2, output_size=3).shape
    torch.Size([1, 2, 3, 3, 3])
    """
    result = _fractional("fractional_max_pool3d", 3, input, kernel_size, output_size, output_ratio, _random_samples)
    return result if return_indices else result[0]
