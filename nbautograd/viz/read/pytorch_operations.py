"""Declare the nodes of PyTorch's whose operations consist of several ones here: their formulas, and what these need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nbautograd import protocol

__all__ = ["DECLARED", "add_to"]

_Operands = dict[str, Any]


def _value(part: str, names: _Operands) -> Any:
    """Return the value of a part of a formula, in the words of our formulas of distances."""
    declared: Any = protocol.declaration("EuclideanDistBackward0")
    return declared().formula_value(part, names)


def _declaration(symbol: str, **formulas: str) -> Callable[[], type]:
    members = {"symbol": symbol, "inputs": tuple(formulas), "formulas": formulas, "formula_value": staticmethod(_value)}
    declared = type("Declared", (), members)
    return lambda: declared


DECLARED: dict[str, Callable[[], type]] = {
    "CdistBackward0": _declaration(
        "‖x−y‖", x1="sum_over(unsqueeze(g, -1) * direction, -2)", x2="-sum_over(unsqueeze(g, -1) * direction, -3)"
    ),
    "PdistBackward0": _declaration("‖x−y‖", input="sum_over(unsqueeze(pairs * g, -1) * direction, -2)"),
    "TrilinearBackward0": _declaration(
        "Σ x w y",
        i1="sum_over(spread(g, wide, sumdim, False) * i2 * i3, expand1)",
        i2="sum_over(spread(g, wide, sumdim, False) * i1 * i3, expand2)",
        i3="sum_over(spread(g, wide, sumdim, False) * i1 * i2, expand3)",
    ),
    "WeightNormInterfaceBackward0": _declaration(
        "v / ‖v‖",
        v="length / norm * (g - v * sum_over(g * v, dims, True) / norm**2)",
        length="sum_over(g * v, dims, True) / norm",
    ),
}
"""For each node a function for its declaration, as ``protocol.declared`` has them."""


def _slopes(difference: Any, distance: Any, p: float) -> Any:
    """Return the derivatives of p-norms of differences, over the last dimension."""
    size, distance = np.abs(difference), distance[..., None]
    if np.isinf(p):
        return np.sign(difference) * (size == distance)
    with np.errstate(all="ignore"):
        slopes = np.sign(difference) * (size / distance) ** (p - 1)
    return np.where((distance == 0) | (difference == 0), 0, slopes)


def _add_directions(operands: _Operands) -> None:
    """Add how each distance grows with the coordinates of the first point."""
    difference = operands["x1"][..., :, None, :] - operands["x2"][..., None, :, :]
    operands["direction"] = _slopes(difference, operands["result"], operands.get("p", 2.0))


def _add_pairs(operands: _Operands) -> None:
    """Add the points of each distance: 1 for the first one, -1 for the second one."""
    points = operands["input"]
    first, second = np.triu_indices(len(points), 1)
    one = np.eye(len(points), dtype=points.dtype)
    operands["pairs"] = (one[first] - one[second]).T
    operands["direction"] = _slopes(points[first] - points[second], operands["result"], operands["p"])


def _add_factors(operands: _Operands) -> None:
    """Add the three factors with all dimensions, some of size 1."""
    for i in (1, 2, 3):
        operands[f"i{i}"] = np.expand_dims(operands[f"i{i}"], tuple(operands[f"expand{i}"]))
    operands["wide"] = np.broadcast_shapes(*(operands[f"i{i}"].shape for i in (1, 2, 3)))


def _add_norm(operands: _Operands) -> None:
    """Add the norm, and the dimensions over which it is taken."""
    kept, ndim = operands["dim"], operands["v"].ndim
    operands["length"], operands["norm"] = operands.pop("g"), operands["result1"]
    operands["dims"] = tuple(dim for dim in range(ndim) if dim != kept % ndim)


_ADDERS: dict[str, Callable[[_Operands], None]] = {
    "Cdist": _add_directions, "EuclideanDist": _add_directions, "Pdist": _add_pairs, "Trilinear": _add_factors,
    "WeightNorm": _add_norm,
}  # fmt: skip


def add_to(operands: _Operands, name: str) -> None:
    """Add what the formulas of these nodes need to the operands of a node of this name."""
    for start, add in _ADDERS.items():
        if name.startswith(start):
            add(operands)
