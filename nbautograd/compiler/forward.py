"""Writes the source of an operation's function: straight-line code for this very operation, from its declaration.

What the code calls by name is in ``compiler/promotion.py`` and in the table at the end of ``compiler/op.py``.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from nbautograd.compiler.registry import NUMPY_NAMES, POINTWISE, UPCAST, VIEW
from nbautograd.compiler.rewrite import UFUNCS, constant, constants_as_arrays, elementwise
from nbautograd.compiler.source import expression_of
from nbautograd.fusion.kernel import lower_to_ufuncs

if TYPE_CHECKING:
    from nbautograd.compiler.op import CompiledOp

__all__ = ["ALONE", "OPERATOR", "TEMPORARY_VIEW", "TILED", "Put", "Writer", "has_operands_alone", "options_of", "slot"]


OPERATOR, TEMPORARY_VIEW = "operator", "temporary view"
"""Variants of an operation's function: for special methods such as ``__add__``; for views that nobody gets to see."""
ALONE, TILED = "alone", "tiled"
"""Variants of a node: an operator makes one whose first operand alone wants a gradient; and of a large result."""


class Writer:
    """Writes the source of one operation's function, line by line."""

    def __init__(self, declaration: CompiledOp, traced: bool, half: bool = False, twin: str = "") -> None:
        self.op = declaration
        self.traced = traced
        self.half = half
        self.twin = twin
        # An operator gets operands alone, so that its options are known.
        self.fixed = options_of(declaration) if twin == OPERATOR and has_operands_alone(declaration) else None
        self.arrays = {name: f"a{i}" for i, name in enumerate(declaration.tensors)}
        # What is saved of them; with half precision that is not what is computed with.
        self.saved = {name: f"h{i}" for i, name in enumerate(declaration.tensors)} if half else self.arrays
        differentiable = [name for name in declaration.tensors if name in declaration.formulas]
        self.edges = {name: f"f{i}" for i, name in enumerate(differentiable)}
        self.looks_at_size = False  # whether large arrays have a branch of their own

    def lines(self) -> list[str]:
        """The whole function."""
        op = self.op
        yields = [f"def {op.name}({self.signature()}):"]
        inner = [f"if {NUMPY_NAMES[name]} is not None: {name} = {NUMPY_NAMES[name]}" for name in op.numpy_names]
        if "dim" in op.numpy_names and op.required_dim:
            inner.append(f"if dim is None: raise TypeError(\"{op.name}() missing 1 required argument: 'dim'\")")
        if self.fixed is not None:
            inner = [f"{name} = {value!r}" for name, value in self.fixed.items()]
        if op.rest:
            inner.append(f"{op.rest} = sizes(_rest if {op.rest} is None else ({op.rest},), {op.rest!r})")
        if op.has_out and self.fixed is None:
            inner.append(f"if out is not None: return into(OP, out, {self.call()})")
        if self.half:
            inner += self.load_half()
        else:
            inner += self.load_pointwise() if op.kind == POINTWISE else self.load_plain()
        inner += self.forward()
        inner += self.record()
        return [*yields, *(f"    {line}" for line in inner)]

    def signature(self) -> str:
        """The parameters, with None for whatever default there is."""
        op = self.op
        if self.fixed is not None:
            return ", ".join(op.tensors)
        defaults = len(op.body.__defaults__ or ())
        first_default = len(op.positional) - defaults
        parts = [name + ("=None" if i >= first_default else "") for i, name in enumerate(op.positional)]
        if op.numpy_names and op.required_dim:
            parts[op.positional.index("dim")] = "dim=None"
        keywords = [f"{name}=None" for name in op.keywords] + ["out=None"] * op.has_out
        keywords += [f"{NUMPY_NAMES[name]}=None" for name in op.numpy_names]
        if op.rest:
            parts += ["*_rest", f"{op.rest}=None"]
        elif keywords:
            parts.append("*")
        return ", ".join(parts + keywords)

    def call(self) -> str:
        """The arguments as they came, to call the function again."""
        op = self.op
        rest = [f"*{op.rest}"] if op.rest else []
        return ", ".join([*op.positional, *rest, *(f"{name}={name}" for name in op.keywords)])

    def options(self) -> str:
        """A tuple of the arguments after the first, for looking at a view again (views have no keyword-only ones)."""
        op = self.op
        rest = [f"*{op.rest}"] if op.rest else []
        return "(" + "".join(f"{name}, " for name in [*op.positional[1:], *rest]) + ")"

    # Loading the inputs: the array and the edge of each.

    def load(self, name: str) -> list[str]:
        """Lines that take the array of the tensor ``name``, and its edge if it is differentiable."""
        array, edge = self.arrays[name], self.edges.get(name)
        if edge is None:
            return [f"{array} = {name}._a"]
        return [f"{array} = {name}._a; {edge} = {name}._fn", f"if {edge} is LEAF: {edge} = {name}"]

    def load_or(self, name: str, otherwise: str) -> list[str]:
        """The same for a parameter that need not be a tensor."""
        edge = self.edges.get(name)
        none = f"{edge} = None; " if edge else ""
        return [
            f"if isinstance({name}, Tensor):",
            *(f"    {line}" for line in self.load(name)),
            f"else: {none}{self.arrays[name]} = {otherwise}",
        ]

    def load_plain(self) -> list[str]:
        """Take the arrays as they are."""
        op = self.op
        lines = ["try:"]
        for name in op.tensors:
            if name in op.lists:
                edge = f"; {self.edges[name]} = [edge(t) for t in {name}]" if name in self.edges else ""
                lines.append(f"    {self.arrays[name]} = [t._a for t in {name}]{edge}")
            elif name in op.numbers:
                lines += [f"    {line}" for line in self.load_or(name, name)]
            elif name in op.optional:
                edge = f"{self.edges[name]} = " if name in self.edges else ""
                lines.append(f"    if {name} is None: {edge}{self.arrays[name]} = None")
                lines += ["    else:", *(f"        {line}" for line in self.load(name))]
            else:
                lines += [f"    {line}" for line in self.load(name)]
        lines.append(f"except (AttributeError, TypeError): return refuse(OP, ({', '.join(op.tensors)},))")
        single = [self.arrays[name] for name in op.tensors if name not in op.lists]
        if len(single) > 1:
            classes = " is not ".join(f"{a}.__class__" for a in single[:2])
            lines.append(f"if {classes}: check_devices(OP, ({', '.join(single)},))")
        first = op.tensors[0] if op.tensors else ""
        if op.half_policy == UPCAST and not self.half and first and first not in (*op.numbers, *op.optional):
            lines.append(f"if a0.itemsize == 2 and a0.dtype.kind in 'fV': return half()({self.call()})")
        if op.kind == VIEW:
            array = self.arrays[first]
            lines.append(f"if {array}.__class__ is not ndarray: {array} = {first}.shared_array()")
        return lines

    def load_pointwise(self) -> list[str]:
        """Fast where all inputs are of one and the same real floating dtype; ``promote`` sees to the rest."""
        op = self.op
        names = op.tensors
        arrays = [self.arrays[name] for name in names]
        slow = f"{', '.join(arrays)}, fit, Node = promote(OP, ({', '.join(names)},))"
        if len(names) > 2 or "f" not in op.accepts:
            lines = [line for name in names for line in self.load_or(name, name)]
            strict = [name for name in names if name not in op.numbers]
            refuse = f"return refuse(OP, ({', '.join(names)},))"
            return [
                *lines,
                *(f"if not isinstance({name}, (Tensor, ndarray)): {refuse}" for name in strict),
                "try: " + slow,
                f"except TypeError: return refuse(OP, ({', '.join(names)},))",
                f"except HalfPrecision: return half()({self.call()})",
            ]
        first = names[0]
        lines = ["fit = None; Node = Backward" if op.formulas else "fit = None", "try:"]
        lines += [f"    {line}" for line in self.load(first)]
        lines += ["    c = a0.__class__"]
        if len(names) == 2:
            second = names[1]
            lines += [
                f"    if isinstance({second}, Tensor):",
                *(f"        {line}" for line in self.load(second)),
                "        c1 = a1.__class__",
                "        if c is ndarray:",
                "            d = a0.dtype",
                "            like = c1 is ndarray or c1 is float32 or c1 is float64",
                "            if like and a1.dtype is d and (d is F32 or d is F64):",
                "                if a0.shape != a1.shape: fit = unbroadcast_spec(a0.shape, a1.shape, d)",
                f"            else: {slow}",
                "        elif c is float32 or c is float64:",
                "            if c1 is not c:",
                "                if c1 is ndarray and a1.dtype is a0.dtype:",
                "                    fit = unbroadcast_spec((), a1.shape, a1.dtype)",
                f"                else: {slow}",
                f"        else: {slow}",
                "    else:",
                f"        {self.edges[second]} = None" if second in self.edges else "        pass",
                *([] if second in op.numbers else [f"        if {second}.__class__ is not ndarray: raise TypeError"]),
                f"        a1 = number({second}, c, a0)",
                f"        if a1 is None: {slow}",
            ]
        else:
            lines += [
                "    if c is ndarray:",
                "        d = a0.dtype",
                f"        if d is not F32 and d is not F64: {slow}",
                f"    elif c is not float32 and c is not float64: {slow}",
            ]
        lines.append("except (AttributeError, TypeError):")
        if len(names) == 2 and first in op.numbers:
            # A number first and a tensor second, as in torch.mul(2, x).
            lines += [f"    if isinstance({first}, Tensor): return refuse(OP, ({', '.join(names)},))", "    c = None"]
            edges = "; ".join(
                f"{edge} = None" if name == first else f"{edge} = edge({name})" for name, edge in self.edges.items()
            )
            lines += ["    try:"] + ([f"        {edges}"] if edges else []) + [f"        {slow}"]
            lines += [f"    except (AttributeError, TypeError): return refuse(OP, ({', '.join(names)},))"]
            lines += [f"    except HalfPrecision: return half()({self.call()})"]
        else:
            lines.append(f"    return refuse(OP, ({', '.join(names)},))")
        lines.append(f"except HalfPrecision: return half()({self.call()})")
        return lines

    def load_half(self) -> list[str]:
        """``a0`` and so on, to compute with, in float32; ``h0`` and so on, to save, as they came; D to round to."""
        op = self.op
        computed = ", ".join(self.arrays.values())
        kept = ", ".join(self.saved.values())
        if op.kind == POINTWISE:
            lines = [line for name in op.tensors for line in self.load_or(name, name)]
            return [*lines, f"{computed}, {kept}, fit, D = promote_half(OP, ({', '.join(op.tensors)},))"]
        return [*self.load_plain(), f"{kept}, = {computed},", f"{computed}, fit, D = widen_all(({computed},))"]

    # Computing the result.

    def forward(self) -> list[str]:
        """Compute ``r``, the result."""
        op = self.op
        tree = _inlined(op.body, self.arrays, self.fixed or {})
        plain = copy.deepcopy(tree)
        numbers: dict[str, float] = {}
        if tree is not None and op.kind == POINTWISE and not self.half:
            unsure = {*op.numbers, *op.optional, *op.masks}
            sure = {self.arrays[name] for name in op.tensors if name not in unsure or name == op.tensors[0]}
            tree = constants_as_arrays(tree, sure, numbers)
        loads = [constant(name, value, "a0") for name, value in numbers.items()]
        expression = None if tree is None else ast.unparse(tree)
        if expression is None:
            values = [self.arrays.get(name, name) for name in op.positional]
            rest = [f"*{op.rest}"] if op.rest else []
            keywords = [f"{name}={self.arrays.get(name, name)}" for name in op.keywords]
            expression = f"body({', '.join([*values, *rest, *keywords])})"
        if op.kind == VIEW:
            return [f"r = {expression}"]
        if self.half:
            expression = f"[narrow(part, D) for part in {expression}]" if op.many else f"narrow({expression}, D)"
        if tree is not None and not self.half and (one := _one_call(tree)) is not None:
            lines = [*loads, f"try: r = quietly({one})", f"except RuntimeError: r = run_quietly({one})"]
        else:
            lines = [*loads, "q = set_quiet(SILENT)", f"try: r = {expression}", "finally: unset_quiet(q)"]
        if plain is None or not self.may_be_large() or lower_to_ufuncs(plain, [*self.arrays.values()], {}) is None:
            return lines
        operands = ", ".join(self.arrays.values())
        size = "a0.size >= MIN_TILED_SIZE"
        if len(op.tensors) == 2:
            size = f"({size} or fit is not None and a1.size >= MIN_TILED_SIZE)"
        self.looks_at_size = True
        return [
            f"if c is ndarray and {size}:",
            f"    r = large(OP, {ast.unparse(plain)!r}, {operands})",
            *([f"    if Node is Backward: Node = OP.node({TILED!r})"] if op.formulas else []),
            "else:",
            *(f"    {line}" for line in lines),
        ]

    def may_be_large(self) -> bool:
        """Whether ``c`` says of what class the first operand is."""
        op = self.op
        return op.kind == POINTWISE and not self.half and len(op.tensors) < 3 and "f" in op.accepts

    # Recording it.

    def record(self) -> list[str]:
        """Make the tensor, and the node if a gradient may be wanted."""
        op = self.op
        if op.many:
            return self.record_many()
        lines = ["t = new(Tensor); t._a = r"]
        if op.kind == VIEW and self.twin != TEMPORARY_VIEW:
            lines.append(f"link(t, {op.tensors[0]}, body, OP.function, {self.options()})")
        if not op.formulas:
            return [*lines, "t._fn = None; return t"]
        lines.append(f"if {self.unrecorded()}: t._fn = None; return t")
        if op.kind == POINTWISE and not self.half and not self.looks_at_size:
            lines.append(
                "if r.__class__ is ndarray and r.size >= MIN_TILED_SIZE and Node is Backward: "
                f"Node = OP.node({TILED!r})"
            )
        if self.fixed is not None and len(self.edges) == 2:
            lines.append("if f1 is None and Node is Backward: Node = Alone")
        lines += ["n = t._fn = " + self.node_class() + "()", *self.save()]
        if self.traced:
            lines.append(self.trace("t"))
        return [*lines, "return t"]

    def record_many(self) -> list[str]:
        """The same for several results."""
        op = self.op
        lines = ["outputs = []", "for part in r:", "    t = new(Tensor); t._a = part; t._fn = None; outputs.append(t)"]
        if op.kind == VIEW:
            lines.append("    i = len(outputs) - 1")
            lines.append(f"    link(t, {op.tensors[0]}, pick(body, i), pick(OP.function, i), {self.options()})")
        if op.formulas:
            lines += [
                f"if not ({self.unrecorded()}):",
                f"    n = {self.node_class()}()",
                *(f"    {line}" for line in self.save()),
                "    n.count = len(outputs)",
                "    for index, t in enumerate(outputs):",
                "        if t._a.dtype.kind in INEXACT: t._fn = Port(n, index)",
            ]
            if self.traced:
                lines.append(f"    {self.trace('outputs[0]')}")
        return [*lines, "return tuple(outputs)"]

    def unrecorded(self) -> str:
        """The condition under which nothing is recorded."""
        op = self.op
        wanted = [
            f"{edge} is None" if name not in op.lists else f"all(f is None for f in {edge})"
            for name, edge in self.edges.items()
        ]
        return f"{' and '.join(wanted)} or not is_grad_enabled()"

    def node_class(self) -> str:
        """The name of the class that the node gets."""
        if self.half:
            return "HalfBackward"
        if self.op.kind == POINTWISE:
            return "Node"
        if any("conj" in text for text in self.op.formulas.values()):
            result = "r[0]" if self.op.many else "r"
            return f"(ComplexBackward if {result}.dtype.kind == 'c' else Backward)"
        return "Backward"

    def save(self) -> list[str]:
        """Fill the node: its edges, what its formulas name, its number."""
        op = self.op
        if op.many_edges:
            parts = [f"*{edge}" if name in op.lists else edge for name, edge in self.edges.items()]
            lines = [f"n.all_edges = ({', '.join(parts)},); n.f0 = n.f1 = None"]
        else:
            both = [*self.edges.values(), "None"][:2]
            lines = [f"n.f0 = {both[0]}; n.f1 = {both[1]}"]
        needs = op.saves()
        for what in sorted(set().union(*needs.values())):
            value = self.value_of(what)
            # Kept only if some gradient that is wanted needs it.
            wanted = [self.edges[name] for name, uses in needs.items() if what in uses]
            if not op.lists and len(self.edges) > 1 and len(wanted) < len(self.edges) and "." not in what:
                value += f" if {' or '.join(f'{edge} is not None' for edge in wanted)} else None"
            lines.append(f"n.{slot(what)} = {value}")
        lines.append(f"n.fit = {'fit' if op.kind == POINTWISE or self.half else 'None'}; n.rare = None; n.seq = tick()")
        return lines

    def value_of(self, what: str) -> str:
        """The expression of something saved."""
        name, _, attribute = what.partition(".")
        if name == "result":
            base = "r"
        elif name in self.op.lists and attribute:
            return f"[a.{attribute} for a in {self.arrays[name]}]"
        else:
            base = self.saved.get(name, name)
        return f"{base}.{attribute}" if attribute else base

    def trace(self, output: str) -> str:
        """The line that notes the call for whoever watches."""
        op = self.op
        named = [(name, name) for name in (*op.positional, *op.keywords)] + ([(op.rest, op.rest)] if op.rest else [])
        pairs = ", ".join(f"({label!r}, {value})" for label, value in named)
        return f"note(n, {output}, ({pairs},))"


def has_operands_alone(op: CompiledOp) -> bool:
    """Whether the operator twin takes nothing but operands: an elementwise operation whose options have defaults."""
    return op.kind == POINTWISE and options_of(op) is not None


def options_of(op: CompiledOp) -> dict[str, Any] | None:
    """The options that follow the operands, with their defaults; None where one has none, or none that is plain."""
    defaults = op.body.__defaults__ or ()
    known = {**dict(zip(op.positional[::-1], defaults[::-1], strict=False)), **(op.body.__kwdefaults__ or {})}
    options = {name: known.get(name, ...) for name in (*op.positional, *op.keywords) if name not in op.tensors}
    plain = all(value is None or value.__class__ in (int, float, bool, str) for value in options.values())
    return options if plain else None


def _inlined(body: Callable[..., Any], arrays: dict[str, str], fixed: dict[str, Any]) -> ast.expr | None:
    """The body's expression if it is nothing but ``return expression``, with arrays' names and known options put in."""
    expression = expression_of(body)
    return None if expression is None else Put(arrays, fixed).visit(expression)


_OPERATORS = {ast.Add: "plus", ast.Sub: "minus", ast.Mult: "by", ast.Div: "over"}


def _one_call(tree: ast.expr) -> str | None:
    """The arguments of ``run`` for an expression that is one operator or one ufunc of its operands; else None."""
    if isinstance(tree, ast.BinOp) and type(tree.op) in _OPERATORS:
        called = f"np.{UFUNCS[type(tree.op)]} if a0.__class__ is ndarray else {_OPERATORS[type(tree.op)]}"
        given = [tree.left, tree.right]
    elif isinstance(tree, ast.Call) and not tree.keywords and isinstance(elementwise(tree.func), np.ufunc):
        called, given = ast.unparse(tree.func), tree.args
    else:
        return None
    simple = all(isinstance(part, (ast.Name, ast.Constant)) for part in given)
    return ", ".join([called, *map(ast.unparse, given)]) if simple else None


class Put(ast.NodeTransformer):
    """Names exchanged for others, or for constants; a choice between two that is known by that is made."""

    def __init__(self, names: dict[str, str], constants: dict[str, Any]) -> None:
        self.names, self.constants = names, constants

    def visit_Name(self, node: ast.Name) -> ast.AST:  # noqa: D102 - ast's name
        if node.id in self.constants:
            return ast.Constant(self.constants[node.id])
        return ast.Name(self.names.get(node.id, node.id), node.ctx)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:  # noqa: D102
        self.generic_visit(node)
        match node.test:
            case ast.Compare(ast.Constant(left), [ast.Eq()], [ast.Constant(right)]):
                return node.body if left == right else node.orelse
        return node


def slot(what: str) -> str:
    """The node's slot for something saved: ``s_other``, ``s_input_shape``."""
    return "s_" + what.replace(".", "_")
