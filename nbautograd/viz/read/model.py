"""Define the parts of a picture as plain data: nodes, edges, groups, and their graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from copy import copy
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

from nbautograd.viz.language import once, say
from nbautograd.viz.read.formulas import Mark
from nbautograd.viz.read.segments import Turns
from nbautograd.viz.read.tiles import Tile

__all__ = ["Edge", "Formula", "GraphModel", "Group", "Handles", "Node", "Outline", "Saved", "outline_of"]


@dataclass(frozen=True, slots=True)
class Formula:
    """The formula of the gradient of one input: as text and as marks (see ``formulas``)."""

    slot: int
    input: str
    source: str
    text: str
    marks: list[Mark]
    local: list[Mark] = field(default_factory=list)
    """The local derivative by which the gradient is multiplied; empty where it is not one factor."""


@dataclass(frozen=True, slots=True)
class Saved:
    """A value kept for the backward pass."""

    name: str
    nbytes: int
    shape: str
    dtype: str = ""


@dataclass(frozen=True, slots=True)
class Node:
    """One thing in the picture.

    A ``leaf``, an ``op``, an intermediate ``tensor``, an ``output``, a ``constant``, a ``group`` that stands for
    several operations, or a ``pile`` of leaves.
    """

    id: str
    kind: str
    name: str
    """For a tensor its variable, for an operation its class (``MulBackward0``)."""
    names: str = ""
    """For a tensor held by several variables, all of them: ``y = h``."""
    label: str = ""
    """The name of an operation by its result (``a``, or ``tanh₃`` if it has no name)."""
    symbol: str = ""
    value: str = ""
    shape: str = ""
    dtype: str = ""
    grad: str = ""
    arrivals: int = 0
    """The number of edges that bring a gradient to a leaf in one pass."""
    named: bool = True
    expression: str = ""
    where: str = ""
    source: str = ""
    formulas: tuple[Formula, ...] = ()
    saved: tuple[Saved, ...] | None = None
    """None where it is not known; empty also when they have been freed."""
    operands: tuple[tuple[str, str], ...] = ()
    """The inputs' names in the formulas, and their values."""
    arguments: tuple[tuple[str, str], ...] = ()
    """The inputs' names in the formulas, and in the picture."""
    notes: tuple[str, ...] = ()
    failed: str = ""
    """For an operation that failed, the error's message."""
    line: int = 0
    """The line in the cell or file; 0 if unknown."""
    cell: str = ""
    """The name of that cell or file; ``where`` is both together."""
    nbytes: int = 0
    """The memory of a tensor in bytes."""
    tile: Tile | None = None
    """Its value as a small matrix of numbers."""
    grad_tile: Tile | None = None
    """The tile of the ``.grad`` of a leaf."""
    window: tuple[tuple[int, ...], ...] = ()
    """For a convolution: stride, padding, dilation, and the number of groups."""
    device: str = ""
    """For a tensor that is not on the CPU."""
    version: int = 0
    """The number of in-place writes to the tensor before it had this value."""
    now: int = 0
    """The number of in-place writes until now, if there were any since."""
    view_of: str = ""
    """The name of the tensor whose memory this one shares."""
    cut: str = ""
    """For a constant, the call that cut it off from the graph."""
    retains: bool = False
    """True if a computed tensor retains its gradient (``retain_grad``)."""
    hooks: tuple[tuple[str, int], ...] = ()
    """The number of hooks of each kind: ``tensor``, ``pre``, ``post``, ``accumulated``."""
    freed: bool = False
    """True if a backward pass has freed the operation's saved tensors."""
    scope: tuple[str, ...] = ()
    """The named blocks in which the operation ran, the outermost first."""
    module: str = ""
    """The module in whose call it ran, as variables name it: ``net.layers.0``."""
    members: int = 0
    """For a group, the number of its operations (or leaves)."""
    times: int = 0
    """For a group, the number of repeats of its structure; 0 without repeats."""
    parameters: int = 0
    """For a group, the number of parameters of its modules; 1 for a leaf that is a parameter."""
    share: float = 0.0
    """Memory or time relative to the box with the largest one: the area of its mark."""


@dataclass(frozen=True, slots=True)
class Edge:
    """From a value to its user, in the direction of the computation; gradients run against it."""

    id: str
    src: str
    dst: str
    slot: int = 0
    kind: str = "flow"
    """``flow``; ``result`` from an operation to its box; ``constant``, along which no gradient goes."""
    count: int = 1
    """The number of edges that this one replaces."""
    output: int = 0
    """Which result of an operation it carries, where the results have no boxes."""


@dataclass(frozen=True, slots=True)
class Group:
    """Operations that may be drawn as one: consecutive ones, so that no edge leaves and re-enters the group."""

    id: str
    kind: str
    """``loop`` of several equal steps, ``turns``: all turns of a loop in the code, ``step`` of a loop, ``scope`` with a
    name, ``line`` of code, ``stretch`` of lines, ``run`` of consecutive operations, or ``rail``: the part before or
    after an open group.
    """
    label: str
    times: int
    """Steps of a loop; otherwise 0."""
    members: tuple[str, ...]
    """Ids of the operations."""
    parent: str = ""
    closed: bool = False
    """True if it is drawn as one box."""


@dataclass(slots=True)
class Handles:
    """Which live object is which part of the picture; only while something is being recorded."""

    ops: dict[Any, str] = field(default_factory=dict)
    leaves: dict[int, str] = field(default_factory=dict)
    """By id() of the leaf tensor, which ``ops`` or ``kept`` holds."""
    kept: list[Any] = field(default_factory=list)
    retained: dict[str, Any] = field(default_factory=dict)
    """By the id of its box: a computed tensor that retains its gradient."""
    traces: Mapping[Any, Any] = field(default_factory=dict)
    declared: Mapping[Any, Any] = field(default_factory=dict)
    """The notes and the declaration of each operation, as the walk over the tape has read them."""
    names: Any = None
    """The ``ResultNames`` of the graph, with its walk over the tape, for others that read it."""

    def tensors(self) -> dict[str, Any]:
        """Return the tensors of the leaves by their ids."""
        return {self.leaves[id(tensor)]: tensor for tensor in self.kept if id(tensor) in self.leaves}

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
    groups: tuple[Group, ...] = ()
    """The groups that may be folded, outer groups before inner ones."""
    notes: tuple[str, ...] = ()
    """Notes on the picture as a whole, for example that it is folded."""
    whole: GraphModel | None = field(default=None, compare=False, repr=False)
    """The graph of which this is a folded view."""
    counts: tuple[int, int] | None = None
    """The number of leaves and operations, if fewer are drawn."""
    order: tuple[str, ...] = ()
    """The operations in the order in which they ran."""
    leaf_order: tuple[str, ...] = ()
    """Ids of the leaves in the order of their variables, as ``%grads`` lists them."""
    tree: Any = field(default=None, compare=False, repr=False)
    """The tree of segments by which the operations may be folded (see ``fold``)."""
    turns: Turns = field(default=(), compare=False, repr=False)
    """For the operations in that order, their turns of the loops in the code."""
    stands: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    """In a folded view: for the id of each node and edge of the whole, its drawn counterpart, if any."""

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
    def entire(self) -> GraphModel:
        """The graph of which this is a folded view, or itself."""
        return self.whole or self

    @cached_property
    def leaves(self) -> tuple[Node, ...]:
        """The leaves in the order of their variables; those without a variable last."""
        leaves = [node for node in self.nodes if node.kind == "leaf"]
        rank = {key: i for i, key in enumerate(self.entire.leaf_order)}
        return tuple(sorted(leaves, key=lambda node: rank.get(node.id, len(rank))))

    @property
    @once
    def label(self) -> str:
        """Summarize it in one line, such as ``y → 2 leaves, 3 operations``."""
        return say("graph_label", leaves=self.short_label, ops=say("op_count", n=self.counted[1]))

    @property
    def short_label(self) -> str:
        """The label without the operations."""
        roots = ", ".join([self.by_id[r].name for r in self.roots[:4]]) + (", …" if len(self.roots) > 4 else "")
        return f"{roots} → {say('leaf_count', n=self.counted[0])}"

    @cached_property
    def texts(self) -> dict[tuple[str, str], Any]:
        """Texts about the graph, by their kind and language."""
        return {}

    @cached_property
    def _carried(self) -> dict[str, list[int]]:
        """For each line of a folded view and each value whose gradients it represents: their number."""
        counts: dict[str, Counter[tuple[str, int]]] = {}
        for edge in self.entire.edges if self.stands else ():
            if edge.kind == "flow" and (line := self.stands.get(edge.id, edge.id)):
                counts.setdefault(line, Counter())[edge.src, edge.output] += 1
        return {line: list(values.values()) for line, values in counts.items()}

    @cached_property
    def several(self) -> dict[str, int]:
        """The lines that represent several gradients of one value, and their number."""
        return {line: counts[0] for line, counts in self._carried.items() if len(counts) == 1 and counts[0] > 1}

    @cached_property
    def mixed(self) -> tuple[str, ...]:
        """The lines that stand for gradients of several values, which have no sum."""
        return tuple(line for line, counts in self._carried.items() if len(counts) > 1)

    @cached_property
    def counted(self) -> tuple[int, int]:
        """The number of leaves and operations of the whole graph."""
        return self.counts or (len(self.leaves), [node.kind for node in self.nodes].count("op"))

    def plain(self) -> GraphModel:
        """Return the model without live objects."""
        made = copy(self)  # with all that is known of its nodes and edges
        object.__setattr__(made, "handles", Handles())
        object.__setattr__(made, "whole", self.whole.plain() if self.whole is not None else None)
        return made

    def without_values(self) -> GraphModel:
        """Return the model with shapes and names only."""
        bare = tuple(replace(n, value="", tile=None, grad_tile=None) if n.shape else n for n in self.nodes)
        whole = self.whole.without_values() if self.whole is not None else None
        return replace(self, nodes=bare, handles=self.handles, whole=whole)

    def to_json(self) -> dict[str, Any]:
        """Dictionaries, lists, strings and numbers only."""
        return {"nodes": [asdict(n) for n in self.nodes], "edges": [asdict(e) for e in self.edges],
                "roots": list(self.roots), "groups": [asdict(g) for g in self.groups],
                "notes": list(self.notes)}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outline:
    """The boxes and lines of a graph: with equal sizes, equal outlines have equal layouts."""

    nodes: tuple[tuple[str, str], ...]
    """(id, kind)"""
    edges: tuple[tuple[str, str, str], ...]
    """(id, source, destination)"""


def outline_of(model: GraphModel) -> Outline:
    """The outline of a graph."""
    nodes = tuple([(node.id, node.kind) for node in model.nodes])
    return Outline(nodes, tuple([(edge.id, edge.src, edge.dst) for edge in model.edges]))
