"""Write the program in tensors: in the vocabulary that PyTorch and this package share."""

from __future__ import annotations

import ast
import importlib
import re
import sys
import types
from collections.abc import Mapping
from typing import Any

import numpy as np

from nbautograd._engine.compiler.expressions import substituted
from nbautograd._engine.compiler.schema import OPS, OpSchema
from nbautograd._engine.compiler.source import compiled, evaluated, parsed
from nbautograd._engine.core.grad_mode import no_grad
from nbautograd._engine.core.tensor import wrap
from nbautograd.errors import ProgramError
from nbautograd.viz.program.expressions import (
    READABLE,
    Operand,
    arguments_of,
    formula_of,
    own_call,
    with_metadata,
    with_operands,
    with_options,
)
from nbautograd.viz.program.graph import Call, refuse
from nbautograd.viz.program.lines import BACKWARD, GRADS, Line
from nbautograd.viz.program.numpy_writer import NumpyWriter
from nbautograd.viz.program.tensor_forms import AFFIXES, OWNERS, SINGLE, TENSOR_FORMS, VJP
from nbautograd.viz.program.variables import method

__all__ = ["TensorWriter", "is_near"]

HOMES = ("torch", "torch.nn.functional", "torch.linalg", "torch.special", "torch.fft")
_ARRAY = re.compile(r"np\.(\w+)\((.*)\)", re.DOTALL)
_DTYPE = re.compile(r"np\.dtype\((?:np\.|')(\w+?)_?'?\)")


class _Unknown(Exception):  # noqa: N818 - a way out
    """A formula names something that PyTorch does not have."""


class TensorWriter:
    """Rewrites the lines of a NumPy program, each of which is known to be right, in tensors; and computes them."""

    def __init__(self, base: NumpyWriter) -> None:
        self.base = base
        self.lines: list[Line] = []
        self.uses_vjp = False
        self.variable = base.names.new("v")
        ours = {"torch": sys.modules["nbautograd"]}
        vjp = types.FunctionType(compiled(VJP, "<program vjp>", "vjp"), ours)
        self.values: dict[str, Any] = {**ours, "vjp": vjp, "np": np}

    def write(self) -> None:
        """All lines."""
        with no_grad():
            for name, value in self.base.values.items():
                if isinstance(value, (np.ndarray, np.generic)):
                    self.values[name] = wrap(value)
            for line in self.base.lines:
                for text in self.rewritten(line):
                    about = (line.comment, line.part, line.name, line.node, line.slot)
                    self.lines.append(Line(text, *about))

    def rewritten(self, line: Line) -> list[str]:
        """A line in tensors; none for one that only NumPy needs."""
        match line.origin:
            case "array", array:
                return [f"{line.name} = {self.array(line.text.partition(' = ')[2], array)}"]
            case "call", call, names:
                return [self.call(call, names)]
            case "term", call, slot, is_first, value:
                text = ast.unparse(self.term(call, slot, value))
                return [f"{line.name} = {text}" if is_first else f"{line.name} = {line.name} + {text}"]
            case "result", leaf, gradient, held:
                name = self.base.variable[leaf]
                gradient = re.sub(r"\.astype\(np\.(\w+)\)$", r".to(torch.\1)", gradient)
                if held is None:
                    return [f"{name}.grad = {gradient}"]
                held_name = self.base.results[leaf]
                return [f"{name}.grad = {held_name}", f"{name}.grad += {gradient}"]
        if line.part == BACKWARD:
            return []
        if line.part == GRADS or not line.origin:
            return [f"{line.name} = {self.array(line.text.partition(' = ')[2], self.base.values[line.name])}"]
        raise ProgramError("a program of tensors cannot be written")

    def array(self, text: str, array: Any) -> str:
        """An array of NumPy's as a tensor: small numbers in torch's words, others by way of NumPy."""
        kind = f"torch.{array.dtype.name.rstrip('_')}"
        match = _ARRAY.fullmatch(text)
        if match is not None and not text.startswith(("np.lib", "np.broadcast")):
            function, inner = match[1], match[2].rpartition(", dtype=")[0] or match[2]
            if function == "array" and ".view(" not in text and ".transpose(" not in text:
                return f"torch.tensor({inner}, dtype={kind})"
            if function == array.dtype.name and isinstance(array, np.generic):
                return f"torch.tensor({match[2]}, dtype={kind})"
        return f"torch.as_tensor({text})"

    def call(self, call: Call, names: list[str]) -> str:
        """The line of an operation."""
        is_single = call.op.name in SINGLE
        names = names[:1] if is_single else names
        tree = self.checked(call, self.forward(call), [self.base.values[name] for name in names])
        targets = ", ".join(names) + ("," if len(names) == 1 and call.op.many and not is_single else "")
        return f"{targets} = {ast.unparse(tree)}"

    # -- expressions ---------------------------------------------------------------------------------------------------

    def forward(self, call: Call) -> ast.expr:
        """The result of an operation."""
        operands = self.operands(call)
        try:
            tree = _Words(operands, call.op.body.__module__).call(call.op, own_call(call.op))
            return with_operands(tree, operands, READABLE)  # type: ignore[no-any-return]
        except _Unknown:
            raise refuse(
                call.node, f"PyTorch has no function that is {call.op.name}(): a program of NumPy has"
            ) from None

    def operands(self, call: Call) -> dict[str, Operand]:
        """The arguments as they came."""
        base = self.base
        operands: dict[str, Operand] = {}
        for name, written in base.unpromoted(call).items():
            value = call.arguments.get(name)
            text = _DTYPE.sub(r"torch.\1", ast.unparse(written.tree))
            if "np." in text:
                text = f"torch.as_tensor({text})" if isinstance(value, (np.ndarray, np.generic)) else text
            operands[name] = Operand(parsed(text), written.value)
        return operands

    def term(self, call: Call, slot: int, value: Any) -> ast.expr:
        """Return the gradient that a node sends to one of its inputs: by its formula, or by the library's own
        derivative.
        """
        if not call.op.lists:
            try:
                return self.checked(call, self.formula(call, call.op.inputs[slot], value), [value])
            except (_Unknown, ProgramError, TypeError, AttributeError, RuntimeError, ValueError, IndexError):
                pass
        tree = self.checked(call, self.derivative(call, slot), [value])
        self.uses_vjp = True
        return tree

    def formula(self, call: Call, name: str, value: Any) -> ast.expr:
        """Return the value of the formula of an input."""
        op, base = call.op, self.base
        operands = self.operands(call)
        base.add_results(operands, call)
        tree = formula_of(op.formulas[name], operands, value.dtype.kind == "c")
        tree = with_operands(_Words(operands, op.body.__module__).visit(tree), operands, READABLE)
        return self.brought_back(tree, value)

    def brought_back(self, tree: ast.expr, value: Any) -> ast.expr:
        """A gradient in the shape and dtype of its input."""
        found = self.computed(tree)
        if tuple(found.shape) != value.shape:
            tree = method(tree, "sum_to_size", parsed(repr(tuple(value.shape))))
        if found._a.dtype != value.dtype:
            tree = method(tree, "to", parsed(f"torch.{value.dtype.name}"))
        return tree

    def derivative(self, call: Call, slot: int) -> ast.expr:
        """The call of ``vjp``."""
        target = call.targets[slot]
        assert target is not None
        operands = self.operands(call)
        x, v = self.base.variable[target], self.variable
        op = call.op
        if op.lists:
            (name,) = op.inputs[:1]
            operand = operands[name]
            assert isinstance(operand.tree, ast.List)
            operand.tree.elts[slot] = ast.Name(v, ast.Load())
        else:
            operands[op.inputs[slot]] = Operand(ast.Name(v, ast.Load()), self.base.values[x])
        tree = _Words(operands, op.body.__module__).call(op, own_call(op))
        body = with_operands(tree, operands, READABLE)
        gs = [self.base.gradient.get(output) or "None" for output in call.results]
        gs = gs[:1] if op.name in SINGLE else gs
        return parsed(f"vjp(lambda {v}: {ast.unparse(body)}, {x}, {', '.join(gs)})")

    # -- computing -----------------------------------------------------------------------------------------------------

    def computed(self, tree: ast.expr) -> Any:
        """Return the value of an expression, in tensors of this package."""
        return evaluated(ast.unparse(tree), self.values, {})

    def checked(self, call: Call, tree: ast.expr, expected: list[Any]) -> ast.expr:
        """The expression, if it has the value of the NumPy program."""
        try:
            value = self.computed(tree)
        except Exception as error:
            raise refuse(call.node, f"in tensors: {type(error).__name__}: {error}") from error
        values = list(value) if isinstance(value, (tuple, list)) else [value]
        for have, want in zip(values, expected, strict=False):
            if not is_near(have, want):
                raise refuse(call.node, "in tensors it comes to other numbers")
        return tree


class _Words(ast.NodeTransformer):
    """Exchanges the operations in a formula for functions of PyTorch's."""

    def __init__(self, operands: Mapping[str, Operand], module: str) -> None:
        self.operands, self.module = operands, module

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name):
            op = OPS.get(node.func.id)
            if op is None:
                if node.func.id == "times":
                    return ast.BinOp(self.visit(node.args[0]), ast.Mult(), self.visit(node.args[1]))
                if node.func.id == "sum_along":
                    arguments = {"input": self.visit(node.args[0]), "dim": node.args[1]}
                    return substituted(parsed(TENSOR_FORMS["sum_along"]), arguments)  # type: ignore[no-any-return]
                return self.number(node)
            node.args = [self.visit(part) for part in node.args]
            if op.name.startswith("along_"):
                return node.args[0]
            return self.call(op, node)
        self.generic_visit(node)
        return node

    def number(self, node: ast.Call) -> ast.expr:
        """Return the value of a function of constants, such as a number of elements."""
        try:
            arguments = [ast.literal_eval(part) for part in node.args]
            value = getattr(sys.modules[self.module], node.func.id)(*arguments)  # type: ignore[attr-defined]
        except (ValueError, AttributeError):
            value = None
        if value.__class__ not in (int, float, tuple):
            raise _Unknown(ast.unparse(node.func))
        return parsed(repr(value))

    def visit_Name(self, node: ast.Name) -> ast.AST:
        value = getattr(sys.modules[self.module], node.id, None)
        if node.id not in self.operands and value.__class__ in (int, float):
            return ast.Constant(value)
        if node.id in self.operands or node.id in ("torch", "slice", "np") or node.id.startswith("__variable__"):
            return node
        raise _Unknown(node.id)

    def call(self, op: OpSchema, call: ast.Call) -> ast.expr:
        """A call of an operation in PyTorch's words."""
        form = TENSOR_FORMS.get(op.name)
        if form is None:
            owner = OWNERS.get(op.name) or _home_of(op)
            name = re.sub(AFFIXES, "", op.name) if op.name in OWNERS else op.name
            keywords = [f"{name}={name}" for name in op.keywords]
            form = f"{owner}.{name}({', '.join([*op.positional[owner == 'input' :], *keywords])})"
            if op.rest:  # as a method, which takes a tuple
                form = f"{op.positional[0]}.{op.name}({op.rest})"
        arguments = arguments_of(op, call)
        if arguments is None:
            raise _Unknown(op.name)
        known: dict[str, Operand] = {
            name: self.operands[part.id] if isinstance(part, ast.Name) and part.id in self.operands
            else Operand(part, None)
            for name, part in arguments.items()
        }  # fmt: skip
        tree = with_metadata(parsed(form), known)
        tree = with_options(tree, {n: o for n, o in known.items() if not isinstance(o.tree, ast.List)})
        return substituted(tree, arguments)  # type: ignore[no-any-return]


def _home_of(op: OpSchema) -> str:
    """Return PyTorch's namespace of an operation with the same name."""
    for home in HOMES:
        module = importlib.import_module(home.replace("torch", "nbautograd", 1))
        if getattr(module, op.name, None) is op.function and not op.name.startswith("_"):
            return home
    raise _Unknown(op.name)


def is_near(have: Any, want: Any) -> bool:
    """Return whether a tensor has the shape and dtype of an array, and its numbers up to rounding."""
    array = getattr(have, "_a", None)
    if array is None or array.shape != want.shape or array.dtype != want.dtype:
        return False
    loose = want.dtype.itemsize <= (8 if want.dtype.kind == "c" else 4)
    return np.allclose(array, want, rtol=1e-3 if loose else 1e-7, atol=1e-5 if loose else 1e-10, equal_nan=True)
