"""Any autograd graph as plain data: what is there to draw, and how it hangs together.

Only ``next_functions``, ``name()`` and ``variable`` are required, so PyTorch's graphs work like nbautograd's; optional
attributes of a node (``trace``, ``symbol``, ``formulas``, ``saved_values``) are used if present. Nothing in a
:class:`GraphModel` is an array or an address: building it twice gives the same data.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from nbautograd._engine.base.missing_graph import cut_of
from nbautograd.protocol import SourceLocator
from nbautograd.viz.escape import line_of, one_line
from nbautograd.viz.language import say
from nbautograd.viz.read import fold as folding, formulas, introspect, levels, values
from nbautograd.viz.read.introspect import attribute, remarks
from nbautograd.viz.read.model import Edge, GraphModel, Handles, Node
from nbautograd.viz.read.naming import Resolve, ResultNames, SourceLines
from nbautograd.viz.read.operations import OperationReader
from nbautograd.viz.read.segments import Turns, label_of, name_of
from nbautograd.viz.read.tiles import repeated_number, tile
from nbautograd.viz.read.walk import MAX_READ_NODES, GraphWalk, module_paths, scopes_of

__all__ = ["Resolve", "build"]

MIN_TURN_OPS = 4  # a smaller graph has no numbered turns
MAX_DESCRIBED_OPS = 500  # in full, for groups that are opened


def build(
    roots: Any, namespace: Mapping[str, Any] | None = None, *, resolve: Resolve | None = None,
    most: int = MAX_READ_NODES, budget: int = folding.MAX_DRAWN_NODES, fold: bool | None = False,
    opened: Collection[str] = (), described: int = MAX_DESCRIBED_OPS,
) -> GraphModel:  # fmt: skip
    """Return the graph of ``roots``: a tensor, several, or pairs (node, index of its output).

    :param namespace: variables whose names are to be shown, as ``globals()``.
    :param resolve: returns the names of a file and line, and the text of the line.
    :param most: a larger graph is cut to the part nearest to the roots, so that even a million nodes answer at once.
    :param budget: fold a larger graph until about this many nodes are left.
    :param fold: fold layers and repeated steps in smaller graphs too; None folds layers only, if there are several.
    :param opened: ids or labels of groups that stay open.
    :param described: in a graph of more operations, those that are not drawn are not described either.
    """
    namespace = namespace or {}
    walk = GraphWalk(roots, most)
    ops, leaves = len(walk.ops), len(walk.next) - len(walk.ops)
    turns = walk.turns(namespace) if ops >= MIN_TURN_OPS else ()
    tree = _tree(walk, scopes_of(walk, namespace), turns)
    builder = _Builder(walk, SourceLines(resolve or SourceLocator.locate), namespace)
    if ops + leaves <= min(budget, described) and not any(segment.children for segment in tree.children):
        return builder.model(tree, turns)  # it has neither layers nor loops, so that nothing folds
    chosen = folding.choose(tree, folding.allowed(ops, leaves, budget), opened, fold=fold)
    if ops > described:
        builder.bare = {node for segment in chosen.folded() for node in walk.order[segment.start : segment.stop]}
    if leaves > max(budget, described):
        builder.leave_leaves_bare()
    return folding.collapse(builder.model(tree, turns), chosen, budget)


def _tree(walk: GraphWalk, scopes: Sequence[tuple[Any, ...]], turns: Turns) -> folding.Segment:
    """Return the tree of the segments of a graph, with the names of turns and the lines of the code."""
    tree = folding.plan([walk.signature(node) for node in walk.order], scopes, walk.inputs())
    for segment in tree.inner():
        if segment.kind == "step":
            segment.label = name_of(turns[segment.start : segment.stop]) or segment.label
    owned = [scope if scope and any(to in walk.variables for to, _ in walk.next[node]) else ()
             for node, scope in zip(walk.order, scopes, strict=True)]  # fmt: skip
    levels.divide(tree, turns, walk.lines(), owned)
    return tree


class _Builder:
    """Builds the model in the order of the walk."""

    def __init__(self, walk: GraphWalk, lines: SourceLines, namespace: Mapping[str, Any]) -> None:
        self.walk, self.lines, self.namespace = walk, lines, namespace
        self.paths: dict[int, str] | None = None  # by id() of the module, on request
        self.names = ResultNames(walk, namespace, lines)
        self.reader = OperationReader(walk, self.names)
        self.handles = Handles(names=self.names, traces=walk.traces, declared=walk.declared)
        self.nodes: list[Node] = []  # their numbers are their ids, so that equal graphs have equal ones
        self.edges: list[Edge] = []
        self.ids: dict[tuple[Any, int], str] = {}  # (node, output) -> the box of the result
        # In a large graph, only the drawn part is described, not what is inside closed groups: that takes the time.
        self.bare: set[Any] = set()
        self.bare_leaves: set[Any] = set()
        self.rest = ""  # the node for the unread part of the graph

    def leave_leaves_bare(self) -> None:
        """Do not describe the leaves that only bare operations use."""
        walk = self.walk
        drawn = {to for node in walk.ops if node not in self.bare for to, _ in walk.next[node]}
        self.bare_leaves = {node for node in walk.next if node not in drawn} - set(walk.ops)

    def model(self, tree: folding.Segment, turns: Turns) -> GraphModel:
        """The whole graph, nothing folded."""
        walk = self.walk
        leaves = self.handles.leaves
        ungraphed = [self.leaf(None, tensor) for node, _, tensor in walk.roots if node is None]
        for node in walk.next:
            if node in walk.variables:
                self.ids[node, 0] = self.leaf(node, walk.variables[node])
            else:
                self.operation(node)
        for node in walk.ops:
            self.connect(node)
        roots = [self.ids[node, index] for node, index, _ in walk.roots if node is not None]
        return GraphModel(
            self.counted(), tuple(self.edges), tuple(dict.fromkeys(roots + ungraphed)), self.handles,
            notes=(*([say("cut", count=len(walk.next))] if walk.cut else []), *remarks(walk.ops)),
            order=tuple([self.handles.ops[node] for node in walk.order]),
            leaf_order=tuple([leaves[key] for key in self.names.variables.by_tensor if key in leaves]),
            tree=tree, turns=turns,
        )  # fmt: skip

    # -- nodes -----------------------------------------------------------------------

    def add(self, node: Node) -> str:
        """Append a node to the model."""
        self.nodes.append(node)
        return node.id

    def leaf(self, node: Any, tensor: Any) -> str:
        """Return the box of a leaf, or of a root without a graph."""
        known = self.handles.leaves.get(id(tensor))
        key = known or f"n{len(self.nodes)}"
        if node is not None:
            self.handles.ops[node] = key
        if known is not None:
            return known
        self.handles.leaves[id(tensor)] = key
        self.handles.kept.append(tensor)
        tracked = bool(attribute(tensor, "requires_grad", False))
        grad = values.memory(attribute(tensor, "grad") if tracked else None)
        array = values.memory(tensor)
        name = self.names.leaves.get(id(tensor)) or self.names.variables.tensor(tensor) or "leaf"
        own = int(type(tensor).__name__ == "Parameter")
        if node in self.bare_leaves:
            shape, nbytes = values.shape_text(tensor), values.nbytes(tensor)
            return self.add(Node(key, "leaf", name, shape=shape, nbytes=nbytes, parameters=own))
        return self.add(Node(
            key, "leaf" if tracked else "constant", name, names=self.names.variables.all_of(tensor), parameters=own,
            grad=values.inline(grad) if tracked else "", named=id(tensor) in self.names.variables.by_tensor,
            notes=() if tracked else (say("no_graph"),), hooks=introspect.hooks_of(node, tensor),
            value=values.text(array), tile=tile(array), grad_tile=tile(grad), shape=values.shape_text(array),
            dtype=values.dtype_text(attribute(array, "dtype", "")), **self.reader.about(tensor),
        ))  # fmt: skip

    def operation(self, node: Any) -> None:
        """The pill of an operation, and the boxes of its results."""
        name, trace = self.walk.names[node], self.walk.traces[node]
        key = f"n{len(self.nodes)}"
        self.handles.ops[node] = key
        cls = self.walk.declared[node]
        symbol = line_of(getattr(cls, "symbol", None) or formulas.symbol_of(name), 20)
        symbol = "xᵀ" if introspect.transposes(node, name) else symbol
        outputs = [(node, index) for index in (self.names.indices[node] if node in self.names.multiple else (0,))]
        boxes = [output for output in outputs if self.has_box(output)]
        label = self.names.results.get((node, 0), "")
        known = Node(key, "op", name, label=label, symbol=symbol, **self.lines.fields(trace), **self.around(trace))
        self.add(known if node in self.bare else self.reader.described(known, node, cls, bool(boxes)))
        for output in outputs:
            self.ids[output] = self.box(node, output[1], key) if output in boxes else key

    def around(self, trace: Any) -> dict[str, Any]:
        """The blocks in which an operation ran, and the module that the innermost of them is."""
        blocks = () if trace is None else trace.scope
        names = tuple(map(label_of, blocks))
        for block in reversed(blocks):
            module = introspect.module_of(block)
            if module is not None:
                if self.paths is None:
                    self.paths = module_paths(self.namespace)
                return {"scope": names, "module": one_line(self.paths.get(id(module), ""), 80)}
        return {"scope": names}

    def has_box(self, output: tuple[Any, int]) -> bool:
        """Return whether a result is drawn as a box of its own: one that a variable holds, or one of several."""
        node, index = output
        if output in self.names.root_tensors:
            return True
        if node in self.bare:
            return False
        return bool(self.names.own[output] or (index > 0 and self.reader.result(node, index)[0]))

    def box(self, node: Any, index: int, op: str) -> str:
        """The box of a result."""
        value, shape, dtype, drawn = self.reader.result(node, index)
        output = (node, index)
        tensor, is_root = self.names.output_tensor(node, index), output in self.names.root_tensors
        retains = attribute(tensor, "retains_grad", False) is True
        held = self.names.own[output] or is_root  # else whether it still lives is chance
        key = self.add(Node(
            f"n{len(self.nodes)}", "output" if is_root else "tensor", self.names.results[output],
            names=self.names.variables.all_of(tensor, *output) or self.names.spelled_out(*output),
            named=output in self.names.variables.by_output or is_root, value=value, tile=drawn, shape=shape,
            dtype=dtype, retains=retains, grad=values.inline(attribute(tensor, "grad")) if retains else "",
            **(self.reader.about(tensor, node) if tensor is not None and held else {}),
        ))  # fmt: skip
        if retains:
            self.handles.retained[key] = tensor
        self.link(op, key, index, "result")
        return key

    def constant(self, operand: Any, name: str, user: Any) -> str:
        """Return the box of a constant argument of ``user``, or its number; ``name``: of its variable."""
        tensor = operand.tensor() if operand.tensor is not None else None
        known = operand.value if operand.value is not None else tensor
        origin = self.origin(tensor, name or self.names.texts.code(user, operand), user)
        if operand.shape is None or not (name or origin["cut"] or operand.shape):
            return self.add(Node(f"n{len(self.nodes)}", "constant", values.inline(operand.value), **origin))
        drawn = tile(known)
        label = name or self.names.operand_name(user, operand) or repeated_number(drawn) or operand.name
        return self.add(Node(
            f"n{len(self.nodes)}", "constant", label, names=self.names.variables.all_of(tensor),
            value="" if known is None else values.text(known), tile=drawn, shape=str(tuple(operand.shape)),
            dtype=values.dtype_text(operand.dtype), named=bool(name), **origin,
        ))  # fmt: skip

    def origin(self, tensor: Any, name: str, user: Any) -> dict[str, Any]:
        """Return the tensor whose memory a constant shares, the call that cut it off from the graph, and notes."""
        alias, trace = self.names.variables.detached_from(tensor), self.walk.traces[user]
        notes = [say("detached_from", name=alias)] if alias else []
        cut = cut_of(name, trace.filename, trace.lineno, self.names.variables.by_name) if name and trace else None
        if cut is not None:
            place = say("line_of", cell=one_line(self.lines.of(trace)[0], 60), n=cut.line)
            notes.append(say("cut_from_graph", call=cut.call, place=place, name=cut.name))
        return {"view_of": alias, "cut": cut.call if cut is not None else "", "notes": tuple(notes)}

    # -- edges -----------------------------------------------------------------------

    def link(self, src: str, dst: str, slot: int, kind: str, output: int = 0) -> None:
        """Append an edge to the model."""
        self.edges.append(Edge(f"e{len(self.edges)}", src, dst, slot, kind, output=output))

    def connect(self, node: Any) -> None:
        """Edges into an operation, with a box for each constant among its arguments."""
        key = self.handles.ops[node]
        for slot, (to, index) in enumerate(self.walk.next[node]):
            if to in self.walk.next:
                self.link(self.ids[to, index], key, slot, "flow", index)
            elif to is not None:
                self.link(self.more(node), key, slot, "constant")
        for operand in self.reader.constants(node) if node not in self.bare else ():
            slot = -1 if operand.slot is None else operand.slot
            self.link(self.constant(operand, self.reader.variable(node, operand), node), key, slot, "constant")

    def more(self, node: Any) -> str:
        """The node that stands for the part of the graph that was not read."""
        if self.rest and node in self.bare:
            return self.rest
        key = self.add(Node(f"n{len(self.nodes)}", "constant", say("more"), symbol="⋯"))
        if node in self.bare:
            self.rest = key
        return key

    def counted(self) -> tuple[Node, ...]:
        """The nodes, with each leaf's number of arriving edges filled in."""
        arrivals: dict[str, int] = {}
        for edge in self.edges:
            if edge.kind == "flow":
                arrivals[edge.src] = arrivals.get(edge.src, 0) + 1
        return tuple([replace(n, arrivals=arrivals.get(n.id, 0)) if n.kind == "leaf" else n for n in self.nodes])
