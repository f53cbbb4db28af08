"""Makes the node class of an operation from the formulas of its declaration.

Each formula is compiled twice: over arrays, where the name of an operation means its body, and over tensors, where it
means the operation itself.
"""

from __future__ import annotations

import ast
import copy
import types
from typing import TYPE_CHECKING, Any

import numpy as np

from nbautograd import detour, dtypes
from nbautograd.inlining import CONSTANTS, constant, constants_as_arrays, inlined, operators_as_ufuncs
from nbautograd.masks import dropped, kept
from nbautograd.node import FREED, MANY, Node, Port
from nbautograd.pieces import LARGE, in_pieces, several_steps
from nbautograd.promotion import fit_graph, fit_to, up, up_graph
from nbautograd.registry import OPS, POINTWISE, VIEW
from nbautograd.source import compiled
from nbautograd.tensor import Tensor, wrap
from nbautograd.writer import ALONE, FLEETING, Put, options_of, slot

if TYPE_CHECKING:
    from nbautograd.declare import Declaration

__all__ = ["make_node", "uses"]


PARTS = ("shape", "dtype", "ndim", "strides")
"""What a formula may need of a tensor without its values."""


def uses(formula: str, known: set[str]) -> set[str]:
    """Which of the ``known`` names a formula needs, a shape, say, being told from the whole."""
    found: set[str] = set()

    class Visitor(ast.NodeVisitor):
        def visit_Attribute(self, node: ast.Attribute) -> None:
            if isinstance(node.value, ast.Name) and node.value.id in known and node.attr in PARTS:
                found.add(f"{node.value.id}.{node.attr}")
            else:
                self.generic_visit(node)

        def visit_Name(self, node: ast.Name) -> None:
            if node.id in known:
                found.add(node.id)

    Visitor().visit(ast.parse(formula, mode="eval"))
    return found


class _Formula(ast.NodeTransformer):
    """A formula as code: ``input.shape`` read from its slot, and ``conj(x)`` as ``x`` where nothing is complex."""

    def __init__(self, known: set[str], is_complex: bool) -> None:
        self.known, self.is_complex = known, is_complex

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and f"{node.value.id}.{node.attr}" in self.known:
            return ast.Name(slot(f"{node.value.id}.{node.attr}"), ast.Load())
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "conj" and not self.is_complex:
            return node.args[0]
        return node


class _Fleeting(ast.NodeTransformer):
    """A formula over tensors in which no view is known to anybody but the operation that it is an argument of."""

    def __init__(self, scope: dict[str, Any]) -> None:
        self.scope = scope

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        outer = OPS.get(ast.unparse(node.func))
        if outer is not None and outer.kind != VIEW:
            for part in [part for part in node.args if isinstance(part, ast.Call)]:
                view = OPS.get(ast.unparse(part.func))
                if view is not None and view.kind == VIEW and not view.many:
                    name = f"fleeting_{view.name}"
                    self.scope[name] = view.fleeting
                    part.func = ast.Name(name)
        return node


def make_node(op: Declaration, flavour: str) -> type[Node]:
    """The node class of an operation: ``real``, ``complex``, ``half``, ``fleeting`` or ``alone``."""
    if flavour == FLEETING:
        real = op.node("real")
        return type(real.__name__, (real,), {"__slots__": (), "__module__": "builtins", "relays": True})
    if flavour == ALONE:
        return _alone(op)
    needs = op.saves()
    saved = sorted(set().union(*needs.values())) if needs else []
    tensors = _tensors_in(saved, op)
    slots = [slot(what) for what in saved] + ["all_edges"] * op.many_edges + ["count"] * op.many
    members: dict[str, Any] = {
        "__slots__": tuple(slots),
        "__module__": "builtins",  # as PyTorch's print: <AddBackward0 object at 0x...>
        "__doc__": op.body.__doc__,
        "arity": len(op.formulas),
        "inputs": tuple(name for name in op.tensors if name in op.formulas),
        "formulas": {name: op.formulas[name] for name in op.tensors if name in op.formulas},
        "symbol": op.symbol or op.name,
        "saved": tuple(slot(what) for what in tensors),
    }
    if op.many_edges:
        members["edges"] = lambda self: self.all_edges
    if op.many:
        members["outputs"] = lambda self: self.count
    if flavour == "complex" and not any("conj" in text for text in op.formulas.values()):
        return op.node("real")
    made: type[Node] = type(op.node_name or f"{op.name.title()}Backward0", (Node,), members)
    for graph in (False, True):
        name = "vjp_graph" if graph else "vjp"
        scope = _vocabulary(op, graph)
        source = "\n".join(_vjp_lines(op, members["inputs"], saved, graph, flavour, scope, {}))
        setattr(made, name, _function(source, f"<nbautograd {op.name} {name} {flavour}>", name, scope))
    return made


def _alone(op: Declaration) -> type[Node]:
    """The node class of an operator whose first operand alone wants a gradient, with the usual options."""
    real, scope, options = op.node("real"), _vocabulary(op, False), options_of(op) or {}
    first = next(name for name in op.tensors if name in op.formulas)
    saved = sorted(op.saves()[first] - set(options))
    source = "\n".join(_vjp_lines(op, (first,), saved, False, "real", scope, options))
    vjp = _function(source, f"<nbautograd {op.name} vjp alone>", "vjp", scope)
    return type(real.__name__, (real,), {"__slots__": (), "__module__": "builtins", "vjp": vjp})


def _function(source: str, filename: str, name: str, scope: dict[str, Any]) -> Any:
    return types.FunctionType(compiled(source, filename, name), scope, name, (None,))


def _vjp_lines(
    op: Declaration,
    names: tuple[str, ...],
    saved: list[str],
    graph: bool,
    flavour: str,
    scope: dict[str, Any],
    options: dict[str, Any],
) -> list[str]:
    """The source of ``vjp``: load what was saved, let it go unless it is to be kept, then a line per formula.

    :param names: the inputs whose gradients are computed.
    :param scope: what names in the source mean; further ones are added.
    :param options: those whose values are known.
    """
    tensors = _tensors_in(saved, op)
    edge = {name: f"n.all_edges[{i}]" if op.lists else f"f{i}" for i, name in enumerate(names)}
    local = {what: what if "." not in what else slot(what) for what in saved}
    lines = [f"def {'vjp_graph' if graph else 'vjp'}(n, g, keep, needed):"]
    if op.many_edges and not op.lists:
        lines.append(f"    {', '.join(edge.values())}, = n.all_edges")
    elif not op.lists and (len(names) > 1 or graph):
        lines.append(f"    {'; '.join(f'{f} = n.{f}' for f in edge.values())}")
    lines += [f"    {local[what]} = n.{slot(what)}" for what in saved]
    if tensors:
        lines.append(f"    if {' or '.join(f'{what} is FREED' for what in tensors)}: n.raise_freed()")
    if op.many:
        lines.append("    g = g.take(n.count)")
    if flavour == "half":
        lines.append(f"    g = {'[up(part) for part in g]' if op.many else 'up(g)'}")
    if graph:
        for what in tensors:
            if what in op.lists:
                lines.append(f"    {what} = [wrap_saved(a, f) for a, f in zip({what}, n.all_edges)]")
            elif what == "result" and op.many:
                lines.append("    result = [wrap_output(n, i, a) for i, a in enumerate(result)]")
            else:
                source = "n" if what == "result" else edge.get(what, "None")
                promoted = op.kind == POINTWISE and what in op.tensors
                part = f", n.fit and n.fit[{op.tensors.index(what)}]" if promoted else ""
                lines.append(f"    if {what} is not None: {what} = wrap_saved({what}, {source}{part})")
    if flavour == "half":
        for what in tensors:
            many = what in op.lists or (what == "result" and op.many)
            lines.append(f"    {what} = {f'[up(part) for part in {what}]' if many else f'up({what})'}")
    transform = _Formula(set(saved), flavour == "complex")
    arrays = {"g", "result", *op.tensors} - {*op.numbers, *op.optional, *op.masks} if op.kind == POINTWISE else set()
    numbers: dict[str, float] = {}
    formulas = []
    for i, name in enumerate(names):
        tree = Put({}, options).visit(transform.visit(ast.parse(op.formulas[name], mode="eval")).body)
        if graph and flavour == "real" and op.recorded:
            text = f"{op.recorded}(g, result)"
        elif graph or flavour != "real":
            text = ast.unparse(_Fleeting(scope).visit(tree) if graph else tree)
        else:
            steps = op.kind == POINTWISE and several_steps(tree, _elementwise())
            tree = constants_as_arrays(inlined(tree, scope), arrays, numbers)
            text = plain = ast.unparse(tree)
            named = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and (n.id in local or n.id in numbers)]
            fast = ast.unparse(operators_as_ufuncs(copy.deepcopy(tree), arrays, {"g", "result"}))
            if fast != plain:
                text = f"{fast} if g.__class__ is ndarray and g.ndim else {plain}"
            if steps:
                # In pieces if large: a function of what it names, beginning with g, which has the result's shape.
                given = ", ".join(dict.fromkeys(["g", *named]))
                text = f"(({text}) if g.size < LARGE else in_pieces(lambda {given}: {plain}, {given}))"
            elif fast != plain:
                text = f"({text})"
        guard = ""
        if len(names) > 1 and not op.lists:
            guard = f"None if {edge[name]} is None or needed is not None and {edge[name]} not in needed else "
        formulas.append(f"    d{i} = {guard}{text}")
    lines += [f"    {constant(number, value, 'g')}" for number, value in numbers.items()]
    lines += formulas
    if op.kind == POINTWISE or flavour == "half":
        lines.append("    if n.fit is not None:")
        for i, name in enumerate(names):
            part = f"n.fit[{op.tensors.index(name)}]"
            lines.append(f"        if d{i} is not None and {part} is not None: d{i} = fit(d{i}, *{part})")
    if tensors:  # at the end, so that a formula that raises leaves everything for another try
        lines.append(f"    if not keep: {' = '.join(f'n.{slot(what)}' for what in tensors)} = FREED")
    if op.lists:
        lists = [f"*d{i}" if name in op.lists else f"d{i}" for i, name in enumerate(names)]
        lines.append(f"    return MANY, [{', '.join(lists)}]")
    elif op.many_edges:
        lines.append(f"    return MANY, [{', '.join(f'd{i}' for i in range(len(names)))}]")
    else:
        lines.append(f"    return {', '.join([*(f'd{i}' for i in range(len(names))), 'None'][:2])}")
    return lines


def _tensors_in(saved: list[str], op: Declaration) -> list[str]:
    return [what for what in saved if what in op.tensors or what == "result"]


def _elementwise() -> set[str]:
    return {name for name, op in OPS.items() if op.kind == POINTWISE}


def _vocabulary(op: Declaration, graph: bool) -> dict[str, Any]:
    """What names mean in a formula: an operation's body over arrays, the operation itself over tensors."""
    scope: dict[str, Any] = dict(op.body.__globals__)
    for name, other in OPS.items():
        scope[name] = other.function if graph else other.body
    scope.update(
        np=np, CONSTANTS=CONSTANTS, LARGE=LARGE, in_pieces=in_pieces, ndarray=np.ndarray, kept=kept, dropped=dropped
    )
    scope.update(wrap=wrap, wrap_saved=_wrap_saved, wrap_output=_wrap_output, FREED=FREED, MANY=MANY)
    scope["fit"] = fit_graph if graph else fit_to
    scope["up"] = up_graph if graph else up
    return scope


def _wrap_saved(saved: Any, edge: Any, fit: Any = None) -> Any:
    """A saved value as the tensor that it was, in its own dtype; a number in the place of a tensor stays a number."""
    if saved.__class__ is np.ndarray and fit is None and detour.restore is None:
        return wrap(saved, edge)
    if isinstance(saved, (int, float, complex)) and not isinstance(saved, np.generic):
        return saved
    kept = saved
    if fit is not None and saved.dtype != fit[1]:  # it was saved promoted; its gradient is wanted as it was
        saved = (saved.real if saved.dtype.kind == "c" and fit[1].kind != "c" else saved).astype(fit[1])
    t = wrap(saved, edge)
    if detour.restore is not None:
        detour.restore(t, kept)
    return t


def _wrap_output(node: Node, index: int, saved: Any) -> Tensor:
    """One of several results as the tensor that it was."""
    t: Tensor = _wrap_saved(saved, Port(node, index) if saved.dtype.kind in dtypes.INEXACT else None)
    return t
