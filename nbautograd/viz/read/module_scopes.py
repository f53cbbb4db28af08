"""Find the module of each operation of an untraced graph, by the parameters that it uses.

An operation belongs to the module whose parameter it uses. Operations between two of these belong to the module that
contains both: an addition after an attention to its layer, operations between two layers to the whole. Several in
succession that only arrange axes are the beginning of the next module.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import accumulate, pairwise, takewhile
from typing import Any

from nbautograd.viz.read.contents import is_module
from nbautograd.viz.read.formulas import base
from nbautograd.viz.read.walk import GraphWalk

__all__ = ["module_paths", "module_scopes", "scopes_of"]

CONTAINERS = ("ModuleList", "ModuleDict", "ParameterList", "ParameterDict")
"""Modules that only contain others, and are never called."""

AXES = frozenset({"Permute", "Squeeze", "T", "Transpose", "UnsafeView", "Unsqueeze", "View"})
"""Operations that keep all elements and their values."""
SEVERAL = 2  # of these in succession belong to the module that follows

Path = tuple[tuple[str, str], ...]
"""The modules around something, outermost first, each as (class, name)."""


def scopes_of(walk: GraphWalk, namespace: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Return the blocks around each operation: as they were noted, else by the parameters that it uses."""
    scopes = walk.scopes()
    return scopes if any(scopes) else [*module_scopes(walk, namespace)]


def module_scopes(walk: GraphWalk, namespace: Mapping[str, Any]) -> list[Path]:
    """Return the modules of each operation, in running order; empty if unknown."""
    owners = _owners(walk, namespace)
    if not owners:
        return [()] * len(walk.order)
    known = [_path_of(walk, node, owners) for node in walk.order]
    before, after = accumulate(known, _latest), [*accumulate(reversed(known), _latest)]
    scopes = [*map(_shared, before, reversed(after))]
    names = [walk.names[node] for node in walk.order]
    for place in (i for i, own in enumerate(known) if own is not None):
        alike = takewhile(lambda i: known[i] is None and base(names[i]) in AXES, range(place - 1, -1, -1))
        begins = place - sum(1 for _ in alike)
        if place - begins >= SEVERAL:
            scopes[begins:place] = [scopes[place]] * (place - begins)
    return _completed(scopes, known, names)


def _latest(former: Path | None, path: Path | None) -> Path | None:
    return former if path is None else path


def _completed(scopes: list[Path], known: list[Path | None], names: list[str]) -> list[Path]:
    """Return the scopes, with the end of a last call completed from an earlier call of the same module."""
    owned = [i for i, own in enumerate(known) if own is not None]
    last = owned[-1] if owned else -1
    for earlier, following in reversed(list(pairwise(owned))):
        if known[earlier] == known[last] and names[earlier] == names[last]:
            ends = zip(names[earlier + 1 : following], names[last + 1 :], strict=False)
            alike = len(list(takewhile(lambda pair: pair[0] == pair[1], ends)))
            scopes[last + 1 : last + 1 + alike] = scopes[earlier + 1 : earlier + 1 + alike]
            if alike:
                break
    return scopes


def _owners(walk: GraphWalk, namespace: Mapping[str, Any]) -> dict[int, Path]:
    """For each parameter in the graph, by id(), the modules around it."""
    leaves = {*map(id, walk.variables.values())}
    owners: dict[int, Path] = {}
    for name, module in _modules(namespace):
        classes = {path: type(one).__name__ for path, one in module.named_modules()}
        for path, parameter in module.named_parameters():
            if id(parameter) in leaves:
                owners.setdefault(id(parameter), tuple(_scopes_around(name, path, classes)))
    return owners


def module_paths(namespace: Mapping[str, Any]) -> dict[int, str]:
    """For each module in the variables, by id(), its name: ``net.layers.0``."""
    paths: dict[int, str] = {}
    for name, module in _modules(namespace):
        try:
            for path, one in module.named_modules():
                paths.setdefault(id(one), f"{name}.{path}" if path else name)
        except Exception:
            continue
    return paths


def _modules(namespace: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The variables that hold modules, those with the most parameters first."""
    modules: dict[int, tuple[int, str, Any]] = {}
    for name, value in list(namespace.items()):
        is_one = hasattr(type(value), "named_modules") and is_module(value)
        if is_one and isinstance(name, str) and callable(type(value).named_modules):
            try:
                size = sum(1 for _ in value.named_parameters())
            except Exception:
                continue
            modules.setdefault(id(value), (size, name, value))
    return [(name, module) for _, name, module in sorted(modules.values(), key=lambda one: -one[0])]


def _scopes_around(name: str, parameter: str, classes: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    parts = parameter.split(".")[:-1]
    for count in range(len(parts) + 1):
        path = ".".join(parts[:count])
        kind = classes.get(path, "")
        if kind not in CONTAINERS:
            whole = f"{name}.{path}" if path else name
            yield kind or whole, whole


def _path_of(walk: GraphWalk, node: Any, owners: Mapping[int, Path]) -> Path | None:
    """The module that an operation belongs to by the parameters that it uses itself; None where it uses none."""
    variables = [id(walk.variables.get(to)) for to, _ in walk.next[node]]
    used = [owners[variable] for variable in variables if variable in owners]
    if not used:
        return None
    path = used[0]
    for other in used[1:]:
        path = _shared(path, other)
    return path


def _shared(one: Path | None, other: Path | None) -> Path:
    if one is None or other is None:
        return ()
    both = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return tuple(pair[0] for pair in both)
