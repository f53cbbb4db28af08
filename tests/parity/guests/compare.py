"""Whether what a part gives under nbautograd is what it gives under PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

TOLERANCE = {4: 1e-4, 8: 1e-8}
"""By the bytes of a real number: how far the results may lie apart, as a part of the largest value of their array."""
FLOOR = 1e-3
"""What is smaller than this counts as this large: a gradient that is zero but for rounding has no first digit."""

Arrays = Mapping[str, np.ndarray[Any, Any]]


def difference(theirs: np.ndarray[Any, Any], ours: np.ndarray[Any, Any]) -> float:
    """The largest difference, as a part of the largest value; infinite where only one is finite."""
    if not np.issubdtype(theirs.dtype, np.inexact):
        return 0.0 if np.array_equal(theirs, ours) else np.inf
    finite = np.isfinite(theirs)
    if not np.array_equal(finite, np.isfinite(ours)) or not np.array_equal(theirs[~finite], ours[~finite], True):
        return np.inf
    if not finite.any():
        return 0.0
    scale = max(float(np.abs(theirs[finite]).max()), FLOOR)
    return float(np.abs(theirs[finite] - ours[finite]).max()) / scale


def tolerance(dtype: np.dtype[Any]) -> float:
    """What may lie between results of a dtype."""
    if not np.issubdtype(dtype, np.inexact):
        return 0.0
    return TOLERANCE.get(np.finfo(dtype).dtype.itemsize, 1e-2)


def compare(theirs: Arrays, ours: Arrays) -> tuple[float, str]:
    """The largest difference of all arrays, and what is not equal: empty if all is."""
    if theirs.keys() != ours.keys():
        return np.inf, f"results are named otherwise: {', '.join(sorted(theirs.keys() ^ ours.keys()))}"
    largest = 0.0
    for name, expected in theirs.items():
        actual = ours[name]
        if (expected.shape, expected.dtype.kind) != (actual.shape, actual.dtype.kind) or (
            expected.dtype.kind != "U" and expected.dtype != actual.dtype
        ):
            return np.inf, f"{name} is {actual.dtype}{list(actual.shape)}, not {expected.dtype}{list(expected.shape)}"
        apart = difference(expected, actual)
        if apart > tolerance(expected.dtype):
            return np.inf if np.isinf(apart) else apart, f"{name} differs by {apart:.1g} of its largest value"
        largest = max(largest, apart)
    return largest, ""
