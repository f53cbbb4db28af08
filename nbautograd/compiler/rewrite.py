"""Formulas and bodies over arrays, made shorter before they are compiled: the same results by fewer and cheaper calls.

What stands in a declaration is what is meant, and what pictures show. What runs is the same after three exchanges:

- a call of an operation whose body is one expression becomes that expression;
- a choice between something and zeros becomes a mask, which is computed without branches;
- a number next to an array becomes a 0-d array of its dtype, which NumPy need not look at first.
"""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Container, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from nbautograd.arrays import precise
from nbautograd.compiler.registry import OPS
from nbautograd.compiler.source import expression_of

if TYPE_CHECKING:
    from nbautograd.compiler.op import CompiledOp

__all__ = ["CONSTANTS", "constant", "constants_as_arrays", "elementwise", "inlined", "operators_as_ufuncs"]


def inlined(tree: ast.expr, scope: dict[str, Any]) -> ast.expr:
    """A formula over arrays with its calls of operations replaced by what they do.

    :param scope: what the names in the formula mean; what names in the bodies mean is added.
    """
    changed: ast.expr = _Inliner(scope).visit(tree)
    return changed


class _Inliner(ast.NodeTransformer):
    def __init__(self, scope: dict[str, Any]) -> None:
        self.scope = scope

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match node:
            case ast.Call(ast.Name("where"), [condition, kept, ast.Call(ast.Name("zeros_of"))]):
                node = ast.Call(ast.Name("zero_where_not"), [kept, condition], [])
            case ast.Call(ast.Name("where"), [condition, ast.Call(ast.Name("zeros_of")), kept]):
                node = ast.Call(ast.Name("zero_where"), [kept, condition], [])
        self.generic_visit(node)
        name = node.func.id if isinstance(node.func, ast.Name) else None
        op = None if name is None else OPS.get(name)
        if op is None or self.scope.get(op.name) is not op.body:
            return node
        return self._body(op, node) or node

    def _body(self, op: CompiledOp, call: ast.Call) -> ast.expr | None:
        """The body with the arguments in it; None where it is no expression, or an argument would be computed twice."""
        expression = expression_of(op.body)
        if expression is None or op.rest or op.keywords or call.keywords or len(call.args) != len(op.positional):
            return None
        if any(isinstance(part, (ast.comprehension, ast.Lambda, ast.NamedExpr)) for part in ast.walk(expression)):
            return None  # it has names of its own, which might be some argument's
        used = Counter(part.id for part in ast.walk(expression) if isinstance(part, ast.Name))
        arguments = dict(zip(op.positional, call.args, strict=True))
        if any(used[name] > 1 and not isinstance(part, (ast.Name, ast.Constant)) for name, part in arguments.items()):
            return None
        for name in set(used) - set(arguments):
            meant = op.body.__globals__.get(name, getattr(builtins, name, None))
            if meant is not None and self.scope.setdefault(name, meant) is not meant:
                alias = f"{op.name}_{name}"
                self.scope[alias] = meant
                arguments[name] = ast.Name(alias)
        changed: ast.expr = _Put(arguments).visit(expression)
        return changed


class _Put(ast.NodeTransformer):
    """Names exchanged for expressions."""

    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self.values.get(node.id, node)


class Constants(dict[Any, Any]):
    """One number as a 0-d array by dtype: of float32 and float64; for other dtypes the number itself."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __missing__(self, dtype: np.dtype[Any]) -> Any:
        made: Any = self.value
        if dtype.char in "fd":
            made = np.array(self.value, dtype)
            made.flags.writeable = False
        self[dtype] = made
        return made


class _ByValue(dict[str, Constants]):
    """Constants by the text of the number, in which 1 is not 1.0 and 0.0 is not -0.0."""

    def __missing__(self, text: str) -> Constants:
        made = self[text] = Constants(ast.literal_eval(text))
        return made


CONSTANTS = _ByValue()


def constant(name: str, value: float, array: str) -> str:
    """The line that loads a number, as an array where ``array`` is one.

    >>> constant("k0", 1, "g")
    "k0 = CONSTANTS['1'][g.dtype] if g.__class__ is ndarray else 1"
    """
    return f"{name} = CONSTANTS[{repr(value)!r}][{array}.dtype] if {array}.__class__ is ndarray else {value!r}"


def constants_as_arrays(tree: ast.expr, arrays: Container[str], names: dict[str, float]) -> ast.expr:
    """An elementwise expression with names for the numbers next to arrays, which are added to ``names``.

    :param arrays: the names that are surely arrays, all of one dtype.

    >>> found = {}
    >>> tree = ast.parse("g * (1 - result * result)", mode="eval").body
    >>> ast.unparse(constants_as_arrays(tree, {"g", "result"}, found)), found
    ('g * (k0 - result * result)', {'k0': 1})
    """
    changed: ast.expr = _Numbers(arrays, names).visit(tree)
    return changed


def operators_as_ufuncs(tree: ast.expr, arrays: Container[str], full: Container[str] = ()) -> ast.expr:
    """An elementwise expression with NumPy's functions for operators between arrays, which it then need not look up.

    What one step makes for the next to use is written over by that, so that fewer arrays are made.

    :param full: the names of arrays that have the shape of the whole expression.

    >>> tree = ast.parse("g * (k0 - result * result)", mode="eval").body
    >>> ast.unparse(operators_as_ufuncs(tree, {"g", "result"}, {"g", "result"}))
    'np.multiply(g, (q := np.subtract(k0, (q := np.multiply(result, result)), q)), q)'
    """
    changed: ast.expr = _Ufuncs(arrays, full).visit(tree)
    return changed


class _OverArrays(ast.NodeTransformer):
    """Knows which parts of an elementwise expression are arrays, given the names that are."""

    def __init__(self, arrays: Container[str]) -> None:
        self.arrays = arrays

    def is_array(self, tree: ast.expr) -> bool:
        match tree:
            case ast.Name(name):
                return name in self.arrays
            case ast.BinOp(left, _, right):
                return self.is_array(left) or self.is_array(right)
            case ast.UnaryOp(ast.USub(), operand):
                return self.is_array(operand)
            case ast.Call(function, arguments, []) if _is_ufunc(function):
                return any(map(self.is_array, arguments))
        return False


UFUNCS: dict[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "true_divide",
    ast.USub: "negative",
    ast.Lt: "less",
    ast.LtE: "less_equal",
    ast.Gt: "greater",
    ast.GtE: "greater_equal",
}
"""The ufunc of an operator."""


class _Ufuncs(_OverArrays):
    def __init__(self, arrays: Container[str], whole: Container[str]) -> None:
        super().__init__(arrays)
        self.whole = whole

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        changed = self.is_array(node) and type(node.op) in UFUNCS
        self.generic_visit(node)
        return self.in_place(_ufunc(node.op, node.left, node.right)) if changed else node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        changed = self.is_array(node)
        self.generic_visit(node)
        return self.in_place(_ufunc(node.op, node.operand)) if changed else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        return self.in_place(node) if _is_ufunc(node.func) else node

    def in_place(self, call: ast.Call) -> ast.Call:
        """The step writing over one of its operands, if that was made for it.

        One name is enough: where q is bound again before it is written to, the other array has been used up as well.
        """
        for index, part in enumerate(call.args):
            if self.is_made(part):
                call.args[index] = ast.NamedExpr(ast.Name("q"), part)
                call.args.append(ast.Name("q"))
                break
        return call

    def is_made(self, part: ast.expr) -> bool:
        """Whether a part is a floating array of the whole shape that a step has made."""
        if isinstance(part, ast.NamedExpr):
            return True
        if not (isinstance(part, ast.Call) and _is_ufunc(part.func)) or not _kept_dtype(part):
            return False
        return any(self.is_made(a) or isinstance(a, ast.Name) and a.id in self.whole for a in part.args)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        changed = len(node.ops) == 1 and type(node.ops[0]) in UFUNCS and self.is_array(node.left)
        self.generic_visit(node)
        return _ufunc(node.ops[0], node.left, node.comparators[0]) if changed else node


def _ufunc(operator: ast.AST, *operands: ast.expr) -> ast.Call:
    return ast.Call(ast.Attribute(ast.Name("np"), UFUNCS[type(operator)]), list(operands), [])


class _Numbers(_OverArrays):
    def __init__(self, arrays: Container[str], names: dict[str, float]) -> None:
        super().__init__(arrays)
        self.names = names

    def name_of(self, part: ast.expr) -> ast.expr:
        """The name that stands for a number; anything else as it is."""
        match part:
            case ast.Constant(value) if value.__class__ in (int, float):
                for name, known in self.names.items():
                    if known == value:
                        return ast.Name(name)
                name = f"k{len(self.names)}"
                self.names[name] = value
                return ast.Name(name)
        return part

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.Div)):
            if self.is_array(node.left):
                node.right = self.name_of(node.right)
            elif self.is_array(node.right):
                node.left = self.name_of(node.left)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) == 1 and self.is_array(node.left):
            node.comparators = [self.name_of(node.comparators[0])]
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if _is_ufunc(node.func) and any(map(self.is_array, node.args)):
            node.args = [self.name_of(part) for part in node.args]
        return node


def elementwise(tree: ast.expr) -> Any:
    """The function of arrays, element by element, that an expression names: a ufunc or a precise one; else None.

    >>> elementwise(ast.parse("np.sqrt", mode="eval").body)
    <ufunc 'sqrt'>
    """
    match tree:
        case ast.Attribute(ast.Name("np"), name):
            function = getattr(np, name, None)
            return function if isinstance(function, np.ufunc) else None
        case ast.Attribute(ast.Name("precise"), name):
            return precise.FUNCTIONS.get(name)
    return None


def _kept_dtype(call: ast.Call) -> bool:
    """Whether a ufunc computes floating numbers from floating numbers."""
    function = elementwise(call.func)
    return function.nout == 1 and "f" * function.nin + "->f" in function.types


def _is_ufunc(tree: ast.expr) -> bool:
    """Whether an expression names an elementwise function that computes in its operands' dtype."""
    function = elementwise(tree)
    return function is not None and function.__name__ not in ("power", "float_power", "ldexp")
