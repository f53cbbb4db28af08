"""Costs of a graph by its nodes: floating-point operations from shapes, parameters, the modules around, and memory.

The memory that a graph keeps for its backward pass: each storage once, and the sum over the time of both passes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from nbautograd.viz.read import formulas, introspect, values
from nbautograd.viz.read.introspect import attribute, line_of, node_name, result_shape, trace_of
from nbautograd.viz.read.values import is_tensor
from nbautograd.viz.read.walk import GraphWalk, module_paths, scopes_of

__all__ = ["GraphMemory", "Runs", "Storage", "flops", "modules_of", "parameters", "read_kept"]

Shape = tuple[int, ...]
PRODUCTS = {
    "Mm": ("input", "mat2"), "Addmm": ("mat1", "mat2"), "Bmm": ("input", "mat2"), "Baddbmm": ("batch1", "batch2"),
    "Addbmm": ("batch1", "batch2"), "Mv": ("input", "vec"), "Addmv": ("mat", "vec"), "Dot": ("input", "tensor"),
}  # fmt: skip
"""The two factors of each product of matrices and vectors."""
OTHERS = ("Convolution", "ScaledDotProduct", "MkldnnRnnLayer")
VIEWS = ("T", "Transpose", "View", "UnsafeView", "Permute", "Expand", "Unsqueeze", "Squeeze", "ToCopy", "Clone")
"""Operations whose leaves are counted where their results are used."""


def flops(walk: GraphWalk, node: Any) -> tuple[int, int] | None:
    """Return the floating-point operations of a node, forward and backward; None if a shape is not known.

    As for PyTorch's own counter, a multiplication and an addition are two, and only products, convolutions and
    attention are counted. The backward pass computes such a product for each factor that gets a gradient.
    """
    base = formulas.base(node_name(node))
    if base not in PRODUCTS and not base.startswith(OTHERS):
        return 0, 0
    shapes, out = _shapes(walk, node), result_shape(node, 0) or ()
    with suppress(KeyError, IndexError):  # an unknown shape
        if base in PRODUCTS:
            first, second = (shapes.get(name, ()) for name in PRODUCTS[base])
            if not (first and second or out or base == "Dot"):
                return None
            forward = _of_product(first, second, out)
            return forward, forward * _wanted(walk, node, PRODUCTS[base])
        if base == "Convolution":
            operands = attribute(trace_of(node), "operands", ())
            transposed = attribute(node, "_saved_transposed") or any(operand.name == "shape" for operand in operands)
            moved = shapes.get("input", out) if transposed else out
            forward = 2 * out[0] * math.prod(moved[2:]) * math.prod(shapes["weight"])
            return forward, forward * _wanted(walk, node, ("input", "weight"))
        if base.startswith("ScaledDotProduct"):
            query, key, value = (shapes[name] for name in ("query", "key", "value"))
            pairs = math.prod(query[:-1]) * key[-2]
            forward = 2 * pairs * (query[-1] + value[-1])
            again = 2 * pairs * query[-1]  # the gradients compute the scores again
            return forward, 2 * forward + again if _wanted(walk, node, ("query", "key", "value")) else 0
        if base == "MkldnnRnnLayer":
            forward = 2 * math.prod(shapes["input"][:2]) * (math.prod(shapes["weight0"]) + math.prod(shapes["weight1"]))
            return forward, 2 * forward
    return None


def _of_product(first: Sequence[int], second: Sequence[int], out: Sequence[int]) -> int:
    """Count the operations of a product of matrices or vectors of these shapes; of one, the shape may be unknown."""
    if first and second:
        return 2 * math.prod(first) * (second[-1] if len(second) > 1 else 1)
    # the other one gets no gradient, so this one was not saved
    return 2 * math.prod(out) * (first[-1] if first else second[-2 if len(second) > 1 else -1])


def _shapes(walk: GraphWalk, node: Any) -> dict[str, Shape]:
    """The shapes of the arguments: from the notes, else from the edges and from saved tensors."""
    inputs = _inputs(node)
    shapes: dict[str, Shape] = {}
    for name, (to, index) in zip(inputs, walk.next[node], strict=False):
        shape = result_shape(to, index)
        if shape is None and formulas.base(node_name(to)) == "T":
            shape = (result_shape(*walk.next[to][0]) or ())[::-1]
        if shape:
            shapes[name] = shape
    for name, value in introspect.operands_of(node).items():
        if hasattr(value, "shape") and hasattr(value, "dtype"):
            shapes.setdefault(name, values.shape(value))
    trace = trace_of(node)
    for operand in trace.operands if trace is not None else ():
        if operand.shape is not None:
            shapes[operand.name] = tuple(operand.shape)
    return shapes


def _inputs(node: Any) -> tuple[str, ...]:
    return tuple(attribute(introspect.declared(node), "inputs") or ("query", "key", "value"))


def _wanted(walk: GraphWalk, node: Any, names: tuple[str, ...]) -> int:
    """Return the number of arguments with a gradient."""
    inputs, edges = _inputs(node), walk.next[node]
    return sum(1 for name in names if name in inputs[: len(edges)] and edges[inputs.index(name)][0] is not None)


def parameters(walk: GraphWalk) -> Mapping[Any, int]:
    """Return the elements of the leaves that each operation is the first to use."""
    users: dict[Any, list[Any]] = {}
    for node in walk.order:
        for to, _ in walk.next[node]:
            users.setdefault(to, []).append(node)
    found: dict[Any, int] = {}
    for leaf, first in users.items():
        variable = attribute(leaf, "variable")
        if variable is None:
            continue
        user = first[0]
        while formulas.base(node_name(user)) in VIEWS and len(users.get(user, ())) == 1:
            user = users[user][0]
        found[user] = found.get(user, 0) + math.prod(values.shape(variable))
    return found


# -- memory that is kept for the backward pass ---------------------------------------------------------------------


MIN_RUNS = 10  # of a line that are worth a message
MAX_CHECKED_LINES = 20  # for repeated runs
Line = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Storage:
    """Memory that one operation, or several, saved for the backward pass."""

    nbytes: int
    node: Any
    """The first operation that saved it."""
    operation: str
    line: Line | None
    module: str
    alive: bool
    """True if it belongs to a leaf or to data that a variable holds, so that it does not go with the graph."""


@dataclass(frozen=True, slots=True)
class Runs:
    """One line that has run many times within the same graph."""

    line: Line
    count: int
    freed: int
    """The number of these operations that a backward pass has used up."""


@dataclass(slots=True)
class GraphMemory:
    """Everything that a graph keeps."""

    storages: list[Storage] = field(default_factory=list)
    savings: int = 0
    """The number of saved tensors, before shared ones are counted once."""
    operations: int = 0
    freed: int = 0
    """The number of operations with freed saved tensors."""
    forward: list[int] = field(default_factory=list)
    """Bytes after each operation of the forward pass."""
    backward: list[int] = field(default_factory=list)
    """Bytes at each operation of the backward pass."""
    peak_at: Any = None
    """The operation at which the backward pass needs most."""
    segments: tuple[str, int, int] | None = None
    """With checkpoints: the kind of segment, their number, and the kept bytes."""
    runs: Runs | None = None
    first: dict[Any, int] = field(default_factory=dict)
    """By operation the bytes that it saved first; those that stay are left out."""

    @property
    def total(self) -> int:
        """Bytes that go with the graph."""
        return sum(one.nbytes for one in self.storages if not one.alive)

    @property
    def shared(self) -> int:
        """Bytes of parameters and data, which stay."""
        return sum(one.nbytes for one in self.storages if one.alive)


def read_kept(walk: GraphWalk, namespace: Mapping[str, Any]) -> GraphMemory:
    """Read the saved tensors of a graph; those with hooks are unpacked for that."""
    kept = GraphMemory(operations=len(walk.order))
    alive = set(_outside(walk, namespace))
    scopes = scopes_of(walk, namespace)
    modules = modules_of(walk, namespace, scopes)
    seen: set[Any] = set()
    held: list[Any] = []  # so that no id is reused
    for node, module in zip(walk.order, modules, strict=True):
        saved, gone = _saved(node)
        kept.freed += gone
        for value in saved:
            kept.savings += 1
            key, nbytes = _storage(value)
            held.append(value)
            if key not in seen and nbytes:
                seen.add(key)
                one = Storage(nbytes, node, node_name(node), line_of(node), module, key in alive)
                kept.storages.append(one)
                if not one.alive:
                    kept.first[node] = kept.first.get(node, 0) + nbytes
    _follow(kept, walk, kept.first)
    kept.segments = _segments(walk, scopes, kept.first)
    kept.runs = _runs(walk)
    return kept


def modules_of(walk: GraphWalk, namespace: Mapping[str, Any], scopes: list[tuple[Any, ...]] | None = None) -> list[str]:
    """Return the name of the innermost module around each operation, in the order in which they ran."""
    paths = module_paths(namespace)
    return [_module(scope, paths) for scope in (scopes_of(walk, namespace) if scopes is None else scopes)]


def _outside(walk: GraphWalk, namespace: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the storages of leaves, and of data that variables hold."""
    leaves = (attribute(node, "variable") for node in walk.next)
    data = (v for v in list(namespace.values()) if is_tensor(v) and attribute(v, "grad_fn") is None)
    for tensor in (*leaves, *data):
        if tensor is not None:
            yield _storage(attribute(tensor, "_a", tensor))[0]


def _saved(node: Any) -> tuple[list[Any], bool]:
    """Return the arrays or tensors that a node keeps, and whether it has given them up."""
    read = attribute(node, "saved_values")
    try:
        if callable(read):
            found: Iterable[Any] = read().values()
        else:
            found = [getattr(node, name) for name in introspect.saved_names(node).values()]
        flat = [each for value in found for each in (value if isinstance(value, (list, tuple)) else (value,))]
        return [value for value in flat if hasattr(value, "dtype") and hasattr(value, "shape")], False
    except Exception:
        return [], True


def _storage(value: Any) -> tuple[Any, int]:
    """Return a key of the memory of an array or tensor, and its bytes."""
    storage = attribute(value, "untyped_storage")
    try:
        if callable(storage) and not hasattr(value, "_a"):
            memory = storage()
            return memory.data_ptr(), int(memory.nbytes())
        array = attribute(value, "_a", value)
        while type(attribute(array, "base")) is type(array):
            array = array.base
        place = attribute(array, "__array_interface__") if array.shape else None
        return (place["data"][0] if place else id(array)), int(array.nbytes)
    except Exception:
        return id(value), values.nbytes(value)


def _module(scope: tuple[Any, ...], paths: Mapping[int, str]) -> str:
    """Return the name of the innermost module around an operation."""
    for block in reversed(scope):
        module = introspect.module_of(block)
        if module is not None:
            return paths.get(id(module), "") or type(module).__name__
        if isinstance(block, tuple) and len(block) == 2:
            return str(block[1])
    return ""


# -- over time ---------------------------------------------------------------------------------------------------------


def result_bytes(node: Any, index: int = 0) -> int:
    """Return the bytes of a node's result or of a leaf, from its shape and dtype; 0 if they are not known."""
    variable, trace = attribute(node, "variable"), trace_of(node)
    try:
        if variable is not None:
            return values.nbytes(variable)
        known = attribute(node, "_input_metadata") or ()
        shape = introspect.result_shape(node, index)
        dtype = str(trace.dtype if trace is not None else known[index].dtype if index < len(known) else "float32")
        return math.prod(shape or ()) * _width(dtype) if shape is not None else 0
    except Exception:
        return 0


def _width(dtype: str) -> int:
    name = dtype.rpartition(".")[2]
    digits = "".join(c for c in name if c.isdigit())
    return int(digits) // 8 if digits else 1 if name == "bool" else 4


def _follow(kept: GraphMemory, walk: GraphWalk, first: Mapping[Any, int]) -> None:
    """Compute the bytes over the forward pass, then over the backward pass."""
    total = 0
    for node in walk.order:
        total += first.get(node, 0)
        kept.forward.append(total + (0 if node in first else result_bytes(node)))
    pending = {node: result_bytes(node, index) for node, index, _ in walk.roots if node is not None}
    most, gradients = -1, sum(pending.values())
    for node in reversed(walk.order):
        for to, index in walk.next[node]:
            if to in walk.next and to not in pending:
                pending[to] = result_bytes(to, index)
                gradients += pending[to]
        if total + gradients > most:
            most, kept.peak_at = total + gradients, node
        kept.backward.append(total + gradients)
        total -= first.get(node, 0)
        gradients -= pending.pop(node, 0)


def _segments(walk: GraphWalk, scopes: list[tuple[Any, ...]], first: Mapping[Any, int]) -> tuple[str, int, int] | None:
    """Return the memory with checkpoints: one for each module at the outermost level that has several, or √n steps."""
    order = walk.order
    keys, kind = _outermost(scopes)
    if not keys:
        if len(order) < 20:
            return None
        count = math.isqrt(len(order))
        keys = [i * count // len(order) for i in range(len(order))]
    parts: dict[Any, list[Any]] = {}
    for node, key in zip(order, keys, strict=True):
        parts.setdefault(key, []).append(node)
    own = dict(zip(order, keys, strict=True))
    kept = sum(first.get(node, 0) for node in parts.pop(None, []))
    largest = 0
    for key, nodes in parts.items():
        inside = sum(first.get(node, 0) for node in nodes)
        edges = {(to, i) for node in nodes for to, i in walk.next[node] if own.get(to, key) != key}
        kept += min(inside, sum(result_bytes(to, i) for to, i in edges))
        largest = max(largest, inside)
    return kind, len(parts), kept + largest


def _outermost(scopes: list[tuple[Any, ...]]) -> tuple[list[Any], str]:
    """Return each step's module at the outermost level with several, and the class of most."""
    for depth in range(max(map(len, scopes), default=0)):
        level = [scope[depth][:2] if depth < len(scope) else None for scope in scopes]  # the module may have been freed
        found = [key for key in dict.fromkeys(level) if key is not None]
        if len(found) > 1:
            names = [str(key[0]) for key in found]
            return level, max(names, key=names.count)
    return [], ""


# -- lines that run again and again ------------------------------------------------------------


def _runs(walk: GraphWalk) -> Runs | None:
    """Find the line that has run most often in this graph, each time from the result of its last run.

    All operations inside one call of a module count as one run of the calling line.
    """
    found = _by_line(walk)
    ranked = sorted((item for item in found.items() if len(item[1]) > 1), key=lambda item: -len(item[1]))
    best: Runs | None = None
    for (filename, line, *_), nodes in ranked[:MAX_CHECKED_LINES]:
        if best is not None and len(nodes) < best.count:
            break
        freed = _freed(nodes)
        if (len(nodes) >= MIN_RUNS or 0 < freed < len(nodes)) and _leads_to(walk, nodes[-1], nodes[0]):
            runs = Runs((filename, line), len(nodes), freed)
            if any(to is nodes[-2] for to, _ in walk.next[nodes[-1]]):  # directly
                return runs
            best = best or runs
    return best


def _freed(nodes: list[Any]) -> int:
    """Count the operations that a backward pass has used up; of many only the first and the last are asked."""
    return sum(_saved(node)[1] for node in (nodes if len(nodes) < 200 else (nodes[0], nodes[-1])))


def _by_line(walk: GraphWalk) -> dict[Any, list[Any]]:
    """Return the operations of each line and kind, one of each run."""
    found: dict[Any, list[Any]] = {}
    calls: set[Any] = set()
    for node in walk.order:
        trace = trace_of(node)
        if trace is not None and trace.lineno:
            modules = tuple(id(block.module()) for block in trace.scope if getattr(block, "module", None) is not None)
            key = trace.filename, trace.lineno, trace.instruction, node_name(node), modules
            call = key, trace.scope[0].number if trace.scope else node
            if call not in calls:
                calls.add(call)
                found.setdefault(key, []).append(node)
    return found


def _leads_to(walk: GraphWalk, node: Any, target: Any) -> bool:
    """Return whether the result of ``target`` was used, directly or not, to compute that of ``node``."""
    stack, seen, least = [node], {node}, walk.rank[target]
    while stack:
        for to, _ in walk.next[stack.pop()]:
            if to is target:
                return True
            if to in walk.rank and walk.rank[to] > least and to not in seen:
                seen.add(to)
                stack.append(to)
    return False
