"""Unwrapping of batched tensors level by level, for backward passes over their samples and for tangents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbautograd._engine.batching.mode import to_front
from nbautograd._engine.core.batched import BatchedTensor, BatchLevel, batched, level_of
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.shape.broadcasting import expand


def map_samples(function: Callable[..., Any], *tensors: Any) -> Any:
    """Call ``function`` with the values below all levels, which the tensors share, and batch its result like them."""
    first = tensors[0]
    if not isinstance(first, BatchedTensor):
        return function(*tensors)
    return batched(map_samples(function, *(to_front(t.value, t.bdim) for t in tensors)), 0, first.level)


def batched_at(t: Any, level: BatchLevel) -> bool:
    """Return whether a tensor is batched at a level."""
    while isinstance(t, BatchedTensor):
        if t.level is level:
            return True
        t = t.value
    return False


def on_level(t: Any, level: BatchLevel) -> Any:
    """Return the tensor, batched at a level; if it is not, it is expanded to the batch size."""
    if level_of(t) > level.number:
        return batched(on_level(t.value, level), t.bdim, t.level)
    return t if level_of(t) == level.number else batched(expand(t, level.size, *t._a.shape), 0, level)


def on_same_levels(*tensors: Any) -> list[Any]:
    """Return the tensors, each batched at all levels at which any of them is."""
    levels = {}
    for t in tensors:
        while isinstance(t, BatchedTensor):
            levels[t.level.number] = t.level
            t = t.value
    result = list(tensors)
    for level in levels.values():
        result = [on_level(t, level) for t in result]
    return result


def split(t: Any, level: BatchLevel) -> Any:
    """Return the tensor without a level, whose batch dimension comes first."""
    if level_of(t) > level.number:
        return batched(split(t.value, level), t.bdim + 1, t.level)
    return to_front(t.value, t.bdim) if level_of(t) == level.number else expand(t, level.size, *t._a.shape)


def joined(t: Tensor, level: BatchLevel, dim: int = 0) -> Any:
    """Return the inverse of ``split``: dimension ``dim`` becomes the batch dimension of a level."""
    if level_of(t) <= level.number:
        return batched(t, dim, level)
    assert isinstance(t, BatchedTensor)
    place = dim if dim < t.bdim else dim + 1  # in the value, which also has the batch dimension of the higher level
    return batched(joined(t.value, level, place), t.bdim - (place < t.bdim), t.level)
