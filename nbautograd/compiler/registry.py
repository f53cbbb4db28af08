"""What has been declared: every operation and every function made of operations, and the words that describe them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbautograd.compiler.op import CompiledOp

__all__ = ["COMPOSITES", "NATIVE", "NUMPY_NAMES", "OPS", "PLAIN", "POINTWISE", "UNSUPPORTED", "UPCAST", "VIEW"]

PLAIN = "plain"
"""The body gets the arrays as they are."""
POINTWISE = "pointwise"
"""Inputs are promoted to one dtype and broadcast; numbers may stand for tensors; there are ``name_`` and ``out=``."""
VIEW = "view"
"""The result shares the first input's memory."""

UPCAST, NATIVE, UNSUPPORTED = "upcast", "native", "unsupported"
"""What an operation does with numbers of half precision."""

NUMPY_NAMES = {"dim": "axis", "keepdim": "keepdims"}
"""What NumPy calls these parameters; PyTorch accepts both everywhere."""

OPS: dict[str, CompiledOp] = {}
"""Every declared operation by name."""
COMPOSITES: dict[str, Callable[..., Any]] = {}
"""Every function that is written in terms of operations, by name."""
