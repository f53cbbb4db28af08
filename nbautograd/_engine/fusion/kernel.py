"""The type of a kernel: an elementwise expression as a sequence of ufuncs with ``out=``.

``compiler/lowering.py`` lowers expressions to kernels. Those on a CUDA device are loaded only if a device exists.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend

__all__ = ["SUM", "ElementwiseKernel", "compute_on_device", "is_fusable", "kernels_for", "sum_on_device"]


class ElementwiseKernel:
    """An elementwise computation: as a function of whole operands, as steps over tiles, and as kernels of a device.

    :param eager: ``eager(*operands)`` computes the result at once, with an array for each step.
    :param steps: ``steps(out, scratch, *operands)``: ``scratch`` hold intermediate results. None: not elementwise.
    :param scratch: the number of scratch arrays of ``steps``.
    :param cost: the cost of the steps in passes over memory: slow functions count for several.
    :param is_one_pass: if True, only the result is written, and once, so that it need not stay in the cache.
    """

    __slots__ = ("cost", "eager", "is_one_pass", "launchers", "names", "scratch", "steps")

    def __init__(
        self,
        eager: Callable[..., Any],
        steps: Callable[..., None] | None,
        scratch: int,
        names: list[str],
        cost: int = 0,
        is_one_pass: bool = False,
    ) -> None:
        self.eager, self.steps, self.scratch, self.names, self.cost = eager, steps, scratch, names, cost
        self.is_one_pass = is_one_pass
        self.launchers: dict[Any, Any] = {}
        """Compiled kernels for devices, by the operands' dtypes: see ``fusion/cuda_kernel.py``."""


def _add(out: Any, scratch: Any, g: Any, d: Any) -> None:
    np.add(g, d, out)


SUM = ElementwiseKernel(operator.add, _add, 0, ["g", "d"], 1, True)
"""The sum of two gradients."""


def kernels_for(values: tuple[Any, ...]) -> Any:
    """Return the library that compiles kernels for arrays such as these; None for NumPy arrays."""
    for value in values:
        if value.__class__ is not np.ndarray and hasattr(value, "dtype") and not isinstance(value, np.generic):
            return backend.of(value).kernels()
    return None


def compute_on_device(kernel: ElementwiseKernel, values: tuple[Any, ...], library: Any, fit: Any = None) -> Any:
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
