"""A tensor as a small matrix of numbers, which a picture colors: a *tile*.

Up to 16 by 16 elements a tile holds every number. Of a larger tensor it holds the means of blocks of elements, and a
histogram of all of them. NaN and infinity are counted and marked, never averaged away.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from nbautograd.viz.read import values
from nbautograd.viz.read.values import BOOLS, INTEGERS, SUMMARY, Digest, number_text, printed

__all__ = ["MAX_SIDE_CELLS", "Tile", "coarser", "is_tiled", "repeated_number", "tile", "tile_of"]

MAX_SIDE_CELLS = 16
"""Rows and columns of a tile."""
MAX_READ_ELEMENTS = 4_000_000  # of a tensor
HISTOGRAM_BINS = 24
MAX_EXACT_INTEGER = 2**53  # up to here a float holds every integer
MAX_EXACT_CELLS = 64  # larger tiles keep their numbers as shown


@dataclass(frozen=True, slots=True)
class Tile:
    """A tensor of numbers as a matrix of at most 16 by 16 cells, row by row."""

    shape: tuple[int, ...]
    """Of the tensor."""
    columns: int
    cells: tuple[float | str, ...]
    """Numbers; ``nan``, ``inf`` and ``-inf`` as text, because JSON does not have them."""
    block: tuple[int, int] = (1, 1)
    """The number of rows and columns of the matrix of which a cell is the mean."""
    histogram: tuple[int, ...] = ()
    """Counts of the finite elements between ``low`` and ``high``, where cells are means."""
    low: float = 0.0
    high: float = 0.0
    norm: float = 0.0
    """Range of all elements, if cells are means."""
    nan: int = 0
    inf: int = 0
    form: str = ""
    """The form of its numbers: one of those in ``numbers``, or nothing for floating elements."""


def repeated_number(tile: Tile | None) -> str:
    """Return the number that each element of a tensor is; nothing if they differ, or are not all there."""
    if tile is None or tile.block != (1, 1) or len({*tile.cells}) != 1:
        return ""
    return number_text(tile.cells[0], tile.form)


def is_tiled(tile: Tile | None) -> bool:
    """Return whether a tensor is drawn as a tile: a single number is written as a text."""
    return tile is not None and len(tile.cells) > 1


def coarser(known: Tile, most: int) -> Tile:
    """Return the tile in at most this many rows and columns, whose cells are means.

    >>> coarser(tile(np.arange(16.0).reshape(4, 4)), 2).cells
    (2.5, 4.5, 10.5, 12.5)
    """
    matrix = np.array([float(v) for v in known.cells]).reshape(-1, known.columns)
    down, across = (math.ceil(size / most) for size in matrix.shape)
    if down == across == 1:
        return known
    means = _block_means(matrix, (down, across))
    block = known.block[0] * down, known.block[1] * across
    return replace(known, columns=means.shape[1], cells=_means(means), block=block,
                   form=BOOLS if known.form == BOOLS else SUMMARY)  # fmt: skip


def as_matrix(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array with two axes: a number and a vector are a row, axes before the last one go down the rows.

    >>> as_matrix(np.zeros(3)).shape, as_matrix(np.zeros((2, 3, 4))).shape
    ((1, 3), (6, 4))
    """
    return array.reshape(-1, array.shape[-1]) if array.ndim else array.reshape(1, 1)


def tile(value: Any) -> Tile | None:
    """The tile of a real tensor or number; None for None, and for complex, empty, many or inexact values.

    >>> made = tile(np.float32([[1, 2], [3, np.inf]]))
    >>> made.columns, made.cells, made.inf
    (2, (1.0, 2.0, 3.0, 'inf'), 1)
    """
    if value is None:
        return None
    if isinstance(value, Digest):
        return _of_sample(value)
    try:
        is_read = type(value) is np.ndarray and value.size <= MAX_READ_ELEMENTS
        array = value if is_read else values.near(value, MAX_READ_ELEMENTS)
    except Exception:  # objects that cannot be read still get a picture
        return None
    return None if array is None else tile_of(array)


def tile_of(array: np.ndarray[Any, Any]) -> Tile | None:
    """The tile of an array."""
    if array.dtype.kind not in "biuf" or not array.size:
        return None
    return _small(array.tobytes(), array.dtype, array.shape) if array.size <= MAX_EXACT_CELLS else _tile_of(array)


@lru_cache(maxsize=1024)
def _small(data: bytes, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Tile | None:
    return _tile_of(np.frombuffer(data, dtype).reshape(shape))


def _tile_of(array: np.ndarray[Any, Any]) -> Tile | None:
    if array.dtype.kind in "iu" and ((array > MAX_EXACT_INTEGER) | (array < -MAX_EXACT_INTEGER)).any():
        return None
    if array.size == 1 and array.dtype.kind == "f":
        number = float(array.item())
        cell = number if math.isfinite(number) else str(number)
        return Tile(array.shape, 1, (cell,), nan=int(math.isnan(number)), inf=int(math.isinf(number)))
    shape, matrix = tuple(array.shape), as_matrix(array).astype(np.float64)
    rows, columns = matrix.shape
    finite = np.isfinite(matrix)
    nan = int(np.isnan(matrix).sum())
    counts: dict[str, Any] = {"nan": nan, "inf": int(matrix.size - finite.sum()) - nan}
    if rows <= MAX_SIDE_CELLS and columns <= MAX_SIDE_CELLS:
        form = {"b": BOOLS, "f": ""}.get(array.dtype.kind, INTEGERS)
        cells = _cells(matrix)
        if len(cells) > MAX_EXACT_CELLS and not form:
            cells = tuple(v if isinstance(v, str) else float(printed(v)) for v in cells)
        return Tile(shape, columns, cells, **counts, form=form)
    if array.dtype.kind in "iu":
        return None  # the mean of labels is meaningless
    block = math.ceil(rows / MAX_SIDE_CELLS), math.ceil(columns / MAX_SIDE_CELLS)
    means = _block_means(np.where(finite, matrix, np.nan), block)
    if finite.any():
        numbers = matrix[finite]
        ends = (numbers.min(), numbers.max(), np.linalg.norm(numbers))
        counts["low"], counts["high"], counts["norm"] = (float(number_text(float(end), SUMMARY)) for end in ends)
        counts["histogram"] = tuple(np.histogram(numbers, HISTOGRAM_BINS)[0].tolist())
    return Tile(shape, means.shape[1], _means(means), block, **counts, form=SUMMARY)


def _of_sample(digest: Digest) -> Tile | None:
    """The tile of the elements that were kept of a large tensor; its norm is that of all."""
    sampled = tile(digest.read())
    if sampled is None:
        return None
    rows, columns = math.prod(digest.shape[:-1]), digest.shape[-1]
    block = math.ceil(rows / (len(sampled.cells) // sampled.columns)), math.ceil(columns / sampled.columns)
    norm = digest.mean_and_norm()[1]
    norm = float(number_text(norm, SUMMARY)) if math.isfinite(norm) else 0.0
    return replace(sampled, shape=digest.shape, block=block, norm=norm, form=SUMMARY)


def _block_means(matrix: np.ndarray[Any, Any], block: tuple[int, int]) -> np.ndarray[Any, Any]:
    """The mean of each block of rows and columns; NaN for a block that holds one."""
    rows, columns = (range(0, size, step) for size, step in zip(matrix.shape, block, strict=True))
    with np.errstate(invalid="ignore"):
        sums = np.add.reduceat(np.add.reduceat(matrix, rows, axis=0), columns, axis=1)
    ones = np.add.reduceat(np.add.reduceat(np.ones_like(matrix), rows, axis=0), columns, axis=1)
    return np.asarray(sums / ones)


def _means(matrix: np.ndarray[Any, Any]) -> tuple[float | str, ...]:
    """To the three digits of a summary."""
    sizes = np.abs(matrix)
    digits = np.floor(np.log10(sizes, out=np.zeros_like(sizes), where=(sizes > 0) & np.isfinite(sizes)))
    unit = 10.0 ** np.clip(2 - digits, -300, 300)
    return _cells(np.asarray(np.round(matrix * unit) / unit))


def _cells(matrix: np.ndarray[Any, Any]) -> tuple[float | str, ...]:
    numbers = matrix.reshape(-1).tolist()
    if all(map(math.isfinite, numbers)):
        return tuple(numbers)
    return tuple([v if math.isfinite(v) else str(v) for v in numbers])
