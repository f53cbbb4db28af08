"""Operations that formulas need and users do not call: undoing broadcasting, casting, spreading a sum out again.

They are declared like all others, so that they have derivatives too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd.declare import PLAIN, op
from nbautograd.size import dimensions
from nbautograd.tensor import Tensor

__all__ = ["cast", "ratio", "reduced_shape", "spread", "sum_to"]


def reduced_shape(shape: tuple[int, ...], dim: Any) -> tuple[int, ...]:
    """The shape after reducing ``dim`` with ``keepdim=True``."""
    if dim is None:
        return (1,) * len(shape)
    gone = dimensions(dim, len(shape))
    return tuple(1 if d in gone else n for d, n in enumerate(shape))


def ratio(g: Any, result: Any) -> Any:
    """``g / result``, but 0 where ``result`` is 0."""
    safe = result + (result == 0) * 1
    return g / safe * (result != 0)


@op(node="SumToSizeBackward0", symbol="Σ", kind=PLAIN, input="expand(g, *input.shape)")
def sum_to(input: Tensor, shape: Any) -> Tensor:
    """The sum over the dimensions along which ``shape`` was broadcast: undoes broadcasting, for gradients."""
    if input.shape == shape:
        return input.copy()
    extra = input.ndim - len(shape)
    axes = [*range(extra), *(d + extra for d, n in enumerate(shape) if n == 1 != input.shape[d + extra])]
    if extra < 0 or any(n != 1 and n != input.shape[d + extra] for d, n in enumerate(shape)):
        raise RuntimeError(f"size {list(shape)} is not expandable to size {list(input.shape)}")
    if input.__class__ is np.ndarray and input.ndim == 2 and axes == [0] and input.dtype.kind == "f":
        # A bias gradient: as a product with ones it is many times faster than NumPy's sum, and more accurate.
        return (np.ones((1, input.shape[0]), input.dtype) @ input).reshape(shape)
    return input.sum(tuple(axes), None, None, True).reshape(shape)


@op(node="ToCopyBackward0", symbol="cast", kind=PLAIN, input="cast_back(g, input.dtype)")
def cast(input: Tensor, dtype: Any) -> Tensor:
    """The values in another dtype, a NumPy one."""
    return input.astype(dtype)


@op(node="ToCopyBackward0", symbol="cast", kind=PLAIN, input="cast_back(g, input.dtype)", method=False)
def cast_back(input: Tensor, dtype: Any) -> Tensor:
    """A gradient in the dtype of its input: the real part where the input was real."""
    if input.dtype.kind == "c" and dtype.kind != "c":
        input = input.real
    return input.astype(dtype)


@op(
    node="ExpandBackward0",
    symbol="spread",
    kind=PLAIN,
    method=False,
    input="sum_over(g, dim, keepdim).reshape(input.shape)",
)
def spread(input: Tensor, shape: Any, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Undo a sum over ``dim``: repeat along the summed dimensions, without copying where the array allows it."""
    if input.ndim == 0 and input.__class__ is not np.ndarray and isinstance(input, np.generic):
        return np.ndarray(shape, input.dtype, input, 0, (0,) * len(shape)) if shape else input
    kept = input if keepdim else input.reshape(reduced_shape(shape, dim))
    if kept.__class__ is np.ndarray:
        strides = tuple(s if n == m else 0 for s, n, m in zip(kept.strides, kept.shape, shape, strict=True))
        return (
            np.ndarray(shape, kept.dtype, kept, 0, strides) if kept.flags.c_contiguous else np.broadcast_to(kept, shape)
        )
    return np.broadcast_to(kept, shape)
