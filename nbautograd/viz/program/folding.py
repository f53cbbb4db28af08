"""Large programs made short: modules as functions, and steps that are alike as a loop.

Folding is described by a tree of segments of the operations in running order, as for pictures. The lines of a segment
are adjacent in the forward pass and, in reverse, in the backward pass. From the inside out,

1. the lines of a module become the call of a function, and those of its backward pass that of another one, which gets
its inputs from the first (``modules``); 2. the lines of all steps of a loop become those of one step, in a ``for``
statement (``loops``).

Statements are reordered only if no value depends on it, and names are renamed one to one: so the folded program
computes the same as the flat one, in the same order.
"""

from __future__ import annotations

import ast
import copy
import graphlib
import heapq
import textwrap
import types
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, Protocol

from nbautograd._engine.compiler.source import compiled
from nbautograd.viz.program.loops import MIN_STEPS, Roller
from nbautograd.viz.program.modules import Function, Modules, plus
from nbautograd.viz.program.statements import BACKWARD, DATA, FORWARD, GRADS, HEADINGS, Index, Line, Statement, text_of
from nbautograd.viz.program.variables import Names

__all__ = ["Folded", "Segment", "fold"]

MAX_JOINED_SUMS = 6
"""Sums that begin in one statement."""


class Segment(Protocol):
    """Operations from ``start`` to before ``stop``: a module (``scope``), whose class is the label, a ``loop``, ..."""

    start: int
    stop: int
    kind: str
    label: str
    children: Any
    """The segments in it."""


class Folded:
    """A folded program: its functions, its statements by part, and the expression of each leaf's gradient."""

    def __init__(self, functions: list[Function], parts: dict[str, list[Statement]], results: list[str]) -> None:
        self.functions, self.parts, self.results = functions, parts, results

    def definitions(self) -> list[str]:
        """The lines of the functions."""
        return [line for function in self.functions for line in ["", *function.written()]]

    def body(self) -> list[str]:
        """The lines of the statements, with a heading for each part."""
        lines: list[str] = []
        for part, statements in self.parts.items():
            if statements:
                lines += [""] * bool(lines) + [f"# {HEADINGS[part]}", *text_of(statements)]
        return lines

    def computed(self, scope: Mapping[str, Any]) -> list[Any]:
        """Compute the gradients of the leaves in a scope of functions, modules and stored arrays."""
        names = dict(scope)
        lines = ["def backward():", *textwrap.indent("\n".join(self.body()), "    ").split("\n")]
        main = "\n".join([*lines, f"    return [{', '.join(self.results)}]", ""])
        for name, text in [*((f.name, "\n".join(f.written())) for f in self.functions), ("backward", main)]:
            names[name] = types.FunctionType(compiled(text, "<folded program>", name), names)
        return names["backward"]()  # type: ignore[no-any-return]


class _SharedBlock:
    """A segment with its statements: those of the forward pass, and those of the backward pass."""

    def __init__(self, segment: Segment) -> None:
        self.kind, self.label = segment.kind, segment.label
        inner = segment.children
        if self.kind == "loop" and inner[0].kind == "loop" and len(inner) == 2:  # all steps but the last, and the last
            inner = [*inner[0].children, inner[1]]
        self.children: list[_SharedBlock] = []
        for child in inner:
            block = _SharedBlock(child)
            self.children.append(block)
            if block.kind == "loop":
                block.begin(self.children)
        self.start, self.stop = segment.start, segment.stop
        self.height: int = 1 + max((child.height for child in self.children), default=-1)
        self.forward: list[Statement] = []
        self.backward: list[Statement] = []
        self.pieces: list[_SharedBlock | Statement] = []
        """The backward pass: inner segments, and the lines outside of them."""

    def begin(self, siblings: list[_SharedBlock]) -> None:
        """Take the operations before a loop for its first step, if there are as many: it often begins differently."""
        first = self.children[0]
        at = len(siblings) - 1
        while at and siblings[at - 1].start >= first.start - (first.stop - first.start):
            at -= 1
        before = siblings[at:-1]
        if before and before[0].start == first.start - (first.stop - first.start):
            step = copy.copy(first)
            step.children, step.start, step.stop = before, before[0].start, first.start
            step.forward, step.backward, step.pieces = [], [], []
            step.height = 1 + max(block.height for block in before)
            self.children.insert(0, step)
            self.start, self.height = step.start, max(self.height, step.height + 1)
            siblings[at:-1] = []


def fold(
    lines: Sequence[Line], tree: Segment, order: Sequence[Any], results: Sequence[str], names: Names,
    wanted: Mapping[str, str],
) -> Folded:  # fmt: skip
    """The program of lines in which segments are functions and loops.

    :param order: the nodes of the operations, in running order: segments count them.
    :param results: the expressions of the leaves' gradients.
    :param names: the names in use.
    :param wanted: the user's names of the variables.
    """
    place = {node: i for i, node in enumerate(order)}
    parts: dict[str, list[Statement]] = {DATA: [], FORWARD: [], BACKWARD: [], GRADS: []}
    for line in lines:
        statement = Statement(ast.parse(line.text).body[0], line)
        statement.comment = line.comment.partition(", path ")[0]
        parts[line.part].append(statement)
    index = Index()
    end = Statement(ast.parse(f"[{', '.join(results)}]").body[0])
    index.add([*(statement for part in parts.values() for statement in part), end])
    return _Folding(index, place, names, wanted).fold(tree, parts, end)


class _Folding:
    def __init__(self, index: Index, place: Mapping[Any, int], names: Names, wanted: Mapping[str, str]) -> None:
        self.index, self.place, self.names, self.wanted = index, place, names, wanted

    def fold(self, tree: Segment, parts: dict[str, list[Statement]], end: Statement) -> Folded:
        root = _SharedBlock(tree)
        self.distribute(root, parts[FORWARD], self.scheduled(parts[BACKWARD]))
        heights: dict[int, list[_SharedBlock]] = {}
        self.sort(root, heights)
        roller = Roller(self.index, self.names, self.wanted, self.place)
        modules = Modules(roller)
        for _, blocks in sorted(heights.items()):
            for block in blocks:
                self.gather(block, roller)
            modules.outline([block for block in blocks if block.kind == "scope" and block is not root])
        root.backward = self.unpacked(root.backward, roller)
        parts[FORWARD], parts[BACKWARD] = root.forward, [*_joined(roller.empty), *root.backward]
        functions = modules.functions
        inside = [statement for function in functions for statement in function.body]
        for statement in (*root.forward, *inside):
            statement.gather(roller.families)
        if any("plus" in statement.reads() for statement in (*root.backward, *inside)):
            functions = [plus(), *functions]
        listed: Any = end.tree
        return Folded(functions, parts, [ast.unparse(part) for part in listed.value.elts])

    def sort(self, block: _SharedBlock, heights: dict[int, list[_SharedBlock]]) -> None:
        for child in block.children:
            self.sort(child, heights)
        heights.setdefault(block.height, []).append(block)

    # -- which statements belong to a segment --------------------------------------------------------------------------

    def scheduled(self, statements: list[Statement]) -> list[Statement]:
        """Return the statements of the backward pass by operation, the last one first where values allow it: the engine
        runs a node that only passes a gradient along before its turn.
        """
        writer: dict[str, int] = {}
        readers: dict[str, list[int]] = {}
        sorter = graphlib.TopologicalSorter[int]()
        for i, statement in enumerate(statements):
            reads, writes = statement.reads(), statement.writes()
            sorter.add(i, *(writer[name] for name in reads | writes if name in writer))
            for name in writes:
                sorter.add(i, *readers.pop(name, ()))
                writer[name] = i
            for name in reads.keys() - writes.keys():
                readers.setdefault(name, []).append(i)
        sorter.prepare()
        order: list[Statement] = []
        ready: list[tuple[int, int]] = []
        while sorter.is_active():
            for i in sorter.get_ready():
                heapq.heappush(ready, (-max((self.place[n] for n in statements[i].nodes), default=len(self.place)), i))
            _, i = heapq.heappop(ready)
            sorter.done(i)
            order.append(statements[i])
        return order

    def distribute(self, block: _SharedBlock, forward: list[Statement], backward: Iterable[Statement]) -> None:
        """Give each inner segment its statements."""
        pieces = list(backward)
        block.forward, block.pieces = forward, [*pieces]
        if not block.children:
            block.backward = pieces
            return
        child_of = {place: child for child in block.children for place in range(child.start, child.stop)}

        def owner(statement: Statement) -> _SharedBlock | None:
            return child_of.get(self.place[statement.nodes[0]]) if statement.nodes else None

        of: dict[Any, list[Statement]] = {child: [] for child in block.children}
        for statement in forward:
            of[owner(statement)].append(statement)
        runs = [(child, list(run)) for child, run in groupby(pieces, owner)]
        block.pieces = []
        times = Counter(child for child, _ in runs)
        for child, statements in runs:
            if child is not None and times[child] == 1:
                self.distribute(child, of.pop(child), statements)
                block.pieces.append(child)
            else:
                block.pieces += statements
        for child, statements in of.items():
            self.distribute(child, statements, [])

    def unpacked(self, statements: list[Statement], roller: Roller) -> list[Statement]:
        """Write the parts of a gradient with many destinations, such as those of a stack, in a loop."""
        shorter: list[Statement] = []
        for nodes, group in groupby(statements, lambda statement: statement.nodes):
            own = [*group]
            terms = [i for i, statement in enumerate(own) if statement.adds]
            if len(nodes) != 1 or len(terms) < MIN_STEPS or terms != [*range(terms[0], len(own))]:
                shorter += own
            else:
                shorter += [*own[: terms[0]], *roller.roll([[statement] for statement in own[terms[0] :]], ahead=True)]
        return shorter

    def gather(self, block: _SharedBlock, roller: Roller) -> None:
        """The statements of a segment, after inner ones have been folded."""
        if not block.children:
            return
        if block.kind == "loop":
            block.forward = roller.roll([step.forward for step in block.children], ahead=True)
            if block.pieces == block.children[::-1]:
                block.backward = roller.roll([step.backward for step in block.children], ahead=False)
                return
        else:
            block.forward = [statement for child in block.children for statement in child.forward]
        block.backward = []
        for piece in block.pieces:
            block.backward += piece.backward if isinstance(piece, _SharedBlock) else [piece]


def _joined(statements: list[Statement]) -> list[Statement]:
    """Join the first terms of sums in one statement, terms with elements first."""
    joined: list[Statement] = []
    for statement in sorted(statements, key=lambda statement: _depth(statement.tree)):
        tree, last = statement.tree, joined[-1].tree if joined else None
        match tree, last:
            case ast.Assign(new, ast.Constant()), ast.Assign(targets, ast.Constant()) if len(targets) < MAX_JOINED_SUMS:
                targets += new
                continue
        joined.append(statement)
    return joined


def _depth(tree: ast.stmt) -> int:
    """Return the nesting depth of an element."""
    assert isinstance(tree, ast.Assign)
    target, depth = tree.targets[0], 0
    while isinstance(target, ast.Subscript):
        target, depth = target.value, depth + 1
    return depth
