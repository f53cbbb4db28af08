"""Pytrees: nested tuples, lists and dicts, flattened to their leaves and rebuilt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["TreeSpec", "broadcast_prefix", "flatten", "is_leaf", "tree_map", "unflatten"]


class TreeSpec:
    """The structure of a tree: the type of its root, the keys of a dict, and the structures below; ``LEAF`` is a leaf.

    :param type: the class of a tuple, list or dict; None for a leaf.
    """

    __slots__ = ("children", "keys", "type")

    def __init__(self, type: Any, keys: Any, children: list[TreeSpec]) -> None:
        self.type, self.keys, self.children = type, keys, children

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return (self.type, self.keys, self.children) == (other.type, other.keys, other.children)

    __hash__ = None  # type: ignore[assignment]

    def count(self) -> int:
        """The number of leaves."""
        return 1 if self.type is None else sum(child.count() for child in self.children)

    def __repr__(self) -> str:
        if self.type is None:
            return "*"
        return f"TreeSpec({self.type.__name__}, {self.keys}, [{', '.join(map(repr, self.children))}])"


LEAF = TreeSpec(None, None, [])


def is_leaf(tree: Any) -> bool:
    """Whether a value is a leaf: not a tuple, list or dict."""
    return not isinstance(tree, (tuple, list, dict))


def flatten(tree: Any) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree from left to right, and its structure.

    >>> flatten({"a": 1, "b": (2, 3)})
    ([1, 2, 3], TreeSpec(dict, ['a', 'b'], [*, TreeSpec(tuple, None, [*, *])]))
    """
    if is_leaf(tree):
        return [tree], LEAF
    keys = list(tree) if isinstance(tree, dict) else None
    leaves: list[Any] = []
    children = []
    for part in tree.values() if isinstance(tree, dict) else tree:
        below, spec = flatten(part)
        leaves += below
        children.append(spec)
    return leaves, TreeSpec(type(tree), keys, children)


def unflatten(leaves: Any, spec: TreeSpec) -> Any:
    """The tree of a structure with these leaves."""
    return _build(iter(leaves), spec)


def _build(leaves: Any, spec: TreeSpec) -> Any:
    if spec.type is None:
        return next(leaves)
    parts = [_build(leaves, child) for child in spec.children]
    if spec.keys is not None:
        return spec.type(zip(spec.keys, parts, strict=True))
    return getattr(spec.type, "_make", spec.type)(parts)  # of a namedtuple, _make


def tree_map(function: Callable[[Any], Any], tree: Any) -> Any:
    """The tree with ``function`` applied to each leaf."""
    if is_leaf(tree):
        return function(tree)
    leaves, spec = flatten(tree)
    return unflatten(map(function, leaves), spec)


def broadcast_prefix(prefix: Any, spec: TreeSpec) -> list[Any] | None:
    """For each leaf of a structure the leaf of ``prefix`` above it; None where the two do not fit.

    >>> broadcast_prefix((0, None), flatten(({"w": 1.0, "b": 2.0}, 3.0))[1])
    [0, 0, None]
    """
    if is_leaf(prefix):
        return [prefix] * spec.count()
    children = list(prefix.values()) if isinstance(prefix, dict) else list(prefix)
    if type(prefix) is not spec.type or len(children) != len(spec.children):
        return None
    if isinstance(prefix, dict):
        if set(prefix) != set(spec.keys):
            return None
        children = [prefix[key] for key in spec.keys]
    parts = [broadcast_prefix(child, below) for child, below in zip(children, spec.children, strict=True)]
    return None if any(part is None for part in parts) else [leaf for part in parts if part for leaf in part]
