"""Find the way in which ``g`` enters a gradient's formula; it gives the structure of the operation's Jacobian.

A formula is a vector-Jacobian product as a Python expression of ``g``, the gradient of the result:

- *diagonal*: each element of ``g`` meets one number (``g * other``, ``spread(g / n, input.shape)``), so the local
  derivative is a tensor: the formula with 1 for ``g``;
- *matrix*: ``g`` is multiplied by a matrix from one side (``mm(g, t(mat2))``, ``mv(t(input), g)``);
- *outer*: each element of ``g`` meets each of a vector (``outer_product(g, vec)``);
- *move*: elements only went to places of the result (``g.reshape(input.shape)``, ``select_back(g, ...)``), so each
  derivative is 1 where one went and 0 elsewhere;
- *other*: each element sent depends on several (softmax, convolution).
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from nbautograd.viz.read import formulas

__all__ = [
    "DIAGONAL",
    "MATRIX",
    "MOVE",
    "OTHER",
    "OUTER",
    "diagonal_parts",
    "entry_of",
    "factor_marks",
    "matrix_parts",
    "only_permutes",
    "sums_over",
]

DIAGONAL, MATRIX, OUTER, MOVE, OTHER = "diagonal", "matrix", "outer", "move", "other"

_ELEMENTWISE = {"conj", "cast_back", "spread", "each", "zeros_of", "sum_to"}  # of g, for any other arguments
_PRODUCTS = {"mm", "mm_like", "bmm"}
_OUTER = "outer_product"
_PERMUTES = {
    "t", "transpose", "permute", "unsqueeze", "squeeze", "movedim", "flip", "roll", "rot90", "view_as_real", "cut",
    "unstacked", "pixel_shuffle", "pixel_unshuffle", "channel_shuffle", "conj",
}  # fmt: skip
"""Functions of ``g`` of which each element is one of ``g``, and no two the same."""
_MOVES = _PERMUTES | {
    "select_back", "slice_back", "diagonal_back", "rejoin", "restack", "index_back", "index_select_back", "gather_back",
    "sparse_gather_back", "pad_like", "crop_like", "take_back", "pool_scatter", "maxima_scatter", "constant_pad",
    "pad_back", "masked_back", "masked_fill", "index_fill", "zero_along", "zero_at", "put", "select", "slice_",
    "diagonal", "index", "index_select", "gather", "take", "pool_gather", "maxima_gather", "masked_select", "first_of",
    "select_scatter", "slice_scatter", "diagonal_scatter", "strided_scatter", "strided_gather", "as_strided_back",
    "tril", "triu", "shifted", "expand", "unrepeat", "unfold", "unfold_back", "im2col", "col2im", "blocks_of",
    "sum_to", "cast_back",
}  # fmt: skip
"""Functions of ``g`` of which each element is a sum of elements of ``g``, or 0."""


@lru_cache(2000)
def entry_of(source: str) -> str:
    """Return the way in which ``g`` enters a formula: ``diagonal``, ``matrix``, ``outer``, ``move`` or ``other``.

    >>> [entry_of(f) for f in ("-g * cos(input)", "mm(g, t(mat2))", "g.reshape(input.shape)", "g - sum_along(g, dim)")]
    ['diagonal', 'matrix', 'move', 'other']
    """
    try:
        tree = _read(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return OTHER
    if _is_diagonal(tree):
        return DIAGONAL
    if any(_factors(branch) for _, branch in _branches(tree)):
        return OUTER if _is_outer(tree) else MATRIX
    return MOVE if _is_move(tree) else OTHER


@lru_cache(2000)
def sums_over(source: str) -> bool:
    """Return whether the gradient is summed over broadcast dimensions as soon as the input's shape is another than g's.

    >>> sums_over("g * conj(other)"), sums_over("spread(g, input.shape, dim, keepdim)"), sums_over("sum_to(g, p.shape)")
    (True, False, True)
    """
    if entry_of(source) != DIAGONAL:
        return False
    return not any(isinstance(part, ast.Name) and part.id in ("spread", "each") for part in ast.walk(_read(source)))


def factor_marks(source: str, names: Mapping[str, list[formulas.Mark]]) -> list[formulas.Mark]:
    """The local derivative as marks: the formula with 1 for ``g``, or the matrix; nothing where there is no factor.

    >>> formulas.plain(factor_marks("g * conj(other)", {})), formulas.plain(factor_marks("mm(g, t(mat2))", {}))
    ('other', 'mat2ᵀ')
    """
    kind = entry_of(source)
    if kind == DIAGONAL:
        return formulas.unbracketed(formulas.marks(source, {**names, "g": [["n", "1"]]}))
    if kind not in (MATRIX, OUTER):
        return []
    return formulas.marks(ast.unparse(_factor(_read(source))), names)


def _factor(tree: ast.expr) -> ast.expr:
    """A product with ``g`` without ``g``, and a choice between several such."""
    if isinstance(tree, ast.IfExp):
        return ast.IfExp(tree.test, _factor(tree.body), _factor(tree.orelse))
    factors = _factors(tree)
    if factors is None:
        return tree
    matrix, _, scale = factors
    return matrix if scale is None else ast.BinOp(matrix, ast.Mult(), scale)


@lru_cache(2000)
def only_permutes(source: str) -> bool:
    """Return whether each sent element is one of ``g``, for all values.

    >>> only_permutes("t(g)"), only_permutes("select_back(g, input.shape, dim, index)")
    (True, False)
    """
    return _is_move(_read(source), _PERMUTES)


@dataclass(frozen=True, slots=True)
class DiagonalParts:
    """The parts of a formula with a diagonal Jacobian, as expressions."""

    product: str
    """Without the sums that undo broadcasting."""
    upstream: str
    """``g`` alone, spread over the input's shape where the formula does that."""


@dataclass(frozen=True, slots=True)
class MatrixParts:
    """The parts of a product of ``g`` with a matrix, as expressions."""

    test: str | None
    """When this is the product, where a formula chooses between several."""
    matrix: str
    left: bool
    """True if the matrix is to the left of ``g``."""
    scale: str | None
    """A number by which the product is multiplied."""


@lru_cache(2000)
def diagonal_parts(source: str) -> DiagonalParts:
    """The parts of a formula whose Jacobian is diagonal."""
    tree = _WithoutSums().visit(_read(source))
    return DiagonalParts(ast.unparse(tree), ast.unparse(_g_alone(tree)))


@lru_cache(2000)
def matrix_parts(source: str) -> tuple[MatrixParts, ...]:
    """The products with ``g`` between which a formula chooses."""
    codes = []
    for test, branch in _branches(_read(source)):
        if factors := _factors(branch):
            matrix, left, scale = factors
            when = None if test is None else ast.unparse(test)
            codes.append(MatrixParts(when, ast.unparse(matrix), left, None if scale is None else ast.unparse(scale)))
    return tuple(codes)


def _read(source: str) -> ast.expr:
    return ast.parse(source.strip(), mode="eval").body


def _has_g(tree: ast.AST) -> bool:
    return any(isinstance(part, ast.Name) and part.id == "g" for part in ast.walk(tree))


def _is_diagonal(tree: ast.expr) -> bool:
    """Return whether the only operation on each element of ``g`` is a multiplication by one number."""
    match tree:
        case ast.Name("g"):
            return True
        case ast.UnaryOp(ast.USub(), operand):
            return _is_diagonal(operand)
        case ast.BinOp(left, ast.Mult(), right):
            with_g, other = (left, right) if _has_g(left) else (right, left)
            return _is_diagonal(with_g) and not _has_g(other)
        case ast.BinOp(left, ast.Div(), right) | ast.Call(ast.Name("times" | "ratio"), [left, right], []):
            return _is_diagonal(left) and not _has_g(right)
        case ast.IfExp(test, body, orelse) | ast.Call(ast.Name("where"), [test, body, orelse], []):
            return not _has_g(test) and _is_diagonal(body) and _is_diagonal(orelse)
        case ast.Call(ast.Name(name), [first, *rest], []) if name in _ELEMENTWISE or name.startswith("along_"):
            return _is_diagonal(first) and not any(_has_g(argument) for argument in rest)
    return False


def _is_move(tree: ast.expr, functions: Collection[str] = _MOVES) -> bool:
    """Return whether ``g``, the gradient of one of the results, passes through these functions only."""
    match tree:
        case ast.Name("g") | ast.Subscript(ast.Name("g"), ast.Constant(int())):
            return True
        case ast.Call(ast.Attribute(value, "reshape"), _, []):
            return _is_move(value, functions)
        case ast.Call(ast.Name(name), [first, *_], _) if name in functions:
            return _is_move(first, functions)
        case ast.IfExp(test, body, orelse):
            return not _has_g(test) and _is_move(body, functions) and _is_move(orelse, functions)
    return False


def _branches(tree: ast.expr) -> Iterator[tuple[ast.expr | None, ast.expr]]:
    """(the condition or None, the formula) for each of the formulas between which an expression chooses."""
    if isinstance(tree, ast.IfExp):
        yield tree.test, tree.body
        yield from _branches(tree.orelse)
    else:
        yield None, tree


def _factors(tree: ast.expr) -> tuple[ast.expr, bool, ast.expr | None] | None:
    """(the matrix, True if it is to the left of g, a scalar factor or None) of a product with ``g``."""
    match tree:
        case ast.BinOp(left, ast.Mult(), factor) if not _has_g(factor):
            inner = _factors(left)
            return None if inner is None or inner[2] is not None else (inner[0], inner[1], factor)
        case ast.Call(ast.Name(name), [ast.Name("g"), right, *_]) if name in (*_PRODUCTS, _OUTER) and not _has_g(right):
            return right, False, None
        case ast.Call(ast.Name(name), [left, ast.Name("g"), *_]) if name in (*_PRODUCTS, "mv") and not _has_g(left):
            return left, True, None
    return None


def _is_outer(tree: ast.expr) -> bool:
    return any(isinstance(part, ast.Name) and part.id == _OUTER for part in ast.walk(tree))


class _WithoutSums(ast.NodeTransformer):
    """Leaves out the sums over broadcast dimensions, and the rounding to the input's dtype."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in ("sum_to", "cast_back") and _has_g(node.args[0]):
            return node.args[0]
        return node


def _g_alone(tree: ast.expr) -> ast.expr:
    """Return a diagonal formula without its factors: ``g``, broadcast to the input's shape where it is."""
    g = ast.Name("g", ast.Load())
    for part in ast.walk(tree):
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id == "spread" and _has_g(part):
            return ast.Call(part.func, [g, *part.args[1:]], part.keywords)
    return g
