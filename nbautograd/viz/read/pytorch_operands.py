"""Find the operands of a formula in a PyTorch node that keeps them under another name or in another shape."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from nbautograd.viz.read import introspect, values

__all__ = ["add_to"]

_NAMES = {
    "ignored": "ignore_index", "padding": "padding_idx", "by_frequency": "scale_grad_by_freq", "stop": "end",
    "index": "indices", "kernel": "kernel_size", "mask": "attn_mask", "low": "min", "high": "max",
    "result": "inverse", "factor": "upscale_factor",
}  # fmt: skip


_NUMBERS = ("other", "weight", "base")  # operands that may be Python numbers instead of tensors
_UNBOUNDED = {"low": -math.inf, "high": math.inf}
_PADS = {"ReflectionPad": "reflect", "ReplicationPad": "replicate"}


def add_to(operands: dict[str, Any], node: Any, name: str) -> None:
    """Add what is known to the operands of a node of this name."""
    for own, theirs in _NAMES.items():
        if own not in operands and theirs in operands:
            operands[own] = operands[theirs]
    for own, bound in _UNBOUNDED.items():
        if operands.get(own, 0) is None:
            operands[own] = bound
    if name.startswith("Pow") and isinstance(operands.get("input"), (int, float)):
        operands["base"] = operands["input"]
    for own in _NUMBERS:
        if isinstance(operands.get(own), (int, float)):
            operands[own] = np.asarray(operands[own])
    if name.startswith(("AvgPool2D", "AvgPool3D")):
        _add_windows(operands)
    if name.startswith("ScaledDotProductFlashAttentionForCpu"):
        _add_attention(operands)
    if name.startswith("Cat"):
        operands["tensors"] = SimpleNamespace(shape=_joined_shapes(node, operands["dim"]))
    if name.startswith(("Var", "Std")) and operands.get("correction") is None:
        operands["correction"] = 1
    if name.startswith("Cumsum"):
        operands["reverse"] = False
    for start, mode in _PADS.items():
        if name.startswith(start):
            sides = operands["padding"]
            operands |= {"mode": mode, "pads": tuple(zip(sides[::2], sides[1::2], strict=True))[::-1]}
    if "split_size" in operands:
        size, whole = operands["split_size"], operands["self_sym_sizes"][operands["dim"]]
        operands["sections"] = [min(size, whole - start) for start in range(0, whole, size)]
    elif "split_sizes" in operands:
        operands["sections"] = list(operands["split_sizes"])
    if name.startswith("Index") and isinstance(operands.get("indices"), (tuple, list)):
        operands["key"] = tuple(slice(None) if part is None else values.host(part) for part in operands["indices"])
    if name.startswith("NativeBatchNorm") and operands.get("training") is False:  # the means are not of this batch
        operands["result1"] = operands["running_mean"]
        operands["result2"] = (operands["running_var"] + operands["eps"]) ** -0.5
    norm = next((norm for start, norm in _NORMS.items() if name.startswith(start)), None)
    if norm is not None and getattr(operands.get("input"), "shape", None) is not None:
        rows, axes, operands["wide"], operands["own"] = norm(operands, tuple(operands["input"].shape))
        operands |= {"rows": rows, "axes": axes}
        shape = tuple(1 if dim in axes else size for dim, size in enumerate(rows))
        for i in (1, 2):
            if f"result{i}" in operands:
                operands[f"result{i}"] = operands[f"result{i}"].reshape(shape)


def _joined_shapes(node: Any, dim: int) -> list[_Shape]:
    """The shapes of joined tensors: of each that is differentiated its own, of one other what is left of the result."""
    shapes = [introspect.result_shape(before, index) for before, index in node.next_functions]
    whole = introspect.result_shape(node, 0)
    if whole is not None and shapes.count(None) == 1:
        rest = list(whole)
        rest[dim] -= sum(shape[dim] for shape in shapes if shape is not None)
        shapes[shapes.index(None)] = tuple(rest)
    return [shape for shape in shapes if shape is not None]


def _add_attention(operands: dict[str, Any]) -> None:
    """Compute the exponentials of the scores again, and their sums, of which PyTorch keeps logarithms only."""
    query, key, mask, scale = (operands[name] for name in ("query", "key", "mask", "scale"))
    operands["factor"] = query.shape[-1] ** -0.5 if scale is None else scale
    scores = np.matmul(query * operands["factor"], np.swapaxes(key, -1, -2))
    if operands["is_causal"]:
        mask = np.tri(*scores.shape[-2:], dtype=bool)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype.kind == "b" else scores + mask
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    operands |= {"result0": operands["output"], "result1": powers, "result2": powers.sum(-1, keepdims=True)}


def _add_windows(operands: dict[str, Any]) -> None:
    """Add the options of a mean over windows, a number for each dimension: PyTorch keeps them as they were given."""
    dims = len(operands["kernel_size"])
    stride = operands["stride"] or operands["kernel_size"]
    sides = (tuple(side) * (dims // len(side)) for side in (operands["kernel_size"], stride, operands["padding"]))
    operands["options"] = *sides, operands["count_include_pad"], operands["divisor_override"]


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
