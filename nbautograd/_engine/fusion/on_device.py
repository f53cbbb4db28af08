"""Fused kernels on a CUDA device, as seen by code for NumPy: loaded only if a device exists."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from nbautograd._engine.arrays import backend

if TYPE_CHECKING:
    from nbautograd._engine.fusion.kernel import ElementwiseKernel

__all__ = ["compute", "is_fusable", "kernels_for", "sum_on_device"]


def kernels_for(values: tuple[Any, ...]) -> Any:
    """Return the library that compiles kernels for arrays such as these; None for NumPy arrays."""
    for value in values:
        if value.__class__ is not np.ndarray and hasattr(value, "dtype") and not isinstance(value, np.generic):
            return backend.of(value).kernels()
    return None


def compute(kernel: ElementwiseKernel, values: tuple[Any, ...], library: Any, fit: Any = None) -> Any:
    """Call ``cuda_kernel.compute``."""
    from nbautograd._engine.fusion import cuda_kernel

    return cuda_kernel.compute(kernel, values, library, fit)


def is_fusable(kernel: ElementwiseKernel, values: tuple[Any, ...], library: Any) -> bool:
    """Call ``cuda_kernel.is_fusable``."""
    from nbautograd._engine.fusion import cuda_kernel

    return cuda_kernel.is_fusable(kernel, values, library)


def sum_on_device(function: Callable[..., Any], operands: tuple[Any, ...], axes: Any, keepdims: bool) -> Any:
    """Sum the values of ``function`` for each element over ``axes``, by a kernel; None if that is not faster."""
    library = kernels_for(operands)
    if library is None:
        return None
    from nbautograd._engine.fusion import cuda_kernel

    return cuda_kernel.sum_of(function, operands, library, axes, keepdims)
