"""Find the operands of a formula in a PyTorch node that keeps them under another name or in another shape.

Or does not keep them, because its operation consists of several ones here (see ``pytorch_names``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from nbautograd.viz.read import introspect, values

__all__ = ["add_to"]

_NAMES = {
    "ignored": "ignore_index", "padding": "padding_idx", "by_frequency": "scale_grad_by_freq", "stop": "end",
    "index": "indices", "kernel": "kernel_size", "mask": "attn_mask", "low": "min", "high": "max",
    "result": "inverse", "factor": "upscale_factor", "limit": "threshold",
}  # fmt: skip
_NUMBERS = ("other", "weight", "base")  # operands that may be Python numbers instead of tensors
_UNBOUNDED = {"low": -math.inf, "high": math.inf}
_RENAMED = {"low": "min_val", "high": "max_val", "factor": "downscale_factor"}


def add_to(operands: dict[str, Any], node: Any, name: str) -> None:
    """Add what is known to the operands of a node of this name."""
    _rename(operands)
    if name.startswith("Pow") and isinstance(operands.get("input"), (int, float)):
        operands["base"] = operands["input"]
    for own in _NUMBERS:
        if isinstance(operands.get(own), (int, float)):
            operands[own] = np.asarray(operands[own])
    for start, add in _ADDERS.items():
        if name.startswith(start):
            add(operands, node)
    _add_sections(operands)
    norm = next((norm for start, norm in _NORMS.items() if name.startswith(start)), None)
    if norm is not None and getattr(operands.get("input"), "shape", None) is not None:
        _add_rows(operands, *norm(operands, tuple(operands["input"].shape)))


def _rename(operands: dict[str, Any]) -> None:
    """Give operands the names that formulas call them by."""
    for own, theirs in _NAMES.items():
        if own not in operands and theirs in operands:
            operands[own] = operands[theirs]
    for own, bound in _UNBOUNDED.items():
        if operands.get(own, 0) is None:
            operands[own] = bound
    for own, theirs in _RENAMED.items():
        if theirs in operands:
            operands[own] = operands[theirs]
    if isinstance(operands.get("index"), int) and operands["index"] >= 2**63:  # kept without its sign
        operands["index"] -= 2**64


def _add_sections(operands: dict[str, Any]) -> None:
    """Add the sizes of the parts of a split."""
    if "split_size" in operands:
        size, whole = operands["split_size"], operands["self_sym_sizes"][operands["dim"]]
        operands["sections"] = [min(size, whole - start) for start in range(0, whole, size)]
    elif "split_sizes" in operands:
        operands["sections"] = list(operands["split_sizes"])


def _add_rows(operands: dict[str, Any], rows: _Shape, axes: _Shape, wide: _Shape, own: _Shape) -> None:
    """Add the shape in which a normalization sees its input, and bring its statistics into that shape."""
    operands |= {"rows": rows, "axes": axes, "wide": wide, "own": own}
    shape = tuple(1 if dim in axes else size for dim, size in enumerate(rows))
    for i in (1, 2):
        if f"result{i}" in operands:
            operands[f"result{i}"] = operands[f"result{i}"].reshape(shape)


def _add_joined(operands: dict[str, Any], node: Any) -> None:
    """Add the shapes of joined tensors: of each that is differentiated its own, of one other what is left."""
    dim = operands["dim"]
    shapes = [introspect.result_shape(before, index) for before, index in node.next_functions]
    whole = introspect.result_shape(node, 0)
    if whole is not None and shapes.count(None) == 1:
        rest = list(whole)
        rest[dim] -= sum(shape[dim] for shape in shapes if shape is not None)
        shapes[shapes.index(None)] = tuple(rest)
    operands["tensors"] = SimpleNamespace(shape=[shape for shape in shapes if shape is not None])


def _add_attention(operands: dict[str, Any], node: Any) -> None:
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


def _add_windows(operands: dict[str, Any], node: Any) -> None:
    """Add the options of a mean over windows, a number for each dimension: PyTorch keeps them as they were given."""
    dims = len(operands["kernel_size"])
    stride = operands["stride"] or operands["kernel_size"]
    sides = (tuple(side) * (dims // len(side)) for side in (operands["kernel_size"], stride, operands["padding"]))
    operands["options"] = *sides, operands["count_include_pad"], operands["divisor_override"]


def _add_correction(operands: dict[str, Any], node: Any) -> None:
    if operands.get("correction") is None:
        operands["correction"] = 1


def _add_key(operands: dict[str, Any], node: Any) -> None:
    if isinstance(operands.get("indices"), (tuple, list)):
        operands.pop("index")  # in formulas, the function of this name
        operands["key"] = tuple(slice(None) if part is None else values.host(part) for part in operands["indices"])


def _add_running(operands: dict[str, Any], node: Any) -> None:
    if operands.get("training") is False:  # the means are not of this batch
        operands["result1"] = operands["running_mean"]
        operands["result2"] = (operands["running_var"] + operands["eps"]) ** -0.5


_Array = np.ndarray[Any, Any]
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


def _add_pads(operands: dict[str, Any], node: Any, *, kept_as: str = "padding", **more: Any) -> None:
    """Add the sizes of a padding, in the order of the dimensions."""
    sides = operands[kept_as]
    operands |= {**more, "pads": tuple(zip(sides[::2], sides[1::2], strict=True))[::-1]}


def _add_tables(operands: dict[str, Any], node: Any) -> None:
    """Add the weights of an interpolation: for each dimension a matrix from old elements to new ones."""
    name, old, new = introspect.node_name(node), operands["self_sym_sizes"], operands["output_size"]
    given = [operands.get(f"scales_{letter}") for letter in "dhw"[3 - len(new) :]]
    scales = [operands.get("scales")] if len(new) == 1 else given
    tables = []
    for dim, (m, scale) in enumerate(zip(new, scales, strict=True), len(old) - len(new)):
        n = old[dim]
        weights = _interpolated(name, n, m, 1 / scale if scale else n / m, bool(operands.get("align_corners")))
        tables.append((dim, np.broadcast_to(np.arange(n), (m, n)), weights))
    operands["tables"] = tuple(tables)
    operands["input"] = SimpleNamespace(shape=tuple(old))


def _cubic(distance: _Array, a: float) -> _Array:
    """Keys's kernel of convolution (1981)."""
    x = np.abs(distance)
    near, far = ((a + 2) * x - (a + 3)) * x * x + 1, ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.asarray(np.where(x <= 1, near, np.where(x < 2, far, 0)))


def _interpolated(name: str, n: int, m: int, scale: float, align: bool) -> _Array:
    """The weights of ``n`` elements in ``m`` interpolated ones."""
    i, old = np.arange(m), np.arange(n)
    if "Nearest" in name:
        return np.asarray(np.eye(n)[np.minimum(((i + 0.5 * ("Exact" in name)) * scale).astype(int), n - 1)])
    step = (n - 1) / max(m - 1, 1) if align else scale
    at = i * step if align else (i + 0.5) * scale - 0.5
    if name.endswith("AaBackward0"):  # a kernel that is wider for a smaller image
        center = (i + 0.5) * step - 0.5
        distance = (old - center[:, None]) / max(step, 1.0)
        weights = _cubic(distance, -0.5) if "Bicubic" in name else np.maximum(1 - np.abs(distance), 0)
        return np.asarray(weights / weights.sum(1, keepdims=True))
    if "Bicubic" not in name:
        return np.asarray(np.maximum(1 - np.abs(np.clip(at, 0, n - 1)[:, None] - old), 0))
    low, weights = np.floor(at).astype(int), np.zeros((m, n))
    for k in range(-1, 3):
        np.add.at(weights, (i, np.clip(low + k, 0, n - 1)), _cubic(at - low - k, -0.75))
    return weights


def _add_grid(operands: dict[str, Any], node: Any) -> None:
    """Add the options of ``grid_sample``, by their names."""
    mode = ("bilinear", "nearest", "bicubic")[operands["interpolation_mode"]]
    outside = ("zeros", "border", "reflection")[operands["padding_mode"]]
    operands["options"] = mode, outside, operands["align_corners"]
    operands["orders"] = (0,) * operands["grid"].shape[-1]


def _add_base(operands: dict[str, Any], node: Any) -> None:
    """Add the points that an affine map moves: (x, y, 1) of each."""
    n, _, *size = operands["size"]
    ends = [1.0 if operands["align_corners"] else 1 - 1 / max(m, 1) for m in size]
    axes = [np.linspace(-end, end, m) if m > 1 else np.zeros(1) for end, m in zip(ends, size, strict=True)]
    points = [axis.reshape(-1) for axis in np.meshgrid(*axes, indexing="ij")[::-1]]
    dtype = introspect.attribute(node, "_input_metadata")[0].dtype
    operands["base"] = np.stack([*points, np.ones_like(points[0])], 1).astype(str(dtype).rpartition(".")[2])
    operands["theta"] = SimpleNamespace(shape=(n, len(size), len(size) + 1))


def _add_bags(operands: dict[str, Any], node: Any) -> None:
    """Add the bag of each row, and its weight."""
    index, offsets, padding = operands["indices"], operands["offsets"], operands["padding_idx"]
    rows, columns = operands["weight_sym_argsize_0"], (introspect.result_shape(node, 0) or (0, 0))[-1]
    bag = np.searchsorted(offsets, np.arange(index.size), "right") - 1
    counted = (index != padding).astype(np.float32)
    given, sizes = operands["per_sample_weights"], np.bincount(bag, counted)
    weights = counted if given is None else counted * given
    count = np.bincount(index, minlength=rows)[:, None]
    if operands["weight"] is None:
        operands["weight"] = SimpleNamespace(shape=(rows, columns))
    operands["weights"] = weights / np.maximum(sizes, 1)[bag] if operands["mode"] == 1 else weights
    operands["frequency"] = 1 / np.maximum(count, 1) if operands["scale_grad_by_freq"] else None
    operands |= {"index": index, "bag": bag}
    if operands["mode"] == 2:
        operands |= {"rows": operands["result3"], "filled": (operands["result2"] > 0)[:, None].astype(np.float32)}


def _add_slopes(operands: dict[str, Any], node: Any) -> None:
    """Add the slopes, which are drawn while the operation runs."""
    operands["noise"] = values.host(introspect.attribute(node, "_saved_noise"))
    operands["slope"] = (operands["lower"] + operands["upper"]) / 2


def _add_home(operands: dict[str, Any], node: Any) -> None:
    """Add the layout of a viewed tensor, if its elements are in order."""
    shape = introspect.result_shape(*node.next_functions[0]) or ()
    strides = tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))
    layout = introspect.declared(node).formula_value
    operands["home"] = layout("Geometry(shape, strides, 0)", {"shape": shape, "strides": strides})
    operands["storage_offset"] = operands["storage_offset"] or 0


def _add_written(operands: dict[str, Any], node: Any) -> None:
    """Add the shape of written values that are not kept, as the operation before it knows it."""
    shape = introspect.result_shape(*node.next_functions[1])
    if "values" not in operands and shape is not None:
        operands["values"] = SimpleNamespace(shape=shape, dtype=np.dtype("float32"))


def _add_results(operands: dict[str, Any], node: Any, *, names: tuple[str, ...] = ()) -> None:
    """Add results by their numbers."""
    operands |= {f"result{i}": operands[name] for i, name in enumerate(names)}
    operands.setdefault("A", operands.get("input"))


# -- operations that consist of several ones here ---------------------------------------------------


def _slopes(difference: Any, distance: Any, p: float) -> Any:
    """Return the derivatives of p-norms of differences, over the last dimension."""
    size, distance = np.abs(difference), distance[..., None]
    if np.isinf(p):
        return np.sign(difference) * (size == distance)
    with np.errstate(all="ignore"):
        slopes = np.sign(difference) * (size / distance) ** (p - 1)
    return np.where((distance == 0) | (difference == 0), 0, slopes)


def _add_directions(operands: dict[str, Any], node: Any) -> None:
    """Add how each distance grows with the coordinates of the first point."""
    difference = operands["x1"][..., :, None, :] - operands["x2"][..., None, :, :]
    operands["direction"] = _slopes(difference, operands["result"], operands.get("p", 2.0))


def _add_pairs(operands: dict[str, Any], node: Any) -> None:
    """Add the points of each distance: 1 for the first one, -1 for the second one."""
    points = operands["input"]
    first, second = np.triu_indices(len(points), 1)
    one = np.eye(len(points), dtype=points.dtype)
    operands["pairs"] = (one[first] - one[second]).T
    operands["direction"] = _slopes(points[first] - points[second], operands["result"], operands["p"])


def _add_factors(operands: dict[str, Any], node: Any) -> None:
    """Add the three factors with all dimensions, some of size 1."""
    for i in (1, 2, 3):
        operands[f"i{i}"] = np.expand_dims(operands[f"i{i}"], tuple(operands[f"expand{i}"]))
    operands["wide"] = np.broadcast_shapes(*(operands[f"i{i}"].shape for i in (1, 2, 3)))


def _add_norm(operands: dict[str, Any], node: Any) -> None:
    """Add the norm, and the dimensions over which it is taken."""
    kept, ndim = operands["dim"], operands["v"].ndim
    operands["length"], operands["norm"] = operands.pop("g"), operands["result1"]
    operands["dims"] = tuple(dim for dim in range(ndim) if dim != kept % ndim)


def _add_blocks(operands: dict[str, Any], node: Any) -> None:
    """Add the shapes of the blocks."""
    operands["tensors"] = SimpleNamespace(shape=[introspect.result_shape(*edge) for edge in node.next_functions])


_ADDERS: dict[str, Callable[[dict[str, Any], Any], None]] = {
    "AvgPool2D": _add_windows, "AvgPool3D": _add_windows, "Cat": _add_joined, "BlockDiag": _add_blocks,
    "Cumsum": lambda operands, node: operands.update(reverse=False),
    "Index": _add_key, "NativeBatchNorm": _add_running, "Std": _add_correction, "Var": _add_correction,
    "ConstantPadNd": partial(_add_pads, kept_as="pad"), "ReflectionPad": partial(_add_pads, mode="reflect"),
    "ReplicationPad": partial(_add_pads, mode="replicate"), "ScaledDotProductFlashAttentionForCpu": _add_attention,
    "Upsample": _add_tables, "GridSampler": _add_grid, "AffineGridGenerator": _add_base, "EmbeddingBag": _add_bags,
    "RreluWithNoise": _add_slopes, "AsStrided": _add_home, "IndexPut": _add_written,
    "LinalgSvd": partial(_add_results, names=("U", "S", "Vh")), "LinalgQr": partial(_add_results, names=("Q", "R")),
    "LinalgEigh": partial(_add_results, names=("eigenvalues", "eigenvectors")), "LinalgMatrixExp": _add_results,
    "LinalgCholeskyEx": partial(_add_results, names=("L",)), "Cdist": _add_directions,
    "EuclideanDist": _add_directions, "Pdist": _add_pairs, "Trilinear": _add_factors, "WeightNorm": _add_norm,
}  # fmt: skip
_NORMS: dict[str, Callable[[dict[str, Any], _Shape], _Norm]] = {
    "NativeBatchNorm": _batch, "NativeLayerNorm": _layer, "NativeGroupNorm": _group,
}  # fmt: skip
