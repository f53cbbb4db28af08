"""Shared docstrings of the functions of ``utils._pytree``."""

from __future__ import annotations

from collections.abc import Mapping

from nbautograd._names.docstrings import Family

__all__ = ["FAMILIES", "SHARED"]

SHARED: Mapping[str, str] = {
    "func": "the function.",
    "is_leaf": "a function that returns True for a container to treat as a leaf.",
    "pred": "a function called with leaves; its result is used as a bool.",
    "rests": "further trees, of the first one's structure down to its leaves; ``func`` also gets their parts.",
    "tree": "nested containers; anything else is a tree of one leaf.",
    "type_or_types": "a class, or a tuple of classes.",
    "type_or_types_or_pred": "a class, a tuple of classes, or a function that selects objects.",
}
OTHER_STRUCTURE = (("ValueError", "a further tree has another structure"),)
NO_KEYS = ("ValueError", "a container has been registered without ``flatten_with_keys_fn``")
FAMILIES: Mapping[str, Family] = {
    "map_only": ({}, "a decorator of functions of one argument.", ()),
    "register_constant": ({"cls": "the class."}, "None.", ()),
    "register_dataclass": ({"cls": "the class."}, "None.", ()),
    "register_pytree_node": ({"cls": "the class."}, "None.", ()),
    "tree_all": ({}, "a Python bool; True if there are no leaves.", ()),
    "tree_all_only": ({}, "a Python bool; True if there are no such leaves.", ()),
    "tree_any": ({}, "a Python bool; False if there are no leaves.", ()),
    "tree_any_only": ({}, "a Python bool; False if there are no such leaves.", ()),
    "tree_flatten_with_path": ({}, "a list of pairs, and a :class:`TreeSpec`.", (NO_KEYS,)),
    "tree_is_leaf": ({}, "a Python bool.", ()),
    "tree_leaves": ({}, "a list.", ()),
    "tree_leaves_with_path": ({}, "a list of pairs.", (NO_KEYS,)),
    "tree_map_": ({}, "``tree``.", OTHER_STRUCTURE),
    "tree_map_only": ({}, "a new tree of the same structure.", ()),
    "tree_map_only_": ({}, "``tree``.", ()),
    "tree_map_with_path": (
        {},
        "a new tree of the same structure.",
        (("ValueError", "a further tree has another structure, or a container was registered without keys"),),
    ),
    "tree_structure": ({}, "a :class:`TreeSpec`.", ()),
}
"""The families of functions that take a function or a class, and reject other arguments."""
