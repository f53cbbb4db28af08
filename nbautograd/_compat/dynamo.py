"""``torch._dynamo`` and ``torch._inductor``, for programs that use them: marks and settings of a compiler."""

from __future__ import annotations

from typing import Any

from nbautograd._compat.compiler import (
    Settings,
    allow_in_graph,
    assume_constant_result,
    disable,
    is_compiling,
    list_backends,
    reset,
    set_stance,
    substitute_in_graph,
)

__all__ = [
    "allow_in_graph", "assume_constant_result", "config", "disable", "disallow_in_graph", "forbid_in_graph",
    "graph_break", "is_compiling", "is_dynamo_supported", "list_backends", "mark_dynamic", "mark_static",
    "mark_static_address", "maybe_mark_dynamic", "optimize", "reset", "run", "set_stance", "skip_frame",
    "substitute_in_graph",
]  # fmt: skip

config = Settings(
    "nbautograd._dynamo.config", suppress_errors=False, verbose=False, cache_size_limit=8, recompile_limit=8,
    accumulated_cache_size_limit=256, assume_static_by_default=True, automatic_dynamic_shapes=True,
    capture_scalar_outputs=False, capture_dynamic_output_shape_ops=False, optimize_ddp=True, disable=False,
)  # fmt: skip


def is_dynamo_supported() -> bool:
    """Return False: there is no compiler."""
    return False


def graph_break(msg: str = "") -> None:
    """Do nothing: the call tells a compiler where its graph ends."""


def mark_dynamic(t: Any, index: Any, **kwargs: Any) -> None:
    """Do nothing: the call tells a compiler which dimension varies."""


mark_static = mark_static_address = maybe_mark_dynamic = mark_dynamic


def disallow_in_graph(fn: Any) -> Any:
    """Mark a function for a compiler; it runs as it is written."""
    return fn


forbid_in_graph = skip_frame = run = disallow_in_graph


def optimize(backend: Any = "inductor", **kwargs: Any) -> Any:
    """Return a decorator that returns its function; the former name of ``torch.compile``."""
    return disallow_in_graph
