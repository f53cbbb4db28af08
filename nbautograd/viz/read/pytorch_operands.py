"""Find the operands of a formula in a PyTorch node that keeps them under another name or in another shape."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from nbautograd.viz.read import values

__all__ = ["add_to"]

_NAMES = {
    "ignored": "ignore_index", "padding": "padding_idx", "by_frequency": "scale_grad_by_freq", "stop": "end",
    "index": "indices",
}  # fmt: skip


def add_to(operands: dict[str, Any], name: str) -> None:
    """Add what is known to the operands of the node of this name."""
    for own, theirs in _NAMES.items():
        if own not in operands and theirs in operands:
            operands[own] = operands[theirs]
    if name.startswith(("Var", "Std")) and operands.get("correction") is None:
        operands["correction"] = 1
    if name.startswith("Cumsum"):
        operands["reverse"] = False
    if "split_size" in operands:
        size, whole = operands["split_size"], operands["self_sym_sizes"][operands["dim"]]
        operands["sections"] = [min(size, whole - start) for start in range(0, whole, size)]
    elif "split_sizes" in operands:
        operands["sections"] = list(operands["split_sizes"])
    if name.startswith("Index") and isinstance(operands.get("indices"), (tuple, list)):
        operands["key"] = tuple(slice(None) if part is None else values.host(part) for part in operands["indices"])
    norm = next((norm for start, norm in _NORMS.items() if name.startswith(start)), None)
    if norm is not None and getattr(operands.get("input"), "shape", None) is not None:
        rows, axes, operands["wide"], operands["own"] = norm(operands, tuple(operands["input"].shape))
        operands |= {"rows": rows, "axes": axes}
        shape = tuple(1 if dim in axes else size for dim, size in enumerate(rows))
        for i in (1, 2):
            if f"result{i}" in operands:
                operands[f"result{i}"] = operands[f"result{i}"].reshape(shape)


_Shape = tuple[int, ...]
_Norm = tuple[_Shape, _Shape, _Shape, _Shape]
"""The input as rows, the dimensions of these over which the mean is taken, and the shapes of the weight."""


def _batch(operands: dict[str, Any], shape: _Shape) -> _Norm:
    others = (0, *range(2, len(shape)))
    return shape, others, tuple(1 if dim in others else size for dim, size in enumerate(shape)), shape[1:2]


def _layer(operands: dict[str, Any], shape: _Shape) -> _Norm:
    own = tuple(operands["normalized_shape"])
    lead = len(shape) - len(own)
    return (math.prod(shape[:lead]), math.prod(own)), (1,), (1,) * lead + own, own


def _group(operands: dict[str, Any], shape: _Shape) -> _Norm:
    groups, channels = operands["group"], shape[1]
    wide = (1, channels, *(1,) * (len(shape) - 2))
    return (shape[0], groups, math.prod(shape[1:]) // groups), (2,), wide, (channels,)


_NORMS: dict[str, Callable[[dict[str, Any], _Shape], _Norm]] = {
    "NativeBatchNorm": _batch, "NativeLayerNorm": _layer, "NativeGroupNorm": _group,
}  # fmt: skip
