"""Pytrees: nested tuples, lists, dicts and other containers, flattened to their leaves and rebuilt.

A container is recognized by its exact class, in a registry that programs can extend. As in PyTorch, an instance of a
subclass is a leaf, except for namedtuples. ``vmap`` and the transforms of ``torch.func`` use this, and
``torch.utils._pytree`` is its public side.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from nbautograd._engine.arrays.size import Size
from nbautograd._engine.core.return_types import Results

IsLeaf = Callable[[Any], bool] | None
Flatten = Callable[[Any], tuple[Iterable[Any], Any]]


class ContainerKind(NamedTuple):
    """A class of containers."""

    type: Any
    """The class; for namedtuples, the function ``namedtuple``."""
    flatten_fn: Flatten
    """Returns the children, and the context: the rest of the information to rebuild it."""
    unflatten_fn: Callable[[Iterable[Any], Any], Any]
    """Returns a container for children and a context."""
    flatten_with_keys_fn: Flatten | None = None
    """Like ``flatten_fn``, with each child in a pair with its key; only for containers that programs register."""


class TreeSpec:
    """The structure of a tree: the class of its root, that class's context, and the structures below.

    :param type: the class of the root; None for a leaf.
    :param context: the container's data apart from the children, such as the keys of a dict.
    :param children_specs: the structures of the children.
    :returns: an object equal to others of the same structure.
    :raises AssertionError: a leaf has a context or children.

    >>> spec = tree_flatten([1, (2, 3)])[1]
    >>> spec.num_leaves, spec.num_children, spec.unflatten(["a", "b", "c"])
    (3, 2, ['a', ('b', 'c')])
    """

    __slots__ = ("_children", "_context", "_num_leaves", "type")

    def __init__(self, type: Any, context: Any, children_specs: list[TreeSpec]) -> None:
        if type is None and (context is not None or children_specs):
            raise AssertionError("leaf node should not have a context, nor children")
        self.type, self._context, self._children = type, context, children_specs
        self._num_leaves = -1

    @property
    def num_leaves(self) -> int:
        """Number of leaves."""
        if self._num_leaves < 0:
            self._num_leaves = 1 if self.type is None else sum(child.num_leaves for child in self._children)
        return self._num_leaves

    @property
    def num_nodes(self) -> int:
        """Number of leaves and containers."""
        return 1 + sum(child.num_nodes for child in self._children)

    @property
    def num_children(self) -> int:
        """Number of the root's children."""
        return len(self._children)

    @property
    def context(self) -> Any:
        """The context of the root."""
        return self._context

    @property
    def children_specs(self) -> list[TreeSpec]:
        """The former name of ``children()``."""
        return self._children

    def is_leaf(self) -> bool:
        """Return whether the tree is a single leaf."""
        return self.type is None

    def children(self) -> list[TreeSpec]:
        """Return the structures of the root's children."""
        return self._children.copy()

    def child(self, index: int) -> TreeSpec:
        """Return the structure of one of the children."""
        return self._children[index]

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """Return the tree of this structure with these leaves.

        :raises ValueError: the number of leaves differs.
        """
        leaves = leaves if isinstance(leaves, (list, tuple)) else list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a pytree that "
                f"holds {self.num_leaves} items ({self})."
            )
        return _build(iter(leaves), self)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """Return the parts of a tree at the leaves of this structure.

        :raises ValueError: the tree does not have this structure down to its leaves.
        """
        parts: list[Any] = []
        _collect(self, tree, parts)
        return parts

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return self is other or (self.type, self._context, self._children) == (
            other.type,
            other._context,
            other._children,
        )

    def __hash__(self) -> int:
        return hash((self.type, self.num_leaves, tuple(self._children)))

    def __repr__(self, indent: int = 0) -> str:
        if self.type is None:
            return "*"
        indent += 2
        children = f",\n{' ' * indent}".join(child.__repr__(indent) for child in self._children)
        return f"TreeSpec({self.type.__name__}, {self._context}, [{children}])"


LEAF = TreeSpec(None, None, [])


# -- the registry ------------------------------------------------------------------------------------------------------


def _sequence(cls: Any) -> ContainerKind:
    return ContainerKind(cls, lambda tree: (list(tree), None), lambda parts, _: cls(parts))


def _mapping(cls: Any) -> ContainerKind:
    def unflatten(parts: Iterable[Any], keys: list[Any]) -> Any:
        return cls(zip(keys, parts, strict=True))

    return ContainerKind(cls, lambda tree: (list(tree.values()), list(tree)), unflatten)


def _unflatten_defaultdict(parts: Iterable[Any], context: list[Any]) -> Any:
    return defaultdict(context[0], zip(context[1], parts, strict=True))


SUPPORTED_NODES: dict[Any, ContainerKind] = {
    **{cls: _sequence(cls) for cls in (tuple, list, Size)},
    **{cls: _mapping(cls) for cls in (dict, OrderedDict)},
    defaultdict: ContainerKind(
        defaultdict, lambda tree: (list(tree.values()), [tree.default_factory, list(tree)]), _unflatten_defaultdict
    ),
    deque: ContainerKind(deque, lambda tree: (list(tree), tree.maxlen), deque),
    namedtuple: ContainerKind(namedtuple, lambda tree: (list(tree), type(tree)), lambda parts, cls: cls._make(parts)),
}
"""The classes of containers."""
BUILTIN = frozenset(SUPPORTED_NODES) - {Size}
DICTS = (dict, OrderedDict, defaultdict)


def is_namedtuple_class(cls: Any) -> bool:
    """Return whether a class was made by ``namedtuple``, or is a subclass of one.

    :param cls: the class, or any object.
    :returns: a Python bool.

    >>> from collections import namedtuple
    >>> is_namedtuple_class(namedtuple("Point", "x y")), is_namedtuple_class(tuple)
    (True, False)
    """
    fields = getattr(cls, "_fields", None)
    return (
        isinstance(cls, type)
        and issubclass(cls, tuple)
        and isinstance(fields, tuple)
        and all(type(field) is str for field in fields)
        and callable(getattr(cls, "_make", None))
        and callable(getattr(cls, "_asdict", None))
    )


def container_of(tree: Any) -> ContainerKind | None:
    """Return the registry entry of a container; None for a leaf."""
    container = SUPPORTED_NODES.get(type(tree))
    if container is None and isinstance(tree, tuple):
        if isinstance(tree, Results):
            container = SUPPORTED_NODES[type(tree)] = _sequence(type(tree))
        elif is_namedtuple_class(type(tree)):
            container = SUPPORTED_NODES[namedtuple]
    return container


# -- trees -------------------------------------------------------------------------------------------------------------


def tree_flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """Return the leaves of a tree from left to right, and its structure.

    :param tree: nested containers; anything else is a tree of one leaf.
    :param is_leaf: objects for which this is true are leaves, even if they are containers.
    :returns: a list, and a :class:`TreeSpec`.
    :raises TypeError: ``is_leaf`` is not callable.

    >>> tree_flatten({"a": 1, "b": (2, 3)})
    ([1, 2, 3], TreeSpec(dict, ['a', 'b'], [*,
      TreeSpec(tuple, None, [*,
        *])]))
    """
    leaves: list[Any] = []
    return leaves, _flatten(tree, is_leaf, leaves)


def _flatten(tree: Any, is_leaf: IsLeaf, leaves: list[Any]) -> TreeSpec:
    container = None if is_leaf is not None and is_leaf(tree) else container_of(tree)
    if container is None:
        leaves.append(tree)
        return LEAF
    children, context = container.flatten_fn(tree)
    return TreeSpec(container.type, context, [_flatten(child, is_leaf, leaves) for child in children])


def tree_iter(tree: Any, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """Return an iterator over the leaves.

    :param tree: nested containers; anything else is a tree of one leaf.
    :param is_leaf: objects for which this is true are leaves.
    :returns: an iterator.
    :raises TypeError: ``is_leaf`` is not callable.

    >>> list(tree_iter([1, {"a": 2}]))
    [1, 2]
    """
    container = None if is_leaf is not None and is_leaf(tree) else container_of(tree)
    if container is None:
        yield tree
    else:
        for child in container.flatten_fn(tree)[0]:
            yield from tree_iter(child, is_leaf)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """Return the tree of a structure with these leaves.

    :param leaves: the leaves from left to right.
    :param treespec: the structure; the other order of arguments is also accepted.
    :returns: the tree.
    :raises TypeError: ``treespec`` is not a structure.
    :raises ValueError: its number of leaves differs.

    >>> leaves, spec = tree_flatten({"a": 1, "b": [2]})
    >>> tree_unflatten([10 * leaf for leaf in leaves], spec)
    {'a': 10, 'b': [20]}
    """
    if not isinstance(treespec, TreeSpec):
        if not isinstance(leaves, TreeSpec):
            raise TypeError(
                f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}."
            )
        leaves, treespec = treespec, leaves  # the former order
    return treespec.unflatten(leaves)


def _build(leaves: Iterator[Any], spec: TreeSpec) -> Any:
    if spec.type is None:
        return next(leaves)
    return SUPPORTED_NODES[spec.type].unflatten_fn([_build(leaves, child) for child in spec._children], spec._context)


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """Return the tree with ``func`` applied to each leaf.

    :param func: a function of a leaf, and of the corresponding parts of ``rests``.
    :param tree: nested containers; anything else is a tree of one leaf.
    :param rests: further trees, of the first one's structure down to its leaves; ``func`` also gets their parts.
    :param is_leaf: objects for which this is true are leaves.
    :returns: a new tree of the same structure.
    :raises ValueError: a further tree has another structure.

    >>> tree_map(lambda x, y: x * y, {"a": 1, "b": [2, 3]}, {"a": 10, "b": [20, 30]})
    {'a': 10, 'b': [40, 90]}
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(map(func, leaves, *(spec.flatten_up_to(rest) for rest in rests)))


def _collect(spec: TreeSpec, tree: Any, parts: list[Any]) -> None:
    """Append the parts of ``tree`` at the leaves of ``spec``."""
    if spec.type is None:
        parts.append(tree)
        return
    for child, below in zip(_children_for(spec, tree), spec._children, strict=True):
        _collect(below, child, parts)


def _children_for(spec: TreeSpec, tree: Any) -> list[Any]:
    """Return the children of ``tree`` in the order of ``spec``; raise PyTorch's error if they do not fit."""
    container = container_of(tree)
    kind = type(tree) if container is None else container.type
    dicts = spec.type in DICTS and kind in DICTS  # they match each other
    if container is None or kind != spec.type and not dicts:
        word = "Node type" if spec.type in BUILTIN else "Type"
        raise ValueError(f"{word} mismatch; expected {spec.type!r}, but got {kind!r}.")
    children, context = container.flatten_fn(tree)
    children = list(children)
    if len(children) != spec.num_children:
        raise ValueError(f"Node arity mismatch; expected {spec.num_children}, but got {len(children)}.")
    if dicts:
        return _values_by_key(spec, tree)
    if context != spec._context and spec.type is not deque:
        raise ValueError(
            f"Node context mismatch for {'' if spec.type in BUILTIN else 'custom '}node type {spec.type!r}; "
            f"expected {spec._context!r}, but got {context!r}."
        )
    return children


def _values_by_key(spec: TreeSpec, tree: Any) -> list[Any]:
    keys = spec._context[1] if spec.type is defaultdict else spec._context
    missing, extra = {*keys} - {*tree}, {*tree} - {*keys}
    if missing or extra:
        words = f"; missing key(s): {missing}" if missing else ""
        words += f"; extra key(s): {extra}" if extra else ""
        raise ValueError(f"Node keys mismatch{words}.")
    return [tree[key] for key in keys]


def broadcast_prefix(prefix: Any, spec: TreeSpec, is_leaf: IsLeaf = None) -> list[Any] | None:
    """Return, for each leaf of a structure, the leaf of ``prefix`` above it; None if the two do not match.

    >>> broadcast_prefix((0, None), tree_flatten(({"w": 1.0, "b": 2.0}, 3.0))[1])
    [0, 0, None]
    """
    leaves, above = tree_flatten(prefix, is_leaf)
    try:
        parts = above.flatten_up_to(tree_unflatten(range(spec.num_leaves), spec))
    except ValueError:
        return None
    return [leaf for leaf, part in zip(leaves, parts, strict=True) for _ in tree_iter(part, is_leaf)]
