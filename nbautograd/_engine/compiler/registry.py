"""The registry of declarations: every operation, and every function composed of operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbautograd._engine.compiler.schema import OpSchema

__all__ = ["COMPOSITES", "HELPERS", "OPS"]

OPS: dict[str, OpSchema] = {}
"""Every declared operation by name."""
HELPERS: dict[Callable[..., Any], Callable[..., Any]] = {}
"""Every function that formulas call over arrays and over tensors, and its versions for both."""
COMPOSITES: dict[str, Callable[..., Any]] = {}
"""Every function written in terms of operations, by name."""
