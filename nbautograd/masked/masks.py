"""Masks: checks, expansion, and the values that replace masked-out elements."""

from __future__ import annotations

import math
from typing import Any

from nbautograd._engine.arrays import dtypes
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.elementwise.selection import where
from nbautograd._engine.ops.queries import check_tensors

__all__ = ["LOWEST", "dims_of", "filled", "highest", "lowest", "mask_of", "prepared"]

LOWEST = -math.inf


def mask_of(name: str, input: Tensor, mask: Tensor | None) -> Tensor:
    """Return the mask of a tensor, with its shape; True everywhere without a mask.

    :raises TypeError: the mask or the input is not a tensor.
    :raises IndexError: the mask has more dimensions than the input.
    """
    check_tensors(f"masked.{name}", input=input)
    if mask is None:
        return input.new_ones(tuple(input.shape), dtype=dtypes.bool_)
    check_tensors(f"masked.{name}", mask=mask)
    if mask.ndim > input.ndim:
        raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
    mask = mask if mask.dtype is dtypes.bool_ else mask != 0
    return mask if mask.shape == input.shape else mask.expand(input.shape)


def prepared(name: str, input: Tensor, dtype: dtypes.dtype | None, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return the input in a dtype, and its mask by :func:`mask_of`."""
    where = mask_of(name, input, mask)
    return input if dtype is None else input.to(dtype), where


def filled(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """Replace masked-out elements of the input by a number."""
    return where(mask, input, input.new_full((), value))  # type: ignore[no-any-return]


def lowest(kind: dtypes.dtype) -> Any:
    """Return the number that is never a maximum."""
    return LOWEST if kind.is_floating_point else 0 if kind.rank == 0 else dtypes.iinfo(kind).min


def highest(kind: dtypes.dtype) -> Any:
    """Return the number that is never a minimum."""
    return math.inf if kind.is_floating_point else 1 if kind.rank == 0 else dtypes.iinfo(kind).max


def dims_of(dim: Any, ndim: int) -> tuple[int, ...]:
    """Return dimensions as a sorted tuple; None or ``()`` means all.

    :raises IndexError: a dimension is out of range.
    :raises RuntimeError: a dimension occurs twice.
    """
    if dim is None or isinstance(dim, (tuple, list)) and not dim:
        return tuple(range(ndim))
    dims = []
    for d in (dim,) if isinstance(dim, int) else dim:
        if not -max(ndim, 1) <= d < max(ndim, 1):
            limits = f"[{-max(ndim, 1)}, {max(ndim, 1) - 1}]"
            raise IndexError(f"Dimension out of range (expected to be in range of {limits}, but got {d})")
        if d % max(ndim, 1) in dims:
            raise RuntimeError(f"dim={d % max(ndim, 1)} appears multiple times in the list of dims")
        dims.append(d % max(ndim, 1))
    return tuple(sorted(dims))
