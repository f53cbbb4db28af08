"""Collate a list of samples into a batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from copy import copy
from typing import Any

import numpy as np

from nbautograd._engine.arrays import dtypes
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.from_data import as_tensor, tensor
from nbautograd._engine.ops.shape.joining import stack

__all__ = ["default_collate", "default_convert"]

ACCEPTED = "batch must contain tensors, numpy arrays, numbers, dicts or lists"


def _of_mapping(like: Mapping[Any, Any], values: dict[Any, Any]) -> Any:
    """Return values in a mapping of the type of ``like``, or in a dict if that fails."""
    try:
        if not isinstance(like, MutableMapping):
            return type(like)(values)  # type: ignore[call-arg]
        result = copy(like)  # with the attributes of a subclass
        result.update(values)
        return result
    except TypeError:
        return values


def _of_sequence(like: Sequence[Any], values: list[Any]) -> Any:
    """Return values in a sequence of the type of ``like``; in a list for a tuple, or if that fails."""
    if isinstance(like, tuple):
        return type(like)(*values) if hasattr(like, "_fields") else values
    try:
        if not isinstance(like, MutableSequence):
            return type(like)(values)  # type: ignore[call-arg]
        result = copy(like)
        for i, value in enumerate(values):
            result[i] = value
        return result
    except TypeError:
        return values


def _inside(data: Any, function: Callable[[Any], Any]) -> Any:
    """Apply a function to the items of a container."""
    if isinstance(data, Mapping):
        return _of_mapping(data, {key: function(value) for key, value in data.items()})
    return _of_sequence(data, [function(value) for value in data])


def default_convert(data: Any) -> Any:
    """Convert NumPy arrays and numbers, also in containers, to tensors; return other values unchanged.

    :param data: any value.
    :returns: the data with tensors of the arrays' shapes.

    >>> import nbautograd as torch, numpy as np
    >>> torch.utils.data.default_convert({"a": np.array([1, 2], "int64"), "b": "text"})
    {'a': tensor([1, 2]), 'b': 'text'}
    """
    if isinstance(data, (np.ndarray, np.generic)):
        return data if data.dtype.kind in "SUO" else as_tensor(data)
    if isinstance(data, Mapping) or isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _inside(data, default_convert)
    return data


def default_collate(batch: Sequence[Any]) -> Any:
    """Collate samples to a batch: stack tensors, arrays and numbers in a new first dimension, containers item by item.

    :param batch: a list of samples of the same kind: tensors, NumPy arrays, numbers, strings, or containers of these.
    :returns: for a list of tuples a list, for a list of dicts a dict, of tensors; strings stay a list.
    :raises TypeError: the samples have an unsupported type.
    :raises RuntimeError: lists or tensors differ in size.

    >>> import nbautograd as torch
    >>> torch.utils.data.default_collate([(torch.tensor([1., 2.]), 0), (torch.tensor([3., 4.]), 1)])
    [tensor([[1., 2.],
            [3., 4.]]), tensor([0, 1])]
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return stack(batch, 0)
    if isinstance(first, np.ndarray):
        if first.dtype.kind in "SUO":
            raise TypeError(f"default_collate: {ACCEPTED}; found {first.dtype}")
        return stack([as_tensor(a) for a in batch], 0)
    if isinstance(first, float) and not isinstance(first, np.generic):
        return tensor(batch, dtype=dtypes.float64)
    if isinstance(first, (np.bool_, np.number)):
        return as_tensor(np.array(batch))
    if isinstance(first, int):
        return tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, (Mapping, Sequence)):
        return _item_by_item(first, batch)
    raise TypeError(f"default_collate: {ACCEPTED}; found {type(first)}")


def _item_by_item(first: Any, batch: Sequence[Any]) -> Any:
    """Collate containers to one of the same kind as the first."""
    if isinstance(first, Mapping):
        return _of_mapping(first, {key: default_collate([sample[key] for sample in batch]) for key in first})
    sizes = {len(sample) for sample in batch}
    if len(sizes) > 1:
        raise RuntimeError(
            f"each element in list of batch should be of equal size, and there are sizes {sorted(sizes)}"
        )
    return _of_sequence(first, [default_collate(column) for column in zip(*batch, strict=True)])
