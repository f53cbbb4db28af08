"""The type of a kernel: an elementwise expression as a sequence of ufuncs with ``out=``.

``compiler/lowering.py`` lowers expressions to kernels.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np


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
