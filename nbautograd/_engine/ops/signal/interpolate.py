"""Separable interpolation of images: each output element is a weighted sum of a few input elements."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nbautograd._engine.arrays import backend
from nbautograd._engine.arrays.strides import images_like
from nbautograd._engine.compiler.op import no_method, op
from nbautograd._engine.core.tensor import Tensor

Array = np.ndarray[Any, Any]

MAX_REPEATS = 16
"""Maximum number of repetitions of an element that are summed one after another."""


class WeightTable(NamedTuple):
    """Interpolation along one dimension: the input elements and weights of each output element."""

    dim: int
    indices: Array
    """Shape (output, k): indices of input elements."""
    weight: Array | None
    """Shape (output, k): weights; None where all are 1."""


def _on(array: Array, like: Any, dim: int | None = None) -> Any:
    """Return a table column on the device and in the dtype of ``like``, shaped to broadcast along a dimension."""
    if dim is not None:
        array = array.astype(like.dtype).reshape((-1,) + (1,) * (like.ndim - dim - 1))
    return backend.module(backend.device_of(like)).asarray(array)


def resampled(x: Any, tables: tuple[WeightTable, ...]) -> Any:
    """Return the interpolated array, one dimension after the other."""
    for dim, index, weight in tables:
        output = None
        for k in range(index.shape[1]):
            part = np.take(x, _on(index[:, k], x), dim)
            if weight is not None:
                part *= _on(weight[:, k], x, dim)
            output = part if output is None else output + part
        x = output
    return x


def repeats(index: Array, count: int) -> int:
    """Return how many output elements copy each of ``count`` input elements, if all do, in order; else 0."""
    factor = len(index) // max(count, 1)
    whole = index.shape[1] == 1 and 0 < factor <= MAX_REPEATS and len(index) == factor * count
    return factor if whole and bool((index[:, 0] == np.arange(len(index)) // factor).all()) else 0


def spread_back(g: Any, shape: tuple[int, ...], tables: tuple[WeightTable, ...]) -> Any:
    """Compute the transpose: scatter the weighted gradients of output elements to their input elements."""
    for dim, index, weight in reversed(tables):
        factor = repeats(index, shape[dim])
        if factor and weight is None:
            lead = (slice(None),) * dim
            gradient = g[(*lead, slice(0, None, factor))].copy()
            for first in range(1, factor):
                gradient += g[(*lead, slice(first, None, factor))]
            g = gradient
            continue
        gradient = np.zeros_like(g, shape=(*g.shape[:dim], shape[dim], *g.shape[dim + 1 :]), order="C")
        for k in range(index.shape[1]):
            part = g if weight is None else g * _on(weight[:, k], g, dim)
            backend.add_at(gradient, (slice(None),) * dim + (_on(index[:, k], g),), part)
        g = gradient
    return g


def _resample(input: Tensor, tables: tuple[WeightTable, ...]) -> Tensor:
    """Interpolate along some dimensions."""
    return images_like(resampled(input, tables), input)


def declare(node: str, name: str) -> Any:
    """Declare an interpolation under PyTorch's name."""
    back = "resample_back(g, input.shape, tables)"
    return op(node=node, symbol=name.replace("_", " "), method=False, input=back, name=name)(_resample)


@no_method(node="ResampleBackward0", symbol="resample", input="resample(g, tables)")
def resample_back(input: Tensor, shape: Any, tables: tuple[WeightTable, ...]) -> Tensor:
    """Return the transpose of ``resample``."""
    return spread_back(input, shape, tables)


resample = declare("ResampleBackward0", "resample")
