"""Binary search in sorted sequences."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend, dtypes
from nbautograd._engine.arrays.indices import as_int64
from nbautograd._engine.compiler.op import check_option, composite, no_method
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd._engine.ops.queries import example


@no_method()
def search(sequence: Tensor, values: Tensor, right: bool, sorter: Tensor | None) -> Tensor:
    """Compute ``searchsorted`` of arrays; each of several sequences has its own row of values."""
    if sorter is not None:
        sequence = np.take_along_axis(sequence, sorter, -1)
    n = sequence.shape[-1]
    result: Any
    if sequence.ndim == 1:
        result = np.searchsorted(sequence, values, "right" if right else "left")
    else:
        # Sort both together, stably: a value's rank minus the number of values before it is its insertion index.
        m = values.shape[-1]
        both = np.concatenate([sequence, values] if right else [values, sequence], -1)
        places = np.argsort(both, -1, kind="stable")
        is_value = places >= n if right else places < m
        counted = np.arange(n + m, like=places) - (is_value.cumsum(-1) - 1)
        result = np.empty_like(values, np.int64)
        index = np.nonzero(is_value)
        result[(*index[:-1], (places - n if right else places)[index])] = counted[index]
    return as_int64(np.where(values != values, n, result))  # nan sorts last, also after other nans


def _searched(name: str, sequence: Tensor, values: Any, out_int32: bool, right: bool, sorter: Any) -> Tensor:
    if not isinstance(values, Tensor):
        if sequence._a.ndim != 1:
            raise RuntimeError(
                f"{name}(): input value can be a scalar only when boundaries tensor dimension is 1, but we got "
                f"boundaries tensor dim({sequence._a.ndim})"
            )
        values = check_option(name, "input", values, "Number")
        values = wrap(backend.module(sequence.device).asarray(values))
    _check_search(name, sequence._a, values._a, sorter)
    result = search(sequence.detach(), values.detach(), right, sorter)
    return result.to(dtypes.int32) if out_int32 else result


def _check_search(name: str, a: Any, b: Any, sorter: Tensor | None) -> None:
    """Check the arrays of the sorted sequences and of the values, and the indices that sort the sequences."""
    if not a.ndim:
        raise RuntimeError(f"{name}(): boundaries tensor should have positive dimension, but got 0 dimension")
    if a.ndim > 1 and (a.ndim != b.ndim or a.shape[:-1] != b.shape[:-1]):
        raise RuntimeError(
            f"{name}(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and "
            f"input value tensor must match, but we got boundaries tensor {list(a.shape)} and input value tensor "
            f"{list(b.shape)}"
        )
    if sorter is not None and sorter._a.shape != a.shape:
        raise RuntimeError(
            f"{name}(): boundary and sorter must have the same size, but got boundary tensor {list(a.shape)} and got "
            f"sorter tensor {list(sorter._a.shape)}"
        )
    if sorter is not None and sorter._a.dtype != np.int64:
        raise RuntimeError(
            f"{name}(): sorter must be a tensor of long dtype but got dtype {dtypes.scalar_type(sorter.dtype)}"
        )
    if a.dtype.kind == "c" or b.dtype.kind == "c":
        raise NotImplementedError(f"{name}(): does not support complex input, which has no order")


@composite(method=False, out=True)
@example("searchsorted([1, 3, 5], [3, 6]) -> [1, 3]")
def searchsorted(
    sorted_sequence: Tensor, input: Any, *, out_int32: bool = False, right: bool = False, side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return the indices at which inserting the values keeps a sorted sequence sorted, by binary search.

    :param sorted_sequence: 1-d, or with one sequence for each row of ``input``.
    :param right: insert after equal elements, not before them; equivalent to ``side="right"``.
    :param sorter: the indices that sort the sequence, if it is not sorted.
    :param out_int32: return int32, not int64.
    :raises RuntimeError: the shapes do not match, or right and side contradict each other.
    """
    if side not in (None, "left", "right"):
        raise RuntimeError(f"searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError("searchsorted(): side and right can't be set to opposites, got side of left, right was True")
    return _searched("searchsorted", sorted_sequence, input, out_int32, right or side == "right", sorter)


@composite(method=False, out=True)
@example("bucketize([3, 6, 9], [1, 3, 5, 7, 9]) -> [1, 3, 4]")
def bucketize(input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """Return the index of each value's bucket: the number of boundaries below it.

    :param right: buckets include their left boundary, not their right one.
    """
    if boundaries._a.ndim != 1:
        raise RuntimeError(f"bucketize(): boundaries tensor must be 1 dimension, but got dim({boundaries._a.ndim})")
    return _searched("bucketize", boundaries, input, out_int32, right, None)
