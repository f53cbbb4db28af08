"""The leaves of a module, its parameters, a dict of tensors or any collection of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from nbautograd.viz.escape import one_line
from nbautograd.viz.read.contents import is_module, parameters_of
from nbautograd.viz.read.values import is_tensor

__all__ = ["watched"]


def watched(given: Iterable[Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the leaves in the arguments, each once, named after its variable or its key in the collection.

    :param known: leaves by the names of the caller's variables.
    :raises TypeError: something is no tensor, module or collection of tensors.
    """
    names = {id(leaf): name for name, leaf in known.items()}
    leaves: dict[str, Any] = {}
    seen: set[int] = set()
    for own, tensor in (pair for thing in given for pair in _within(thing, names)):
        if id(tensor) in seen:
            continue
        seen.add(id(tensor))
        name = own or names.get(id(tensor)) or f"leaf{len(leaves) + 1}"
        number, unlike = 1, one_line(name, 60)
        while unlike in leaves:
            number += 1
            unlike = f"{one_line(name, 50)} ({number})"
        leaves[unlike] = tensor
    return leaves


def _within(thing: Any, names: Mapping[int, str]) -> Iterator[tuple[str, Any]]:
    """(name, tensor), where the name is empty if the thing has none for it, or a variable's is better."""
    if is_tensor(thing):
        yield "", thing
        return
    if is_module(thing):
        for name, tensor in thing.named_parameters():
            if tensor.requires_grad:
                yield "" if id(tensor) in names else name, tensor
        return
    if isinstance(thing, Mapping):
        items: Iterable[Any] = thing.items()
    elif isinstance(thing, Iterable) and not isinstance(thing, (str, bytes)):
        items = thing
    elif (held := parameters_of(thing)) is not None:
        items = held
    else:
        raise TypeError(
            f"monitor needs tensors, but was given {type(thing).__name__}; it takes modules, leaves, and lists, dicts, "
            "iterables or objects of them"
        )
    for item in items:
        if isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str):  # as of named_parameters()
            for name, tensor in _within(item[1], names):
                yield f"{item[0]}.{name}" if name else item[0], tensor
        else:
            yield from _within(item, names)
