"""Matrix products in shapes that the BLAS multiplies fast.

OpenBLAS, which NumPy bundles, copies ("packs") both matrices into its reading order. For a layer's weight and a batch
of few rows, that takes longer than the product itself. On processors with AVX-512 it has kernels that multiply without
packing, but uses them for up to a million multiplications only. There, larger products are cut into blocks of that
size: ``x @ w.T`` takes 0.7 of the time for a batch of 64 rows, 0.15 for one of 4.

Everything else is one call: other kernels and other libraries are slower if called more often.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

MAX_UNPACKED = 10**6
"""Multiplications in a product for which OpenBLAS uses the kernels that do not pack."""
UNPACKED = {"SkylakeX", "Cooperlake", "SapphireRapids"}
"""OpenBLAS's names of the kernel sets that include such kernels."""
MAX_ROWS = 96
"""Maximum number of rows of a batch that is multiplied in blocks."""
BLOCK_SIZE = 1 << 10
"""Maximum number of elements of the result."""


def product(a: Any, b: Any) -> Any:
    """Compute ``a @ b`` of two matrices, NumPy arrays of the same dtype, float32 or float64.

    :raises ValueError: the shapes do not match.

    >>> product(np.ones((2, 3)), np.ones((3, 1))).tolist()
    [[3.0], [3.0]]
    """
    rows, inner = a.shape
    if rows * inner * b.shape[1] <= MAX_UNPACKED or inner != len(b):
        return a.dot(b)
    if (
        1 < rows <= MAX_ROWS
        and rows * a.itemsize <= 2 * inner  # otherwise gathering the blocks takes longer than packing
        and a.flags.c_contiguous
        and b.flags.f_contiguous
        and _is_unpacked(rows)
    ):
        return _by_columns(a, b.T)
    if 1 < inner <= MAX_ROWS and a.flags.f_contiguous and b.flags.c_contiguous and _is_unpacked(inner):
        return _by_rows(a.T, b)
    return a.dot(b)


def _by_columns(x: Any, w: Any) -> Any:
    """Compute ``x @ w.T``: a batch times the rows of a weight, some rows at a time."""
    batch, inner = x.shape
    width = min(32, BLOCK_SIZE // batch // 8 * 8)
    count = len(w) // width
    if not count:
        return x.dot(w.T)
    result = np.empty((batch, len(w)), x.dtype)
    blocks = np.empty((count, batch, width), x.dtype)
    cut = w[: count * width].reshape(count, width, inner).swapaxes(1, 2)
    parts = -(-inner // (MAX_UNPACKED // (batch * width)))
    step = -(-inner // parts)
    np.matmul(x[:, :step], cut[:, :step], blocks)
    if step < inner:
        more = np.empty_like(blocks)
        for start in range(step, inner, step):
            np.matmul(x[:, start : start + step], cut[:, start : start + step], more)
            np.add(blocks, more, blocks)
    result[:, : count * width].reshape(batch, count, width)[:] = blocks.swapaxes(0, 1)
    if count * width < len(w):
        result[:, count * width :] = x.dot(w[count * width :].T)
    return result


def _by_rows(g: Any, x: Any) -> Any:
    """Compute ``g.T @ x``: the gradient of a weight, some of its rows at a time."""
    batch, outer = g.shape
    height = min(32, MAX_UNPACKED // x.size)
    if height < 8:
        return g.T.dot(x)
    count = outer // height
    result = np.empty((outer, x.shape[1]), x.dtype)
    whole = count * height
    np.matmul(
        g[:, :whole].reshape(batch, count, height).transpose(1, 2, 0), x, result[:whole].reshape(count, height, -1)
    )
    if whole < outer:
        result[whole:] = g[:, whole:].T.dot(x)
    return result


def _is_unpacked(rows: int) -> bool:
    """Return whether blocks are faster for a batch: such kernels exist, and few threads would share a call."""
    functions = _openblas()
    return functions is not None and rows * functions[1]() ** 2 <= 2 * MAX_ROWS and functions[0] in UNPACKED


@functools.cache
def _openblas() -> tuple[str, Callable[[], int]] | None:
    """Return the name of the kernels in use, and a function for the number of threads; None for another library."""
    try:
        import ctypes

        from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

        library = ctypes.CDLL(_multiarray_umath.__file__)  # its symbols, and those of the libraries it is linked with
    except (ImportError, OSError, AttributeError):  # no such library on this platform
        return None
    for name in ("scipy_openblas_get_{}64_", "openblas_get_{}64_", "openblas_get_{}"):
        core, threads = (getattr(library, name.format(what), None) for what in ("corename", "num_threads"))
        if core is not None and threads is not None:
            core.restype = ctypes.c_char_p
            return core().decode(), threads
    return None
