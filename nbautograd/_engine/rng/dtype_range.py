"""The range of a dtype: its bounds, and the integers it represents."""

from __future__ import annotations

from typing import Any

import numpy as np

DType = np.dtype[Any]


def digits(dtype: DType) -> int:
    """Return the binary digits of a floating dtype."""
    return 8 if dtype.kind == "V" else int(np.finfo(dtype).nmant) + 1


def bounds(dtype: DType) -> tuple[float, float]:
    """Return the smallest and the largest number of a dtype."""
    if dtype.kind == "V":
        return -255 * 2.0**120, 255 * 2.0**120
    if dtype.kind == "f":
        return float(np.finfo(dtype).min), float(np.finfo(dtype).max)
    return (int(np.iinfo(dtype).min) if dtype.kind == "i" else 0), largest_integer(dtype)


def representable(first: int, end: int, dtype: DType) -> tuple[int, int]:
    """Return the range, narrowed if its ends, rounded to a floating dtype, would be outside it."""
    precision = digits(dtype)
    after, last = int(dtype.type(first + 1)), int(dtype.type(end - 1))
    if after < first:
        first = after + (1 << abs(first + 1).bit_length() - precision)
    if last >= end:
        end = last - (1 << abs(end - 1).bit_length() - precision)
    return first, end


def largest_integer(dtype: DType) -> int:
    """Return the largest integer that ``random_`` draws by default."""
    if dtype.kind in "fV":
        return 1 << digits(dtype)
    return 1 if dtype.kind == "b" else int(np.iinfo(dtype).max)
