"""A tensor as a small matrix of numbers, which a picture colours: a *tile*.

Up to 16 by 16 elements a tile holds every number. Of a larger tensor it holds the means of blocks of elements, and a
histogram of all of them. NaN and infinity are counted and marked, never averaged away.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nbautograd.viz.read import values
from nbautograd.viz.read.notes import Digest

__all__ = ["MOST", "Tile", "as_matrix", "coarser", "is_tiled", "tile"]

MOST = 16
"""Rows and columns of a tile."""
LARGEST = 4_000_000  # elements of a tensor that is read
BINS = 24
DIGITS = 5
MANY, FEWER_DIGITS = 64, 3  # of a tile with more cells than this, whose numbers are read one at a time


@dataclass(frozen=True, slots=True)
class Tile:
    """A tensor of numbers as a matrix of at most 16 by 16 cells, row by row."""

    shape: tuple[int, ...]
    """Of the tensor."""
    columns: int
    cells: tuple[float | str, ...]
    """Numbers; ``nan``, ``inf`` and ``-inf`` as text, because JSON does not have them."""
    block: tuple[int, int] = (1, 1)
    """How many rows and columns of the matrix a cell is the mean of."""
    histogram: tuple[int, ...] = ()
    """Counts of the finite elements between ``low`` and ``high``, where cells are means."""
    low: float = 0.0
    high: float = 0.0
    norm: float = 0.0
    """Of all elements, where cells are means."""
    nan: int = 0
    inf: int = 0


def is_tiled(tile: Tile | None) -> bool:
    """Whether a tensor is drawn as a tile: a single number is written as a text."""
    return tile is not None and len(tile.cells) > 1


def coarser(known: Tile, most: int) -> Tile:
    """The same tile in at most so many rows and columns, whose cells are means.

    >>> coarser(tile(np.arange(16.0).reshape(4, 4)), 2).cells
    (2.5, 4.5, 10.5, 12.5)
    """
    matrix = np.array([float(v) for v in known.cells]).reshape(-1, known.columns)
    down, across = (math.ceil(size / most) for size in matrix.shape)
    if down == across == 1:
        return known
    means = _block_means(matrix, (down, across))
    block = known.block[0] * down, known.block[1] * across
    return replace(known, columns=means.shape[1], cells=_cells(means), block=block)


def as_matrix(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array with two axes: a number and a vector are a row, axes before the last one go down the rows.

    >>> as_matrix(np.zeros(3)).shape, as_matrix(np.zeros((2, 3, 4))).shape
    ((1, 3), (6, 4))
    """
    return array.reshape(-1, array.shape[-1]) if array.ndim else array.reshape(1, 1)


def tile(value: Any) -> Tile | None:
    """The tile of a real tensor or number; None for what is complex, empty or cannot be read.

    >>> made = tile(np.float32([[1, 2], [3, np.inf]]))
    >>> made.columns, made.cells, made.inf
    (2, (1.0, 2.0, 3.0, 'inf'), 1)
    """
    if isinstance(value, Digest):
        return _of_sample(value)
    try:
        if not values.is_near(value, LARGEST):
            return None
        array = values.host(value)
    except Exception:  # a picture is drawn even of objects that cannot be read
        return None
    if array.dtype.kind not in "biuf" or not array.size:
        return None
    shape, matrix = tuple(array.shape), as_matrix(array).astype(np.float64)
    rows, columns = matrix.shape
    finite = np.isfinite(matrix)
    nan = int(np.isnan(matrix).sum())
    counts: dict[str, Any] = {"nan": nan, "inf": int(matrix.size - finite.sum()) - nan}
    if rows <= MOST and columns <= MOST:
        return Tile(shape, columns, _cells(matrix), **counts)
    block = math.ceil(rows / MOST), math.ceil(columns / MOST)
    means = _block_means(np.where(finite, matrix, np.nan), block)
    if finite.any():
        numbers = matrix[finite]
        counts["low"], counts["high"] = _rounded(np.array([numbers.min(), numbers.max()])).tolist()
        counts["norm"] = float(_rounded(np.array([np.linalg.norm(numbers)]))[0])
        counts["histogram"] = tuple(np.histogram(numbers, BINS)[0].tolist())
    return Tile(shape, means.shape[1], _cells(means), block, **counts)


def _of_sample(digest: Digest) -> Tile | None:
    """The tile of the elements that were kept of a large tensor; its norm is that of all."""
    sampled = tile(digest.read())
    if sampled is None:
        return None
    rows, columns = math.prod(digest.shape[:-1]), digest.shape[-1]
    block = math.ceil(rows / (len(sampled.cells) // sampled.columns)), math.ceil(columns / sampled.columns)
    norm = float(_rounded(np.array([digest.mean_and_norm()[1]]))[0])
    return replace(sampled, shape=digest.shape, block=block, norm=norm if math.isfinite(norm) else 0.0)


def _block_means(matrix: np.ndarray[Any, Any], block: tuple[int, int]) -> np.ndarray[Any, Any]:
    """The mean of each block of rows and columns; NaN for a block that holds one."""
    rows, columns = (range(0, size, step) for size, step in zip(matrix.shape, block, strict=True))
    with np.errstate(invalid="ignore"):
        sums = np.add.reduceat(np.add.reduceat(matrix, rows, axis=0), columns, axis=1)
    ones = np.add.reduceat(np.add.reduceat(np.ones_like(matrix), rows, axis=0), columns, axis=1)
    return np.asarray(sums / ones)


def _rounded(numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """To five significant digits, or three of many numbers."""
    kept = DIGITS if numbers.size <= MANY else FEWER_DIGITS
    sizes = np.abs(numbers)
    digits = np.floor(np.log10(sizes, out=np.zeros_like(sizes), where=(sizes > 0) & np.isfinite(sizes)))
    unit = 10.0 ** np.clip(kept - 1 - digits, -300, 300)
    return np.asarray(np.round(numbers * unit) / unit)


def _cells(matrix: np.ndarray[Any, Any]) -> tuple[float | str, ...]:
    numbers = _rounded(matrix.reshape(-1))
    if np.isfinite(numbers).all():
        return tuple(numbers.tolist())
    return tuple(v if math.isfinite(v) else str(v) for v in numbers.tolist())
