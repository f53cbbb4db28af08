"""Any autograd graph as plain data: what is there to draw, and how it hangs together.

Only ``next_functions``, ``name()`` and ``variable`` are needed, so PyTorch's graphs do as well as nbautograd's; what
else a node tells (``trace``, ``symbol``, ``formulas``, ``saved_values``) is used where it is there. Nothing in a
:class:`GraphModel` is an array or an address: building it twice gives the same data.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from nbautograd.protocol import SourceLocator
from nbautograd.viz.escape import clean, one_line
from nbautograd.viz.language import say
from nbautograd.viz.read import fold as folding, formulas, introspect, values
from nbautograd.viz.read.formulas import Mark
from nbautograd.viz.read.introspect import Names, attribute, node_name
from nbautograd.viz.read.model import Edge, Formula, GraphModel, Handles, Node

__all__ = ["Resolve", "build"]

Resolve = Callable[[str, int], tuple[str, str]]
"""(filename, line number) -> (a label such as ``In [3]``, the text of the line)."""

READ = 100_000  # nodes of a graph that is read whole; of a larger one the part nearest to the roots
NEAREST = 5000
DESCRIBED = 500  # operations of a graph that are all described, so that a group that is opened can tell everything
SMALL = 8  # up to so many operations, every intermediate result gets its own box
NEAR = 16  # how far back, in operations, an input still tells one step of a loop from another
INFIX = "+−×÷@"


def build(
    roots: Any,
    namespace: Mapping[str, Any] | None = None,
    *,
    resolve: Resolve | None = None,
    most: int = READ,
    budget: int = folding.BUDGET,
    fold: bool | None = False,
    opened: Collection[str] = (),
    described: int = DESCRIBED,
) -> GraphModel:
    """The graph that made ``roots``: a tensor, several, or pairs (node, which of its outputs).

    :param namespace: variables whose names are to be shown, as ``globals()``.
    :param resolve: says what a file name and a line number are called and what stands there.
    :param most: a graph of more nodes is cut to the part nearest to the roots, so that even a million answer at once.
    :param budget: a graph of more nodes is folded until about so many are left.
    :param fold: fold layers and what repeats in smaller graphs, too; None folds layers only, if there are several.
    :param opened: ids or labels of groups that are not folded.
    :param described: in a graph of more operations, those that are not drawn are not described either.
    """
    resolve = resolve or SourceLocator.locate
    return _Builder(roots, namespace or {}, resolve, most, budget, fold, opened, described).model()


class _Builder:
    """Walks the graph once, without recursion, and writes the model down in the order of the walk."""

    def __init__(
        self,
        roots: Any,
        namespace: Mapping[str, Any],
        resolve: Resolve,
        most: int,
        budget: int,
        fold: bool | None,
        opened: Collection[str],
        described: int,
    ) -> None:
        several = isinstance(roots, (list, tuple)) and not (len(roots) == 2 and isinstance(roots[1], int))
        self.roots = [introspect.root_of(root) for root in (roots if several else [roots])]
        self.names, self.resolve, self.budget = Names(namespace), resolve, budget
        self.known_places: dict[tuple[str, int], tuple[str, str]] = {}
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
        self.order = self.forward_order()
        self.place = {node: i for i, node in enumerate(self.order)}
        self.tree = folding.plan([self.signature(n) for n in self.order], self.scopes(), self.inputs())
        allowed = folding.allowed(len(self.ops), len(self.next) - len(self.ops), budget)
        self.chosen = folding.choose(self.tree, allowed, opened, fold=fold)
        # Of a large graph, what is not going to be drawn is not described: that is what takes the time.
        self.bare: set[Any] = set()
        self.bare_leaves: set[Any] = set()
        if len(self.ops) > described:
            self.bare = {n for p in self.chosen.shown() if p.closed for n in self.order[p.start : p.stop]}
        if len(self.next) - len(self.ops) > max(budget, described):
            drawn = {to for n in self.ops if n not in self.bare for to, _ in self.next[n]}
            self.bare_leaves = {node for node in self.next if node not in drawn} - set(self.ops)

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
            edges = self.next[node] = tuple(attribute(node, "next_functions") or ())
            stack += [to for to, _ in reversed(edges) if to is not None and to not in self.next]
        return True

    def walk_near(self, most: int) -> None:
        """Find the nodes that are the fewest steps from the roots."""
        self.next.clear()
        waiting = deque(node for node, _, _ in self.roots if node is not None)
        while waiting and len(self.next) < most:
            node = waiting.popleft()
            if node not in self.next:
                edges = self.next[node] = tuple(attribute(node, "next_functions") or ())
                waiting += [to for to, _ in edges if to is not None and to not in self.next]

    def find_uses(self) -> None:
        """Which outputs of the found nodes are used by others of them."""
        self.ops = [node for node in self.next if attribute(node, "variable") is None]
        self.used = {edge for edges in self.next.values() for edge in edges if edge[0] in self.next}

    def model(self) -> GraphModel:
        """The graph, folded as it was chosen."""
        self.name_results()
        self.root_ids = []
        for node, _, tensor in self.roots:
            if node is None:
                self.root_ids.append(self.leaf(None, tensor))
        for node in self.next:
            if attribute(node, "variable") is not None:
                self.made[node, 0] = self.leaf(node, node.variable)
            else:
                self.operation(node)
        for node in self.ops:
            self.connect(node)
        roots = [self.made[node, index] for node, index, _ in self.roots if node is not None]
        ids = tuple(dict.fromkeys(roots + self.root_ids))
        whole = GraphModel(
            self.counted(),
            tuple(self.edges),
            ids,
            self.handles,
            notes=(say("cut", count=len(self.next)),) if self.cut else (),
            order=tuple(self.handles.ops[node] for node in self.order),
            tree=self.tree,
        )
        return folding.collapse(whole, self.chosen, self.budget)

    # -- the order in which things ran -----------------------------------------------------------------------

    def forward_order(self) -> list[Any]:
        """Operations in the order in which they ran; at least each after those whose results it uses."""
        numbers = {node: introspect.sequence(node) for node in self.ops}
        if all(number is not None for number in numbers.values()):
            right = all(
                numbers[to] < numbers[node]  # type: ignore[operator]
                for node in self.ops
                for to, _ in self.next[node]
                if to in numbers
            )
            if right:
                return sorted(self.ops, key=numbers.__getitem__)  # type: ignore[arg-type]
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

    def signature(self, node: Any) -> Any:
        """What two operations have in common that are the same step of a loop."""
        trace, place, own = attribute(node, "trace"), self.place, self.place[node]
        inputs = tuple(
            -1 if to is None else own - place[to] if to in place and own - place[to] <= NEAR else 0
            for to, _ in self.next[node]
        )
        return node_name(node), inputs, (trace.filename, trace.lineno) if trace is not None else None

    def scopes(self) -> list[tuple[Any, ...]]:
        """The named blocks of each operation, as far as its trace tells them."""
        traces = (attribute(node, "trace") for node in self.order)
        return [tuple(attribute(trace, "scope", None) or ()) for trace in traces]

    def inputs(self) -> list[list[int]]:
        """The places of those operations whose results each one uses."""
        return [[self.place[to] for to, _ in self.next[node] if to in self.place] for node in self.order]

    # -- names -----------------------------------------------------------------------

    def name_results(self) -> None:
        """Give every result a name: its variable's, that of the line's assignment, or t1, t2, … as they were made."""
        taken = {name for names in self.names.by_tensor.values() for name in names}
        self.indices: dict[Any, list[int]] = {}  # of each node, which of its outputs are used
        for node, index in sorted(self.used | {(n, i) for n, i, _ in self.roots if n is not None}, key=lambda o: o[1]):
            self.indices.setdefault(node, []).append(index)
        self.multiple = {node for node, indices in self.indices.items() if indices != [0]}
        variables = [node.variable for node in self.next if attribute(node, "variable") is not None]
        self.leaf_names = {}
        for i, variable in enumerate({id(v): v for v in variables}.values(), 1):
            self.leaf_names[id(variable)] = self.names.tensor(variable) or f"leaf{i}"
        self.is_root = {(node, index): tensor for node, index, tensor in self.roots if node is not None}
        lines = self.names_of_lines(taken)
        unnamed = 0
        for node in self.order:
            for index in self.indices[node] if node in self.multiple else (0,):
                name = self.own_name(node, index)
                if not name and (node, index) in self.is_root:
                    name = "out" if len(self.roots) == 1 else f"out{len(self.shown)}"
                name = name or (lines.get(node, "") if index == 0 else "")
                while not name:
                    unnamed += 1
                    name = f"t{unnamed}" if f"t{unnamed}" not in taken else ""
                self.shown[node, index] = name

    def own_name(self, node: Any, index: int) -> str:
        """The name of the variable that holds a result."""
        return self.names.output(node, index) or self.names.tensor(self.output_tensor(node, index))

    def names_of_lines(self, taken: set[str]) -> dict[Any, str]:
        """Names of results by the lines that assigned them; results of one name, as in a loop, are numbered."""
        found: dict[str, list[Any]] = {}
        for node in self.order:
            trace = attribute(node, "trace")
            if trace is None or node in self.multiple:
                continue
            told = introspect.assigned(self.located(trace)[1])
            if told is not None and introspect.same_operation(node_name(node), told[1]) and not self.own_name(node, 0):
                found.setdefault(told[0], []).append(node)
        return {
            node: one_line(name, 40) + (introspect.subscript(i) if len(nodes) > 1 or name in taken else "")
            for name, nodes in found.items()
            for i, node in enumerate(nodes, 1)
        }

    def output_tensor(self, node: Any, index: int) -> Any:
        """The tensor that holds a result, as long as it lives."""
        if (node, index) in self.is_root and self.is_root[node, index] is not None:
            return self.is_root[node, index]
        if (node, index) in self.names.tensors:
            return self.names.tensors[node, index]
        trace = attribute(node, "trace")
        return trace.output() if trace is not None and index == 0 else None

    # -- nodes and edges -----------------------------------------------------------------------

    def add(self, node: Node) -> str:
        """Write one node down."""
        self.nodes.append(node)
        return node.id

    def new_id(self) -> str:
        """An id that is the same whenever the graph is."""
        return f"n{len(self.nodes)}"

    def link(self, src: str, dst: str, slot: int, kind: str) -> None:
        """Write one edge down."""
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
        tracked = bool(attribute(tensor, "requires_grad", False))
        name = self.leaf_names.get(id(tensor)) or self.names.tensor(tensor) or "leaf"
        if node in self.bare_leaves:
            return self.add(Node(key, "leaf", name, shape=values.shape_text(tensor), nbytes=values.nbytes(tensor)))
        return self.add(
            Node(
                key,
                "leaf" if tracked else "constant",
                name,
                grad=values.inline(attribute(tensor, "grad")) if tracked else "",
                named=bool(self.names.tensor(tensor)),
                notes=() if tracked else (say("no_graph"),),
                hooks=introspect.hooks_of(node, tensor),
                value=values.text(tensor),
                shape=values.shape_text(tensor),
                dtype=values.dtype_text(attribute(tensor, "dtype", "")),
                **self.about(tensor),
            )
        )

    def about(self, tensor: Any) -> dict[str, Any]:
        """What a live tensor tells besides its value."""
        base = introspect.view_base(tensor)
        return {
            "nbytes": values.nbytes(tensor),
            "device": introspect.device_of(tensor),
            "version": introspect.version_of(tensor),
            "view_of": "" if base is None else self.base_name(base),
        }

    def base_name(self, base: Any) -> str:
        """What the tensor under a view is called."""
        node = attribute(base, "grad_fn")
        index = attribute(base, "output_nr", 0) or 0
        return self.names.tensor(base) or self.leaf_names.get(id(base)) or self.shown.get((node, index), say("another"))

    def operation(self, node: Any) -> None:
        """The pill of an operation, and the boxes of its results."""
        name, trace = node_name(node), attribute(node, "trace")
        key = self.new_id()
        self.handles.ops[node] = key
        cls = introspect.declared(node, name)
        symbol = one_line(attribute(cls, "symbol") or formulas.symbol_of(name), 16)
        outputs = self.outputs(node)
        boxes = [output for output in outputs if self.has_box(output)]
        label = self.shown.get((node, 0), "")
        place = self.where(trace)
        if node in self.bare:
            self.add(Node(key, "op", name, label=label, symbol=symbol, **place))
        else:
            value, shape, dtype = self.result(node, 0)
            saved, freed = introspect.saved_of(node)
            self.add(
                Node(
                    key,
                    "op",
                    name,
                    label=label,
                    symbol=symbol,
                    value="" if boxes or not value else value.partition("\n")[0] + ("…" if "\n" in value else ""),
                    shape=shape,
                    dtype=dtype,
                    named=bool(self.names.output(node, 0)),
                    expression=self.expression(node, symbol),
                    **place,
                    formulas=self.formulas(node, cls),
                    saved=saved,
                    operands=self.operands(node),
                    freed=freed,
                    hooks=introspect.hooks_of(node, self.output_tensor(node, 0)),
                    scope=tuple(
                        one_line(s[0] if isinstance(s, tuple) and s else s, 40)
                        for s in attribute(trace, "scope", None) or ()
                    ),
                )
            )
        for output in outputs:
            self.made[output] = key
            if output in boxes:
                self.made[output] = self.box(node, output[1], key)

    def outputs(self, node: Any) -> list[tuple[Any, int]]:
        """The results of a node that something uses."""
        if node not in self.multiple:
            return [(node, 0)]
        return [(node, index) for index in self.indices[node]]

    def has_box(self, output: tuple[Any, int]) -> bool:
        """Whether a result is drawn as a box of its own."""
        if output in self.is_root:
            return True
        node, index = output
        if node in self.bare:
            return False
        if self.own_name(node, index):
            return True
        return len(self.ops) <= SMALL and (index > 0 or bool(self.result(node, index)[0]))

    def box(self, node: Any, index: int, op: str) -> str:
        """The box of a result."""
        value, shape, dtype = self.result(node, index)
        output = (node, index)
        tensor = self.output_tensor(node, index)
        key = self.add(
            Node(
                self.new_id(),
                "output" if output in self.is_root else "tensor",
                self.shown[output],
                value=value,
                shape=shape,
                dtype=dtype,
                named=bool(self.names.output(node, index)) or output in self.is_root,
                retains=introspect.retains(tensor),
                grad=values.inline(attribute(tensor, "grad")) if introspect.retains(tensor) else "",
                **(self.about(tensor) if tensor is not None else {}),
            )
        )
        self.link(op, key, index, "result")
        return key

    def result(self, node: Any, index: int) -> tuple[str, str, str]:
        """Value, shape and dtype of a result, as far as they are known."""
        trace = attribute(node, "trace") if index == 0 else None
        if trace is not None:
            tensor = trace.value if trace.value is not None else trace.output()
            value = values.text(tensor) if tensor is not None else ""
            return value, str(tuple(trace.shape)), values.dtype_text(trace.dtype)
        tensor = self.output_tensor(node, index)
        if tensor is None:
            return ("", *introspect.metadata(node, index))
        return values.text(tensor), values.shape_text(tensor), values.dtype_text(attribute(tensor, "dtype", ""))

    def connect(self, node: Any) -> None:
        """Edges into an operation, with a box for each constant among its arguments."""
        key = self.handles.ops[node]
        for slot, (to, index) in enumerate(self.next[node]):
            if to in self.next:
                self.link(self.made[to, index], key, slot, "flow")
            elif to is not None:
                self.link(self.more(node), key, slot, "constant")
        for operand in self.constants(node) if node not in self.bare else ():
            self.link(self.constant(operand), key, -1 if operand.slot is None else operand.slot, "constant")

    def more(self, node: Any) -> str:
        """What stands for the part of the graph that was not read."""
        if node not in self.bare:
            return self.add(Node(self.new_id(), "constant", say("more"), symbol="⋯"))
        if not hasattr(self, "rest"):
            self.rest = self.add(Node(self.new_id(), "constant", say("more"), symbol="⋯"))
        return self.rest

    def constants(self, node: Any) -> list[Any]:
        """The arguments along which no gradient goes and that are worth showing."""
        trace, edges = attribute(node, "trace"), self.next[node]
        names = tuple(attribute(introspect.declared(node, node_name(node)), "inputs") or ())
        found = []
        for operand in trace.operands if trace is not None else ():
            slot = operand.slot
            if slot is not None and slot < len(edges) and edges[slot][0] is not None:
                continue
            number = isinstance(operand.value, (int, float, complex)) and not isinstance(operand.value, bool)
            if operand.shape is not None or (number and (operand.name in names or operand.name in _NUMBERS)):
                found.append(operand)
        return found

    def constant(self, operand: Any) -> str:
        """The box of a constant argument, or its number."""
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

    def located(self, trace: Any) -> tuple[str, str]:
        """What the file of a trace is called, and the text of the line."""
        place = trace.filename, trace.lineno
        if place not in self.known_places:
            self.known_places[place] = self.resolve(*place)
        return self.known_places[place]

    def where(self, trace: Any) -> dict[str, Any]:
        """The place of an operation in the code, as fields of a node."""
        if trace is None:
            return {}
        label, text = self.located(trace)
        cell, line = one_line(label, 60), int(trace.lineno)
        return {"where": say("line_of", cell=cell, n=line), "cell": cell, "line": line, "source": clean(text.strip())}

    def slot_name(self, node: Any, slot: int) -> str:
        """What is in a slot, by the name under which the picture shows it."""
        edges = self.next[node]
        to, index = edges[slot] if slot < len(edges) else (None, 0)
        if to not in self.next:
            return "" if to is None else "…"
        variable = attribute(to, "variable")
        if variable is None:
            return self.shown[to, index]
        return self.leaf_names[id(variable)]

    def arguments(self, node: Any) -> list[tuple[str, str]]:
        """(the parameter's name, what the picture calls the argument), for the known arguments of an operation."""
        trace, edges = attribute(node, "trace"), self.next[node]
        if trace is None:
            names = tuple(attribute(introspect.declared(node, node_name(node)), "inputs") or ()) or ("input", "other")
            if len(edges) == 3 and node_name(node).startswith("Addmm"):
                names = ("bias", "input", "other")
            return [(names[i] if i < len(names) else f"input{i}", self.slot_name(node, i)) for i in range(len(edges))]
        found = []
        for operand in trace.operands:
            name = self.slot_name(node, operand.slot) if operand.slot is not None else ""
            if not name and operand.tensor is not None:
                name = self.names.tensor(operand.tensor()) or operand.name
            found.append((operand.name, name or values.inline(operand.value)))
        return found

    def expression(self, node: Any, symbol: str) -> str:
        """The operation as it might be written: ``a = w + x``."""
        arguments = [shown or "…" for name, shown in self.arguments(node) if name not in _OPTIONS]
        if node_name(node).startswith("Rsub"):
            arguments.reverse()  # rsub(input, other) is other − input
        label = self.shown.get((node, 0), "")
        if symbol in INFIX and len(arguments) == 2:
            made = f"{arguments[0]} {symbol} {arguments[1]}"
        elif symbol == "−" and len(arguments) == 1:
            made = f"−{arguments[0]}"
        else:
            called = symbol if symbol.endswith("′") else formulas.base(node_name(node)).lower()
            made = f"{called}({', '.join(arguments[:6])}{', …' * (len(arguments) > 6)})"
        return f"{label} = {made}" if label else made

    def formulas(self, node: Any, cls: Any) -> tuple[Formula, ...]:
        """How the gradient of each input is computed."""
        given = attribute(cls, "formulas")
        inputs = tuple(attribute(cls, "inputs") or ())
        root = self.shown[self.roots[0][:2]] if len(self.roots) == 1 and self.roots[0][0] is not None else "L"
        known: dict[str, list[Mark]] = {
            "g": [["d", root, self.shown.get((node, 0), "·")]],
            "result": [["i", self.shown.get((node, 0), "result")]],
        }
        for parameter, shown in self.arguments(node):
            if shown:
                known[parameter] = [["n" if shown.lstrip("-").replace(".", "", 1).isdigit() else "i", shown]]
        for parameter, value in introspect.operands_of(node).items():
            if parameter not in known and type(value) in (int, float):
                known[parameter] = [["n", values.inline(value)]]
        found = []
        for slot, (to, _) in enumerate(self.next[node]):
            parameter = inputs[slot] if slot < len(inputs) else ""
            text = given.get(parameter, "") if isinstance(given, Mapping) else ""
            if to is None or not text:
                continue
            right = formulas.marks(text, known)
            written = [["d", root, self.slot_name(node, slot)], ["o", "+="], *right]
            found.append(Formula(slot, parameter, one_line(text), formulas.plain(written), written))
        return tuple(found)

    def operands(self, node: Any) -> tuple[tuple[str, str], ...]:
        """The values that formulas name, where they are single numbers."""
        found = introspect.operands_of(node)
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
