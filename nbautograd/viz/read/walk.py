"""A walk over an autograd graph from its roots: which nodes there are, in which order they ran, and in which modules.

Walks without recursion. Dictionaries keep the nodes alive and in order, as PyTorch creates its wrappers of nodes on
demand. Below, the tensors and modules inside of variables: lists, dictionaries, modules, objects.

The operations of an untraced graph tell no module; they get one by the parameters that they use. An operation belongs
to the module whose parameter it uses. Operations between two of these belong to the module that contains both: an
addition after an attention to its layer, operations between two layers to the whole. Several in succession that only
arrange axes are the beginning of the next module.
"""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import accumulate, pairwise, takewhile
from typing import Any

from nbautograd._engine.base.users_code import LIBRARIES
from nbautograd.viz.read import introspect
from nbautograd.viz.read.formulas import base
from nbautograd.viz.read.introspect import attribute, node_name, of_each, trace_of
from nbautograd.viz.read.model import Saved
from nbautograd.viz.read.segments import Turns, turns_of
from nbautograd.viz.read.values import is_tensor

__all__ = ["GraphWalk", "inside", "is_module", "module_paths", "of_variables", "parameters_of", "scopes_of", "sequence"]

MAX_READ_NODES = 100_000  # of a larger graph, only those nearest to the roots
MAX_NEAREST_NODES = 5000  # read of a graph that is too large
NEAR_OPS = 16  # going back, in which inputs distinguish steps of a loop
MIN_TURNS = 3  # of a loop


class GraphWalk:
    """The nodes reachable from ``roots``, and their edges.

    ``next`` has the edges of each node towards its inputs, ``variables`` the tensors of the leaves, ``ops`` the nodes
    that are no leaves, ``used`` the outputs that others of them use, and ``order`` the operations in topological
    order, as they ran.

    :param most: a graph of more nodes is ``cut`` to the part nearest to the roots.
    """

    def __init__(self, roots: Any, most: int = MAX_READ_NODES) -> None:
        several = isinstance(roots, (list, tuple)) and not (len(roots) == 2 and isinstance(roots[1], int))
        self.roots = list(map(_root_of, roots if several else [roots]))
        self.next: dict[Any, tuple[tuple[Any, int], ...]] = {}
        self.cut = not self.read_all(most)
        if self.cut:
            self.read_nearest(min(MAX_NEAREST_NODES, most))
        ends = [node for node, edges in self.next.items() if not edges]
        self.variables = {node: leaf for node in ends if (leaf := attribute(node, "variable")) is not None}
        self.ops = [node for node in self.next if node not in self.variables]
        self.used = {edge for edges in self.next.values() for edge in edges if edge[0] in self.next}
        self.order = self.in_sequence() or self.sorted_topologically()
        self.rank = {node: i for i, node in enumerate(self.order)}
        self._turns: Turns | None = None
        self._saved: dict[Any, tuple[tuple[Saved, ...] | None, bool, dict[str, Any]]] = {}

    @cached_property
    def names(self) -> dict[Any, str]:
        """The names of the operations."""
        return of_each(node_name, self.ops)

    @cached_property
    def traces(self) -> dict[Any, Any]:
        """The trace of each operation; None if none was noted."""
        return of_each(trace_of, self.ops)

    @cached_property
    def declared(self) -> dict[Any, Any]:
        """The class with the symbol, the inputs and the formulas of each operation."""
        return of_each(introspect.declared, self.ops)

    def saved(self, node: Any) -> tuple[tuple[Saved, ...] | None, bool, dict[str, Any]]:
        """Return what an operation keeps for a backward pass (see ``introspect.saved_of``), read once."""
        if node not in self._saved:
            self._saved[node] = introspect.saved_of(node)
        return self._saved[node]

    def read_all(self, most: int) -> bool:
        """Find all nodes, depth first; False if there are too many."""
        stack = [node for node, _, _ in reversed(self.roots) if node is not None]
        while stack:
            node = stack.pop()
            if node in self.next:
                continue
            if len(self.next) >= most:
                return False
            edges = self.next[node] = _edges_of(node)
            stack += [to for to, _ in reversed(edges) if to is not None and to not in self.next]
        return True

    def read_nearest(self, most: int) -> None:
        """Find the nodes that are the fewest steps from the roots, breadth first."""
        self.next.clear()
        waiting = deque(node for node, _, _ in self.roots if node is not None)
        while waiting and len(self.next) < most:
            node = waiting.popleft()
            if node not in self.next:
                edges = self.next[node] = _edges_of(node)
                waiting += [to for to, _ in edges if to is not None and to not in self.next]

    @cached_property
    def shared(self) -> set[Any]:
        """The operations before a loop: each turn uses their results, so that how far back they ran differs."""
        uses = Counter((to, self.names[node]) for node in self.ops for to, _ in self.next[node] if to in self.rank)
        return {to for (to, _), count in uses.items() if count >= MIN_TURNS}

    def in_sequence(self) -> list[Any]:
        """The operations by the numbers that they got when they ran; nothing where those are missing or wrong."""
        known: dict[Any, int] = {}
        for node in self.ops:
            number = sequence(node)
            if number is None:
                return []
            known[node] = number
        for node, number in known.items():
            for to, _ in self.next[node]:
                if to in known and known[to] >= number:
                    return []
        return sorted(self.ops, key=known.__getitem__)

    def sorted_topologically(self) -> list[Any]:
        """The operations, each after those whose results it uses, by in-degree (Kahn's algorithm)."""
        in_degree = dict.fromkeys(self.ops, 0)
        for node in self.ops:
            for to, _ in self.next[node]:
                if to in in_degree:
                    in_degree[to] += 1
        ready = [node for node, degree in in_degree.items() if not degree]
        order = []
        while ready:
            node = ready.pop()
            order.append(node)
            for to, _ in self.next[node]:
                if to in in_degree:
                    in_degree[to] -= 1
                    if not in_degree[to]:
                        ready.append(to)
        return order[::-1]

    def signature(self, node: Any) -> Any:
        """A key that is equal for operations that are the same step of a loop."""
        trace, rank, inputs = self.traces[node], self.rank, []
        for to, _ in self.next[node]:  # the steps back: 0 to far results, and to shared ones
            steps = rank[node] - rank[to] if to in rank and to not in self.shared else 0
            inputs.append(-1 if to is None else steps if steps <= NEAR_OPS else 0)
        return self.names[node], tuple(inputs), (trace.filename, trace.lineno) if trace is not None else None

    def scopes(self) -> list[tuple[Any, ...]]:
        """The named blocks of each operation, if its trace has them."""
        return [() if trace is None else tuple(trace.scope) for trace in map(self.traces.get, self.order)]

    def lines(self) -> list[tuple[str, int] | None]:
        """Return the file and the line of each operation; None if unknown."""
        traces = map(self.traces.get, self.order)
        return [None if trace is None or not trace.lineno else (trace.filename, trace.lineno) for trace in traces]

    def turns(self, namespace: Mapping[str, Any]) -> Turns:
        """Return the turns of the operations in the loops of the code, which is read once.

        :param namespace: variables, for the length of a loop.
        """
        if self._turns is None:
            self._turns = turns_of([self.traces[node] for node in self.order], namespace)
        return self._turns

    def inputs(self) -> list[list[int]]:
        """For each operation the ranks of those whose results it uses."""
        return [[self.rank[to] for to, _ in self.next[node] if to in self.rank] for node in self.order]


def _edges_of(node: Any) -> tuple[tuple[Any, int], ...]:
    try:
        return tuple(node.next_functions or ())
    except Exception:  # any object gets a picture
        return ()


def _root_of(root: Any) -> tuple[Any, int, Any]:
    """(node or None, index of its output, tensor or None)."""
    if is_tensor(root):
        return root.grad_fn, attribute(root, "output_nr", 0) or 0, root
    if isinstance(root, tuple) and len(root) == 2:
        return root[0], root[1], None
    return root, 0, None


def sequence(node: Any) -> int | None:
    """The number of the operation in the order in which they ran, where the library counts them."""
    try:
        return int(node._sequence_nr())
    except Exception:
        return None


# -- tensors inside of variables --------------------------------------------------------------------------------------


HISTORY = "Out"
"""IPython's variable of all results: what it holds has better names."""
MAX_DEPTH = 8
"""Steps from a variable to a tensor inside of it: ``net.layers[0].neurons[1].w[2]`` takes six."""
MAX_PARTS = 200  # of a list or a dictionary
PLAIN = (int, float, str, bool, type(None))
MAX_READ = 1000  # lists, objects and tensors inside of a variable


def is_module(value: Any) -> bool:
    """Return whether it looks like a module of networks; asks the class."""
    try:
        return callable(getattr(type(value), "named_parameters", None))
    except Exception:
        return False


def inside(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the tensors inside of a variable by name, near ones first; only what a module has twice comes twice.

    >>> import nbautograd as torch
    >>> w, b = torch.ones(2), torch.zeros(2)
    >>> [own for own, _ in inside("layers", [{"w": w}, {"w": b, "same": b}])]
    ["layers[0]['w']", "layers[1]['w']"]
    """
    return _inside(name, value, set(), 1 if name == HISTORY else MAX_DEPTH)


def of_variables(namespace: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the tensors of public variables and inside of them by name, in the order of the variables."""
    for name, value in list(namespace.items()):
        if isinstance(name, str) and not name.startswith("_") and name != HISTORY:
            yield from [(name, value)] if is_tensor(value) else inside(name, value)


def _inside(name: str, value: Any, seen: set[int], depth: int) -> Iterator[tuple[str, Any]]:
    if not depth or id(value) in seen or len(seen) >= MAX_READ:
        return
    form, parts = _parts(value)
    if parts:
        seen.add(id(value))
    deeper = []
    for key, part in parts:
        if type(part) in PLAIN:
            continue
        own = name + form.format(key)
        if not is_tensor(part):
            deeper.append((own, part))
        elif id(part) not in seen or is_module(value):
            seen.add(id(part))
            yield own, part
    for own, part in deeper:
        yield from _inside(own, part, seen, depth - 1)


def _parts(value: Any) -> tuple[str, Sequence[tuple[Any, Any]]]:
    """Return what a short list or dictionary, a module, or an object of the user's has, and the form of its names."""
    kind = type(value)
    with suppress(Exception):
        if kind in (list, tuple) and len(value) <= MAX_PARTS:
            return "[{}]", list(enumerate(value))
        if kind is dict and len(value) <= MAX_PARTS:
            return "[{!r}]", [item for item in value.items() if isinstance(item[0], (str, int))]
        if is_module(value):
            return ".{}", list(_parameters(value))
        if _is_users(kind) and not is_tensor(value):
            return ".{}", list(object.__getattribute__(value, "__dict__").items())
    return "", ()


def _parameters(module: Any) -> Iterator[tuple[str, Any]]:
    """The parameters of a module; one that it has under two names twice."""
    try:
        return iter(module.named_parameters(remove_duplicate=False))
    except TypeError:
        return iter(module.named_parameters())


def _is_users(kind: type) -> bool:
    """Return whether a class is the user's own: of the notebook, or of a file that is in no library."""
    package = kind.__module__.partition(".")[0]
    if package in sys.stdlib_module_names or package in LIBRARIES:
        return False
    return package == "__main__" or "-packages" not in (getattr(sys.modules.get(package), "__file__", None) or "")


def parameters_of(value: Any) -> Iterable[Any] | None:
    """Return the parameters of a module or an optimizer, or the leaves in an object; None if it has none."""
    if is_module(value):
        return value.parameters()  # type: ignore[no-any-return]
    groups = attribute(value, "param_groups")
    if isinstance(groups, list):
        return [leaf for group in groups for leaf in group["params"]]
    parts = [part for _, part in inside("", value)]
    return [part for part in parts if attribute(part, "requires_grad") and attribute(part, "is_leaf")] or None


# -- modules of operations ---------------------------------------------------------------------


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
