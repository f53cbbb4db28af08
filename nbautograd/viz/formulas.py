r"""The formula of a gradient, as text in a node's class, turned into marks that a page or a text can show.

Formulas are Python expressions over ``g`` (the gradient of the result), the inputs' names and ``result``. They are read
with :mod:`ast` and never run. What comes out is plain JSON, a list of marks:

``["i", name]`` an identifier, ``["n", number]``, ``["o", operator]``, ``["d", y, x]`` the derivative ∂y/∂x,
``["f", above, below]`` a fraction and ``["s", base, exponent]`` a power (of lists of marks).
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from nbautograd.viz.escape import one_line

__all__ = ["FORMULAS", "SYMBOLS", "Mark", "marks", "plain", "symbol_of"]

Mark = list[Any]

SYMBOLS = {
    "add": "+", "sub": "−", "rsub": "−", "mul": "×", "div": "÷", "neg": "−", "pow": "xⁿ", "exp": "exp", "log": "log",
    "sqrt": "√", "sum": "Σ", "mean": "mean", "prod": "Π", "mm": "@", "bmm": "@", "mv": "@", "dot": "@", "matmul": "@",
    "addmm": "@ +", "t": "ᵀ", "transpose": "ᵀ", "relu": "relu", "tanh": "tanh", "sigmoid": "σ", "abs": "|·|",
    "sin": "sin", "cos": "cos", "max": "max", "min": "min", "norm": "‖·‖", "linalgvectornorm": "‖·‖",
    "view": "view", "reshape": "reshape", "clone": "clone", "select": "[i]", "slice": "[:]", "index": "[…]",
    "cat": "cat", "stack": "stack", "logsoftmax": "log softmax", "softmax": "softmax", "nllloss": "nll",
    "mseloss": "mse", "accumulategrad": "+=",
}  # fmt: skip
"""What is drawn in an operation of another library, by its lower-case name without ``Backward0``."""

FORMULAS: dict[str, dict[int, str]] = {
    "add": {0: "g", 1: "g"},
    "sub": {0: "g", 1: "-g"},
    "mul": {0: "g * other", 1: "g * input"},
    "div": {0: "g / other", 1: "-g * input / other ** 2"},
    "neg": {0: "-g"},
    "pow": {0: "g * exponent * input ** (exponent - 1)"},
    "exp": {0: "g * result"},
    "log": {0: "g / input"},
    "sqrt": {0: "g / (2 * result)"},
    "tanh": {0: "g * (1 - result ** 2)"},
    "sigmoid": {0: "g * result * (1 - result)"},
    "relu": {0: "g * (result > 0)"},
    "sin": {0: "g * cos(input)"},
    "cos": {0: "-g * sin(input)"},
    "sum": {0: "spread(g, 0)"},
    "mean": {0: "spread(g / count(0), 0)"},
    "mm": {0: "g @ other.mH", 1: "input.mH @ g"},
    "addmm": {0: "g", 1: "g @ other.mH", 2: "input.mH @ g"},
    "t": {0: "g.mT"},
    "transpose": {0: "g.mT"},
    "view": {0: "g.reshape(input.shape)"},
}
"""Formulas of the most usual operations of a library whose nodes carry none."""

_BINARY: dict[type[ast.operator], tuple[str, int]] = {
    ast.Add: ("+", 1), ast.Sub: ("−", 1), ast.Mult: ("·", 2), ast.MatMult: ("@", 2), ast.Div: ("/", 2),
    ast.FloorDiv: ("//", 2), ast.Mod: ("mod", 2), ast.Pow: ("^", 4),
}  # fmt: skip
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Gt: ">", ast.GtE: "≥", ast.Lt: "<", ast.LtE: "≤", ast.Eq: "=", ast.NotEq: "≠"
}  # fmt: skip
_SILENT = {"conj", "spread", "sum_to"}  # shown as their first argument
_PRODUCT = {"times"}
_TRANSPOSED = {"mT": "ᵀ", "T": "ᵀ", "mH": "ᵀ", "H": "ᵀ"}


def symbol_of(name: str) -> str:
    """The symbol for a node's name.

    >>> symbol_of("MulBackward0"), symbol_of("FancyBackward")
    ('×', 'Fancy')
    """
    operation = base(name)
    return SYMBOLS.get(operation.lower(), operation)


def base(name: str) -> str:
    """``Mul`` of ``MulBackward0``."""
    return name.rpartition("Backward")[0] or name


def marks(source: str, names: Mapping[str, list[Mark]]) -> list[Mark]:
    """The marks of a formula, with ``names`` put in for what it names; the text itself if it cannot be read.

    >>> plain(marks("g * conj(other)", {"g": [["d", "y", "a"]], "other": [["i", "b"]]}))
    '∂y/∂a · b'
    """
    try:
        tree = ast.parse(source.strip(), mode="eval").body
        return _marks(tree, names, 0)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return [["i", one_line(source)]]


def plain(written: list[Mark]) -> str:
    """Marks as one line of text."""
    parts = []
    for mark in written:
        kind = mark[0]
        if kind == "d":
            parts.append(f"∂{mark[1]}/∂{mark[2]}")
        elif kind == "f":
            parts.append(f"{_grouped(mark[1])} / {_grouped(mark[2])}")
        elif kind == "s":
            exponent = plain(mark[2])
            parts.append(f"{_grouped(mark[1])}^{exponent if len(mark[2]) == 1 else f'({exponent})'}")
        elif kind == "o" and mark[1] not in "()":
            parts.append(f"{mark[1]} " if mark[1] == "," else mark[1] if mark[1].startswith(("ᵀ", "-")) else f" {mark[1]} ")
        else:
            parts.append(str(mark[1]))
    return "".join(parts)


def _grouped(written: list[Mark]) -> str:
    shown = plain(written)
    loose = any(m[0] == "o" and m[1] in "+−·/" for m in written)
    return f"({shown})" if loose and not shown.startswith("(") else shown


def _marks(tree: ast.expr, names: Mapping[str, list[Mark]], outer: int) -> list[Mark]:
    if isinstance(tree, ast.Name):
        return names.get(tree.id, [["i", tree.id]])
    if isinstance(tree, ast.Constant):
        return [["n", f"{tree.value:g}" if isinstance(tree.value, float) else str(tree.value)]]
    if isinstance(tree, ast.UnaryOp):
        sign = {ast.USub: "-", ast.Invert: "¬", ast.Not: "¬"}.get(type(tree.op), "+")
        return [["o", sign], *_marks(tree.operand, names, 3)]
    if isinstance(tree, ast.BinOp):
        return _binary(tree, names, outer)
    if isinstance(tree, ast.Compare):
        written = _marks(tree.left, names, 0)
        for op, right in zip(tree.ops, tree.comparators, strict=True):
            written = [*written, ["o", _COMPARE.get(type(op), "in")], *_marks(right, names, 0)]
        return _bracketed(written) if outer else written
    if isinstance(tree, ast.Call):
        return _call(tree, names, outer)
    if isinstance(tree, ast.Attribute):
        if tree.attr in _TRANSPOSED:
            return [*_marks(tree.value, names, 5), ["o", "ᵀ"]]
        return [*_marks(tree.value, names, 5), ["i", f".{tree.attr}"]]
    return [["i", one_line(ast.unparse(tree))]]


def _binary(tree: ast.BinOp, names: Mapping[str, list[Mark]], outer: int) -> list[Mark]:
    sign, level = _BINARY.get(type(tree.op), ("?", 1))
    if isinstance(tree.op, ast.Div):
        return [["f", _marks(tree.left, names, 0), _marks(tree.right, names, 0)]]
    if isinstance(tree.op, ast.Pow):
        return [["s", _marks(tree.left, names, level), _marks(tree.right, names, 0)]]
    written = [*_marks(tree.left, names, level), ["o", sign], *_marks(tree.right, names, level + (sign == "−"))]
    return _bracketed(written) if level < outer else written


def _call(tree: ast.Call, names: Mapping[str, list[Mark]], outer: int) -> list[Mark]:
    function = tree.func
    if isinstance(function, ast.Name) and function.id in _SILENT and tree.args:
        return _marks(tree.args[0], names, outer)
    if isinstance(function, ast.Name) and function.id in _PRODUCT and len(tree.args) == 2:
        return _product(*tree.args, names=names, outer=outer)
    if isinstance(function, ast.Name) and function.id == "count":
        return [["i", "n"]]
    written: list[Mark] = []
    for argument in (*tree.args, *(keyword.value for keyword in tree.keywords)):
        written += [["o", ","], *_marks(argument, names, 0)] if written else _marks(argument, names, 0)
    name = [["i", function.id]] if isinstance(function, ast.Name) else _marks(function, names, 5)
    return [*name, *_bracketed(written)]


def _product(left: ast.expr, right: ast.expr, *, names: Mapping[str, list[Mark]], outer: int) -> list[Mark]:
    """A product of which a factor 1 is not shown."""
    factors = [_marks(part, names, 2) for part in (left, right)]
    factors = [f for f in factors if f not in ([["n", "1"]], [["i", "1"]])] or factors[:1]
    written = factors[0] if len(factors) == 1 else [*factors[0], ["o", "·"], *factors[1]]
    return _bracketed(written) if outer > 2 and len(factors) > 1 else written


def _bracketed(written: list[Mark]) -> list[Mark]:
    return [["o", "("], *written, ["o", ")"]]
