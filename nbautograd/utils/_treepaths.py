"""Paths in pytrees: the keys that lead from the root to a leaf."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Iterable
from typing import Any

from nbautograd._engine.arrays.size import Size
from nbautograd._engine.core.pytree import container_of
from nbautograd._engine.core.return_types import Results

__all__ = ["GetAttrKey", "KeyPath", "MappingKey", "SequenceKey", "key_get", "keystr", "with_keys"]

KeyPath = tuple[Any, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class MappingKey:
    """The key of a value in a mapping.

    :param key: the key.
    :returns: as a string the key in brackets; ``get(mapping)`` returns the value.

    >>> str(MappingKey("a")), MappingKey("a").get({"a": 1})
    ("['a']", 1)
    """

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """Return the value at the key."""
        return mapping[self.key]


@dataclasses.dataclass(frozen=True, slots=True)
class SequenceKey:
    """The index of an item in a sequence.

    :param idx: the index of the item.
    :returns: as a string the index in brackets; ``get(sequence)`` returns the item.

    >>> str(SequenceKey(1)), SequenceKey(1).get([10, 20])
    ('[1]', 20)
    """

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """Return the item at the index."""
        return sequence[self.idx]


@dataclasses.dataclass(frozen=True, slots=True)
class GetAttrKey:
    """The name of an attribute.

    :param name: the name.
    :returns: as a string the name after a dot; ``get(obj)`` returns the attribute's value.

    >>> str(GetAttrKey("real")), GetAttrKey("real").get(2 + 1j)
    ('.real', 2.0)
    """

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """Return the value of the attribute."""
        return getattr(obj, self.name)


def keystr(kp: KeyPath) -> str:
    """Return a path as source text.

    :param kp: the keys, from the root.
    :returns: a string.
    :raises TypeError: ``kp`` is not a sequence.

    >>> from nbautograd.utils._pytree import tree_flatten_with_path
    >>> keystr(tree_flatten_with_path({"a": [1, 2]})[0][1][0])
    "['a'][1]"
    """
    return "".join(map(str, kp))


def key_get(obj: Any, kp: KeyPath) -> Any:
    """Return the value at a path in a tree.

    :param obj: the tree.
    :param kp: the keys, from the root.
    :returns: the leaf or the container; the tree itself without keys.
    :raises KeyError: a mapping does not have the key.
    :raises IndexError: a sequence is too short.
    :raises AttributeError: an object does not have the attribute.

    >>> key_get({"a": [1, 2]}, (MappingKey("a"), SequenceKey(1)))
    2
    """
    for key in kp:
        obj = key.get(obj)
    return obj


def with_keys(tree: Any) -> Iterable[tuple[Any, Any]]:
    """Return the children of a container, each in a pair with its key."""
    container = container_of(tree)
    assert container is not None
    if container.flatten_with_keys_fn is not None:
        return container.flatten_with_keys_fn(tree)[0]
    if container.type is namedtuple:
        return zip(map(GetAttrKey, tree._fields), tree, strict=True)
    if container.type in (dict, OrderedDict, defaultdict):
        return zip(map(MappingKey, tree), tree.values(), strict=True)
    if container.type in (tuple, list, deque, Size) or isinstance(tree, Results):
        return zip(map(SequenceKey, range(len(tree))), tree, strict=True)
    raise ValueError(
        f"Did not find a flatten_with_keys_fn for type: {container.type}. "
        "Please pass a flatten_with_keys_fn argument to register_pytree_node."
    )
