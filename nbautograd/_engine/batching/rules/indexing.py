"""Batching rules of indexing by arrays and masks, which are options of their operations."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nbautograd._engine.arrays import backend
from nbautograd._engine.batching.mode import BatchedCall, Unsuitable, aligned, loop, rule, to_front
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.elementwise.selection import where
from nbautograd._engine.ops.shape.shape import view
from nbautograd._engine.ops.shape.transpose import permute
from nbautograd.errors import AutogradError


class IndexLayout(NamedTuple):
    """The dimensions of arrays in an index result: their number and start, and whether the arrays are adjacent."""

    chosen: int
    first: int
    adjacent: bool


def layout(key: Any, flags: Any) -> IndexLayout:
    """Return the layout of the result for one sample."""
    ndims, places, dim = [], [], 0
    for position, item in enumerate(key):
        if isinstance(item, slice):
            dim += 1
            continue
        is_mask = _dtype(item).kind == "b"
        ndims.append(1 if is_mask else item.ndim - bool(flags[position]))
        places.append((position, dim))
        dim += item.ndim if is_mask else 1
    positions = [position for position, _ in places]
    adjacent = positions == list(range(positions[0], positions[-1] + 1))
    return IndexLayout(max(ndims), places[0][1] if adjacent else 0, adjacent)


def _dtype(item: Any) -> Any:
    return item._a.dtype if isinstance(item, Tensor) else item.dtype


def _flags(call: BatchedCall) -> list[Any]:
    flags = call.batched.get("key")
    return flags if isinstance(flags, list) else [False] * len(call.values["key"])


def batched_key(call: BatchedCall) -> tuple[list[Any], IndexLayout]:
    """Return the index into all samples, after their numbers, and the layout of one result; no mask may be batched."""
    key, flags = list(call.values["key"]), _flags(call)
    pairs = list(zip(key, flags, strict=True))
    for item, flag in pairs:
        if not isinstance(item, slice) and flag and _dtype(item).kind == "b":
            raise Unsuitable
    how = layout(key, flags)
    like = next(item for item, flag in pairs if flag)
    numbers = backend.module(like.device).arange(call.size).reshape((call.size,) + (1,) * how.chosen)
    arrays = [aligned(item, True, call.size, how.chosen)._a if flag else item for item, flag in pairs]
    return [numbers, *arrays], how


@rule("index", "one index", options=True)
def index(call: BatchedCall) -> Any:
    """Batch ``x[key]``; reject a batched mask, since the shape of the result would differ between samples."""
    flags = _flags(call)
    if not any(flags):
        how = layout(call.values["key"], flags)
        result = call.run(key=(slice(None), *call.values["key"]))
        return result if how.adjacent else to_front(result, how.chosen)
    if any(flag and _dtype(item).kind == "b" for item, flag in zip(call.values["key"], flags, strict=True)):
        raise AutogradError(
            "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over "
            "indexing with a boolean mask: each sample would have another shape. torch.where(mask, x, 0) keeps it."
        )
    key, how = batched_key(call)
    if not call.batched.get("input"):
        return to_front(call.run(key=tuple(key[1:])), how.first)
    result = call.run(key=tuple(key))
    if not how.first:
        return result
    # Slices before the arrays: NumPy puts the arrays' dimensions in front; they belong behind the slices.
    ahead = range(1 + how.chosen, 1 + how.chosen + how.first)
    rest = range(1 + how.chosen + how.first, result._a.ndim)
    return permute(result, 0, *ahead, *range(1, 1 + how.chosen), *rest)


@rule("index_back", "one index", options=True)
def index_back(call: BatchedCall) -> Any:
    """Batch the vjp of ``index``."""
    shape = (call.size, *call.values["shape"])
    if not any(_flags(call)):
        how = layout(call.values["key"], _flags(call))
        if not how.adjacent:
            raise Unsuitable
        return call.run(shape=shape, key=(slice(None), *call.values["key"]))
    key, how = batched_key(call)
    if how.first:
        raise Unsuitable
    return call.run(input=call.full("input"), shape=shape, key=tuple(key))


@rule("put_at", "one index", options=True)
def put_at(call: BatchedCall) -> Any:
    """Batch ``x[key] = values``: the values broadcast to the shape of ``x[key]``."""
    key, flags = call.values["key"], _flags(call)
    if call.batched.get("accumulate"):
        raise Unsuitable
    whole = call.full("input")
    if not any(flags):
        how = layout(key, flags)
        if not how.adjacent:
            raise Unsuitable
        return call.run(input=whole, values=_values_operand(call, how, flags), key=(slice(None), *key))
    mask = _only_mask(key, flags)
    if mask is not None:
        if call.values["accumulate"] or call.ndim("values"):
            raise Unsuitable
        return _where(call, mask, whole, call.values["values"])
    numbers, how = batched_key(call)
    if how.first:
        raise Unsuitable
    return call.run(input=whole, values=_values_operand(call, how, flags), key=tuple(numbers))


@rule("zero_at", "one index", options=True)
def zero_at(call: BatchedCall) -> Any:
    """Batch ``x[key] = 0``."""
    key, flags = call.values["key"], _flags(call)
    if not any(flags):
        return call.run(key=(slice(None), *key))
    mask = _only_mask(key, flags)
    if mask is not None:
        return _where(call, mask, call.full("input"), call.values["input"].new_zeros(()))
    return call.run(input=call.full("input"), key=tuple(batched_key(call)[0]))


def _values_operand(call: BatchedCall, how: IndexLayout, flags: list[Any]) -> Any:
    """Return the values to write, with as many dimensions as ``x[key]`` has for one sample."""
    if not call.batched.get("values"):
        return call.values["values"]
    ndim = call.ndim("input") + how.chosen
    for item, flag in zip(call.values["key"], flags, strict=True):
        if not isinstance(item, slice):
            ndim -= item.ndim - bool(flag) if _dtype(item).kind == "b" else 1
    if call.ndim("values") > ndim:
        raise Unsuitable
    return call.full("values", ndim)


def _only_mask(key: Any, flags: list[Any]) -> Any:
    """Return the batched mask, if the index is a mask followed only by slices; otherwise None."""
    first, *others = key
    if not flags[0] or any(not isinstance(item, slice) for item in others) or isinstance(first, slice):
        return None
    return first if _dtype(first).kind == "b" else None


def _where(call: BatchedCall, mask: Tensor, whole: Tensor, value: Tensor) -> Any:
    """Return ``value`` where the batched mask is True, elsewhere ``whole``."""
    behind = whole._a.ndim - mask._a.ndim
    chosen = view(mask, *mask._a.shape, *(1,) * behind)
    if value._a.ndim:
        value = view(value, call.size, *(1,) * (whole._a.ndim - 1))
    return where(chosen, value.to(whole.dtype), whole)


@rule("masked_select", "refused")
def masked_select(call: BatchedCall) -> Any:
    """Batch ``masked_select``; reject a batched mask, since the shape of the result would differ between samples."""
    if call.batched.get("mask"):
        raise AutogradError(
            "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this because "
            "for each batch this would return a differently shaped Tensor. torch.where(mask, x, 0) keeps the shape."
        )
    return loop(call)


@rule("argwhere unique_over consecutive_over", "refused", options=True)
def dynamic(call: BatchedCall) -> Any:
    """Raise: the shape of the result depends on the elements."""
    raise AutogradError(
        "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over "
        f"{call.op.name.removesuffix('_over')}(): each sample could have a result of another shape"
    )


@rule("take", "one index")
def take(call: BatchedCall) -> Any:
    """Batch ``take`` with one index for all samples: index each flattened sample."""
    if call.batched.get("index") or not call.batched.get("input") or np.prod(call.shape("input")) == 0:
        raise Unsuitable
    return call.values["input"].reshape(call.size, -1)[:, call.values["index"]]


@rule("search", "leading")
def search(call: BatchedCall) -> Any:
    """Batch ``searchsorted`` in one sorted sequence, or in one per row of values."""
    if call.batched.get("sequence") or call.batched.get("sorter"):
        if call.ndim("sequence") == 1 and call.ndim("values") != 1 or call.ndim("values") == 0:
            raise Unsuitable
        changes = {name: call.full(name) for name in ("sequence", "values")}
        if call.values["sorter"] is not None:
            changes["sorter"] = call.full("sorter")
        return call.run(**changes)
    if call.ndim("sequence") != 1:
        raise Unsuitable
    return call.run()
