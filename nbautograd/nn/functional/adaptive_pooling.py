"""Adaptive pooling: averages and maxima of windows that divide the input into a given number of cells."""

from __future__ import annotations

from typing import Any

from nbautograd._engine.arrays.strides import is_channels_last
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.queries import check_tensors
from nbautograd._engine.ops.signal import pool
from nbautograd.errors import ShapeError
from nbautograd.nn.functional._common import floating_only
from nbautograd.nn.functional.pooling import Ints, as_2d

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d", "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d", "adaptive_max_pool3d_with_indices",
]  # fmt: skip


def _cells(name: str, n: int, input: Tensor, output_size: Any) -> tuple[int, ...]:
    """Return the output size; None keeps that of the input."""
    check_tensors(name, input=input)
    if n > 1 and isinstance(output_size, (tuple, list)) and input._a.ndim <= n:
        raise ValueError(f"{name}(): Input dimension should be at least {n + 1}, got shape {list(input._a.shape)}")
    _check_dimensions(name, n, input)
    if 0 in input._a.shape[-2 if "avg" in name and n < 3 else 1 :]:
        raise ShapeError(
            f"{name}(): Expected input to have non-zero size for non-batch dimensions, but it has sizes "
            f"{list(input._a.shape)}"
        )
    floating_only(name, input)
    items = output_size if isinstance(output_size, (tuple, list)) else (output_size,) * n
    if len(items) != n:
        raise RuntimeError(f"{name}(): output_size must be {n} numbers, got {output_size!r}")
    result = tuple(m if k is None else int(k) for k, m in zip(items, input._a.shape[-n:], strict=True))
    if min(result) < 0:
        raise RuntimeError(
            f"{name}(): elements of output_size must be greater than or equal to 0 but received {output_size!r}"
        )
    return result


def _check_dimensions(name: str, n: int, input: Tensor) -> None:
    if input._a.ndim not in (n + 1, n + 2):
        raise ShapeError(f"{name}(): Expected {n + 1}D or {n + 2}D tensor, but got {list(input._a.shape)}")


def _avg(name: str, n: int, input: Tensor, output_size: Any) -> Tensor:
    """Return the means of cells; of a single one, in any number of dimensions and also of complex numbers."""
    if isinstance(output_size, (tuple, list)):
        is_single = len(output_size) == n < input._a.ndim and all(k == 1 for k in output_size)
    else:
        is_single = output_size == 1
    if is_single and not (n == 2 and is_channels_last(input._a)):
        return input.mean(tuple(range(-n, 0)), True)
    return pool.ADAPTIVE_AVG[n](input, _cells(name, n, input, output_size))


def adaptive_avg_pool1d(input: Tensor, output_size: Ints) -> Tensor:
    """Divide ``input`` into ``output_size`` cells along the last dimension, and return their means."""
    check_tensors("adaptive_avg_pool1d", input=input)
    _check_dimensions("adaptive_avg_pool1d", 1, input)
    items = output_size if isinstance(output_size, (tuple, list)) else (output_size,)
    return _avg("adaptive_avg_pool1d", 2, input.unsqueeze(-2), (1, *items)).squeeze(-2)


def adaptive_avg_pool2d(input: Tensor, output_size: Ints) -> Tensor:
    """Divide ``input`` into ``output_size`` cells along the last dimensions, and return their means."""
    return _avg("adaptive_avg_pool2d", 2, input, output_size)


def adaptive_avg_pool3d(input: Tensor, output_size: Ints) -> Tensor:
    """Divide ``input`` into ``output_size`` cells along the last dimensions, and return their means."""
    return _avg("adaptive_avg_pool3d", 3, input, output_size)


def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: Ints, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """Return :func:`adaptive_max_pool1d` and the index of each maximum in the last dimension."""
    out = _cells("adaptive_max_pool1d", 1, input, output_size)
    values, indices = pool.ADAPTIVE_MAX[2](input.unsqueeze(-2), as_2d(out, 1))
    return values.squeeze(-2), indices.squeeze(-2)


def adaptive_max_pool1d(input: Tensor, output_size: Ints, return_indices: bool = False) -> Any:
    """Divide ``input`` into ``output_size`` cells along the last dimension, and return their maxima."""
    result = adaptive_max_pool1d_with_indices(input, output_size)
    return result if return_indices else result[0]


def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: Ints, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """Return :func:`adaptive_max_pool2d` and the index of each maximum in the flattened last two dimensions."""
    return pool.ADAPTIVE_MAX[2](input, _cells("adaptive_max_pool2d", 2, input, output_size))


def adaptive_max_pool2d(input: Tensor, output_size: Ints, return_indices: bool = False) -> Any:
    """Divide ``input`` into ``output_size`` cells along the last dimensions, and return their maxima."""
    result = adaptive_max_pool2d_with_indices(input, output_size)
    return result if return_indices else result[0]


def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: Ints, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """Return :func:`adaptive_max_pool3d` and the index of each maximum in the flattened last three dimensions."""
    return pool.ADAPTIVE_MAX[3](input, _cells("adaptive_max_pool3d", 3, input, output_size))


def adaptive_max_pool3d(input: Tensor, output_size: Ints, return_indices: bool = False) -> Any:
    """Divide ``input`` into ``output_size`` cells along the last dimensions, and return their maxima."""
    result = adaptive_max_pool3d_with_indices(input, output_size)
    return result if return_indices else result[0]
