"""What has been declared: every operation, and every function made of operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbautograd._engine.compiler.schema import (
    NATIVE,
    NUMPY_NAMES,
    PLAIN,
    POINTWISE,
    UNSUPPORTED,
    UPCAST,
    VIEW,
    OpSchema,
)

__all__ = [
    "COMPOSITES",
    "HELPERS",
    "NATIVE",
    "NUMPY_NAMES",
    "OPS",
    "PLAIN",
    "POINTWISE",
    "UNSUPPORTED",
    "UPCAST",
    "VIEW",
]

OPS: dict[str, OpSchema] = {}
"""Every declared operation by name."""
HELPERS: dict[Callable[..., Any], Callable[..., Any]] = {}
"""Every function that formulas call over arrays and over tensors, and what it is over both."""
COMPOSITES: dict[str, Callable[..., Any]] = {}
"""Every function that is written in terms of operations, by name."""
