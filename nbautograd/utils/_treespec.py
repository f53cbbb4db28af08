"""Structures of pytrees: building from smaller ones, printing, and PyTorch's JSON format."""

from __future__ import annotations

import importlib
import json
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from nbautograd._engine.arrays.size import Size
from nbautograd._engine.core.pytree import LEAF, TreeSpec

__all__ = [
    "Written", "treespec_dict", "treespec_dumps", "treespec_leaf", "treespec_loads", "treespec_pprint",
    "treespec_tuple", "written_as",
]  # fmt: skip

PROTOCOL = 1
"""The format number that ``treespec_dumps`` writes."""


class Written:
    """The JSON form of a class of containers: its name, and the conversion of its context."""

    def __init__(self, name: str | None, dump: Callable[[Any], Any] | None, load: Callable[[Any], Any] | None) -> None:
        self.name = name
        self.dump, self.load = dump or json.dumps, load or json.loads


def _dump_defaultdict(context: Any) -> Any:
    factory, keys = context
    return {
        "default_factory_module": factory.__module__,
        "default_factory_name": factory.__qualname__,
        "dict_context": keys,
    }


def _load_defaultdict(written: Any) -> Any:
    module = importlib.import_module(written["default_factory_module"])
    return [getattr(module, written["default_factory_name"]), written["dict_context"]]


written_as: dict[Any, Written] = {
    **{cls: Written(f"builtins.{cls.__name__}", None, None) for cls in (tuple, list, dict)},
    **{cls: Written(f"collections.{cls.__name__}", None, None) for cls in (OrderedDict, deque)},
    defaultdict: Written("collections.defaultdict", _dump_defaultdict, _load_defaultdict),
    Size: Written("torch.Size", None, None),
}


def treespec_leaf() -> TreeSpec:
    """Return the structure of a leaf.

    :returns: a :class:`TreeSpec`.

    >>> treespec_leaf()
    *
    """
    return LEAF


def treespec_tuple(iterable: Iterable[TreeSpec] = (), /) -> TreeSpec:
    """Return the structure of a tuple, from the structures of its items.

    :param iterable: the structures of the items.
    :returns: a :class:`TreeSpec`.
    :raises ValueError: an item is not a structure.

    >>> treespec_tuple([treespec_leaf(), treespec_leaf()])
    TreeSpec(tuple, None, [*,
      *])
    """
    children = list(iterable)
    if not all(isinstance(child, TreeSpec) for child in children):
        raise ValueError(f"Expected a tuple of TreeSpec values, got: {children!r}.")
    return TreeSpec(tuple, None, children)


def treespec_dict(mapping: Mapping[Any, TreeSpec] | Iterable[Any] = (), /, **kwargs: TreeSpec) -> TreeSpec:
    """Return the structure of a dict, from the structures of its values.

    :param mapping: the structures by key, an argument of ``dict``.
    :param kwargs: more structures, by name.
    :returns: a :class:`TreeSpec`.
    :raises ValueError: a value is not a structure.

    >>> treespec_dict(a=treespec_leaf(), b=treespec_leaf())
    TreeSpec(dict, ['a', 'b'], [*,
      *])
    """
    children = dict(mapping, **kwargs)
    if not all(isinstance(child, TreeSpec) for child in children.values()):
        raise ValueError(f"Expected a dictionary of TreeSpec values, got: {children!r}.")
    return TreeSpec(dict, list(children), list(children.values()))


class _Star:
    def __repr__(self) -> str:
        return "*"


def treespec_pprint(treespec: TreeSpec) -> str:
    """Return a structure as a tree with stars for leaves.

    :param treespec: the structure.
    :returns: a string.
    :raises AttributeError: ``treespec`` is not a structure.

    >>> from nbautograd.utils._pytree import tree_structure
    >>> treespec_pprint(tree_structure({"a": [1, 2]}))
    "{'a': [*, *]}"
    """
    return repr(treespec.unflatten([_Star()] * treespec.num_leaves))


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """Return a structure as JSON in PyTorch's format.

    :param treespec: the structure.
    :param protocol: the number of the format, 1.
    :returns: a string of JSON: the number of the format and the nested structure.
    :raises NotImplementedError: a container has no ``serialized_type_name``.
    :raises TypeError: JSON cannot represent a context.
    :raises ValueError: ``protocol`` is unknown.

    >>> treespec_dumps(treespec_leaf())
    '[1, {"type": null, "context": null, "children_spec": []}]'
    """
    if protocol not in (None, PROTOCOL):
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{PROTOCOL}]")
    return json.dumps((PROTOCOL, _dict_of_spec(treespec)))


def _dict_of_spec(spec: TreeSpec) -> dict[str, Any]:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    how = written_as.get(spec.type)
    if how is None:
        raise NotImplementedError(f"Serializing {spec.type} in pytree is not registered.")
    if how.name is None:
        raise NotImplementedError(
            f"No registered serialization name for {spec.type} found. "
            "Please update your _register_pytree_node call with a `serialized_type_name` kwarg."
        )
    try:
        context = how.dump(spec.context)
    except TypeError as error:
        raise TypeError(
            "Unable to serialize context. Please make the context json dump-able, or register a custom serializer "
            "using _register_pytree_node."
        ) from error
    return {"type": how.name, "context": context, "children_spec": [_dict_of_spec(child) for child in spec.children()]}


def treespec_loads(serialized: str) -> TreeSpec:
    """Return a structure from the output of ``treespec_dumps``.

    :param serialized: the string.
    :returns: a :class:`TreeSpec`.
    :raises NotImplementedError: a class in it is not registered.
    :raises ValueError: the format number is unknown, or the string is not JSON.

    >>> from nbautograd.utils._pytree import tree_structure
    >>> treespec_loads(treespec_dumps(tree_structure((1, [2]))))
    TreeSpec(tuple, None, [*,
      TreeSpec(list, None, [*])])
    """
    protocol, schema = json.loads(serialized)
    if protocol != PROTOCOL:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{PROTOCOL}]")
    return _spec_of_dict(schema, {how.name: cls for cls, how in written_as.items()})


def _spec_of_dict(schema: dict[str, Any], classes: dict[str | None, Any]) -> TreeSpec:
    if schema["type"] is None:
        return LEAF
    if schema["type"] not in classes:
        raise NotImplementedError(f"Deserializing {schema['type']} in pytree is not registered.")
    cls = classes[schema["type"]]
    children = [_spec_of_dict(child, classes) for child in schema["children_spec"]]
    return TreeSpec(cls, written_as[cls].load(schema["context"]), children)
