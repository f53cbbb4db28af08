"""The type of a kernel: an elementwise expression as a sequence of ufuncs with ``out=``.

``compiler/elementwise.py`` lowers expressions to kernels.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

__all__ = ["SUM", "ElementwiseKernel"]


class ElementwiseKernel(NamedTuple):
    """An elementwise computation: as a function of whole operands, and as steps over tiles."""

    eager: Callable[..., Any]
    """``eager(*operands)`` computes the result at once, with an array for each step."""
    steps: Callable[..., None] | None
    """``steps(out, scratch, *operands)``: ``scratch`` hold intermediate results. None: not elementwise."""
    scratch: int
    """How many scratch arrays ``steps`` needs."""
    names: list[str]
    cost: int = 0
    """How many passes over memory the steps are worth: functions that take long count for several."""


def _add(out: Any, scratch: Any, g: Any, d: Any) -> None:
    np.add(g, d, out)


SUM = ElementwiseKernel(operator.add, _add, 0, ["g", "d"], 1)
"""The sum of two gradients."""
