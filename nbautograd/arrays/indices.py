"""Indices and counts as PyTorch has them, in int64: NumPy's have as many bits as an address, which may be 32."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["as_int64"]

ALIKE = np.dtype(np.intp) == np.int64


def as_int64(index: Any) -> Any:
    """An array of indices or counts, as NumPy made it, in int64.

    >>> as_int64(np.argsort([3.0, 1.0])).dtype
    dtype('int64')
    """
    return index if ALIKE else index.astype(np.int64)
