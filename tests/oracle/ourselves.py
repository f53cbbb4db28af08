"""Two ways of ours to compute the same, where PyTorch has no answer: the oracle's bound, from runs of our own.

As in ``comparison.py``: the second way runs once more in another precision, and twice with inputs moved by a unit. For
each tensor of its result, b is the larger of the former's difference and half of the latter's, as rounding
moves numbers by half a unit, plus one unit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np

from nbautograd.utils._pytree import tree_map
from tests.oracle.answers import Array, Named, plain

__all__ = ["bounded"]

OTHER = {"float16": "float64", "bfloat16": "float64", "float32": "float64", "float64": "float32",
         "complex64": "complex128", "complex128": "complex64"}  # fmt: skip
COARSE = {"float32": ml_dtypes.bfloat16, "float64": np.float32}
DOWN = 2.0**-29  # the unit of float64 relative to that of float32


def bounded(program: Callable[..., Any], inputs: tuple[Any, ...], result: Any) -> Any:
    """The result of a program of arrays, and of their dtypes, as plain data, with bounds."""
    arrays = list(_arrays(result))
    errors = [0.0] * len(arrays)
    for change in (_in_other_precision, lambda x: _moved(x, 1), lambda x: _moved(x, 2)):
        try:
            changed = plain(program(*tree_map(change, inputs)))
        except (RuntimeError, TypeError):  # an operation of one precision
            continue
        for i, (array, other) in enumerate(zip(arrays, _arrays(changed), strict=True)):
            share = 0.5 if other.dtype == array.dtype else DOWN if array.dtype in ("float64", "complex128") else 1.0
            with np.errstate(invalid="ignore"):  # infinities
                errors[i] = max(errors[i], _largest(_wide(array) - _wide(other)) * share)
    for array, error in zip(arrays, errors, strict=True):
        if array.dtype in OTHER and array.values.size:
            array.bound = error + float(ml_dtypes.finfo(array.values.dtype).eps) * _largest(_wide(array))
    return result


def _arrays(value: Any) -> Iterator[Array]:
    if isinstance(value, Array):
        yield value
    elif isinstance(value, Named):
        yield from _arrays(value.parts)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _arrays(part)


def _wide(array: Array) -> Any:
    return array.values.astype(np.complex128 if array.values.dtype.kind == "c" else np.float64)


def _largest(values: Any) -> float:
    return float(np.nan_to_num(np.abs(values), nan=0, posinf=0).max(initial=0))


def _in_other_precision(x: Any) -> Any:
    if isinstance(x, np.dtype):
        return np.dtype(OTHER.get(x.name, x))
    return x.astype(OTHER[x.dtype.name]) if isinstance(x, np.ndarray) and x.dtype.name in OTHER else x


def _moved(x: Any, seed: int) -> Any:
    """Numbers of many digits, one unit up or down; equal ones equally, so that ties stay ties."""
    if not isinstance(x, np.ndarray) or x.dtype.name not in COARSE:
        return x
    is_up = np.modf(np.abs(x.astype(np.float64)) * 9973.0 * seed)[0] > 0.5
    moved = np.nextafter(x, np.where(is_up, np.inf, -np.inf).astype(x.dtype))
    return np.where(x.astype(COARSE[x.dtype.name]).astype(x.dtype) != x, moved, x)
