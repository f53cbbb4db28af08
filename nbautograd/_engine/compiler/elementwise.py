"""Lowering of elementwise expressions to ufuncs: one analysis of the expression, and a target for each use.

``ufunc_call`` returns the ufunc of an operator or a call; every target is based on it:

- ``single_call``: the whole expression is one ufunc of its operands, called without NumPy's warnings (forward);
- ``operators_as_ufuncs``: nested calls that write over their own temporaries (small backward formulas);
- ``write_into``: the last step writes into a given array (``x.mul_(y)``);
- ``lower_to_ufuncs``, in ``compiler/lowering.py``: a sequence of calls with ``out=``, for tiles (large arrays).

``constants_as_arrays`` replaces numbers next to arrays by 0-d arrays of their dtype, which NumPy need not convert.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterable
from typing import Any

import numpy as np

from nbautograd._engine.arrays import precise
from nbautograd._engine.compiler.expressions import specialized
from nbautograd._engine.compiler.source import rewritten

UFUNCS: dict[type[ast.AST], str] = {
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "true_divide", ast.USub: "negative",
    ast.Lt: "less", ast.LtE: "less_equal", ast.Gt: "greater", ast.GtE: "greater_equal",
}  # fmt: skip
"""The ufunc of an operator."""
ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div)
PROMOTING = ("power", "float_power", "ldexp")
"""Ufuncs that do not compute in their operands' common dtype."""


class UfuncCall:
    """An operator or a call, analyzed as a ufunc of operands.

    :ivar text: the name of the ufunc in generated code: ``np.multiply``, ``precise.exp``.
    :ivar operator: the original operator; None for a call.
    """

    __slots__ = ("operands", "operator", "text", "ufunc")

    def __init__(self, ufunc: Any, text: str, operands: list[ast.expr], operator: type[ast.AST] | None) -> None:
        self.ufunc, self.text, self.operands, self.operator = ufunc, text, operands, operator

    def keeps_dtype(self) -> bool:
        """Return whether floating operands give one floating result, for this number of operands."""
        return self.ufunc.nout == 1 and "f" * len(self.operands) + "->f" in self.ufunc.types


def elementwise(tree: ast.expr) -> Any:
    """Return the elementwise function that an expression names, a ufunc or a precise one; else None.

    >>> elementwise(ast.parse("np.sqrt", mode="eval").body)
    <ufunc 'sqrt'>
    """
    match tree:
        case ast.Attribute(ast.Name("np"), name):
            function = getattr(np, name, None)
            return function if isinstance(function, np.ufunc) else None
        case ast.Attribute(ast.Name("precise"), name):
            return precise.FUNCTIONS.get(name)
        case ast.Attribute(ast.Name("error_function"), name):
            from nbautograd._engine.arrays import error_function  # late: import nbautograd loads little

            return error_function.FUNCTIONS.get(name)
    return None


def ufunc_call(tree: ast.AST) -> UfuncCall | None:
    """Return the outermost step of an expression as a ufunc call; None if it is not one.

    >>> ufunc_call(ast.parse("a * b", mode="eval").body).text
    'np.multiply'
    """
    match tree:
        case ast.BinOp(left, operator, right) if type(operator) in UFUNCS:
            return _of_operator(operator, [left, right])
        case ast.UnaryOp(ast.USub() as operator, operand):
            return _of_operator(operator, [operand])
        case ast.Compare(left, [operator], [right]) if type(operator) in UFUNCS:
            return _of_operator(operator, [left, right])
        case ast.Call(called, operands, []) if (ufunc := elementwise(called)) is not None:
            return UfuncCall(ufunc, ast.unparse(called), operands, None)
    return None


def _of_operator(operator: ast.AST, operands: list[ast.expr]) -> UfuncCall:
    name = UFUNCS[type(operator)]
    return UfuncCall(getattr(np, name), f"np.{name}", operands, type(operator))


# -- target: one call ------------------------------------------------------------------------------------------------

_EAGER_OPERATORS = {
    ast.Add: "operator_add", ast.Sub: "operator_sub", ast.Mult: "operator_mul", ast.Div: "operator_truediv"
}  # fmt: skip
"""Functions for operators of scalars, and of arrays of other libraries."""


def single_call(tree: ast.expr, array: str) -> str | None:
    """Return the arguments of ``quietly`` for an expression of one operator or one ufunc of its operands; else None.

    :param array: an operand: its type, NumPy array or not, decides between ufunc and operator.
    """
    call = ufunc_call(tree)
    if call is None or (call.operator is not None and call.operator not in ARITHMETIC):
        return None
    if call.operator is None and not isinstance(call.ufunc, np.ufunc):
        return None
    if not all(isinstance(part, (ast.Name, ast.Constant)) for part in call.operands):
        return None
    function = call.text
    if call.operator is not None:
        function = f"{call.text} if {array}.__class__ is ndarray else {_EAGER_OPERATORS[call.operator]}"
    return ", ".join([function, *map(ast.unparse, call.operands)])


def is_one_step(tree: ast.expr | None, options: dict[str, Any] | None) -> bool:
    """Return whether an expression is one ufunc of its operands, if options have their defaults.

    >>> is_one_step(ast.parse("a + b if alpha == 1 else a + alpha * b", mode="eval").body, {"alpha": 1})
    True
    """
    if tree is None:
        return False
    call = ufunc_call(specialized(tree, {}, options or {}))
    return call is not None and all(isinstance(part, (ast.Name, ast.Constant)) for part in call.operands)


# -- target: into an array -------------------------------------------------------------------------------------------

_OUT_BY_NAME = ("np.maximum", "np.minimum")
"""Ufuncs that require ``out`` by name; others are faster without."""
_QUIET_FUNCTIONS = ("times",)
"""Functions that silence NumPy's warnings themselves."""


def indented(lines: Iterable[str]) -> list[str]:
    """Indent lines."""
    return [f"    {line}" for line in lines]


def write_into(tree: ast.expr, array: str) -> list[str] | None:
    """Return lines that compute an expression whose last step is a ufunc into ``array``; None for any other."""
    if isinstance(tree, ast.IfExp):
        body, orelse = write_into(tree.body, array), write_into(tree.orelse, array)
        if body is None or orelse is None:
            return None
        return [f"if {ast.unparse(tree.test)}:", *indented(body), "else:", *indented(orelse)]
    call = ufunc_call(tree)
    if call is None or isinstance(tree, ast.Compare):
        return None
    if call.ufunc.nin != len(call.operands) or call.ufunc.nout != 1:
        return None
    out = f"out={array}" if call.text in _OUT_BY_NAME else array
    operands = ", ".join([*map(ast.unparse, call.operands), out])
    if call.text.startswith("np.") and all(map(_is_quiet, call.operands)):
        return [f"try: quietly({call.text}, {operands})", f"except RuntimeError: run_quietly({call.text}, {operands})"]
    return [
        "old_errstate = get_quiet()",
        f"try: set_quiet(SILENT); {call.text}({operands})",
        "finally: set_quiet(old_errstate)",
    ]


def _is_quiet(part: ast.expr) -> bool:
    """Return whether computing an operand cannot cause a NumPy warning."""
    return isinstance(part, (ast.Name, ast.Constant)) or (
        isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id in _QUIET_FUNCTIONS
    )


# -- target: nested calls --------------------------------------------------------------------------------------------


def _is_array(tree: ast.expr, arrays: Container[str]) -> bool:
    """Return whether a part of an elementwise expression is an array, given the names of arrays."""
    match tree:
        case ast.Name(name):
            return name in arrays
        case ast.BinOp(left, _, right):
            return _is_array(left, arrays) or _is_array(right, arrays)
        case ast.UnaryOp(ast.USub(), operand):
            return _is_array(operand, arrays)
        case ast.Call(function, arguments, []) if _computes_in_dtype(function):
            return any(_is_array(argument, arrays) for argument in arguments)
    return False


def operators_as_ufuncs(tree: ast.expr, arrays: Container[str], full: Container[str] = ()) -> ast.expr:
    """Return an elementwise expression with ufuncs for operators between arrays, which NumPy then need not look up.

    The next step overwrites the temporary of the step before, so that fewer arrays are made.

    :param full: the names of arrays that have the shape of the whole expression.

    >>> tree = ast.parse("g * (k0 - result * result)", mode="eval").body
    >>> ast.unparse(operators_as_ufuncs(tree, {"g", "result"}, {"g", "result"})).replace("temporary", "t")
    'np.multiply(g, (t := np.subtract(k0, (t := np.multiply(result, result)), t)), t)'
    """
    return _NestedUfuncs(arrays, full).visit(tree)  # type: ignore[no-any-return]


class _NestedUfuncs(ast.NodeTransformer):
    def __init__(self, arrays: Container[str], full: Container[str]) -> None:
        self.arrays, self.full = arrays, full

    def visit_BinOp(self, node: ast.BinOp | ast.UnaryOp) -> ast.AST:
        return self.lowered(node, _is_array(node, self.arrays))

    visit_UnaryOp = visit_BinOp  # noqa: N815 - ast's names

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        return self.lowered(node, _is_array(node.left, self.arrays), reuse=False)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        return self.reusing_temporary(node) if _computes_in_dtype(node.func) else node

    def lowered(self, node: ast.expr, is_array: bool, reuse: bool = True) -> ast.AST:
        self.generic_visit(node)
        call = ufunc_call(node) if is_array else None
        if call is None or call.operator is None:
            return node
        lowered = ast.Call(ast.Attribute(ast.Name("np"), UFUNCS[call.operator]), list(call.operands), [])
        return self.reusing_temporary(lowered) if reuse else lowered

    def reusing_temporary(self, call: ast.Call) -> ast.Call:
        """Return the step with ``out=`` one of its operands, if that is a temporary.

        One name is enough: if ``temporary`` is rebound before it is written to, the other array is no longer needed.
        """
        for index, part in enumerate(call.args):
            if self.is_temporary(part):
                call.args[index] = ast.NamedExpr(ast.Name("temporary"), part)
                call.args.append(ast.Name("temporary"))
                break
        return call

    def is_temporary(self, part: ast.expr) -> bool:
        """Return whether a subexpression is a temporary: a floating array of the full shape, computed by a step."""
        if isinstance(part, ast.NamedExpr):
            return True
        if not isinstance(part, ast.Call) or not _computes_in_dtype(part.func):
            return False
        ufunc = elementwise(part.func)
        if ufunc.nout != 1 or "f" * ufunc.nin + "->f" not in ufunc.types:
            return False
        return any(self.is_temporary(a) or isinstance(a, ast.Name) and a.id in self.full for a in part.args)


def _computes_in_dtype(tree: ast.expr) -> bool:
    """Return whether an expression names an elementwise function that computes in its operands' dtype."""
    function = elementwise(tree)
    return function is not None and function.__name__ not in PROMOTING


# -- numbers as arrays -----------------------------------------------------------------------------------------------


class Constants(dict[Any, Any]):
    """One number as a 0-d array by dtype: for float32 and float64; for other dtypes the number itself."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __missing__(self, dtype: np.dtype[Any]) -> Any:
        constant: Any = self.value
        if dtype.char in "fd":
            constant = np.array(self.value, dtype)
            constant.flags.writeable = False
        self[dtype] = constant
        return constant


class _ByText(dict[str, Constants]):
    """Constants by the text of the number, which distinguishes 1 from 1.0 and 0.0 from -0.0."""

    def __missing__(self, text: str) -> Constants:
        constants = self[text] = Constants(ast.literal_eval(text))
        return constants


CONSTANTS = _ByText()


def constant(name: str, value: float, array: str) -> str:
    """Return the line that loads a number, as an array if ``array`` is one.

    >>> constant("constant0", 1, "g")
    "constant0 = CONSTANTS['1'][g.dtype] if g.__class__ is ndarray else 1"
    """
    return f"{name} = CONSTANTS[{repr(value)!r}][{array}.dtype] if {array}.__class__ is ndarray else {value!r}"


def constants_as_arrays(tree: ast.expr, arrays: Container[str], names: dict[str, float]) -> ast.expr:
    """Return an elementwise expression with names for the numbers next to arrays; the names are added to ``names``.

    :param arrays: the names that are certainly arrays, all of one dtype.

    >>> numbers = {}
    >>> tree = ast.parse("g * (1 - result * result)", mode="eval").body
    >>> ast.unparse(constants_as_arrays(tree, {"g", "result"}, numbers)), numbers
    ('g * (constant0 - result * result)', {'constant0': 1})
    """

    def name_of(part: ast.expr) -> ast.expr:
        """Return the name that replaces a number; anything else unchanged."""
        if not isinstance(part, ast.Constant) or part.value.__class__ not in (int, float):
            return part
        known = next((name for name, value in names.items() if value == part.value), f"constant{len(names)}")
        names.setdefault(known, part.value)
        return ast.Name(known)

    def change(part: Any) -> Any:
        match part:
            case ast.BinOp(left, ast.Add() | ast.Sub() | ast.Mult() | ast.Div(), right):
                if _is_array(left, arrays):
                    part.right = name_of(right)
                elif _is_array(right, arrays):
                    part.left = name_of(left)
            case ast.Compare(left, [_], [right]) if _is_array(left, arrays):
                part.comparators = [name_of(right)]
            case ast.Call(function, operands) if _computes_in_dtype(function):
                if any(_is_array(operand, arrays) for operand in operands):
                    part.args = [*map(name_of, operands)]
        return part

    return rewritten(tree, change)  # type: ignore[no-any-return]
