"""Views that were written to, and views of these, as operations that make new tensors.

``y[0] = x`` gives the base of the view a node with the old base and the written values. A program computes the new base
by ``select_scatter``, and the new value of a view by the operation that created the view, or by its strides.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._engine.arrays import strides
from nbautograd._engine.compiler.registry import OPS
from nbautograd._engine.compiler.schema import OpSchema
from nbautograd._engine.core.views import CopySlices, replay_view

__all__ = ["as_operation"]

SCATTERING = {"select": "select_scatter", "slice_": "slice_scatter", "diagonal": "diagonal_scatter"}
"""By the operation that creates a view, the one that replaces it in a copy of the whole."""


def as_operation(node: Any, shape: tuple[int, ...]) -> tuple[OpSchema, dict[str, Any]]:
    """The operation of the same value as such a node, with its options.

    :param shape: of the base.
    """
    from nbautograd._engine.ops.indexing import slice_scatter  # noqa: F401 - declares what replaces a part

    if len(node.steps) == 1:
        _, function, values = node.steps[0]
        op = getattr(function, "__globals__", {}).get("OP")
        if type(node) is CopySlices:
            op = OPS.get(SCATTERING.get(getattr(op, "name", ""), ""))
        if isinstance(op, OpSchema) and not op.rest and not op.many:
            options = [name for name in op.positional if name not in op.tensors]
            defaults = {
                name: parameter.default
                for name, parameter in op.signature.parameters.items()
                if parameter.default is not parameter.empty
            }
            return op, defaults | dict(zip(options, values, strict=False))
    home, view = _geometry(node, shape)
    if type(node) is CopySlices:
        return OPS["strided_scatter"], {"view": view, "home": home, "length": home.end()}
    return OPS["as_strided_in"], {
        "size": view.shape,
        "stride": view.strides,
        "storage_offset": view.offset,
        "home": home,
    }


def _geometry(node: Any, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """Return the memory layout of the base and of the view."""
    if node.layout is None:
        base = np.empty(shape, np.int8)
    else:
        geometry, length = node.layout
        base = strides.restride(np.empty(length, np.int8), geometry.shape, geometry.strides)
    return strides.of(base), strides.of(replay_view(base, node.steps))
