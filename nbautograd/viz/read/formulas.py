r"""The formula of a gradient, as text in a node's class, turned into marks that a page or a text can show.

Formulas are Python expressions over ``g`` (the gradient of the result), the inputs' names and ``result``. They are read
with :mod:`ast` and never given to Python to run. What comes out is plain JSON, a list of marks:

``["i", name]`` an identifier, ``["n", number]``, ``["o", operator]``, ``["d", y, x]`` the derivative ∂y/∂x,
``["f", above, below]`` a fraction, ``["s", base, exponent]`` a power (of lists of marks), and ``["b", symbol, below]``
a symbol with a subscript, such as a sum and what it runs over.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from nbautograd.viz.escape import line_of, one_line

__all__ = [
    "COUNT", "MAX_CHARACTERS", "Mark", "bracketed", "is_readable", "latex", "marks", "plain", "summed",
    "symbol_of", "unbracketed", "value",
]  # fmt: skip

Mark = list[Any]
Names = Mapping[str, list[Mark]]
Write = Callable[[list[ast.expr], Names, int], list[Mark]]
MAX_CHARACTERS = 2000  # of a formula

SYMBOLS = {
    "add": "+", "sub": "−", "rsub": "−", "mul": "×", "div": "÷", "neg": "−", "pow": "xⁿ", "exp": "exp", "log": "ln",
    "sqrt": "√", "sum": "Σ", "mean": "mean", "prod": "Π", "mm": "@", "bmm": "@", "mv": "@", "dot": "@", "matmul": "@",
    "addmm": "x @ w + b", "t": "xᵀ", "transpose": "xᵀ", "permute": "xᵀ", "relu": "relu", "tanh": "tanh",
    "sigmoid": "σ", "abs": "|·|", "sin": "sin", "cos": "cos", "max": "max", "min": "min", "norm": "‖·‖",
    "linalgvectornorm": "‖·‖", "view": "view", "reshape": "reshape", "clone": "clone", "select": "select",
    "slice": "[:]", "index": "[…]", "cat": "cat", "stack": "stack", "logsoftmax": "log softmax", "softmax": "softmax",
    "nllloss": "nll", "mseloss": "mse", "accumulategrad": "+=",
}  # fmt: skip
"""The symbol of an operation of another library, by its lower-case name without ``Backward0``."""

COUNT = "count()"
"""The name under which a formula's number of elements, ``n`` of a mean, is known."""
_BINARY: dict[type[ast.operator], tuple[str, int]] = {
    ast.Add: ("+", 1), ast.Sub: ("−", 1), ast.Mult: ("·", 2), ast.MatMult: ("@", 2), ast.Div: ("/", 2),
    ast.FloorDiv: ("//", 2), ast.Mod: ("mod", 2), ast.Pow: ("^", 4),
}  # fmt: skip
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Gt: ">", ast.GtE: "≥", ast.Lt: "<", ast.LtE: "≤", ast.Eq: "=", ast.NotEq: "≠"
}  # fmt: skip
_SILENT = {"conj", "spread", "sum_to", "cast_back"}  # shown as their first argument
_NOTATION = {"ratio", "times", "mm_like", "outer_product", "zeros_of", "count", "each", "is_nonnegative", *_SILENT}
"""Functions of the backward pass alone that have a notation."""
_CALLABLE = (
    "abs adaptive_avg_pool2d avg_pool2d bmm channel_shuffle convolution cos cosh diagonal digamma exp exp2 expand flip "
    "floor gather i0 imag index_select inverse isfinite isnan lgamma log log1p logical_and logical_or masked_fill "
    "masked_select matmul mm mv permute pixel_shuffle pixel_unshuffle put real roll rot90 rsqrt select sgn sigmoid sin "
    "sinh sum t take tanh transpose tril triu trunc unfold unsqueeze view_as_real where"
)
_PUBLIC = frozenset(_CALLABLE.split())
"""And the names that users may call as well."""
_CONSTANTS = {
    "PI": "π", "LOG_2": "ln 2", "LOG_10": "ln 10", "TWO_OVER_SQRT_PI": "2/√π", "INVERSE_SQRT_2PI": "1/√(2π)",
    "HALF_SQRT_PI": "√π/2", "SQRT_2PI": "√(2π)", "SQRT_2_OVER_PI": "√(2/π)", "SQRT_HALF": "√½", "NAN": "nan",
    "FLIPPED": "norm",
}  # fmt: skip
_WRITTEN = {
    "softmax_back(g, result, dim)": "result * (g - sum(g * result))",
    "log_softmax_back(g, result, dim)": "g - exp(result) * sum(g)",
}
"""Formulas that are written in another way than they are computed."""
_TRANSPOSED = {"mT": "ᵀ", "T": "ᵀ", "mH": "ᵀ", "H": "ᵀ"}


def symbol_of(name: str) -> str:
    """The symbol for a node's name.

    >>> symbol_of("MulBackward0"), symbol_of("CumSumBackward0"), symbol_of("FancyBackward")
    ('×', 'cum_sum', 'Fancy')
    """
    operation = base(name)
    if name.endswith("Backward"):  # the user's own, by the name of its class
        return operation
    return SYMBOLS.get(operation.lower(), re.sub("(?<=[a-z])(?=[A-Z])", "_", operation).lower())


@lru_cache(1000)
def base(name: str) -> str:
    """``Mul`` of ``MulBackward0``."""
    return name.rpartition("Backward")[0] or name


_EXTRA = "^(Native|Unsafe)(?=[A-Z])|WithIndices$|(?<=y)Ex$|(?<=Reshape)Alias$|Flash(?=Attention)|(?<=Attention)ForCpu$"


@lru_cache(1000)
def called(name: str) -> str:
    """Return the public name of a node's operation; of a user's own the name of its class.

    >>> called("MaskedFillBackward0"), called("NativeLayerNormBackward0"), called("MaxPool2DWithIndicesBackward0")
    ('masked_fill', 'layer_norm', 'max_pool2d')
    >>> called("MyReLUBackward")
    'MyReLU'
    """
    if name.endswith("Backward"):
        return base(name)
    own = re.sub("(?<=[123])D", "d", re.sub(_EXTRA, "", base(name)))
    return re.sub("(?<=[a-z0-9])(?=[A-Z])", "_", own).lower()


def marks(source: str, names: Names) -> list[Mark]:
    """The marks of a formula, with ``names`` put in for its operands; the text itself if it cannot be read.

    >>> plain(marks("g * conj(other)", {"g": [["d", "y", "a"]], "other": [["i", "b"]]}))
    '∂y/∂a · b'
    """
    key = source, repr(names)
    if key not in _known:
        if len(_known) > 2000:
            _known.clear()
        try:
            tree = ast.parse(_WRITTEN.get(source.strip(), source).strip()[:MAX_CHARACTERS], mode="eval").body
            _known[key] = _marks(tree, names, 0)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            _known[key] = [["i", one_line(source)]]
    return _known[key]


_known: dict[tuple[str, str], list[Mark]] = {}  # a graph is drawn, then its pass is played


@lru_cache(2000)
def bracketed(name: str) -> str:
    """A name as it stands in a formula: in brackets where it is an expression with an operator.

    >>> bracketed("x"), bracketed("net.fc1(x + 1)"), bracketed("x > 0"), bracketed("-x"), bracketed("1e-05")
    ('x', 'net.fc1(x + 1)', '(x > 0)', '(-x)', '1e-05')
    """
    depth = 0
    for sign in name if _number([["n", name]]) is None else "":
        depth += (sign in "([{") - (sign in ")]}")
        if not depth and sign in "+-*/@<>=!&|^%~∂ ":
            return f"({name})"
    return name


@lru_cache(2000)
def is_readable(source: str) -> bool:
    """Return whether a formula of ours contains only functions that have a notation or that a user may call.

    >>> is_readable("g * cos(input)"), is_readable("gather_back(g, input.shape, dim, index)")
    (True, False)
    """
    try:
        tree = ast.parse(_WRITTEN.get(source.strip(), source).strip()[:MAX_CHARACTERS], mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    called = {part.func.id for part in ast.walk(tree) if isinstance(part, ast.Call) and isinstance(part.func, ast.Name)}
    return all(name in _NOTATION or name in _PUBLIC or name.startswith("along_") for name in called)


def plain(written: list[Mark]) -> str:
    """Marks as one line of text."""
    parts = []
    for mark in written:
        kind = mark[0]
        if kind == "d":
            parts.append(f"∂{bracketed(mark[1])}/∂{bracketed(mark[2])}")
        elif kind == "f":
            parts.append(f"{_grouped(mark[1])} / {_grouped(mark[2])}")
        elif kind == "s":
            exponent = plain(mark[2])
            parts.append(f"{_grouped(mark[1])}^{exponent if len(mark[2]) == 1 else f'({exponent})'}")
        elif kind == "b":
            parts.append(f"{mark[1]}[{mark[2]}] ")
        elif kind == "o" and mark[1] not in "()[]":
            before, after = "" if mark[1] in ",ᵀ-" else " ", "" if mark[1] in "ᵀ-" else " "
            parts.append(f"{before}{mark[1]}{after}")
        else:
            parts.append(str(mark[1]))
    return "".join(parts)


_LATEX = {
    "·": r"\cdot", "−": "-", "mod": r"\bmod", "≥": r"\ge", "≤": r"\le", "≠": r"\ne", "¬": r"\neg", "@": r"\,",
    "ᵀ": r"^{\top}", "in": r"\in", "and": r"\wedge", "if": r"\text{ if }", "else": r"\text{ else }",
    "(": r"\left(", ")": r"\right)", "Σ": r"\sum", "⊗": r"\otimes",
}  # fmt: skip
_LATEX_NAMES = {"exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "max", "min"}
_LATEX_ESCAPES = str.maketrans(
    {c: "\\" + c for c in "_#$%&{} "} | {"\\": r"\backslash ", "^": r"\hat{}", "~": r"\sim "}
)


def latex(written: list[Mark]) -> str:
    r"""Marks as LaTeX, for mathematics mode.

    >>> print(latex(marks("g * conj(other) / input ** 2", {"g": [["d", "y", "a"]]})))
    \frac{\frac{\partial y}{\partial a} \cdot \mathit{other}}{\mathit{input}^{2}}
    """
    parts = []
    for mark in written:
        kind = mark[0]
        if kind == "d":
            above, below = (_latex_name(bracketed(name)) for name in mark[1:])
            parts.append(rf"\frac{{\partial {above}}}{{\partial {below}}}")
        elif kind == "f":
            parts.append(rf"\frac{{{latex(mark[1])}}}{{{latex(mark[2])}}}")
        elif kind == "s":
            base = latex(mark[1])
            parts.append(f"{base if len(mark[1]) == 1 else rf'{{({base})}}'}^{{{latex(mark[2])}}}")
        elif kind == "b":
            parts.append(rf"{_LATEX.get(mark[1], mark[1])}_{{\mathrm{{{mark[2]}}}}}")
        elif kind == "o":
            parts.append(_LATEX.get(mark[1], str(mark[1])))
        else:
            parts.append(_latex_name(str(mark[1])) if kind == "i" else str(mark[1]))
    return " ".join(parts).replace(" ^", "^")


_LATEX_CONSTANTS = {
    "π": r"\pi", "ln 2": r"\ln 2", "ln 10": r"\ln 10", "2/√π": r"\frac{2}{\sqrt{\pi}}",
    "1/√(2π)": r"\frac{1}{\sqrt{2 \pi}}", "√π/2": r"\frac{\sqrt{\pi}}{2}", "√(2π)": r"\sqrt{2 \pi}",
    "√(2/π)": r"\sqrt{\frac{2}{\pi}}", "√½": r"\sqrt{\frac{1}{2}}",
}  # fmt: skip


def _latex_name(name: str) -> str:
    if name in _LATEX_CONSTANTS:
        return _LATEX_CONSTANTS[name]
    if name in _LATEX_NAMES:
        return "\\" + name
    escaped = name.translate(_LATEX_ESCAPES)
    return escaped if len(name) == 1 else rf"\mathit{{{escaped}}}"


_FUNCTIONS: dict[str, Callable[..., float]] = {
    "conj": lambda x: x, "times": lambda a, b: a * b, "ratio": lambda a, b: a / b, "zeros_of": lambda x: 0.0,
    "where": lambda c, a, b: a if c else b, "exp": math.exp, "log": math.log, "sqrt": math.sqrt, "sin": math.sin,
    "cos": math.cos, "tanh": math.tanh, "abs": abs,
}  # fmt: skip
_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Pow: math.pow, ast.USub: operator.neg, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Lt: operator.lt,
    ast.LtE: operator.le, ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip


def value(source: str, numbers: Mapping[str, float]) -> float | None:
    """Return the value of a formula of single numbers, so that no wrong equation is shown; None if unknown.

    >>> value("g * conj(other)", {"g": 2.0, "other": 3.0})
    6.0
    """
    try:
        return float(_value(ast.parse(source.strip(), mode="eval").body, numbers))
    except (SyntaxError, ArithmeticError, ValueError, LookupError, TypeError, RecursionError, MemoryError):
        return None


def _value(tree: ast.expr, numbers: Mapping[str, float]) -> float:
    if isinstance(tree, ast.Name):
        return numbers[tree.id]
    if isinstance(tree, ast.Constant) and isinstance(tree.value, (int, float)):
        return tree.value
    if isinstance(tree, ast.UnaryOp):
        return float(_OPERATORS[type(tree.op)](_value(tree.operand, numbers)))
    if isinstance(tree, ast.BinOp):
        return float(_OPERATORS[type(tree.op)](_value(tree.left, numbers), _value(tree.right, numbers)))
    if isinstance(tree, ast.Compare) and len(tree.ops) == 1:
        return float(_OPERATORS[type(tree.ops[0])](_value(tree.left, numbers), _value(tree.comparators[0], numbers)))
    if isinstance(tree, ast.IfExp):
        return _value(tree.body if _value(tree.test, numbers) else tree.orelse, numbers)
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and not tree.keywords:
        return _FUNCTIONS[tree.func.id](*(_value(argument, numbers) for argument in tree.args))
    raise LookupError(ast.unparse(tree))


def summed(written: list[Mark], dims: str) -> list[Mark]:
    """The sum of a formula over dimensions, which undoes broadcasting.

    >>> plain(summed([["d", "y", "t1"]], "dim 0"))
    'Σ[dim 0] ∂y/∂t1'
    """
    loose = any(mark[0] == "o" and mark[1] in "+−" for mark in written)
    return [["b", "Σ", dims], *(_bracketed(written) if loose else written)]


def _grouped(written: list[Mark]) -> str:
    shown = plain(written)
    loose = any(m[0] == "o" and m[1] in "+−·/" for m in written)
    return f"({shown})" if loose and not shown.startswith("(") else shown


def _marks(tree: ast.expr, names: Names, outer: int) -> list[Mark]:
    if isinstance(tree, ast.Name):
        if tree.id not in names:
            return [["i", one_line(_CONSTANTS.get(tree.id, tree.id), 60)]]
        known = names[tree.id]
        return _bracketed(known) if outer and known[0][0] == "i" and bracketed(known[0][1]) != known[0][1] else known
    if isinstance(tree, ast.Constant):
        return [["n", f"{tree.value:g}" if isinstance(tree.value, float) else line_of(tree.value, 60)]]
    if isinstance(tree, ast.UnaryOp):
        sign = {ast.USub: "-", ast.Invert: "¬", ast.Not: "¬"}.get(type(tree.op), "+")
        return [["o", sign], *_marks(tree.operand, names, 3)]
    if isinstance(tree, ast.BinOp):
        return _binary(tree, names, outer)
    if isinstance(tree, ast.IfExp):
        return _choice(tree, names, outer)
    if isinstance(tree, ast.Subscript):
        return [*_marks(tree.value, names, 5), ["o", "["], *_marks(tree.slice, names, 0), ["o", "]"]]
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
        return [*_marks(tree.value, names, 5), ["i", f".{one_line(tree.attr, 60)}"]]
    return [["i", one_line(ast.unparse(tree))]]


def _binary(tree: ast.BinOp, names: Names, outer: int) -> list[Mark]:
    sign, level = _BINARY.get(type(tree.op), ("?", 1))
    if isinstance(tree.op, ast.Div):
        return [["f", _marks(tree.left, names, 0), _marks(tree.right, names, 0)]]
    if isinstance(tree.op, ast.Pow):
        return _power(_marks(tree.left, names, level), _marks(tree.right, names, 0))
    left, right = _marks(tree.left, names, level), _marks(tree.right, names, level + (sign == "−"))
    a, b = _whole(left), _whole(right)
    if a is not None and b is not None and sign in "+−":
        return [["n", str(a + b if sign == "+" else a - b)]]
    if sign == "·":
        return _product(left, right, outer)
    written = [*left, ["o", sign], *right]
    return _bracketed(written) if level < outer else written


def _product(left: list[Mark], right: list[Mark], outer: int) -> list[Mark]:
    """A product, without factors 1; of the same twice a square."""
    if left == right and len(left) == 1 and left[0][0] == "i":
        return _power(left, [["n", "2"]])
    factors = [f for f in (left, right) if f not in ([["n", "1"]], [["i", "1"]])] or [left]
    if len(factors) == 1:
        return factors[0]
    written = [*left, ["o", "·"], *right]
    return _bracketed(written) if outer > 2 else written


def _power(base: list[Mark], exponent: list[Mark]) -> list[Mark]:
    return base if exponent == [["n", "1"]] else [["s", base, exponent]]


def _number(written: list[Mark]) -> float | None:
    """Return the value of the marks if they are a number."""
    try:
        return float(written[0][1]) if len(written) == 1 and written[0][0] in "ni" else None
    except ValueError:
        return None


def _whole(written: list[Mark]) -> int | None:
    """The integer that the marks are. Numbers with a point are values, whose arithmetic is to be seen."""
    return int(written[0][1]) if _number(written) is not None and written[0][1].lstrip("-").isdigit() else None


def _choice(tree: ast.IfExp, names: Names, outer: int) -> list[Mark]:
    """``a if condition else b``: the one that holds, where that is plain; a 0 for a corner case is not shown."""
    test, holds = tree.test, None
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.comparators[0], ast.Constant):
        value, wanted = _marks(test.left, names, 0), test.comparators[0].value
        if isinstance(test.ops[0], (ast.Eq, ast.NotEq)) and len(value) == 1 and value[0][1] != ast.unparse(test.left):
            same = value[0][1].strip("'") == wanted if isinstance(wanted, str) else _number(value) == wanted
            holds = same == isinstance(test.ops[0], ast.Eq)
    if holds is not None:
        return _marks(tree.body if holds else tree.orelse, names, outer)
    if _is_zero(tree.orelse):
        return _marks(tree.body, names, outer)
    body, condition, otherwise = (_marks(part, names, 0) for part in (tree.body, test, tree.orelse))
    return _bracketed([*body, ["o", "if"], *condition, ["o", "else"], *otherwise])


def _is_zero(tree: ast.expr) -> bool:
    return isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == "zeros_of"


def _call(tree: ast.Call, names: Names, outer: int) -> list[Mark]:
    function, operands = tree.func, tree.args
    name = function.id if isinstance(function, ast.Name) else ""
    if (name in _SILENT or name.startswith("along_")) and operands:
        return _marks(operands[0], names, outer)
    if isinstance(function, ast.Attribute) and function.attr == "conjugate":
        return _marks(function.value, names, outer)
    if name == "count":
        return names.get(COUNT, [["i", "n"]])
    if name == "zeros_of":
        return [["n", "0"]]
    write = _WRITE.get((name, len(operands)))
    if write is not None:
        return write(operands, names, outer)
    arguments = _listed([*operands, *[keyword.value for keyword in tree.keywords]], names)
    return [*([["i", one_line(name, 60)]] if name else _marks(function, names, 5)), *_bracketed(arguments)]


def _listed(operands: list[ast.expr], names: Names) -> list[Mark]:
    """Several formulas with commas between them."""
    written: list[Mark] = []
    for operand in operands:
        written += [["o", ","], *_marks(operand, names, 0)] if written else _marks(operand, names, 0)
    return written


def _of_mean(operands: list[ast.expr], names: Names, outer: int) -> list[Mark]:
    """The gradient of each element of a loss: the mean divides by the number of elements."""
    upstream, reduction = _marks(operands[0], names, 0), plain(_marks(operands[2], names, 0)).strip("'")
    return [["f", upstream, names.get(COUNT, [["i", "n"]])]] if reduction in ("mean", "1") else upstream


def _bracket_of_iverson(operands: list[ast.expr], names: Names, outer: int) -> list[Mark]:
    """``where(condition, value, 0)``: a factor that is 1 if the condition is true, else 0; any other as a call."""
    condition, chosen, other = operands
    if _is_zero(chosen) and (opposite := _opposite(condition)) is not None:
        condition, chosen, other = opposite, other, chosen
    if not _is_zero(other):
        return [["i", "where"], *_bracketed(_listed(operands, names))]
    held = [["o", "["], *_marks(condition, names, 0), ["o", "]"]]
    value = _marks(chosen, names, 2)
    written = held if value == [["n", "1"]] else [*value, ["o", "·"], *held]
    return _bracketed(written) if outer > 2 else written


def _infix(sign: str, left: int, right: int, weak: bool = False) -> Write:
    def write(operands: list[ast.expr], names: Names, outer: int) -> list[Mark]:
        written = [*_marks(operands[0], names, left), ["o", sign], *_marks(operands[1], names, right)]
        return _bracketed(written) if weak and outer > 2 else written

    return write


_WRITE: dict[tuple[str, int], Write] = {
    ("each", 3): _of_mean,
    ("where", 3): _bracket_of_iverson,
    ("times", 2): lambda a, names, outer: _product(_marks(a[0], names, 2), _marks(a[1], names, 2), outer),
    ("ratio", 2): lambda a, names, outer: [["f", _marks(a[0], names, 0), _marks(a[1], names, 0)]],
    **{key: _infix("@", 2, 3, weak=True) for key in (("mm", 2), ("mm_like", 3), ("mv", 2), ("bmm", 2), ("matmul", 2))},
    ("outer_product", 2): _infix("⊗", 3, 3),
    ("logical_and", 2): _infix("and", 0, 0),
    ("is_nonnegative", 1): lambda a, names, outer: [*_marks(a[0], names, 3), ["o", "≥"], ["n", "0"]],
    **{key: lambda a, names, outer: [*_marks(a[0], names, 5), ["o", "ᵀ"]]
       for key in (("t", 1), ("transpose", 1), ("transpose", 3))},
}  # fmt: skip
"""The notations of functions of so many arguments that are not written as calls."""


_OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
}  # fmt: skip


def _opposite(condition: ast.expr) -> ast.expr | None:
    """Return the negation of a comparison of numbers; None for any other condition."""
    if isinstance(condition, ast.Compare) and len(condition.ops) == 1 and type(condition.ops[0]) in _OPPOSITES:
        return ast.Compare(condition.left, [_OPPOSITES[type(condition.ops[0])]()], condition.comparators)
    return None


def unbracketed(written: list[Mark]) -> list[Mark]:
    """Without outer brackets.

    >>> plain(unbracketed([["o", "("], ["n", "1"], ["o", "−"], ["i", "x"], ["o", ")"]]))
    '1 − x'
    """
    depth = 0
    for i, mark in enumerate(written):
        depth += {"(": 1, ")": -1}.get(mark[1], 0) if mark[0] == "o" else 0
        if not depth:
            return written[1:-1] if i == len(written) - 1 and i else written
    return written


def _bracketed(written: list[Mark]) -> list[Mark]:
    return [["o", "("], *written, ["o", ")"]]
