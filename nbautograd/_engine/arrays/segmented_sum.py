"""``array[key] += values`` on a CUDA device without atomic additions: the result is reproducible.

The values are sorted by destination, which makes those of one place adjacent, in their order; then each such segment is
summed by threads with exclusive outputs. Long segments are cut at multiples of 64 and of 4096, so that no thread adds
more than 64 values, however uneven the distribution, until a place has more than 262,144. The host need not know the
number of segments, so it never waits.

Its speed has not been measured, for lack of a device.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

TYPES = {
    "e": ("float16", "float"), "f": ("float", "float"), "d": ("double", "double"), "i": ("int", "int"),
    "l": ("long long", "long long"), "q": ("long long", "long long"), "I": ("unsigned int", "unsigned int"),
    "L": ("unsigned long long", "unsigned long long"), "Q": ("unsigned long long", "unsigned long long"),
}  # fmt: skip
"""The C++ types of an element and of a sum, by NumPy's type character."""
BLOCK_THREADS = 256
MAX_GRID = 1 << 16
"""Blocks; each thread takes several sums if there are more."""
MAX_PARTIAL_SUMS = 1 << 26
"""Maximum number of partial sums kept at once; wider rows are added some columns at a time."""

_SOURCE = """{include}
typedef {element} element_type;
typedef {sum} sum_type;

extern "C" __global__ void nbautograd_segment_sums(
    const long long *places, const long long *order, const element_type *rows, sum_type *partial, element_type *out,
    const long long count, const long long width, const long long first, const long long columns,
    const long long level) {{
  const long long short_step = level == 1 ? 1 : level == 2 ? 64 : 4096;
  const long long long_step = level == 1 ? 64 : 4096;
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < count * columns; at += stride) {{
    const long long i = at / columns;
    const long long column = at % columns;
    const long long place = places[i];
    const bool begins = i == 0 || places[i - 1] != place;
    if (!begins && (level == 3 || i % long_step != 0)) continue;
    sum_type total = level == 1 ? (sum_type)rows[order[i] * width + first + column] : partial[at];
    for (long long j = (i / short_step + 1) * short_step; j < count; j += short_step) {{
      if (places[j] != place || (level != 3 && j % long_step == 0)) break;
      total += level == 1 ? (sum_type)rows[order[j] * width + first + column] : partial[j * columns + column];
    }}
    if (level != 3) {{
      partial[at] = total;
    }} else {{
      element_type &sum = out[place * width + first + column];
      sum = element_type((sum_type)sum + total);
    }}
  }}
}}
"""
_kernels: dict[Any, Any] = {}


def source(char: str) -> str:
    """Return the CUDA C++ for a dtype, given by NumPy's type character, one of ``TYPES``."""
    element, total = TYPES[char]
    include = "#include <cupy/float16.cuh>" if char == "e" else ""
    return _SOURCE.format(include=include, element=element, sum=total)


def add_rows(library: Any, output: Any, index: Any, rows: Any) -> None:
    """Add ``rows`` in place to the rows of ``output`` at ``index``.

    :param library: the library that compiles kernels: CuPy.
    :param output: a matrix, C-contiguous.
    :param index: an integer for each row, negative ones count from the end.
    """
    count, width = rows.shape
    if not count or not width:
        return
    key = (library, output.dtype.char)
    kernel = _kernels.get(key)
    if kernel is None:
        kernel = _kernels[key] = library.RawKernel(
            source(output.dtype.char), "nbautograd_segment_sums", options=("--fmad=false",)
        )
    places = index.astype(np.int64)
    places = np.where(places < 0, places + len(output), places)
    order = places.argsort(kind="stable")
    places, order = places[order], order.astype(np.int64)
    rows = rows.astype(output.dtype, order="C", copy=False)
    columns = max(1, min(width, MAX_PARTIAL_SUMS // count))
    sums = np.dtype(np.float32) if output.dtype.char == "e" else output.dtype
    partial = np.empty_like(output, dtype=sums, shape=(count * columns,))
    for first in range(0, width, columns):
        some = min(columns, width - first)
        grid = (min(-(-count * some // BLOCK_THREADS), MAX_GRID),)
        sizes = tuple(map(np.int64, (count, width, first, some)))
        for level in (1, 2, 3) if count > 64 else (1, 3):
            kernel(grid, (BLOCK_THREADS,), (places, order, rows, partial, output, *sizes, np.int64(level)))


def add_at(library: Any, array: Any, key: Any, values: Any) -> None:
    """Compute ``array[key] += values`` by kernels of a library, CuPy; repeated indices accumulate."""
    index = key[0] if key.__class__ is tuple and key else key
    others = key[1:] if key.__class__ is tuple else ()
    whole = getattr(index, "ndim", 0) > 0 and index.dtype.kind in "iu" and all(item == slice(None) for item in others)
    if whole and array.flags.c_contiguous:
        shape = array.shape
        rows = np.broadcast_to(values, (*index.shape, *shape[1:])).reshape((index.size, math.prod(shape[1:])))
        add_rows(library, array.reshape((shape[0], rows.shape[1])), index.reshape((-1,)), rows)
        return
    places = library.arange(array.size).reshape(array.shape)[key]
    total = np.zeros_like(array, shape=(array.size, 1), order="C")
    added = np.broadcast_to(values, places.shape).reshape((-1, 1))
    add_rows(library, total, places.reshape((-1,)), added)
    array += total.reshape(array.shape)
