"""Any autograd graph as plain data: what is there to draw, and how it hangs together.

Only ``next_functions``, ``name()`` and ``variable`` are needed, so PyTorch's graphs do as well as nbautograd's; what
else a node tells (``trace``, ``symbol``, ``formulas``, ``saved_values``) is used where it is there. Nothing in a
:class:`GraphModel` is an array or an address: building it twice gives the same data.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from nbautograd.protocol import Places
from nbautograd.viz import formulas, values
from nbautograd.viz.escape import clean, one_line
from nbautograd.viz.formulas import Mark

__all__ = ["Edge", "Formula", "GraphModel", "Handles", "Node", "Resolve", "Saved", "build"]

Resolve = Callable[[str, int], tuple[str, str]]
"""(filename, line number) -> (a label such as ``In [3]``, the text of the line)."""

MOST = 600  # nodes of a graph that is read whole; of a larger one the part nearest to the roots
NEAREST = 250
SMALL = 8  # up to so many operations, every intermediate result gets its own box
INFIX = "+−×÷@"


@dataclass(frozen=True, slots=True)
class Formula:
    """How the gradient of one input is computed: as text and as marks (see ``formulas``)."""

    slot: int
    input: str
    source: str
    text: str
    marks: list[Mark]


@dataclass(frozen=True, slots=True)
class Saved:
    """A value kept for the backward pass."""

    name: str
    nbytes: int
    shape: str


@dataclass(frozen=True, slots=True)
class Node:
    """One thing in the picture: a ``leaf``, an ``op``, an intermediate ``tensor``, an ``output`` or a ``constant``."""

    id: str
    kind: str
    name: str
    """Of a tensor its variable, of an operation its class (``MulBackward0``)."""
    label: str = ""
    """What an operation is called by its result (``a``, or ``t3`` where there is no name)."""
    symbol: str = ""
    value: str = ""
    shape: str = ""
    dtype: str = ""
    grad: str = ""
    arrivals: int = 0
    """How many edges bring a gradient to a leaf in one pass."""
    named: bool = True
    expression: str = ""
    where: str = ""
    source: str = ""
    formulas: tuple[Formula, ...] = ()
    saved: tuple[Saved, ...] | None = None
    """None where it is not known."""
    operands: tuple[tuple[str, str], ...] = ()
    """The inputs' names in the formulas, and their values."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Edge:
    """From what holds a value to what uses it, in the direction of the computation; gradients run against it."""

    id: str
    src: str
    dst: str
    slot: int = 0
    kind: str = "flow"
    """``flow``; ``result`` from an operation to its box; ``constant``, along which no gradient goes."""


@dataclass(slots=True)
class Handles:
    """Which live object is which part of the picture; only while something is being recorded."""

    ops: dict[Any, str] = field(default_factory=dict)
    leaves: dict[int, str] = field(default_factory=dict)
    """By id() of the leaf tensor, which ``ops`` or ``kept`` holds."""
    kept: list[Any] = field(default_factory=list)

    def of(self, node: Any) -> str | None:
        """The id of a node of the graph, which for an AccumulateGrad is its leaf's."""
        known = self.ops.get(node)
        if known is None and hasattr(node, "variable"):
            known = self.leaves.get(id(node.variable))
        return known


@dataclass(frozen=True)
class GraphModel:
    """The graph as data. ``nodes`` and ``edges`` are in a fixed order: from the roots, inputs in the order of slots."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    roots: tuple[str, ...]
    handles: Handles = field(default_factory=Handles, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_id", {node.id: node for node in self.nodes})
        object.__setattr__(self, "flows", {(e.dst, e.slot): e for e in self.edges if e.kind == "flow"})
        object.__setattr__(self, "results", {(e.src, e.slot): e for e in self.edges if e.kind == "result"})

    by_id: dict[str, Node] = field(init=False, compare=False, repr=False)
    flows: dict[tuple[str, int], Edge] = field(init=False, compare=False, repr=False)
    """The edge into an operation, by the operation's id and the input's slot."""
    results: dict[tuple[str, int], Edge] = field(init=False, compare=False, repr=False)
    """The edge from an operation to the box of one of its outputs, where there is a box."""

    @property
    def leaves(self) -> tuple[Node, ...]:
        """The leaves, in order."""
        return tuple(node for node in self.nodes if node.kind == "leaf")

    @property
    def label(self) -> str:
        """One line that says what this is, such as ``y → 2 leaves, 3 operations``."""
        roots = ", ".join(self.by_id[r].name for r in self.roots[:4]) + (", …" if len(self.roots) > 4 else "")
        leaves, ops = len(self.leaves), sum(node.kind == "op" for node in self.nodes)
        return f"{roots} → {leaves} {'leaf' if leaves == 1 else 'leaves'}, {ops} operation{'s' * (ops != 1)}"

    @property
    def short_label(self) -> str:
        """The same without the operations."""
        return self.label.rpartition(",")[0]

    def plain(self) -> GraphModel:
        """The same without live objects."""
        return replace(self, handles=Handles())

    def without_values(self) -> GraphModel:
        """The same with shapes and names only."""
        bare = (replace(n, value="") if n.shape else n for n in self.nodes)
        return replace(self, nodes=tuple(bare), handles=self.handles)

    def to_json(self) -> dict[str, Any]:
        """Dictionaries, lists, strings and numbers only."""
        return {
            "nodes": [asdict(n) for n in self.nodes],
            "edges": [asdict(e) for e in self.edges],
            "roots": list(self.roots),
        }


def build(
    roots: Any, namespace: Mapping[str, Any] | None = None, *, resolve: Resolve | None = None, most: int = MOST
) -> GraphModel:
    """The graph that made ``roots``: a tensor, several, or pairs (node, which of its outputs).

    :param namespace: variables whose names are to be shown, as ``globals()``.
    :param resolve: says what a file name and a line number are called and what stands there.
    :param most: a graph of more nodes is cut to the part nearest to the roots, so that even a million answer at once.
    """
    return _Builder(roots, namespace or {}, resolve or Places.locate, most).model()


# -- reading foreign objects -----------------------------------------------------------------------


def is_tensor(value: Any) -> bool:
    """Whether it looks like a tensor of an autograd library; asks the class, so that no ``__getattr__`` runs."""
    return hasattr(type(value), "grad_fn") and hasattr(type(value), "requires_grad") and not isinstance(value, type)


def _attribute(thing: Any, name: str, default: Any = None) -> Any:
    """An attribute that may be missing or refuse to answer."""
    try:
        return getattr(thing, name, default)
    except Exception:
        return default


def node_name(node: Any) -> str:
    """What a node of the graph is called, without any C++ namespace."""
    try:
        name = node.name()
    except Exception:
        name = type(node).__name__
    return one_line(str(name).rpartition("::")[2], 80)


def _root(root: Any) -> tuple[Any, int, Any]:
    """(node or None, which of its outputs, tensor or None)."""
    if is_tensor(root):
        return root.grad_fn, _attribute(root, "output_nr", 0) or 0, root
    if isinstance(root, tuple) and len(root) == 2:
        return root[0], root[1], None
    return root, 0, None


class _Names:
    """Which variable names a tensor has: leaves by identity, results also by the node and output that made them."""

    def __init__(self, namespace: Mapping[str, Any]) -> None:
        self.by_tensor: dict[int, list[str]] = {}
        self.by_output: dict[tuple[Any, int], list[str]] = {}
        self.tensors: dict[tuple[Any, int], Any] = {}
        for name, value in list(namespace.items()):
            if not isinstance(name, str) or not is_tensor(value):
                continue
            self.by_tensor.setdefault(id(value), []).append(name)
            node = _attribute(value, "grad_fn")
            if node is not None:
                output = (node, _attribute(value, "output_nr", 0) or 0)
                self.by_output.setdefault(output, []).append(name)
                self.tensors.setdefault(output, value)

    @staticmethod
    def _joined(names: list[str]) -> str:
        public = [name for name in names if not name.startswith("_")] or names[:1]
        return " = ".join(one_line(name, 40) for name in public[:3])

    def tensor(self, tensor: Any) -> str:
        return self._joined(self.by_tensor.get(id(tensor), [])) if tensor is not None else ""

    def output(self, node: Any, index: int) -> str:
        return self._joined(self.by_output.get((node, index), []))


# -- building -----------------------------------------------------------------------


class _Builder:
    """Walks the graph once, without recursion, and writes the model down in the order of the walk."""

    def __init__(self, roots: Any, namespace: Mapping[str, Any], resolve: Resolve, most: int) -> None:
        several = isinstance(roots, (list, tuple)) and not (len(roots) == 2 and isinstance(roots[1], int))
        self.roots = [_root(root) for root in (roots if several else [roots])]
        self.names, self.resolve = _Names(namespace), resolve
        self.handles = Handles()
        self.nodes: list[Node] = []
        self.edges: list[Edge] = []
        self.next: dict[Any, tuple[tuple[Any, int], ...]] = {}
        self.made: dict[tuple[Any, int], str] = {}  # (node, output) -> id of the box that stands for the result
        self.shown: dict[tuple[Any, int], str] = {}  # (node, output) -> what it is called in formulas
        self.cut = not self.walk(most)
        if self.cut:
            self.walk_near(min(NEAREST, most))
        self.find_uses()

    def walk(self, most: int) -> bool:
        """Find all nodes; dictionaries keep them alive and in order, as PyTorch makes its wrappers on demand.

        False if there are too many.
        """
        stack = [node for node, _, _ in reversed(self.roots) if node is not None]
        while stack:
            node = stack.pop()
            if node in self.next:
                continue
            if len(self.next) >= most:
                return False
            edges = self.next[node] = tuple(_attribute(node, "next_functions") or ())
            stack += [to for to, _ in reversed(edges) if to is not None and to not in self.next]
        return True

    def walk_near(self, most: int) -> None:
        """Find the nodes that are the fewest steps from the roots."""
        self.next.clear()
        waiting = deque(node for node, _, _ in self.roots if node is not None)
        while waiting and len(self.next) < most:
            node = waiting.popleft()
            if node not in self.next:
                edges = self.next[node] = tuple(_attribute(node, "next_functions") or ())
                waiting += [to for to, _ in edges if to is not None and to not in self.next]

    def find_uses(self) -> None:
        """Which outputs of the found nodes are used by others of them."""
        self.ops = [node for node in self.next if _attribute(node, "variable") is None]
        self.used = {edge for edges in self.next.values() for edge in edges if edge[0] in self.next}

    def model(self) -> GraphModel:
        self.name_results()
        self.root_ids = []
        for node, _, tensor in self.roots:
            if node is None:
                self.root_ids.append(self.leaf(None, tensor))
        for node in self.next:
            if _attribute(node, "variable") is not None:
                self.made[node, 0] = self.leaf(node, node.variable)
            else:
                self.operation(node)
        for node in self.ops:
            self.connect(node)
        roots = [self.made[node, index] for node, index, _ in self.roots if node is not None]
        ids = tuple(dict.fromkeys(roots + self.root_ids))
        return GraphModel(self.counted(), tuple(self.edges), ids, self.handles)

    def name_results(self) -> None:
        """Give every result a name: its variable's, or t1, t2, … in the order of the computation."""
        taken = {name for names in self.names.by_tensor.values() for name in names}
        self.indices: dict[Any, list[int]] = {}  # of each node, which of its outputs are used
        for node, index in sorted(self.used | {(n, i) for n, i, _ in self.roots if n is not None}, key=lambda o: o[1]):
            self.indices.setdefault(node, []).append(index)
        self.multiple = {node for node, indices in self.indices.items() if indices != [0]}
        variables = [node.variable for node in self.next if _attribute(node, "variable") is not None]
        self.leaf_names = {}
        for i, variable in enumerate({id(v): v for v in variables}.values(), 1):
            self.leaf_names[id(variable)] = self.names.tensor(variable) or f"leaf{i}"
        self.is_root = {(node, index): tensor for node, index, tensor in self.roots if node is not None}
        unnamed = 0
        for node in self._forward_order():
            for index in self.indices[node] if node in self.multiple else (0,):
                name = self.names.output(node, index) or self.names.tensor(self._output_tensor(node, index))
                if not name and (node, index) in self.is_root:
                    name = "out" if len(self.roots) == 1 else f"out{len(self.shown)}"
                while not name:
                    unnamed += 1
                    name = f"t{unnamed}" if f"t{unnamed}" not in taken else ""
                self.shown[node, index] = name

    def _forward_order(self) -> list[Any]:
        """Operations, each after those whose results it uses."""
        waiting = dict.fromkeys(self.ops, 0)
        for node in self.ops:
            for to, _ in self.next[node]:
                if to in waiting:
                    waiting[to] += 1
        ready = [node for node, count in waiting.items() if not count]
        order = []
        while ready:
            node = ready.pop()
            order.append(node)
            for to, _ in self.next[node]:
                if to in waiting:
                    waiting[to] -= 1
                    if not waiting[to]:
                        ready.append(to)
        return order[::-1]

    def _output_tensor(self, node: Any, index: int) -> Any:
        if (node, index) in self.is_root and self.is_root[node, index] is not None:
            return self.is_root[node, index]
        if (node, index) in self.names.tensors:
            return self.names.tensors[node, index]
        trace = _attribute(node, "trace")
        return trace.output() if trace is not None and index == 0 else None

    def add(self, node: Node) -> str:
        self.nodes.append(node)
        return node.id

    def new_id(self) -> str:
        return f"n{len(self.nodes)}"

    def link(self, src: str, dst: str, slot: int, kind: str) -> None:
        self.edges.append(Edge(f"e{len(self.edges)}", src, dst, slot, kind))

    def leaf(self, node: Any, tensor: Any) -> str:
        """The box of a leaf, or of a root that has no graph at all."""
        known = self.handles.leaves.get(id(tensor))
        if known is not None:
            if node is not None:
                self.handles.ops[node] = known
            return known
        key = self.new_id()
        self.handles.leaves[id(tensor)] = key
        self.handles.kept.append(tensor)
        if node is not None:
            self.handles.ops[node] = key
        tracked = bool(_attribute(tensor, "requires_grad", False))
        return self.add(
            Node(
                key,
                "leaf" if tracked else "constant",
                self.leaf_names.get(id(tensor)) or self.names.tensor(tensor) or "leaf",
                value=values.text(tensor),
                shape=values.shape_text(tensor),
                dtype=values.dtype_text(_attribute(tensor, "dtype", "")),
                grad=values.inline(_attribute(tensor, "grad")) if tracked else "",
                named=bool(self.names.tensor(tensor)),
                notes=() if tracked else ("requires_grad=False: there is no graph",),
            )
        )

    def operation(self, node: Any) -> None:
        """The pill of an operation, and the boxes of its results."""
        name, trace = node_name(node), _attribute(node, "trace")
        key = self.new_id()
        self.handles.ops[node] = key
        where, source = self._where(trace)
        symbol = one_line(_attribute(type(node), "symbol") or formulas.symbol_of(name), 16)
        outputs = self._outputs(node)
        boxes = [output for output in outputs if self._has_box(output)]
        value, shape, dtype = self._result(node, 0)
        self.add(
            Node(
                key,
                "op",
                name,
                label=self.shown.get((node, 0), ""),
                symbol=symbol,
                value="" if boxes or not value else value.partition("\n")[0] + ("…" if "\n" in value else ""),
                shape=shape,
                dtype=dtype,
                named=bool(self.names.output(node, 0)),
                expression=self._expression(node, symbol),
                where=where,
                source=source,
                formulas=self._formulas(node, name),
                saved=self._saved(node),
                operands=self._operands(node),
            )
        )
        for output in outputs:
            self.made[output] = key
            if output in boxes:
                self.made[output] = self._box(node, output[1], key)

    def _outputs(self, node: Any) -> list[tuple[Any, int]]:
        if node not in self.multiple:
            return [(node, 0)]
        return [(node, index) for index in self.indices[node]]

    def _has_box(self, output: tuple[Any, int]) -> bool:
        if output in self.is_root:
            return True
        node, index = output
        named = self.names.output(node, index) or self.names.tensor(self._output_tensor(node, index))
        if named:
            return True
        return len(self.ops) <= SMALL and (index > 0 or bool(self._result(node, index)[0]))

    def _box(self, node: Any, index: int, op: str) -> str:
        value, shape, dtype = self._result(node, index)
        output = (node, index)
        key = self.add(
            Node(
                self.new_id(),
                "output" if output in self.is_root else "tensor",
                self.shown[output],
                value=value,
                shape=shape,
                dtype=dtype,
                named=bool(self.names.output(node, index)) or output in self.is_root,
            )
        )
        self.link(op, key, index, "result")
        return key

    def _result(self, node: Any, index: int) -> tuple[str, str, str]:
        """Value, shape and dtype of a result, as far as they are known."""
        trace = _attribute(node, "trace") if index == 0 else None
        if trace is not None:
            tensor = trace.value if trace.value is not None else trace.output()
            value = values.text(tensor) if tensor is not None else ""
            return value, str(tuple(trace.shape)), values.dtype_text(trace.dtype)
        tensor = self._output_tensor(node, index)
        if tensor is None:
            return "", "", ""
        return values.text(tensor), values.shape_text(tensor), values.dtype_text(_attribute(tensor, "dtype", ""))

    def connect(self, node: Any) -> None:
        """Edges into an operation, with a box for each constant among its arguments."""
        key = self.handles.ops[node]
        for slot, (to, index) in enumerate(self.next[node]):
            if to in self.next:
                self.link(self.made[to, index], key, slot, "flow")
            elif to is not None:
                self.link(self.add(Node(self.new_id(), "constant", "⋯ more")), key, slot, "constant")
        for operand in self._constants(node):
            self.link(self._constant(operand), key, -1 if operand.slot is None else operand.slot, "constant")

    def _constants(self, node: Any) -> list[Any]:
        trace, edges = _attribute(node, "trace"), self.next[node]
        names = tuple(_attribute(type(node), "inputs") or ())
        found = []
        for operand in trace.operands if trace is not None else ():
            slot = operand.slot
            if slot is not None and slot < len(edges) and edges[slot][0] is not None:
                continue
            number = isinstance(operand.value, (int, float, complex)) and not isinstance(operand.value, bool)
            if operand.shape is not None or (number and (operand.name in names or operand.name in _NUMBERS)):
                found.append(operand)
        return found

    def _constant(self, operand: Any) -> str:
        tensor = operand.tensor() if operand.tensor is not None else None
        name = self.names.tensor(tensor)
        value = values.text(operand.value if operand.value is not None else tensor)
        scalar = operand.shape is None or (not name and operand.shape == ())
        return self.add(
            Node(
                self.new_id(),
                "constant",
                values.inline(operand.value) if scalar else name or operand.name,
                value="" if scalar else value if operand.value is not None or tensor is not None else "",
                shape="" if scalar or operand.shape is None else str(tuple(operand.shape)),
                dtype="" if scalar else values.dtype_text(operand.dtype or ""),
                named=scalar or bool(name),
            )
        )

    # -- what an operation says about itself -------------------------------------------------------------------

    def _where(self, trace: Any) -> tuple[str, str]:
        if trace is None:
            return "", ""
        label, line = self.resolve(trace.filename, trace.lineno)
        return f"{one_line(label, 60)}, line {trace.lineno}", clean(line.strip())

    def _saved(self, node: Any) -> tuple[Saved, ...] | None:
        read = _attribute(node, "saved_values")
        if not callable(read):
            return None
        try:
            kept = dict(read())
        except Exception:
            return ()
        names = {name: one_line(name, 40).removeprefix("s_") for name in sorted(kept)}
        return tuple(Saved(names[n], values.nbytes(kept[n]), values.shape_text(kept[n])) for n in names)

    def _slot_name(self, node: Any, slot: int) -> str:
        """What is in a slot, by the name under which the picture shows it."""
        edges = self.next[node]
        to, index = edges[slot] if slot < len(edges) else (None, 0)
        if to not in self.next:
            return "" if to is None else "…"
        variable = _attribute(to, "variable")
        if variable is None:
            return self.shown[to, index]
        return self.leaf_names[id(variable)]

    def _inputs(self, node: Any) -> list[tuple[str, str]]:
        """(the parameter's name, what the picture calls the argument), for the known arguments of an operation."""
        trace, edges = _attribute(node, "trace"), self.next[node]
        if trace is None:
            names = tuple(_attribute(type(node), "inputs") or ()) or ("input", "other")
            if len(edges) == 3 and node_name(node).startswith("Addmm"):
                names = ("bias", "input", "other")
            return [(names[i] if i < len(names) else f"input{i}", self._slot_name(node, i)) for i in range(len(edges))]
        found = []
        for operand in trace.operands:
            name = self._slot_name(node, operand.slot) if operand.slot is not None else ""
            if not name and operand.tensor is not None:
                name = self.names.tensor(operand.tensor()) or operand.name
            found.append((operand.name, name or values.inline(operand.value)))
        return found

    def _expression(self, node: Any, symbol: str) -> str:
        arguments = [shown or "…" for name, shown in self._inputs(node) if name not in _OPTIONS]
        label = self.shown.get((node, 0), "")
        if symbol in INFIX and len(arguments) == 2:
            made = f"{arguments[0]} {symbol} {arguments[1]}"
        elif symbol == "−" and len(arguments) == 1:
            made = f"−{arguments[0]}"
        else:
            made = f"{formulas.base(node_name(node)).lower()}({', '.join(arguments[:6])}{', …' * (len(arguments) > 6)})"
        return f"{label} = {made}" if label else made

    def _formulas(self, node: Any, name: str) -> tuple[Formula, ...]:
        given = _attribute(type(node), "formulas")
        inputs = tuple(_attribute(type(node), "inputs") or ())
        root = self.shown[self.roots[0][:2]] if len(self.roots) == 1 and self.roots[0][0] is not None else "L"
        known: dict[str, list[Mark]] = {
            "g": [["d", root, self.shown.get((node, 0), "·")]],
            "result": [["i", self.shown.get((node, 0), "result")]],
        }
        for parameter, shown in self._inputs(node):
            if shown:
                known[parameter] = [["n" if shown.lstrip("-").replace(".", "", 1).isdigit() else "i", shown]]
        found = []
        for slot, (to, _) in enumerate(self.next[node]):
            parameter = inputs[slot] if slot < len(inputs) else ""
            text = given.get(parameter, "") if isinstance(given, Mapping) else ""
            if not text and not given:
                text = formulas.FORMULAS.get(formulas.base(name).lower(), {}).get(slot, "")
            if to is None or not text:
                continue
            right = formulas.marks(text, known)
            written = [["d", root, self._slot_name(node, slot)], ["o", "+="], *right]
            found.append(Formula(slot, parameter, one_line(text), formulas.plain(written), written))
        return tuple(found)

    def _operands(self, node: Any) -> tuple[tuple[str, str], ...]:
        """The values that formulas name, where they are single numbers."""
        found: dict[str, Any] = {}
        trace = _attribute(node, "trace")
        if trace is not None:
            found = {operand.name: operand.value for operand in trace.operands}
            found["result"] = trace.value
        else:
            read = _attribute(node, "saved_values")
            try:
                found = dict(read()) if callable(read) else {}
            except Exception:
                found = {}
            saved = (name for name in dir(type(node)) if name.startswith("_saved_"))
            for name in saved:
                parameter = name.removeprefix("_saved_")
                found["input" if parameter == "self" else parameter] = _attribute(node, name)
        written = {one_line(n, 40): values.inline(v, 1) for n, v in found.items() if v is not None}
        return tuple((n, v) for n, v in sorted(written.items()) if len(v) <= 12 and " " not in v)

    def counted(self) -> tuple[Node, ...]:
        """The nodes, with each leaf's number of arriving edges filled in."""
        arrivals: dict[str, int] = {}
        for edge in self.edges:
            if edge.kind == "flow":
                arrivals[edge.src] = arrivals.get(edge.src, 0) + 1
        return tuple(replace(n, arrivals=arrivals.get(n.id, 0)) if n.kind == "leaf" else n for n in self.nodes)


_NUMBERS = {"input", "other", "exponent", "value", "min", "max", "tensor1", "tensor2", "weight", "end"}
_OPTIONS = {"dim", "keepdim", "alpha", "beta", "dtype", "correction", "rounding_mode", "reduction"}
