"""Makes the node class of an operation from the formulas of its declaration.

Each formula is compiled twice: over arrays, where the name of an operation means its body, and over tensors, where it
means the operation itself.
"""

from __future__ import annotations

import ast
import types
from typing import TYPE_CHECKING, Any

import numpy as np

from nbautograd.arrays import dtypes
from nbautograd.arrays.masking import zero_where, zero_where_not
from nbautograd.compiler.forward import ALONE, TEMPORARY_VIEW, TILED, Put, options_of, slot
from nbautograd.compiler.promotion import unbroadcast, unbroadcast_recorded, upcast_half, upcast_half_recorded
from nbautograd.compiler.registry import OPS, POINTWISE, VIEW
from nbautograd.compiler.rewrite import CONSTANTS, constant, constants_as_arrays, inlined, operators_as_ufuncs
from nbautograd.compiler.source import compiled
from nbautograd.core import dispatch_mode
from nbautograd.core.node import FREED, MANY, Node, Port
from nbautograd.core.tensor import Tensor, wrap
from nbautograd.fusion.kernel import ElementwiseKernel
from nbautograd.fusion.lazy_gradient import compute, materialize
from nbautograd.fusion.tiling import reusable

if TYPE_CHECKING:
    from nbautograd.compiler.op import CompiledOp

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
                    self.scope[name] = view.temporary_view
                    part.func = ast.Name(name)
        return node


def make_node(op: CompiledOp, flavour: str) -> type[Node]:
    """The node class of an operation: ``real``, ``complex``, ``half``, or a variant of ``real``.

    These are ``large``, which computes piece by piece, ``fleeting`` and ``alone``.
    """
    if flavour == TEMPORARY_VIEW:
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
        "takes_lazy_gradient": flavour == TILED,
    }
    if op.many_edges:
        members["edges"] = lambda self: self.all_edges
    if op.many:
        members["outputs"] = lambda self: self.count
    if flavour == "complex" and not any("conj" in text for text in op.formulas.values()):
        return op.node("real")
    bases: tuple[type[Node], ...] = (Node,)
    if flavour == TILED:  # what saves the same and is the same to whoever asks
        bases, members["__slots__"] = (op.node("real"),), ()
    made: type[Node] = type(op.node_name or f"{op.name.title()}Backward0", bases, members)
    for graph in (False, True):
        _when_called(made, op, saved, graph, flavour)
    return made


def _when_called(made: type[Node], op: CompiledOp, saved: list[str], graph: bool, flavour: str) -> None:
    """Give a node class its ``vjp`` or ``vjp_graph``, which is compiled when it is first called: few ever need both."""
    name = "vjp_graph" if graph else "vjp"

    def compile_it() -> Any:
        scope = _vocabulary(op, graph)
        source = "\n".join(_vjp_lines(op, made.inputs, saved, graph, flavour, scope, {}))
        function = _function(source, f"<nbautograd {op.name} {name} {flavour}>", name, scope)
        setattr(made, name, function)
        return function

    def first_call(n: Any, g: Any, keep: bool, needed: Any = None) -> Any:
        return compile_it()(n, g, keep, needed)

    first_call.compile = compile_it  # type: ignore[attr-defined]
    setattr(made, name, first_call)


def _alone(op: CompiledOp) -> type[Node]:
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
    op: CompiledOp,
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
    trees = [Put({}, options).visit(transform.visit(ast.parse(op.formulas[name], mode="eval")).body) for name in names]
    if graph and op.recorded and flavour in ("real", TILED):
        texts = [f"{op.recorded}(g, result)"]
    elif graph:
        texts = [ast.unparse(_Fleeting(scope).visit(tree)) for tree in trees]
    elif flavour == TILED:
        texts, before = _in_pieces(op, [inlined(tree, scope) for tree in trees], list(local.values()), scope)
        lines += before
    elif flavour == "real":
        texts, before = _for_small(op, [inlined(tree, scope) for tree in trees])
        lines += before
    else:
        texts = [ast.unparse(tree) for tree in trees]
    for i, (name, text) in enumerate(zip(names, texts, strict=True)):
        guard = ""
        if len(names) > 1 and not op.lists:
            guard = f"None if {edge[name]} is None or needed is not None and {edge[name]} not in needed else "
        lines.append(f"    d{i} = {guard}{text}")
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


def _tensors_in(saved: list[str], op: CompiledOp) -> list[str]:
    return [what for what in saved if what in op.tensors or what == "result"]


def _for_small(op: CompiledOp, trees: list[ast.expr]) -> tuple[list[str], list[str]]:
    """The formulas as texts, and the lines that go before: fast where NumPy's own overhead counts."""
    arrays = {"g", "result", *op.tensors} - {*op.numbers, *op.optional, *op.masks} if op.kind == POINTWISE else set()
    numbers: dict[str, float] = {}
    texts = []
    for tree in trees:
        plain = ast.unparse(constants_as_arrays(tree, arrays, numbers))
        fast = ast.unparse(operators_as_ufuncs(tree, arrays, {"g", "result"}))
        texts.append(plain if fast == plain else f"({fast} if g.__class__ is ndarray and g.ndim else {plain})")
    return texts, [f"    {constant(number, value, 'g')}" for number, value in numbers.items()]


def _in_pieces(
    op: CompiledOp, trees: list[ast.expr], known: list[str], scope: dict[str, Any]
) -> tuple[list[str], list[str]]:
    """The same for formulas that are computed piece by piece if they are elementwise."""
    works = {part: _work(part, known, scope) for tree in trees for part in _branches(tree)}
    # g itself may be overwritten by the last one that is wanted, if all of them make new arrays.
    reuses = len(trees) < 3 and all(works.values())
    texts = []
    for i, tree in enumerate(trees):
        last = i == len(trees) - 1
        other = "f1 is None or needed is not None and f1 not in needed"
        spare = "None" if not reuses else "spare" if last else f"spare if {other} else None"
        fit = f"n.fit and n.fit[{op.tensors.index(list(op.formulas)[i])}]"

        to = "None" if op.many_edges else f"None if n.rare else n.f{i}"

        def called(part: ast.expr, after: str = f"{spare}, {fit}, {to}") -> str:
            if isinstance(part, ast.IfExp):
                return f"({called(part.body)} if {ast.unparse(part.test)} else {called(part.orelse)})"
            work = works[part]
            if work is None:
                return ast.unparse(part)
            name = f"work{len(scope)}"
            scope[name] = work
            return f"compute({name}, ({', '.join(work.names)},), {after})"

        texts.append(called(tree))
    before = [] if all(works.values()) else ["    g = materialize(g)"]
    return texts, [*before, "    spare = reusable(g, n.rare)"] if reuses else before


def _branches(tree: ast.expr) -> list[ast.expr]:
    """The expressions between which a formula chooses."""
    return [*_branches(tree.body), *_branches(tree.orelse)] if isinstance(tree, ast.IfExp) else [tree]


def _work(tree: ast.expr, known: list[str], scope: dict[str, Any]) -> ElementwiseKernel | None:
    """What an elementwise formula computes; None for any other."""
    if isinstance(tree, ast.Name):
        return None
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    work = ElementwiseKernel.of(ast.unparse(tree), ["g", *(name for name in known if name in used)], scope)
    return None if work.steps is None else work


def _vocabulary(op: CompiledOp, graph: bool) -> dict[str, Any]:
    """What names mean in a formula: an operation's body over arrays, the operation itself over tensors."""
    scope: dict[str, Any] = dict(op.body.__globals__)
    for name, other in OPS.items():
        scope[name] = other.function if graph else other.body
    scope.update(
        np=np,
        CONSTANTS=CONSTANTS,
        ndarray=np.ndarray,
        zero_where_not=zero_where_not,
        zero_where=zero_where,
        FREED=FREED,
        MANY=MANY,
    )
    scope.update(compute=compute, reusable=reusable, materialize=materialize)
    scope.update(wrap=wrap, wrap_saved=_wrap_saved, wrap_output=_wrap_output)
    scope["fit"] = unbroadcast_recorded if graph else unbroadcast
    scope["up"] = upcast_half_recorded if graph else upcast_half
    return scope


def _wrap_saved(saved: Any, edge: Any, fit: Any = None) -> Any:
    """A saved value as the tensor that it was, in its own dtype; a number in the place of a tensor stays a number."""
    if saved.__class__ is np.ndarray and fit is None and dispatch_mode.restore is None:
        return wrap(saved, edge)
    if isinstance(saved, (int, float, complex)) and not isinstance(saved, np.generic):
        return saved
    kept = saved
    if fit is not None and saved.dtype != fit[1]:  # it was saved promoted; its gradient is wanted as it was
        saved = (saved.real if saved.dtype.kind == "c" and fit[1].kind != "c" else saved).astype(fit[1])
    t = wrap(saved, edge)
    if dispatch_mode.restore is not None:
        dispatch_mode.restore(t, kept)
    return t


def _wrap_output(node: Node, index: int, saved: Any) -> Tensor:
    """One of several results as the tensor that it was."""
    t: Tensor = _wrap_saved(saved, Port(node, index) if saved.dtype.kind in dtypes.INEXACT else None)
    return t
