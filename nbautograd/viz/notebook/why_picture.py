"""The picture below the answer to ``%why``: the graph, with the operation that is to blame in red."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from nbautograd.viz.notebook.picture import Picture
from nbautograd.viz.read.builder import build

__all__ = ["picture_of"]


def picture_of(root: Any, names: Mapping[str, Any], blame: Any = None, message: str = "") -> Picture | None:
    """Return the graph of a result; None if it cannot be drawn.

    :param blame: the node that is drawn red, with this message.
    """
    try:
        model = build(root, names, fold=None)
    except Exception:  # the answer stands without a picture
        return None
    key = model.entire.handles.of(blame) if blame is not None else None
    key = model.stands.get(key, key) if key is not None else None
    nodes = tuple(replace(node, failed=message) if node.id == key else node for node in model.nodes)
    return Picture(replace(model, nodes=nodes))
