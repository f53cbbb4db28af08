"""``torch.utils._pytree``: nested containers of tensors, flattened, mapped over and rebuilt.

PyTorch's name is private, but many packages use it. The trees themselves are in ``_engine/core/pytree.py``.
"""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from nbautograd._engine.core.pytree import (
    SUPPORTED_NODES,
    ContainerKind as NodeDef,
    IsLeaf,
    TreeSpec,
    broadcast_prefix as _broadcast_to_and_flatten,  # noqa: F401 - used by its private name
    container_of,
    is_namedtuple_class,
    tree_flatten,
    tree_iter,
    tree_map,
    tree_unflatten,
)
from nbautograd._names import absent
from nbautograd._names.docstrings import describe_all, packages
from nbautograd.errors import warn
from nbautograd.utils._treepaths import GetAttrKey, KeyPath, MappingKey, SequenceKey, key_get, keystr, with_keys
from nbautograd.utils._treespec import (
    Written,
    treespec_dict,
    treespec_dumps,
    treespec_leaf,
    treespec_loads,
    treespec_pprint,
    treespec_tuple,
    written_as,
)

__all__ = [
    "ConstantNode", "GetAttrKey", "MappingKey", "NodeDef", "PyTree", "SequenceKey", "TreeSpec", "arg_tree_leaves",
    "is_constant_class", "is_namedtuple", "is_namedtuple_class", "is_namedtuple_instance", "is_structseq", "key_get",
    "keystr", "map_only", "register_constant", "register_dataclass", "register_pytree_node", "tree_all",
    "tree_all_only", "tree_any", "tree_any_only", "tree_flatten", "tree_flatten_with_path", "tree_is_leaf", "tree_iter",
    "tree_leaves", "tree_leaves_with_path", "tree_map", "tree_map_", "tree_map_only", "tree_map_only_",
    "tree_map_with_path", "tree_structure", "tree_unflatten", "treespec_dict", "treespec_dumps", "treespec_leaf",
    "treespec_loads", "treespec_pprint", "treespec_tuple",
]  # fmt: skip

PyTree = Any
Kinds = Any  # a class, a tuple of classes, or a predicate


# -- leaves ------------------------------------------------------------------------------------------------------------


def tree_leaves(tree: PyTree, is_leaf: IsLeaf = None) -> list[Any]:
    """Return the leaves of a tree from left to right.

    >>> tree_leaves({"a": 1, "b": (2, [3])})
    [1, 2, 3]
    """
    return list(tree_iter(tree, is_leaf))


def tree_structure(tree: PyTree, is_leaf: IsLeaf = None) -> TreeSpec:
    """Return the structure of a tree.

    >>> tree_structure([1, 2]).num_leaves
    2
    """
    return tree_flatten(tree, is_leaf)[1]


def tree_is_leaf(tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Return whether a tree is a leaf: not a container, or ``is_leaf`` is true of it.

    >>> tree_is_leaf(1), tree_is_leaf([1]), tree_is_leaf([1], is_leaf=lambda x: isinstance(x, list))
    (True, False, True)
    """
    return is_leaf is not None and is_leaf(tree) or container_of(tree) is None


def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list[Any]:
    """Return the leaves of the arguments of a call.

    :param args: trees.
    :param kwargs: more trees, by name.
    :returns: a list.

    >>> arg_tree_leaves(1, [2], x=3)
    [1, 2, 3]
    """
    return [leaf for tree in (*args, *kwargs.values()) for leaf in tree_iter(tree)]


def tree_map_(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """Call ``func`` with each leaf and the matching parts of ``rests``; return the tree itself.

    >>> tree_map_(print, [1, (2,)])
    1
    2
    [1, (2,)]
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    for parts in zip(leaves, *(spec.flatten_up_to(rest) for rest in rests), strict=True):
        func(*parts)
    return tree


def map_only(type_or_types_or_pred: Kinds, /) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Return a decorator that applies a function only to objects of given classes, or that satisfy a predicate.

    >>> list(map(map_only(int)(lambda x: x + 1), [1, "a"]))
    [2, 'a']
    """
    is_meant = _predicate(type_or_types_or_pred)

    def wrap(func: Callable[[Any], Any]) -> Callable[[Any], Any]:
        @functools.wraps(func)
        def wrapped(x: Any) -> Any:
            return func(x) if is_meant(x) else x

        return wrapped

    return wrap


def _predicate(kinds: Kinds) -> Callable[[Any], bool]:
    if isinstance(kinds, (type, tuple, types.UnionType)):
        return lambda x: isinstance(x, kinds)
    if not callable(kinds):
        raise TypeError("Argument must be a type, a tuple of types, or a callable.")
    return kinds  # type: ignore[no-any-return]


def tree_map_only(
    type_or_types_or_pred: Kinds, /, func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """Return the tree with ``func`` applied to leaves of given classes, or that satisfy a predicate.

    >>> tree_map_only(int, lambda x: -x, (1, "a", [2]))
    (-1, 'a', [-2])
    """
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: Kinds, /, func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """Call ``func`` with leaves of given classes, or that satisfy a predicate; return the tree itself.

    >>> tree_map_only_(int, print, ["a", 1])
    1
    ['a', 1]
    """
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Return whether ``pred`` is true of all leaves.

    >>> tree_all(bool, [1, (0,)])
    False
    """
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Return whether ``pred`` is true of any leaf.

    >>> tree_any(bool, [1, (0,)])
    True
    """
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types: Kinds, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Return whether ``pred`` is true of all leaves of given classes.

    >>> tree_all_only(int, bool, [1, ""])
    True
    """
    return all(pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, type_or_types))


def tree_any_only(type_or_types: Kinds, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Return whether ``pred`` is true of any leaf of given classes.

    >>> tree_any_only(int, bool, [0, "a"])
    False
    """
    return any(pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, type_or_types))


# -- paths -------------------------------------------------------------------------------------------------------------


def tree_flatten_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """Return the leaves of a tree, each in a pair with the path to it, and the structure.

    >>> tree_flatten_with_path([1])[0]
    [((SequenceKey(idx=0),), 1)]
    """
    return list(_paths((), tree, is_leaf)), tree_structure(tree, is_leaf)


def tree_leaves_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> list[tuple[KeyPath, Any]]:
    """Return the leaves of a tree, each in a pair with the path to it.

    >>> [(keystr(path), leaf) for path, leaf in tree_leaves_with_path({"a": (1,)})]
    [("['a'][0]", 1)]
    """
    return list(_paths((), tree, is_leaf))


def tree_map_with_path(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """Map a function over a tree like ``tree_map``; ``func`` gets the path first.

    >>> tree_map_with_path(lambda path, x: keystr(path), {"a": 1, "b": (2,)})
    {'a': "['a']", 'b': ("['b'][0]",)}
    """
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    others = [spec.flatten_up_to(rest) for rest in rests]
    return spec.unflatten(func(*pair, *parts) for pair, *parts in zip(pairs, *others, strict=True))


def _paths(above: KeyPath, tree: PyTree, is_leaf: IsLeaf) -> Iterator[tuple[KeyPath, Any]]:
    if tree_is_leaf(tree, is_leaf):
        yield above, tree
    else:
        for key, child in with_keys(tree):
            yield from _paths((*above, key), child, is_leaf)


# -- registering -------------------------------------------------------------------------------------------------------


_constants: set[type] = set()


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_fn: Callable[[Iterable[Any], Any], Any],
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Callable[[Any], Any] | None = None,
    from_dumpable_context: Callable[[Any], Any] | None = None,
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Any]] | None = None,
) -> None:
    """Register a class as a container, also for ``vmap`` and the transforms of ``torch.func``.

    :param flatten_fn: from an object to its children and a context, the other data for rebuilding it.
    :param unflatten_fn: from children and a context to an object.
    :param serialized_type_name: the name of the class for ``treespec_dumps``.
    :param to_dumpable_context: from a context to JSON-compatible data.
    :param from_dumpable_context: the other way.
    :param flatten_with_keys_fn: like ``flatten_fn``, with each child in a pair with its key; for paths.
    :raises ValueError: the class is already registered, or only one of the two functions for contexts is given.

    >>> class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    >>> register_pytree_node(Pair, lambda pair: ([pair.a, pair.b], None), lambda parts, _: Pair(*parts))
    >>> tree_leaves([Pair(1, (2, 3))])
    [1, 2, 3]
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered.")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    written_as[cls] = Written(serialized_type_name, to_dumpable_context, from_dumpable_context)


def _register_pytree_node(
    cls: type, flatten_fn: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_fn: Callable[[Iterable[Any], Any], Any], to_str_fn: Any = None, maybe_from_str_fn: Any = None,
    **options: Any,
) -> None:  # fmt: skip
    """Call ``register_pytree_node``, replacing an earlier registration; deprecated name."""
    warn(
        "`torch.utils._pytree._register_pytree_node` is deprecated. "
        "Please use `torch.utils._pytree.register_pytree_node` instead.",
        FutureWarning,
    )
    _deregister_pytree_node(cls)
    register_pytree_node(cls, flatten_fn, unflatten_fn, **options)


def _deregister_pytree_node(cls: type) -> None:
    """Remove a class from the registry."""
    SUPPORTED_NODES.pop(cls, None)
    written_as.pop(cls, None)
    _constants.discard(cls)


def register_dataclass(
    cls: type,
    *,
    field_names: list[str] | None = None,
    drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Register a dataclass as a container of its fields.

    :param field_names: the fields; by default those that are arguments of its ``__init__``.
    :param drop_field_names: the fields to leave out.
    :param serialized_type_name: the name of the class for ``treespec_dumps``.
    :raises ValueError: ``field_names`` are not the fields, or are missing for a class that is not a dataclass.

    >>> @dataclasses.dataclass
    ... class Point:
    ...     x: int
    ...     y: int
    >>> register_dataclass(Point)
    >>> tree_map(lambda v: 10 * v, Point(1, 2))
    Point(x=10, y=20)
    """
    if dataclasses.is_dataclass(cls):
        fields = [field.name for field in dataclasses.fields(cls) if field.init]
        if field_names is None:
            field_names = fields
        else:
            _check_fields({*field_names}, {*fields} - {*(drop_field_names or ())})
    elif field_names is None:
        raise ValueError(
            f"field_names must be specified with a list of all fields used to initialize {cls}, as it is not a "
            "dataclass."
        )
    names = field_names

    def flatten(obj: Any) -> tuple[list[Any], Any]:
        values = {name: getattr(obj, name) for name in names}
        here = [name for name in names if values[name] is not None]
        return [values[name] for name in here], [here, [name for name in names if values[name] is None]]

    def unflatten(values: Iterable[Any], context: Any) -> Any:
        here, empty = context
        return cls(**dict(zip(here, values, strict=True)), **dict.fromkeys(empty))

    def flatten_with_keys(obj: Any) -> tuple[list[Any], Any]:
        values, (here, _) = flatten(obj)
        return list(zip(map(GetAttrKey, here), values, strict=True)), here

    register_pytree_node(
        cls, flatten, unflatten, serialized_type_name=serialized_type_name, flatten_with_keys_fn=flatten_with_keys
    )


def _check_fields(names: set[str], expected: set[str]) -> None:
    words = f"Missing fields in `field_names`: {expected - names}. " if expected - names else ""
    words += f"Unexpected fields in `field_names`: {names - expected}. " if names - expected else ""
    if words:
        raise ValueError(f"field_names does not include all dataclass fields.\n{words}")


@dataclasses.dataclass(frozen=True, slots=True)
class ConstantNode:
    """The context of a constant: its value.

    :param value: the object.
    :returns: an object that is equal to one of an equal value.

    >>> ConstantNode(1) == ConstantNode(1)
    True
    """

    value: Any


def register_constant(cls: type) -> None:
    """Register a class as a container without leaves: its objects are part of the structure.

    :raises TypeError: the class does not define ``__eq__`` and ``__hash__``.

    >>> register_constant(range)
    >>> tree_leaves([1, range(3)])
    [1]
    >>> _deregister_pytree_node(range)
    """
    for name in ("__eq__", "__hash__"):
        if getattr(cls, name) in (getattr(object, name), None) and (name == "__eq__" or cls.__hash__ is None):
            raise TypeError(f"register_constant(cls) expects `cls` to have a non-default `{name}` implementation.")
    register_pytree_node(
        cls,
        lambda obj: ([], ConstantNode(obj)),
        lambda _, context: context.value,
        flatten_with_keys_fn=lambda obj: ([], ConstantNode(obj)),
    )
    _constants.add(cls)


def is_constant_class(cls: type) -> bool:
    """Return whether a class has been registered by ``register_constant``.

    :param cls: the class.
    :returns: a Python bool.

    >>> is_constant_class(int)
    False
    """
    return cls in _constants


def is_namedtuple(obj: Any) -> bool:
    """Return whether an object, or a class, is a namedtuple.

    :param obj: the object or the class.
    :returns: a Python bool.

    >>> is_namedtuple((1, 2))
    False
    """
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_namedtuple_instance(obj: Any) -> bool:
    """Return whether an object is a namedtuple.

    :param obj: the object.
    :returns: a Python bool; False for a class.

    >>> is_namedtuple_instance((1, 2))
    False
    """
    return is_namedtuple_class(type(obj))


def is_structseq(obj: Any) -> bool:
    """Return whether an object, or a class, is a named tuple from C code, such as ``time.struct_time``.

    :param obj: the object or the class.
    :returns: a Python bool.

    >>> import time
    >>> is_structseq(time.localtime()), is_structseq((1, 2))
    (True, False)
    """
    cls = obj if isinstance(obj, type) else type(obj)
    counts = (getattr(cls, name, None) for name in ("n_fields", "n_sequence_fields", "n_unnamed_fields"))
    return cls.__bases__ == (tuple,) and all(isinstance(count, int) for count in counts)


describe_all([globals()[name] for name in packages.TREES[0]], *packages.TREES)
absent.answer(__name__)
