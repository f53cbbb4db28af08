"""Generation of an operation's node class from the formulas of its declaration.

Each formula is compiled twice: over arrays (``vjp``), where the name of an operation means its body, and over tensors
(``vjp_graph``), where it means the operation itself. ``nbautograd.library.source(torch.mul, "backward")`` shows them.
"""

from __future__ import annotations

import ast
import functools
import itertools
import types
from collections.abc import Container
from typing import Any, cast

import numpy as np

from nbautograd._engine.arrays import dtypes
from nbautograd._engine.arrays.masking import scale_where_not, zero_where, zero_where_not
from nbautograd._engine.arrays.summation import upcast_half
from nbautograd._engine.compiler import elementwise
from nbautograd._engine.compiler.expressions import in_full, inlined, without_conj
from nbautograd._engine.compiler.forward import TEMPORARY_VIEW
from nbautograd._engine.compiler.lowering import compile_kernel
from nbautograd._engine.compiler.promotion import unbroadcast, unbroadcast_recorded, upcast_half_recorded
from nbautograd._engine.compiler.schema import OPS, POINTWISE, TILED, VIEW, OpSchema, slot
from nbautograd._engine.compiler.source import compiled, evaluated_in, parsed, rewritten
from nbautograd._engine.core import dispatch_mode
from nbautograd._engine.core.node import FREED, MULTIPLE, Node, OutputEdge
from nbautograd._engine.core.tensor import Tensor, wrap, wrap_known
from nbautograd._engine.fusion.kernel import ElementwiseKernel
from nbautograd._engine.fusion.lazy_gradient import compute, is_on_device, materialize
from nbautograd._engine.fusion.tiling import reusable


def make_node(op: OpSchema, variant: str) -> type[Node]:
    """Return the node class of an operation: ``real``; ``complex``, with conjugates; ``half``; or a variant of
    ``real``.

    The variants are ``TILED``, which computes tile by tile, and ``TEMPORARY_VIEW``, which the engine skips.
    """
    if variant == TEMPORARY_VIEW:
        real: type[Node] = op.node("real")
        return type(real.__name__, (real,), {"__slots__": (), "__module__": "builtins", "_relays": True})
    if variant == "complex" and not any("conj" in text for text in op.formulas.values()):
        return op.node("real")  # type: ignore[no-any-return]
    needs = op.saves()
    saved = sorted(set().union(*needs.values())) if needs else []
    members = _members(op, saved, needs)
    bases: tuple[type[Node], ...] = (Node,)
    if variant == TILED:  # variants share the saved values and the public name
        bases, members["__slots__"], members["takes_lazy_gradient"] = (op.node("real"),), (), True
    node_class: type[Node] = type(cast(str, op.node_name), bases, members)
    for recorded in (False, True):
        _compile_when_called(node_class, op, saved, recorded, variant)
    return node_class


def _members(op: OpSchema, saved: list[str], needs: dict[str, set[str]]) -> dict[str, Any]:
    """Return a node class's attributes."""
    inputs = op.inputs
    slots = {what: slot(what) for what in saved}
    members: dict[str, Any] = {
        "__slots__": (*slots.values(), *["all_edges"] * op.many_edges, *["count"] * op.many),
        "__module__": "builtins",  # printed as in PyTorch: <AddBackward0 object at 0x...>
        "__doc__": op.body.__doc__,
        "arity": len(op.formulas),
        "inputs": inputs,
        "formulas": {name: in_full(op.formulas[name]) for name in inputs},
        "symbol": op.symbol or op.name,
        "operation": staticmethod(functools.partial(getattr, op, "function")),  # called for each node of a picture
        # As the one above, asked for at each node of a picture.
        "formula_value": staticmethod(functools.partial(evaluated_in, functools.partial(array_vocabulary, op))),
        "formula_slots": slots,
        "saved": tuple(map(slot, sorted(_tensors_in(saved, op), key=_pytorchs_order))),
        "takes_lazy_gradient": False,
    }
    if not op.lists:
        members["needed_by"] = _needed_by(op, inputs, needs)
    if op.many_edges:
        members["next_nodes"] = lambda self: self.all_edges
    if op.many:
        members["outputs"] = lambda self: self.count
    return members


def _needed_by(op: OpSchema, inputs: tuple[str, ...], needs: dict[str, set[str]]) -> dict[str, int]:
    """Return the slots of values that the formula of one input alone needs, with its place."""
    users = {what: [i for i, name in enumerate(inputs) if what in needs[name]] for what in op.tensors}
    return {slot(what): of[0] for what, of in users.items() if len(of) == 1 < len(needs)}


def _upcast(name: str, many: bool) -> str:
    """Return the line that casts an array of half precision, or a list of them, to float32."""
    return f"{name} = {f'[upcast_half(part) for part in {name}]' if many else f'upcast_half({name})'}"


def _compile_when_called(node_class: type[Node], op: OpSchema, saved: list[str], recorded: bool, variant: str) -> None:
    """Give a node class a ``vjp`` or ``vjp_graph`` that is compiled on its first call: few need both."""
    name = "vjp_graph" if recorded else "vjp"

    def compile_it() -> Any:
        scope = _vocabulary(op, recorded)
        source = "\n".join(VjpWriter(op, saved, recorded, variant, scope).lines())
        code = compiled(source, f"<nbautograd {op.name} {name} {variant}>", name)
        function = types.FunctionType(code, scope, name, (None,))
        setattr(node_class, name, function)
        return function

    def first_call(node: Any, g: Any, retain_graph: bool, needed: Any = None) -> Any:
        return compile_it()(node, g, retain_graph, needed)

    first_call.compile = compile_it  # type: ignore[attr-defined]
    setattr(node_class, name, first_call)


class VjpWriter:
    """A writer of the source of a node's ``vjp`` (over arrays) or ``vjp_graph`` (over tensors), line by line.

    :param saved: the values named by the formulas, as in ``OpSchema.saves``.
    :param scope: the meaning of names in the source; further ones are added.
    """

    def __init__(self, op: OpSchema, saved: list[str], recorded: bool, variant: str, scope: dict[str, Any]) -> None:
        self.op, self.inputs, self.saved, self.recorded, self.variant = op, op.inputs, saved, recorded, variant
        self.scope = scope
        self.kernel_count = 0
        self.saved_tensors = _tensors_in(saved, op)
        self.local = {what: what if what.isidentifier() else slot(what) for what in saved}
        self.edges = {n: f"node.all_edges[{i}]" if op.lists else f"{n}_edge" for i, n in enumerate(op.inputs)}
        self.grads = {name: f"grad_{name}" for name in op.inputs}

    def lines(self) -> list[str]:
        """Return the whole function: load saved values, a line per formula, undo broadcasting, free saved values."""
        name = "vjp_graph" if self.recorded else "vjp"
        body = [*self.load(), *self.compute(), *self.unbroadcast(), *self.release(), self.result()]
        return [f"def {name}(node, g, retain_graph, needed):", *elementwise.indented(body)]

    def load(self) -> list[str]:
        """Write lines that load the edges and the saved values; over tensors, saved arrays become tensors again."""
        op = self.op
        lines = [] if op.lists else self.load_edges()
        lines += [f"{self.local[what]} = node.{slot(what)}" for what in self.saved]
        if self.saved_tensors:
            names = [self.local[what] for what in self.saved_tensors]
            lines.append(f"if {' is FREED or '.join(names)} is FREED: node.raise_freed()")
        if op.many:
            lines.append("g = g.take(node.count)")
        numbers = [what for what in self.saved_tensors if what not in op.keys]
        half = self.variant == "half"
        lines += [_upcast("g", op.many)] * half
        lines += [self.wrap(what) for what in numbers] if self.recorded else []
        if half:
            several = {*op.lists, *["result"] * op.many}
            lines += [_upcast(self.local[what], what in several) for what in numbers]
        return lines

    def load_edges(self) -> list[str]:
        edges = list(self.edges.values())
        if self.op.many_edges:
            return [f"{', '.join(edges)}, = node.all_edges"]
        if len(edges) > 1 or self.recorded:
            return ["; ".join(f"{edge} = node.next{i}" for i, edge in enumerate(edges))]
        return []

    def wrap(self, what: str) -> str:
        """Return the line that turns a saved array into its original tensor."""
        op = self.op
        if what in op.lists:
            return f"{what} = [wrap_saved(a, edge) for a, edge in zip({what}, node.all_edges)]"
        if what == "result" and op.many:
            return "result = [wrap_output(node, i, a) for i, a in enumerate(result)]"
        if "[" in what:
            name = self.local[what]
            return f"{name} = wrap_output(node, {what[7:-1]}, {name})"
        source = "node" if what == "result" else self.edges.get(what, "None")
        promoted = op.kind == POINTWISE and what in op.tensors
        meta = f", node.input_meta and node.input_meta[{op.tensors.index(what)}]" if promoted else ""
        return f"if {what} is not None: {what} = wrap_saved({what}, {source}{meta})"

    # -- the formulas --------------------------------------------------------------------------------------------------

    def compute(self) -> list[str]:
        """Write a line per formula, after those of its inputs."""
        op, variant = self.op, self.variant
        trees = [prepared(op.formulas[name], self.saved, variant == "complex") for name in self.inputs]
        shared = self.share(trees)
        before: list[str] = []
        if self.recorded:
            texts = [ast.unparse(_with_temporary_views(tree, self.scope)) for tree in trees]
        elif variant == TILED:
            texts, before = self.tiled([inlined(tree, self.scope) for tree in trees])
        elif variant == "real":
            texts, before = self.small([inlined(tree, self.scope) for tree in trees])
        else:
            texts = [ast.unparse(tree) for tree in trees]
        lines = [*shared, *before]
        for name, text in zip(self.inputs, texts, strict=True):
            guard = f"None if {self.unneeded(name)} else " if len(self.inputs) > 1 and not op.lists else ""
            lines.append(f"{self.grads[name]} = {guard}{text}")
        return lines

    def unneeded(self, name: str) -> str:
        edge = self.edges[name]
        return f"{edge} is None or needed is not None and {edge} not in needed"

    def share(self, trees: list[ast.expr]) -> list[str]:
        """Write the line that computes all gradients at once, if the formulas are items of one call."""
        items = [
            [part for part in ast.walk(tree) if isinstance(part, ast.Subscript) and isinstance(part.value, ast.Call)]
            for tree in trees
        ]
        calls = {ast.unparse(part.value) for parts in items for part in parts}
        if len(trees) < 2 or len(calls) != 1 or not all(items):
            return []
        for part in itertools.chain(*items):
            part.value = ast.Name("gradients")
        return [f"gradients = {calls.pop()}"]

    def small(self, trees: list[ast.expr]) -> tuple[list[str], list[str]]:
        """Write the formulas as texts, with preceding lines: a fast variant where NumPy's overhead counts."""
        arrays = self.op.formula_arrays
        numbers: dict[str, float] = {}
        texts = []
        for tree in trees:
            eager = ast.unparse(elementwise.constants_as_arrays(tree, arrays, numbers))
            fast = ast.unparse(elementwise.operators_as_ufuncs(tree, arrays, {"g", "result"}))
            texts.append(eager if fast == eager else f"({fast} if g.__class__ is ndarray and g.ndim else {eager})")
        return texts, [elementwise.constant(number, value, "g") for number, value in numbers.items()]

    def tiled(self, trees: list[ast.expr]) -> tuple[list[str], list[str]]:
        """Write formulas that are computed tile by tile, or lazily, if they are elementwise."""
        kernels = {part: self.kernel(part) for tree in trees for part in _branches(tree)}
        # The last requested formula may overwrite g itself, if all of them make new arrays.
        tileable = all(kernel is not None and kernel.steps is not None for kernel in kernels.values())
        reuses = len(trees) < 3 and tileable
        texts = []
        for i, (name, tree) in enumerate(zip(self.inputs, trees, strict=True)):
            spare = self.spare(i) if reuses else "None"
            meta = f"node.input_meta and node.input_meta[{self.op.tensors.index(name)}]"
            target = "None" if self.op.many_edges else f"None if node.extras else node.next{i}"
            texts.append(self.tiled_call(tree, kernels, f"{spare}, {meta}, {target}"))
        if tileable:
            return texts, ["reusable_g = reusable(g, node.extras)"] * reuses
        everywhere = "if g.__class__ is not ndarray and not is_on_device(g): " if all(kernels.values()) else ""
        return texts, [f"{everywhere}g = materialize(g)"]

    def spare(self, i: int) -> str:
        return "reusable_g" + "".join(f" if {self.unneeded(after)} else None" for after in self.inputs[i + 1 :])

    def tiled_call(self, part: ast.expr, kernels: dict[ast.expr, ElementwiseKernel | None], rest: str) -> str:
        """Return the call that computes a formula, or a branch of it."""
        if isinstance(part, ast.IfExp):
            body, orelse = self.tiled_call(part.body, kernels, rest), self.tiled_call(part.orelse, kernels, rest)
            return f"({body} if {ast.unparse(part.test)} else {orelse})"
        kernel = kernels[part]
        if kernel is None:
            return ast.unparse(part)
        name = f"kernel{self.kernel_count}"
        self.kernel_count += 1
        self.scope[name] = kernel
        call = f"compute({name}, ({', '.join(kernel.names)},), {rest})"
        return call if kernel.steps is not None else f"({ast.unparse(part)} if g.__class__ is ndarray else {call})"

    def kernel(self, tree: ast.expr) -> ElementwiseKernel | None:
        """Return the kernel of a formula, without steps if it cannot be tiled; None for an unchanged gradient."""
        if isinstance(tree, ast.Name):
            return None
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        operands = ["g", *(name for name in self.local.values() if name in used)]
        return compile_kernel(ast.unparse(tree), operands, self.scope)

    # -- the end -------------------------------------------------------------------------------------------------------

    def unbroadcast(self) -> list[str]:
        """Write lines that bring gradients back to the shapes and dtypes of the inputs."""
        op = self.op
        if op.kind != POINTWISE and self.variant != "half":
            return []
        lines = ["if node.input_meta is not None:"]
        for name, grad in self.grads.items():
            meta = f"node.input_meta[{op.tensors.index(name)}]"
            lines.append(f"    if {grad} is not None and {meta} is not None: {grad} = unbroadcast({grad}, *{meta})")
        return lines

    def release(self) -> list[str]:
        """Write the line that frees the saved values: at the end, so that after an error the pass can be repeated."""
        if not self.saved_tensors:
            return []
        return [f"if not retain_graph: {' = '.join(f'node.{slot(what)}' for what in self.saved_tensors)} = FREED"]

    def result(self) -> str:
        """Write the line that returns the gradients for the engine: two, or a list."""
        op = self.op
        if op.many_edges:
            grads = [f"*{grad}" if name in op.lists else grad for name, grad in self.grads.items()]
            return f"return MULTIPLE, [{', '.join(grads)}]"
        return f"return {', '.join([*self.grads.values(), 'None'][:2])}"


def formula_kernels(op: OpSchema) -> dict[str, ElementwiseKernel | None]:
    """Return the kernels of an operation's formulas, by input and branch; None for an unchanged gradient.

    >>> import nbautograd
    >>> [(name, kernel.names) for name, kernel in formula_kernels(OPS["exp"]).items()]
    [('input: g * result', ['g', 'result'])]
    """
    needs = op.saves()
    saved = sorted(set().union(*needs.values())) if needs else []
    writer = VjpWriter(op, saved, False, TILED, _vocabulary(op, recorded=False))
    kernels = {}
    for name in op.inputs:
        for part in _branches(inlined(prepared(op.formulas[name], saved, False), writer.scope)):
            kernels[f"{name}: {ast.unparse(part)}"] = writer.kernel(part)
    return kernels


def prepared(formula: str, saved: Container[str], is_complex: bool) -> Any:
    """Return a formula as code: ``input.shape`` and ``result[1]`` from their slots; no ``conj`` for real values."""

    def change(part: Any) -> Any:
        if isinstance(part, (ast.Attribute, ast.Subscript)) and isinstance(part.value, ast.Name):
            what = ast.unparse(part)
            return ast.Name(slot(what), ast.Load()) if what in saved else part
        return part

    tree = rewritten(parsed(formula), change)
    return tree if is_complex else without_conj(tree)


def _with_temporary_views(tree: ast.expr, scope: dict[str, Any]) -> ast.expr:
    """Return a formula in which views that are direct arguments of an operation are made by their temporary variant."""

    def change(node: Any) -> Any:
        outer = OPS.get(ast.unparse(node.func)) if isinstance(node, ast.Call) else None
        if outer is not None and outer.kind != VIEW:
            for part in [part for part in node.args if isinstance(part, ast.Call)]:
                view = OPS.get(ast.unparse(part.func))
                if view is not None and view.kind == VIEW and not view.many:
                    name = f"temporary_{view.name}"
                    scope[name] = view.temporary_view
                    part.func = ast.Name(name)
        return node

    return rewritten(tree, change)  # type: ignore[no-any-return]


def _tensors_in(saved: list[str], op: OpSchema) -> list[str]:
    return [what for what in saved if what in (*op.tensors, *op.keys, "result") or what.startswith("result[")]


def _pytorchs_order(what: str) -> tuple[bool, str]:
    """Return the key by which PyTorch sorts saved values, and shows them: results last, ``input`` as ``self``."""
    return what.startswith("result"), "self" if what == "input" else what


def _branches(tree: ast.expr) -> list[ast.expr]:
    """Return the expressions between which a formula chooses."""
    return [*_branches(tree.body), *_branches(tree.orelse)] if isinstance(tree, ast.IfExp) else [tree]


# -- what formulas mean ----------------------------------------------------------------------------------------------


@functools.cache
def array_vocabulary(op: OpSchema) -> dict[str, Any]:
    """Return the meaning of names in a formula over arrays, for code that evaluates parts of it."""
    return _vocabulary(op, recorded=False)


def _vocabulary(op: OpSchema, recorded: bool) -> dict[str, Any]:
    """Return the meaning of names in a formula: operations' bodies over arrays, operations themselves over tensors."""
    scope: dict[str, Any] = dict(op.body.__globals__)
    for name, other in OPS.items():
        scope[name] = other.function if recorded else other.body
    scope.update(
        CONSTANTS=elementwise.CONSTANTS, FREED=FREED, MULTIPLE=MULTIPLE, compute=compute, is_on_device=is_on_device,
        materialize=materialize, ndarray=np.ndarray, np=np, reusable=reusable, scale_where_not=scale_where_not,
        unbroadcast=unbroadcast_recorded if recorded else unbroadcast,
        upcast_half=upcast_half_recorded if recorded else upcast_half, wrap=wrap, wrap_output=_wrap_output,
        wrap_saved=_wrap_saved, zero_where=zero_where, zero_where_not=zero_where_not,
    )  # fmt: skip
    return scope


def _wrap_saved(saved: Any, edge: Any, meta: Any = None) -> Any:
    """Return a saved value as the original tensor, in its own dtype; a number in place of a tensor stays a number."""
    if saved.__class__ is np.ndarray and meta is None and dispatch_mode.tangents is None:
        return wrap_known(saved, edge)
    if isinstance(saved, Tensor) or isinstance(saved, (int, float, complex)) and not isinstance(saved, np.generic):
        return saved  # a tensor unpacked by hooks, or a number in place of a tensor
    as_saved = saved
    if meta is not None and saved.dtype != meta[1]:  # saved promoted; its gradient needs the original dtype
        saved = (saved.real if saved.dtype.kind == "c" and meta[1].kind != "c" else saved).astype(meta[1])
    t = wrap_known(saved, edge)
    if dispatch_mode.tangents is not None:
        dispatch_mode.tangents.unpacked(t, as_saved)
    return t


def _wrap_output(node: Node, index: int, saved: Any) -> Tensor:
    """Return one of several results as the original tensor."""
    if isinstance(saved, Tensor):
        return saved
    t: Tensor = _wrap_saved(saved, OutputEdge(node, index) if saved.dtype.kind in dtypes.INEXACT else None)
    return t
